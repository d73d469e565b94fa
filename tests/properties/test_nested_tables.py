"""The same rows give the same facts in JSON Lines, Parquet, Arrow, polars, pandas, a DataFrame and messages."""

import io
import json
from collections import Counter
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from thalweg.connectors.held_tables import HeldTable, TableTransport
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.readers import open_reader
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.spark.columns import CodedFacts, mapped_shape, read_rows

INNER = pa.struct({"v": pa.float64(), "tags": pa.list_(pa.string())})
SCHEMA = pa.schema(
    {
        "ts": pa.int64(),
        "dev": pa.string(),
        "n": pa.int64(),
        "ok": pa.bool_(),
        "meta": pa.struct({"site": pa.string(), "pos": pa.struct({"x": pa.float64(), "y": pa.int64()})}),
        "r": pa.list_(INNER),
        "grid": pa.list_(pa.list_(pa.int64())),
        "labels": pa.map_(pa.string(), pa.float64()),
    }
)
MAPPINGS = (
    "plain(dev, n, ok) at ts",
    "deep(dev, meta.pos.x, meta.pos.y) at ts",
    "named(<http://ex.org/{meta.site}>, text(n)) at ts",
    "each(dev, r[].v) at ts",
    "tagged(dev, r[].v, r[].tags[]) at ts",
    "cell(grid[][], meta.site) at ts",
    "label(dev, labels.a) at ts",
)

numbers = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(-1e6, 1e6).map(lambda number: round(number, 6)),
    st.sampled_from([0.1, 44.0, -0.0]),
)
texts = st.one_of(st.sampled_from(["a", "b 7", "0042", "1e2", "21.5", "", "null", "Ünï"]), st.text(max_size=3))


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


rows = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 9),
            "dev": maybe(texts),
            "n": maybe(st.integers(-(2**40), 2**40)),
            "ok": maybe(st.booleans()),
            "meta": maybe(
                st.fixed_dictionaries(
                    {
                        "site": maybe(texts),
                        "pos": maybe(st.fixed_dictionaries({"x": maybe(numbers), "y": maybe(st.integers(-9, 9))})),
                    }
                )
            ),
            "r": maybe(
                st.lists(
                    maybe(
                        st.fixed_dictionaries({"v": maybe(numbers), "tags": maybe(st.lists(maybe(texts), max_size=2))})
                    ),
                    max_size=3,
                )
            ),
            "grid": maybe(st.lists(maybe(st.lists(maybe(st.integers(0, 9)), max_size=2)), max_size=3)),
            "labels": maybe(st.dictionaries(st.sampled_from(["a", "b"]), maybe(numbers), max_size=2)),
        }
    ),
    min_size=1,
    max_size=6,
)


def read(blocks: list[bytes], format: str) -> Counter[Any]:
    """The facts of blocks with their ticks."""
    words = Dictionary()
    reader = open_reader("in", "in", words, Clock(), Tally(read_mappings(MAPPINGS)), format=format)
    facts = Counter[Any]()
    for item in [item for block in blocks for item in reader.feed(block)] + [*reader.finish()]:
        assert not isinstance(item, Diagnostic), item
        tick, batch = item
        facts.update((tick, str(fact)) for fact in batch.facts(words))
    return facts


def as_lines(table: list[dict[str, Any]]) -> Counter[Any]:
    return read(["".join(json.dumps(row) + "\n" for row in table).encode()], "json")


def as_arrow(table: Any) -> Counter[Any]:
    return read(list(TableTransport(HeldTable(table)).blocks(Interrupt())), "parquet")


def as_columns(table: Any) -> Counter[Any]:
    """As Spark's workers read the columns of a DataFrame."""
    words, facts = Dictionary(), Counter[Any]()
    shape = mapped_shape(table.schema.names, read_mappings(MAPPINGS), "in", 1000)
    for batch in table.to_batches():
        for item in read_rows(batch.select(list(shape.columns)), shape, words, shape.clock(), 0):
            if isinstance(item, CodedFacts):
                for tick, row in zip(item.ticks.tolist(), item.rows.tolist(), strict=True):
                    facts[tick, f"{item.signature.name}({','.join(map(words.spell, row))})"] += 1
            else:
                assert item.is_empty, item
    return facts


def as_messages(table: list[dict[str, Any]]) -> Counter[Any]:
    """As Spark's workers read the messages of a topic."""
    words, facts = Dictionary(), Counter[Any]()
    shape = mapped_shape(["value"], read_mappings(MAPPINGS), "in", 1000)
    batch = pa.RecordBatch.from_pydict({"value": [json.dumps(row).encode() for row in table]})
    for item in read_rows(batch, shape, words, shape.clock(), 0):
        assert isinstance(item, CodedFacts), item
        for tick, row in zip(item.ticks.tolist(), item.rows.tolist(), strict=True):
            facts[tick, f"{item.signature.name}({','.join(map(words.spell, row))})"] += 1
    return facts


def arrow_table(table: list[dict[str, Any]]) -> Any:
    def mapped(row: dict[str, Any]) -> dict[str, Any]:
        labels = row["labels"]
        return {**row, "labels": None if labels is None else list(labels.items())}

    return pa.Table.from_pylist(list(map(mapped, table)), schema=SCHEMA)


def through_parquet(table: Any) -> Any:
    file = io.BytesIO()
    parquet.write_table(table, file)
    return parquet.read_table(io.BytesIO(file.getvalue()))


@given(rows)
@settings(deadline=None)
def test_a_nested_table_gives_the_facts_of_its_lines(table: list[dict[str, Any]]) -> None:
    expected, arrow = as_lines(table), arrow_table(table)
    # JSON knows empty cells of text as texts.
    assert as_arrow(arrow) == expected
    assert as_arrow(through_parquet(arrow)) == expected
    assert as_arrow(pa.concat_tables([arrow, arrow]).slice(len(table))) == expected
    assert as_columns(arrow) == expected
    assert as_messages(table) == expected


@given(rows)
@settings(deadline=None)
def test_many_nested_rows_give_the_facts_of_each(table: list[dict[str, Any]]) -> None:
    """So many that Arrow reads the lines, and types are found from more than a few."""
    many = [{**row, "ts": number % 9} for number, row in enumerate(table * 40)]
    expected, arrow = as_lines(many), arrow_table(many)
    assert as_columns(through_parquet(arrow)) == expected
    assert as_messages(many) == expected


@given(rows)
@settings(deadline=None)
def test_a_nested_frame_gives_the_facts_of_its_lines(table: list[dict[str, Any]]) -> None:
    kept = [name for name in SCHEMA.names if name != "labels"]
    arrow = arrow_table(table).select(kept)
    without = [{name: row[name] for name in kept} for row in table]
    frame = polars.from_arrow(arrow)
    assert as_arrow(frame) == as_lines(without)
    assert as_arrow(arrow.to_pandas(types_mapper=pandas.ArrowDtype)) == as_lines(without)


@pytest.mark.parametrize("kind", [pa.list_(pa.int64(), 2), pa.large_list(pa.int64())])
def test_every_kind_of_list_has_elements(kind: Any) -> None:
    table = pa.table({"ts": [1, 2, 3], "v": pa.array([[1, 2], None, [3, 4]], kind)})
    words = Dictionary()
    reader = open_reader("in", "in", words, Clock(), Tally(read_mappings("p(v[]) at ts")), format="parquet")
    blocks = TableTransport(HeldTable(table)).blocks(Interrupt())
    items: Any = [item for block in blocks for item in reader.feed(block)]
    assert [(tick, str(fact)) for tick, batch in items for fact in batch.facts(words)] == [
        (1, "p(1)"), (1, "p(2)"), (3, "p(3)"), (3, "p(4)"),
    ]  # fmt: skip
