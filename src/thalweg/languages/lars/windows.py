"""Windows as they are written, in ticks.

    [10 sec]            becomes   TimeWindow(10)            with ticks of one second
    [5 min step 1 min]  becomes   TimeWindow(300, step=60)
    [3 # p/2]           becomes   TupleWindow(3, of="p/2")
    [1 # by D]          becomes   KeyedWindow(1, by=(0,))   behind `temp(D,V)`
    before [10 sec]     becomes   PastWindow(10)

A duration that falls between two ticks is an error and not rounded: the answers would not be those of the text.
"""

from decimal import Decimal
from math import gcd
from typing import Final

from thalweg.ir.nodes import PastWindow, TimeWindow
from thalweg.languages.lars.terms import ReadingError, number
from thalweg.model.number import LARGEST_INTEGER
from thalweg.model.time import UNITS

# So many digits are enough for a number of arguments.
_LONGEST: Final = 9


def ticks(amount: str, unit: str | None, tick_length: int) -> int:
    """How many ticks a duration lasts; a bare number counts ticks.

    >>> ticks("5", "min", 1000), ticks("10", None, 1000), ticks("0.5", "sec", 100)
    (300, 10, 5)
    """
    value = Decimal(number(amount))
    if unit is not None and unit not in UNITS:
        way_out = f"a unit is one of `{' '.join(UNITS)}`; a bare number counts ticks"
        raise ReadingError("E101", f"unknown unit `{unit}`", way_out)
    length = value if unit is None else value * UNITS[unit] / tick_length
    if length % 1:
        raise ReadingError("E105", _odd(amount, unit, tick_length), _fitting(value, unit, tick_length))
    if length > LARGEST_INTEGER:
        raise ReadingError(
            "E104", f"`{amount}{f' {unit}' if unit else ''}` is out of range", "no stream lasts that long"
        )
    return int(length)


def count(amount: str) -> int:
    """How many facts a tuple window holds."""
    value = number(amount)
    if "." in value:
        way_out = "a tuple window counts whole facts, as in `[3 #]`"
        raise ReadingError("E101", f"`{amount}` is not a number of facts", way_out)
    return int(value)


def arity(amount: str) -> int:
    """How many arguments the facts have that a tuple window counts."""
    if not amount.isdigit() or len(amount) > _LONGEST:
        raise ReadingError("E208", f"no fact has `{amount}` arguments", "write it as in `[3 # speed/2]`")
    return int(amount)


def check_time_window(window: TimeWindow, written: str) -> TimeWindow:
    """The window, if it reaches back and moves."""
    if window.size < 0:
        way_out = "a window reaches back from now; `[0]` is the current tick only"
        raise ReadingError("E206", f"the window `{written}` is negative", way_out)
    if window.step is not None and window.step <= 0:
        way_out = "its step is at least one tick, as in `[60 step 10]`"
        raise ReadingError("E206", f"the window `{written}` never moves", way_out)
    return window


def check_past_window(window: TimeWindow, written: str) -> PastWindow:
    """The window of `before`, if it has a tick and does not hop."""
    if window.step is not None:
        raise not_before(written)
    if window.size == 0:
        way_out = "it ends before now, so it reaches back at least one tick, as in `before [1]`"
        raise ReadingError("E206", f"the window `before {written}` is empty", way_out)
    return PastWindow(window.size, window.span)


def not_before(written: str) -> ReadingError:
    """`before` with a window of another kind."""
    way_out = "use `before` with a plain time window, as in `before [10 sec]`"
    return ReadingError("E210", f"`before` cannot use the window `{written}`", way_out)


def check_count(size: int, written: str) -> None:
    """Whether there is room for a fact in a tuple window."""
    if size <= 0:
        way_out = "it holds at least one fact, as in `[1 #]`"
        raise ReadingError("E206", f"the tuple window `{written}` is empty", way_out)


def _odd(amount: str, unit: str | None, tick_length: int) -> str:
    if unit is None:
        return f"`{amount}` is not a whole number of ticks"
    return f"`{amount} {unit}` is not a whole number of ticks of {spell(tick_length)}"


def _fitting(value: Decimal, unit: str | None, tick_length: int) -> str:
    if unit is None:
        return "a bare number counts ticks; give it a unit, as in `[2500 ms]`"
    milliseconds = value * UNITS[unit]
    if milliseconds % 1:
        return "the shortest tick is one millisecond, `--tick 1ms`"
    return f"shorten the tick with `--tick {spell(gcd(int(milliseconds), tick_length))}`"


def spell(milliseconds: int) -> str:
    """A duration as the command line takes it.

    >>> spell(500), spell(120000)
    ('500ms', '2min')
    """
    unit = next(unit for unit in ("day", "hour", "min", "s", "ms") if milliseconds % UNITS[unit] == 0)
    return f"{milliseconds // UNITS[unit]}{unit}"
