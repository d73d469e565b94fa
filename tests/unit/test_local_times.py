"""Times without a zone: local times of the zone that is set, in every format, also in the nights when clocks change."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import thalweg
from thalweg.cli import app
from thalweg.connectors import files
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.model.event import Batch
from thalweg.model.local_times import LocalTimes, SkippedTimeError, microseconds, zone_named
from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint
from thalweg.runtimes.local import LocalRun

# The clock goes from 03:00 back to 02:00.
AUTUMN = ["01:50", "02:10", "02:50", "02:05", "02:55", "03:10"]
IN_UTC = ["23:50", "00:10", "00:50", "01:05", "01:55", "02:10"]
NIGHT = [datetime.fromisoformat(f"2026-10-25T{time}:00") for time in AUTUMN]
MAPPING = "p(n) at ts"
RULES = "q(N) :- p(N). q(N) :- <urn:n>(_,N)."


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.lars").write_text(RULES)


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)))


def begun(*words: object) -> list[str]:
    """When each number began to hold, in UTC."""
    result = invoke("run", "q.lars", *words, "--format", "jsonl", "--emit", "intervals")
    assert result.exit_code == 0, result.output
    return starts(map(json.loads, result.stdout.splitlines()))


def starts(intervals: Iterator[dict[str, Any]]) -> list[str]:
    found = {one["fact"]: datetime.fromisoformat(one["from"]).astimezone(UTC) for one in intervals}
    return [f"{found[f'q({number})']:%H:%M}" for number in range(1, len(found) + 1)]


def lines(write: Callable[[str, int], str]) -> str:
    return "".join(write(f"{time.isoformat()}", number) for number, time in enumerate(NIGHT, 1))


def write_table(**columns: Any) -> None:
    pq.write_table(pa.table(columns), "in.parquet")


NUMBERS = list(range(1, 7))
FACTS = [f"p({number})" for number in NUMBERS]
FORMATS: list[Any] = [
    pytest.param("in.csv", "ts,n\n" + lines(lambda time, number: f"{time},{number}\n"), MAPPING, id="csv"),
    pytest.param("in.csv", "t,fact\n" + lines(lambda time, number: f"{time},p({number})\n"), None, id="csv of facts"),
    pytest.param("in.jsonl", lines(lambda time, number: f'{{"ts":"{time}","n":{number}}}\n'), MAPPING, id="messages"),
    pytest.param(
        "in.jsonl", lines(lambda time, number: f'{{"t":"{time}","facts":["p({number})"]}}\n'), None, id="events"
    ),
    pytest.param("in.facts", lines(lambda time, number: f"p({number}) at @{time}.\n"), None, id="facts"),
    pytest.param(
        "in.facts", lines(lambda time, number: f'p( {number} ) at "{time}"^^xsd:dateTime.\n'), None, id="spaced facts"
    ),
    pytest.param(
        "in.tnt",
        lines(
            lambda time, number: f'{time} <urn:x> <urn:n> "{number}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        ),
        None,
        id="triples",
    ),
]


@pytest.mark.parametrize(("name", "text", "mapping"), FORMATS)
def test_a_repeated_hour_goes_by_order_in_every_format(name: str, text: str, mapping: str | None) -> None:
    Path(name).write_text(text)
    mapped = ("--map", mapping) if mapping else ()
    assert begun("--stream", name, *mapped, "--zone", "Europe/Berlin", "--tick", "1 min") == IN_UTC


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_parquet_without_a_zone_is_local_and_with_one_is_an_instant(unit: str) -> None:
    berlin = ("--zone", "Europe/Berlin", "--tick", "1 min")
    write_table(ts=pa.array(NIGHT, pa.timestamp(unit)), n=NUMBERS)
    assert begun("--stream", "in.parquet", "--map", MAPPING, *berlin) == IN_UTC
    write_table(t=pa.array(NIGHT, pa.timestamp(unit)), fact=FACTS)
    assert begun("--stream", "in.parquet", *berlin) == IN_UTC
    instants = [datetime.fromisoformat(f"2026-10-25T{time}:00+00:00") for time in AUTUMN]
    write_table(ts=pa.array(instants[:3], pa.timestamp(unit, "Asia/Tokyo")), n=NUMBERS[:3])
    assert begun("--stream", "in.parquet", "--map", MAPPING, *berlin) == AUTUMN[:3]


def test_tables_and_values_of_python() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"ts": NIGHT, "n": NUMBERS}
    rows = [{"ts": time, "n": number} for time, number in zip(NIGHT, NUMBERS, strict=True)]
    options: Any = {"zone": "Europe/Berlin", "tick": "1 min", "emit": "intervals"}
    for stream in (pandas.DataFrame(columns), polars.DataFrame(columns), pa.table(columns), rows):
        found = thalweg.run(RULES, stream, map=MAPPING, **options)
        assert starts(map(json.loads, map(str, found))) == IN_UTC
    times: list[Any]
    for times in (NIGHT, [time.isoformat() for time in NIGHT], list(np.array(NIGHT, "datetime64[s]"))):
        found = thalweg.run(RULES, list(zip(times, FACTS, strict=True)), **options)
        assert starts(map(json.loads, map(str, found))) == IN_UTC
    folded = [(NIGHT[1].replace(fold=1), "p(1)")]
    assert starts(map(json.loads, map(str, thalweg.run(RULES, folded, **options)))) == ["01:10"]


def test_a_session_goes_by_order_and_so_does_one_that_is_restored() -> None:
    options: Any = {"zone": "Europe/Berlin", "tick": "1 min", "map": MAPPING}
    times = []
    session = thalweg.open(RULES, **options)
    for number, time in enumerate(NIGHT):
        if number % 2:
            session.push("p", number + 1, at=time)
        else:
            session.push({"ts": time, "n": number + 1})
        times += [change.t for change in session.advance() if change.begin]
        state = session.snapshot()
        session.close()
        session = thalweg.open(RULES, **options)
        session.restore(state)
    assert [f"{time.astimezone(UTC):%H:%M}" for time in times] == IN_UTC


def test_a_skipped_hour_is_a_malformed_row() -> None:
    Path("in.csv").write_text("ts,n\n2026-03-29T01:59:00,1\n2026-03-29T02:30:00,2\n2026-03-29T03:00:00,3\n")
    berlin = ("--map", MAPPING, "--zone", "Europe/Berlin")
    result = invoke("run", "q.lars", "--stream", "in.csv", *berlin)
    assert result.exit_code == 3
    assert "in.csv:3:1" in result.output
    assert "E301" in result.output
    assert "`2026-03-29T02:30:00` is not a time in Europe/Berlin" in result.output
    skipped = invoke("run", "q.lars", "--stream", "in.csv", *berlin, "--on-error", "skip", "--emit", "intervals")
    assert [json.loads(line)["from"] for line in skipped.stdout.splitlines()] == [
        "2026-03-29T01:59:00+01:00",
        "2026-03-29T03:00:00+02:00",
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("in.facts", "p(1) at @2026-03-29T02:30:00.\n"),
        ("in.jsonl", '{"t":"2026-03-29T02:30:00","facts":["p(1)"]}\n'),
        ("in.csv", "t,fact\n2026-03-29T02:30:00,p(1)\n"),
        ("in.tnt", "2026-03-29T02:30:00 <a> <b> <c> .\n"),
    ],
)
def test_a_skipped_hour_is_malformed_in_other_formats(name: str, line: str) -> None:
    Path(name).write_text(line)
    result = invoke("run", "q.lars", "--stream", name, "--zone", "Europe/Berlin")
    assert result.exit_code == 1
    assert "is not a time in Europe/Berlin, whose clocks skip it" in result.output, result.output


def test_options_are_times_of_the_zone() -> None:
    Path("in.facts").write_text("p(1) at @2026-11-15T08:00:00.\np(2) at @2026-11-15T09:00:00.\n")
    rome = ("--stream", "in.facts", "--zone", "Europe/Rome", "--tick", "1 min")
    assert begun(*rome, "--to", "2026-11-15T08:30:00") == ["07:00"]
    said = invoke("run", "q.lars", *rome, "--from", "2026-03-29T02:30:00")
    assert said.exit_code == 2
    assert "whose clocks skip it" in said.output


def test_disorder_within_the_delay_is_not_a_clock_that_went_back() -> None:
    times = ["02:10", "02:08", "02:59", "02:00", "02:58", "02:05", "02:59"]
    Path("in.csv").write_text("ts,n\n" + "".join(f"2026-10-25T{time}:00,{n}\n" for n, time in enumerate(times, 1)))
    words = ("--stream", "in.csv", "--map", MAPPING, "--zone", "Europe/Berlin", "--tick", "1 min", "--delay", "2 min")
    assert begun(*words) == ["00:10", "00:08", "00:59", "01:00", "00:58", "01:05", "01:59"]


def test_each_file_of_a_folder_has_an_order_of_its_own() -> None:
    Path("days").mkdir()
    Path("days/a.csv").write_text("ts,n\n2026-10-25T02:50:00,1\n")
    Path("days/b.csv").write_text("ts,n\n2026-10-25T02:40:00,2\n")
    words = ("--map", MAPPING, "--zone", "Europe/Berlin", "--tick", "1 min", "--late", "late.jsonl")
    assert begun("--stream", "days", *words) == ["00:50"]
    assert "2026-10-25T02:40:00+02:00" in Path("late.jsonl").read_text()


def test_zones_of_streams_and_of_mappings() -> None:
    Path("in.csv").write_text("ts,n\n2026-11-15T08:00:00,1\n")
    Path("other.csv").write_text("Zeit,n\n2026-11-15T08:00:00,2\n")
    Path("third.jsonl").write_text('{"t":"2026-11-15T08:00:00","facts":["p(3)"]}\n')
    Path("plant.toml").write_text(
        'program = "q.lars"\n[streams.one]\nfrom = "in.csv"\nmap = "p(n) at ts"\nzone = "Europe/Berlin"\n'
        '[streams.two]\nfrom = "other.csv"\nmap = "p(n) at Zeit in Asia/Tokyo"\nzone = "UTC"\n'
        '[streams.three]\nfrom = "third.jsonl"\nzone = "America/New_York"\n[output]\nemit = "intervals"\n'
    )
    result = invoke("run", "plant.toml")
    assert result.exit_code == 0, result.output
    assert "W315" not in result.output
    assert starts(map(json.loads, result.stdout.splitlines())) == ["07:00", "23:00", "13:00"]
    table = pa.table({"ts": [NIGHT[0]], "n": [1]})
    (found,) = thalweg.run("plant.toml", stream={"one": table}, report=lambda unused: None)
    assert json.loads(str(found))["from"] == "2026-10-24T23:50:00Z"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('zone = "Europe/Brlin"', "E902 plant.toml:4:1 `Europe/Brlin` is not a time zone"),
        ('map = "p(n) at ts in Europe/Brlin"', "E902 `Europe/Brlin` is not a time zone"),
        ('[background.x]\nfrom = "x.csv"\nzone = "UTC"', "E901 `[background.x]` has no key `zone`"),
    ],
)
def test_unknown_zones_are_diagnostics(text: str, said: str) -> None:
    Path("in.csv").write_text("ts,n\n")
    Path("plant.toml").write_text(f'program = "q.lars"\n[streams.one]\nfrom = "in.csv"\n{text}\n')
    result = invoke("run", "plant.toml")
    assert result.exit_code == 1
    code, _, message = said.partition(" ")
    assert code in result.output
    assert all(part in result.output for part in message.split(" ")), result.output


def test_a_run_without_a_zone_says_once_that_it_took_utc() -> None:
    Path("in.facts").write_text("".join(f"p({n}) at @2026-11-15T08:00:0{n}.\n" for n in range(5)))
    Path("in.csv").write_text("ts,n\n2026-11-15T08:00:00,1\n2026-11-15T08:00:01,2\n")
    two = ("--stream", "in.facts", "--stream", "in.csv", "--map", MAPPING)
    assert invoke("run", "q.lars", *two).output.count("W315") == 1
    assert "W315" not in invoke("run", "q.lars", *two, "--zone", "UTC").output
    Path("in.facts").write_text("p(1) at @2026-11-15T08:00:00Z.\n")
    assert "W315" not in invoke("run", "q.lars", "--stream", "in.facts", "--to", "2026-11-16").output


# Checkpoints ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "text", "mapping"), FORMATS)
def test_stopped_in_the_repeated_hour_and_resumed_is_never_stopped(
    name: str, text: str, mapping: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(name).write_text(text)
    monkeypatch.setattr(files, "FILE_BLOCK", 40)
    monkeypatch.setattr(EmbeddedCheckpoint, "is_due", property(lambda checkpoint: True))
    advance, steps, crash_at = LocalRun.advance, count(1), {2, 4, 7, 9}

    def crashing(run: LocalRun, tick: int, batches: list[Batch]) -> Iterator[Any]:
        if next(steps) in crash_at:
            raise FailedError(Diagnostic("E407", "this is a crash"))
        yield from advance(run, tick, batches)

    monkeypatch.setattr(LocalRun, "advance", crashing)
    words = ["--stream", name, "--zone", "Europe/Berlin", "--tick", "1 min", "--emit", "intervals"]
    words += ["--map", mapping] if mapping else []
    crashes = 0
    while invoke("run", "q.lars", *words, "--out", "out.jsonl", "--checkpoint", "kept").exit_code == 3:
        crashes += 1
    assert crashes >= 3
    assert starts(map(json.loads, Path("out.jsonl").read_text().splitlines())) == IN_UTC


# The conversion ------------------------------------------------------------------------------------------------------

ZONES = ["Europe/Berlin", "Australia/Lord_Howe", "America/New_York", "Africa/Casablanca", "Asia/Kathmandu", "UTC"]


def test_half_an_hour_is_repeated_on_lord_howe() -> None:
    times = LocalTimes(zone_named("Australia/Lord_Howe"))
    # From 02:00 back to 01:30.
    shown = ["01:29", "01:31", "01:59", "01:30", "01:59", "02:00"]
    instants = [times.instant(datetime.fromisoformat(f"2026-04-05T{time}:00")) // 60_000_000 for time in shown]
    assert [later - earlier for earlier, later in pairwise(instants)] == [2, 28, 1, 29, 1]
    with pytest.raises(SkippedTimeError):
        times.instant(datetime.fromisoformat("2026-10-04T02:15:00"))


@given(
    zone=st.sampled_from(ZONES),
    start=st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)),
    minutes=st.lists(st.integers(0, 300), min_size=1, max_size=200),
    cut=st.integers(0, 200),
)
def test_what_a_clock_shows_in_order_is_read_back(zone: str, start: datetime, minutes: list[int], cut: int) -> None:
    known = zone_named(zone)
    begin = start.replace(tzinfo=UTC)
    moments = [begin + timedelta(minutes=sum(minutes[:place])) for place in range(len(minutes))]
    # Steps of less than an hour, or the first pass may have no reading that tells it from the second.
    moments = [one for one, step in zip(moments, minutes, strict=True) if step < 20] or moments[:1]
    shown = [one.astimezone(known).replace(tzinfo=None, fold=0) for one in moments]
    expected = [_as_read(one, earlier, known) for one, earlier in zip(moments, [None, *moments], strict=False)]
    column = np.array([microseconds(one) for one in shown], dtype=np.int64)
    one_by_one, whole = LocalTimes(known), LocalTimes(known)
    found = [one_by_one.instant(time) for time in shown]
    first, skipped = whole.instants(column[:cut])
    rest, also = LocalTimes(known, latest=whole.latest).instants(column[cut:])
    assert len(skipped) == len(also) == 0
    assert found == [*first.tolist(), *rest.tolist()]
    assert all(read in (instant, None) for read, instant in zip(expected, found, strict=True))


def _as_read(moment: datetime, earlier: datetime | None, zone: Any) -> int | None:
    """The instant, unless it is of a second pass that nothing tells from the first."""
    local = moment.astimezone(zone)
    if local.fold and (earlier is None or earlier.astimezone(zone).replace(tzinfo=None) <= local.replace(tzinfo=None)):
        return None
    return microseconds(moment)


@given(zone=st.sampled_from(ZONES), time=st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)))
def test_times_outside_of_changes_are_those_of_the_library(zone: str, time: datetime) -> None:
    known = zone_named(zone)
    first, second = (microseconds(time.replace(tzinfo=known, fold=fold).astimezone(UTC)) for fold in (0, 1))
    words, skipped = LocalTimes(known).instants(np.array([microseconds(time)]))
    if second < first:
        assert skipped.tolist() == [0]
        with pytest.raises(SkippedTimeError):
            LocalTimes(known).instant(time)
    else:
        assert words.tolist() == [first] == [LocalTimes(known).instant(time)]


def test_unknown_zones_of_a_call() -> None:
    with pytest.raises(RejectedError, match="Europe/Brlin"):
        thalweg.run(RULES, [(1, "p(1)")], zone="Europe/Brlin")
    with pytest.raises(RejectedError, match="E306"):
        thalweg.run(RULES, [{"ts": 1, "n": 1}], map="p(n) at ts in Nowhere/Land")
