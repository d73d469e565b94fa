"""Tables and times that a run on Spark writes are those of a run in one process."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spark.commands import run

RULES = "jam(R,V) :- speed(R,V) in [10 sec], V < 20.  h(H) :- go at T in [0], H = hour(T)."
STREAM = (
    '{"t":"2026-11-15T08:00:03Z","facts":["speed(a,12)"]}\n'
    '{"t":"2026-11-15T08:00:09Z","facts":["speed(b,7.5)"]}\n'
    '{"t":"2026-11-15T08:00:30Z","facts":["go"]}\n'
)

pytestmark = pytest.mark.usefixtures("in_session")


LAYERS = """
jam(R) :- speed(R,V) in [10 sec], V < 20.
free(R) :- speed(R,V) in [20 sec], not jam(R).
pair(A,B) :- jam(A), jam(B), A != B.
count(N) :- N = count{R : pair(R,S)}.
"""


def test_text_and_pages_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "jam.lars").write_text(LAYERS)
    (tmp_path / "in.jsonl").write_text(STREAM)
    found = []
    for runtime in ("embedded", "spark"):
        page = tmp_path / f"{runtime}.html"
        about = ("--stream", tmp_path / "in.jsonl", "--format", "text", "--runtime", runtime, "--picture", page)
        found.append(run(tmp_path / "jam.lars", *about).stdout)
    assert found[0] == found[1]
    pages = [(tmp_path / f"{runtime}.html").read_text() for runtime in ("embedded", "spark")]
    assert pages[0] == pages[1]
    assert "by pair(A,B)" in pages[1], "with proofs"
    assert "08:00:09  + pair(a,b)   until 08:00:13\n" in found[0], "in a later stage than its premises"
    assert "08:00:14  + free(a)\n" in found[0], "nobody knows until when"


def test_a_table_of_parquet_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "jam.lars").write_text(RULES)
    (tmp_path / "in.jsonl").write_text(STREAM)
    tables = []
    for runtime in ("embedded", "spark"):
        out = tmp_path / f"{runtime}.parquet"
        about = ("--stream", tmp_path / "in.jsonl", "--zone", "Europe/Rome", "--out", out, "--runtime", runtime)
        run(tmp_path / "jam.lars", *about)
        tables.append(pq.read_table(out))
    alone, spread = tables
    assert spread.schema == alone.schema
    order = ("t", "op", "predicate", "args")
    assert sorted(map(str, spread.select(order).to_pylist())) == sorted(map(str, alone.select(order).to_pylist()))
    assert "{'predicate': 'h', 'args': ['9']}" in map(str, spread.select(order[2:]).to_pylist()), "an hour of Rome"
