"""Times as they are read and written: timestamps in, timestamps out."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from thalweg.api import Timing
from thalweg.cli import app
from thalweg.languages.lars.facts import FactReader
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Calendar, Clock, TimeFormat

RULES = "jam(R) :- speed(R,V) in [10 sec], V < 20.  h(H) :- go at T in [0], H = hour(T).  tick(T) :- go at T in [0]."
STAMPED = (
    '{"t":"2026-11-15T08:00:03Z","facts":["speed(a,12)"]}\n'
    '{"t":"2026-11-15T08:00:09Z","facts":["speed(b,42)"]}\n'
    '{"t":"2026-11-15T08:00:30Z","facts":["go"]}\n'
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jam.lars").write_text(RULES)
    (tmp_path / "in.jsonl").write_text(STAMPED)
    return tmp_path


def thalweg(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def run(*arguments: str, stream: str = "in.jsonl") -> list[str]:
    result = thalweg("run", "jam.lars", "--stream", stream, *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_where_timestamps_came_in_timestamps_go_out() -> None:
    assert run("--show", "jam/1") == [
        '{"t":"2026-11-15T08:00:03Z","begin":["jam(a)"],"end":[]}',
        '{"t":"2026-11-15T08:00:14Z","begin":[],"end":["jam(a)"]}',
    ]
    assert run("--show", "jam/1", "--emit", "intervals", "--zone", "Europe/Rome") == [
        '{"fact":"jam(a)","from":"2026-11-15T09:00:03+01:00","until":"2026-11-15T09:00:13+01:00"}'
    ]
    snapshot = run("--show", "jam/1", "--emit", "snapshot", "--to", "2026-11-15T08:00:04Z")
    assert snapshot[-1] == '{"t":"2026-11-15T08:00:04Z","facts":["jam(a)"]}'


def test_numbers_are_written_where_they_are_asked_for_or_came_in(folder: Path) -> None:
    first = json.loads(run("--times", "ticks")[0])
    assert first["t"] == Clock().tick("2026-11-15T08:00:03Z")
    (folder / "bare.facts").write_text("speed(a,12) at 3.\n")
    assert run(stream="bare.facts")[0] == '{"t":3,"begin":["jam(a)"],"end":[]}'
    assert run("--times", "iso", stream="bare.facts")[0].startswith('{"t":"1970-01-01T00:00:03Z"')


def test_ticks_that_are_bound_to_variables_stay_numbers_and_hours_are_those_of_the_zone() -> None:
    last = json.loads(run("--zone", "Asia/Kolkata")[-1])
    assert last["t"] == "2026-11-15T13:30:30+05:30"
    assert last["begin"] == ["h(13)", f"tick({Clock().tick('2026-11-15T08:00:30Z')})"]


def test_atoms_with_timestamps_are_a_stream_again(folder: Path) -> None:
    lines = run("--emit", "snapshot", "--format", "atoms", "--show", "jam/1")
    assert lines[0] == "jam(a) at @2026-11-15T08:00:03Z."
    (folder / "again.facts").write_text("\n".join(lines))
    (folder / "alarm.lars").write_text("alarm(R) :- jam(R).")
    result = thalweg("run", "alarm.lars", "--stream", "again.facts")
    assert result.stdout.splitlines()[0] == '{"t":"2026-11-15T08:00:03Z","begin":["alarm(a)"],"end":[]}'


@pytest.mark.parametrize(
    ("text", "stamped"),
    [
        ("p(a) at 36.", False),
        ("p(a) at @1970-01-01T00:00:36Z.", True),
        ("p(a) at @1970-01-01T01:00:36.500+01:00.", True),
        ('p(a) at "1970-01-01T00:00:36Z".', True),
        ('p("a, b") at @1970-01-01T00:00:36Z.', True),
        ('p(a) at "1970-01-01T00:00:36Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>.', True),
    ],
)
def test_a_fact_may_have_a_timestamp(text: str, stamped: bool) -> None:
    clock = Clock()
    [(tick, _)] = FactReader("in.facts", Dictionary(), clock).feed(f"{text}\n")
    assert (tick, clock.notation.stamped, clock.notation.bare) == (36, stamped, not stamped)


@pytest.mark.parametrize("options", [["--stream", "bare.facts"], ["--to", "40"]])
def test_timestamps_and_ticks_in_one_run_are_an_error(folder: Path, options: list[str]) -> None:
    (folder / "bare.facts").write_text("speed(a,12) at 3.\n")
    result = thalweg("run", "jam.lars", "--stream", "in.jsonl", *options)
    assert (result.exit_code, "E309" in result.stderr) == (1, True)


def test_why_and_late_facts_have_timestamps(folder: Path) -> None:
    at = ("--at", "2026-11-15T08:00:12Z", "--stream", "in.jsonl")
    shown = thalweg("why", "jam.lars", "jam(a)", *at).stdout
    assert "speed(a,12) in [10] at 2026-11-15T08:00:03Z   [stream] until 2026-11-15T08:00:13Z" in shown
    data = json.loads(thalweg("why", "jam.lars", "jam(a)", *at, "--format", "json", "--zone", "Europe/Rome").stdout)
    assert data["until"] == "2026-11-15T09:00:13+01:00"
    absent = thalweg("why", "jam.lars", "jam(b)", *at).stderr
    assert "speed(b,42) in [10] at 2026-11-15T08:00:09Z" in absent
    (folder / "late.jsonl").write_text("".join(reversed(STAMPED.splitlines(keepends=True))))
    run("--late", "kept.jsonl", stream="late.jsonl")
    kept = json.loads((folder / "kept.jsonl").read_text().splitlines()[0])
    assert (kept["t"], kept["watermark"]) == ("2026-11-15T08:00:09Z", "2026-11-15T08:00:30Z")


def test_a_run_that_is_resumed_writes_times_as_before(folder: Path) -> None:
    whole = run("--out", "whole.jsonl")
    how = ("--checkpoint", "state", "--out", "out.jsonl")
    assert run(*how) == whole == []
    assert (folder / "out.jsonl").read_text() == (folder / "whole.jsonl").read_text()


def test_an_unknown_zone_is_wrong_usage() -> None:
    result = thalweg("run", "jam.lars", "--stream", "in.jsonl", "--zone", "Mars/Base")
    assert (result.exit_code, "`Mars/Base` is not a time zone" in result.stderr) == (2, True)


def test_ticks_outside_the_calendar_stay_numbers() -> None:
    times = TimeFormat(Calendar(), "iso")
    assert (times.text(10**15), times.json(10**15), times.data(10**15)) == ("1000000000000000",) * 2 + (10**15,)


def test_the_zone_is_that_of_the_calendar() -> None:
    timing = Timing(zone="Europe/Rome", times="iso")
    assert timing.format.text(0) == "1970-01-01T01:00:00+01:00"
