"""Tables that no mapping fits, found when a run is asked for and not when its answers are read."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from thalweg.api.sources import On, Text, named
from thalweg.connectors.batches import Item
from thalweg.connectors.files import read_beginning, stream_of
from thalweg.connectors.held_tables import HeldTable, TableTransport, as_message
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.mapped_json import MESSAGES, MappedJsonReader
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.propose import in_python
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.connectors.readers import format_of, open_reader
from thalweg.connectors.tabular import ParquetTransport
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock

_BEGINNING: Final = 1 << 15
"""Bytes of a table of text that are looked at."""


def check_tables(on: On, mapped: Tally | None) -> None:
    """`RejectedError` where rows of tables, or messages, neither state facts nor become facts by a mapping.

    >>> check_tables(Source("readings.csv", "sensor,v,ts\\na,12,36\\n"), None)
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E301]: the table has no column `t`
      readings.csv:1:1
      1 | sensor,v,ts
        | ^
      help: map its columns to facts, for example `map="v(sensor, v) at ts"`
    """
    # What is found out here is found again by the run, and counted there.
    tally = Tally(mapped.mappings, mapped.stated) if mapped is not None else Tally()
    streams = named(on)
    if streams is not None:
        wrong = [diagnostic for stream in streams for diagnostic in _misfit(stream, tally)]
    else:
        wrong = [item for item in _first_message(on, tally) if isinstance(item, Diagnostic)]
    if wrong:
        raise RejectedError(map(in_python, wrong))


def _first_message(on: On, tally: Tally) -> Iterator[Item]:
    """The items of the first message, where the messages are there already."""
    first = as_message(on[0]) if isinstance(on, Sequence) and on else None
    if first is not None:
        source = MappedStream(Dictionary(), MESSAGES, None, Clock(), tally)
        yield from MappedJsonReader.for_held(source).held([first])


def _misfit(source: Text | HeldTable | NamedSource, tally: Tally) -> Iterator[Diagnostic]:
    stream = source.origin if isinstance(source, NamedSource) else source
    name = stream.name if isinstance(stream, HeldTable | Source) else str(stream)
    format = "parquet" if isinstance(stream, HeldTable) else _format(stream)
    if format not in ("csv", "parquet"):
        return
    reader: Any = open_reader(name, _called(source), Dictionary(), Clock(), tally, format=format)
    items = [item for block in _beginning(stream, tally) if block for item in reader.feed(block)]
    items += reader.finish()
    if reader.hopeless:
        yield from (item for item in items if isinstance(item, Diagnostic))


def _format(stream: Text) -> str | None:
    """The format of a text or of a file; others are not looked into before they are read."""
    if isinstance(stream, Source):
        return format_of(stream.name)
    return format_of(stream.name) if isinstance(stream, Path) and stream.is_file() else None


def _called(stream: Text | HeldTable | NamedSource) -> str:
    """The name of a stream in mappings."""
    if isinstance(stream, HeldTable | NamedSource):
        return stream.name
    return stream_of(Path(stream.name if isinstance(stream, Source) else stream))


def _beginning(stream: Text | HeldTable, tally: Tally) -> Iterator[bytes]:
    """The first rows of a table."""
    match stream:
        case HeldTable():
            yield from TableTransport(HeldTable(stream.as_arrow().slice(0, 1), stream.name)).blocks(Interrupt())
        case Source():
            yield stream.text[:_BEGINNING].encode(errors="replace")
        case Path():
            yield _beginning_of_file(stream, tally.columns)


def _beginning_of_file(path: Path, wanted: Collection[str]) -> bytes:
    if format_of(path.name) == "parquet":
        transport = ParquetTransport(path, wanted, rows=1)
        return next(transport.blocks(Interrupt()), b"")
    return read_beginning(path, _BEGINNING)
