"""Recorded streams that tasks read answer as in one process: cut anywhere, in any number of batches."""

import json
from codecs import BOM_UTF16_BE
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from task_runs import SCHEMA, SMALL, TaskRun
from thalweg.cli import app
from thalweg.connectors.mapping import mapped_csv
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import open_all
from thalweg.runtimes.spark import recordings as recording
from thalweg.runtimes.spark.batch_planner import BatchPlanner
from thalweg.runtimes.spark.bucket_answers import ANSWER_SCHEMA
from thalweg.runtimes.spark.recordings import (
    SIZES,
    Offsets,
    Position,
    ReadingOptions,
    RecordedFile,
    RecordedSource,
    offset_of,
    positions_of,
)
from thalweg.runtimes.spark.run import SparkTarget

JOIN = "both(X) :- a(X) in [3], b(X). none :- not a(x) in [2], b(Y)."
COUNTED = f"{JOIN} pair(X,Y) :- a(X) in [2 #], b(Y)."


def ends_of(streams: Sequence[RecordedSource], sizes: Sequence[int]) -> list[list[Position]]:
    """Where batches end that take about as many bytes of each stream."""
    positions, ends = Offsets(streams, SMALL).first(), []
    for size in sizes:
        positions = [stream.behind(position, size) for stream, position in zip(streams, positions, strict=True)]
        ends.append(positions)
    return [*ends, Offsets(streams, SMALL).last()]


def in_process(folder: Path, program: str, streams: Sequence[Path], *options: str) -> tuple[list[str], list[str], Any]:
    """The answers and the late facts of the command, and how it ended."""
    out, late = folder / "own.jsonl", folder / "own_late.jsonl"
    source = folder / "p.lars"
    source.write_text(program, encoding="utf-8")
    words = [word for stream in streams for word in ("--stream", str(stream))]
    words = ["run", str(source), *words, "--out", str(out), "--late", str(late), "--quiet", *options]
    ended = CliRunner().invoke(app, words)
    return lines_of(out), lines_of(late), ended


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def late_facts(lines: Sequence[str]) -> list[tuple[Any, ...]]:
    """The late facts of lines, which may each have one or more."""
    late = map(json.loads, lines)
    return sorted((line["t"], line["watermark"], line["stream"], fact) for line in late for fact in line["facts"])


@contextmanager
def small_blocks(beginning: int = 64) -> Iterator[None]:
    """Files are cut although they are small, behind a beginning of as many bytes."""
    with (
        patch.object(recording, "SIZES", SMALL),
        patch.object(recording, "_BEGINNING", beginning),
        patch.object(mapped_csv, "_HEADER_NEEDS", 16),
    ):
        yield


def compared(folder: Path, streams: Sequence[Path], sizes: Sequence[int], block: int, **options: Any) -> None:
    """Both ways of reading answer the same, and find the same late."""
    program = options.pop("program", JOIN)
    flags = [f"--{name}={value}" for name, value in options.items() if name in ("delay", "emit")]
    flags += ["--on-error", options.get("on_error", "stop")]
    flags += [word for text in options.get("map", ()) for word in ("--map", text)]
    answers, late, ended = in_process(folder, program, streams, *flags)
    with small_blocks():
        blocks = TaskRun(folder, program, streams, 3, **options)
        assert not isinstance(ended.exception, AssertionError)
        blocks.read_recorded(ends_of(blocks.feed.sources.recorded, sizes), block)
    assert lines_of(blocks.out) == answers
    assert late_facts(lines_of(blocks.late)) == late_facts(late)
    malformed = blocks.feed.malformed
    assert (malformed is None) == (ended.exit_code == 0), ended.output
    if malformed is not None:
        assert malformed.render().splitlines()[1] in ended.output


TICKS = st.lists(st.integers(0, 12), min_size=1, max_size=14)
TERMS = ("x", "y", "z")


@given(st.lists(TICKS, min_size=1, max_size=3), st.lists(st.integers(1, 90), max_size=4), st.integers(1, 60), st.data())
def test_facts_that_tasks_read_are_answered_as_in_one_process(tmp_path_factory, streams, sizes, block, data):
    folder = tmp_path_factory.mktemp("facts")
    files = []
    for number, ticks in enumerate(streams):
        files.append(folder / f"s{number}.facts")
        texts = [
            f"{data.draw(st.sampled_from('ab'))}({data.draw(st.sampled_from(TERMS))}) at {tick}." for tick in ticks
        ]
        files[-1].write_text("\n".join(texts) + data.draw(st.sampled_from(["", "\n"])), encoding="utf-8")
    # Of several streams that are out of order, tuple windows see one after the other where tasks read them.
    in_order = len(files) == 1 or all(sorted(ticks) == ticks for ticks in streams)
    program = COUNTED if in_order else JOIN
    compared(folder, files, sizes, block, delay=data.draw(st.integers(0, 4)), program=program)


@given(TICKS, st.lists(st.integers(1, 90), max_size=4), st.integers(1, 60), st.data())
def test_malformed_lines_stop_tasks_where_one_process_stops(tmp_path_factory, ticks, sizes, block, data):
    folder = tmp_path_factory.mktemp("wrong")
    good = [
        f"{data.draw(st.sampled_from('ab'))}({data.draw(st.sampled_from(TERMS))}) at {tick}." for tick in sorted(ticks)
    ]
    bad = [*good]
    for at in sorted(data.draw(st.sets(st.integers(0, len(good)), max_size=2)), reverse=True):
        bad.insert(at, "a(x at 3.")
    files = [folder / "good.facts", folder / "bad.facts"]
    for file, texts in zip(files, data.draw(st.permutations([good, bad])), strict=True):
        file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    compared(folder, files, sizes, block, on_error=data.draw(st.sampled_from(["stop", "skip"])))


@given(
    TICKS, st.lists(st.integers(1, 90), max_size=4), st.integers(1, 60), st.sampled_from(["csv", "jsonl", "parquet"])
)
def test_tables_that_tasks_read_are_answered_as_in_one_process(tmp_path_factory, ticks, sizes, block, format):
    folder = tmp_path_factory.mktemp("tables")
    rows = [{"sensor": TERMS[number % 3], "v": tick % 5, "ts": tick} for number, tick in enumerate(ticks)]
    file = folder / f"readings.{format}"
    if format == "csv":
        file.write_text("sensor,v,ts\n" + "".join(f"{row['sensor']},{row['v']},{row['ts']}\n" for row in rows))
    elif format == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=3)
    program = "warm(S) :- reading(S,V) in [2], V > 1. last(S,V) :- reading(S,V) in [1 # by S]."
    compared(folder, [file], sizes, block, program=program, map=["reading(sensor, v) at ts"], delay=3)


@pytest.mark.parametrize("as_uri", [False, True])
def test_folders_of_partitions_are_read_by_tasks_with_their_columns(tmp_path, as_uri):
    folder = tmp_path / "lake"
    for hour in (8, 9):
        (folder / f"hour={hour:02}").mkdir(parents=True)
        rows = "".join(f"s{tick % 3},{tick},{10 * hour + tick}\n" for tick in range(9))
        (folder / f"hour={hour:02}" / "part.csv").write_text("sensor,v,ts\n" + rows)
    program = "seen(S,H) :- reading(S,V,H) in [2], V > 1."
    stream = folder.as_uri() if as_uri else folder
    compared(tmp_path, [stream], [40, 30], 25, program=program, map=["reading(sensor, v, hour) at ts"])


def test_a_file_is_cut_where_its_lines_stand_for_themselves(tmp_path):
    texts = {
        "a.facts": "p(x) at 3.\n",
        "b.facts": "p(x) at 3. /* no\n*/\n",
        "c.jsonl": '{"t": 3, "facts": ["p(x)"]}\n',
        "d.csv": "p,3\n" * 9,
        "e.csv": '"p(x,y)",3\n' * 9,
        "f.nq": "<s> <p> <o> <g> .\n",
    }
    streams = []
    for name, text in texts.items():
        streams.append(tmp_path / name)
        header = "fact,t\n" if name.endswith("csv") else ""
        streams[-1].write_text(header + text * 30, encoding="utf-8")
    pq.write_table(pa.Table.from_pylist([{"fact": "p", "t": 3}] * 8), tmp_path / "g.parquet", row_group_size=2)
    with small_blocks(128):
        transports = open_all([*streams, tmp_path / "g.parquet"])
        options = recording.ReadingOptions(Clock())
        files = [stream.files[0] for stream in recording.recordings(transports, options)]
        whole = [stream.files[0] for stream in recording.recordings(transports, options, whole_events=True)]
    for transport in transports:
        transport.close()
    assert [file.begun is not None for file in files] == [True, False, True, True, False, False, False]
    assert files[-1].groups == (0, 2, 4, 6)
    assert {(file.begun, file.length) for file in whole} == {(None, 1)}


def test_a_wrong_clock_at_the_end_of_a_block_is_found_out_by_what_follows(tmp_path):
    folder = tmp_path / "hours"
    folder.mkdir()
    rows = [{"sensor": "s", "v": hour, "ts": f"2026-11-15T{hour:02}:00:00Z"} for hour in range(8, 20)]
    wrong = {**rows[3], "ts": "2027-11-15T08:00:00Z"}
    for name, part in (("a", [*rows[:4], wrong]), ("b", rows[4:8]), ("c", rows[8:])):
        pq.write_table(pa.Table.from_pylist(part), folder / f"{name}.parquet", row_group_size=2)
    maps = ["reading(sensor, v) at ts"]
    compared(tmp_path, [folder], [1, 1, 1], 1, program="seen(V) :- reading(S,V) in [2 h].", map=maps)
    assert '"2027-11-15T08:00:00Z"' in (tmp_path / "late.jsonl").read_text()


def test_a_table_without_rows_is_read(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    table = pa.Table.from_pylist([{"sensor": "s", "v": 3, "ts": 5}])
    pq.write_table(table.slice(0, 0), folder / "a.parquet")
    pq.ParquetWriter(folder / "b.parquet", table.schema).close()
    pq.write_table(table, folder / "c.parquet")
    compared(tmp_path, [folder], [1], 1, program="seen(V) :- reading(S,V).", map=["reading(sensor, v) at ts"])


def test_a_table_in_utf_16_is_not_cut_within_a_sign(tmp_path):
    """The second byte of `Ċ` is that of a line break."""
    rows = "dev,v,ts\n" + "".join(f"d{'Ċ' * (row > 20)},{row},{row}\n" for row in range(60))
    file = tmp_path / "in.csv"
    file.write_bytes(BOM_UTF16_BE + rows.encode("utf-16-be"))
    compared(tmp_path, [file], [50, 50, 50], 30, program="hot(D) :- temp(D,V), V > 3.", map=["temp(dev, v) at ts"])


@pytest.mark.parametrize("wrong", [20, 50])
def test_a_table_of_mixed_encodings_is_read_as_in_one_process(tmp_path, wrong):
    """A row of Windows among others in UTF-8 is malformed, also where it is alone in its block."""
    rows = [f"d{'ü' * (row > 30 and row != wrong)},{row},{row}\n".encode() for row in range(60)]
    rows[wrong] = f"ü,{wrong},{wrong}\n".encode("cp1252")
    file = tmp_path / "in.csv"
    file.write_bytes(b"dev,v,ts\n" + b"".join(rows))
    about = {"program": "hot(D) :- temp(D,V), V > 3.", "map": ["temp(dev, v) at ts"], "on_error": "skip"}
    compared(tmp_path, [file], [50, 50, 50], 30, **about)


def test_blank_nodes_of_graphs_in_lines_are_told_apart_wherever_a_file_is_cut(tmp_path):
    lines = [json.dumps({"t": tick, "graph": f"_:b <{'ab'[tick % 2]}> <x> ."}) for tick in range(40)]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    program = "both(X) :- <a>(X,Y) in [30], <b>(X,Y) in [30]. has(X) :- <a>(X,Y)."
    compared(tmp_path, [file], [50, 150, 90], 60, program=program)


def test_what_waits_behind_a_malformed_line_takes_no_part_however_batches_are_cut(tmp_path):
    files = [tmp_path / "bad.facts", tmp_path / "good.facts"]
    files[0].write_text("a(x) at 1.\n" * 20 + "a(x) at 3.\na(x at 3.\n", encoding="utf-8")
    files[1].write_text("b(x) at 2.\nb(y) at 3.\nb(z) at 4.\n", encoding="utf-8")
    for sizes in ([], [40, 40, 40], [200], [30] * 12):
        compared(tmp_path, files, sizes, 30)
        for left in ("out.jsonl", "late.jsonl", "ledger", "stopped.json"):
            (tmp_path / left).unlink(missing_ok=True)


def test_a_run_that_is_resumed_knows_the_line_at_which_reading_stopped(tmp_path):
    file = tmp_path / "in.facts"
    file.write_text("a(x) at 3.\na(x at 3.\n", encoding="utf-8")
    blocks = TaskRun(tmp_path, JOIN, [file], 2)
    blocks.read_recorded(ends_of(blocks.feed.sources.recorded, []), 50)
    blocks.feed.start(lambda: None)
    assert blocks.feed.malformed is not None
    again = TaskRun(tmp_path, JOIN, [file], 2)
    again.delivery.close()
    assert again.feed.malformed is not None
    assert again.feed.malformed.render() == blocks.feed.malformed.render()


def test_a_batch_that_is_repeated_after_a_malformed_line_writes_times_as_before(tmp_path):
    file = tmp_path / "in.facts"
    stamp = '"2026-11-15T08:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    file.write_text(f"a(x) at {stamp}.\nb(x) at {stamp}.\na(x at 3.\n", encoding="utf-8")
    blocks = TaskRun(tmp_path, JOIN, [file], 2)
    blocks.read_recorded(ends_of(blocks.feed.sources.recorded, []), 500)
    answers = lines_of(blocks.out)
    assert "2026-11-15T08:00:00Z" in answers[0]
    (tmp_path / "ledger").unlink()
    again = TaskRun(tmp_path, JOIN, [file], 2)
    assert again.feed.malformed is not None
    again.read_recorded(ends_of(again.feed.sources.recorded, []), 500)
    assert lines_of(again.out) == answers


def test_batches_are_the_same_where_spark_does_not_say_where_one_begins(tmp_path):
    """As version 4.1 does; each has an offset of its own, and the last one stays."""
    (folder := tmp_path / "s").mkdir()
    for tick in range(8):
        (folder / f"{tick}.facts").write_text(f"a(x) at {tick}.\n")
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [folder])
    run.delivery.close()
    told, untold, resumed = (BatchPlanner(run.feed.sources, run.feed.reading, SMALL) for _ in range(3))
    offsets = [told.first()]
    for _ in range(10):
        offsets.append(told.next(offsets[-1]))
    assert len({*map(json.dumps, offsets)}) == 9
    assert [untold.following(None) for _ in offsets[1:]] == offsets[1:]
    assert [resumed.following(offsets[3]) for _ in offsets[4:]] == offsets[4:]


def test_what_was_added_to_recordings_since_they_were_cut_is_noticed(tmp_path):
    (tmp_path / "days").mkdir()
    files = [tmp_path / "days" / "a.facts", tmp_path / "days" / "b.facts"]
    for file in files:
        file.write_text("p(x) at 1.\n")
    (before,) = open_all([tmp_path / "days"], None)
    cut = recording.recordings([before], ReadingOptions(Clock()))
    before.close()
    for file in files:
        file.write_text("p(x) at 1.\np(y) at 2.\n")
    (tmp_path / "days" / "c.facts").write_text("p(z) at 3.\n")
    (now,) = open_all([tmp_path / "days"], None)
    # The second file is read as a whole, and was not yet.
    said = [warning.message for warning in recording.grown(cut, [now], [Position(1)])]
    now.close()
    more = ("a.facts` has 11 bytes", "days` has 1 file")
    assert [
        message.partition(" more than when the run began")[0][-len(end) :]
        for message, end in zip(said, more, strict=True)
    ] == [*more]


def test_a_mapping_that_does_not_fit_the_first_table_is_an_error_at_the_start(tmp_path):
    (tmp_path / "rows.csv").write_text("sensor,v,ts\na,10,1\n")
    line = ["run", str(tmp_path / "p.lars"), "--stream", str(tmp_path / "rows.csv"), "--runtime", "spark"]
    (tmp_path / "p.lars").write_text("slow(S) :- speed(S,V), V < 20.")
    with patch.object(SparkTarget, "open_session", side_effect=AssertionError("Spark has started")):
        wrong = CliRunner().invoke(app, [*line, "--map", "speed(sensr, v) at ts"])
    assert (wrong.exit_code, "needs `sensr`" in wrong.stderr) == (1, True)


def test_small_files_share_the_tasks_of_a_batch():
    """A task costs far more than opening a file: a folder of thousands must not have one for each."""
    small = tuple(RecordedFile(f"{number}.csv", f"/in/{number}.csv", "", number % 3) for number in range(1_000))
    large = RecordedFile("b.csv", "/b.csv", "b.csv", 10 << 20, begun="{}")
    streams = RecordedSource(0, "a", small), RecordedSource(1, "b", (large,))
    offsets = Offsets(streams, SIZES)
    parts = offsets.blocks(offsets.first(), offsets.last(), 4)
    assert len(parts) <= 6
    blocks = [block for part in parts for block in part]
    assert [block.file for block in blocks if not block.group] == [*range(1_000)]
    cut = [(block.start, block.end) for block in blocks if block.group]
    assert len(cut) > 2
    assert [0, *(end for _, end in cut)] == [*(start for start, _ in cut), 10 << 20]


def test_offsets_are_read_back():
    positions = [Position(0, 7), Position(3), *(Position(1, number) for number in range(12))]
    assert positions_of(json.loads(json.dumps(offset_of(positions)))) == positions


def test_the_rows_of_answers_have_the_columns_of_the_schema():
    assert [column.split()[0] for column in ANSWER_SCHEMA.split(", ")] == SCHEMA.names


@pytest.mark.parametrize("bad", ["stop", "skip"])
def test_a_malformed_line_has_its_number_in_the_file(tmp_path, bad):
    file = tmp_path / "in.facts"
    file.write_text("a(x) at 3.\n" * 40 + "a(x at 3.\n" + "b(x) at 4.\n" * 3, encoding="utf-8")
    with small_blocks():
        blocks = TaskRun(tmp_path, JOIN, [file], 2, on_error=bad)
        blocks.read_recorded(ends_of(blocks.feed.sources.recorded, [100, 100]), 50)
    wrong = blocks.feed.malformed or blocks.reported[0]
    assert f"{file}:41:" in wrong.render()
