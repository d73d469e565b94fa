"""How long windows are and how far apart, as queries write it, in ticks.

    [RANGE 10s, SLIDE 2s]          10 and 2, with ticks of one second
    [RANGE PT5M STEP PT1M]         300 and 60
    [RANGE 3]                      3 and 3: the next window begins where one ends
    [RANGE 1h, SLIDE 10m ALIGN]    3600 and 600, aligned

A bare number counts ticks; a duration that falls between two ticks is an error and not rounded.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from thalweg.languages.lars.terms import ReadingError
from thalweg.languages.lars.windows import ticks
from thalweg.languages.rspql.lexer import Token

SHAPE: Final = "write it as in `[RANGE 10s, SLIDE 2s]`, `[RANGE PT5M STEP PT1M]` or, in ticks, `[RANGE 10, SLIDE 2]`"

_PLAIN: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)?")
_ISO: Final = re.compile(
    r"P(?:(?P<week>[0-9]+)W)?(?:(?P<d>[0-9]+)D)?"
    r"(?:T(?=[0-9])(?:(?P<h>[0-9]+)H)?(?:(?P<m>[0-9]+)M)?(?:(?P<s>[0-9]+(?:\.[0-9]+)?)S)?)?",
    re.IGNORECASE,
)
_CALENDAR: Final = re.compile(r"P(?=[0-9])(?:[0-9]+Y)?(?:[0-9]+M)?.*", re.IGNORECASE | re.DOTALL)
_MILLISECONDS: Final = {"week": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000}


class Extent(NamedTuple):
    """A window's length and slide in ticks, and whether it is aligned."""

    range: int
    slide: int
    aligned: bool


def read_extent(inside: Sequence[Token], text: str, tick_length: int) -> Extent:
    """What stands between a window's brackets; `ReadingError` where it has no meaning.

    >>> from thalweg.languages.rspql.lexer import tokens
    >>> read_extent(tokens("RANGE 10s, SLIDE 2s"), "RANGE 10s, SLIDE 2s", 1_000)
    Extent(range=10, slide=2, aligned=False)
    """
    written = text[inside[0].start : inside[-1].end] if inside else ""
    parts: dict[str, list[Token]] = {}
    current: list[Token] | None = None
    for token in inside:
        if token.says("RANGE", "SLIDE", "STEP", "ALIGN"):
            name = "SLIDE" if token.says("STEP") else token.text.upper()
            if name in parts:
                raise ReadingError("E101", f"`[{written}]` says `{token.text}` twice", SHAPE)
            current = parts[name] = []
        elif token.text != ",":
            if current is None:
                raise ReadingError("E101", f"`[{written}]` is not a window", SHAPE)
            current.append(token)
    if not parts.get("RANGE") or parts.get("SLIDE") == [] or parts.get("ALIGN"):
        raise ReadingError("E101", f"`[{written}]` is not a window", SHAPE)
    size, slide = (
        _ticks(text[length[0].start : length[-1].end], tick_length)
        for length in (parts["RANGE"], parts.get("SLIDE", parts["RANGE"]))
    )
    if size == 0:
        raise ReadingError("E206", f"the window `[{written}]` is empty", "its range is at least one tick")
    if slide == 0:
        raise ReadingError("E206", f"the window `[{written}]` never moves", "its slide is at least one tick")
    return Extent(size, slide, "ALIGN" in parts)


def _ticks(duration: str, tick_length: int) -> int:
    """How many ticks a duration lasts.

    >>> _ticks("PT1H30M", 60_000), _ticks("2 min", 1_000), _ticks("P1DT0.5S", 500)
    (90, 120, 172801)
    """
    if plain := _PLAIN.fullmatch(duration):
        return ticks(plain[1], plain[2], tick_length)
    iso = _ISO.fullmatch(duration)
    if iso and iso.lastgroup:
        parts = ((Decimal(amount), _MILLISECONDS[unit]) for unit, amount in iso.groupdict().items() if amount)
        return ticks(str(sum(amount * length for amount, length in parts)), "ms", tick_length)
    if _CALENDAR.fullmatch(duration):
        raise ReadingError("E101", f"`{duration}` has no fixed length", "write weeks or days instead, as in `P30D`")
    raise ReadingError("E101", f"`{duration}` is not a duration", SHAPE)
