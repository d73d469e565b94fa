"""Patterns are matched tick by tick as `ir/pattern_semantics.py` says of the whole stream."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from pattern_meaning import found_above, in_order
from random_patterns import NAMES, looking, patterns
from thalweg.ir.pattern_semantics import Holds, Instance, Match, Pair, matches
from thalweg.ir.patterns import Clause, Filter, Occurs, Pattern, Sequence, Triple
from thalweg.kinds.events import joins
from thalweg.kinds.events.event_layers import EventLayers
from thalweg.kinds.events.matcher import Matcher, matcher
from thalweg.languages.cascade.event_definitions import CascadeProgram, NamedEvent
from thalweg.languages.cascade.impossible_patterns import impossible_patterns

LAST = 14
Stream = Mapping[int, Mapping[str, list[Pair]]]


@pytest.fixture(autouse=True, scope="module")
def forgets_at_once() -> Iterator[None]:
    """Streams are short here: what is not needed is dropped at every tick, not when much of it has gathered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joins, "FEW", 0)
        patch.setattr(joins, "GROWTH", 0)
        yield


def unequal(condition: Filter, binding: Mapping[str, str]) -> bool:
    assert set(binding) == set(condition.variables)
    return binding[condition.variables[0]] == "<0>" or len(set(binding.values())) == 2


@st.composite
def streams(draw: st.DrawFn, pattern: Pattern) -> Stream:
    """Events with intervals, several at a tick, some of them with several solutions."""
    variables = {clause.event: sorted(clause.variables) for clause in pattern.clauses}
    stream: dict[int, dict[str, list[Pair]]] = {}
    for _ in range(draw(st.integers(0, 8))):
        name = draw(st.sampled_from(sorted(variables)))
        end = draw(st.integers(0, 9))
        start = end - draw(st.sampled_from((0, 0, 0, 1, 3)))
        event = Instance(name, start, end, draw(st.sampled_from(("<x1>", "<x10>"))), "<g>")
        pairs = stream.setdefault(end, {}).setdefault(name, [])
        for _ in range(draw(st.sampled_from((1, 1, 2)))):
            pair = event, tuple((one, draw(st.sampled_from(("<0>", "<1>")))) for one in variables[name])
            if pair not in pairs:
                pairs.append(pair)
    return stream


def meant(pattern: Pattern, stream: Stream) -> list[Match]:
    pairs: dict[str, list[Pair]] = {}
    for arriving in stream.values():
        for name, some in arriving.items():
            pairs.setdefault(name, []).extend(some)
    return in_order(matches(pattern, pairs, LAST, unequal))


def matched(
    pattern: Pattern,
    stream: Stream,
    after: Callable[[int, Any], Any] = lambda _, one: one,
    made: Callable[[Pattern, Holds], Any] = Matcher,
) -> list[Match]:
    running = made(pattern, unequal)
    found: list[Match] = []
    for tick in range(LAST + 1):
        new = running.advance(tick, stream.get(tick, {}))
        assert all(one.end == tick for one in new)
        found += new
        running = after(tick, running)
    return in_order(found)


@given(st.data())
def test_matcher_is_semantics(data: st.DataObject) -> None:
    pattern = data.draw(patterns())
    stream = data.draw(streams(pattern))
    assert matched(pattern, stream) == meant(pattern, stream)


@st.composite
def sequences(draw: st.DrawFn) -> Pattern:
    """`EVERY A SEQ B`, which is not matched by a tree of joins."""
    pattern = draw(patterns())
    operand = Sequence((Occurs("A", 0), Occurs("B", 1)))
    clauses = tuple(one for one in pattern.clauses if one.event != "C")
    known = {name for one in clauses for name in one.variables}
    kept = (tuple(each for each in one.filters if set(each.variables) <= known) for one in clauses)
    bound = tuple(Clause(one.event, one.triples, filters) for one, filters in zip(clauses, kept, strict=True))
    named = {one.event for one in bound}
    return Pattern(operand, "EVERY", pattern.within, (*bound, *(Clause(one) for one in "AB" if one not in named)))


@given(st.data())
def test_next_event_is_semantics_also_when_stopped(data: st.DataObject) -> None:
    pattern = data.draw(sequences())
    stream = data.draw(streams(pattern))
    stop = data.draw(st.integers(0, LAST))

    def resumed(tick: int, found: Any) -> Any:
        if tick != stop:
            return found
        another = matcher(pattern, unequal)
        another.load(found.save())
        return another

    assert matched(pattern, stream, resumed, made=matcher) == meant(pattern, stream)


@given(st.data())
def test_any_order_inside_a_tick(data: st.DataObject) -> None:
    pattern = data.draw(patterns())
    stream = data.draw(streams(pattern))
    other = {
        tick: {
            name: data.draw(st.permutations(arriving[name])) for name in data.draw(st.permutations(sorted(arriving)))
        }
        for tick, arriving in stream.items()
    }
    assert matched(pattern, stream) == matched(pattern, other)


@given(st.data())
def test_ticks_without_events_may_be_left_out(data: st.DataObject) -> None:
    pattern = data.draw(patterns())
    stream = data.draw(streams(pattern))
    one_by_one = Matcher(pattern, unequal)
    found = [one for tick in sorted({*stream, LAST}) for one in one_by_one.advance(tick, stream.get(tick, {}))]
    assert in_order(found) == matched(pattern, stream)


@given(st.data())
def test_nothing_is_taken_back(data: st.DataObject) -> None:
    pattern = data.draw(patterns())
    stream = data.draw(streams(pattern))
    tick = data.draw(st.integers(0, 9))
    before = {end: arriving for end, arriving in stream.items() if end <= tick}
    known = [one for one in meant(pattern, stream) if one.end <= tick]
    assert known == [one for one in meant(pattern, before) if one.end <= tick]


@given(st.data())
def test_stop_and_resume_is_never_stopped(data: st.DataObject) -> None:
    pattern = data.draw(patterns())
    stream = data.draw(streams(pattern))
    stops = data.draw(st.sets(st.integers(0, LAST), min_size=1, max_size=3))
    note(pattern)

    def resumed(tick: int, running: Matcher) -> Matcher:
        if tick not in stops:
            return running
        another = Matcher(pattern, unequal)
        another.load(running.save())
        return another

    assert matched(pattern, stream, resumed) == matched(pattern, stream)


# Patterns over patterns, with clauses that look at triples ----------------------------------------------------------

BACKGROUND = [("<0>", "<q>", "<1>"), ("<1>", "<q>", "<1>"), ("<i1>", "<p>", "<0>")]


@st.composite
def abstract_events(draw: st.DrawFn) -> dict[int, dict[str, list[Instance]]]:
    stream: dict[int, dict[str, list[Instance]]] = {}
    for number in range(draw(st.integers(0, 6))):
        name, tick = draw(st.sampled_from(NAMES)), draw(st.integers(0, 9))
        individual = draw(st.sampled_from(("<i1>", "<i2>")))
        triples = tuple((individual, "<p>", one) for one in sorted(draw(st.sets(st.sampled_from(("<0>", "<1>"))))))
        event = Instance(name, tick, tick, individual, f"<g{number}>", triples=triples)
        stream.setdefault(tick, {}).setdefault(name, []).append(event)
    return stream


@given(st.data())
def test_patterns_over_patterns_are_semantics_layer_by_layer_also_when_stopped(data: st.DataObject) -> None:
    below = data.draw(looking(data.draw(patterns()), {}))
    above = data.draw(looking(data.draw(patterns()), {"B": "D"}))
    stream = data.draw(abstract_events())
    events = {name: [one for some in stream.values() for one in some.get(name, ())] for name in NAMES}
    lower, made = found_above("D", below, events, BACKGROUND, LAST)
    upper, _ = found_above("E", above, events | {"D": made}, BACKGROUND, LAST)
    program = CascadeProgram((NamedEvent("D", below), NamedEvent("E", above)))
    layers = EventLayers(program, BACKGROUND)
    stop = data.draw(st.integers(0, LAST))
    came = []
    for tick in sorted({*stream, LAST}):
        came += layers.advance(tick, stream.get(tick, {}))
        if tick >= stop:
            saved, layers = layers.save(), EventLayers(program, BACKGROUND)
            layers.load(saved)
    assert all(tick == event.end for tick, (event, _) in came)
    output = [(one.event, Match(one.start, one.end, one.events, bindings)) for _, (one, bindings) in came]
    assert in_order([match for name, match in output if name == "D"]) == in_order(lower)
    assert in_order([match for name, match in output if name == "E"]) == in_order(upper)


WITH_CONSTANTS = (
    (),
    (Triple("?e", "<p>", "?x"), Triple("?e", "<p>", "<c>")),
    (Triple("?e", "<p>", "?x"), Triple("?x", "<q>", "<c>")),
    (Triple("?e", "<p>", "?y"), Triple("?y", "<q>", "?x"), Triple("<c>", "<q>", "?x")),
)


def _about(pattern: Pattern, term: str) -> Pattern:
    """A pattern with a term where its clauses have a constant."""
    clauses = tuple(
        replace(
            clause,
            triples=tuple(
                Triple(*(term if one == "<c>" else one for one in (triple.subject, triple.predicate, triple.object)))
                for triple in clause.triples
            ),
        )
        for clause in pattern.clauses
    )
    return replace(pattern, clauses=clauses)


@given(st.data())
def test_subscriptions_that_differ_in_constants_find_what_each_finds_alone(data: st.DataObject) -> None:
    written = data.draw(looking(data.draw(patterns()), {}, WITH_CONSTANTS))
    terms = data.draw(st.lists(st.sampled_from(("<0>", "<1>", "<2>")), min_size=2, max_size=6))
    definitions = {f"D{number}": _about(written, term) for number, term in enumerate(terms)}
    stream = data.draw(abstract_events())
    events = {name: [one for some in stream.values() for one in some.get(name, ())] for name in NAMES}
    program = CascadeProgram(tuple(NamedEvent(name, one) for name, one in definitions.items()))
    layers = EventLayers(program, BACKGROUND)
    came = [one for tick in sorted({*stream, LAST}) for one in layers.advance(tick, stream.get(tick, {}))]
    for name, pattern in definitions.items():
        found = [Match(one.start, one.end, one.events, bound) for _, (one, bound) in came if one.event == name]
        assert in_order(found) == in_order(found_above(name, pattern, events, BACKGROUND, LAST)[0])


@given(st.data())
def test_what_check_says_never_happens_never_does(data: st.DataObject) -> None:
    pattern = data.draw(patterns())
    if list(impossible_patterns([NamedEvent("<E>", pattern)], tick_length=1_000)):
        assert meant(pattern, data.draw(streams(pattern))) == []
