"""The W3C's tests of OWL 2, and how many of them the rules of OWL 2 RL pass.

Each test is a folder with an ontology and what must come of it: it is consistent, it is not, something follows, or
something does not. The rules are sound for all of OWL and complete for OWL 2 RL. So what they find counts everywhere;
that they find nothing counts for the tests of that profile only, and is *not supported* elsewhere.
"""

import csv
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from thalweg.bench.denial import Triple
from thalweg.bench.refutation import Close, Closure, follows
from thalweg.bench.table import Target, verdict_table, write_verdict
from thalweg.connectors.ontology_documents import read_triples
from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.engine import Engine
from thalweg.languages.owl.kinds import owl
from thalweg.languages.owl.program import over_triples
from thalweg.model.fact import Fact
from thalweg.model.rdf import RDF_TYPE

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


@dataclass(frozen=True, slots=True)
class Test:
    """One thing that an ontology is tested for. A test is `direct` if it is one of the direct semantics, too."""

    __test__ = False

    name: str
    kind: str
    profiles: tuple[str, ...]
    premise: Path
    conclusion: Path | None = None
    direct: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a test, and why if it was not passed."""

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


def run_test(test: Test, read: Read, close: Close, complete: Collection[str] = ("RL",)) -> Verdict:
    """What comes of a test when a graph is closed by rules that are complete for some profiles."""
    try:
        premise = read(test.premise)
        conclusion = read(test.conclusion) if test.conclusion else []
    except Rejected as error:
        return Verdict(test, NOT_SUPPORTED, error.diagnostics[0].message)
    found = _found(test, premise, conclusion, close)
    expected = test.kind in (INCONSISTENT, FOLLOWS)
    if found:
        return Verdict(test, PASS if expected else FAIL, "" if expected else f"found {found}")
    if not set(test.profiles) & set(complete):
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


def by_rules(profile: str) -> Close:
    """Closes a graph by the rules of a profile, over triples.

    >>> a, b, c = (owl(name) for name in ("a", "b", "c"))
    >>> (b, owl("sameAs"), a) in by_rules("rl")([(a, owl("sameAs"), b)]).triples
    True
    """

    def close(triples: Iterable[Triple]) -> Closure:
        given = list(triples)
        engine = Engine(over_triples(given, profile), first=0)
        engine.advance(0)
        found = engine.facts()
        derived = {_triple(fact) for fact in found if fact.predicate != "inconsistent"}
        return Closure(set(given) | derived, [fact for fact in found if fact.predicate == "inconsistent"])

    return close


def _triple(fact: Fact) -> Triple:
    if len(fact.args) == 1:
        return fact.args[0], RDF_TYPE, fact.predicate
    return fact.args[0], fact.predicate, fact.args[1]


def counts(verdicts: Iterable[Verdict]) -> dict[tuple[str, str], Counter[str]]:
    """How many tests ended how, by profile and kind; a test counts for each of its profiles.

    >>> test = Test("t", CONSISTENT, ("RL",), Path("premise.rdf"))
    >>> counts([Verdict(test, PASS)])["RL", CONSISTENT][PASS]
    1
    """
    found = {(profile, kind): Counter[str]() for profile in _PROFILES for kind in _KINDS.values()}
    for verdict in verdicts:
        for profile in verdict.test.profiles or (OTHER,):
            found[profile, verdict.test.kind][verdict.outcome] += 1
    return found


def table(verdicts: Iterable[Verdict]) -> Table:
    """One line for each profile and kind of test."""
    shown = Table(title="W3C tests of OWL 2, by the rules of OWL 2 RL; a test may belong to several profiles")
    for column in ("profile", "tests for", *_OUTCOMES):
        shown.add_column(column, justify="right" if column in _OUTCOMES else "left")
    for (profile, kind), found in counts(verdicts).items():
        shown.add_row(profile, kind, *(str(found[outcome]) for outcome in _OUTCOMES))
    return shown


def reasons_table(verdicts: Iterable[Verdict]) -> Table:
    """One line for each test of a profile that was not passed."""
    shown = Table(title="not passed, in one of the profiles")
    for column in ("test", "for", "profiles", "outcome", "why"):
        shown.add_column(column)
    for verdict in verdicts:
        test = verdict.test
        if verdict.outcome == FAIL or (verdict.outcome != PASS and test.profiles):
            shown.add_row(test.name, test.kind, " ".join(test.profiles), verdict.outcome, verdict.reason)
    return shown


def verdict_of(verdicts: Sequence[Verdict]) -> list[Target]:
    """The rules against what OWL 2 RL promises, and nothing found anywhere that is not so."""
    found = counts(verdicts)
    targets = [_all_of(found["RL", kind], f"RL, {kind}") for kind in (CONSISTENT, INCONSISTENT, FOLLOWS_NOT)]
    positive = found["RL", FOLLOWS]
    share = positive[PASS] / max(1, positive.total())
    targets.append(Target("RL, positive entailment, at least 85 %", f"{share:.0%}", share >= 0.85))
    wrong = [each for each in verdicts if each.outcome == FAIL and each.test.kind in (CONSISTENT, FOLLOWS_NOT)]
    return [*targets, Target("nothing is found that is not so, in any test", f"{len(wrong)} wrong", not wrong)]


def _all_of(found: Counter[str], what: str) -> Target:
    return Target(f"{what}, all", f"{found[PASS]} of {found.total()}", found[PASS] == found.total())


def write(verdicts: Iterable[Verdict], path: Path) -> None:
    """One line for each test."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("test", "kind", "profiles", "outcome", "reason"))
        for each in verdicts:
            writer.writerow((each.test.name, each.test.kind, " ".join(each.test.profiles), each.outcome, each.reason))


def folder_of_tests() -> Path:
    """Where the tests are: they are the W3C's and do not ship with the package."""
    folder = Path(os.environ.get("THALWEG_DATA", "../shared/data")) / "owl2"
    if not folder.is_dir():
        way_out = "name the folder that holds `owl2`, a folder for each test, in the variable `THALWEG_DATA`"
        raise Rejected([Diagnostic("E401", f"there are no tests of OWL 2 in `{folder}`", help=way_out)])
    return folder


def main(out: Path, quick: bool = False) -> None:
    """Runs the tests, prints the tables, and writes CSV files to the folder `conformance` of `out`."""
    tests = [test for test in find_tests(folder_of_tests()) if not quick or "RL" in test.profiles]
    folder, console, close = out / "conformance", Console(), by_rules("rl")
    folder.mkdir(parents=True, exist_ok=True)
    progress = track(tests, description="testing", console=Console(stderr=True), transient=True)
    verdicts = [run_test(test, read_triples, close) for test in progress]
    targets = verdict_of(verdicts)
    console.print(table(verdicts))
    console.print(reasons_table(verdicts))
    console.print(verdict_table(targets))
    write(verdicts, folder / "results.csv")
    write_verdict(targets, folder / "verdict.csv")
    console.print(f"tables are in {folder}")
