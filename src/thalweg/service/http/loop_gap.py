"""How long the event loop was kept from its work: the largest gap of the last minute, which users feel as silence."""

import asyncio
from collections import deque
from time import monotonic
from typing import Final

_PERIOD: Final = 0.05
_MINUTE: Final = 60.0


class LoopGap:
    """Gaps of the last minute; only those are kept that no later one exceeds."""

    def __init__(self) -> None:
        self._gaps: deque[tuple[float, float]] = deque()

    def note(self, now: float, gap: float) -> None:
        """Takes a gap that ended at some moment.

        >>> gaps = LoopGap()
        >>> gaps.note(0.0, 0.3); gaps.note(10.0, 0.1)
        >>> gaps.largest(20.0), gaps.largest(65.0), gaps.largest(90.0)
        (0.3, 0.1, 0.0)
        """
        while self._gaps and self._gaps[-1][1] <= gap:
            self._gaps.pop()
        self._gaps.append((now, gap))

    def largest(self, now: float) -> float:
        """The largest gap of the minute before a moment, in seconds."""
        while self._gaps and self._gaps[0][0] < now - _MINUTE:
            self._gaps.popleft()
        return self._gaps[0][1] if self._gaps else 0.0

    async def measure(self) -> None:
        """Measures for as long as it is not cancelled."""
        while True:
            begun = monotonic()
            await asyncio.sleep(_PERIOD)
            now = monotonic()
            self.note(now, max(0.0, now - begun - _PERIOD))
