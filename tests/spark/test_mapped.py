"""The same mapping, the same answers: a file in this process and on Spark, and a DataFrame."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import api
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = "hot(D,V) :- temp(D,V) in [2 sec], V > 25.\n"
MAPPING = "temp(device, temp) at ts"
TABLE = "device;temp;ts\n" + "".join(
    f"d{number % 5};{20 + number % 9},{number % 4};2026-11-15T08:{number // 60:02}:{number % 60:02}Z\n"
    for number in range(150)
)


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
    command = [sys.executable, "-m", "thalweg", "run", "hot.lars", "--stream", "readings.csv", "--map", MAPPING]
    command += ["--emit", "intervals", "--runtime", "spark", "--out", "found.jsonl"]
    subprocess.run(command, cwd=tmp_path, env=os.environ, check=True, timeout=240)
    found = (tmp_path / "found.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["fact"] for line in found) == sorted(json.loads(line)["fact"] for line in expected)


def test_a_deployment_says_on_spark_how_its_table_is_written(tmp_path: Path) -> None:
    (tmp_path / "hot.lars").write_text("hot(R,V) :- temp(R,V) from log, V > 25.\n")
    (tmp_path / "dos.csv").write_bytes(
        "Küche^31,5^5\nFlur^20^6\nKüche^31^7\nBad^40^3900000000\nBüro^28^8\n".encode("cp850")
    )
    (tmp_path / "city.toml").write_text(
        'program = "hot.lars"\n[streams.log]\nfrom = "dos.csv"\nmap = "temp(room, v) at ts"\nseparator = "^"\n'
        'decimal = ","\nencoding = "cp850"\nheader = false\n'
        'columns = ["room", "v", "ts"]\n[output]\nto = "found.jsonl"\n'
    )
    command = [sys.executable, "-m", "thalweg", "run", "city.toml", "--emit", "intervals"]
    found = []
    for kind in ("embedded", "spark"):
        ended = subprocess.run(
            [*command, "--runtime", kind], cwd=tmp_path, env=os.environ, check=True, timeout=240, capture_output=True
        )
        # What is far from all others is late, and reported once.
        assert [code in ended.stderr for code in (b"W308", b"W302", b"5 events", b"1 late")] == [
            True,
            False,
            True,
            True,
        ]
        found.append(sorted(json.loads(line)["fact"] for line in (tmp_path / "found.jsonl").read_text().splitlines()))
    assert found == [['hot("Büro",28)', 'hot("Küche",31)', 'hot("Küche",31.5)']] * 2
