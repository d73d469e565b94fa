"""Records of the service's log: what is logged, in its place, and how that is written as bytes.

seq, arrival, length of what follows    [kind, stream, media type, about]    body
20 bytes                                JSON                                 as it came
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Kind = Literal["facts", "beat", "stream", "subscription"]

_PLACE: Final = struct.Struct("<QQI")
_ANSWERED: Final = "facts", "skipped", "diagnostics"
"""The keys of `about` that the answer to a request has."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What is to be logged: a body as it came, of a media type, and what is known `about` it, as JSON.

    facts          {"map": version of the stream's mappings, "facts": 1000, "skip": false, "latest": …, "key": "…",
                   "skipped": 2, "diagnostics": […], "position": …, "backlog": true}; what does not apply is left out
    stream         {"map": 3}: from here on the stream's mappings are of this version; {"map": null}: it is deleted
    subscription   {"program": "p", "name": ":X", "text": "AS …"}; without a text (null) it ends
    beat           {}: time has passed
    """

    kind: Kind
    stream: str = ""
    media: str = ""
    body: bytes = b""
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        """The idempotency key of facts, where they have one."""
        return self.about.get("key") if self.kind == "facts" else None

    def head(self) -> bytes:
        """All but the body, as JSON."""
        about = dict(self.about)
        return json.dumps([self.kind, self.stream, self.media, about], separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class LogRecord(LogEntry):
    """An entry in its place: `seq` counts from 1, `arrived` is in milliseconds since 1970 and never decreases."""

    seq: int = 0
    arrived: int = 0

    def answer(self) -> dict[str, Any]:
        """The answer to the request that brought facts.

        >>> LogRecord("facts", "north", about={"map": 1, "facts": 1000}, seq=812).answer()
        {'seq': 812, 'facts': 1000}
        """
        return {"seq": self.seq} | {key: self.about[key] for key in _ANSWERED if key in self.about}


def record_of(entry: LogEntry, head: bytes, seq: int, arrived: int) -> LogRecord:
    """An entry in its place, as it will be read again: what is known about it has been JSON."""
    return LogRecord(entry.kind, entry.stream, entry.media, entry.body, json.loads(head)[3], seq, arrived)


def place(seq: int, arrived: int, head: bytes) -> bytes:
    """What stands before the head of a record."""
    return _PLACE.pack(seq, arrived, len(head))


def read_place(payload: memoryview) -> tuple[int, int]:
    """The number and the arrival of the record in a payload."""
    seq, arrived, _ = _PLACE.unpack_from(payload)
    return seq, arrived


def read_head(payload: memoryview) -> tuple[Kind, str, str, dict[str, Any]]:
    """The kind, stream and media type of the record in a payload, and what is known about it."""
    kind, stream, media, about = json.loads(bytes(payload[_PLACE.size : _head_end(payload)]))
    return kind, stream, media, about


def read_record(payload: memoryview) -> LogRecord:
    """The record in a payload.

    >>> entry = LogEntry("facts", "north", "text/plain", b"p(1) @ 2.", {"facts": 1})
    >>> payload = place(7, 1_794_729_600_250, entry.head()) + entry.head() + entry.body
    >>> read_record(memoryview(payload)) == record_of(entry, entry.head(), 7, 1_794_729_600_250)
    True
    """
    kind, stream, media, about = read_head(payload)
    return LogRecord(kind, stream, media, bytes(payload[_head_end(payload) :]), about, *read_place(payload))


def _head_end(payload: memoryview) -> int:
    length: int = _PLACE.unpack_from(payload)[2]
    return _PLACE.size + length
