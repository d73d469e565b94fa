"""A city whose events run through a cascade: as a command, or step by step in this process."""

import resource
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final

from thalweg.answers.event_answers import EventAnswers
from thalweg.api.loading import load_part
from thalweg.bench.command import COMMAND
from thalweg.bench.event_city import program, quads, write_city, write_stream
from thalweg.connectors.nquads import QuadReader
from thalweg.dataflow.context import Context, Settings
from thalweg.dataflow.operator import Share, Updates
from thalweg.diagnostics import Source
from thalweg.kinds.events import EventCascade
from thalweg.kinds.events.events_operator import EventsOperator, EventsSpec
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock

CHUNK: Final = 20_000
Ticks = list[tuple[int, list[Batch]]]


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """`thalweg run` from a file of N-Quads to a file of answers, loading included."""

    events: int
    lines: int
    cpu_seconds: float
    events_per_second: float
    megabytes: float


class City:
    """The files of a city, and its cascade at work."""

    def __init__(self, folder: Path, roads: int) -> None:
        self.roads = roads
        self._folder = folder
        self._ontology, self._background = write_city(folder, roads)

    def command(self, count: int) -> EndToEnd:
        """Runs the command."""
        text, out = self._folder / "city.tw", self._folder / "out.jsonl"
        text.write_text(program())
        stream = write_stream(self._folder, count, self.roads)
        command = [*COMMAND, str(text), str(self._ontology), "--background", str(self._background)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "--stream", str(stream), "--out", str(out)], check=True, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        stream.unlink()
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        with out.open() as file:
            lines = sum(1 for _ in file)
        return EndToEnd(count, lines, seconds, count / seconds, after.ru_maxrss / 1024)

    def load(self, text: str) -> EventCascade:
        """The cascade of a text."""
        part = load_part([Source("city.tw", text), self._ontology], [self._background], report=lambda diagnostic: None)
        assert isinstance(part, EventCascade)
        return part

    def start(self, text: str) -> EventsOperator:
        """The operator of a text's cascade, ready for events."""
        context = Context(Settings(emit="changes"), Clock(), lambda diagnostic: None)
        return EventsSpec(self.load(text)).open(context, Dictionary(), Share())

    def ticks(self, words: Dictionary, count: int, per_tick: int = 100, seed: int = 1) -> Iterator[Ticks]:
        """Coded events of the stream, some thousand at a time."""
        reader = QuadReader(words, "city.nq", "city", Clock(), "city")
        lines = quads(count, self.roads, per_tick, seed)
        while block := list(islice(lines, 4 * CHUNK)):
            yield by_tick(reader.feed("".join(block).encode()))
        yield by_tick(reader.finish())


def answered(run: EventsOperator, tick: int, batches: Sequence[Batch]) -> list[EventAnswers]:
    """What a cascade answers when batches of a tick come."""
    return [output.answer for output in run.advance(tick, Updates(batches))]


def by_tick(items: Iterable[Any]) -> Ticks:
    """The batches of a reader, tick by tick."""
    return [(tick, [batch for _, batch in group]) for tick, group in groupby(items, key=lambda item: item[0])]
