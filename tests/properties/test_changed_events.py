"""A `.tw` whose definitions change while it runs: each event goes on, or begins and knows events that ended since."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

from changed_programs import ChangingRun
from pattern_meaning import found_above
from random_cascades import BACKGROUND, LAST, SPACE, Arrival, absolute, arrivals, definitions, text_of
from thalweg import api
from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine
from thalweg.answers.record import Answer
from thalweg.diagnostics import Source
from thalweg.ir.pattern_semantics import Instance
from thalweg.ir.patterns import Pattern, occurrences
from thalweg.kinds.events.event_units import SELECTION
from thalweg.kinds.part import Part
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate

AXIOMS = "SubClassOf(:Special :A) SubClassOf(:B :Any) SubClassOf(:C :Any) SubObjectPropertyOf(:r :p)"
# Of no class that is asked for, so that nothing begins where it is added.
UNRELATED = "SubClassOf(:Other :More) SubClassOf(:A :More)"
MEMBERS = {"A": {"A", "Special"}, "B": {"B"}, "C": {"C"}, "Any": {"Any", "B", "C"}}
"""The classes of a graph by which its individual is in a class."""


@dataclass(frozen=True)
class Program:
    """The classes of A, B and C, patterns over them, and whether there are axioms that matter to none."""

    classes: Mapping[str, str]
    patterns: tuple[tuple[str, Pattern], ...]
    unrelated: bool

    @property
    def selection(self) -> str:
        return ""

    @property
    def part(self) -> Part:
        text = f"{text_of(self.patterns)} {self.selection}"
        for name, asked in self.classes.items():
            text = text.replace(absolute(f"<{name}> AS <{name}>"), absolute(f"<{name}> AS {asked}"))
        axioms = f"{AXIOMS} {UNRELATED if self.unrelated else ''} Declaration(DataProperty(:v))"
        ontology = f"Prefix(:=<{SPACE}>) Ontology({axioms})"
        known = "".join(f"{subject} {predicate} {thing} .\n" for subject, predicate, thing in BACKGROUND)
        sources = [Source("case.tw", text), Source("case.ofn", ontology)]
        part, wrong = api.analyse(
            sources, [Source("known.nt", absolute(known))], show=[absolute(f"<{name}>/1") for name in self.definitions]
        )
        assume(not any(found.severity == "error" for found in wrong))
        return part

    @property
    def definitions(self) -> dict[str, object]:
        return {
            **{name: asked.replace("(", "").replace(")", "") for name, asked in self.classes.items()},
            **dict(self.patterns),
        }

    def same(self, old: "Program") -> set[str]:
        """The events that are defined as before, and so are all that they use."""
        own, before = self.definitions, old.definitions
        same = {name for name in own.keys() & before.keys() if own[name] == before[name]}
        while wrong := {name for name in same if not uses(own[name]) <= same}:
            same -= wrong
        return same


def uses(definition: object) -> set[str]:
    return {place.event for place in occurrences(definition.operand)} if isinstance(definition, Pattern) else set()


@st.composite
def programs(draw: st.DrawFn, old: Program | None = None) -> Program:
    """A program, or another one that has definitions in common with an old one."""
    second = draw(st.sampled_from(("<B>", "<Any>", "(<B> or <Any>)")))
    classes = {"A": "<A>", "B": second, "C": draw(st.sampled_from(("<C>", "<C>", "<B>")))}
    patterns = dict(draw(definitions()))
    if old is not None:
        classes = old.classes if draw(st.integers(0, 2)) else classes
        kept = {name: pattern for name, pattern in old.patterns if draw(st.integers(0, 3))}
        patterns = {name: kept.get(name) or patterns.get(name) for name in "DEF"}
        levels = next((number for number, pattern in enumerate(patterns.values()) if pattern is None), 3)
        patterns = {name: pattern for name, pattern in list(patterns.items())[:levels] if pattern is not None}
    return Program(classes, tuple(patterns.items()), draw(st.booleans()))


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[Program], list[int]]:
    """Programs one after the other, and the last ticks of all but the last."""
    chosen = [draw(programs())]
    for _ in range(draw(st.sampled_from((1, 1, 2)))):
        chosen.append(draw(programs(chosen[-1])))
    cuts = draw(st.lists(st.integers(0, 9), min_size=len(chosen) - 1, max_size=len(chosen) - 1, unique=True))
    return chosen, sorted(cuts)


def meaning(program: Program, since: Mapping[str, int], came: Sequence[Arrival]) -> list[EventLine]:
    """What a program outputs whose events began at these ticks."""
    return events_and_lines(program, since, came)[1]


def events_and_lines(
    program: Program, since: Mapping[str, int], came: Sequence[Arrival]
) -> tuple[dict[str, list[Instance]], list[EventLine]]:
    """The events of a program that began at these ticks, and what it outputs."""
    events: dict[str, list[Instance]] = {}
    lines = list[EventLine]()
    for name, asked in program.classes.items():
        iri = absolute(f"<{name}>")
        events[iri], found = classified(iri, asked, since[name], came)
        lines += found
    for name, pattern in absolute_patterns(program):
        events[name], found = matched(name, pattern, since[name[-2]], events)
        lines += found
    return events, lines


def matched(
    name: str, pattern: Pattern, first: int, events: Mapping[str, list[Instance]]
) -> tuple[list[Instance], list[EventLine]]:
    """The complex events of a pattern that began at a tick, and what is output of them."""
    seen = {other: [one for one in some if one.end >= first] for other, some in events.items()}
    found, complex_events = found_above(name, pattern, seen, {*entailed(BACKGROUND)}, LAST)
    lines = (ComplexLine(one.end, Instance(name, one.start, one.end, events=one.events), one.bindings) for one in found)
    return complex_events, list(lines)


def classified(name: str, asked: str, first: int, came: Sequence[Arrival]) -> tuple[list[Instance], list[EventLine]]:
    """The events of a class from a tick on, and what is output of them."""
    members = MEMBERS[re.findall(r"\w+", asked)[-1]]
    arrived = [instance(name, one) for one in came if members & {*one.classes} and one.tick >= first]
    return arrived, [AbstractLine(one.start, name, one.individual, one.graph) for one in arrived]


def instance(name: str, one: Arrival) -> Instance:
    about = name, one.tick, one.tick, absolute(one.individual), absolute(one.graph)
    return Instance(*about, triples=entailed(one.triples))


def entailed(triples: Sequence[tuple[str, str, str]]) -> tuple[tuple[str, str, str], ...]:
    more = [(subject, "<p>", thing) for subject, predicate, thing in triples if predicate == "<r>"]
    return tuple((absolute(one), absolute(two), absolute(three)) for one, two, three in (*triples, *more))


def absolute_patterns(program: Program) -> list[tuple[str, Pattern]]:
    """The patterns as they are read."""
    part = program.part
    return [(one.name, one.definition) for one in part.program.events if isinstance(one.definition, Pattern)]  # type: ignore[attr-defined]


def take(run: ChangingRun, came: Sequence[Arrival], first: int, last: int) -> None:
    """The graphs of some ticks."""
    code = run.run.dictionary.code
    for tick in range(first, last + 1):
        batch = Batch(stream="s0")
        for one in came:
            if one.tick == tick:
                types = [(f"<{name}>", one.individual) for name in one.classes]
                for name, *terms in (*types, *((name, subject, thing) for subject, name, thing in one.triples)):
                    batch.add(Predicate(absolute(name), len(terms)), [code(absolute(term)) for term in terms])
                batch.graphs.append((absolute(one.graph), len(types) + len(one.triples)))
        # Nothing need come at the tick at which a program begins.
        if batch.order or tick == last:
            run.answers += run.run.advance(tick, [batch] if batch.order else [])


def titles(names: set[str]) -> set[str]:
    return {f"the event `{absolute(f'<{name}>')}`" for name in names}


@given(changes(), arrivals([0]), st.booleans())
def test_events_go_on_or_begin(change: tuple[list[Program], list[int]], came: list[Arrival], resumed: bool) -> None:
    (program, *others), cuts = change
    run = ChangingRun(program.part, 0)
    since = dict.fromkeys(program.definitions, 0)
    first = 0
    expected: list[EventLine] = []
    for cut, other in zip(cuts, others, strict=True):
        take(run, came, first, cut)
        expected += [line for line in meaning(program, since, came) if first <= line.t <= cut]
        same, found = other.same(program), run.change(other.part)
        assert {*found.same} == titles(same)
        assert {*found.begun} == titles({*other.definitions} - same)
        event(f"{'some' if same else 'no'} events go on, {'some' if found.begun else 'none'} begin")
        since = {name: since[name] if name in same else cut + 1 for name in other.definitions}
        program, first = other, cut + 1
        if resumed:
            run.resume(program.part)
    take(run, came, first, LAST)
    expected += [line for line in meaning(program, since, came) if first <= line.t]
    answers = [line for answer in run.finish() for line in str(answer).splitlines()]
    assert answers == [str(line) for line in sorted(expected, key=lambda line: (line.t, str(line)))]
    assert all(json.loads(line) for line in answers)


# Behind a selection ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selected(Program):
    """A program that sees what a window of some ticks selects at each closing."""

    size: int = 1
    slide: int = 1

    @property
    def selection(self) -> str:
        window = f"FROM NAMED WINDOW <w> ON STREAM <s0> [RANGE {self.size}s, SLIDE {self.slide}s]"
        return absolute(f"{window} WHERE {{ WINDOW <w> {{ ?o a ?k }} }}")

    def closing(self, tick: int) -> int:
        """The first tick from one on at which the window closes."""
        return next(end for end in range(self.size - 1, LAST + 20, self.slide) if end >= tick)


@st.composite
def selected(draw: st.DrawFn) -> tuple[Selected, Selected, int]:
    """Two programs with definitions in common, mostly with the same selection, and the last tick of the first."""
    old, size, slide, cut = draw(programs()), draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(0, 9))
    new, other = draw(programs(old)), draw(st.sampled_from((size, size, size, size + 1)))
    return Selected(*bare(old), size, slide), Selected(*bare(new), other, slide), cut


def bare(program: Program) -> tuple[Mapping[str, str], tuple[tuple[str, Pattern], ...], bool]:
    """Without clauses: of a graph nothing is selected but the classes of its individual."""
    patterns = tuple((name, replace(pattern, clauses=())) for name, pattern in program.patterns)
    return program.classes, patterns, program.unrelated


def lines_of(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    return [json.loads(line) for answer in answers for line in str(answer).splitlines()]


def fresh(program: Program, came: Sequence[Arrival], first: int) -> list[dict[str, Any]]:
    run = ChangingRun(program.part, first)
    take(run, came, first, LAST)
    return lines_of(run.finish())


def behind(program: Selected, since: Mapping[str, int], whole: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a program outputs whose events began at these ticks; of the run as a `whole` only classes are asked."""
    events: dict[str, list[Instance]] = {}
    lines: list[dict[str, Any]] = []
    for name in program.classes:
        iri = absolute(f"<{name}>")
        own = [dict(line) for line in whole if line["event"] == iri and line["from"] >= since[name]]
        events[iri] = [Instance(iri, line["from"], line["to"], line["individual"], line["graph"]) for line in own]
        lines += own
    for name, pattern in absolute_patterns(program):
        first = since[name[-2]]
        seen = {other: [one for one in some if one.end >= first] for other, some in events.items()}
        found, events[name] = found_above(name, pattern, seen, (), LAST)
        made = (Instance(name, one.start, one.end, events=one.events) for one in found)
        texts = (str(ComplexLine(program.closing(one.end), one, ())) for one in dict.fromkeys(made))
        lines += [line for line in map(json.loads, texts) if line["t"] <= LAST]
    return lines


@given(selected(), arrivals([0]), st.booleans())
def test_events_go_on_or_begin_behind_a_selection(
    change: tuple[Selected, Selected, int], came: list[Arrival], resumed: bool
) -> None:
    old, new, cut = change
    run = ChangingRun(old.part, 0)
    take(run, came, 0, cut)
    is_kept = old.size == new.size
    same, found = new.same(old) if is_kept else set(), run.change(new.part)
    assert {*found.same} == titles(same) | ({SELECTION} if is_kept else set())
    if resumed:
        run.resume(new.part)
    take(run, came, cut + 1, LAST)
    before = behind(old, dict.fromkeys(old.definitions, 0), fresh(old, came, 0))
    since = {name: 0 if name in same else cut + 1 for name in new.definitions}
    after = behind(new, since, fresh(new, came, 0)) if is_kept else fresh(new, came, cut + 1)
    expected = [*(line for line in before if line["t"] <= cut), *(line for line in after if line["t"] > cut)]
    event(f"the selection {'goes on' if is_kept else 'begins'}, {'some' if same else 'no'} events go on")
    assert in_order(lines_of(run.finish())) == in_order(expected)


def in_order(lines: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(map(json.dumps, lines))
