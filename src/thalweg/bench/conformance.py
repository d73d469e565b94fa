"""The W3C's tests of OWL 2, and how many the rules of OWL 2 RL pass; with OWL 2 DL and SPARQL, a page of results.

Each test is a folder with an ontology and the expected result: it is consistent, it is not, something follows, or
something does not. The rules are sound for all of OWL and complete for OWL 2 RL. So what they find counts everywhere;
that they find nothing counts for the tests of that profile only, and is *not supported* elsewhere.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.progress import track

from thalweg.bench.conformance_page import page
from thalweg.bench.dl_conformance import NOT_READ, DlVerdict, counted_dl, dl_failures, dl_targets, run_dl_test
from thalweg.bench.refutation import Close, ClosedGraph, follows
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, Row
from thalweg.bench.sparql_conformance import counted_sparql, failures, not_rules, run_sparql_test, sparql_targets
from thalweg.bench.sparql_tests import find_sparql_tests
from thalweg.bench.subjects import data_folder
from thalweg.connectors.ontology_documents import read_triples
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages.owl.kinds import owl
from thalweg.languages.owl.program import over_triples
from thalweg.model.fact import Fact
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple

Read = Callable[[Path], list[Triple]]

CONSISTENT: Final = "consistency"
INCONSISTENT: Final = "inconsistency"
FOLLOWS: Final = "positive entailment"
FOLLOWS_NOT: Final = "negative entailment"
_KINDS: Final = {
    "ConsistencyTest": CONSISTENT,
    "InconsistencyTest": INCONSISTENT,
    "PositiveEntailmentTest": FOLLOWS,
    "NegativeEntailmentTest": FOLLOWS_NOT,
}
PASS: Final = "pass"
FAIL: Final = "fail"
NOT_SUPPORTED: Final = "not supported"
_OUTCOMES: Final = (PASS, FAIL, NOT_SUPPORTED)
OTHER: Final = "other"
_PROFILES: Final = ("RL", "EL", "QL", OTHER)
# A quick run has one test of SPARQL in so many.
_SAMPLED: Final = 10


@dataclass(frozen=True, slots=True)
class Test:
    """One thing that an ontology is tested for; `direct` if it is a test of the direct semantics, too."""

    __test__ = False

    name: str
    kind: str
    profiles: tuple[str, ...]
    premise: Path
    conclusion: Path | None = None
    direct: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a test, and the reason if it was not passed."""

    test: Test
    outcome: str
    reason: str = ""


def find_tests(folder: Path) -> list[Test]:
    """Every test of a folder of tests, in the order of their names."""
    return [test for path in sorted(folder.glob("*/meta.json")) for test in _tests(path)]


def _tests(path: Path) -> Iterator[Test]:
    meta = json.loads(path.read_text(encoding="utf-8"))
    for word, kind in _KINDS.items():
        if word not in meta["types"]:
            continue
        stem = {FOLLOWS: "conclusion", FOLLOWS_NOT: "nonconclusion"}.get(kind)
        conclusion = None if stem is None else _file(path.parent, stem)
        direct = "DL" in meta["species"]
        yield Test(meta["id"], kind, tuple(meta["profiles"]), _file(path.parent, "premise"), conclusion, direct)


def _file(folder: Path, stem: str) -> Path:
    """RDF/XML where there is some, functional syntax elsewhere."""
    return next(path for ending in (".rdf", ".ofn") if (path := folder / f"{stem}{ending}").exists())


def run_test(test: Test, read: Read, close: Close) -> Verdict:
    """Runs a test with rules that are complete for OWL 2 RL."""
    try:
        premise = read(test.premise)
        conclusion = read(test.conclusion) if test.conclusion else []
    except RejectedError as error:
        return Verdict(test, NOT_SUPPORTED, error.diagnostics[0].message)
    evidence = _found(test, premise, conclusion, close)
    expected = test.kind in (INCONSISTENT, FOLLOWS)
    if evidence:
        return Verdict(test, PASS if expected else FAIL, "" if expected else f"found {evidence}")
    if "RL" not in test.profiles:
        return Verdict(test, NOT_SUPPORTED, "the ontology lies outside the profile, and nothing was found")
    imported = next((value for _, predicate, value in premise if predicate == owl("imports")), None)
    if expected and imported:
        return Verdict(test, NOT_SUPPORTED, f"it needs {imported}, which is not part of the tests")
    return Verdict(test, FAIL if expected else PASS, "nothing was found" if expected else "")


def _found(test: Test, premise: Sequence[Triple], conclusion: Sequence[Triple], close: Close) -> str:
    """The contradiction that was found, or that the conclusion follows; empty if nothing was found."""
    if test.conclusion is not None:
        return "that it follows" if follows(premise, conclusion, close, test.direct) else ""
    return next((str(fact) for fact in close(premise).contradictions), "")


def close_by_rules(triples: Iterable[Triple], profile: str = "rl") -> ClosedGraph:
    """Closes a graph by the rules of OWL 2 RL, over triples.

    >>> a, b = owl("a"), owl("b")
    >>> (b, owl("sameAs"), a) in close_by_rules([(a, owl("sameAs"), b)]).triples
    True
    """
    asserted = list(triples)
    engine = RuleEngine(over_triples(asserted, profile), first=0)
    engine.advance(0)
    facts = engine.facts()
    derived = {_triple(fact) for fact in facts if fact.predicate != "inconsistent"}
    return ClosedGraph(set(asserted) | derived, [fact for fact in facts if fact.predicate == "inconsistent"])


def _triple(fact: Fact) -> Triple:
    if len(fact.terms) == 1:
        return fact.terms[0], RDF_TYPE, fact.predicate
    return fact.terms[0], fact.predicate, fact.terms[1]


def counts(verdicts: Iterable[Verdict]) -> dict[tuple[str, str], Counter[str]]:
    """How many tests ended how, by profile and kind; a test counts for each of its profiles.

    >>> test = Test("t", CONSISTENT, ("RL",), Path("premise.rdf"))
    >>> counts([Verdict(test, PASS)])["RL", CONSISTENT][PASS]
    1
    """
    outcomes = {(profile, kind): Counter[str]() for profile in _PROFILES for kind in _KINDS.values()}
    for verdict in verdicts:
        for profile in verdict.test.profiles or (OTHER,):
            outcomes[profile, verdict.test.kind][verdict.outcome] += 1
    return outcomes


def counted(verdicts: Iterable[Verdict]) -> list[Row]:
    """One line for each profile and kind of test."""
    return [
        {"profile": profile, "tests for": kind} | {outcome: outcomes[outcome] for outcome in _OUTCOMES}
        for (profile, kind), outcomes in counts(verdicts).items()
    ]


def row(verdict: Verdict) -> Row:
    return {
        "test": verdict.test.name,
        "kind": verdict.test.kind,
        "profiles": " ".join(verdict.test.profiles),
        "outcome": verdict.outcome,
        "reason": verdict.reason,
    }


def verdict_of(verdicts: Sequence[Verdict]) -> list[BenchmarkTarget]:
    """The rules against what OWL 2 RL promises, and no wrong result anywhere."""
    outcomes = counts(verdicts)
    targets = [_all_of(outcomes["RL", kind], f"RL, {kind}") for kind in (CONSISTENT, INCONSISTENT, FOLLOWS_NOT)]
    positive = outcomes["RL", FOLLOWS]
    share = positive[PASS] / max(1, positive.total())
    targets.append(BenchmarkTarget("RL, positive entailment, at least 85 %", f"{share:.0%}", share >= 0.85))
    wrong = [
        verdict for verdict in verdicts if verdict.outcome == FAIL and verdict.test.kind in (CONSISTENT, FOLLOWS_NOT)
    ]
    return [*targets, BenchmarkTarget("nothing wrong is found, in any test", f"{len(wrong)} wrong", not wrong)]


def _all_of(outcomes: Counter[str], what: str) -> BenchmarkTarget:
    return BenchmarkTarget(
        f"{what}, all", f"{outcomes[PASS]} of {outcomes.total()}", outcomes[PASS] == outcomes.total()
    )


def folder_of_tests(name: str, about: str) -> Path:
    """Where tests are: they are the W3C's and do not ship with the package."""
    folder = data_folder() / name
    if not folder.is_dir():
        way_out = f"name the folder that holds `{name}` in the variable `THALWEG_DATA`"
        raise RejectedError([Diagnostic("E401", f"there are no tests of {about} in `{folder}`", help=way_out)])
    return folder


def run_by_ladder(test: Test) -> DlVerdict:
    """Runs a test of OWL 2 DL under the direct semantics."""
    premise, expected = read_triples(test.premise), test.kind in (CONSISTENT, FOLLOWS)
    conclusion = None if test.conclusion is None else read_triples(test.conclusion)
    verdict = run_dl_test(test.name, test.kind, premise, conclusion, expected)
    other = test.premise.with_suffix(".ofn")
    if verdict.reason.startswith(NOT_READ) and other.exists():
        # The RDF of two tests has lists without an end.
        return run_dl_test(test.name, test.kind, read_triples(other), conclusion, expected)
    return verdict


def main(out: Path, quick: bool = False) -> None:
    """Runs the tests, prints the tables, and writes CSV files and a page to the folder `conformance` of `out`."""
    tests = [test for test in find_tests(folder_of_tests("owl2", "OWL 2")) if not quick or "RL" in test.profiles]
    sparql_tests = find_sparql_tests(folder_of_tests("w3c/sparql11", "SPARQL 1.1"))[:: _SAMPLED if quick else 1]
    report = BenchmarkReport(out, "conformance")
    progress = track(tests, description="OWL 2", console=report.stderr, transient=True)
    verdicts = [run_test(test, read_triples, close_by_rules) for test in progress]
    noted = [
        verdict
        for verdict in verdicts
        if verdict.outcome == FAIL or (verdict.outcome != PASS and verdict.test.profiles)
    ]
    owl_tables = counted(verdicts), list(map(row, noted))
    report.show("W3C tests of OWL 2 by the rules of OWL 2 RL; a test may have several profiles", owl_tables[0])
    report.show("not passed, in one of the profiles", owl_tables[1])
    report.write("results", list(map(row, verdicts)))
    direct = track([t for t in tests if t.direct], description="OWL 2 DL", console=report.stderr, transient=True)
    by_ladder = [run_by_ladder(test) for test in direct]
    dl_tables = counted_dl(by_ladder), dl_failures(by_ladder)
    report.add("dl", dl_tables[0], "W3C tests of OWL 2 DL, by rules, models and HermiT")
    report.add("dl_failures", dl_tables[1], "not passed")
    sparql_progress = track(sparql_tests, description="SPARQL 1.1", console=report.stderr, transient=True)
    answered = [run_sparql_test(test) for test in sparql_progress]
    sparql_tables = counted_sparql(answered), failures(answered), not_rules(answered)
    report.add("sparql", sparql_tables[0], "W3C tests of SPARQL 1.1 queries over one window")
    report.add("sparql_failures", sparql_tables[1], "not passed")
    report.add("sparql_not_rules", sparql_tables[2], "not compiled to rules")
    if not quick:
        (report.folder / "conformance.md").write_text(page(*owl_tables, *dl_tables, *sparql_tables), encoding="utf-8")
    report.close([*verdict_of(verdicts), *dl_targets(by_ladder), *sparql_targets(answered)])
