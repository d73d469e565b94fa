"""Programs of many rules: what is done to check, plan and explain them grows as they do, in calls of functions."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from thalweg.diagnostics import Source
from thalweg.explain.rule_plan import explain
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_watch import Unmatched
from thalweg.languages.lars.program import parse, read
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.planning.passes import check, plan

CHAINS: dict[str, Callable[[int], str]] = {
    "of one premise": lambda n: f"p{n + 1}(X) :- p{n}(X).",
    "of streams": lambda n: f"p{n + 1}(X) :- p{n}(X), s{n}(X) in [{n % 7}].",
    "of negations": lambda n: f"p{n + 1}(X) :- p(X), not p{n}(X).",
    "of aggregates": lambda n: f"p{n + 1}(N) :- N = count{{X : p{n}(X)}}.",
    "of records": lambda n: f"#record p{n + 1}/1. p{n + 1}(X) :- p{n}(X) before [3], s(X).",
    "without a chain": lambda n: f"q{n}(X) :- p{n}(X), not r{n}(X).",
}


def _program(chain: str, length: int, reverse: bool = False) -> str:
    rules = [CHAINS[chain](number) for number in range(length)]
    return "\n".join(rules[::-1] if reverse else rules)


def _calls(function: Callable[[], object]) -> int:
    """How many functions of Python are called."""
    count = 0

    def note(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def _never_came(program: Program) -> None:
    watch = Unmatched(program)
    watch.look(Batch({Predicate("elsewhere", 1): [1]}))
    list(watch.summary())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("verb", [check, plan, explain, _never_came])
def test_twice_as_many_rules_take_twice_the_calls(verb: Callable[[Program], object], chain: str, reverse: bool) -> None:
    short, long = (read(Source("x.lars", _program(chain, length, reverse))) for length in (60, 120))
    verb(short)
    assert _calls(lambda: verb(long)) < 2.4 * _calls(lambda: verb(short))


def test_reading_looks_at_each_character_once() -> None:
    text = _program("of streams", 200)
    half = text[: len(text) // 2]
    assert _calls(lambda: parse(Source("x.lars", text))) < 2.2 * _calls(lambda: parse(Source("x.lars", half)))


def test_a_chain_may_be_longer_than_the_stack() -> None:
    program = read(Source("x.lars", _program("of negations", 2 * sys.getrecursionlimit(), reverse=True)))
    assert not check(program)
    assert max(plan(program).strata) == 2 * sys.getrecursionlimit()
