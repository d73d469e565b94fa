"""How a table in a text file is written: its separator, its decimal comma, and where its header is.

    device;temp;ts                      a header, semicolons
    d1;21,5;2026-11-15T08:00:00Z        decimal commas

is found out from how the file begins. Programs that export tables also write `sep=;` first, or lines about themselves:
the header is the first line with as many cells as most lines have.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from thalweg.connectors.mapping.cells import JSON_NUMBER

_SEPARATORS: Final = ";\t|,"
_SAMPLE: Final = 200
"""Lines that are looked at."""
_NUMBER: Final = re.compile(rf"\s*{JSON_NUMBER}\s*\Z")
_COMMA: Final = re.compile(r"\s*-?(?:0|[1-9][0-9]*),[0-9]+\s*\Z")
_POINT: Final = re.compile(r"\s*-?[0-9]+\.[0-9]+\s*\Z")
_DATE: Final = re.compile(r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SAYS: Final = re.compile(r"sep=(.)\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatedDialect:
    """The parts of a table's dialect that are stated, and not detected: `[streams.north] separator = ";"`.

    `columns` are the names of the columns, whatever a header calls them.
    """

    separator: str | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    header: bool | None = None
    columns: tuple[str, ...] = ()


UNSTATED: Final = StatedDialect()


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the rows of a table are written, its columns, and how many lines stand before the first row."""

    names: tuple[str, ...]
    separator: str = ","
    comma: bool = False
    skipped: int = 1
    has_header: bool = True

    def as_data(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "separator": self.separator,
            "comma": self.comma,
            "skipped": self.skipped,
            "has_header": self.has_header,
        }

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> "Dialect":
        return cls(tuple(data["names"]), data["separator"], data["comma"], data["skipped"], data["has_header"])

    @property
    def doubled(self) -> tuple[str, ...]:
        """Names that two columns have."""
        return tuple(name for name, count in Counter(self.names).items() if count > 1)


def dialect_of(text: str, wanted: Iterable[frozenset[str]] = (), stated: StatedDialect = UNSTATED) -> Dialect | None:
    """The dialect of a table that begins with this text; None where there is no line yet.

    A row that has all names of one of the mappings (`wanted`) is a header, also where names are numbers or dates, or
    where most rows have another number of cells. What is `stated` is not found out.

    >>> dialect_of("device;temp\\nd1;21,5\\n")
    Dialect(names=('device', 'temp'), separator=';', comma=True, skipped=1, has_header=True)
    >>> dialect_of("d1;21,5\\n", stated=StatedDialect(columns=("device", "temp"))).names
    ('device', 'temp')
    """
    lines = text.splitlines()[:_SAMPLE]
    if not any(map(str.strip, lines)):
        return None
    sought = [required for required in wanted if required]
    declared = _SAYS.match(lines[0].strip())
    separator = stated.separator or (declared[1] if declared else None)
    header = _header_of(lines, sought, separator) if stated.header is not False else None
    separator = separator or (header[1] if header else _separator(lines))
    rows = [cells_of(line, separator) for line in lines]
    usual = len(rows[header[0]]) if header else len(stated.columns) or _usual_width(rows)
    first = header[0] if header else _first_row(lines, rows, usual)
    body = [row for row in rows[first:] if len(row) == usual]
    names = tuple(cell.strip() for cell in rows[first])
    has_header = not body or not any(map(_is_data, body[0])) or any(required <= {*names} for required in sought)
    if stated.header is not None:
        has_header = stated.header
    if stated.columns or not has_header:
        names = stated.columns or tuple(f"c{number}" for number in range(1, usual + 1))
    cells = [cell for row in body[has_header:] for cell in row]
    # Semicolons are written where the comma is the decimal sign, which may not occur among the first rows.
    comma = separator == ";" or (separator != "," and any(map(_COMMA.match, cells)))
    comma = comma and not any(map(_POINT.match, cells))
    comma = comma if stated.decimal is None else stated.decimal == ","
    return Dialect(names, separator, comma, first + has_header, has_header)


def _header_of(lines: list[str], wanted: Iterable[frozenset[str]], separator: str | None) -> tuple[int, str] | None:
    """The line that has all the names of a mapping, and its separator; one name may stand anywhere."""
    for required in (names for names in wanted if len(names) > 1):
        for number, line in enumerate(lines):
            for sign in (separator,) if separator else _SEPARATORS:
                if required <= {cell.strip() for cell in cells_of(line, sign)} and not line.lstrip().startswith("#"):
                    return number, sign
    return None


def _first_row(lines: list[str], rows: list[list[str]], usual: int) -> int:
    """The first line with as many cells as most lines have; one that begins with `#` is about the table."""
    fitting = (n for n, row in enumerate(rows) if len(row) == usual and not lines[n].lstrip().startswith("#"))
    return next(fitting, len(rows) - 1)


def _separator(lines: list[str]) -> str:
    """The sign that divides most lines into the same number of cells, and into the most."""
    candidates = []
    for order, separator in enumerate(_SEPARATORS):
        widths = [len(cells_of(line, separator)) for line in lines if line.strip() and not line.startswith("#")]
        usual, lines_of_it = Counter(widths).most_common(1)[0] if widths else (1, 0)
        if usual > 1:
            agreement = lines_of_it / len(widths)
            candidates.append((agreement > 0.8, widths[0] == usual, agreement, usual, -order, separator))
    return max(candidates)[-1] if candidates else ","


def cells_of(line: str, separator: str) -> list[str]:
    """The cells of a line."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def with_point(cell: str) -> str:
    """A cell with a decimal point, if it is a number with a decimal comma.

    >>> with_point("21,5"), with_point("a, b")
    ('21.5', 'a, b')
    """
    return cell.replace(",", ".") if _COMMA.match(cell) else cell


def _usual_width(rows: list[list[str]]) -> int:
    return Counter(len(row) for row in rows if row).most_common(1)[0][0]


def _is_data(cell: str) -> bool:
    """Whether a cell cannot be the name of a column."""
    return bool(_NUMBER.match(cell) or _COMMA.match(cell) or _DATE.match(cell))
