"""What travels between packers, fragments and the outside: parcels.

    packer ──facts──▶ fragment 0, bucket b ──updates──▶ fragment 1, bucket c ──answers──▶ OUT

A parcel is addressed to one bucket of one fragment. Between two operators of Spark it is a row (bucket, fragment,
payload); a fragment passes on what is addressed to a later one. Words in a parcel are the sender's, so it brings the
terms along.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import lcm
from struct import calcsize, pack, unpack
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import NOWHERE, Diagnostic, FailedError, RejectedError, Source, Span
from thalweg.model.arrow import DamagedError, Lists, decode, encode

Words = NDArray[np.int64]

OUT: Final = -1
"""In place of a fragment: answers, for users."""

FAILURE: Final = -2
"""Like OUT, for the diagnostics of a worker that could not go on."""

UNKNOWN: Final = -1
"""The route of a fact that no rule reads, and that a tuple window over the whole input counts."""

FACTS: Final = "facts"
HELD: Final = "held"
EVENTS: Final = "events"
RECORDS: Final = "records"
DOUBTS: Final = "doubts"
"""Since when what another fragment gives may lack facts, or lacks none any more."""
SETTLED: Final = "settled"
"""Whether another fragment may still give something for the last tick."""
ANSWERS: Final = "answers"
LATE: Final = "late"
MALFORMED: Final = "malformed"
EMPTY: Final = "empty"
"""Rows of a table that hold no fact; where a cell is empty that is not an error."""
CAME: Final = "came"
"""The predicates of facts that came, where a table does not say them."""
FAILED: Final = "failed"
DIGEST: Final = "digest"
"""What the driver must know of a block that a task has read."""

MOST_BYTES: Final = 64 << 20
"""A row between two operators of Spark has no more: a parcel that is larger is cut."""

# No payload begins like this: JSON does with a brace, and Arrow with four bytes that are 255.
_CUT: Final = b"\0cut"
_NAME: Final = 16
_PLACE: Final = "<II"

# Over a number of partitions that divides this one, buckets are spread evenly: up to ten, 12, 14 to 16, 18, 20, 24, …
_TURNS: Final = 64 * 9 * 5 * 7
_MOST_TURNS: Final = 1 << 20
# So many numbers are hashed at once.
_STRETCH: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Parcel:
    """Bytes for one bucket of one fragment."""

    fragment: int
    bucket: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Content:
    """What a parcel holds."""

    header: dict[str, Any]
    lists: Lists

    @property
    def kind(self) -> str:
        return str(self.header["kind"])


def wrap(fragment: int, bucket: int, header: dict[str, Any], lists: Lists) -> Parcel:
    return Parcel(fragment, bucket, encode(header, lists, brief=True))


def unwrap(payload: bytes) -> Content:
    return Content(*decode(payload))


def failure(bucket: int, error: FailedError | RejectedError, reached: int) -> Parcel:
    """The diagnostics of an error, and the last tick that was answered before it.

    An exception in a task would make Spark try the task again, several times, and report a stack trace.

    >>> sent = failure(0, FailedError(Diagnostic("E407", "no memory is left")), reached=41)
    >>> header = unwrap(sent.payload).header
    >>> header["reached"], str(error_of(header["error"]))
    (41, 'error[E407]: no memory is left')
    """
    diagnostics = error.diagnostics if isinstance(error, RejectedError) else (error.diagnostic,)
    text = json.dumps(
        {
            "rejected": isinstance(error, RejectedError),
            "diagnostics": [_as_data(diagnostic) for diagnostic in diagnostics],
        }
    )
    return wrap(FAILURE, bucket, {"kind": FAILED, "reached": reached, "error": text}, {})


def error_of(text: str) -> FailedError | RejectedError:
    """The error that a worker could not go on after."""
    data = json.loads(text)
    diagnostics = [_diagnostic(diagnostic) for diagnostic in data["diagnostics"]]
    return RejectedError(diagnostics) if data["rejected"] else FailedError(diagnostics[0])


def warning_text(diagnostic: Diagnostic) -> str:
    """A diagnostic on its way to the driver; the inverse of `warning_of`.

    >>> warning_of(warning_text(Diagnostic("W302", "1 fact was late"))).message
    '1 fact was late'
    """
    return json.dumps(_as_data(diagnostic))


def warning_of(text: str) -> Diagnostic:
    """The diagnostic that a worker has sent."""
    return _diagnostic(json.loads(text))


def _as_data(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic with the line that it points at, and not with the whole text."""
    data: dict[str, Any] = {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "notes": diagnostic.notes,
    }
    if diagnostic.span is not NOWHERE:
        source, start = diagnostic.span.source, diagnostic.span.start
        line, column = source.position(start)
        data["place"] = [source.name, source.line_at(start), line, column - 1, column - 1 + diagnostic.span.end - start]
    return data


def _diagnostic(data: dict[str, Any]) -> Diagnostic:
    span = NOWHERE
    if "place" in data:
        name, written, line, start, end = data["place"]
        span = Span(Source(name, written, line), start, end)
    return Diagnostic(data["code"], data["message"], span, data["help"], tuple(data["notes"]))


def parcels_batch(parcels: Iterable[Parcel]) -> Any:
    """Parcels as they travel between the operators of Spark."""
    import pyarrow as pa

    rows = list(cut(parcels))
    return pa.record_batch(
        {
            "bucket": pa.array([parcel.bucket for parcel in rows], type=pa.int32()),
            "fragment": pa.array([parcel.fragment for parcel in rows], type=pa.int32()),
            "payload": pa.array([parcel.payload for parcel in rows], type=pa.binary()),
        }
    )


def cut(parcels: Iterable[Parcel], most: int | None = None) -> Iterator[Parcel]:
    """Parcels in rows that are not too large: the pieces of a larger one say what they are pieces of.

    >>> [*joined(parcel.payload for parcel in cut([Parcel(0, 1, b"abcde"), Parcel(0, 1, b"f")], most=2))]
    [b'abcde', b'f']
    """
    most = most or MOST_BYTES
    for parcel in parcels:
        payload = parcel.payload
        if len(payload) <= most:
            yield parcel
            continue
        name, count = blake2b(payload, digest_size=_NAME).digest(), -(-len(payload) // most)
        for number in range(count):
            piece = payload[number * most : (number + 1) * most]
            yield replace(parcel, payload=b"".join((_CUT, name, pack(_PLACE, number, count), piece)))


def joined(payloads: Iterable[bytes]) -> Iterator[bytes]:
    """Payloads as they were before they were cut, whatever the order of the pieces."""
    pieces: dict[bytes, dict[int, bytes]] = {}
    for payload in payloads:
        if not payload.startswith(_CUT):
            yield payload
            continue
        start = len(_CUT) + _NAME
        name, content = payload[len(_CUT) : start], start + calcsize(_PLACE)
        number, count = unpack(_PLACE, payload[start:content])
        parts = pieces.setdefault(name, {})
        parts[number] = payload[content:]
        if len(parts) == count:
            # The same may be sent twice.
            del pieces[name]
            yield b"".join(parts[number] for number in range(count))
    if pieces:
        raise DamagedError("a part of what was sent is missing")


def labels(buckets: int) -> list[int]:
    """A number for each bucket; Spark's own hash sends them to the partitions in turn, for most numbers of partitions.

    Without them two buckets would share a partition now and then, and a core would have nothing to do. They depend on
    nothing else: the state of a bucket is kept under its number, and partitions may become more or fewer.

    >>> [_murmur(np.array(labels(6))) % partitions for partitions in (2, 3)]
    [array([0, 1, 0, 1, 0, 1]), array([0, 1, 2, 0, 1, 2])]
    """
    turns = lcm(buckets, _TURNS)
    if turns > _MOST_TURNS:
        turns = buckets
    labelled: dict[int, int] = {}
    start = 0
    while len(labelled) < buckets:
        turn = _murmur(np.arange(start, start + _STRETCH)) % turns
        for place in np.flatnonzero(turn < buckets).tolist():
            labelled.setdefault(int(turn[place]), start + place)
        start += _STRETCH
    return [labelled[bucket] for bucket in range(buckets)]


def _murmur(numbers: Words) -> Words:
    """Spark's hash of integers (Murmur3, seed 42)."""
    mixed = numbers.astype(np.uint32) * np.uint32(0xCC9E2D51)
    mixed = _rotated(mixed, 15) * np.uint32(0x1B873593)
    hashed = _rotated(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashed ^= np.uint32(4)
    hashed = (hashed ^ hashed >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    hashed = (hashed ^ hashed >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    hashed ^= hashed >> np.uint32(16)
    return hashed.view(np.int32).astype(np.int64)


def _rotated(numbers: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return numbers << np.uint32(bits) | numbers >> np.uint32(32 - bits)
