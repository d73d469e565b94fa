"""Local times of tables on Spark: a column without a zone is of the zone of the run, in the order of its partition."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from thalweg.cli import app
from thalweg.diagnostics import ThalwegWarning
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RULES = "q(N) :- p(N)."
AUTUMN = [datetime.fromisoformat(f"2026-10-25T{time}:00") for time in ("02:10", "02:50", "02:05", "03:10")]
IN_UTC = ["00:10", "00:50", "01:05", "02:10"]


def table(session: "SparkSession", times: list[Any], kind: str, name: str = "t") -> "DataFrame":
    rows = [(time, number) for number, time in enumerate(times, 1)]
    return session.createDataFrame(rows, f"{name} {kind}, n int").coalesce(1)


def begun(answers: "DataFrame") -> list[str]:
    rows = answers.selectExpr("args[0] AS n", "unix_millis(`from`) AS t").collect()
    return [f"{datetime.fromtimestamp(row.t / 1_000, UTC):%H:%M}" for row in sorted(rows, key=lambda row: int(row.n))]


OPTIONS: Any = {"zone": "Europe/Berlin", "tick": "1 min"}


def test_a_column_without_a_zone_is_local(session: "SparkSession") -> None:
    mapped = table(session, AUTUMN, "timestamp_ntz", "ts")
    assert begun(reason(RULES, mapped, map="p(n) at ts", **OPTIONS)) == IN_UTC


@pytest.mark.slow
def test_other_columns_without_a_zone_are_local(session: "SparkSession") -> None:
    local = table(session, AUTUMN, "timestamp_ntz")
    assert begun(reason(RULES, {"p": local}, **OPTIONS)) == IN_UTC
    mapped = table(session, AUTUMN, "timestamp_ntz", "ts")
    assert begun(reason(RULES, mapped, map="p(n) at ts in Europe/Berlin", tick="1 min")) == IN_UTC
    texts = table(session, [time.isoformat() for time in AUTUMN], "string", "ts")
    assert begun(reason(RULES, texts, map="p(n) at ts", **OPTIONS)) == IN_UTC
    instants = table(session, [time.replace(tzinfo=UTC) for time in AUTUMN[:2]], "timestamp")
    assert begun(reason(RULES, {"p": instants}, **OPTIONS)) == ["02:10", "02:50"]


def test_a_skipped_time_is_a_malformed_row_and_no_zone_is_reported(session: "SparkSession") -> None:
    local = table(session, [datetime.fromisoformat("2026-03-29T02:30:00"), AUTUMN[0]], "timestamp_ntz")
    rows = reason(RULES, {"p": local}, zone="Europe/Berlin", late=True).collect()
    assert ["whose clocks skip it" in row.message for row in rows if row.op == "malformed"] == [True]
    with pytest.warns(ThalwegWarning, match="W315"):
        reason(RULES, {"p": local})


@pytest.mark.slow
@pytest.mark.usefixtures("in_session")
def test_a_run_reads_local_times_in_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.lars").write_text(RULES)
    lines = (f"{time.isoformat()},{number}\n" for number, time in enumerate(AUTUMN, 1))
    Path("in.csv").write_text("ts,n\n" + "".join(lines))
    words = ["run", "q.lars", "--stream", "in.csv", "--map", "p(n) at ts", "--tick", "1 min", "--emit", "intervals"]
    for zone, expected in (("Europe/Berlin", IN_UTC), (None, None)):
        more = ["--zone", zone] if zone else ["--delay", "60"]
        result = CliRunner().invoke(app, [*words, *more, "--runtime", "spark"])
        assert result.exit_code == 0, result.output
        assert result.output.count("W315") == (zone is None)
        if expected:
            found = sorted(map(json.loads, result.stdout.splitlines()), key=lambda one: one["fact"])
            assert [f"{datetime.fromisoformat(one['from']).astimezone(UTC):%H:%M}" for one in found] == expected
