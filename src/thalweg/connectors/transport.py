"""The interfaces of transports: a source of blocks of bytes, and a sink to write bytes to."""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic


class Transport(Protocol):
    """Where a stream comes from. Opened when it is made, so that a missing file is known before anything runs."""

    stream: str
    """The name of the stream in rules: `from :readings`."""

    @property
    def name(self) -> str:
        """As the user wrote it."""

    @property
    def live(self) -> bool:
        """Whether the next block may have to be waited for."""

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        """Yields blocks of bytes as they arrive, until the stream ends or the user interrupts it."""

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


@runtime_checkable
class Acknowledging(Protocol):
    """A transport whose broker sends messages again until they are acknowledged.

    They are when they have been taken; after `hold`, when `acknowledge` is called.
    """

    def hold(self, unconfirmed: int | None = None) -> None:
        """From now on messages are acknowledged up to a position, when that is asked for.

        A position names those that are `unconfirmed`: acknowledged, and not known to be so by the broker. About so
        many there are at most, if that is said.
        """

    def saved(self, position: Any) -> Any:
        """The position as JSON that another process can `seek`; a position of this process has no meaning there."""

    def acknowledge(self, position: Any) -> None:
        """Messages up to a position need not come again."""


@runtime_checkable
class Keeping(Protocol):
    """A transport whose broker keeps messages while nothing reads them."""

    @property
    def gaps(self) -> int:
        """How often so far nothing was read and messages may have been kept, from before it was opened on."""

    def backlog(self, position: Any) -> bool | None:
        """Whether there is more of what was kept behind a position; None where nothing waits, and more may come."""


@runtime_checkable
class Noticing(Protocol):
    """A transport that may have to warn of what happened meanwhile."""

    def notices(self) -> list[Diagnostic]:
        """The warnings since they were asked for."""


class Sink(Protocol):
    """Where answers go."""

    def write(self, data: bytes, /) -> int:
        """Takes all of it."""

    def flush(self) -> None:
        """Hands on what was taken."""

    def close(self) -> None:
        """Hands on what was taken, and ends."""
