"""What `bench tables` compares is the same: both sides find the same rows."""

import csv
import json
from pathlib import Path

import pytest

from thalweg.bench import tables

polars = pytest.importorskip("polars")


def test_both_sides_find_the_same_rows(tmp_path: Path) -> None:
    files = tables.write_readings(tmp_path, 5_000)
    tables.reason(tables.THRESHOLD, files.csv, tmp_path / "ours.jsonl")
    tables._filtered(polars, files.csv, tmp_path)
    begun = [fact for line in (tmp_path / "ours.jsonl").read_text().splitlines() for fact in json.loads(line)["begin"]]
    with (tmp_path / "filtered.csv").open() as file:
        rows = [f"hot({row['device']},{float(row['temp']):.15g})" for row in csv.DictReader(file)]
    assert sorted(begun) == sorted(rows)


def test_the_sliding_averages_are_the_same(tmp_path: Path) -> None:
    files = tables.write_readings(tmp_path, 5_000)
    tables.reason(tables.AVERAGE, files.csv, tmp_path / "ours.jsonl")
    tables._rolled(polars, files.csv, tmp_path)
    last = json.loads((tmp_path / "ours.jsonl").read_text().splitlines()[-1])
    ours = dict(fact[5:-1].split(",") for fact in last["begin"])
    with (tmp_path / "means.csv").open() as file:
        theirs = {row["device"]: float(row["temp"]) for row in csv.DictReader(file)}
    assert len(ours) == tables.DEVICES
    assert all(float(mean) == pytest.approx(theirs[device], abs=1e-9) for device, mean in ours.items())


def test_all_formats_have_the_same_readings(tmp_path: Path) -> None:
    found = []
    for stream in tables.write_readings(tmp_path, 2_000):
        tables.reason(tables.THRESHOLD, stream, tmp_path / "ours.jsonl")
        found.append((tmp_path / "ours.jsonl").read_text())
    assert found[0] == found[1] == found[2]
