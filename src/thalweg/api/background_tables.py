"""Tables as background: rows of CSV, Parquet, JSON or of Python become facts that hold at every tick."""

from pathlib import Path
from typing import Final

from thalweg.api.sources import Text, name_of
from thalweg.connectors.files import stream_of
from thalweg.connectors.held_tables import HeldTable, TableTransport
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.connectors.open import open_stream, text_stream
from thalweg.connectors.readers import ENDINGS, open_reader
from thalweg.connectors.storage import is_stored
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.time import Clock

_TABLES: Final = tuple(ending for ending, format in ENDINGS.items() if format in ("csv", "parquet", "json"))


def is_background_table(source: object) -> bool:
    """Whether mappings make facts of a background: it is a table or has messages, and not facts or RDF.

    >>> is_background_table(Path("sites.csv")), is_background_table(Path("roads.ttl"))
    (True, False)
    """
    if isinstance(source, HeldTable):
        return True
    source = source.origin if isinstance(source, NamedSource) else source
    if isinstance(source, str) and is_stored(source):
        return source.partition("?")[0].removesuffix(".gz").endswith(_TABLES)
    return isinstance(source, Path | Source) and name_of(source).removesuffix(".gz").endswith(_TABLES)


def read_background_table(
    table: Text | HeldTable | NamedSource, mapped: Tally | None, diagnostics: list[Diagnostic]
) -> tuple[Fact, ...]:
    """The facts that mappings make of a background; what is wrong goes to `diagnostics`."""
    words, facts = Dictionary(), dict[Fact, None]()
    try:
        transport = _opened(table.origin if isinstance(table, NamedSource) else table, mapped)
        named = table.name if isinstance(table, NamedSource) else None
        stream = transport.stream if isinstance(table, HeldTable) else named or stream_of(Path(transport.name))
        format = transport.format if isinstance(transport, TableTransport) else None
        reader = open_reader(transport.name, stream, words, Clock(), mapped or Tally(), "background", format)
        for block in transport.blocks(Interrupt()):
            for item in reader.feed(block):
                _take(item, words, facts, diagnostics)
        for item in reader.finish():
            _take(item, words, facts, diagnostics)
    except RejectedError as error:
        diagnostics += error.diagnostics
    return tuple(facts)


def _take(item: object, words: Dictionary, facts: dict[Fact, None], diagnostics: list[Diagnostic]) -> None:
    if isinstance(item, Diagnostic):
        diagnostics.append(item)
    elif isinstance(item, tuple):
        facts.update((fact, None) for fact in item[1].facts(words))


def _opened(table: Text | HeldTable, mapped: Tally | None) -> Transport:
    match table:
        case HeldTable():
            return TableTransport(table)
        case Source():
            return text_stream(table)
    return open_stream(table, mapped.columns if mapped is not None else ())
