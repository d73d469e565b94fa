"""Answers as server-sent events.

    event: line
    id: 3-1204
    data: {"t":1204,"begin":["jam(b)"],"end":[]}

An id is *generation-line*. What it names has been sent, so whoever says it wants what comes strictly behind it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from thalweg.model.time import TimeFormat
from thalweg.service.answer_lines import Line
from thalweg.service.match_list import EVERYTHING, MatchList
from thalweg.service.refused import refusal

RETRY: Final = b"retry: 1000\n\n"
COMMENT: Final = b":\n\n"
_ID: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


class LineId(NamedTuple):
    """The place behind a line of a generation; ids ascend as tuples do."""

    generation: int
    number: int

    def __str__(self) -> str:
        return f"{self.generation}-{self.number}"

    @classmethod
    def read(cls, text: str) -> "LineId":
        """The id that a text stands for; `RefusedError` (400) where it is none.

        >>> LineId.read("3-1204")
        LineId(generation=3, number=1204)
        """
        match = _ID.fullmatch(text.strip())
        if match is None:
            raise refusal(400, f"`{text}` is not the id of a line", "write generation and line, as in `3-1204`")
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True, slots=True)
class StreamFilter:
    """What of the answers a subscriber gets; those that are equal share what is encoded."""

    match: MatchList = EVERYTHING
    until: bool = False

    def line(self, id_: LineId, line: Line, times: TimeFormat) -> bytes:
        """The event of a line; empty where nothing of it is wanted.

        >>> StreamFilter().line(LineId(3, 7), Line(b'{"t":3}', 3), TimeFormat())
        b'event: line\\nid: 3-7\\ndata: {"t":3}\\n\\n'
        """
        text = line.text if self.match is EVERYTHING else self.match.line(line.text)
        if text is None:
            return b""
        if self.until and (until := self._until(line.until, times)):
            text = b'%b,"until":%b}' % (text[:-1], _encoded(until))
        return b"event: line\nid: %d-%d\ndata: %b\n\n" % (*id_, text)

    def _until(self, until: Mapping[str, int], times: TimeFormat) -> dict[str, int | str]:
        return {fact: times.data(tick) for fact, tick in until.items() if self.match.wants(fact)}

    def snapshot(self, id_: LineId, snapshot: Mapping[str, Any]) -> bytes:
        """The event that says what holds."""
        facts = [fact for fact in snapshot["facts"] if self.match.wants(fact["fact"])]
        return b"event: snapshot\nid: %d-%d\ndata: %b\n\n" % (*id_, _encoded({"t": snapshot["t"], "facts": facts}))


def time_event(tick: int, times: TimeFormat) -> bytes:
    """Time has passed, and nothing changed.

    >>> time_event(1210, TimeFormat())
    b'event: time\\ndata: {"t":1210}\\n\\n'
    """
    return b'event: time\ndata: {"t":%b}\n\n' % times.json(tick).encode()


def gap_event(after: LineId, kept: LineId) -> bytes:
    """What was asked for is no longer kept.

    >>> gap_event(LineId(3, 90), LineId(3, 400))
    b'event: gap\\ndata: {"after":"3-90","kept":"3-400"}\\n\\n'
    """
    return b"event: gap\ndata: %b\n\n" % _encoded({"after": str(after), "kept": str(kept)})


def reset_event(generation: int) -> bytes:
    """Another generation answers now.

    >>> reset_event(4)
    b'event: reset\\nid: 4-0\\ndata: {"generation":4}\\n\\n'
    """
    return b'event: reset\nid: %d-0\ndata: {"generation":%d}\n\n' % (generation, generation)


def line_events(
    filter_: StreamFilter, generation: int, lines: Iterable[tuple[int, Line]], times: TimeFormat
) -> tuple[bytes, int]:
    """The events of lines, and how many they are."""
    events = [filter_.line(LineId(generation, number), line, times) for number, line in lines]
    return b"".join(events), sum(map(bool, events))


def _encoded(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
