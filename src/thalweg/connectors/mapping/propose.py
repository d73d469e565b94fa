"""A mapping that would fit: what an error proposes to those who have a table or a message, and no mapping yet."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final
from unicodedata import combining, normalize

from thalweg.connectors.mapping.dialect import Dialect, cells_of, dialect_of
from thalweg.connectors.mapping.mapping import spelled
from thalweg.connectors.mapping.read_mapping import OPTION
from thalweg.diagnostics import Diagnostic, RejectedError

_TIMES: Final = ("ts", "time", "timestamp", "datetime", "date", "at", "when", "t", "_time", "epoch")
_TIME: Final = re.compile(
    r"(?:^|[_\W])(?:ts|time|timestamp|date|datetime|epoch|zeit|zeitstempel|utc)(?:$|[_\W])", re.IGNORECASE
)
_WHO: Final = re.compile(
    r"(?:^|[_\W])(?:id|device|sensor|name|station|node|source|host|unit|machine|n)(?:$|[_\W\d])", re.IGNORECASE
)
_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ]|\Z)")
_ROWS: Final = 100
_NUMBER: Final = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?\Z")
_PROPOSED: Final = re.compile(r"--map '([^']*)'")
_PREDICATE: Final = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
# The years 2001 to 2286, as they are counted in each unit.
_UNITS: Final = (("", 1e9, 1e10), ("ms", 1e12, 1e13), ("us", 1e15, 1e16), ("ns", 1e18, 1e19))


def proposal(row: Mapping[str, Any], has_header: bool = True, timed: bool = True) -> str:
    """A mapping for the columns of a table, by a row of it, as the help of an error.

    >>> proposal({"ts": "1794729600000", "device_id": "d1", "temp": "21.5", "hum": "48"})
    "map its columns to facts, for example `--map 'temp(device_id, temp) at ts ms'`"
    """
    lead = "map its columns to facts, for example " if has_header else "it has no header: its columns are c1, c2, …: "
    return f"{lead}`--map '{mapping_for({spelled(name): value for name, value in row.items()}, timed)}'`"


def proposal_for_message(message: Mapping[str, Any], timed: bool = True) -> str:
    """A mapping for an object of JSON, as the help of an error.

    >>> proposal_for_message({"ts": 1, "dev": "d1", "meta": {"temp": 3}})
    "map its keys to facts, for example `--map 'temp(dev, meta.temp) at ts'`"
    """
    return f"map its keys to facts, for example `--map '{mapping_for(values_of(message), timed)}'`"


def in_python(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with mappings as Python writes them: `map=`, not `--map`.

    >>> in_python(Diagnostic("E301", "no mapping", help="for example `--map 'p(a) at ts'`")).help
    'for example `map="p(a) at ts"`'
    """
    span, help = diagnostic.span, _PROPOSED.sub(r'map="\1"', diagnostic.help)
    if span.source.name == OPTION:
        span = replace(span, source=replace(span.source, name="map"))
    return replace(diagnostic, span=span, help=help)


def of_stream(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with mappings as streams of a service have them.

    >>> of_stream(Diagnostic("E301", "no mapping", help="for example `--map 'p(a) at ts'`")).help
    'for example `PUT {"map": ["p(a) at ts"]}`'
    """
    return replace(diagnostic, help=_PROPOSED.sub(r'PUT {"map": ["\1"]}', diagnostic.help))


@contextmanager
def errors_in_python() -> Iterator[None]:
    """Errors about mappings name the option as Python writes it."""
    try:
        yield
    except RejectedError as error:
        raise RejectedError(map(in_python, error.diagnostics)) from error.__cause__


def proposal_for_text(text: str, timed: bool = True) -> str:
    """A mapping for a table of text, by its first lines, as the help of an error.

    >>> proposal_for_text("device;temp;ts\\nd1;21,5;2026-11-15T08:00:00Z\\n")
    "map its columns to facts, for example `--map 'temp(device, temp) at ts'`"
    """
    dialect = dialect_of(text) or Dialect(("a",))
    return proposal(first_row(text, dialect), dialect.has_header, timed)


def first_row(text: str, dialect: Dialect) -> dict[str, Any]:
    """The first row of a table of text; where it has no value, that of a later row.

    >>> first_row("device,temp\\na,\\nb,21.5\\n", Dialect(("device", "temp")))
    {'device': 'a', 'temp': '21.5'}
    """
    row: dict[str, Any] = dict.fromkeys(dialect.names)
    for line in text.splitlines()[dialect.skipped :][:_ROWS]:
        cells = cells_of(line, dialect.separator)
        if len(cells) == len(dialect.names):
            row |= {name: cell for name, cell in zip(dialect.names, cells, strict=True) if row[name] is None and cell}
    return row


def mapping_for(values: Mapping[str, Any], timed: bool = True) -> str:
    """A mapping that fits some paths, by what stands there, as it is typed.

    >>> mapping_for({})
    'value(KEY) at TIME'
    """
    if not values:
        return f"value(KEY){' at TIME' if timed else ''}"
    time = _time(values)
    paths = [path for path in values if path != time] or list(values)
    subject = next((path for path in paths if _WHO.search(_last(path))), None)
    subject = subject or next((path for path in paths if not _is_number(values[path])), paths[0])
    candidates = [path for path in paths if path != subject]
    value = next((path for path in candidates if _is_number(values[path])), candidates[0] if candidates else None)
    arguments = ", ".join(path for path in (subject, value) if path is not None)
    unit = "" if time is None else _unit(values[time])
    at = f" at {time or 'TIME'}{f' {unit}' if unit else ''}" if timed else ""
    return f"{_predicate(value if value is not None else subject)}({arguments}){at}"


def _time(values: Mapping[str, Any]) -> str | None:
    named = [path for wanted in _TIMES for path in values if _last(path).lower() == wanted]
    like = [path for path in values if _TIME.search(_last(path))]
    read = [path for path, value in values.items() if _is_time(value)]
    return next((path for path in (*named, *like, *read) if path in read), next(iter([*named, *like]), None))


def _is_time(value: Any) -> bool:
    if isinstance(value, datetime | date):
        return True
    return bool(_ISO.match(value)) if isinstance(value, str) and not _is_number(value) else _unit(value) is not None


def _unit(value: Any) -> str | None:
    """The unit in which a number is a time of our days; None where it is none."""
    if not _is_number(value):
        return None
    size = float(str(value).replace(",", "."))
    return next((unit for unit, least, most in _UNITS if least <= size < most), None)


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_NUMBER.match(value.strip()))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _last(path: str) -> str:
    return re.split(r"[.\]]", path.strip("`"))[-1] or path


def _predicate(path: str) -> str:
    # Letters without their marks: `Straße` is `strasse`.
    letters = "".join(sign for sign in normalize("NFKD", _last(path).casefold()) if not combining(sign))
    name = re.sub(r"\W+", "_", letters, flags=re.ASCII).strip("_")
    return name if _PREDICATE.match(name) else "reading"


def values_of(message: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The values of a message by their paths; those of an array are of its first element.

    >>> list(values_of({"ts": 1, "tags": ["a"], "r": [{"id": 7, "v": 5, "notes": ["b"]}]}))
    ['ts', 'r[].id', 'r[].v']
    """
    values: dict[str, Any] = {}
    for key, value in message.items():
        inner = value[0] if isinstance(value, list) and value else value
        path = f"{before}{spelled(key)}{'[]' if isinstance(value, list) else ''}"
        values |= values_of(inner, f"{path}.") if isinstance(inner, dict) else {path: inner}
    if before:
        return values
    # Elements of two arrays do not go into one mapping: those of the one with the most values do.
    arrays = Counter(path.rpartition("[]")[0] for path in values if "[]" in path).most_common(1)
    return {path: leaf for path, leaf in values.items() if "[]" not in path or path.rpartition("[]")[0] == arrays[0][0]}
