"""Folders of partitions: their names are columns, whatever the files in them are."""

import gzip
import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from thalweg import run
from thalweg.connectors.partitions import partitions_of
from thalweg.diagnostics import RejectedError, ThalwegWarning

ROWS = [("d1", 21.5, "2026-11-15T08:00:00Z"), ("d2", 30, "2026-11-15T08:00:01Z")]
RULES = "hot(D,H,S) :- temp(D,V,H,S), V > 20."


def write(path: Path, rows: list[tuple[str, float, str]]) -> None:
    """A table of rows in the format that its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("device", "temp", "ts")
    match path.suffixes:
        case [".parquet"]:
            columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
            parquet.write_table(pa.table(columns), path)
        case [".csv", *_]:
            text = "".join(f"{','.join(map(str, row))}\n" for row in [names, *rows])
            path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        case [".jsonl"]:
            path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))


def facts(stream: object, mapping: str) -> list[str]:
    answers = run(RULES, stream, map=mapping, emit="intervals")
    return sorted(str(fact) for answer in answers for fact in [json.loads(str(answer))["fact"]])


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl"])
@pytest.mark.parametrize("by_uri", [False, True])
def test_partitions_are_columns(tmp_path, ending, by_uri):
    folder = tmp_path / "readings"
    write(folder / f"hour=08/site=M%C3%BCnster/part-0.{ending}", ROWS[:1])
    write(folder / f"hour=9/site=caf%25/part-0.{ending}", ROWS[1:])
    write(folder / f"hour=9/site=__HIVE_DEFAULT_PARTITION__/part-0.{ending}", ROWS[1:])
    (folder / "_SUCCESS").touch()
    stream = folder.as_uri() if by_uri else folder
    with pytest.warns(ThalwegWarning, match="made 2 facts and passed over 1: no value for `site`"):
        found = facts(stream, "temp(device, temp, hour, site) at ts")
    assert found == ['hot(d1,8,"Münster")', 'hot(d2,9,"caf%")']


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_mapping_of_partitions_alone_has_a_fact_a_row(tmp_path, ending):
    folder = tmp_path / "readings"
    write(folder / f"hour=8/ts=2026-11-15/a.{ending}", ROWS)
    found = [str(answer) for answer in run("at_hour(H) :- seen(H).", folder, map="seen(hour) at ts in UTC")]
    assert json.loads(found[0]) == {"t": "2026-11-15T00:00:00Z", "begin": ["at_hour(8)"], "end": []}


def test_the_value_of_the_folder_counts_where_a_file_has_the_column_too(tmp_path):
    write(tmp_path / "readings/device=north/a.parquet", ROWS[:1])
    write(tmp_path / "readings/device=south/a.jsonl", ROWS[:1])
    write(tmp_path / "readings/device=west/a.csv", ROWS[:1])
    mapping = "temp(device, temp, 1, 2) at ts"
    assert facts(tmp_path / "readings", mapping) == ["hot(north,1,2)", "hot(south,1,2)", "hot(west,1,2)"]


def test_files_are_read_in_the_order_of_their_names(tmp_path):
    folder = tmp_path / "readings"
    for hour in ("10", "08", "09"):
        for part in (1, 0):
            stamp = f"2026-11-15T{hour}:{part}0:00Z"
            write(folder / f"hour={hour}/part-{part}.csv", [("d1", int(hour) * 10 + part, stamp)])
    answers = run("now(V) :- temp(V).", folder, map="temp(temp) at ts", tick="1s")
    begun = [json.loads(str(answer))["begin"] for answer in answers]
    assert [fact for facts in begun for fact in facts] == [f"now({n})" for n in (80, 81, 90, 91, 100, 101)]


def test_a_column_that_only_some_folders_have_is_missing_in_the_others(tmp_path):
    write(tmp_path / "readings/a.csv", ROWS[:1])
    write(tmp_path / "readings/hour=8/a.csv", ROWS[1:])
    with pytest.raises(RejectedError, match=r"no mapping fits the columns of `.*a.csv`.* needs `hour`"):
        list(run(RULES, tmp_path / "readings", map="temp(device, temp, hour, 1) at ts"))


def test_a_folder_without_files_is_empty_all_the_same(tmp_path):
    (tmp_path / "readings/hour=8").mkdir(parents=True)
    (tmp_path / "readings/hour=8/_SUCCESS").touch()
    with pytest.raises(RejectedError, match=r"E402.*is empty"):
        list(run(RULES, tmp_path / "readings", map="temp(device, temp, hour, 1) at ts"))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["08", "9"], [8, 9]),
        (["08", "x"], ["08", "x"]),
        (["8", "2.5"], [8.0, 2.5]),
        (["3000000000", "8"], [3_000_000_000, 8]),
        (["3000000000", "2.5"], ["3000000000", "2.5"]),
        (["123456789012345678901", "8"], [Decimal("123456789012345678901"), Decimal(8)]),
        (["2026-11-15", "2026-02-30"], ["2026-11-15", "2026-02-30"]),
        (["2026-11-15"], [date(2026, 11, 15)]),
        (["2026-11-15", "8"], ["2026-11-15", "8"]),
        (["2026-11-15 08%3A00%3A00"], ["2026-11-15 08:00:00"]),
        (["+5", "-7"], [5, -7]),
        (["1e3", "8"], [Decimal("1e3"), Decimal(8)]),
        (["true"], ["true"]),
        (["__HIVE_DEFAULT_PARTITION__", "7"], [None, 7]),
        (["__HIVE_DEFAULT_PARTITION__"], [None]),
        (["a%2Fb", "a+b", "a%zz"], ["a/b", "a+b", "a%zz"]),
        ([""], [""]),
    ],
)
def test_types_are_those_of_the_column(values, expected):
    found = [partition["p"] for partition in partitions_of(f"p={value}/a.csv" for value in values)]
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]
