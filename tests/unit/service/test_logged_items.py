"""What programs read from the log: as if it were a file, and alike whenever it is read again."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.answers.record import Answer
from thalweg.api import jobs
from thalweg.api.answer_values import values_of
from thalweg.api.loading import load_part
from thalweg.api.run_options import RunOptions
from thalweg.api.timing import Timing
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Source
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.observer import Observer
from thalweg.service.log import Log, LogEntry, LogRecord
from thalweg.service.logged_items import LoggedItems
from thalweg.service.streams import LoggedStreams

EXAMPLES = settings(max_examples=25, deadline=None)
RULES = Source(
    "jam.lars",
    "slow(S) :- speed(S,V) in [3], V < 20. calm(S) :- speed(S,V), not slow(S). last(S) :- speed(S,V) in [2 #].\n"
    "often(S,N) :- speed(S,_), N = count{V : speed(S,V) in [5]}. #record slow/1. before(S) :- slow(S) in [4].",
)
TRIPLES = Source("seen.lars", "seen(X,Y) :- <http://ex.org/p>(X,Y) in [2]. kind(X) :- <http://ex.org/C>(X).")
AT = "<http://www.w3.org/ns/prov#generatedAtTime>"
TICKS = Timing()
QUIET = Observer(lambda diagnostic: None)
MEDIA = {"facts": "text/plain", "jsonl": "application/x-ndjson", "nq": "application/n-quads"}


@dataclass
class Posted:
    """A log with streams, whose clock goes as a test says."""

    log: Log
    streams: LoggedStreams
    clock: list[int] = field(default_factory=lambda: [1_794_729_600_000])

    def post(self, body: str, media: str = "text/plain", stream: str = "s", after: int = 0, **more: Any) -> LogRecord:
        """Posts a body some milliseconds after the one before."""
        self.clock[0] += after
        return self.streams.post(stream, media, body.encode(), **more).result()

    def beat(self, after: int) -> None:
        self.clock[0] += after
        self.log.append(LogEntry("beat")).result()


@contextmanager
def posting(**definitions: dict[str, Any]) -> Iterator[Posted]:
    """A log of its own, with streams by their definitions."""
    clock = [1_794_729_600_000]
    with TemporaryDirectory() as folder:
        log = Log(Path(folder) / "log", now=lambda: clock[0])
        posted = Posted(log, LoggedStreams(Path(folder) / "streams", log), clock)
        for name, definition in definitions.items():
            posted.streams.put(name, definition)
        yield posted
        log.close()


@dataclass
class Reading:
    """How a program reads a log: what is asked of it, and at which of its pauses it is stopped and opened again."""

    timing: Timing = TICKS
    stops: Sequence[int] = ()
    asked: Callable[[], bool] = lambda: False
    names: Sequence[str] = ("s",)
    subscribed: Callable[[LogRecord], None] = lambda record: None


ONCE = Reading()


def answers(posted: Posted, program: Source, reading: Reading = ONCE) -> list[str]:
    """The lines of a program that reads a whole log, and is stopped at some of its pauses."""
    lines: list[str] = []
    state: bytes | None = None
    for stop in (*reading.stops, None):
        state = _read_on(posted, program, reading, lines, state, stop)
    return lines


def _read_on(
    posted: Posted, program: Source, reading: Reading, lines: list[str], state: bytes | None, stop: int | None
) -> bytes | None:
    """Reads from a state to the end, or to the first pause from `stop` on where the run can be saved."""
    interrupt, timing, opened = Interrupt(), reading.timing, list[LoggedItems]()

    def items(run: LocalRun) -> LoggedItems:
        wall = timing.passing == "wall"
        about = {"by_wall": wall, "idle": timing.idle_seconds, "delay": timing.ticks()[2]}
        opened.append(
            LoggedItems(
                posted.log,
                posted.streams,
                reading.names,
                run.dictionary,
                timing.clock,
                interrupt=interrupt,
                pause=lambda: 0.0,
                asked=reading.asked,
                subscribed=reading.subscribed,
                **about,
            )
        )
        return opened[0]

    on = [NamedSource(name, name) for name in reading.names]
    options = RunOptions(timing=timing)
    with jobs.start(load_part([program]), on, options, QUIET, items=items, interrupt=interrupt, saves=True) as job:
        if state is not None:
            opened[0].seek(job.run.load(state))
        pauses = 0
        for answer in job.pieces():
            if answer is not None:
                lines += _printed(answer, job)
                continue
            pauses += 1
            position = opened[0].position()
            if stop is not None and pauses > stop and position is not None:
                return job.run.save(json.loads(json.dumps(position)))
            if opened[0].is_at_head and not interrupt.asked:
                interrupt.ask()
    return None


def _printed(answer: Answer, job: jobs.PreparedRun) -> list[str]:
    return [str(value) for value in values_of(answer, job.times)]


def lines_of_run(program: Source, text: str, ending: str, timing: Timing = TICKS) -> list[str]:
    """The lines of `thalweg run` over a text in one file."""
    options = RunOptions(timing=timing)
    with jobs.start(load_part([program]), Source(f"s.{ending}", text), options, QUIET) as job:
        return [line for answer in job.pieces() if answer is not None for line in _printed(answer, job)]


def asked_by(places: Sequence[bool]) -> Callable[[], bool]:
    """Whether a request waits, by turns."""
    turns = iter(places)
    return lambda: next(turns, False)


# One text in pieces -------------------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(st.sampled_from([-3, 0, 0, 0, 1, 1, 2, 7]), st.integers(0, 3), st.integers(0, 40)), min_size=1
)
stops = st.lists(st.integers(0, 6), max_size=3)
turns = st.lists(st.booleans(), max_size=20)


def _ticks(moves: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    tick = 5
    for step, sensor, value in moves:
        tick = max(0, tick + step)
        yield tick, sensor, value


def _facts(moves: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    yield "@prefix ex: <http://ex.org/> .\n"
    for tick, sensor, value in _ticks(moves):
        yield f"speed(d{sensor},{value}) at {tick}.\n" if value < 38 else f'speed(ex:d{sensor},"{value}") at {tick}.\n'


def _json(moves: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    for tick, sensor, value in _ticks(moves):
        facts = [f"speed(d{sensor},{value})"] * (value % 3)
        yield json.dumps({"t": tick, "facts": facts}) + "\n"


def _graphs(moves: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    """Events as lines of JSON with graphs, whose blank nodes are those of their lines."""
    for tick, sensor, value in _ticks(moves):
        yield json.dumps({"t": tick, "graph": f"<http://ex.org/d{sensor}> <http://ex.org/p> _:b, {value} ."}) + "\n"


def _quads(moves: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    for number, (tick, sensor, value) in enumerate(_ticks(moves)):
        graph = f"<http://ex.org/e{number}-{tick}>"
        time = f'{graph} {AT} "{tick}" .\n'
        if value % 2:
            yield time
        for triple in range(value % 4):
            yield f"<http://ex.org/d{sensor}> <http://ex.org/p> _:b{triple} {graph} .\n"
        if not value % 2:
            yield time


def _cut(lines: Sequence[str], cuts: Sequence[int]) -> Iterator[str]:
    """The lines in pieces of some numbers of lines, the last of these for all that are left."""
    start, turn = 0, 0
    while start < len(lines):
        size = cuts[min(turn, len(cuts) - 1)]
        yield "".join(lines[start : start + size])
        start, turn = start + size, turn + 1


@pytest.mark.parametrize(
    ("write", "ending", "program"),
    [(_facts, "facts", RULES), (_json, "jsonl", RULES), (_graphs, "jsonl", TRIPLES), (_quads, "nq", TRIPLES)],
    ids=["facts", "json", "graphs", "quads"],
)
@EXAMPLES
@given(moves=steps, cuts=st.lists(st.integers(1, 6), min_size=1), delay=st.integers(0, 3), stops=stops, turns=turns)
def test_a_text_in_pieces_is_answered_as_in_one_file(
    write: Callable[[Sequence[tuple[int, int, int]]], Iterator[str]],
    ending: str,
    program: Source,
    moves: list[tuple[int, int, int]],
    cuts: list[int],
    delay: int,
    stops: list[int],
    turns: list[bool],
) -> None:
    # The last event is there to complete the one before it.
    lines = [*write([*moves, (100, 0, 1)]), *write([(1000, 0, 1)] if ending != "facts" else [])]
    timing = Timing(delay=delay)
    with posting(s={}) as posted:
        for piece in _cut(lines, cuts):
            posted.post(piece, MEDIA[ending])
        read = answers(posted, program, Reading(timing, stops, asked_by(turns)))
    expected = lines_of_run(program, "".join(lines), ending, timing)
    assert read[: len(expected) - 2] == expected[: len(expected) - 2]
