"""A run that goes on with a changed program: what is unchanged answers on, all else begins and sees nothing before."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from changed_programs import ChangingRun, by_tick
from thalweg.ir.dependency import formulas, strata
from thalweg.ir.nodes import Program
from thalweg.ir.semantics import Pairs, Timeline, _apply
from thalweg.ir.text import show
from thalweg.kinds.rules.rule_part import Rules
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.planning.passes import check
from thalweg.testing.strategies import programs, scenarios

pytestmark = pytest.mark.filterwarnings("ignore::thalweg.ThalwegWarning")


def unchanged(old: Program, new: Program) -> set[Predicate]:
    """The predicates whose rules, records and background are the same, and those of all that they read."""

    def own(program: Program, name: Predicate) -> object:
        rules = [rule for rule in program.rules if rule.head.signature == name]
        read = {name, *(formula.atom.signature for rule in rules for formula, _ in formulas(rule.body))}
        background = {fact for fact in program.background if fact.signature in read}
        return sorted(map(show, rules)), background, read & program.recorded

    def read(name: Predicate) -> set[Predicate]:
        rules = [rule for rule in (*old.rules, *new.rules) if rule.head.signature == name]
        return {formula.atom.signature for rule in rules for formula, _ in formulas(rule.body)}

    derived = old.derived | new.derived
    same = {name for name in old.derived & new.derived if own(old, name) == own(new, name)}
    while wrong := {name for name in same if (read(name) & derived) - same}:
        same -= wrong
    return same


def restricted(program: Program, names: set[Predicate]) -> Program:
    return replace(program, rules=tuple(rule for rule in program.rules if rule.head.signature in names))


def begun_model(program: Program, start: Timeline) -> Timeline:
    """What rules derive beside what others have derived."""
    background: dict[Predicate, set[tuple[str, ...]]] = {}
    for fact in program.background:
        background.setdefault(fact.signature, set()).add(fact.terms)
    timeline = replace(start, background=background, derived=dict(start.derived))
    level = strata(program)
    assert level is not None
    for stratum in sorted(set(level.values())):
        rules = [rule for rule in program.rules if level[rule.head.signature] == stratum]
        while sum(_apply(rule, timeline) for rule in rules):
            pass
    return timeline


class Meaning:
    """What a program means whose parts began at different ticks: the youngest first tick last."""

    def __init__(self, program: Program, first: int, events: tuple[Event, ...]) -> None:
        self.events = events
        self.parts: list[tuple[Program, int, Pairs]] = [(program, first, {})]

    def change(self, old: Program, new: Program, first: int) -> None:
        same = unchanged(old, new)
        self.parts = [(restricted(part, same), since, recorded) for part, since, recorded in self.parts]
        self.parts.append((restricted(new, {*new.derived} - same), first, {}))

    def at(self, tick: int) -> list[frozenset[Fact]]:
        """What each part derives at a tick."""
        derived: Pairs = {}
        outputs = []
        for number, (program, first, recorded) in enumerate(self.parts):
            seen = [
                (fact, one.tick, one.stream) for one in self.events if first <= one.tick <= tick for fact in one.facts
            ]
            timeline = begun_model(program, Timeline(first, tick, seen, derived=derived, recorded=recorded))
            self.parts[number] = program, first, timeline.remember(program)
            own = {name: timeline.derived.get(name, set()) for name in program.derived}
            derived |= own
            facts = (Fact(name.name, args) for name, pairs in own.items() for args, at in pairs if at == tick)
            outputs.append(frozenset(facts))
        return outputs


def expected(
    old: Program, new: Program, first: int, cut: int, last: int, events: tuple[Event, ...]
) -> Iterator[object]:
    """The changes at each tick."""
    meaning = Meaning(old, first, events)
    before: list[frozenset[Fact]] = [frozenset()]
    for tick in range(first, last + 1):
        if tick == cut + 1:
            meaning.change(old, new, tick)
            same = unchanged(old, new)
            stay = frozenset(fact for fact in before[0] if fact.signature in same)
            ended = before[0] - stay
            before = [stay, frozenset()]
        else:
            ended = frozenset()
        now = meaning.at(tick)
        begin = sorted(str(fact) for was, will in zip(before, now, strict=True) for fact in will - was)
        end = sorted(str(fact) for was, will in zip(before, now, strict=True) for fact in was - will)
        end = sorted([*end, *map(str, ended)])
        before = now
        if begin or end:
            yield tick, begin, end


@st.composite
def changes(draw: st.DrawFn, remembering: bool = False):
    """A scenario, another program that has rules in common with its own, and a tick after which it goes on."""
    scenario = draw(scenarios(remembering=remembering))
    other = draw(programs(remembering=remembering))
    old = scenario.program
    kept = [rule for rule in old.rules if draw(st.integers(0, 3))]
    added = [rule for rule in other.rules if not draw(st.integers(0, 2))]
    background = old.background if draw(st.integers(0, 2)) else other.background
    recorded = old.recorded if draw(st.integers(0, 2)) else old.recorded | other.recorded
    new = Program((*kept, *added), background, recorded=recorded)
    assume(not any(found.severity == "error" for found in check(new)))
    assume(not any(found.severity == "error" for found in check(old)))
    return scenario, new, draw(st.integers(scenario.first, max(scenario.first, scenario.last - 1)))


@pytest.mark.parametrize("remembering", [False, True])
def test_what_is_unchanged_goes_on_and_all_else_begins(remembering: bool) -> None:
    @given(changes(remembering), st.booleans())
    def goes_on(change, resumed: bool) -> None:
        scenario, new, cut = change
        old, first, last, events = scenario.program, scenario.first, scenario.last, scenario.events
        run = ChangingRun(Rules(old), first)
        for tick, arrived in by_tick(events, first, cut):
            run.advance(tick, arrived)
        found = run.change(Rules(new))
        same = unchanged(old, new)
        assert {*found.same} == {*map(str, same)}
        event(f"{'some' if found.same else 'nothing'} goes on, {'some' if found.begun else 'nothing'} begins")
        for tick, arrived in by_tick(events, cut + 1, last) if last > cut else ():
            run.advance(tick, arrived)
            if resumed:
                run.resume(Rules(new))
        answers = [(one.t, list(one.columns[0]), list(one.columns[1])) for one in run.finish()]
        assert answers == list(expected(old, new, first, cut, last, events))

    goes_on()
