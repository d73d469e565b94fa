"""Server-sent events: what stands between two blank lines, with its kind and its name."""

from dataclasses import dataclass
from typing import Final

_PAUSE: Final = 2.0
"""Seconds before a lost connection is opened again, unless the server says otherwise."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """An event that is complete; `id` is empty where it has no name."""

    kind: str
    id: str
    data: bytes


class ServerSentEvents:
    """Blocks of bytes become events, when the blank line comes that ends each.

    >>> events = ServerSentEvents()
    >>> events.feed(b"id: 7\\ndata: p at 3.\\ndata: q at 3.\\n\\nevent: line\\ndata: p a"), events.last
    ([ServerSentEvent(kind='message', id='7', data=b'p at 3.\\nq at 3.')], '7')
    >>> events.feed(b"t 4.\\r\\n\\r\\n")
    [ServerSentEvent(kind='line', id='', data=b'p at 4.')]
    """

    def __init__(self) -> None:
        self.last = ""
        """The name of the last event that had one."""
        self.retry = _PAUSE
        self.restart()

    def restart(self) -> None:
        """Begins another connection: what the one before had begun to send comes again."""
        self._rest = b""
        self._begin()

    def _begin(self) -> None:
        self._kind = self._id = ""
        self._data: list[bytes] = []

    def feed(self, block: bytes) -> list[ServerSentEvent]:
        """The events that are complete."""
        events: list[ServerSentEvent] = []
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line:
                self._field(*line.split(b":", 1))
                continue
            self.last = self._id or self.last
            if self._data:
                events.append(ServerSentEvent(self._kind or "message", self._id, b"\n".join(self._data)))
            self._begin()
        return events

    def _field(self, name: bytes, value: bytes = b"") -> None:
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._kind = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode(errors="replace")
            case b"retry" if value.isdigit():
                self.retry = int(value) / 1_000
