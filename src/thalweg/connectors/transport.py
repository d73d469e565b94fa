"""What every transport offers: blocks of bytes in, and a place to write bytes to."""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from thalweg.connectors.interrupt import Interrupt


class Transport(Protocol):
    """Where a stream comes from. Opened when it is made, so that a missing file is known before anything runs."""

    stream: str
    """What rules call the stream: `from :readings`."""

    @property
    def name(self) -> str:
        """As the user wrote it."""

    @property
    def live(self) -> bool:
        """Whether the next block may have to be waited for."""

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        """What is there, as it comes; ends with the stream, or when the user asks to end."""

    def close(self) -> None:
        """Closes what was opened, also where it was not read to its end."""


@runtime_checkable
class Positioned(Protocol):
    """A transport that can be read again from where it was, also by another process."""

    @property
    def repeats(self) -> bool:
        """Whether the blocks behind a position are cut the same way every time."""

    def position(self) -> Any:
        """Behind the last block that was handed over, as JSON."""

    def seek(self, position: Any) -> None:
        """Goes on from a position, before the first block is read; `RejectedError` where there is no such place."""


class Sink(Protocol):
    """Where answers go."""

    def write(self, data: bytes, /) -> int:
        """Takes all of it."""

    def flush(self) -> None:
        """Hands on what was taken."""

    def close(self) -> None:
        """Hands on what was taken, and ends."""
