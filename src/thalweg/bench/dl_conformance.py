"""The W3C's tests of OWL 2 DL, decided by the ladder that decides the classes of events.

    consistency     ontology and data have a model
    entailment      the conclusion is denied (`denial`): it follows if no case of the denial is consistent

What rules and models decide is counted apart from what HermiT is asked for.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from thalweg.bench.denial import Denials
from thalweg.bench.refutation import claims_of, declarations_of
from thalweg.bench.report import BenchmarkTarget, Row
from thalweg.diagnostics import RejectedError
from thalweg.kinds.classes.contradiction import is_consistent
from thalweg.kinds.classes.ladder import Ladder
from thalweg.languages.owl import structure
from thalweg.languages.owl.dl.abstraction_program import compile_abstraction
from thalweg.languages.owl.kinds import owl, rdfs
from thalweg.model.rdf import RDF_TYPE, XSD
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import Triple, short

# Published for the approved tests of OWL 2 DL.
PUBLISHED: Final = "HermiT 346 and Pellet 348 of 350"
_LOCAL: Final = re.compile(r"<([^<>]*[#/])([^#/<>]+)>")
MODELS: Final = "rules and models"
HERMIT: Final = "HermiT"
PASS: Final = "pass"
FAIL: Final = "fail"
UNDECIDED: Final = "undecided"
NOT_READ: Final = "not read"


@dataclass(frozen=True, slots=True)
class Decided:
    """Whether something holds, by what; None where that is undecided, for a reason."""

    holds: bool | None
    by: str = MODELS
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DlVerdict:
    """The outcome of a test, what decided it, and the reason if it was not passed."""

    name: str
    kind: str
    outcome: str
    by: str = MODELS
    reason: str = ""


Consistent = Callable[[Iterable[Triple]], Decided]


def consistent(triples: Iterable[Triple], reasoner: str = "auto") -> Decided:
    """Whether a graph is consistent under the direct semantics: by rules and models, else by HermiT.

    >>> member = ("<x>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", owl("Nothing"))
    >>> consistent([member]).holds, consistent([]).holds
    (False, True)
    """
    ontology = structure.read(triples)
    program = compile_abstraction("test", ontology)
    (holds, reason), by = is_consistent(Ladder(program, "none")), MODELS
    if holds is None and reasoner != "none":
        (holds, reason), by = is_consistent(Ladder(program, reasoner)), HERMIT
    if holds and ontology.leftovers:
        return Decided(None, by, f"{NOT_READ}: {_written(_telling(ontology.leftovers))}")
    return Decided(holds, by, "" if holds is not None else reason)


def entails(premise: Sequence[Triple], conclusion: Sequence[Triple], ask: Consistent = consistent) -> Decided:
    """Whether a graph follows from another."""
    premises = [*premise, *declarations_of(conclusion)]
    alone = ask(premises)
    if alone.holds is not True:
        return alone if alone.holds is None else Decided(True, alone.by)
    denials, unsure, by = Denials(conclusion), "", alone.by
    annotations = {name for name, _, kind in premises if kind == owl("AnnotationProperty")}
    claims = [claim for claim in claims_of(conclusion, direct=True) if claim[1] not in annotations]
    for claim, cases in denials.of(claims):
        if not cases:
            unsure = f"it has no denial: {_written(claim)}"
        for case in _of_literals(claim) or cases:
            # The denial of a class has no meaning for a datatype.
            defined = (
                triple
                for triple in denials.definitions
                if not (triple[1] == owl("complementOf") and _is_datatype(triple[2]))
            )
            decision = ask([*premises, *defined, *case])
            by = max(by, decision.by, key=(MODELS, HERMIT).index)
            if decision.holds:
                return Decided(False, by, f"does not follow: {_written(claim)}")
            unsure = unsure if decision.holds is False else decision.reason
    return Decided(None, by, unsure) if unsure else Decided(True, by)


def _of_literals(claim: Triple) -> list[tuple[Triple, ...]]:
    """The denial of a datatype as the range of a property: something has a value outside of it."""
    property, predicate, range = claim
    if predicate != rdfs("range") or not _is_datatype(range):
        return []
    value, outside = "_:value", "_:outside"
    return [
        (
            ("<urn:someone:a>", RDF_TYPE, value),
            (value, RDF_TYPE, owl("Restriction")),
            (value, owl("onProperty"), property),
            (value, owl("someValuesFrom"), outside),
            (outside, RDF_TYPE, rdfs("Datatype")),
            (outside, owl("datatypeComplementOf"), range),
        )
    ]


def _is_datatype(term: str) -> bool:
    return term.startswith(f"<{XSD}")


def _telling(leftovers: Sequence[Triple]) -> Triple:
    """The triple that says most about why axioms were not read."""
    return min(leftovers, key=lambda triple: ("^^" not in triple[2], not is_literal(triple[2]), triple[1] == RDF_TYPE))


def _written(triple: Triple) -> str:
    """A triple for people: local names, and blank nodes without theirs."""
    return " ".join("[]" if term[0] == "_" else _LOCAL.sub(r"\2", short(term)) for term in triple)


def run_dl_test(
    name: str, kind: str, premise: Sequence[Triple], conclusion: Sequence[Triple] | None, expected: bool
) -> DlVerdict:
    """Runs a test: that the premise is consistent, or that a conclusion follows, is `expected` or not."""
    try:
        decision = consistent(premise) if conclusion is None else entails(premise, conclusion)
    except RejectedError as error:
        return DlVerdict(name, kind, UNDECIDED, reason=error.diagnostics[0].message)
    imported = next((value for _, predicate, value in premise if predicate == owl("imports")), None)
    if imported and decision.holds is not expected:
        return DlVerdict(name, kind, UNDECIDED, decision.by, f"it needs {imported}, which is not part of the tests")
    if decision.holds is None:
        return DlVerdict(name, kind, UNDECIDED, decision.by, decision.reason)
    what = decision.reason or ("consistent" if decision.holds else "inconsistent")
    return DlVerdict(
        name, kind, PASS if decision.holds is expected else FAIL, decision.by, what * (decision.holds != expected)
    )


def counted_dl(verdicts: Iterable[DlVerdict]) -> list[Row]:
    """One line for each kind of test, and one for all."""
    by_kind: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        for kind in (verdict.kind, "all"):
            counts = by_kind.setdefault(kind, Counter())
            counts[verdict.outcome] += 1
            counts["by models"] += verdict.outcome == PASS and verdict.by == MODELS
    rows: list[Row] = []
    for kind in sorted(by_kind, key=lambda kind: (kind == "all", kind)):
        counts = by_kind[kind]
        tests = sum(counts[outcome] for outcome in (PASS, FAIL, UNDECIDED))
        by = {"passed without HermiT": counts["by models"]}
        rows.append(
            {
                "tests for": kind,
                "tests": tests,
                **{outcome: counts[outcome] for outcome in (PASS, FAIL, UNDECIDED)},
                **by,
            }
        )
    return rows


def dl_failures(verdicts: Iterable[DlVerdict]) -> list[Row]:
    """Every test that was not passed, and why."""
    return [
        {
            "test": verdict.name,
            "kind": verdict.kind,
            "outcome": verdict.outcome,
            "by": verdict.by,
            "reason": verdict.reason,
        }
        for verdict in verdicts
        if verdict.outcome != PASS
    ]


def dl_targets(verdicts: Sequence[DlVerdict]) -> list[BenchmarkTarget]:
    """Nothing is wrong, and nearly all is decided."""
    wrong = sum(verdict.outcome == FAIL for verdict in verdicts)
    passed = sum(verdict.outcome == PASS for verdict in verdicts)
    share = passed / max(1, len(verdicts))
    return [
        BenchmarkTarget("OWL 2 DL, nothing wrong", f"{wrong} wrong", not wrong),
        BenchmarkTarget(
            f"OWL 2 DL, at least 97 %; {PUBLISHED} are published", f"{passed} of {len(verdicts)}", share >= 0.97
        ),
    ]
