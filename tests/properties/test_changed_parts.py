"""Queries and events that go on, or begin, beside rules: what begins answers as a fresh run over what still comes.

What is unchanged and read by what begins has no memory here, so that a fresh run has the same of it.
"""

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from changed_programs import ChangingRun, by_tick
from pattern_meaning import found_above
from thalweg import api
from thalweg.answers.event_answers import ComplexLine
from thalweg.answers.record import Answer
from thalweg.diagnostics import Source
from thalweg.ir.pattern_semantics import Instance
from thalweg.kinds.events import EventCascade
from thalweg.kinds.part import Part
from thalweg.model.event import Event
from thalweg.model.fact import Fact

LAST = 10
SPACE = "http://ex/"
PREFIX = f"PREFIX : <{SPACE}>"
UNITS = {
    "hot": f"<{SPACE}hot>/1",
    "alarm": f"<{SPACE}alarm>/1",
    "late": f"<{SPACE}late>/1",
    "triples": "the query `made`",
    "rows": "the query `heard`",
    "class": f"the event `<{SPACE}K>`",
    "events": f"the event `<{SPACE}M>`",
}
BEGIN = {
    "below": {"hot", "rows", "class", "events", "late"},
    "above": {"alarm", "late"},
    # Classes hear what queries make, and rows are for users only.
    "made": {"triples", "alarm", "class", "events", "late"},
    "heard": {"rows"},
    "within": {"events", "late"},
    "none": set(),
}


@dataclass(frozen=True)
class Programs:
    """Rules below and above two queries and a pattern, each with a number or two."""

    below: int
    above: int
    made: tuple[int, int]
    heard: tuple[int, int]
    within: int
    none: int = 0

    @property
    def part(self) -> Part:
        return self.showing()

    def showing(self, *events: str) -> Part:
        """The part, with the lines of some events."""
        pattern = f"EVERY :K SEQ :K WITHIN ({self.within} s)" if self.within else "EVERY :K"
        made, heard = (f"[RANGE {size}s, SLIDE {slide}s]" for size, slide in (self.made, self.heard))
        texts = {
            "rules.lars": f"@prefix : <{SPACE}> . :hot(S) :- :v(S,V), V > {self.below}.",
            "above.lars": f"@prefix : <{SPACE}> . :alarm(S) :- :above(S,V) from made in [{self.above}]."
            f" :late(E) :- :M(E) in [{self.above}].",
            "made.rspql": f"{PREFIX} REGISTER RSTREAM :made AS CONSTRUCT {{ ?s :above ?v }} FROM NAMED WINDOW :w"
            f" ON STREAM :readings {made} WHERE {{ WINDOW :w {{ ?s :v ?v FILTER(?v > 3) }} }}",
            "heard.rspql": f"{PREFIX} REGISTER RSTREAM :heard AS SELECT ?s FROM NAMED WINDOW :w"
            f" ON STREAM :rules {heard} WHERE {{ WINDOW :w {{ ?s a :hot }} }}",
            "patterns.tw": f"{PREFIX} NAMED EVENT :K AS :hot NAMED EVENT :M {{ MATCH {pattern} }}",
            "classes.ofn": f"Prefix(:=<{SPACE}>) Ontology(Declaration(Class(:hot)))",
        }
        shown = [f"<{SPACE}{name}>/1" for name in events] or None
        part, wrong = api.analyse([Source(name, text) for name, text in texts.items()], show=shown)
        assert not [one for one in wrong if one.severity == "error"]
        return part


@st.composite
def changes(draw: st.DrawFn) -> tuple[Programs, Programs, str]:
    """Two programs that differ in one number, and its name."""
    window = st.tuples(st.integers(1, 4), st.integers(1, 3))
    kind = draw(st.sampled_from(sorted(BEGIN)))
    made, within = draw(window), draw(st.integers(1, 4))
    # What begins above reads these, which go on.
    made, within = ((1, 1), 0) if kind == "above" else (made, within)
    old = Programs(draw(st.integers(0, 4)), draw(st.integers(0, 3)), made, draw(window), within)
    before = getattr(old, kind)
    return old, replace(old, **{kind: (before[0] + 1, before[1]) if isinstance(before, tuple) else before + 1}), kind


def readings() -> st.SearchStrategy[tuple[Event, ...]]:
    fact = st.builds(
        lambda sensor, value: Fact(f"<{SPACE}v>", (f"<{SPACE}{sensor}>", str(value))),
        st.sampled_from("ab"),
        st.integers(0, 6),
    )
    facts = st.lists(st.lists(fact, max_size=2, unique=True), min_size=LAST + 1, max_size=LAST + 1)
    return facts.map(lambda found: tuple(Event(tick, tuple(own), "readings") for tick, own in enumerate(found) if own))


def said(answers: list[Answer], begin: int, units: set[str]) -> list[object]:
    """What some units answer from a tick on; facts that end there are not theirs."""
    found: list[object] = []
    for answer in answers:
        lines = [json.loads(line) for line in str(answer).splitlines()]
        if answer.kind != "changes":
            found += [line for line in lines if answer.kind in units and line["t"] >= begin]
            continue
        for line in lines if lines[0]["t"] >= begin else ():
            own = [[fact for fact in line[side] if _name(fact) in units] for side in ("begin", "end")]
            found += [(line["t"], *own)] if any(own) else []
    return found


def _name(fact: str) -> str:
    return fact.partition(">")[0].removeprefix(f"<{SPACE}")


def fresh(part: Part, first: int, events: tuple[Event, ...]) -> list[Answer]:
    run = ChangingRun(part, first)
    for tick, arrived in by_tick(events, first, LAST):
        run.advance(tick, arrived)
    return run.finish()


@given(changes(), readings(), st.integers(5, LAST - 1), st.booleans())
def test_queries_and_events_go_on_or_begin(
    change: tuple[Programs, Programs, str], events: tuple[Event, ...], cut: int, resumed: bool
) -> None:
    old, new, kind = change
    run = ChangingRun(old.part, 0)
    for tick, arrived in by_tick(events, 0, cut):
        run.advance(tick, arrived)
    found = run.change(new.part)
    begun = BEGIN[kind]
    assert {*found.begun} == {UNITS[unit] for unit in begun}
    held = _holding(run.answers)
    if resumed:
        run.resume(new.part)
    for tick, arrived in by_tick(events, cut + 1, LAST):
        run.advance(tick, arrived)
    answers, whole = run.finish(), fresh(old.part, 0, events)
    if kind == "above":
        # An event is what begins to hold, so those that go on are not the events of a fresh run.
        begun, expected_late = begun - {"late"}, later(said(fresh(new.part, 0, events), 0, {"late"}), cut + 1)
        assert later(said(answers, 0, {"late"}), cut + 1) == expected_late
        assert all(fact in _ending(answers, cut + 1) for fact in held if _name(fact) == "late")
    same = UNITS.keys() - BEGIN[kind]
    assert said(answers, 0, same) == said(whole, 0, same)
    if kind == "within":
        # What holds since before was an event of the class, which goes on, when it began to hold.
        lines = matched(new, fresh(old.showing("K", "M"), 0, events), cut + 1)
        assert said(answers, cut + 1, {"events"}) == lines
        assert begins(said(answers, cut + 1, {"late"})) == Counter(line["t"] for line in lines)
        assert all(fact in _ending(answers, cut + 1) for fact in held if _name(fact) == "late")
        return
    ends = sorted(fact for fact in held if _name(fact) in begun)
    expected = said(fresh(new.part, cut + 1, events), cut + 1, begun)
    if ends:
        first = next((one for one in expected if isinstance(one, tuple) and one[0] == cut + 1), (cut + 1, [], []))
        rest = [one for one in expected if one is not first]
        place = next((number for number, one in enumerate(rest) if _tick(one) > cut + 1), len(rest))
        expected = [*rest[:place], (cut + 1, first[1], sorted([*first[2], *ends])), *rest[place:]]
    assert said(answers, cut + 1, begun) == expected


def matched(programs: Programs, answers: list[Answer], first: int) -> list[dict[str, Any]]:
    """The lines of the pattern over the events of its class from a tick on."""
    lines = [line for line in said(answers, first, {"events"}) if line["event"] == f"<{SPACE}K>"]  # type: ignore[index]
    came = [Instance(f"<{SPACE}K>", line["t"], line["t"], line["individual"], line.get("graph", "")) for line in lines]  # type: ignore[index]
    (cascade,) = (member for member in programs.part.members if isinstance(member, EventCascade))  # type: ignore[attr-defined]
    ((name, pattern),) = cascade.patterns.items()
    found, _ = found_above(name, pattern, {f"<{SPACE}K>": came}, (), LAST)
    made = (ComplexLine(one.end, Instance(name, one.start, one.end, events=one.events), one.bindings) for one in found)
    return [json.loads(str(line)) for line in sorted(made, key=lambda line: (line.t, str(line)))]


def begins(changes: list[Any]) -> Counter[int]:
    """How many facts begin at each tick."""
    return Counter({tick: len(begin) for tick, begin, _ in changes if begin})


def later(lines: list[Any], first: int) -> list[object]:
    """The changes of facts that begin at a tick or after it."""
    began = {fact for tick, begin, _ in lines if tick >= first for fact in begin}
    kept = [(tick, *([fact for fact in side if fact in began] for side in sides)) for tick, *sides in lines]
    return [change for change in kept if change[1] or change[2]]


def _ending(answers: list[Answer], tick: int) -> set[str]:
    """The facts that end at a tick."""
    lines = (json.loads(str(answer)) for answer in answers if answer.kind == "changes" and answer.t == tick)
    return {fact for line in lines for fact in line["end"]}


def _tick(line: object) -> int:
    return line[0] if isinstance(line, tuple) else line["t"]  # type: ignore[index]


def _holding(answers: list[Answer]) -> set[str]:
    held: set[str] = set()
    for answer in answers:
        if answer.kind == "changes":
            line = json.loads(str(answer))
            held = held - {*line["end"]} | {*line["begin"]}
    return held
