"""A text in memory as a stream."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thalweg.connectors.files import stream_of
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.reading import format_of
from thalweg.diagnostics import Source


@dataclass(frozen=True, slots=True)
class TextTransport:
    """All there is, at once.

    >>> list(TextTransport("p at 3.").blocks(Interrupt()))
    [b'p at 3.']
    """

    text: str
    name: str = "-"
    stream: str = "text"
    live: bool = False

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        # Half a character is no text; whoever reads it complains at its line.
        yield self.text.encode(errors="surrogatepass")

    def close(self) -> None:
        """Nothing was opened."""


def text_stream(source: Source) -> TextTransport:
    """A text as a stream, in the format that its name ends in; where that says nothing, its beginning decides.

    >>> text_stream(Source("north.jsonl", "{}")).stream, text_stream(Source("<text>", "p at 3.")).stream
    ('north', 'text')
    """
    if format_of(source.name) is None:
        return TextTransport(source.text)
    return TextTransport(source.text, source.name, stream_of(Path(source.name)))
