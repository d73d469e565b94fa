"""Every page of `tests/cases`, and random programs, on Spark.

A query of Spark takes seconds whatever it does, so many programs share one, in one of two ways. Each has stages of its
own, and only the answers come together, with the number of their program. Or all are one program, in which each has
predicates of its own, and they share the stages, too; that takes no longer than a single case.
"""

import os
from collections.abc import Sequence
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings

from case_pages import PAGES, cases_of, merged_cases
from renamed_predicates import counts_facts
from spark.plain_facts import plain
from thalweg.model.event import Event
from thalweg.model.fact import Fact, fact_of_text
from thalweg.planning.partition import partition
from thalweg.spark import reason
from thalweg.testing import Case, Changes, Difference, by_semantics, check
from thalweg.testing.evaluators import Evaluator
from thalweg.testing.strategies import Scenario, scenarios

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

BATCHES = 3
PROGRAMS, TOGETHER = 200, 10

# Pages show what is warned about, too.
pytestmark = pytest.mark.filterwarnings("ignore::thalweg.diagnostics.ThalwegWarning")

TABLE = pa.schema([("number", pa.int32()), ("fact", pa.string()), ("t", pa.int64()), ("stream", pa.string())])


def test_the_cases_with_the_most_split_stages(session: "SparkSession") -> None:
    """Each with stages of its own, which take a second each; in one program, as below, all cases share three."""
    cases = [max(cases_of(page), key=split_stages) for page in PAGES]
    check_cases(session, sorted(cases, key=split_stages, reverse=True)[:5], partitions=2)


def split_stages(case: Case) -> int:
    return sum(stage.split for stage in partition(case.program).stages)


@pytest.mark.parametrize("partitions", [2, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 3))])
def test_the_cases_of_all_pages_as_one_program(session: "SparkSession", partitions: int) -> None:
    scenario = merged_cases()
    facts = session.createDataFrame(table(0, scenario.events)).coalesce(1)
    rows = ask([scenario], facts, partitions).collect()
    meant = meaning(scenario)
    changes = told(rows, 0, meant)
    different = {tick for tick in changes.keys() | meant.keys() if changes.get(tick) != meant.get(tick)}
    assert not {(tick, str(changes.get(tick)), str(meant.get(tick))) for tick in different}


def test_the_cases_of_all_pages_as_one_program_batch_by_batch(session: "SparkSession", tmp_path: Path) -> None:
    check_streaming(session, [merged_cases()], tmp_path)


def test_cases_in_which_windows_count_the_facts(session: "SparkSession") -> None:
    """Some of those that cannot be part of one program; `test_every_case` has all of them."""
    cases = [case for page in PAGES for case in cases_of(page) if counts_facts(case.program)]
    check_cases(session, cases[::3], partitions=2)


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [2, 3])
@pytest.mark.parametrize("page", PAGES)
def test_every_case(session: "SparkSession", page: str, partitions: int) -> None:
    check_cases(session, cases_of(page), partitions)


@pytest.mark.slow
def test_random_programs_batch_by_batch(session: "SparkSession", tmp_path: Path) -> None:
    asked = spread_scenarios(PROGRAMS)
    assert len(asked) == PROGRAMS
    for start in range(0, PROGRAMS, TOGETHER):
        check_streaming(session, asked[start : start + TOGETHER], tmp_path / str(start))


def check_cases(session: "SparkSession", cases: Sequence[Case], partitions: int) -> None:
    """All facts at once, as a table that does not stream."""
    facts = pa.concat_tables(table(number, case.events) for number, case in enumerate(cases))
    rows = ask(cases, session.createDataFrame(facts).coalesce(1), partitions).collect()
    for number, case in enumerate(cases):
        meant = by_semantics(case.program, case.events, case.first, case.last)
        check(case, answering(told(rows, number, meant)))


def check_streaming(session: "SparkSession", asked: Sequence[Scenario], folder: Path) -> None:
    """Batch by batch; the last one brings a fact behind all that is asked for, so that everything is decided."""
    write_batches(asked, folder / "in")
    facts = session.readStream.schema(session.createDataFrame(table(0, ())).schema)
    answers = ask(asked, facts.option("maxFilesPerTrigger", 1).parquet(str(folder / "in")), partitions=2)
    rows: list[Row] = []
    writing = answers.writeStream.foreachBatch(lambda found, _: rows.extend(found.collect()))
    query = writing.option("checkpointLocation", str(folder / "state")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert query.lastProgress is not None
    assert query.lastProgress["batchId"] == BATCHES
    for number, one in enumerate(asked):
        meant = meaning(one)
        assert told(rows, number, meant) == meant, repr(one)


@cache
def meaning(scenario: Scenario) -> Changes:
    return by_semantics(scenario.program, scenario.events, scenario.first, scenario.last)


def ask(asked: Sequence[Case | Scenario], facts: "DataFrame", partitions: int) -> "DataFrame":
    """The answers of each program over its own part of the facts."""
    from pyspark.sql import functions as F  # noqa: N812

    answers = []
    for number, one in enumerate(asked):
        own = facts.where(F.col("number") == number).drop("number")
        found = reason(one.program, own, start=one.first, end=one.last, partitions=partitions, emit="changes")
        args = F.concat(F.lit("("), F.array_join("args", ","), F.lit(")"))
        fact = F.concat("predicate", F.when(F.size("args") > 0, args).otherwise(F.lit("")))
        answers.append(found.select(F.lit(number).alias("number"), "t", "op", fact.alias("fact")))
    return reduce(lambda some, more: some.unionAll(more), answers)


def answering(found: Changes) -> Evaluator:
    return lambda *asked: found


def told(rows: "Sequence[Row]", number: int, meant: Changes) -> Changes:
    """The changes of a program; a table has texts without their quotes, which those that are meant have."""
    spelled = {plain(fact_of_text(fact)): fact for one in meant.values() for fact in one.begin | one.end}
    found: dict[int, tuple[set[str], set[str]]] = {}
    for row in rows:
        if row.number == number:
            known = found.setdefault(row.t, (set(), set()))[row.op == "-"]
            fact = spelled.get(row.fact, row.fact)
            assert fact not in known, f"{row} came twice"
            known.add(fact)
    return {tick: Difference(frozenset(begin), frozenset(end)) for tick, (begin, end) in found.items()}


def table(number: int, events: Sequence[Event]) -> pa.Table:
    rows = [(number, str(fact), event.tick, event.stream) for event in events for fact in event.facts]
    return pa.Table.from_pylist([dict(zip(TABLE.names, row, strict=True)) for row in rows], schema=TABLE)


def write_batches(asked: Sequence[Scenario], folder: Path) -> None:
    """A file for each batch; Spark takes them by their age."""
    folder.mkdir(parents=True)
    for batch in range(BATCHES + 1):
        parts = [table(number, part(one, batch)) for number, one in enumerate(asked)]
        file = folder / f"{batch}.parquet"
        pq.write_table(pa.concat_tables(parts), file)
        os.utime(file, (1_000 + batch, 1_000 + batch))


def part(scenario: Scenario, batch: int) -> Sequence[Event]:
    if batch == BATCHES:
        return [Event(scenario.last + 1, (Fact("over"),))]
    places = [len(scenario.events) * edge // BATCHES for edge in (batch, batch + 1)]
    return scenario.events[slice(*places)]


def spread_scenarios(wanted: int) -> list[Scenario]:
    """Random ones of which at least one stage is split and has something to do."""
    found: list[Scenario] = []

    @settings(max_examples=wanted * 10, phases=[Phase.generate])
    @given(scenarios())
    def take(scenario: Scenario) -> None:
        if len(scenario.events) >= BATCHES and any(stage.split for stage in partition(scenario.program).stages):
            found.append(scenario)

    take()
    return found[:wanted]
