"""A run on Spark that goes on with a changed program: what is unchanged goes on, and all else begins."""

import json
import re
import warnings
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from changed_programs import ChangingRun, by_tick
from spark.processes import run, started, thalweg, wait_until
from thalweg import ThalwegWarning, api
from thalweg.answers.jsonl import lines
from thalweg.diagnostics import RejectedError, Source
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.runtimes.spark.query_folder import QueryFolder
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAST = 10_000
ALONE = "slow(R) :- speed(R,V) in [4], V < 20. "
SLOW = ALONE + "#record busy/1. "
OLD = SLOW + "busy(N) :- N = count{R : slow(R)}. often(N) :- busy(N) in [3]."
NEW = SLOW + "busy(N) :- N = count{R : slow(R)}, N > 1. many(N) :- busy(N) in [2], N > 3."


def readings() -> list[Event]:
    random = Random(2)
    roads = [(tick, f"r{random.randrange(9)}", str(random.randrange(5, 60))) for tick in range(LAST) for _ in range(3)]
    return [Event(tick, (Fact("speed", (road, speed)),)) for tick, road, speed in roads]


def embedded(first: int, before: str = OLD, after: str = NEW) -> list[str]:
    """The answers of a run in this process whose changed program begins at a tick, when two less were decided."""
    old, new = (api.load_part([Source("rules.lars", text)], (), "1s") for text in (before, after))
    changing = ChangingRun(old, 0)
    for tick, arrived in by_tick(readings(), 0, first - 2):
        changing.advance(tick, arrived)
    assert changing.change(new, first).same == ("slow/1",)
    for tick, arrived in by_tick(readings(), first - 1, LAST - 1):
        changing.advance(tick, arrived)
    return [line for answer in changing.finish() for line in lines(answer)]


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_with_a_changed_program(tmp_path: Path) -> None:
    (tmp_path / "in.facts").write_text("".join(f"{one.facts[0]} at {one.tick}.\n" for one in readings()))
    out, folder, rules = (tmp_path / name for name in ("out.jsonl", "checkpoint", "rules.lars"))
    place = ("--runtime", "spark", "--checkpoint", folder, "--out", out, "--partitions", "2")
    line = thalweg("run", rules, "--stream", tmp_path / "in.facts", *place, segment=2_500, waiting=1)
    rules.write_text(OLD)
    with started(line, tmp_path / "said.txt") as family:
        wait_until(lambda: _delivered(folder) > 0 or family.ended, "no batch is delivered")
        family.kill_group()
        assert family.wait() != 0
    rules.write_text(NEW)
    assert run(line, tmp_path / "refused.txt") == 1
    assert "--on-change begin" in (tmp_path / "refused.txt").read_text()
    said = tmp_path / "changed.txt"
    assert run([*line, "--on-change", "begin"], said) == 0, said.read_text()
    begins = re.search(r"`busy/1`, `many/1` begin at (\d+); `slow/1` goes on; `often/1` is gone", said.read_text())
    assert begins is not None, said.read_text()
    assert out.read_text().splitlines() == embedded(int(begins[1]))


def _delivered(folder: Path) -> int:
    ledger = folder / "delivered.json"
    return int(json.loads(ledger.read_text())["batch"]) if ledger.exists() else -1


# Queries of `reason` --------------------------------------------------------------------------------------------------


def job(session: "SparkSession", folder: Path, program: str, **options: Any) -> list[tuple[Any, ...]]:
    """The answers of a job over what is in a folder; all ticks are closed at its end."""
    facts = session.readStream.schema("x string, t long").parquet(str(folder / "in"))
    answers = reason(program, {"p": facts}, emit="changes", until="available", **options)
    rows: list[tuple[Any, ...]] = []
    writing = answers.writeStream.foreachBatch(lambda batch, _: rows.extend(map(_shown, batch.collect())))
    writing = writing.option("checkpointLocation", str(folder / "state"))
    writing.trigger(availableNow=True).start().awaitTermination()
    return sorted(rows)


def _shown(row: Any) -> tuple[Any, ...]:
    return row.t, row.op, f"{row.predicate}({','.join(row.args)})"


def write(folder: Path, number: int, *facts: tuple[str, int]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    rows = {"x": [x for x, _ in facts], "t": [tick for _, tick in facts]}
    pq.write_table(pa.table(rows), folder / "in" / f"{number}.parquet")


def test_a_query_goes_on_with_a_changed_program(session: "SparkSession", tmp_path: Path) -> None:
    old = "q(X) :- p(X) in [2]. n(N) :- N = count{X : q(X)}, N > 0."
    new = "q(X) :- p(X) in [2]. n(N) :- N = count{X : q(X)}, N > 1."
    write(tmp_path, 0, ("a", 1), ("b", 2))
    assert job(session, tmp_path, old) == [(1, "+", "n(1)"), (1, "+", "q(a)"), *((2, sign, fact) for sign, fact in TWO)]
    write(tmp_path, 1, ("c", 3), ("a", 5))
    with pytest.raises(RejectedError, match="belongs to another program"):
        job(session, tmp_path, new)
    with pytest.warns(ThalwegWarning, match=r"`n/1` begins at 3; `q/1` goes on"):
        answers = job(session, tmp_path, new, on_change="begin")
    # What holds from before is counted by what begins, and what this said before has ended.
    at = {3: ("+n(3)", "+q(c)", "-n(2)"), 4: ("+n(2)", "-n(3)", "-q(a)"), 5: ("+q(a)", "-q(b)")}
    assert answers == [(tick, change[0], change[1:]) for tick, changes in at.items() for change in changes]
    write(tmp_path, 2, ("d", 6))
    assert job(session, tmp_path, new) == [(6, "+", "q(d)"), (6, "-", "q(c)")]
    with pytest.raises(RejectedError, match="belongs to another program"):
        job(session, tmp_path, old)


ONE_STAGE = "q(X) :- p(X) in [2]."
TWO_STAGES = "q(X) :- p(X) in [2]. n(N) :- N = count{X : q(X)}, N > 0."


def test_a_changed_program_has_another_number_of_stages(session: "SparkSession", tmp_path: Path) -> None:
    write(tmp_path, 0, ("a", 1), ("b", 2))
    job(session, tmp_path, TWO_STAGES)
    write(tmp_path, 1, ("c", 3))
    with pytest.warns(ThalwegWarning, match="`q/1` goes on; `n/1` is gone"):
        answers = job(session, tmp_path, ONE_STAGE, on_change="begin")
    assert answers == [(3, "+", "q(c)"), (3, "-", "n(2)")]
    write(tmp_path, 2, ("d", 4))
    assert job(session, tmp_path, ONE_STAGE) == [(4, "+", "q(d)"), (4, "-", "q(a)")]
    assert [*(tmp_path / "state" / "thalweg").glob("[!.j]*")] == []
    write(tmp_path, 3, ("e", 5))
    with pytest.warns(ThalwegWarning, match="`n/1` begins at 5; `q/1` goes on"):
        answers = job(session, tmp_path, TWO_STAGES, on_change="begin")
    assert answers == [(5, "+", "n(3)"), (5, "+", "q(e)"), (5, "-", "q(b)")]


@pytest.mark.parametrize("then", [ONE_STAGE, TWO_STAGES])
def test_a_changed_program_is_killed_before_its_first_batch(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    write(tmp_path, 0, ("a", 1), ("b", 2))
    job(session, tmp_path, TWO_STAGES)
    write(tmp_path, 1, ("c", 3))

    def killed(folder: QueryFolder, name: str, content: bytes) -> None:
        if name == "thalweg/emptied":
            raise KeyboardInterrupt
        write_file(folder, name, content)

    write_file = QueryFolder.write
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThalwegWarning)
        with monkeypatch.context() as patch:
            patch.setattr(QueryFolder, "write", killed)
            with pytest.raises(KeyboardInterrupt):
                job(session, tmp_path, ONE_STAGE, on_change="begin")
        answers = job(session, tmp_path, then, on_change="begin")
    counted = [(3, "+", "n(3)")] if then == TWO_STAGES else []
    assert answers == [*counted, (3, "+", "q(c)"), (3, "-", "n(2)")]


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_stages(tmp_path: Path) -> None:
    (tmp_path / "in.facts").write_text("".join(f"{one.facts[0]} at {one.tick}.\n" for one in readings()))
    out, folder, rules = (tmp_path / name for name in ("out.jsonl", "checkpoint", "rules.lars"))
    place = ("--runtime", "spark", "--checkpoint", folder, "--out", out, "--partitions", "2")
    line = thalweg("run", rules, "--stream", tmp_path / "in.facts", *place, segment=2_500, waiting=1)
    rules.write_text(ALONE)
    with started(line, tmp_path / "said.txt") as family:
        wait_until(lambda: _delivered(folder) > 0 or family.ended, "no batch is delivered")
        family.kill_group()
        assert family.wait() != 0
    rules.write_text(OLD)
    said = tmp_path / "changed.txt"
    assert run([*line, "--on-change", "begin"], said) == 0, said.read_text()
    begins = re.search(r"`busy/1`, `often/1` begin at (\d+); `slow/1` goes on", said.read_text())
    assert begins is not None, said.read_text()
    assert out.read_text().splitlines() == embedded(int(begins[1]), ALONE, OLD)


TWO = ("+", "n(2)"), ("+", "q(b)"), ("-", "n(1)")
