"""What programs read from the log: as if it were a file, and alike whenever it is read again."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooms import EX, SITE
from rooms import RULES as RULES_OF_ROOMS
from thalweg.answers.record import Answer
from thalweg.api import jobs
from thalweg.api.answer_values import values_of
from thalweg.api.loading import load_part
from thalweg.api.run_options import RunOptions
from thalweg.api.timing import Timing
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Source
from thalweg.kinds.part import Part
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock, Notation
from thalweg.model.timestamps import written_instant
from thalweg.runtimes.intake import Item
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
ROOMS = Source("rooms.tw", RULES_OF_ROOMS)
BACKGROUND = [Source("site.ofn", SITE)]
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


def part_of(program: Source) -> Part:
    return load_part([program], BACKGROUND if program is ROOMS else ())


def answers(posted: Posted, program: Source, reading: Reading = ONCE, lines: list[str] | None = None) -> list[str]:
    """The lines of a program that reads a whole log, and is stopped at some of its pauses."""
    lines = [] if lines is None else lines
    state: bytes | None = None
    for stop in (*reading.stops, None):
        state = _read_on(posted, program, reading, lines, state, stop)
        if state is None:
            break
    return lines


def _read_on(
    posted: Posted, program: Source, reading: Reading, lines: list[str], state: bytes | None, stop: int | None
) -> bytes | None:
    """Reads from a state to the end, or to the first pause from `stop` on where the run can be saved."""
    interrupt, timing, opened = Interrupt(), replace(reading.timing, notation=Notation()), list[LoggedItems]()

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
    with jobs.start(
        part_of(program),
        on,
        options,
        QUIET,
        items=items,
        interrupt=interrupt,
        saves=True,
    ) as job:
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
    """Changes as `3: + begins - ends`, events as they are written."""
    return [_line(str(value)) for value in values_of(answer, job.times)]


def _line(text: str) -> str:
    answer = json.loads(text)
    if answer.keys() != {"t", "begin", "end"}:
        return text
    return " ".join([f"{answer['t']}:", *_signed("+", answer["begin"]), *_signed("-", answer["end"])])


def _signed(sign: str, facts: list[str]) -> list[str]:
    return [f"{sign} {fact}" for fact in facts]


def lines_of_run(program: Source, text: str, ending: str, timing: Timing = TICKS) -> list[str]:
    """The lines of `thalweg run` over a text in one file."""
    options = RunOptions(timing=replace(timing, notation=Notation()))
    with jobs.start(part_of(program), Source(f"s.{ending}", text), options, QUIET) as job:
        return [line for answer in job.pieces() if answer is not None for line in _printed(answer, job)]


def asked_by(places: Sequence[bool]) -> Callable[[], bool]:
    """Whether a request waits, by turns; from then on one always does, so that every record is followed by a pause."""
    turns = iter(places)
    return lambda: next(turns, True)


# One text in pieces -------------------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(st.sampled_from([-3, 0, 0, 0, 1, 1, 2, 7]), st.integers(0, 3), st.integers(0, 40)), min_size=1
)
stops = st.lists(st.integers(0, 12), max_size=3)
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


def _readings(moves: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    """Readings of rooms: an event is all quads of its graph, also where they are posted one by one."""
    for number, (tick, room, value) in enumerate(_ticks(moves)):
        graph, node = f"<{EX}e{number}-{tick}>", f"<{EX}o{number}-{tick}>"
        yield f'{graph} {AT} "{tick}" .\n'
        yield f"{node} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}Reading> {graph} .\n"
        yield f"{node} <{EX}in> <{EX}room{room}> {graph} .\n"
        yield f'{node} <{EX}celsius> "{value}"^^<http://www.w3.org/2001/XMLSchema#integer> {graph} .\n'


def _cut(lines: Sequence[str], cuts: Sequence[int]) -> Iterator[str]:
    """The lines in pieces of some numbers of lines, the last of these for all that are left."""
    start, turn = 0, 0
    while start < len(lines):
        size = cuts[min(turn, len(cuts) - 1)]
        yield "".join(lines[start : start + size])
        start, turn = start + size, turn + 1


@pytest.mark.parametrize(
    ("write", "ending", "program"),
    [
        (_facts, "facts", RULES),
        (_json, "jsonl", RULES),
        (_graphs, "jsonl", TRIPLES),
        (_quads, "nq", TRIPLES),
        (_readings, "nq", ROOMS),
    ],
    ids=["facts", "json", "graphs", "quads", "events"],
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


def test_documents_stand_for_themselves() -> None:
    """A table has a header in each body, and blank nodes of two documents are two."""
    program = Source("p.lars", "hot(D) :- temp(D,V), V > 20. seen(X,Y) :- <http://ex.org/p>(X,Y).")
    event = f"<e> {AT} {{}} . <e> {{{{ <http://ex.org/a> <http://ex.org/p> _:b }}}}"
    with posting(s={"map": ["temp(d, v) at ts"]}, t={}) as posted:
        posted.post("ts;d;v\n1794729603;d1;20,5\n", "text/csv")
        posted.post("d,v,ts\nd2,30,1794729604\n", "text/csv")
        posted.post('{"d":"d3",\n"v":40,"ts":1794729605}', "application/json")
        assert answers(posted, program) == [
            "2026-11-15T08:00:03Z: + hot(d1)",
            "2026-11-15T08:00:04Z: + hot(d2) - hot(d1)",
            "2026-11-15T08:00:05Z: + hot(d3) - hot(d2)",
        ]
        posted.post(event.format(5), "application/trig", "t")
        posted.post(event.format(5), "application/trig", "t")
        (line,) = answers(posted, program, Reading(names=["t"]))
        assert line.count("+ seen(<http://ex.org/a>,_:t") == 2


def test_a_record_is_read_with_the_mappings_of_its_time() -> None:
    with posting(s={"map": ["temp(d, v) at ts"]}) as posted:
        posted.post('{"d":"a","v":1,"ts":1794729600}', "application/json")
        posted.streams.put("s", {"map": ["speed(d, v) at ts"]})
        posted.post('{"d":"a","v":1,"ts":1794729601}', "application/json")
        lines = answers(posted, Source("p.lars", "t(D) :- temp(D,_). s(D) :- speed(D,_)."))
    assert lines == ["2026-11-15T08:00:00Z: + t(a)", "2026-11-15T08:00:01Z: + s(a) - t(a)"]


def test_lines_that_were_skipped_at_the_door_are_skipped_here() -> None:
    with posting(s={}) as posted:
        posted.post("p(a) at 3.\np(\n/* p(b) at 3.\n", skip=True)
        events = [{"t": 4, "stream": "other", "facts": ["p(c)"]}, {"t": 5, "facts": ["p(d)"]}]
        posted.post("\n".join(map(json.dumps, events)), "application/json", skip=True)
        posted.post("p(e) at 6.")
        lines = answers(posted, Source("p.lars", "q(X) :- p(X)."))
    assert lines == ["3: + q(a)", "4: - q(a)", "5: + q(d)", "6: + q(e) - q(d)"]


def test_records_of_other_streams_and_of_an_earlier_one_of_the_name_are_passed_over() -> None:
    with posting(s={}, other={}) as posted:
        posted.post("p(a) at 3.")
        posted.post("p(b) at 3.", stream="other")
        posted.streams.delete("s")
        posted.streams.put("s", {})
        posted.post("p(c) at 4.")
        assert answers(posted, Source("p.lars", "q(X) :- p(X).")) == ["4: + q(c)"]


def test_a_subscription_is_taken_when_all_before_it_is_answered() -> None:
    answered: list[str] = []
    taken: list[tuple[int, list[str]]] = []
    with posting(s={}) as posted:
        posted.post("p(a) at 3. p(b) at 5.")
        posted.log.append(LogEntry("subscription", about={"program": "p", "name": ":X", "text": "AS <X>"})).result()
        posted.post("p(c) at 9.")
        reading = Reading(subscribed=lambda record: taken.append((record.seq, [*answered])))
        answers(posted, Source("p.lars", "q(X) :- p(X)."), reading, answered)
    assert taken == [(3, ["3: + q(a)", "4: - q(a)"])]
    assert answered[2:] == ["5: + q(b)", "6: - q(b)", "9: + q(c)"]


# Time ---------------------------------------------------------------------------------------------------------------

ABSENT = Source("absent.lars", "silent(S) :- known(S), not heard(S) in [3]. known(S) :- heard(S) in [60].")
WALL = Timing(passing="wall")
arrivals = st.lists(
    st.tuples(
        st.sampled_from([0, 10, 400, 999, 1_000, 2_500, 20_000]),
        st.sampled_from("abc"),
        st.sampled_from("st"),
        st.sampled_from([0, 0, 0, 1_500, 4_000, -(10**11)]),
    ),
    min_size=1,
)


def test_absence_is_noticed_at_a_beat() -> None:
    with posting(s={}) as posted:
        posted.post("heard(a).")
        posted.beat(5_000)
        lines = answers(posted, ABSENT, Reading(WALL))
    assert lines[:2] == ["2026-11-15T08:00:00Z: + known(a)", "2026-11-15T08:00:04Z: + silent(a)"]


def _posted(posted: Posted, moves: Sequence[tuple[int, str, str, int]], beats: Sequence[int] = ()) -> None:
    """Posts facts, some of which come late or have far times, and beats at some milliseconds behind a fact."""
    for place, (gap, sensor, stream, lag) in enumerate(moves):
        beat = beats[place % len(beats)] if beats else 0
        if 0 < beat < gap:
            posted.beat(beat)
            gap -= beat
        time = written_instant(posted.clock[0] + gap - lag)
        posted.post(f"heard({sensor}) at @{time}.", stream=stream, after=gap)
    posted.beat(30_000)


@EXAMPLES
@given(
    moves=arrivals,
    beats=st.lists(st.integers(0, 3_000), min_size=1, max_size=5),
    stops=stops,
    turns=turns,
    idle=st.sampled_from([None, "2 s"]),
    wall=st.booleans(),
)
def test_time_goes_by_arrivals_whatever_other_programs_need(
    moves: list[tuple[int, str, str, int]],
    beats: list[int],
    stops: list[int],
    turns: list[bool],
    idle: str | None,
    wall: bool,
) -> None:
    """Answers depend on when facts arrived: beats that others have asked for, stops and requests change none."""
    timing = Timing(passing="wall" if wall else "events", idle=idle, delay=1)
    reading = Reading(timing, names=("s", "t"))
    with posting(s={}, t={}) as posted:
        _posted(posted, moves)
        lines = answers(posted, ABSENT, reading)
        assert answers(posted, ABSENT, Reading(timing, stops, asked_by(turns), ("s", "t"))) == lines
    with posting(s={}, t={}) as posted:
        _posted(posted, moves, beats)
        assert answers(posted, ABSENT, reading) == lines


@pytest.mark.parametrize(
    ("idle", "answered"), [(None, []), ("2 s", ["3: + q(a)", "4: - q(a)", "5: + q(b)", "6: - q(b)"])]
)
def test_a_silent_stream_holds_nothing_back(idle: str | None, answered: list[str]) -> None:
    lines: list[str] = []
    seen: list[list[str]] = []
    with posting(s={}, t={}) as posted:
        posted.post("p(a) at 3.", stream="t")
        posted.post("p(a) at 3. p(b) at 5. p(c) at 9.", after=1_500)
        posted.beat(1_000)
        posted.log.append(LogEntry("subscription", about={"program": "p"})).result()
        reading = Reading(Timing(idle=idle), names=("s", "t"), subscribed=lambda record: seen.append([*lines]))
        answers(posted, Source("p.lars", "q(X) :- p(X)."), reading, lines)
    assert seen == [answered]


@pytest.mark.parametrize("stop", range(8))
def test_silence_goes_on_where_a_program_was_stopped(stop: int) -> None:
    """A row is late because its stream was silent for two seconds, wherever the program is stopped meanwhile."""
    with posting(s={}, t={}) as posted:
        posted.post("p(a) at 3.", stream="t")
        posted.post("p(b) at 3.", after=1_500)
        posted.post("p(c) at 9.", after=1_000)
        posted.post("p(late) at 5.", stream="t", after=100)
        reading = Reading(Timing(idle="2 s"), [stop], lambda: True, ("s", "t"))
        lines = answers(posted, Source("p.lars", "q(X) :- p(X)."), reading)
    assert lines == ["3: + q(a) + q(b)", "4: - q(a) - q(b)", "9: + q(c)"]


@pytest.mark.parametrize("beat", [0, 300])
def test_a_stream_is_silent_before_its_rows_have_waited_for_long_enough(beat: int) -> None:
    with posting(s={}, t={}) as posted:
        posted.post("p(a) at @2026-11-15T08:00:00Z.")
        posted.post("p(far) at @2099-11-15T08:00:00Z. p(late) at @2026-11-15T08:00:02Z.", after=10)
        posted.post("p(b) at @2026-11-15T08:00:20Z.", stream="t", after=300)
        if beat:
            posted.beat(beat)
        posted.post("p(c) at @2026-11-15T08:00:30Z.", stream="t", after=5_000 - beat)
        reading = Reading(Timing(idle="500 ms"), names=("s", "t"))
        lines = answers(posted, Source("p.lars", "q(X) :- p(X)."), reading)
    assert [line.partition(" ")[2] for line in lines] == ["+ q(a)", "- q(a)", "+ q(b)", "- q(b)", "+ q(c)"]


def test_an_event_of_quads_is_complete_when_the_clock_goes_on() -> None:
    event = f'<e> {AT} "2026-11-15T08:00:00Z" .\n<http://ex.org/a> <http://ex.org/p> <http://ex.org/b> <e> .\n'
    with posting(s={}) as posted:
        posted.post(event, "application/n-quads")
        posted.beat(4_000)
        (line, *_) = answers(posted, TRIPLES, Reading(WALL))
    assert line == "2026-11-15T08:00:00Z: + seen(<http://ex.org/a>,<http://ex.org/b>)"


def test_a_doubtful_row_waits_for_a_second_of_the_log() -> None:
    """The first row has a time long ago; nothing more comes, so that it is taken when somebody has said so."""
    with posting(s={}) as posted:
        posted.post('p(a) at "2014-08-11T11:00:00Z".')
        posted.beat(900)
        items = opened(posted)
        assert taken(items) == []
        assert (items.holds, items.position(), items.due()) == (True, None, pytest.approx(0.1))
        posted.beat(100)
        assert [tick for tick, _ in taken(items)] == [1_407_754_800]
        assert (items.holds, items.due()) == (False, None)


def opened(posted: Posted, **more: Any) -> LoggedItems:
    """Items that end where the log does."""
    interrupt = Interrupt()
    items = LoggedItems(
        posted.log, posted.streams, ["s"], Dictionary(), Clock(), interrupt=interrupt, pause=lambda: 0.0, **more
    )
    return items


def taken(items: LoggedItems) -> list[Any]:
    """What items give until they wait."""
    given = []
    for item in items:
        if item is not None:
            given.append(item)
        elif items.is_at_head:
            break
    return given


def test_when_time_matters_next() -> None:
    with posting(s={}) as posted:
        plain, idle = opened(posted), opened(posted, idle=2.0)
        wall = opened(posted, by_wall=True)
        assert (plain.due(), idle.due(), wall.due()) == (None, None, None)
        for items in (plain, idle, wall):
            taken(items)
        assert (plain.due(), idle.due(), wall.due()) == (None, 2.0, 1.0)
        posted.clock[0] += 700
        assert (idle.due(), wall.due()) == (pytest.approx(1.3), pytest.approx(0.3))
        posted.post("p(a).", after=600)
        assert (idle.due(), wall.due()) == (None, None), "there is something to be taken"
        taken(idle), taken(wall)
        assert (idle.due(), wall.due()) == (2.0, pytest.approx(0.7))
        posted.clock[0] += 10_000
        assert (idle.due(), wall.due()) == (0.0, 0.0)
        posted.beat(0)
        taken(idle), taken(wall)
        assert (idle.due(), wall.due()) == (None, pytest.approx(0.7))


def test_a_program_that_begins_with_an_empty_log_needs_a_beat() -> None:
    with TemporaryDirectory() as folder:
        log = Log(Path(folder) / "log")
        streams = LoggedStreams(Path(folder) / "streams", log)
        items = LoggedItems(log, streams, [], Dictionary(), Clock(), interrupt=Interrupt(), by_wall=True)
        assert items.due() == 0.0
        log.close()


def test_a_wait_ends_for_a_record_a_request_and_the_end() -> None:
    asked, interrupt = Event(), Interrupt()
    with posting(s={}) as posted:
        items = LoggedItems(
            posted.log, posted.streams, ["s"], Dictionary(), Clock(), interrupt=interrupt, asked=asked.is_set
        )
        given: Queue[Item | str] = Queue()

        def read() -> None:
            for item in items:
                asked.clear()
                given.put(item)
            given.put("over")

        reading = Thread(target=read)
        reading.start()
        posted.post("p(a) at 3.")
        assert any(given.get(timeout=30) is not None for _ in range(30))
        while not given.empty():
            given.get()
        asked.set()
        posted.log.wake()
        assert given.get(timeout=30) is None
        interrupt.ask()
        posted.log.wake()
        reading.join(timeout=30)
        assert not reading.is_alive()


def test_backlog_of_a_broker_is_taken_before_the_clock_goes_on() -> None:
    program = Source("p.lars", "q(X) :- p(X).")
    with posting(s={}) as posted:
        posted.clock[0] += 60_000
        for second in (20, 15):
            time = written_instant(posted.clock[0] - second * 1_000)
            posted.post(f'p(a{second}) at "{time}".', after=1_000, about={"position": second, "backlog": True})
        posted.post("p(b).", after=1_000, about={"position": 0, "backlog": False})
        posted.beat(5_000)
        lines = answers(posted, program, Reading(WALL))
    said = " ".join(line.partition(" ")[2] for line in lines)
    assert said == "+ q(a20) - q(a20) + q(a15) - q(a15) + q(b) - q(b)"
