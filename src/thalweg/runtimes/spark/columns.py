"""From the columns of a table to coded facts, a column at a time.

    fact, t                  a fact as text in each row
    s, p, o, t               a triple in each row
    any columns, t           the arguments of one predicate, in the order of the columns
    value                    a message in each row, such as Kafka's: lines of a fact stream or of JSON, times included
    any columns              what mappings say

`t` is a tick or a timestamp; a column `stream` names the stream. Numbers in a column are numbers of the language; text
is a term where it is written like one, and else a string. Rows that hold no fact are passed over, and can be asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np

from thalweg.connectors.batches import read_fact, triple
from thalweg.connectors.mapping.arrow_json import joined_objects
from thalweg.connectors.mapping.instants import instants
from thalweg.connectors.mapping.mapped_facts import facts_of
from thalweg.connectors.mapping.mapped_json import MappedJsonReader
from thalweg.connectors.mapping.mapped_rows import MappedStream, columns_of
from thalweg.connectors.mapping.mapping import Mapping, Path, Time
from thalweg.connectors.mapping.propose import proposal
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.readers import open_reader
from thalweg.connectors.tabular import cell_term
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.local_times import zone_named
from thalweg.model.number import LARGEST_INTEGER
from thalweg.model.predicate import Predicate
from thalweg.model.python_values import term_of
from thalweg.model.rdf import RDF_TYPE, names_a_predicate
from thalweg.model.time import Clock
from thalweg.runtimes.spark.ingest import CodedFacts
from thalweg.runtimes.spark.pack import gather
from thalweg.runtimes.spark.wire import Words

TIME: Final = "t"
STREAM: Final = "stream"
VALUE: Final = "value"
GROUPS_OF_TABLE: Final = 64
"""Groups of a table with a watermark for each value of a column; values beyond share them."""
_SHAPES: Final = (
    "a table of facts has the columns `fact` and `t`, or `s`, `p`, `o` and `t`, or messages in `value`; "
    "or name the predicate of its columns, as in `{'speed': table}`, or map them"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Which columns hold what: the arguments of one predicate, facts as text, triples, or what mappings say.

    Times without a zone are of `zone`, out of order within `slack` milliseconds. Rows are in groups of their own `by`
    the values of a column.
    """

    predicate: str | None
    columns: tuple[str, ...]
    has_stream: bool
    tick_length: int
    mappings: tuple[Mapping, ...] = ()
    stream: str | None = None
    zone: str | None = None
    slack: int = 0
    by: str | None = None

    def clock(self) -> Clock:
        """The clock for the rows of a partition, whose local times go by their order."""
        zone = None if self.zone is None else zone_named(self.zone)
        return Clock(self.tick_length, zone=zone, slack=self.slack)

    @property
    def is_messages(self) -> bool:
        return self.columns == (VALUE,) and self.predicate is None

    @property
    def brings(self) -> frozenset[Predicate] | None:
        """The predicates of its facts; None where only the rows say them."""
        if self.mappings:
            return (
                None
                if any(mapping.predicate.name == RDF_TYPE for mapping in self.mappings)
                else frozenset(mapping.predicate for mapping in self.mappings)
            )
        return None if self.predicate is None else frozenset({Predicate(self.predicate, len(self.columns))})

    @property
    def wanted(self) -> tuple[str, ...]:
        names = self.columns
        if not self.is_messages and not self.mappings:
            names = (*names, TIME, *((STREAM,) if self.has_stream else ()))
        return names if self.by is None or self.by in names else (*names, self.by)

    @property
    def groups(self) -> int:
        """Into how many groups its rows go."""
        return 1 if self.by is None else GROUPS_OF_TABLE


def shape_of(names: Sequence[str], predicate: str | None, tick_length: int) -> Shape:
    """The shape of a table with these columns.

    >>> shape_of(["t", "a", "b"], "p", 1000).columns
    ('a', 'b')
    >>> shape_of(["when", "fact"], None, 1000)
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E402]: the column `t` is missing
      help: a table of facts has the columns `fact` and `t`, or `s`, `p`, `o` and `t`, ...
    """
    if TIME not in names and VALUE in names and predicate is None:
        return Shape(None, (VALUE,), False, tick_length)
    if TIME not in names:
        help = f"{_SHAPES}; {proposal(dict.fromkeys(names))}"
        raise RejectedError([Diagnostic("E402", f"the column `{TIME}` is missing", help=help)])
    arguments = tuple(name for name in names if name not in (TIME, STREAM))
    for columns in (("fact",), ("s", "p", "o")):
        if predicate is None and set(columns) <= set(arguments):
            return Shape(None, columns, STREAM in names, tick_length)
    if predicate is None:
        raise RejectedError([Diagnostic("E402", f"unknown columns: {', '.join(arguments)}", help=_SHAPES)])
    return Shape(predicate, arguments, STREAM in names, tick_length)


def mapped_shape(names: Sequence[str], mappings: Sequence[Mapping], stream: str | None, tick_length: int) -> Shape:
    """The shape of a table of which mappings make facts; `RejectedError` where none fits.

    >>> from thalweg.connectors.mapping.read_mapping import read_mappings
    >>> mapped_shape(["id", "meta", "ts"], read_mappings("temp(id, meta.temp) at ts"), None, 1000).columns
    ('id', 'meta', 'ts')
    """
    serving = [mapping for mapping in mappings if mapping.serves(stream)]
    fitting = [mapping for mapping in serving if all({path.column, path.whole} & {*names} for path in mapping.paths)]
    if not fitting and VALUE in names and serving:
        return Shape(None, (VALUE,), False, tick_length, tuple(serving), stream)
    timeless = [mapping for mapping in fitting if mapping.time is None]
    if not fitting or timeless:
        message = f"`{timeless[0]}` says no time" if timeless else _misfit(serving, names, stream)
        help = proposal(dict.fromkeys(names))
        raise RejectedError([Diagnostic("E308" if timeless else "E402", message, help=help)])
    paths = (path for mapping in fitting for path in mapping.paths)
    used = dict.fromkeys(path.whole if path.whole in names else path.column for path in paths)
    return Shape(None, tuple(used), False, tick_length, tuple(fitting), stream)


def _misfit(mappings: Sequence[Mapping], names: Sequence[str], stream: str | None) -> str:
    """Why no mapping fits a table: which columns each of those that serve it lacks."""
    table = f"the table `{stream}`" if stream else "the table"
    lacking = {
        mapping: [path.quoted for path in mapping.paths if not {path.column, path.whole} & {*names}]
        for mapping in mappings
    }
    reasons = [f"`{mapping}` needs {' and '.join(missing)}" for mapping, missing in lacking.items()]
    return f"no mapping fits the columns of {table}{': ' if reasons else ''}{'; '.join(reasons)}"


def in_groups(batches: Sequence[Any], shape: Shape) -> list[tuple[int, list[Any]]]:
    """Record batches by the groups that their rows belong to, with the numbers of these; all in one where none is.

    >>> import pyarrow as pa
    >>> table = pa.RecordBatch.from_pydict({"v": [5, 6, 7], "partition": [1, 0, 1]})
    >>> shape = Shape("p", ("v",), False, 1000, by="partition")
    >>> [(number, [part.to_pydict()["v"] for part in parts]) for number, parts in in_groups([table], shape)]
    [(0, [[6]]), (1, [[5, 7]])]
    """
    if shape.by is None or not any(batch.num_rows for batch in batches):
        return [(0, list(batches))]
    groups: dict[int, list[Any]] = {}
    for batch in batches:
        numbers = _group_numbers(batch.column(batch.schema.names.index(shape.by)))
        for number in np.unique(numbers).tolist():
            mask = numbers == number
            groups.setdefault(number, []).append(batch if mask.all() else batch.filter(mask))
    return sorted(groups.items())


def _group_numbers(column: Any) -> Words:
    """The group of each value: that of its number, or of its text."""
    values = column.dictionary_encode()
    numbers = [
        (value if isinstance(value, int) else crc32(str(value).encode())) % GROUPS_OF_TABLE
        for value in values.dictionary.to_pylist()
    ]
    # Rows without a value are a group as well.
    places = values.indices.fill_null(len(numbers)).to_numpy(zero_copy_only=False)
    groups: Words = np.array([*numbers, 0], dtype=np.int64)[places]
    return groups


class WrongRow(NamedTuple):
    """A row that holds no fact, why, and whether that is only because a cell is empty."""

    row: int
    message: str
    is_empty: bool


RowItem = CodedFacts | WrongRow


def read_rows(batch: Any, shape: Shape, words: Dictionary, clock: Clock, start: int = 0) -> Iterator[RowItem]:
    """The facts of a record batch, and the rows that hold none; the places of facts begin with `start`."""
    batch = in_utc(batch)
    if shape.mappings:
        yield from _mapped(batch, shape, words, clock, start)
    else:
        yield from _unmapped(batch, shape, words, clock, start, 0)


def in_utc(batch: Any) -> Any:
    """A record batch with its instants in UTC, as a file has them: Spark gives them in the zone of the session."""
    import pyarrow as pa

    types = [_utc_type(field.type) for field in batch.schema]
    if types == batch.schema.types:
        return batch
    columns = [column.cast(type_) for column, type_ in zip(batch.columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@lru_cache(maxsize=1024)
def _utc_type(type_: Any) -> Any:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, "UTC")
    if kinds.is_struct(type_):
        return pa.struct([field.with_type(_utc_type(field.type)) for field in type_])
    if kinds.is_map(type_):
        return pa.map_(_utc_type(type_.key_type), type_.item_field.with_type(_utc_type(type_.item_type)))
    if kinds.is_list(type_):
        return pa.list_(type_.value_field.with_type(_utc_type(type_.value_type)))
    return type_


def _unmapped(batch: Any, shape: Shape, words: Dictionary, clock: Clock, start: int, row: int) -> Iterator[RowItem]:
    """The facts of rows that need no mapping, and the rows that hold none; `row` is the number of the first row."""
    order = clock.save()
    try:
        results = list(_stated_in(batch, shape, words, clock, start + row))
    except (ValueError, TypeError, RejectedError) as error:
        half = batch.num_rows // 2
        if not half:
            yield _wrong(batch, row, error)
            return
        # Half of the rows have none of the wrong ones, or are halved again.
        clock.load(order)
        yield from _unmapped(batch.slice(0, half), shape, words, clock, start, row)
        yield from _unmapped(batch.slice(half), shape, words, clock, start, row + half)
        return
    yield from results


def _wrong(batch: Any, row: int, error: Exception) -> WrongRow:
    if isinstance(error, RejectedError):
        return WrongRow(row, error.diagnostics[0].message, False)
    return WrongRow(row, str(error), any(column.null_count for column in batch.columns))


def _mapped(batch: Any, shape: Shape, words: Dictionary, clock: Clock, start: int) -> Iterator[RowItem]:
    if shape.columns == (VALUE,):
        yield from _mapped_messages(batch.column(0), shape, words, clock, start)
        return
    order = clock.save()
    for mapping in shape.mappings:
        # Each mapping reads the same rows from the first on.
        clock.load(order)
        yield from _read_by(mapping, batch, shape, words, clock, start)


def _read_by(
    mapping: Mapping, batch: Any, shape: Shape, words: Dictionary, clock: Clock, start: int
) -> Iterator[RowItem]:
    """What a mapping makes of rows."""
    columns = columns_of(batch, mapping)
    if columns is None:
        return
    mapped = facts_of(mapping, columns, words, clock, Tally(shape.mappings))
    read = [np.zeros(0, dtype=np.int64)]
    for facts in mapped:
        read.append(facts.rows)
        yield CodedFacts(facts.mapping.predicate, shape.stream, facts.ticks, facts.arguments, start + facts.rows)
        yield from (WrongRow(row, reason, False) for row, (_, reason) in sorted(facts.wrong.items()))
        read.append(np.array([*facts.wrong], dtype=np.int64))
    empty = np.ones(batch.num_rows, dtype=bool)
    empty[np.concatenate(read)] = False
    reason = f"`{mapping}` has no value here"
    yield from (WrongRow(row, reason, True) for row in np.flatnonzero(empty).tolist())


def _mapped_messages(column: Any, shape: Shape, words: Dictionary, clock: Clock, start: int) -> Iterator[RowItem]:
    """What mappings make of messages, each of which stands for itself; the facts of one have one place."""
    source = MappedStream(words, "message.json", shape.stream, clock, Tally(shape.mappings))
    mapped, items = MappedJsonReader.for_held(source).messages(column)
    for facts in mapped:
        if len(facts.rows):
            yield CodedFacts(facts.mapping.predicate, shape.stream, facts.ticks, facts.arguments, start + facts.rows)
    for row, item in items:
        if isinstance(item, Diagnostic):
            yield WrongRow(row, item.message, False)
        else:
            yield from (
                replace(stated, places=np.full(len(stated.ticks), start + row, dtype=np.int64))
                for stated in gather([item])
            )


def _stated_in(batch: Any, shape: Shape, words: Dictionary, clock: Clock, start: int) -> Iterator[CodedFacts]:
    """The facts that rows state by themselves; `ValueError` where one states none."""
    if shape.is_messages:
        yield from gather(_messages(batch.column(VALUE), words, clock), start)
        return
    ticks = _ticks(batch.column(TIME), clock)
    places = np.arange(start, start + len(ticks), dtype=np.int64)
    for stream, selected in _streams(batch, shape):
        for signature, chosen, rows in _facts(batch, shape, words, selected):
            yield CodedFacts(signature, stream, ticks[chosen], rows, places[chosen])


def _messages(column: Any, words: Dictionary, clock: Clock) -> Iterator[tuple[int, Batch]]:
    """The events in messages, each of which stands for itself."""
    block = _event_lines(column)
    for value in column.to_pylist() if block is None else (block,):
        if value is None:
            raise ValueError("the message is empty")
        reader = open_reader("message", None, words, clock)
        content = value if isinstance(value, bytes) else str(value).encode()
        for item in chain(reader.feed(content), reader.finish()):
            if isinstance(item, Diagnostic):
                raise RejectedError([item])
            yield item


def _event_lines(column: Any) -> bytes | None:
    """Messages as lines of one block, where they are events of JSON on one line each; None where they are not."""
    joined = joined_objects(column) if len(column) > 1 else None
    if joined is None:
        return None
    block: bytes = joined.to_pybytes()
    # The blank nodes of a graph, or of JSON-LD, are those of its message.
    return block if block.count(b"\n") == len(column) and b'"graph"' not in block and b'"@' not in block else None


def _streams(batch: Any, shape: Shape) -> Iterator[tuple[str | None, Words | slice]]:
    if not shape.has_stream:
        yield None, slice(None)
        return
    import pyarrow.compute as pc

    column = batch.column(STREAM)
    for name in column.unique().to_pylist():
        mask = pc.is_null(column) if name is None else pc.fill_null(pc.equal(column, name), False)
        yield name, np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def _facts(
    batch: Any, shape: Shape, words: Dictionary, selected: Words | slice
) -> Iterator[tuple[Predicate, Words | slice, Words]]:
    columns = [batch.column(name) for name in shape.columns]
    if shape.predicate is not None:
        coded = [_coded(column, words)[selected] for column in columns]
        rows = np.stack(coded, axis=1) if coded else np.zeros((len(batch.column(TIME)), 0), dtype=np.int64)[selected]
        yield Predicate(shape.predicate, len(columns)), selected, rows
        return
    by_signature: dict[Predicate, tuple[list[int], list[int]]] = {}
    for place in np.arange(batch.num_rows)[selected].tolist():
        signature, args = _stated([column[place].as_py() for column in columns])
        places, flat = by_signature.setdefault(signature, ([], []))
        places.append(place)
        flat += map(words.code, args)
    for signature, (places, flat) in by_signature.items():
        rows = np.array(flat, dtype=np.int64).reshape(len(places), -1 if flat else 0)
        yield signature, np.array(places, dtype=np.int64), rows


def _stated(cells: list[Any]) -> tuple[Predicate, tuple[str, ...]]:
    if len(cells) == 1:
        fact = read_fact(cells[0])
        return fact.signature, fact.terms
    subject, predicate, value = map(cell_term, cells)
    if not names_a_predicate(predicate):
        raise ValueError(f"`{cells[1]}` cannot be a predicate; an IRI stands in angle brackets: `<http://…>`")
    _, _, signature, args = triple(0, None, subject, predicate, value)
    return signature, args


def _coded(column: Any, words: Dictionary) -> Words:
    """The words of a column's cells."""
    import pyarrow as pa

    if column.null_count:
        raise ValueError("a fact has an empty cell")
    if pa.types.is_integer(column.type):
        numbers: Words = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
        if len(numbers) and max(int(numbers.max()), -int(numbers.min())) > LARGEST_INTEGER:
            raise ValueError("an integer is too large to calculate with")
        return numbers << 2 | 1
    encoded = column.dictionary_encode()
    codes = [words.code(_argument(cell)) for cell in encoded.dictionary.to_pylist()]
    coded: Words = np.array(codes, dtype=np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    return coded


def _argument(value: object) -> str:
    return term_of(value) if isinstance(value, date) else cell_term(value)


def _ticks(column: Any, clock: Clock) -> Words:
    import pyarrow as pa

    if column.null_count:
        raise ValueError("an event has no time")
    if pa.types.is_timestamp(column.type):
        times = instants(column, Time(Path((TIME,))), clock)
        for reason in times.wrong.values():
            raise ValueError(reason)
        ticks = times.words // (1_000 * clock.tick_length)
    elif pa.types.is_integer(column.type):
        ticks = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    else:
        texts = (str(value) for value in column.to_pylist())
        ticks = np.array([int(text) if text.isdecimal() else clock.tick(text) for text in texts], dtype=np.int64)
    if len(ticks) and int(ticks.min()) < 0:
        raise ValueError("an event is before tick 0")
    return ticks
