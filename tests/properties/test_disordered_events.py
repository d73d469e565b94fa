"""Whatever order events come in, and wherever a run stops: the matches that patterns mean, by the command line."""

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st
from typer.testing import CliRunner

from random_cascades import Arrival, absolute, arrivals, definitions, meant, text_of, write_case
from taken_items import Taken, after_each_item
from thalweg.cli import app
from thalweg.connectors import files, interrupt
from thalweg.diagnostics import Diagnostic, FailedError, Source
from thalweg.ir.patterns import Pattern
from thalweg.kinds.events import joins
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.languages.cascade.read_events import read_events
from thalweg.model.dictionary import Dictionary
from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint
from thalweg.runtimes.local import LocalRun

Named = tuple[tuple[str, Pattern], ...]
DELAY = 3


@pytest.fixture(autouse=True, scope="module")
def forgets_at_once() -> Iterator[None]:
    """Streams are short here: what is not needed is forgotten at once, not when much of it has gathered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joins, "FEW", 0)
        patch.setattr(joins, "GROWTH", 0)
        patch.setattr(Dictionary, "wants_collection", property(lambda words: True))
        # Here a process has many runs, and what one of them loaded is garbage afterwards.
        patch.setattr(gc, "freeze", lambda: None)
        # A busy machine has all the time it needs to stop.
        patch.setattr(interrupt, "GRACE", 600.0)
        yield


def program_of(named: Named) -> CascadeProgram:
    """Definitions as they are read: their patterns are those that were written."""
    text = text_of(named)
    note(text)
    events, _, found = read_events(Source("case.tw", text))
    assert not any(one.severity == "error" for one in found), found
    read = {one.name: one.definition for one in events}
    for name, pattern in named:
        definition = read[absolute(f"<{name}>")]
        assert isinstance(definition, Pattern)
        assert (definition.modifier, definition.within) == (pattern.modifier, pattern.within)
    return CascadeProgram(tuple(events))


def run(folder: Path, words: Sequence[str]) -> list[str]:
    """The lines that the command line writes to a file."""
    out = folder / "out.jsonl"
    result = CliRunner().invoke(app, ["run", *words, "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out.read_text().splitlines()


@given(definitions(), arrivals(range(DELAY + 1)), st.data())
def test_any_order_inside_the_delay(named: Named, came: list[Arrival], data: st.DataObject) -> None:
    program = program_of(named)
    number = data.draw(st.integers(1, 3))
    streams: list[list[Arrival]] = [[] for _ in range(number)]
    for one in came:
        data.draw(st.sampled_from(streams)).append(one)
    expected = meant(program, came)
    event(f"{number} streams, {'some' if any('events' in line for line in expected) else 'no'} matches")
    with TemporaryDirectory() as folder:
        assert run(Path(folder), [*write_case(Path(folder), named, streams), "--delay", str(DELAY)]) == expected


# Stopped and resumed ------------------------------------------------------------------------------------------------


def parted(came: Sequence[Arrival]) -> tuple[list[Arrival], list[Arrival]]:
    """The events that are in time, and those that are late."""
    in_time: list[Arrival] = []
    late: list[Arrival] = []
    highest = came[0].tick if came else 0
    for one in came:
        (late if one.tick < highest - DELAY else in_time).append(one)
        highest = max(highest, one.tick)
    return in_time, late


@contextmanager
def stopping(how: str, at: int, every: int) -> Iterator[None]:
    """A run is stopped at an item, by a crash or by Ctrl-C; it takes a checkpoint after so many items."""
    left = [at]
    items = [0]

    def stop(run: LocalRun, item: Taken) -> None:
        left[0] -= 1
        if left[0] == 0 and how == "crash":
            raise FailedError(Diagnostic("E407", "this is a crash"))
        if left[0] == 0:
            run._interrupt.ask()

    def due(_: EmbeddedCheckpoint) -> bool:
        items[0] += 1
        return items[0] % every == 0

    with pytest.MonkeyPatch.context() as patch:
        after_each_item(patch, stop)
        patch.setattr(EmbeddedCheckpoint, "is_due", property(due))
        yield


STOPS = st.lists(
    st.tuples(st.sampled_from(("crash", "Ctrl-C")), st.integers(1, 6), st.integers(1, 3)), min_size=1, max_size=4
)


@given(definitions(), arrivals((*range(DELAY + 1), 7, 9)), STOPS, st.sampled_from((200, 1 << 20)))
def test_stopped_and_resumed_is_never_stopped(
    named: Named, came: list[Arrival], stops: list[tuple[str, int, int]], block: int
) -> None:
    program = program_of(named)
    in_time, late = parted(came)
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.setattr(files, "FILE_BLOCK", block)
        line = [*write_case(folder, named, [came]), "--delay", str(DELAY), "--late", str(folder / "late.jsonl")]
        line += ["--checkpoint", str(folder / "kept")]
        for how, at, every in stops:
            with stopping(how, at, every):
                CliRunner().invoke(app, ["run", *line, "--out", str(folder / "out.jsonl")])
        found = run(folder, line)
        told = [json.loads(each) for each in (folder / "late.jsonl").read_text().splitlines()]
    expected = meant(program, in_time)
    event(
        f"{'some' if late else 'none'} late, {'some' if any('events' in line for line in expected) else 'no'} matches"
    )
    assert found == expected
    facts = sorted((one["t"], fact) for one in told for fact in one["facts"])
    assert facts == sorted((one.tick, fact) for one in late for fact in one.facts)
