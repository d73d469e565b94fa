"""The streams and tables that a deployment names, each with its mappings and how its text is written.

[streams.north]                     a stream that rules call `north`
from = "exports/n1.csv"
map = ["temp(device, temp) at ts"]
separator = ";"
decimal = ","
encoding = "cp1252"
header = false
columns = ["ts", "device", "temp"]
zone = "Europe/Berlin"              that of times without one
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

WRITTEN: Final = ("separator", "decimal", "encoding", "header", "columns")
"""Keys about how a table of text is written: what is not said is found out."""

IS_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_TIMED: Final = re.compile(r"\)\s*at\s|^[^(]*\sat\s")
_TIED: Final = re.compile(r"\s*(?:[^\s:`()<>,]+|`[^`]+`):\s")
_MESSAGES: Final = re.compile(r"\.(?:jsonl?|ndjson)(?:\.gz)?\Z")
_OTHERS: Final = re.compile(r"\.(?!csv\b)(?:facts|jsonl?|ndjson|tnt|nq|trig|jsonld|parquet|ttl|nt|rdf|owl)(?:\.gz)?\Z")


@dataclass(frozen=True, slots=True)
class DeployedSource:
    """A stream or a background under its name; `written` has what is said of its text, by key.

    `zone` is that of times without one.
    """

    name: str
    origin: str
    map: tuple[str, ...] = ()
    written: Mapping[str, Any] = field(default_factory=dict)
    zone: str | None = None


def tied_mappings(streams: Sequence[DeployedSource], background: Sequence[DeployedSource]) -> Iterator[str]:
    """All mappings, each for the source that it stands with; those of an only stream serve all that fit.

    One without `at` that stands with a file is for tables of the background, and serves those that fit.

    >>> north, south = (DeployedSource(name, "in.csv", ("temp(d, v) at ts", "site(d, s)")) for name in ("north-1", "s"))
    >>> list(tied_mappings([north], [])), list(tied_mappings([north, south], []))[:2]
    (['temp(d, v) at ts', 'site(d, s)'], ['`north-1`: temp(d, v) at ts', 'site(d, s)'])
    """
    for stream in streams:
        live = stream.origin == "-" or bool(IS_URI.match(stream.origin))
        for text in stream.map:
            own = len(streams) > 1 and (live or _TIMED.search(text))
            yield f"{_spelled(stream.name)}: {text}" if own and not _TIED.match(text) else text
    for table in background:
        yield from (text if _TIED.match(text) else f"{_spelled(table.name)}: {text}" for text in table.map)


def _spelled(name: str) -> str:
    """A name as mappings write it, in backticks where it has signs."""
    return name if name.isidentifier() else f"`{name}`"


def stem_of(origin: str) -> str:
    """What a source is called that has no other name, as far as its path or URI shows it.

    >>> stem_of("city/north-1.csv.gz"), stem_of("mqtt://broker/city/speed")
    ('north-1', 'speed')
    """
    return PurePosixPath(origin.partition("?")[0]).name.partition(".")[0]


def wrong_text_keys(origin: str, about: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """What is wrong with how a table is said to be written: the key, a sentence, a way out.

    >>> [message for _, message, _ in wrong_text_keys("in.csv", {"separator": ";;", "encoding": "utf-99"})]
    ['`separator` must be one character, not `;;`', 'unknown encoding `utf-99`']
    """
    for key in WRITTEN:
        if key in about:
            if _OTHERS.search(origin) and not (key == "encoding" and _MESSAGES.search(origin)):
                yield key, f"`{key}` is for tables of text, and `{origin}` is not one", f"leave `{key}` out"
            elif problem := _CHECKS[key](about[key]):
                yield key, *problem
    if isinstance(columns := about.get("columns"), list) and len({*map(str, columns)}) < len(columns):
        yield "columns", "two of the `columns` have the same name", "give each column a name of its own"


_Found = tuple[str, str] | None


def _separator(value: object) -> _Found:
    if isinstance(value, str) and len(value) == 1 and value not in '"\r\n' and value.isascii():
        return None
    return f"`separator` must be one character, not `{value}`", 'write for example `";"`, or `"\\t"` for a tab'


def _decimal(value: object) -> _Found:
    return None if value in (".", ",") else (f"`decimal` must be a point or a comma, not `{value}`", 'write `","`')


def _encoding(value: object) -> _Found:
    examples = 'known are for example "utf-8", "cp1252", "latin-1" and "utf-16"'
    try:
        name = codecs.lookup(str(value)).name
        if name.startswith("utf-16") or "\n;a".encode(name) == b"\n;a":
            return None
    except (LookupError, ValueError):
        return f"unknown encoding `{value}`", examples
    return f"tables cannot be read in the encoding `{value}`", examples


def _header(value: object) -> _Found:
    if isinstance(value, bool):
        return None
    return f"`header` must be true or false, not `{value}`", "`false` where the first line is a row of data already"


def _columns(value: object) -> _Found:
    if isinstance(value, list) and value and all(isinstance(name, str) and name.strip() for name in value):
        return None
    return f"`columns` is a list of names, and not `{value}`", 'write for example `["ts", "device", "temp"]`'


_CHECKS: Final = {
    "separator": _separator,
    "decimal": _decimal,
    "encoding": _encoding,
    "header": _header,
    "columns": _columns,
}
