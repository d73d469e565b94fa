"""Blocks of bytes, as a connector brings them, become bodies that can be read by themselves.

    lines        a body ends with a line; what is left of the next one waits
    CSV          the header stands before each body
    documents    a file of TriG, JSON-LD or JSON is a body as a whole

What waits, and what was found out about the format, goes into the position of a record (`save`).
"""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import Any, Final

from thalweg.connectors.mapping.dialect import dialect_of
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.readers import ENDINGS, format_by_content, format_of, format_of_mapped, is_json_document
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.service.body_reader import FORMATS

MEDIA: Final = {format: media for media, format in reversed(FORMATS.items())}
"""The media type of each format."""

_DOCUMENTS: Final = ("trig", "jsonld")
_LONGEST_ROW: Final = 4 << 20
"""Bytes of a table after which a line ends it even inside of quotes."""


class BodyCutter:
    """Cuts the blocks of one stream; used by one thread.

    >>> cutter = BodyCutter("readings.facts", "readings", Tally(), is_live=False)
    >>> cutter.take(b"p(1) at 3.\\np(2) a"), cutter.media, cutter.finish()
    (b'p(1) at 3.\\n', 'text/plain', b'p(2) a')
    """

    def __init__(self, name: str, stream: str, tally: Tally, is_live: bool) -> None:
        """`name` is that of the source, whose ending says the format; else what comes first does."""
        self._mapped = MappedStream(Dictionary(), name, stream, Clock(), tally, "live")
        self._is_live = is_live
        self._format = None if is_live else format_of(name)
        self._is_whole = self._format in _DOCUMENTS or is_json_document(name)
        self._header: bytes | None = None
        self._rest = b""
        if self._format is not None:
            _need_media(self._format, name)

    @property
    def media(self) -> str:
        """The media type of what was cut."""
        return MEDIA[self._format or "facts"]

    @property
    def header(self) -> bytes:
        """What stands before each body."""
        return self._header or b""

    def take(self, block: bytes) -> bytes:
        """What is whole with a block; nothing where more must come."""
        text = self._rest + block
        if self._format is None:
            self._format = self._decided(text)
        end = 0 if self._format is None or self._is_whole else self._end(text)
        self._rest = text[end:]
        return self._bodied(text[:end])

    def finish(self) -> bytes:
        """What is left at the end."""
        text, self._rest = self._rest, b""
        if text.strip() and self._format is None:
            self._format = self._decided(text + b"\n") or "facts"
        return self._bodied(text)

    def _decided(self, begun: bytes) -> str | None:
        """The format of what has begun so; None where more of it must be seen."""
        mapped = self._mapped
        format = format_of_mapped(begun, mapped) if mapped.is_served else format_by_content(begun)
        if format is not None:
            _need_media(format, mapped.name)
        return format

    def _end(self, text: bytes) -> int:
        """Where the last whole line ends."""
        end = text.rfind(b"\n") + 1
        if self._format == "csv":
            if text.startswith((BOM_UTF16_BE, BOM_UTF16_LE)):
                self._is_whole = True
                return 0
            while 0 < end < _LONGEST_ROW and text.count(b'"', 0, end) % 2:
                end = text.rfind(b"\n", 0, end - 1) + 1
        return end

    def _bodied(self, text: bytes) -> bytes:
        if self._format != "csv" or not text:
            return text
        if self._header is None:
            self._header = self._header_of(text)
            return text
        return self._header + text

    def _header_of(self, text: bytes) -> bytes:
        """The lines of a table that stand before its first row: the names of its columns, and what is before them."""
        wanted = (frozenset(path.whole for path in mapping.paths) for mapping in self._mapped.mappings)
        dialect = dialect_of(text.decode(errors="replace"), wanted, self._mapped.stated)
        lines = text.splitlines(keepends=True)
        return b"".join(lines[: 0 if dialect is None else dialect.skipped])

    def save(self) -> dict[str, Any]:
        """What waits and what was found out, as JSON; what does not apply is left out."""
        saved = {
            "format": self._format,
            "rest": self._rest.decode("latin-1"),
            "header": None if self._header is None else self._header.decode("latin-1"),
        }
        return {name: value for name, value in saved.items() if value}

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on where another one was saved."""
        self._format = saved.get("format", self._format)
        self._rest = saved.get("rest", "").encode("latin-1")
        if self._format == "csv" and "format" in saved:
            self._header = saved.get("header", "").encode("latin-1")


def _need_media(format: str, name: str) -> None:
    """`RejectedError` where a format cannot be logged as it comes."""
    if format not in MEDIA:
        known = " ".join(f"`{ending}`" for ending, stated in ENDINGS.items() if stated in MEDIA)
        message = f"a service cannot read `{name}`"
        raise RejectedError([Diagnostic("E402", message, help=f"streams of a service end in {known}")])
