"""Random programs are programs: safe, stratified, and as various as they claim."""

from collections import Counter

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from thalweg import api
from thalweg.ir.dependency import strata
from thalweg.ir.nodes import Aggregate, Always, At, Comparison, KeyedWindow, Not, Program, TimeWindow, TupleWindow
from thalweg.testing.strategies import programs


@given(st.one_of(programs(), programs(remembering=True, values=True)))
def test_a_program_is_accepted(program: Program) -> None:
    assert strata(program) is not None
    assert [found.code for found in api.check(program) if found.severity == "error"] == []


def test_programs_cover_the_language() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=min(300, 12 * settings().max_examples), phases=[Phase.generate])
    @given(programs())
    def look(program: Program) -> None:
        for rule in program.rules:
            seen["head at"] += rule.time is not None
            seen["head at and always"] += rule.time is not None and any(isinstance(each, Always) for each in rule.body)
            seen["recursion"] += any(
                getattr(getattr(each, "atom", None), "predicate", "") == rule.head.predicate for each in rule.body
            )
            for literal in rule.body:
                seen[type(literal).__name__] += 1
                formula = literal.formula if isinstance(literal, Not) else literal
                if isinstance(formula, Aggregate | Comparison):
                    continue
                window = getattr(formula, "window", None)
                seen["hopping"] += isinstance(window, TimeWindow) and window.step is not None
                seen["tuples"] += isinstance(window, TupleWindow) and window.of is None
                seen["filtered tuples"] += isinstance(window, TupleWindow) and window.of is not None
                seen["windows by key"] += isinstance(window, KeyedWindow)
                seen["negated window"] += isinstance(literal, Not) and window is not None
                seen["stream"] += formula.stream is not None
                seen["at without window"] += isinstance(formula, At) and window is None

    look()
    expected = [
        "head at",
        "head at and always",
        "recursion",
        "Now",
        "At",
        "InWindow",
        "Always",
        "Not",
        "Comparison",
        "Aggregate",
    ]
    expected += [
        "hopping",
        "tuples",
        "filtered tuples",
        "windows by key",
        "negated window",
        "stream",
        "at without window",
    ]
    assert [kind for kind in expected if not seen[kind]] == []
