"""The common base of readers of mapped tables and messages: the mappings that serve, and diagnostics of rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from time import time
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import numpy as np

from thalweg.connectors.batches import Item
from thalweg.connectors.lines import LineError, wrong_line
from thalweg.connectors.mapping.dialect import UNSTATED, StatedDialect
from thalweg.connectors.mapping.mapped_facts import Columns, MappedFacts, RowReports, Runs, facts_of
from thalweg.connectors.mapping.mapping import EACH, Mapping, Path, Steps
from thalweg.connectors.mapping.propose import proposal
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.partitions import Partition
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock

_AT: Final = "say which column has the time: `{} at ts`; or tie it to the source it is for: `devices: {}`"


@dataclass(frozen=True, slots=True)
class MappedStream:
    """The source of a mapped reader: recorded facts need a time, others are of the tick of their arrival.

    A background has no times at all, so that only mappings without one serve it. What is pushed may have a `tick`,
    which is that of the rows whose mapping says no time. `partition` has the columns that the folders of a file name.
    `now` says when what is read has come, in seconds since 1970.
    """

    words: Dictionary
    name: str
    stream: str | None
    clock: Clock
    tally: Tally
    kind: Literal["recorded", "live", "background", "pushed"] = "recorded"
    tick: int | None = None
    partition: Partition = field(default_factory=dict)
    now: Callable[[], float] = time

    @property
    def mappings(self) -> tuple[Mapping, ...]:
        timeless = self.kind == "background"
        mine = (mapping for mapping in self.tally.mappings if mapping.serves(self.stream, self.topic))
        return tuple(mapping for mapping in mine if not (timeless and mapping.time is not None))

    @property
    def topic(self) -> str | None:
        """The whole topic of a broker, of which the stream's name is only the last level: `north/readings`."""
        return urlsplit(self.name).path.strip("/") if "://" in self.name else None

    @property
    def stated(self) -> StatedDialect:
        """The stated dialect of its table."""
        return self.tally.stated.get(self.stream or "", UNSTATED)

    @property
    def is_served(self) -> bool:
        """Whether it may be a table or have messages: mappings serve it, or its table is described."""
        return bool(self.mappings) or self.kind == "background" or self.stated != UNSTATED

    @property
    def goes_by_order(self) -> bool:
        """Whether times may be local, so that one may depend on those before it."""
        return self.clock.zone is not None or any(mapping.time and mapping.time.zone for mapping in self.mappings)

    @property
    def is_by_arrival(self) -> bool:
        """Whether no row of it has a time of its own."""
        return bool(self.mappings) and all(mapping.time is None for mapping in self.mappings)

    @property
    def arrival(self) -> int | None:
        """The tick at which what is read now has come."""
        if self.kind == "live":
            self.clock.notation.stamped = True
            return (round(self.now() * 1_000) - self.clock.epoch) // self.clock.tick_length
        return 0 if self.kind == "background" else self.tick

    def misfit(self, row: dict[str, Any], line: int, header: str, has_header: bool = True) -> Diagnostic:
        """No mapping fits the columns of a table, of which this is a row."""
        timed = self.kind != "background"
        row = {**row, **self.partition}
        message = f"no mapping fits the columns of `{self.name}`"
        help = proposal(row, has_header, timed)
        if len(self.mappings) == 1:
            missing = [path.quoted for path in self.mappings[0].paths if not {path.column, path.whole} & row.keys()]
            message += f": `{self.mappings[0]}` needs {' and '.join(missing)}" if missing else ""
        if (
            not timed
            and not self.mappings
            and any(mapping.time is not None and mapping.serves(self.stream) for mapping in self.tally.mappings)
        ):
            message += ": a background has no times, so a mapping with `at` is not for it"
        return wrong_line(self.name, line, header, LineError(message, 0), help)

    def doubled(self, name: str, line: int, header: str) -> Diagnostic:
        """Two columns of a table have the name that a mapping needs."""
        message = f"two columns are called `{name}`, and it is not clear which one is meant"
        return wrong_line(self.name, line, header, LineError(message, 0), "rename one of them")

    def untimed(self, served: Iterable[Mapping]) -> Diagnostic | None:
        """The diagnostic for mappings without a time, where the stream is recorded; None where all is well."""
        timeless = [mapping for mapping in served if mapping.time is None]
        needs_time = self.kind in ("recorded", "pushed") and self.tick is None
        return self.without_time(timeless[0]) if timeless and needs_time else None

    def without_time(self, mapping: Mapping) -> Diagnostic:
        """A mapping that says no time fits a recorded stream, and nothing else does."""
        if self.kind == "pushed":
            help_ = f"push them with one, `push(…, at=datetime.now(UTC))`, or name it: `{mapping} at ts`"
            return Diagnostic("E308", f"`{mapping}` says no time, and the rows were pushed without one", help=help_)
        message = f"`{mapping}` says no time, and `{self.name}` is recorded"
        return Diagnostic("E308", message, mapping.span, _AT.format(mapping, mapping))


class MappedRows:
    """Facts of rows; `waiting` has the words of what has been read and not been taken."""

    def __init__(self, source: MappedStream) -> None:
        self._source = source
        self._runs: Runs | None = None

    def waiting(self) -> Iterator[Batch]:
        return self._runs.waiting() if self._runs is not None else iter(())

    def _items(
        self,
        served: Sequence[tuple[Mapping, Columns]],
        place: Callable[[int], tuple[int, str]],
        reports: RowReports,
    ) -> Iterator[Item]:
        """Batches, and what is wrong with rows; `place` has the line of a row."""
        self._runs = runs = Runs(self._parts(served, place, reports), self._source.stream, reports)
        yield from runs
        self._runs = None

    def _parts(
        self,
        served: Sequence[tuple[Mapping, Columns]],
        place: Callable[[int], tuple[int, str]],
        reports: RowReports,
    ) -> list[MappedFacts]:
        """The facts of each mapping; what is wrong with rows goes to `reports`."""
        source = self._source
        parts: list[MappedFacts] = []
        arrival, before, after = source.arrival, source.clock.save(), dict[str, int]()
        for mapping, columns in served:
            # Each mapping reads the same rows from the first on.
            source.clock.load(before)
            for facts in facts_of(mapping, columns, source.words, source.clock, source.tally, arrival):
                parts.append(facts)
                for row, (path, reason) in facts.wrong.items():
                    reports.setdefault(row, []).append(partial(self._wrong, row, path, reason, place))
            after |= {zone: max(latest, after.get(zone, latest)) for zone, latest in source.clock.save().items()}
        source.clock.load(after)
        return parts

    def _wrong(
        self, row: int, path: Path | None, reason: str, place: Callable[[int], tuple[int, str]]
    ) -> Iterator[Diagnostic]:
        number, line = place(row)
        where = f" (in {path.quoted})" if path is not None else ""
        message, _, help = reason.partition("; ")
        written = message.partition("`")[2].partition("`")[0]
        at = max(0, line.find(written)) if written else 0
        yield wrong_line(self._source.name, number, line, LineError(message + where, at), help)


# Columns of Arrow ---------------------------------------------------------------------------------------------------


def columns_of(batch: Any, mapping: Mapping, comma: bool = False) -> Columns | None:
    """The columns of a record batch that a mapping needs; None where it does not fit.

    >>> import pyarrow as pa
    >>> from thalweg.connectors.mapping.read_mapping import read_mappings
    >>> batch = pa.RecordBatch.from_pylist([{"d": 1, "r": [{"v": 5}, {"v": 6}]}, {"d": 2, "r": [{"v": 7}]}])
    >>> found = columns_of(batch, read_mappings("p(d, r[].v)")[0])
    >>> found.rows.tolist(), [column.to_pylist() for column in found.columns.values()]
    ([0, 0, 1], [[1, 1, 2], [5, 6, 7]])
    """
    try:
        parents = _parents(batch, mapping.array)
        columns = {path: _at(batch, path, parents) for path in mapping.paths}
    except KeyError:
        return None
    rows = None
    for parent in parents:
        rows = parent if rows is None else rows.take(parent)
    count = batch.num_rows if rows is None else len(rows)
    return Columns(columns, count, None if rows is None else rows.to_numpy(zero_copy_only=False), comma)


def _parents(batch: Any, array: Steps) -> list[Any]:
    """For each array on the way to the innermost, the place of each element's own in what is around it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parents: list[Any] = []
    for place, step in enumerate(array):
        if step is EACH:
            # Behind an array that is null there may be elements, which are not its own.
            lengths = pc.list_value_length(_list(_walk(batch, array[:place]))).fill_null(0)
            parents.append(pa.array(np.repeat(np.arange(len(lengths)), lengths.to_numpy(zero_copy_only=False))))
    return parents


def _walk(batch: Any, steps: Steps) -> Any:
    """The column at the end of a path, with a place for each element of the arrays on it."""
    import pyarrow.compute as pc

    names = batch.schema.names
    name = Path(steps).whole
    column = _whole_column(batch, names, name) if EACH not in steps else None
    if column is not None:
        return column
    column = _whole_column(batch, names, str(steps[0]))
    if column is None:
        raise KeyError(steps[0])
    for step in steps[1:]:
        column = pc.list_flatten(_list(column)) if step is EACH else _member(column, step)
    return column


def _list(column: Any) -> Any:
    """A column of arrays; `KeyError` where it is of something else."""
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.list_(pa.null()))
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise KeyError(str(column.type))
    return column


def _member(column: Any, name: str) -> Any:
    """The values of a field of structs, or of a key of maps; `KeyError` where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = column.type
    if pa.types.is_null(type_):
        return column
    if pa.types.is_struct(type_) and type_.get_field_index(name) >= 0:
        return pc.struct_field(column, [type_.get_field_index(name)])
    if pa.types.is_map(type_) and (pa.types.is_string(type_.key_type) or pa.types.is_large_string(type_.key_type)):
        return pc.map_lookup(column, pa.scalar(name, type_.key_type), "last")
    raise KeyError(name)


def _whole_column(batch: Any, names: Sequence[str], name: str) -> Any:
    if name not in names:
        return None
    column = batch.column(names.index(name))
    plain = _plain(column.type)
    return column if plain == column.type else column.cast(plain)


@lru_cache(maxsize=1024)
def _plain(type_: Any) -> Any:
    """The type for which Arrow has all functions, in place of views of texts and lists of a fixed size."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_string_view(type_) or kinds.is_binary_view(type_):
        return pa.large_string() if kinds.is_string_view(type_) else pa.large_binary()
    if kinds.is_struct(type_):
        return pa.struct([field.with_type(_plain(field.type)) for field in type_])
    if kinds.is_map(type_):
        return pa.map_(_plain(type_.key_type), _plain(type_.item_type))
    if kinds.is_list(type_) or kinds.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(_plain(type_.value_type)))
    if kinds.is_large_list(type_):
        return pa.large_list(type_.value_field.with_type(_plain(type_.value_type)))
    return type_


def _at(batch: Any, path: Path, parents: list[Any]) -> Any:
    column = _walk(batch, path.steps)
    for parent in parents[sum(step is EACH for step in path.steps) :]:
        column = column.take(parent)
    return column
