"""When windows close, and what they hold: by time, or by the number of facts.

    --window 3 --slide 2          positions are ticks       a window closes at the positions 2, 4, 6 …
    --window '3 #' --slide '2 #'  positions are facts       after the third fact, the fifth, the seventh …

Positions count from 0, at the first tick or with the first fact. The window that closes at a position holds the `size`
positions up to it. A stream that is too short for one window has one all the same, at its end.

Time and facts differ in nothing else, so both can be cut into panes, the longest pieces that never lie half in a
window: an incremental evaluator moves on pane by pane.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from math import gcd
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.asp.directives import OwnWindow
from thalweg.model.time import FOREVER, Clock, Duration, milliseconds


@dataclass(frozen=True, slots=True)
class Frame:
    """How long windows are and how far apart, in positions.

    >>> frame = Frame(3, 2)
    >>> list(frame.closings(-1, 7)), list(frame.closings(4, 8)), (frame.pane, frame.panes)
    ([2, 4, 6], [6, 8], (1, 3))
    """

    size: int = 1
    slide: int = 1
    tuples: bool = False

    def closings(self, after: int, until: int) -> range:
        """The positions behind one and up to another at which a window closes."""
        behind = max(0, after - self.size + 1 + self.slide) // self.slide
        return range(self.size - 1 + behind * self.slide, until + 1, self.slide)

    def holds(self, position: int) -> bool:
        """Whether some window holds a position: where the slide is longer than the window, some lie outside.

        >>> [Frame(2, 3).holds(position) for position in range(6)]
        [True, True, False, True, True, False]
        """
        return position % self.slide < self.size

    @property
    def pane(self) -> int:
        """How many positions make a pane."""
        return gcd(self.size, self.slide)

    @property
    def panes(self) -> int:
        """How many panes make a window."""
        return self.size // self.pane


class UnevenError(ValueError):
    """A length that is not a whole number of ticks."""


def read_frame(window: int | Duration | None, slide: int | Duration | None, clock: Clock) -> Frame:
    """A frame as users write it; `ValueError` where that has no meaning.

    Without a window each tick is one; without a slide, the next window begins where one ends.

    >>> read_frame("3 s", 2, Clock(500)), read_frame("100 #", None, Clock())
    (Frame(size=6, slide=2, tuples=False), Frame(size=100, slide=100, tuples=True))
    """
    if window is None and slide is not None:
        raise ValueError("`--slide` needs `--window`")
    size, tuples = _length(1 if window is None else window, clock)
    step, also = (size, tuples) if slide is None else _length(slide, clock)
    if tuples != also:
        raise ValueError(
            f"`--window {window}` and `--slide {slide}` must both be times or both be numbers of facts, `10 #`"
        )
    return Frame(size, step, tuples)


def _length(text: int | Duration, clock: Clock) -> tuple[int, bool]:
    number = re.fullmatch(r"([0-9]{1,18})\s*(#?)", str(text).strip())
    ticks, remainder = (
        (int(number[1]), 0)
        if number
        else divmod(milliseconds(text if isinstance(text, timedelta) else str(text)), clock.tick_length)
    )
    if remainder:
        raise UnevenError(f"`{text}` is not a whole number of ticks of {clock.tick_length} ms")
    if not 0 < ticks < FOREVER:
        raise ValueError(f"`{text}` is not a window's length: it must be longer than 0, and finite")
    return ticks, bool(number and number[2])


def own_frame(window: OwnWindow, clock: Clock) -> Frame:
    """The windows that a program brings; raises `RejectedError` where they have no meaning."""
    try:
        return read_frame(window.size, window.slide, clock)
    except ValueError as error:
        code = "E105" if isinstance(error, UnevenError) else "E206"
        raise RejectedError([Diagnostic(code, str(error), window.span, help=_OWN)]) from None


_OWN: Final = (
    "write whole ticks, as in `#from stream <http://example.org/s> [TIME 3s STEP 2s]`, or run with another `--tick`"
)
