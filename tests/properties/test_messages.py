"""Messages that are read together give what each gives alone, and lines what Python reads in them."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thalweg.connectors.mapping.arrow_json import ArrowJson
from thalweg.connectors.mapping.mapped_json import MappedJsonReader
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.spark.columns import Shape, WrongRow, mapped_shape, read_rows, shape_of

MAPPINGS = ("temp(dev, v) at ts", "inner(meta.site, meta.n) at ts", "each(dev, r[].id, r[].v) at ts")
PLAIN = {"dev": "d1", "v": 21.5, "ts": 36, "meta": {"site": "north", "n": 4}, "r": [{"id": 1, "v": 2}, {"id": 2}]}

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 60),
    st.sampled_from([2**53 + 1, 10**30, -(2**63), 1e300, 0.1, -0.0]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=3),
    st.sampled_from(["2026-11-15T08:00:00Z", "36", "1e2", "0042", "\ud800"]),
)
nested = st.recursive(
    values,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["id", "v", "n", "site"]), inner, max_size=3)
    ),
    max_leaves=6,
)
times = st.one_of(st.integers(0, 60), st.floats(0, 60), st.sampled_from(["2026-11-15T08:00:00Z", "soon", None]))
objects = st.fixed_dictionaries(
    {}, optional={"dev": nested, "v": nested, "ts": times, "meta": nested, "r": nested, "facts": st.just(["p(a)"])}
)
texts = st.one_of(
    objects.map(lambda message: json.dumps(message)),
    objects.map(lambda message: json.dumps(message, indent=1)),
    objects.map(lambda message: f" {json.dumps(message)}\r\n"),
    st.lists(objects, max_size=2).map(json.dumps),
    st.lists(objects, min_size=2, max_size=2).map(lambda pair: "\n".join(map(json.dumps, pair))),
    st.sampled_from(
        [
            "", " ", "null", "5", "{", "{}{}", '{"v": 1', '"v": 1}', '{"v": "a\nb", "dev": 1, "ts": 1}', "{}}",
            '{"dev": 1, "dev": 2, "v": 3, "ts": 4}', '{"x": [{}', '{}]}', '{"x": "}', '{":1}',
            '{"t": 5, "facts": ["p(a)"]}',
            '{"\\u0064ev": 1, "v": 3, "ts": 4}', '{"dev": 01, "v": 3, "ts": 4}', '\ufeff{"dev": 1, "v": 3, "ts": 4}',
            '{"dev": "\\ud800", "v": 3, "ts": 4}', '{"dev": "a", "v": NaN, "ts": 4}', '{"dev": "a", "v": 1., "ts": 4}',
        ]
    ),
)  # fmt: skip
unreadable = st.sampled_from([b"\xff{}", b'{"dev": "\xff"}'])
messages = st.one_of(texts.map(lambda text: text.encode(errors="surrogatepass")), unreadable)


def facts_in(column: list[bytes | None], shape: Shape) -> tuple[Counter[Any], Counter[Any]]:
    """The facts of messages with their rows, and what is wrong with which."""
    words, facts, wrong = Dictionary(), Counter[Any](), Counter[Any]()
    batch = pa.RecordBatch.from_arrays([pa.array(column, pa.binary())], names=["value"])
    for item in read_rows(batch, shape, words, shape.clock(), 1000):
        if isinstance(item, WrongRow):
            wrong[item] += 1
            continue
        for place, tick, row in zip(item.places.tolist(), item.ticks.tolist(), item.rows.tolist(), strict=True):
            facts[place - 1000, tick, item.stream, item.signature, tuple(map(words.spell, row))] += 1
    return facts, wrong


def alone(column: list[bytes | None], shape: Shape) -> tuple[Counter[Any], Counter[Any]]:
    """The same, each message by itself."""
    facts, wrong = Counter[Any](), Counter[Any]()
    for row, message in enumerate(column):
        stated, malformed = facts_in([message], shape)
        facts.update({(row, *fact[1:]): count for fact, count in stated.items()})
        wrong.update({item._replace(row=row): count for item, count in malformed.items()})
    return facts, wrong


def mixed(plain: int, odd: list[bytes | None]) -> list[bytes | None]:
    """Many messages that are as they should be, with others among them."""
    column: list[bytes | None] = [json.dumps({**PLAIN, "v": row, "ts": 36 + row // 9}).encode() for row in range(plain)]
    for number, message in enumerate(odd):
        column.insert((number * 37) % (len(column) + 1), message)
    return column


@pytest.mark.parametrize("plain", [0, 100])
@given(odd=st.lists(st.one_of(messages, st.none()), max_size=4))
@settings(deadline=None)
def test_a_message_costs_and_gives_only_its_own(plain: int, odd: list[bytes | None]) -> None:
    shape = mapped_shape(["value"], read_mappings(MAPPINGS), "in", 1000)
    column = mixed(plain, odd)
    assert facts_in(column, shape) == alone(column, shape)


@given(odd=st.lists(messages, max_size=3), numbers=st.lists(values, min_size=1, max_size=3))
@example(odd=[], numbers=[-(2**63)])
@settings(deadline=None)
def test_values_of_many_types_are_those_that_python_reads(odd: list[bytes], numbers: list[Any]) -> None:
    shape = mapped_shape(["value"], read_mappings(MAPPINGS[:1]), "in", 1000)
    column = mixed(0, odd) + [json.dumps({"dev": n, "v": n, "ts": 5}).encode() for n in numbers for _ in range(80)]
    assert facts_in(column, shape) == alone(column, shape)


@given(odd=st.lists(st.one_of(messages, st.none()), max_size=3))
@settings(deadline=None)
def test_events_cost_and_give_only_their_own(odd: list[bytes | None]) -> None:
    shape = shape_of(["value"], None, 1000)
    column: list[bytes | None] = [json.dumps({"t": row // 9, "facts": [f"p({row})"]}).encode() for row in range(60)]
    for number, message in enumerate(odd):
        column.insert((number * 37) % (len(column) + 1), message)
    together, malformed = facts_in(column, shape)
    expected, wrong = alone(column, shape)
    assert Counter(fact[1:] for fact in together.elements()) == Counter(fact[1:] for fact in expected.elements())
    assert {item.row for item in malformed} == {item.row for item in wrong}


def lines_read(blocks: list[bytes], by_arrow: bool = True) -> list[Any]:
    """The facts and diagnostics of blocks of lines, in order, and what mappings say at the end."""
    words = Dictionary()
    tally = Tally(read_mappings(MAPPINGS))
    reader = MappedJsonReader.for_held(MappedStream(words, "in.jsonl", "in", Clock(), tally))
    if not by_arrow:
        reader._arrow = ArrowJson(())
    read: list[Any] = []
    for block in blocks:
        for item in reader.feed(block):
            read += shown(item, words)
    for item in reader.finish():
        read += shown(item, words)
    return [*read, [str(warning) for warning in tally.summary()]]


def shown(item: Any, words: Dictionary) -> list[Any]:
    if isinstance(item, Diagnostic):
        return [str(item)]
    tick, batch = item
    return [(tick, str(fact)) for fact in batch.facts(words)]


@pytest.mark.parametrize("plain", [0, 300])
@given(odd=st.lists(objects.map(lambda message: json.dumps(message).encode()), max_size=4))
@settings(deadline=None)
def test_lines_are_what_python_reads(plain: int, odd: list[bytes]) -> None:
    lines = [message + b"\n" for message in mixed(plain, list(odd)) if message is not None]
    blocks = [b"".join(lines[: plain // 2]), b"".join(lines[plain // 2 :])]
    assert lines_read(blocks) == lines_read(blocks, by_arrow=False)


def test_an_object_that_is_nested_deeply_costs_no_other() -> None:
    deep = b'{"dev": "a", "v": 1, "ts": 3, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    shape = mapped_shape(["value"], read_mappings(MAPPINGS), "in", 1000)
    for column in ([*mixed(100, []), deep], [*mixed(100, [b"{"]), deep]):
        facts, expected = facts_in(column, shape)[0], alone(column[:-1], shape)[0]
        assert {fact for fact in facts if fact[0] < len(column) - 1} == {*expected}


def test_arrow_reads_what_is_plain() -> None:
    """Not by Python: or nothing of the above would be about Arrow."""
    shape = mapped_shape(["value"], read_mappings(MAPPINGS), "in", 1000)
    source = MappedStream(Dictionary(), "m.json", "in", Clock(), Tally(shape.mappings))
    reader = MappedJsonReader.for_held(source)
    reader._one_by_one = None  # type: ignore[method-assign,assignment]
    column = pa.array(mixed(200, []), pa.binary())
    parts, items = reader.messages(column)
    assert not items
    assert np.concatenate([facts.rows for facts in parts]).size == 600
