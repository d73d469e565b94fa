"""The door of the service: what is posted is read before it is taken, so that what is wrong is said to whoever sent it.

A body is read with the stream's mappings and the reader of its media type, as programs will (see `body_reader`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import numpy as np

from thalweg.connectors.batches import Item
from thalweg.connectors.lines import LineError, wrong_line
from thalweg.connectors.mapping.propose import of_stream
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.model.timestamps import written_instant
from thalweg.runtimes.inputs import mixed_times
from thalweg.service.body_reader import FORMATS, BodyReader, is_of_stream
from thalweg.service.stream import StreamVersion

MOST_BAD: Final = 1_000
"""Bad lines of a body from which on it makes no sense as a whole, and is not read further."""

MOST_UNFINISHED: Final = 100_000
"""Quads of events whose times have not come, or which may go on: no more may wait in a stream."""

_NONE_IN_USE: Final = np.zeros(0, dtype=np.int64)
_NAMES_STREAM: Final = b'"stream"'


class MediaTypeError(Exception):
    """A media type that is not that of facts; the message names those that are."""


@dataclass(frozen=True, slots=True)
class DoorReport:
    """What a body holds: the number of its facts, the latest of their times, and what is wrong with it.

    `is_refused`: the body as a whole makes no sense, so that nothing of it can be taken. `behind` is what bodies behind
    it go on from, as JSON: prefixes that were declared, and events of quads that are not complete.
    """

    facts: int
    latest: int | str | None
    malformed: int
    diagnostics: tuple[Diagnostic, ...] = ()
    bad_lines: tuple[tuple[str, Diagnostic], ...] = ()
    is_refused: bool = False
    behind: Mapping[str, Any] = field(default_factory=dict)


class Door:
    """Reads bodies with a dictionary of its own; may be used by several threads.

    >>> report = Door().check("s", StreamVersion(1, {}, "s"), "text/plain", b"p(a) at 3.\\np(b) at 5.\\np(\\n", 0)
    >>> report.facts, report.latest, report.malformed, report.diagnostics[0].span.source.first_line
    (2, 5, 1, 3)
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._words = Dictionary()

    def check(
        self,
        stream: str,
        version: StreamVersion,
        media: str,
        body: bytes,
        arrived: int,
        before: Mapping[str, Any] = {},
    ) -> DoorReport:
        """What a body holds that arrives at an instant, in milliseconds since 1970.

        It goes on from what was `before`, which is `behind` in the report of the body before it.
        """
        with self._lock:
            if self._words.wants_collection:
                self._words.collect(_NONE_IN_USE)
            return _Reading(stream, self._words).report(version, media, body, arrived, before)

    @staticmethod
    def media_type(content_type: str) -> str:
        """The media type of a header, without its parameters; `MediaTypeError` where it is none of facts.

        >>> Door.media_type("text/plain; charset=utf-8")
        'text/plain'
        """
        media = content_type.partition(";")[0].strip().lower()
        if media not in FORMATS:
            stated = f"`{media}` is not a media type of facts" if media else "the media type is missing"
            raise MediaTypeError(f"{stated}; known are {', '.join(FORMATS)}")
        return media


class _Reading:
    """The reading of one body."""

    def __init__(self, stream: str, words: Dictionary) -> None:
        self._stream = stream
        # Times are looked at in milliseconds: each program has ticks of its own.
        self._clock = Clock(tick_length=1)
        self._reader = BodyReader(stream, words, self._clock)
        self._facts = 0
        self._latest = -1
        self._wrong: list[Diagnostic] = []

    def report(
        self, version: StreamVersion, media: str, body: bytes, arrived: int, before: Mapping[str, Any]
    ) -> DoorReport:
        """Reads it, and says what it holds."""
        reader, prefixes = self._reader, before.get("prefixes", {})
        if FORMATS[media] == "quads":
            reader.go_on(before.get("quads"))
        unfinished = reader.unfinished
        names_other = self._take(reader.read(media, body, version, arrived, prefixes=prefixes))
        if names_other:
            self._wrong += _lines_of_others(self._stream, body)
            self._wrong.sort(key=lambda wrong: wrong.span.source.first_line)
        senseless = [*self._senseless()]
        self._wrong += senseless
        return DoorReport(
            self._facts + reader.unfinished - unfinished,
            self._written(self._latest) if self._latest >= 0 else None,
            len(self._wrong),
            tuple(self._wrong),
            tuple((wrong.span.source.text, wrong) for wrong in self._wrong),
            bool(senseless) or reader.is_unreadable or len(self._wrong) >= MOST_BAD,
            {**before, **_behind(reader, FORMATS[media])},
        )

    def _take(self, items: Iterator[Item]) -> bool:
        """Takes the items, unless too many are wrong; whether some are of another stream."""
        names_other = False
        for item in items:
            if isinstance(item, Diagnostic):
                self._wrong.append(of_stream(item))
                if len(self._wrong) >= MOST_BAD:
                    break
            elif is_of_stream(item, self._stream):
                tick, batch = item
                self._facts += batch.size
                self._latest = max(self._latest, tick)
            else:
                names_other = True
        return names_other

    def _senseless(self) -> Iterator[Diagnostic]:
        """What is wrong with the body as a whole, although each of its lines may be right."""
        if self._clock.notation.is_mixed:
            yield mixed_times()
        if self._reader.unfinished > MOST_UNFINISHED:
            message = f"more than {MOST_UNFINISHED:,} quads wait for the times of their events"
            yield Diagnostic("E301", message, help="post the time of an event before its quads, or close behind them")

    def _written(self, tick: int) -> int | str:
        return written_instant(tick) if self._clock.notation.stamped else tick


def _behind(reader: BodyReader, format: str) -> dict[str, Any]:
    """What bodies behind one of a format go on from."""
    if format == "facts":
        return {"prefixes": reader.prefixes}
    return {"quads": reader.save()["readers"]["quads"]} if format == "quads" else {}


def _lines_of_others(stream: str, body: bytes) -> Iterator[Diagnostic]:
    """The lines of JSON that are events of other streams."""
    help = f"leave `stream` out, or post to the stream that it names; here it is `{stream}`"
    for number, line in enumerate(body.split(b"\n"), 1):
        other = _stream_of(line) if _NAMES_STREAM in line else None
        if other not in (None, stream):
            text = line.decode(errors="replace")
            wrong = LineError(f"this line is of the stream `{other}`", max(0, text.find('"stream"')))
            yield wrong_line(f"{stream}.jsonl", number, text, wrong, help)


def _stream_of(line: bytes) -> str | None:
    """The stream that a line names; None where it names none, or is no event."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event.get("stream") if isinstance(event, dict) and "t" in event else None
