"""What came on a stream so far: counted as of a record of the log, so that the count goes on where it was saved."""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from thalweg.model.timestamps import written_instant
from thalweg.service.door import DoorReport
from thalweg.service.log import LogRecord

RATE: Final = 10_000
"""Milliseconds over which the rate of facts is taken."""
_KEPT_BAD: Final = 10
_LONGEST: Final = 1_000
"""So many characters of a bad line are kept: a document of 16 MB may be a line."""


class StreamStatistics:
    """The statistics of one stream; `seq` is the last of its records that has been counted."""

    def __init__(self) -> None:
        self.seq = 0
        self.facts = 0
        self.latest: int | str | None = None
        self.arrived: int | None = None
        self.malformed = 0
        self.bytes = 0
        self.position: Any = None
        """That of the last record which has one: a connector goes on behind it."""
        self.behind: dict[str, Any] = {}
        """What the next body goes on from (see `DoorReport`)."""
        self.is_saved = True
        self._bad: deque[dict[str, Any]] = deque(maxlen=_KEPT_BAD)
        self._recent: deque[tuple[int, int]] = deque()

    def count(self, record: LogRecord) -> None:
        """Counts a record of the stream, unless it has been."""
        if record.seq <= self.seq:
            return
        about = record.about
        self.seq, self.arrived = record.seq, record.arrived
        facts = about.get("facts", 0)
        self.facts += facts
        self.bytes += len(record.body)
        self.latest = _later(self.latest, about.get("latest"))
        self.position = about.get("position", self.position)
        self._recent.append((record.arrived, facts))
        while self._recent[0][0] <= record.arrived - RATE:
            self._recent.popleft()
        self.is_saved = False

    def meet(self, report: DoorReport, arrived: int) -> None:
        """Counts the bad lines of a body, whether or not the rest of it is taken."""
        self.malformed += report.malformed
        for text, diagnostic in report.bad_lines[-_KEPT_BAD:]:
            shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
            self._bad.append({"arrived": written_instant(arrived), "text": shown, "diagnostic": diagnostic.as_data()})
        self.is_saved = self.is_saved and not report.malformed

    def is_mixed_by(self, report: DoorReport) -> bool:
        """Whether a body has timestamps and the stream so far bare ticks, or the other way round."""
        return None not in (self.latest, report.latest) and type(self.latest) is not type(report.latest)

    def rate(self, now: int) -> float:
        """Facts a second over the last ten seconds."""
        recent = tuple(self._recent)
        return sum(facts for arrived, facts in recent if arrived > now - RATE) * 1_000 / RATE

    def as_data(self, now: int) -> dict[str, Any]:
        """What people are shown."""
        return {
            "facts": self.facts,
            "rate": self.rate(now),
            "latest": self.latest,
            "arrived": None if self.arrived is None else written_instant(self.arrived),
            "malformed": self.malformed,
            "bad": list(self._bad),
            "bytes": self.bytes,
        }

    def save(self) -> dict[str, Any]:
        """The statistics as JSON."""
        names = ("seq", "facts", "latest", "arrived", "malformed", "bytes", "position", "behind")
        return {**{name: getattr(self, name) for name in names}, "bad": list(self._bad)}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Goes on where other ones were saved."""
        for name, value in saved.items():
            if name != "bad":
                setattr(self, name, value)
        self._bad.extend(saved["bad"])


def _later(latest: int | str | None, time: int | str | None) -> int | str | None:
    """The later of two times, which are written alike."""
    if latest is None or time is None:
        return time if latest is None else latest
    return max(latest, time)
