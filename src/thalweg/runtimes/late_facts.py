"""Late facts are never silently lost: they go to the late channel, or are counted and reported at the end.

    {"t":36,"watermark":40,"stream":"readings","facts":["a(x1,y)"]}

is what the late channel holds: the event, and where the watermark stood when it came.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from thalweg.diagnostics import Counted, Diagnostic
from thalweg.model.time import AS_TICKS, TimeFormat

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Late:
    """The late facts of a run: a line of JSON for each event where there is a late channel, else a warning at the end.

    >>> late = Late()
    >>> late.add(36, 40, "readings", ["a(x1,y)"])
    >>> late.summary().message
    '1 fact was late and ignored: `a(x1,y) at 36` arrived when the watermark was 40'
    """

    def __init__(self, write: Callable[[str], object] | None = None, times: TimeFormat = AS_TICKS) -> None:
        self._write = write
        self._times = times
        self._count = 0
        self._first = ""

    def add(self, tick: int, watermark: int, stream: str | None, facts: list[str]) -> None:
        """Takes the facts of an event of a tick, which came when the watermark had passed it."""
        if facts and not self._count:
            written = self._times.text
            self._first = f"`{facts[0]} at {written(tick)}` arrived when the watermark was {written(watermark)}"
        self._count += len(facts)
        self.pass_on(tick, watermark, stream, facts)

    def pass_on(self, tick: int, watermark: int, stream: str | None, facts: list[str]) -> None:
        """Writes an event to the late channel, where there is one."""
        if self._write:
            at, reached = self._times.data(tick), self._times.data(watermark)
            self._write(_encode({"t": at, "watermark": reached, "stream": stream, "facts": facts}) + "\n")

    @property
    def count(self) -> int:
        """How many facts were late."""
        return self._count

    def save(self) -> dict[str, Any]:
        """The number of late facts and the first of them, as JSON."""
        return {"count": self._count, "first": self._first}

    def load(self, saved: dict[str, Any]) -> None:
        """Counts on where another one was saved."""
        self._count, self._first = saved["count"], saved["first"]

    def counts(self) -> Iterator[Counted]:
        """The count of late facts, for the warnings of a live run."""
        yield Counted("late", self._count, self.summary)

    def summary(self, reported: int = 0) -> Diagnostic | None:
        """The warning at the end of a run; None where no fact was late, or all went to the late channel.

        Some may have been `reported` otherwise, as being far from all others.
        """
        count = self._count - reported
        if self._write or count <= 0:
            return None
        number = "1 fact was" if count == 1 else f"{count} facts were"
        return Diagnostic(
            "W302",
            f"{number} late and ignored: {self._first}",
            help="wait longer with `--delay`, or keep late facts with `--late FILE`",
        )
