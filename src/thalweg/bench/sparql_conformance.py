"""How many of the W3C's tests of SPARQL 1.1 are passed: by pyoxigraph, and as continuous queries by Thalweg.

Every test is run on pyoxigraph as it is, which is the yardstick. Over one window it is run by rules, where the query
compiles to rules, and by SPARQL in each window; both must give what is expected. Rows of a window have no order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from thalweg.bench.one_window import by_thalweg
from thalweg.bench.oxigraph import SparqlAnswer, same
from thalweg.bench.query_ways import PER_WINDOW, RULES, NotRulesError
from thalweg.bench.report import BenchmarkTarget, Row
from thalweg.bench.sparql_tests import ACCEPTED, REJECTED, SparqlTest, by_pyoxigraph, expected
from thalweg.diagnostics import RejectedError

PYOXIGRAPH: Final = "pyoxigraph"
PASS: Final = "pass"
FAIL: Final = "fail"
NO_RULES: Final = "no rules"

Way = Callable[[SparqlTest], SparqlAnswer]
"""Answers a test; `SyntaxError` or `RejectedError` if it does not take the query, `NotRulesError` if it cannot."""

WAYS: Final[Mapping[str, Way]] = {
    PYOXIGRAPH: by_pyoxigraph,
    RULES: lambda test: by_thalweg(test, RULES),
    PER_WINDOW: lambda test: by_thalweg(test, PER_WINDOW),
}

_FORGETS: Final = "pyoxigraph does not bind the variable of GRAPH around a sub-select or VALUES"
_TAGGED: Final = "GROUP_CONCAT keeps a language that all texts have, as in SPARQL 1.2"
_ZERO: Final = "pyoxigraph has no path of length zero at a term that is not in the graph"
REASONS: Final[Mapping[str, str]] = {
    "agg-empty-group-count-graph": _FORGETS,
    "agg-groupconcat-04": _TAGGED,
    "agg-groupconcat-06": _TAGGED,
    "graph": _FORGETS,
    "bnode01": "BNODE of a text is the same blank node in every row, and should be another one in each",
    "graph-minus": "pyoxigraph takes the variable of GRAPH for one that both sides of MINUS share",
    "zero_or_more_set_end": _ZERO,
    "zero_or_more_set_start": _ZERO,
    "zero_or_one_set_end": _ZERO,
    "zero_or_one_set_start": _ZERO,
}
"""Why a test is failed, where that was found out."""


@dataclass(frozen=True, slots=True)
class SparqlVerdict:
    """How a test ended for each of the ways, and why it was not passed."""

    test: SparqlTest
    outcomes: Mapping[str, str]
    reasons: Mapping[str, str]


def run_sparql_test(test: SparqlTest, ways: Mapping[str, Way] = WAYS) -> SparqlVerdict:
    """Runs a test in each way."""
    results = {name: _outcome(test, way) for name, way in ways.items()}
    outcomes = {name: outcome for name, (outcome, _) in results.items()}
    return SparqlVerdict(test, outcomes, {name: reason for name, (_, reason) in results.items() if reason})


def _outcome(test: SparqlTest, way: Way) -> tuple[str, str]:
    try:
        answer = way(test)
    except NotRulesError as error:
        return NO_RULES, str(error)
    except (SyntaxError, RejectedError) as error:
        refusal = error.diagnostics[0].message if isinstance(error, RejectedError) else str(error)
        return (PASS, "") if test.kind == REJECTED else (FAIL, f"rejected: {refusal}")
    if test.kind == REJECTED:
        return FAIL, "accepted, though it is not SPARQL"
    if test.kind == ACCEPTED:
        return PASS, ""
    wanted = expected(test)
    if same(answer, wanted):
        return PASS, ""
    unlike = f"{answer} instead of {wanted}" if str(answer) != str(wanted) else f"other values in {wanted}"
    return FAIL, REASONS.get(test.name, unlike)


def counted_sparql(verdicts: Iterable[SparqlVerdict]) -> list[Row]:
    """One line for each group of tests, and one for all."""
    every = list(verdicts)
    groups = {
        verdict.test.group: [other for other in every if other.test.group == verdict.test.group] for verdict in every
    }
    return [_counts(name, group) for name, group in (*groups.items(), ("all", every))]


def _counts(name: str, verdicts: Sequence[SparqlVerdict]) -> Row:
    counts = {way: Counter(verdict.outcomes[way] for verdict in verdicts) for way in WAYS}
    compiled = len(verdicts) - counts[RULES][NO_RULES]
    return {
        "group": name,
        "tests": len(verdicts),
        PYOXIGRAPH: counts[PYOXIGRAPH][PASS],
        PER_WINDOW: counts[PER_WINDOW][PASS],
        "compiled": compiled,
        RULES: counts[RULES][PASS],
    }


def failures(verdicts: Iterable[SparqlVerdict]) -> list[Row]:
    """One line for each test that was not passed in some way, and the reason."""
    return [
        {"test": f"{verdict.test.group}, {verdict.test.name}", "by": ", ".join(names), "reason": reason}
        for verdict in verdicts
        for reason, names in _by_reason(verdict).items()
    ]


def _by_reason(verdict: SparqlVerdict) -> dict[str, list[str]]:
    by_reason: dict[str, list[str]] = {}
    for way, outcome in verdict.outcomes.items():
        if outcome == FAIL:
            by_reason.setdefault(verdict.reasons[way], []).append(way)
    return by_reason


def not_rules(verdicts: Iterable[SparqlVerdict]) -> list[Row]:
    """Why queries are not compiled to rules, and how many of them."""
    reasons = Counter(verdict.reasons[RULES] for verdict in verdicts if verdict.outcomes[RULES] == NO_RULES)
    return [{"reason": reason, "queries": number} for reason, number in reasons.most_common()]


def sparql_targets(verdicts: Sequence[SparqlVerdict]) -> list[BenchmarkTarget]:
    """The target that tests which pyoxigraph passes are passed by rules and by SPARQL per window."""
    passed = [verdict for verdict in verdicts if verdict.outcomes[PYOXIGRAPH] == PASS]
    missed = [verdict for verdict in passed if FAIL in verdict.outcomes.values()]
    figure = f"{len(passed) - len(missed)} of {len(passed)}"
    return [
        BenchmarkTarget("SPARQL 1.1, what pyoxigraph passes, by rules and by SPARQL per window", figure, not missed)
    ]
