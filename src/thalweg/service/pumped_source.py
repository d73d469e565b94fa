"""The source of a stream on its way into the log: what it brings, in bodies, with the position behind each.

A position says of which source it is, so that another one under the same name begins:

    {"of": "kafka://broker/jams", "at": …, "rest": "p(1) a", "format": "facts"}     at: as the connector has it
    {"of": "/data/exports", "part": "n2.csv", "at": 812, …}                         in a file of a folder
    {…, "ended": true}                                                              all of it has been taken
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final, Protocol

from thalweg.connectors.arrivals import arrivals
from thalweg.connectors.files import FolderTransport
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.open import open_stream
from thalweg.connectors.replay import ReplayTransport
from thalweg.connectors.transport import Acknowledging, Keeping, Noticing, Positioned, Transport
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, without_secrets
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.service.body_cutter import BodyCutter

BODY: Final = 1 << 18
"""Bytes that are gathered into one body while more are there."""

_UNCONFIRMED: Final = 50
_LOOK: Final = 0.1
"""Seconds after which it is seen that this is to end, or that a connection was lost."""
# What the other side may end, and is then connected to again.
_RESTORED: Final = ("tcp", "ws", "wss")


@dataclass(frozen=True, slots=True)
class StreamOrigin:
    """Where a stream comes from, and under which name and with which mappings it is read."""

    uri: str
    stream: str
    tally: Tally

    @property
    def shown(self) -> str:
        """It without what is secret; a file in full."""
        return without_secrets(self.uri) if "://" in self.uri else str(Path(self.uri).absolute())

    @property
    def is_restored(self) -> bool:
        """Whether it is connected to again after it has ended."""
        return self.uri.partition("://")[0] in _RESTORED and "://" in self.uri

    def open(self) -> Transport:
        """Opens it; `RejectedError` where a service cannot read it as a stream."""
        transport = open_stream(self.uri if "://" in self.uri else Path(self.uri), self.tally.columns)
        transport.stream = self.stream
        if isinstance(transport, ReplayTransport):
            transport.close()
            raise RejectedError(
                [Diagnostic("E402", f"a service does not replay `{transport.name}`", help="name the file")]
            )
        return transport

    def check(self) -> None:
        """Opens it and closes it again; `RejectedError` where that, or its format, makes no sense."""
        transport = self.open()
        transport.close()
        for part in transport.parts() if isinstance(transport, FolderTransport) else (transport,):
            self.cutter(part)
            part.close()

    def cutter(self, part: Transport) -> BodyCutter:
        """What makes bodies of a transport, or of a file of a folder."""
        if getattr(part, "partition", None):
            message = f"a service cannot read `{self.uri}`, whose folders are named for columns"
            raise RejectedError([Diagnostic("E402", message, help="post its rows, or run it with `thalweg run`")])
        return BodyCutter(part.name, self.stream, self.tally, part.live)

    def has_ended(self, position: Any) -> bool:
        """Whether all of it has been taken at a position."""
        return self.knows(position) and bool(position.get("ended"))

    def knows(self, position: Any) -> bool:
        """Whether a position is one of this source."""
        return isinstance(position, dict) and position.get("of") == self.shown

    def parts(self, transport: Transport, position: Any) -> "Iterator[PumpedSource]":
        """What is still to be read, in pieces that follow each other, behind a position."""
        if not self.knows(position):
            position = {}
        if not isinstance(transport, FolderTransport):
            yield PumpedSource(self, transport, position)
            return
        names = [path.name for path in transport.files]
        begun = names.index(position["part"]) if position.get("part") in names else 0
        for name, part in zip(names[begun:], transport.parts(begun), strict=True):
            yield PumpedSource(self, part, position if name == position.get("part") else {}, name, name == names[-1])


class BodyLog(Protocol):
    """Where bodies go."""

    def __call__(self, media: str, body: bytes, about: dict[str, Any], /) -> None:
        """Returns when a body is durable."""


class PumpedSource:
    """A transport on its way into the log, for one thread."""

    def __init__(
        self, origin: StreamOrigin, transport: Transport, position: dict[str, Any], part: str = "", is_last: bool = True
    ) -> None:
        """Goes on behind a position; `part` is a file of a folder, and whether it is the last one."""
        self._origin = origin
        self._transport = transport
        self._part = part
        self._is_last = is_last
        self._cutter = origin.cutter(transport)
        self._pieces: list[bytes] = []
        self._size = 0
        self._at: Any = None
        self._is_draining = False
        self._gaps = 0
        by_arrival = MappedStream(
            Dictionary(), transport.name, origin.stream, Clock(), origin.tally, "live"
        ).is_by_arrival
        self._keeping = transport if isinstance(transport, Keeping) and not by_arrival else None
        if isinstance(transport, Acknowledging):
            transport.hold(_UNCONFIRMED)
        if isinstance(transport, Positioned) and position.get("at") is not None:
            self._cutter.load(position)
            transport.seek(position["at"])

    def pump(self, log: BodyLog, closed: Event, report: Callable[[Diagnostic], None]) -> None:
        """Logs what comes, as soon as nothing more is there, until it ends or this is closed; reports warnings.

        `FailedError` where the connection is lost, or was ended by the other side and is to be made again.
        """
        self._see_gaps(log)
        for arrival in arrivals([self._transport], Interrupt(), lambda: _LOOK):
            if closed.is_set():
                return
            self._see_gaps(log)
            if isinstance(self._transport, Noticing):
                for warning in self._transport.notices():
                    report(warning)
            if arrival is None:
                self._append(log)
            elif arrival[1]:
                self._take(log, arrival[1], arrival[2])
            else:
                self._end(log, arrival[2])

    def close(self) -> None:
        """Gives up the connection."""
        self._transport.close()

    def _take(self, log: BodyLog, block: bytes, at: Any) -> None:
        body = self._cutter.take(block)
        self._at = at
        if body:
            self._pieces.append(body)
            self._size += len(body)
        if self._size >= BODY:
            self._append(log)

    def _end(self, log: BodyLog, at: Any) -> None:
        self._at = at
        if rest := self._cutter.finish():
            self._append(log)
            self._pieces.append(rest)
        if self._origin.is_restored:
            self._append(log)
            raise FailedError(Diagnostic("E404", f"`{self._transport.name}` has ended the connection"))
        self._append(log, is_ended=True)

    def _append(self, log: BodyLog, is_ended: bool = False) -> None:
        """Logs what waits, and acknowledges it."""
        if not (self._pieces or is_ended):
            return
        about: dict[str, Any] = {"position": self._position(is_ended)}
        if self._is_drained():
            about["backlog"] = False
        log(self._cutter.media, _joined(self._pieces, self._cutter.header), about)
        self._pieces, self._size = [], 0
        if isinstance(self._transport, Acknowledging):
            self._transport.acknowledge(self._at)

    def _position(self, is_ended: bool) -> dict[str, Any]:
        """Behind what waits, as JSON."""
        at = self._transport.saved(self._at) if isinstance(self._transport, Acknowledging) else self._at
        position = {"of": self._origin.shown, **self._cutter.save()}
        position |= {"part": self._part} if self._part else {}
        position |= {"at": at} if at is not None else {}
        return position | ({"ended": True} if is_ended and self._is_last else {})

    # What a broker had kept -----------------------------------------------------------------------------------------

    def _see_gaps(self, log: BodyLog) -> None:
        """Says at once that something may have been kept: from there on the machine's clock waits for it."""
        if self._keeping is not None and self._keeping.gaps > self._gaps:
            self._gaps, self._is_draining = self._keeping.gaps, True
            log(self._cutter.media, b"", {"backlog": True})

    def _is_drained(self) -> bool:
        """Whether what waits is the last of what was kept, as far as the broker says so."""
        keeping = self._keeping
        if keeping is None or not self._is_draining or keeping.backlog(self._at) is not False:
            return False
        self._is_draining = False
        return True


def _joined(pieces: Sequence[bytes], header: bytes) -> bytes:
    """Bodies as one, with the header before the first of them only."""
    return b"".join(piece.removeprefix(header) if number else piece for number, piece in enumerate(pieces))
