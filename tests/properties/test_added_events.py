"""Events that are added to a running cascade and taken from it: others do not notice, and it answers as if alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import event, given
from hypothesis import strategies as st
from test_changed_events import Program, classified, events_and_lines, matched, programs, take

from changed_programs import ChangingRun
from random_cascades import LAST, LIKELY, NUMBERS, Arrival, absolute, arrivals, definition_text
from random_patterns import looking, patterns
from thalweg.answers.event_answers import EventLine
from thalweg.diagnostics import Source
from thalweg.ir.patterns import Pattern
from thalweg.kinds.events import EventCascade
from thalweg.kinds.events.added_events import AddedEvent
from thalweg.languages.cascade.event_definitions import NamedEvent
from thalweg.languages.cascade.read_events import read_definition
from thalweg.languages.rspql.names import DeclaredNames
from thalweg.runtimes.local import LocalRun

CLASSES = ("<A>", "<Any>", "(<B> or <Any>)", "<C>")


@dataclass(frozen=True)
class Addition:
    """An event that is added behind a tick and taken away behind another one, where it is."""

    name: str
    definition: str | Pattern
    after: int
    until: int | None

    @property
    def event(self) -> NamedEvent:
        text = f"AS {self.definition}" if isinstance(self.definition, str) else definition_text(self.definition)
        read, wrong = read_definition(Source("added", absolute(text)), absolute(f"<{self.name}>"), DeclaredNames())
        assert read is not None
        assert not any(problem.severity == "error" for problem in wrong)
        return read

    def lasts(self, tick: int) -> bool:
        """Whether it is there at a tick."""
        return self.after < tick and (self.until is None or tick <= self.until)


@st.composite
def additions(draw: st.DrawFn, defined: Sequence[str]) -> list[Addition]:
    """Events that come one after the other, each made of those before that stay at least as long."""
    chosen: list[Addition] = []
    after = -1
    for name in "XYZ"[: draw(st.integers(1, 3))]:
        after = draw(st.integers(max(after, -1), 9))
        until = draw(st.sampled_from((None, None, after + 1, after + 3)))
        if draw(st.integers(0, 3)) == 0:
            chosen.append(Addition(name, draw(st.sampled_from(CLASSES)), after, until))
            continue
        likely = st.builds(Pattern, st.sampled_from(LIKELY), st.sampled_from(("EVERY", "FIRST")), st.integers(3, 6))
        there = [one.name for one in chosen if one.until is None]
        instead = {place: draw(st.sampled_from((place, place, *defined, *there))) for place in "ABC"}
        pattern = draw(looking(draw(st.one_of(patterns(), likely)), instead, draw(st.sampled_from((NUMBERS, ((),))))))
        chosen.append(Addition(name, pattern, after, until))
    return chosen


def meaning(program: Program, added: Sequence[Addition], came: Sequence[Arrival]) -> list[str]:
    """What is output of a program and of what is added to it, by the semantics."""
    events, lines = events_and_lines(program, dict.fromkeys(program.definitions, 0), came)
    for addition in added:
        name, first = absolute(f"<{addition.name}>"), addition.after + 1
        found: list[EventLine]
        if isinstance(addition.definition, str):
            events[name], found = classified(name, addition.definition, first, came)
        else:
            pattern = addition.event.definition
            assert isinstance(pattern, Pattern)
            events[name], found = matched(name, pattern, first, events)
        lines += [line for line in found if addition.lasts(line.t)]
    return [str(line) for line in sorted(lines, key=lambda line: (line.t, str(line)))]


class AddingRun(ChangingRun):
    """A run to which events are added, and from which they are taken."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.part, 0)
        assert isinstance(program.part, EventCascade)
        self._part = program.part
        self._added: dict[str, AddedEvent] = {}

    def change_behind(self, tick: int, added: Sequence[Addition]) -> None:
        """Adds and takes away what comes and goes behind a tick."""
        for addition in added:
            if addition.until == tick:
                self.run.remove_definition(addition.event.name)
                del self._added[addition.event.name]
            elif addition.after == tick:
                assert self.run.definitions is not None
                self.run.definitions.check_definition(addition.event)
                first = self.run.add_definition(addition.event)
                assert first == (None if tick < 0 else tick + 1)
                self._added[addition.event.name] = AddedEvent(addition.event, first)

    def restart(self) -> None:
        """Goes on in another process."""
        saved = self.run.save({})
        self.run = LocalRun(replace(self._part, added=tuple(self._added.values())), self.context)
        self.run.load(saved)


@given(programs(), arrivals([0]), st.sets(st.integers(-1, 12), max_size=4), st.data())
def test_what_is_added_answers_as_alone(
    program: Program, came: list[Arrival], stopped: set[int], data: st.DataObject
) -> None:
    """Also where it goes on in another process, behind any ticks."""
    added = data.draw(additions([name for name in program.definitions if name in "DEF"]))
    run = AddingRun(program)
    ticks = {one.after for one in added} | {one.until for one in added if one.until is not None} | {*stopped, LAST}
    behind = 0
    for tick in sorted(ticks):
        take(run, came, behind, tick)
        behind = tick + 1
        run.change_behind(tick, added)
        if tick in stopped:
            run.restart()
    lines = [line for answer in run.finish() for line in str(answer).splitlines()]
    found = sum(absolute(f'"<{one.name}>"') in line for line in lines for one in added)
    event(f"{len(added)} added, {'some' if found else 'none'} found")
    assert lines == meaning(program, added, came)
