"""Live streams that tasks read answer as in one process: received in any blocks, and taken in any batches."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem
from typer.testing import CliRunner

from task_runs import SMALL, TaskRun
from thalweg.cli import app
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.open import TextTransport
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock
from thalweg.runtimes import stored_path
from thalweg.runtimes.spark import receiver as receiving
from thalweg.runtimes.spark.arrival_log import ArrivalLog, Segment, lines_in
from thalweg.runtimes.spark.batch_planner import BatchPlanner, Known
from thalweg.runtimes.spark.feed import SparkFeed
from thalweg.runtimes.spark.received_block import ReceivedBlock
from thalweg.runtimes.spark.receiver import BlockReceiver, ItemReceiver, load_items
from thalweg.runtimes.wall_clock import PassingTime

JOIN = "both(X) :- a(X) in [3], b(X). none :- not a(x) in [2], b(Y)."
COUNTED = f"{JOIN} pair(X,Y) :- a(X) in [2 #], b(Y)."
TICKS = st.lists(st.integers(0, 12), min_size=1, max_size=14)
TERMS = ("x", "y", "z")
START = 1_794_729_600_000
"""Milliseconds of 2026-11-15T08:00:00Z."""
STAMP = "@2026-11-15T08:00:00Z"


class LiveText:
    """A live stream that brings blocks, and then ends."""

    live = True

    def __init__(self, name: str, blocks: Sequence[bytes] = ()) -> None:
        self.name, self.stream = name, Path(name).name.partition(".")[0]
        self._blocks = blocks

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        yield from self._blocks

    def close(self) -> None:
        pass


class Numbered(LiveText):
    """One that can be read on behind a number of blocks."""

    repeats = True

    def __init__(self, name: str, blocks: Sequence[bytes] = ()) -> None:
        super().__init__(name, blocks)
        self._next = 0

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        while self._next < len(self._blocks):
            self._next += 1
            yield self._blocks[self._next - 1]

    def position(self) -> int:
        return self._next

    def seek(self, position: int) -> None:
        self._next = position


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """Data in blocks that end at places."""
    bounds = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[start:end] for start, end in pairwise(bounds) if start < end]


def received(log: ArrivalLog, streams: Sequence[Sequence[bytes]], order: Sequence[int], together: int) -> None:
    """Writes the blocks of streams to a log, in an order of streams, some in a segment."""
    waiting, moment, taken = [list(blocks) for blocks in streams], START, list[tuple[int, int, bytes]]()
    turns = [*order, *range(len(streams))] * (1 + sum(map(len, streams)))
    for stream in turns:
        if waiting[stream]:
            moment += 100
            taken.append((stream, moment, waiting[stream].pop(0)))
    parts = [taken[start : start + together] for start in range(0, len(taken), together)]
    for part in parts:
        blocks = {stream: [block for group, _, block in part if group == stream] for stream in range(len(streams))}
        lines = tuple(
            (stream, lines) for stream, some in blocks.items() if some and (lines := lines_in(some)) is not None
        )
        arrived = tuple((group, at, len(block)) for group, at, block in part)
        log.add(Segment(arrived, lines=lines), [block for *_, block in part])
    log.add(Segment(ended=tuple(range(len(streams)))), [])


def in_process(folder: Path, program: str, files: Sequence[Path], *options: str) -> tuple[list[str], list[str], Any]:
    out, late, source = folder / "own.jsonl", folder / "own_late.jsonl", folder / "p.lars"
    source.write_text(program, encoding="utf-8")
    words = [word for file in files for word in ("--stream", str(file))]
    words = ["run", str(source), *words, "--out", str(out), "--late", str(late), "--quiet", *options]
    ended = CliRunner().invoke(app, words)
    assert not isinstance(ended.exception, AssertionError)
    return lines_of(out), lines_of(late), ended


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def late_facts(lines: Sequence[str]) -> list[tuple[Any, ...]]:
    late = map(json.loads, lines)
    return sorted((line["t"], line["watermark"], line["stream"], fact) for line in late for fact in line["facts"])


def compared(
    folder: Path, texts: dict[str, str], places: Sequence[int], order: Sequence[int], ends: Sequence[int], **how: Any
) -> TaskRun:
    """What is received answers as files do in one process, and the same is late."""
    program, together = how.pop("program", JOIN), how.pop("together", 1)
    files = [folder / name for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in how.items() if name in ("delay", "on_error")]
    flags += [word for mapping in how.get("map", ()) for word in ("--map", mapping)]
    answers, late, ended = in_process(folder, program, files, *flags)
    run = TaskRun(folder, program, [LiveText(str(file)) for file in files], 3, **how)
    received(run.log, [cut(text.encode(), places) for text in texts.values()], order or [0], together)
    last = run.log.end
    run.read_arrivals([*sorted({end % last for end in ends} - {0}), last])
    run.delivery.close()
    assert lines_of(run.out) == answers
    if len(texts) == 1:
        assert late_facts(lines_of(run.late)) == late_facts(late)
    assert (run.feed.malformed is None) == (ended.exit_code == 0), ended.output
    return run


PLACES = st.lists(st.integers(0, 200), max_size=8)
ENDS = st.lists(st.integers(0, 20), max_size=4)


@given(TICKS, PLACES, ENDS, st.integers(1, 3), st.data())
def test_a_live_stream_is_answered_as_in_one_process_in_any_blocks(tmp_path_factory, ticks, places, ends, few, data):
    folder = tmp_path_factory.mktemp("live")
    facts = [f"{data.draw(st.sampled_from('ab'))}({data.draw(st.sampled_from(TERMS))}) at {tick}." for tick in ticks]
    text = "\n".join(facts) + data.draw(st.sampled_from(["", "\n"]))
    delay = data.draw(st.integers(0, 4))
    compared(folder, {"s.facts": text}, places, [], ends, together=few, delay=delay, program=COUNTED)


@given(
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from("ab"), st.sampled_from(TERMS)), min_size=3, max_size=24),
    st.integers(1, 4),
    ENDS,
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(0, 24)),
    st.sampled_from(["stop", "skip"]),
)
def test_tasks_share_lines_that_stand_for_themselves(tmp_path_factory, events, few, ends, delay, wrong, on_error):
    folder = tmp_path_factory.mktemp("shared")
    lines = [f"{name}({term}) at {tick}.\n" for tick, name, term in events]
    if wrong is not None:
        lines.insert(wrong, "a(x at 3.\n")
    text = "".join(lines)
    ends_of_lines = [sum(map(len, lines[:number])) for number in range(0, len(lines), few)]
    with patch.object(ReceivedBlock, "__init__", autospec=True, side_effect=ReceivedBlock.__init__) as opened:
        run = compared(
            folder, {"s.facts": text}, ends_of_lines, [], [1, *ends], delay=delay, program=COUNTED, on_error=on_error
        )
    event(f"shared: {any(call.args[4].lines for call in opened.call_args_list)}")
    if wrong is not None:
        found = run.feed.malformed if on_error == "stop" else run.reported[0]
        assert f"s.facts:{min(wrong, len(events)) + 1}:" in found.render()


@given(st.lists(TICKS, min_size=2, max_size=3), PLACES, ENDS, st.lists(st.integers(0, 1), max_size=6), st.data())
def test_several_live_streams_wait_for_each_other(tmp_path_factory, streams, places, ends, order, data):
    folder = tmp_path_factory.mktemp("several")
    texts = {}
    for number, ticks in enumerate(streams):
        facts = (f"{data.draw(st.sampled_from('ab'))}({data.draw(st.sampled_from(TERMS))})" for _ in ticks)
        texts[f"s{number}.facts"] = "".join(
            f"{fact} at {tick}.\n" for fact, tick in zip(facts, sorted(ticks), strict=True)
        )
    compared(folder, texts, places, order, ends)


ROWS = [{"sensor": TERMS[number % 3], "v": number % 5, "ts": number // 2} for number in range(12)]
QUADS = "".join(
    f'<e{row["ts"]}-{number}> <http://www.w3.org/ns/prov#generatedAtTime> "{row["ts"]}"'
    f"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
    f"<{row['sensor']}> <v> {row['v']} <e{row['ts']}-{number}> .\n".replace(f" {row['v']} ", f' "{row["v"]}" ')
    for number, row in enumerate(ROWS)
)
TRIG = "@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .\n" + "".join(
    f':e{number} prov:generatedAtTime {row["ts"]} . :e{number} {{ :{row["sensor"]} :v "{row["v"]}", [] }}\n'
    for number, row in enumerate(ROWS)
)
READING = "warm(S) :- reading(S,V) in [2], V > 1. last(S,V) :- reading(S,V) in [1 # by S]."
FORMATS = {
    "s.csv": ("sensor,v,ts\n" + "".join(f"{row['sensor']},{row['v']},{row['ts']}\n" for row in ROWS), READING),
    "s.jsonl": ("".join(json.dumps(row) + "\n" for row in ROWS), READING),
    "s.nq": (QUADS, "seen(S) :- <v>(S,V) in [2]."),
    "s.trig": (TRIG, "seen(S,V) :- <http://ex.org/v>(S,V) in [2]."),
}


@given(st.sampled_from([*FORMATS]), PLACES, ENDS)
def test_what_a_reader_knows_goes_on_from_batch_to_batch(tmp_path_factory, name, places, ends):
    text, program = FORMATS[name]
    maps = ["reading(sensor, v) at ts"] if program is READING else []
    run = compared(tmp_path_factory.mktemp("formats"), {name: text}, places, [], ends, program=program, map=maps)
    assert lines_of(run.out)


@given(TICKS, PLACES, ENDS, st.data())
def test_a_malformed_line_stops_a_live_stream_where_one_process_stops(tmp_path_factory, ticks, places, ends, data):
    facts = [f"{data.draw(st.sampled_from('ab'))}(x) at {tick}.\n" for tick in sorted(ticks)]
    facts.insert(data.draw(st.integers(0, len(facts))), "a(x at 3.\n")
    how = data.draw(st.sampled_from(["stop", "skip"]))
    run = compared(tmp_path_factory.mktemp("wrong"), {"s.facts": "".join(facts)}, places, [], ends, on_error=how)
    wrong = run.feed.malformed if how == "stop" else run.reported[0]
    assert wrong is not None
    assert f"s.facts:{facts.index('a(x at 3.' + chr(10)) + 1}:" in wrong.render()


@given(PLACES, ENDS)
def test_a_batch_that_is_tried_again_packs_the_same_bytes(tmp_path_factory, places, ends):
    run = TaskRun(tmp_path_factory.mktemp("again"), READING, [LiveText("s")], map=["reading(sensor, v)"])
    received(run.log, [cut(FORMATS["s.jsonl"][0].encode(), places)], [0], 1)
    for end in [*sorted({end % run.log.end for end in ends} - {0}), run.log.end]:
        offset = run.behind(end)
        works, _ = run.planner.works(run.offset, offset)
        first = [run.parcels(work) for work in works]
        # What comes later changes nothing.
        run.log.add(Segment(((0, START, 1),)), [b"\n"])
        assert run.planner.works(run.offset, offset)[0] == works
        assert [run.parcels(work) for work in works] == first
        run.batch(offset)
        if run.is_over:
            break
    run.delivery.close()


def test_facts_without_a_time_come_at_their_arrival(tmp_path):
    run = TaskRun(tmp_path, "seen(S) :- reading(S,V).", [LiveText("s")], map=["reading(sensor, v)"])
    for second in (3, 3, 7):
        block = b'{"sensor": "s%d", "v": 1}\n' % second
        run.log.add(Segment(((0, START + 1_000 * second, len(block)),)), [block])
    run.log.add(Segment(ended=(0,)), [])
    run.read_arrivals([2, 4])
    run.delivery.close()
    found = [json.loads(line) for line in lines_of(run.out)]
    assert [(line["t"], line["begin"]) for line in found if line["begin"]] == [
        ("2026-11-15T08:00:03Z", ["seen(s3)"]),
        ("2026-11-15T08:00:07Z", ["seen(s7)"]),
    ]


def test_a_wrong_clock_is_found_out_by_what_came_in_earlier_batches(tmp_path):
    run = TaskRun(tmp_path, "seen(S) :- reading(S).", [LiveText("s")])
    for number, time in enumerate(["2026-11-15T08:00:01Z", "2999-01-01T00:00:00Z", "1970-01-01T00:00:09Z"]):
        block = f"reading(s{number}) at @{time}.\n".encode()
        run.log.add(Segment(((0, START + 1_000, len(block)),)), [block])
        run.read_arrivals([number + 1])
    run.delivery.close()
    assert run.feed.far.count == 2
    far = [json.loads(line)["t"] for line in lines_of(run.late)]
    assert far == ["2999-01-01T00:00:00Z", "1970-01-01T00:00:09Z"]


def test_a_batch_of_many_lines_is_shared_by_tasks(tmp_path):
    run = TaskRun(tmp_path, JOIN, [LiveText("s.facts")])
    received(run.log, [[f"a(x) at {tick}.\n".encode() for tick in range(10)]], [0], 1)
    run.read_arrivals([1])
    works, _ = run.planner.works(run.offset, run.behind(10))
    assert [(work.segments, work.lines) for (work,) in works[1:]] == [((1, 2, 3), 0), ((4, 5, 6), 3), ((7, 8, 9), 6)]
    run.read_arrivals([10, 11])
    run.delivery.close()
    assert run.is_over


def test_tasks_that_share_lines_tell_blank_nodes_of_graphs_apart(tmp_path):
    lines = [json.dumps({"t": tick, "graph": f"_:b <{'ab'[tick % 2]}> <x> ."}) + "\n" for tick in range(20)]
    program = "both(X) :- <a>(X,Y) in [20], <b>(X,Y) in [20]. has(X) :- <a>(X,Y)."
    ends = [*accumulate(map(len, lines))]
    compared(tmp_path, {"s.jsonl": "".join(lines)}, ends, [], [1, 10], program=program)


def test_the_last_of_the_tasks_that_share_a_stream_says_how_it_goes_on(tmp_path, monkeypatch):
    hear, known = SparkFeed.hear, []
    for way in (1, -1):
        monkeypatch.setattr(SparkFeed, "hear", lambda feed, digests, way=way: hear(feed, digests[::way]))
        folder = tmp_path / str(way)
        folder.mkdir()
        run = TaskRun(folder, JOIN, [LiveText("s.facts")])
        received(run.log, [[f"a(x) at {tick}.\n".encode() for tick in range(10)]], [0], 1)
        run.read_arrivals([1, 10])
        run.delivery.close()
        known.append((Known.load(folder), run.feed._receiver._highest))
    assert known[0] == known[1]
    assert known[0][1] == {0: (7, 9)}


def test_what_is_received_at_once_is_cut_at_the_ends_of_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(receiving, "SEGMENT", 20)
    monkeypatch.setattr(receiving, "_WORTH_CUTTING", 1)
    text = "".join(f"a(x) at {tick}.\n" for tick in range(30)).encode()
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [LiveText("s", cut(text, range(7, 300, 25)))])
    fill(run)
    numbers = run.log.numbers()
    assert b"".join(block for _, block in run.log.of_group(0, numbers)) == text
    heads = [run.log.head(number) for number in numbers]
    assert sum(lines for head in heads for _, lines in head.lines) == 30
    assert len([head for head in heads if head.lines]) > 5
    finished(run)


# Receiving ------------------------------------------------------------------------------------------------------------


def fill(run: TaskRun) -> None:
    """Receives what there is."""
    receiver = run.feed._receiver
    assert isinstance(receiver, BlockReceiver)
    receiver.run()
    assert receiver.error is None, receiver.error


def finished(run: TaskRun) -> list[str]:
    while run.plan():
        continue
    run.delivery.close()
    assert run.is_over
    return lines_of(run.out)


def test_a_recording_beside_a_live_stream_waits_for_it(tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    for tick in range(0, 40, 10):
        (old / f"{tick:02}.facts").write_text(f"a(x) at {tick}.\na(x) at {tick + 4}.\n")
    run = TaskRun(tmp_path, JOIN, [old, LiveText("now.facts", [b"b(x) at 5.\n", b"b(x) at 32.\n"])])
    assert run.plan()
    assert not run.plan(), "nothing has come yet that it could go on with"
    fill(run)
    (tmp_path / "now.facts").write_text("b(x) at 5.\nb(x) at 32.\n")
    assert finished(run) == in_process(tmp_path, JOIN, [old, tmp_path / "now.facts"])[0]


def test_a_text_and_a_live_stream(tmp_path):
    run = TaskRun(tmp_path, JOIN, [TextTransport("a(x) at 3.\n", "t.facts"), LiveText("s.facts", [b"b(x) at 4.\n"])])
    fill(run)
    for name, text in (("t.facts", "a(x) at 3.\n"), ("s.facts", "b(x) at 4.\n")):
        (tmp_path / name).write_text(text)
    assert finished(run) == in_process(tmp_path, JOIN, [tmp_path / "t.facts", tmp_path / "s.facts"])[0]


def block_receiver(log, transports, report=lambda warning: None):
    return BlockReceiver(log, transports, PassingTime(Clock()), lambda transport: None, report)


class Restarted(LiveText):
    """Says at its second block that something is missing."""

    def __init__(self, name: str, blocks: Sequence[bytes] = ()) -> None:
        super().__init__(name, blocks)
        self.said: list[Diagnostic] = []

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        yield self._blocks[0]
        self.said.append(Diagnostic("W424", "what holds begins anew"))
        yield from self._blocks[1:]

    def notices(self) -> list[Diagnostic]:
        said, self.said = self.said, []
        return said


def test_what_a_transport_warns_of_is_reported(tmp_path):
    reported: list[Diagnostic] = []
    blocks = [b"a(x) at 3.\n", b"a(x) at 9.\n"]
    block_receiver(ArrivalLog(tmp_path), {0: Restarted("s", blocks)}, reported.append).run()
    assert [warning.code for warning in reported] == ["W424"]


def test_a_stream_that_knows_its_position_is_received_on_behind_it(tmp_path):
    blocks = [f"a(x) at {tick}.\n".encode() for tick in range(6)]
    first = Numbered("s.facts", blocks[:3])
    received_first = TaskRun(tmp_path, JOIN, [first])
    fill(received_first)
    received_first.delivery.close()
    head = received_first.log.head(received_first.log.end - 1)
    assert head.positions == ((0, 3),)
    log = received_first.log
    # It was killed before the end of the stream was written down.
    log.add(replace(head, arrivals=(), ended=()), [])
    again = block_receiver(log, {0: Numbered("s.facts", blocks)})
    again.run()
    assert [block for _, block in log.of_group(0, log.numbers())] == blocks


def test_a_stream_that_cannot_be_read_again_begins_anew_and_half_a_line_is_gone(tmp_path):
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [LiveText("s")])
    run.log.add(Segment(((0, START, 18),), counts=((0, 1),)), [b"a(x) at 3.\na(y) at"])
    run.read_arrivals([1])
    again = block_receiver(run.log, {0: LiveText("s", [b"a(z) at 5.\n"])})
    again.run()
    assert run.log.head(1).begun == (0,)
    assert [json.loads(line)["begin"] for line in finished(run)] == [["seen(x)"], [], ["seen(z)"]]


def test_what_batches_have_taken_is_forgotten_but_the_last_says_how_far_it_is(tmp_path):
    run = TaskRun(tmp_path, JOIN, [LiveText("s")])
    received(run.log, [cut(b"a(x) at 3.\n" * 6, [11, 22, 33, 44])], [0], 1)
    run.read_arrivals([2, 4, 5])
    run.delivery.close()
    assert run.log.numbers() == [3, 4, 5]


def test_what_waits_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(receiving, "MOST_WAITING", 2_000)
    monkeypatch.setattr(receiving, "SEGMENT", 1)
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [LiveText("s.facts", [b"a(x) at 3.\n" * 50] * 40)])
    receiver = run.feed._receiver
    assert receiver is not None
    receiver.start()
    most = 0
    while not run.is_over:
        numbers = run.log.numbers()
        most = max(most, sum(size for number in numbers for _, _, size in run.log.head(number).arrivals))
        run.plan()
    run.delivery.close()
    assert most < 4_000
    assert run.feed.facts == 2_000


@pytest.mark.parametrize("is_told_where_it_begins", [True, False])
def test_there_is_room_again_when_one_batch_has_taken_all_that_fits(tmp_path, monkeypatch, is_told_where_it_begins):
    monkeypatch.setattr(receiving, "MOST_SEGMENTS", 3)
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [LiveText("s.facts", [b"a(y) at 3.\n"])])
    planner, receiver = run.planner, run.feed._receiver
    for tick in range(3):
        receiver._next.add(0, START, b"a(x) at %d.\n" % tick)
        assert receiver._write()
    end = run.behind(3) if is_told_where_it_begins else planner.everything()
    run.batch(end)
    assert run.log.numbers() == [0, 1, 2], "the batch may be done again"
    assert not receiver._has_room()
    assert (planner.next(end) if is_told_where_it_begins else planner.everything()) == end
    assert run.log.numbers() == [2]
    fill(run)
    assert [json.loads(line)["begin"] for line in finished(run)] == [["seen(x)"], ["seen(y)"]]


def test_a_batch_that_was_planned_finds_its_segments_whatever_was_asked_before_it(tmp_path):
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [LiveText("s.facts")])
    received(run.log, [[b"a(x) at %d.\n" % tick for tick in range(4)]], [0], 1)
    run.read_arrivals([2])
    start = run.offset
    end = run.planner.next(start)
    again = BatchPlanner(run.feed.sources, run.feed.reading, SMALL, tasks=3)
    assert again.works(start, end) == run.planner.works(start, end)
    run.batch(end)
    assert again.works(start, end)[0], "it was not committed"
    finished(run)


def test_what_comes_behind_a_segment_that_is_larger_than_all_that_may_wait_is_received(tmp_path, monkeypatch):
    monkeypatch.setattr(receiving, "MOST_WAITING", 20)
    monkeypatch.setattr(receiving, "SEGMENT", 1)
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [LiveText("s.facts", [b"a(x) at 3.\n" * 9])])
    fill(run)
    assert [json.loads(line)["begin"] for line in finished(run)] == [["seen(x)"]]


def test_what_came_before_a_transport_failed_is_written_down(tmp_path):
    class Failing(LiveText):
        def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
            yield from super().blocks(interrupt)
            raise FailedError(Diagnostic("E402", "the connection was lost"))

    run = TaskRun(tmp_path, "seen(X) :- a(X).", [Failing("s.facts", [b"a(x) at 3.\n", b"a(y) at"])])
    run.delivery.close()
    receiver = run.feed._receiver
    receiver.run()
    assert "the connection was lost" in str(receiver.error)
    assert [block for _, block in run.log.of_group(0, run.log.numbers())] == [b"a(x) at 3.\n", b"a(y) at"]
    assert run.log.head(run.log.end - 1).ended == ()


class FailingItems:
    """Values of Python that come one after the other, until something fails."""

    repeats = False

    def __init__(self, items: Sequence[tuple[int, Batch]]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[tuple[int, Batch]]:
        yield from self._items
        raise ZeroDivisionError("it divides")

    def waiting(self) -> Sequence[Batch]:
        return ()


def test_what_came_before_values_of_python_failed_is_written_down(tmp_path):
    words, log = Dictionary(), ArrivalLog(tmp_path)
    receiver = ItemReceiver(log, words, FailingItems([(tick, Batch(stream="in")) for tick in range(5)]))
    receiver.run()
    assert isinstance(receiver.error, ZeroDivisionError)
    (block,) = [block for _, block in log.of_group(0, log.numbers())]
    assert [tick for tick, _ in load_items(block, Dictionary())] == [*range(5)]
    assert log.head(log.end - 1).ended == (), "there may be more"


def test_what_came_before_values_of_python_failed_is_written_down_while_receiving_ends(tmp_path):
    class Stopping(FailingItems):
        def __iter__(self) -> Iterator[tuple[int, Batch]]:
            try:
                yield from super().__iter__()
            finally:
                receiver._stopped.set()

    log = ArrivalLog(tmp_path)
    receiver = ItemReceiver(log, Dictionary(), Stopping([(3, Batch(stream="in"))]))
    receiver.run()
    assert isinstance(receiver.error, ZeroDivisionError)
    (block,) = [block for _, block in log.of_group(0, log.numbers())]
    assert [tick for tick, _ in load_items(block, Dictionary())] == [3]


class Waiting(LiveText):
    """Brings its blocks, and then nothing more, without an end."""

    def __init__(self, name: str, blocks: Sequence[bytes]) -> None:
        super().__init__(name, blocks)
        self.sent = 0
        self.over = Event()

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        for block in super().blocks(interrupt):
            self.sent += 1
            yield block
        self.over.wait()


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if is_so():
            return
        sleep(0.01)
    raise AssertionError("it took too long")


@pytest.mark.parametrize("most_waiting", [300, 1 << 20])
@pytest.mark.parametrize("is_cut", [False, True])
def test_what_was_received_is_written_down_when_receiving_ends(tmp_path, monkeypatch, most_waiting, is_cut):
    monkeypatch.setattr(receiving, "MOST_WAITING", most_waiting)
    monkeypatch.setattr(receiving, "SEGMENT", 100)
    # While there is no room, blocks wait in the queue, in the receiver and in the transport.
    blocks = [f"a(x{number:02}) at 3.\n".encode() for number in range(40)]
    transport = Waiting("s.facts", blocks)
    receiver = block_receiver(ArrivalLog(tmp_path), {0: transport})
    receiver.start()
    wait_until(lambda: transport.sent > 30 if most_waiting == 300 else transport.sent == 40)
    sleep(0.1)
    sent = transport.sent
    if is_cut:
        receiver.finish()
    else:
        receiver.stop()
    transport.over.set()
    log = ArrivalLog(tmp_path)
    written = b"".join(block for _, block in log.of_group(0, log.numbers()))
    assert b"".join(blocks).startswith(written)
    assert written.count(b"\n") >= sent
    assert log.head(log.end - 1).is_cut is is_cut
    assert receiver.error is None


def test_values_that_were_taken_from_python_are_written_down_when_receiving_ends(tmp_path):
    over = Event()

    class Values:
        repeats = False

        def __iter__(self) -> Iterator[Any]:
            yield 3, Batch(stream="in")
            over.wait()

        def waiting(self) -> Sequence[Batch]:
            return ()

    receiver = receiving.ItemReceiver(ArrivalLog(tmp_path), Dictionary(), Values())
    receiver.start()
    wait_until(lambda: bool(receiver._waiting))
    receiver.stop()
    over.set()
    log = ArrivalLog(tmp_path)
    items = [item for _, block in log.of_group(0, log.numbers()) for item in receiving.load_items(block, Dictionary())]
    assert [tick for tick, _ in items] == [3]


@pytest.mark.parametrize("left", [0, 1, 30, -1])
def test_a_damaged_segment_is_refused(tmp_path, left):
    log = ArrivalLog(tmp_path)
    log.add(Segment(((0, START, 4),)), [b"abcd"])
    log.check()
    (file,) = (tmp_path / "inbox").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:left])
    with pytest.raises(RejectedError, match="E408"):
        log.check()
    file.write_bytes(whole[:-2] + b"xd")
    with pytest.raises(RejectedError, match="E408"):
        log.check()


def test_a_segment_that_is_missing_is_noticed(tmp_path):
    log = ArrivalLog(tmp_path)
    for _ in range(3):
        log.add(Segment(), [])
    (tmp_path / "inbox" / "0000000001.arrivals").unlink()
    with pytest.raises(RejectedError, match="0000000001"):
        log.check()


def test_an_interrupted_run_ends_with_what_has_come(tmp_path):
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [LiveText("s.facts")])
    run.log.add(Segment(((0, START, 11),)), [b"a(x) at 3.\n"])
    run.log.add(Segment(is_cut=True), [])
    assert [json.loads(line)["begin"] for line in finished(run)] == [["seen(x)"]]


def test_a_schema_on_a_stream_is_reported(tmp_path):
    ontology = tmp_path / "x.ttl"
    ontology.write_text(
        "@prefix : <http://ex.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
        ":Student rdfs:subClassOf :Person ."
    )
    line = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>(<http://ex.org/a>,<http://ex.org/b>) at 3.\n"
    run = TaskRun(tmp_path, ontology, [LiveText("s.facts", [line.encode()] * 2)])
    fill(run)
    finished(run)
    assert [(each.code, "rdfs:subClassOf" in each.message) for each in run.reported] == [("W303", True)]


# What the driver is told ----------------------------------------------------------------------------------------------


def test_the_first_facts_are_shown_to_who_wants_to_see_them(tmp_path, monkeypatch):
    monkeypatch.setattr("thalweg.runtimes.spark.feed.OBSERVED", 5)
    seen = []
    blocks = [f"a({tick}) at {tick}. b({tick}) at {tick}.\n".encode() for tick in range(6)]
    run = TaskRun(
        tmp_path,
        JOIN,
        [LiveText("s.facts", blocks)],
        observe=lambda tick, batch, words: seen.extend((tick, str(fact)) for fact in (*batch.facts(words),) or ("",)),
    )
    received(run.log, [blocks], [0], 1)
    run.read_arrivals(range(1, run.log.end + 1))
    run.delivery.close()
    assert [fact for fact in seen if fact[1]] == [(tick, f"{name}({tick})") for tick in range(3) for name in "ab"]
    assert seen[-1] == (5, ""), "how far time has come is known of all of them"


def test_a_batch_that_comes_again_after_a_crash_is_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr("thalweg.runtimes.spark.feed.OBSERVED", 100)
    blocks = [f"a({tick}) at {tick}. b({tick}) at {tick}.\n".encode() for tick in range(6)]

    def opened() -> TaskRun:
        return TaskRun(tmp_path, JOIN, [LiveText("s.facts", blocks)], observe=lambda *_: None)

    first = opened()
    received(first.log, [blocks], [0], 1)
    first.read_arrivals([2])
    assert Known.load(tmp_path).observed == 4
    planned, ledger = first.behind(4), (tmp_path / "ledger").read_bytes()
    first.batch(planned)
    first.delivery.close()
    assert Known.load(tmp_path).observed == 8
    # Killed when the driver had heard of the batch, and before it was delivered.
    (tmp_path / "ledger").write_bytes(ledger)
    again = opened()
    again.offset, again.batches = first.planner._offset({}, 2, Known()), 1
    again.batch(planned)
    again.delivery.close()
    assert Known.load(tmp_path).observed == 8


@pytest.mark.parametrize("ways", [("3", STAMP), (STAMP, "3")], ids=["ticks", "timestamps"])
def test_times_written_in_two_ways_are_found_across_a_resume(tmp_path, ways):
    before, after = (f"a(x) at {time}.\n".encode() for time in ways)
    first = TaskRun(tmp_path, JOIN, [LiveText("s.facts")])
    first.log.add(Segment(((0, START, len(before)),)), [before])
    first.read_arrivals([1])
    first.delivery.close()
    again = TaskRun(tmp_path, JOIN, [LiveText("s.facts")])
    again.offset, again.workers, again.batches = first.offset, first.workers, first.batches
    again.log.add(Segment(((0, START, len(after)),)), [after])
    with pytest.raises(RejectedError, match="E309"):
        again.read_arrivals([2])
    again.delivery.close()


def test_rules_that_never_held_are_known_by_what_tasks_have_seen(tmp_path):
    program = "fire(D) :- temp(D,V), V > 1200. both(D) :- temp(D,V), place(D,R). seen(D) :- temp(D,V)."
    text = "temp(d1,20) at 1.\ntemp(d2,980) at 2.\ntemp(d3,30.5) at 2.\nplace(d7,hall) at 3.\n"
    run = TaskRun(tmp_path, program, [LiveText("s.facts")], progress=True)
    received(run.log, [cut(text.encode(), [18, 37, 50])], [0], 1)
    run.read_arrivals(range(1, run.log.end + 1))
    run.delivery.close()
    assert [each.message for each in run.work.watch.summary()] == [
        "rule 1: `V > 1200`: 3 readings, largest 980",
        "rule 2: `temp(D,V)` and `place(D,R)` never had the same D",
    ]


def test_a_recording_goes_on_when_a_live_stream_ended_before_the_run_was_resumed(tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    for tick in range(9):
        (old / f"{tick}.facts").write_text(f"a(x) at {tick}.\n")
    first = TaskRun(tmp_path, JOIN, [old, LiveText("now.facts", [b"b(x) at 5.\n"])])
    fill(first)
    for _ in range(3):
        assert first.plan()
    first.feed.start(lambda: None)
    first.delivery.close()
    again = TaskRun(tmp_path, JOIN, [old, LiveText("now.facts")])
    again.offset, again.workers, again.batches = first.offset, first.workers, first.batches
    assert finished(again)


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    run = TaskRun(tmp_path, JOIN, [LiveText("s.facts", [b"a(x) at 3.\n"])])
    run.delivery.close()
    receiver = run.feed._receiver
    monkeypatch.setattr(ArrivalLog, "add", full)
    receiver.run()
    assert isinstance(receiver.error, FailedError)
    said = str(receiver.error).splitlines()
    assert said[0] == "error[E401]: what streams bring cannot be written down: No space left on device"


def test_streams_are_not_silent_while_there_is_no_room_for_what_they_bring(tmp_path, monkeypatch):
    monkeypatch.setattr(receiving, "_CROWDED", 0.01)
    moment = [0.0]
    passing = PassingTime(Clock(), idle=5.0, elapsed=lambda: moment[0])
    blocks = [b"a(x) at %d.\n" % tick for tick in range(9)]
    run = TaskRun(tmp_path, JOIN, [LiveText("s", blocks), LiveText("t", blocks)], passing=passing)
    receiver = run.feed._receiver
    room = iter([False, False, False])

    def has_room() -> bool:
        is_free = next(room, True)
        moment[0] += 0.0 if is_free else 4.0
        return is_free

    monkeypatch.setattr(receiver, "_has_room", has_room)
    monkeypatch.setattr(receiving, "SEGMENT", 1)
    receiver.run()
    assert receiver.error is None
    assert {run.log.head(number).resting for number in run.log.numbers()} == {()}
    finished(run)


def test_what_is_received_may_be_on_another_file_system(tmp_path, monkeypatch):
    """As `hdfs://` is one: files are written aside, and renamed. Tasks open it again by its URI."""
    opened = LocalFileSystem(), str(tmp_path / "kept")
    monkeypatch.setattr(stored_path, "open_filesystem", lambda uri: opened)
    kept = stored_path.checkpoint_path("hdfs://host/runs/city")
    assert isinstance(kept, stored_path.StoredPath)
    blocks = [f"a(x{tick % 3}) at {tick}. b(x{tick % 2}) at {tick}.\n".encode() for tick in range(12)]
    (here := tmp_path / "here").mkdir()
    expected = TaskRun(here, JOIN, [LiveText("s.facts", blocks)])
    fill(expected)
    (there := tmp_path / "there").mkdir()
    run = TaskRun(there, JOIN, [LiveText("s.facts", blocks)], kept=kept)
    fill(run)
    assert run.plan()
    run.delivery.close()
    again = TaskRun(there, JOIN, [LiveText("s.facts")], kept=kept)
    again.offset, again.workers, again.batches = run.offset, run.workers, run.batches
    assert finished(again) == finished(expected) != []
    assert run.log.numbers() == again.log.numbers() == [*range(run.log.end)][-1:]
    assert [*Path(kept.place, "inbox").glob("*.unfinished")] == []


class CountedFiles:
    """A file system that counts what it is asked."""

    def __init__(self) -> None:
        self._files = LocalFileSystem()
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self._files, name)


def test_waiting_for_more_asks_another_file_system_for_names_of_segments_only(tmp_path, monkeypatch):
    files = CountedFiles()
    monkeypatch.setattr(stored_path, "open_filesystem", lambda uri: (files, str(tmp_path / "kept")))
    kept = stored_path.checkpoint_path("hdfs://host/kept")
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [LiveText("s.facts")], kept=kept)
    run.log.add(Segment(((0, START, 11),)), [b"a(x) at 1.\n"])
    while run.plan():
        pass
    assert run.planner.next(run.offset) == run.offset
    files.asked.clear()
    for _ in range(3):
        assert run.planner.next(run.offset) == run.offset
    assert files.asked == ["get_file_info"] * 3
    run.log.add(Segment(((0, START, 11),)), [b"a(y) at 2.\n"])
    assert run.plan()
    run.delivery.close()


def test_a_run_that_has_lost_its_folder_writes_nothing_into_it(tmp_path):
    def taken() -> None:
        raise RejectedError([Diagnostic("E408", "another run has taken the checkpoint")])

    run = TaskRun(tmp_path, JOIN, [LiveText("s.facts", [b"a(x) at 3.\n"])])
    run.delivery.close()
    receiver = run.feed._receiver
    receiver.need_folder = taken
    receiver.run()
    assert "E408" in str(receiver.error)
    assert run.log.numbers() == []
