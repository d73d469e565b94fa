"""Columns as SQL writes them become a schema, without Spark: in a declarative pipeline it may not be asked.

sensor string, place struct<lat:double,lon:double>, speed decimal(10,2), t timestamp
"""

import re
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from thalweg.diagnostics import Diagnostic, RejectedError

_ATOMS: Final[dict[str, DataType]] = {
    "string": StringType(),
    "boolean": BooleanType(),
    "tinyint": ByteType(),
    "byte": ByteType(),
    "smallint": ShortType(),
    "short": ShortType(),
    "int": IntegerType(),
    "integer": IntegerType(),
    "bigint": LongType(),
    "long": LongType(),
    "float": FloatType(),
    "real": FloatType(),
    "double": DoubleType(),
    "decimal": DecimalType(),
    "date": DateType(),
    "timestamp": TimestampType(),
    "timestamp_ntz": TimestampNTZType(),
    "binary": BinaryType(),
}
_COLUMN: Final = re.compile(r"(?:`((?:[^`]|``)+)`|(\w+))\s*(?::|\s)\s*(.+)", re.DOTALL)
_DECIMAL: Final = re.compile(r"decimal\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_NESTED: Final = re.compile(r"(array|map|struct)\s*<(.*)>", re.DOTALL)


def struct_of(columns: str) -> StructType:
    """The schema of columns; `RejectedError` where a type is not one of SQL.

    >>> struct_of("sensor string, `a.b` array<decimal(5,2)>").simpleString()
    'struct<sensor:string,a.b:array<decimal(5,2)>>'
    >>> struct_of("sensor text")
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E402]: cannot read `text` in a schema
      help: write columns as SQL does: `sensor string, speed int, t timestamp`
    """
    return StructType([_field(column) for column in _parts(columns)])


def _field(column: str) -> StructField:
    match = _COLUMN.fullmatch(column)
    if match is None:
        raise _unreadable(column)
    quoted, plain, type_ = match.groups()
    return StructField(plain or quoted.replace("``", "`"), _type(type_))


def _type(text: str) -> DataType:
    name = text.strip()
    if (atom := _ATOMS.get(name.lower())) is not None:
        return atom
    if (decimal := _DECIMAL.fullmatch(name.lower())) is not None:
        return DecimalType(int(decimal[1]), int(decimal[2] or 0))
    if (nested := _NESTED.fullmatch(name)) is not None:
        members = _parts(nested[2])
        match nested[1], len(members):
            case "struct", _:
                return StructType([_field(member) for member in members])
            case "array", 1:
                return ArrayType(_type(members[0]))
            case "map", 2:
                return MapType(_type(members[0]), _type(members[1]))
    raise _unreadable(name)


def _parts(text: str) -> list[str]:
    """What commas separate that stand in no brackets and no quoted name."""
    parts, depth, quoted, start = [], 0, False, 0
    for place, letter in enumerate(text):
        quoted ^= letter == "`"
        if not quoted:
            depth += (letter in "<(") - (letter in ">)")
            if letter == "," and not depth:
                parts.append(text[start:place].strip())
                start = place + 1
    return [*parts, text[start:].strip()]


def _unreadable(text: str) -> RejectedError:
    way_out = "write columns as SQL does: `sensor string, speed int, t timestamp`"
    return RejectedError([Diagnostic("E402", f"cannot read `{text}` in a schema", help=way_out)])
