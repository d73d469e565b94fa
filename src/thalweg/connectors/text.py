"""A text in memory as a stream: for examples and tests."""

from collections.abc import Iterator
from dataclasses import dataclass

from thalweg.connectors.interrupt import Interrupt


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
        yield self.text.encode()

    def close(self) -> None:
        """Nothing was opened."""
