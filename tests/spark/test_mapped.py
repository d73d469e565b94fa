"""The same mapping, the same answers: a file in this process and on Spark, and a DataFrame."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from spark.commands import run
from thalweg import api
from thalweg.cli import app
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = "hot(D,V) :- temp(D,V) in [2 sec], V > 25.\n"
MAPPING = "temp(device, temp) at ts"
TABLE = "device;temp;ts\n" + "".join(
    f"d{number % 5};{20 + number % 9},{number % 4};2026-11-15T08:{number // 60:02}:{number % 60:02}Z\n"
    for number in range(150)
)


@pytest.mark.usefixtures("in_session")
def test_a_mapped_file_gives_the_same_answers_on_spark(session: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "hot.lars").write_text(RULES)
    (tmp_path / "readings.csv").write_text(TABLE)
    stream = tmp_path / "readings.csv"
    expected = [str(one) for one in api.run(RULES, str(stream), map=MAPPING, emit="intervals")]
    frame = session.read.csv(str(stream), header=True, sep=";").selectExpr(
        "device", "cast(replace(temp, ',', '.') as double) as temp", "to_timestamp(ts) as ts"
    )
    rows = reason(RULES, frame, map=MAPPING).collect()
    assert sorted(f"{row.predicate}({','.join(row.args)})" for row in rows) == sorted(
        json.loads(line)["fact"] for line in expected
    )
    out = tmp_path / "found.jsonl"
    about = ("--stream", stream, "--map", MAPPING, "--emit", "intervals", "--runtime", "spark", "--out", out)
    run(tmp_path / "hot.lars", *about)
    found = out.read_text().splitlines()
    assert sorted(json.loads(line)["fact"] for line in found) == sorted(json.loads(line)["fact"] for line in expected)


@pytest.mark.usefixtures("in_session")
def test_a_deployment_says_on_spark_how_its_table_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hot.lars").write_text("hot(R,V) :- temp(R,V) from log, V > 25.\n")
    (tmp_path / "dos.csv").write_bytes(
        "Dach^40^3900000000\nKüche^31,5^5\nFlur^20^6\nKüche^31^7\nBad^40^3900000000\nBüro^28^8\n".encode("cp850")
    )
    (tmp_path / "city.toml").write_text(
        'program = "hot.lars"\n[streams.log]\nfrom = "dos.csv"\nmap = "temp(room, v) at ts"\nseparator = "^"\n'
        'decimal = ","\nencoding = "cp850"\nheader = false\n'
        'columns = ["room", "v", "ts"]\n[output]\nto = "found.jsonl"\n'
    )
    found = []
    for kind in ("embedded", "spark"):
        ended = CliRunner().invoke(app, ["run", "city.toml", "--emit", "intervals", "--runtime", kind])
        assert ended.exit_code == 0, ended.output
        # What is far from all others is late, and reported once.
        assert [code in ended.stderr for code in ("W308", "W302", "6 events", "2 late")] == [
            True,
            False,
            True,
            True,
        ]
        found.append(sorted(json.loads(line)["fact"] for line in (tmp_path / "found.jsonl").read_text().splitlines()))
    assert found == [['hot("Büro",28)', 'hot("Küche",31)', 'hot("Küche",31.5)']] * 2
