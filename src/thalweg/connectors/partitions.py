"""Folders of partitions, as Hive and Spark write them: `hour=08/site=north/part-0.parquet` has two more columns.

    hour=08, hour=9            numbers: 8, 9          (all values of the column are written like numbers)
    day=2026-11-15             dates
    site=M%C3%BCnster          texts, percent-decoded
    site=__HIVE_DEFAULT_PARTITION__                   no value

Types are those that Spark infers, except that its timestamps are texts here, which a mapping can take for times.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal
from urllib.parse import unquote

Value = int | float | Decimal | date | str | None
Partition = Mapping[str, Value]
"""The columns that the folders of a file name, with their values."""

_Kind = Literal["nothing", "integer", "long", "decimal", "double", "date", "text"]
_NOTHING: Final = "__HIVE_DEFAULT_PARTITION__"
_WHOLE: Final = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_DOUBLE: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?)\Z")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_DIGITS: Final = 38
_READERS: Final[Mapping[_Kind, Callable[[str], Value]]] = {
    "integer": int,
    "long": int,
    "decimal": Decimal,
    "double": lambda raw: float(raw.rstrip("dDfF") if raw[-1] != "y" else raw),
    "date": date.fromisoformat,
    "text": unquote,
    "nothing": lambda raw: None,
}


def partitions_of(paths: Iterable[str]) -> list[Partition]:
    """The partition of each file of a folder, by the ways to them; a column has one type in all of them.

    >>> partitions_of(["hour=08/a.csv", "hour=9/site=caf%C3%A9/b.csv", "c.csv"])
    [{'hour': 8}, {'hour': 9, 'site': 'café'}, {}]
    >>> partitions_of(["hour=08/a.csv", "hour=noon/a.csv", "hour=__HIVE_DEFAULT_PARTITION__/a.csv"])
    [{'hour': '08'}, {'hour': 'noon'}, {'hour': None}]
    """
    written = [_written(path) for path in paths]
    kinds: dict[str, _Kind] = {}
    for columns in written:
        for name, raw in columns.items():
            kinds[name] = _wider(kinds.get(name, "nothing"), _kind(raw))
    return [{name: _value(raw, kinds[name]) for name, raw in columns.items()} for columns in written]


def _written(path: str) -> dict[str, str]:
    """The columns of the folders on a way, as they are written."""
    folders = (folder.partition("=") for folder in path.split("/")[:-1] if "=" in folder)
    return {unquote(name): raw for name, _, raw in folders}


def _value(raw: str, kind: _Kind) -> Value:
    return None if raw == _NOTHING else _READERS[kind](raw)


def _kind(raw: str) -> _Kind:
    """The type that Spark infers from one value."""
    if raw == _NOTHING:
        return "nothing"
    if _WHOLE.match(raw):
        for kind, bits in (("integer", 31), ("long", 63)):
            if -(1 << bits) <= int(raw) < 1 << bits:
                return kind  # type: ignore[return-value]
    if _DECIMAL.match(raw):
        number = Decimal(raw).as_tuple()
        assert isinstance(number.exponent, int)
        if number.exponent >= 0:
            return "decimal" if len(number.digits) + number.exponent <= _DIGITS else "double"
    if _DOUBLE.match(raw):
        return "double"
    return "date" if _DATE.match(raw) and _is_date(raw) else "text"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _wider(one: _Kind, other: _Kind) -> _Kind:
    """The type of a column that has values of two."""
    if one == other or other == "nothing":
        return one
    if one == "nothing":
        return other
    kinds = {one, other}
    order: Sequence[_Kind] = ("integer", "long", "decimal")
    if kinds <= {*order}:
        return max(kinds, key=order.index)
    return "double" if kinds == {"integer", "double"} else "text"


def with_partition(batch: Any, partition: Partition) -> Any:
    """A record batch with the columns of its partition, which stand for those of the same name.

    >>> import pyarrow as pa
    >>> with_partition(pa.RecordBatch.from_pydict({"v": [5, 6], "hour": [0, 0]}), {"hour": 8}).to_pylist()
    [{'v': 5, 'hour': 8}, {'v': 6, 'hour': 8}]
    """
    import pyarrow as pa

    if not partition:
        return batch
    kept = [(name, batch.column(place)) for place, name in enumerate(batch.schema.names) if name not in partition]
    columns = [*kept, *((name, repeated(value, batch.num_rows)) for name, value in partition.items())]
    return pa.RecordBatch.from_arrays([column for _, column in columns], names=[name for name, _ in columns])


def repeated(value: Value, count: int) -> Any:
    """A column of one value."""
    import pyarrow as pa

    return pa.nulls(count) if value is None else pa.repeat(pa.scalar(value), count)
