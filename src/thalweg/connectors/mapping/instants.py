"""Times as tables and messages write them become microseconds since 1970, each distinct one once.

2026-11-15T08:00:00Z   2026-11-15 09:00:00+01:00   2026-11-15    ISO 8601; local where no zone is written
1794729600   1794729600.25   1794729600000 (ms)                  a number since 1970, in the unit of the mapping
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Integral, Real
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.connectors.mapping.cells import JSON_NUMBER, Coded, Column, Words, coded_rows, is_missing, taken
from thalweg.connectors.mapping.mapping import Time
from thalweg.model.local_times import LocalTimes, microseconds, zone_named
from thalweg.model.time import Clock
from thalweg.model.timestamps import proposed_writing, read_timestamp

MICROSECONDS: Final = {"": 1_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
LATEST: Final = 253_402_300_800_000_000
"""The end of the year 9999."""

_NUMBER: Final = re.compile(rf"[+-]?{JSON_NUMBER}\Z")
_ISO: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_ZONED: Final = _ISO + r"(?:Z|[+-][0-9]{2}:[0-9]{2})$"
_PARTS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}
_FEW: Final = 64
_NONE: Final = (-(2**62), False)


@dataclass(slots=True)
class _Times:
    """Times as they are written, in microseconds since 1970; which of them have no zone (None: no one has)."""

    coded: Coded
    local: NDArray[np.bool_] | None = None


def instants(column: Column, time: Time, clock: Clock) -> Coded:
    """The times of a column, in microseconds since 1970; those without a zone by the local times of a clock.

    >>> import pyarrow as pa
    >>> from thalweg.connectors.mapping.mapping import Path
    >>> found = instants(pa.array(["1970-01-01T01:00:01+01:00", "2", None, "soon"]), Time(Path(("ts",))), Clock())
    >>> found.words[:2].tolist(), found.null.tolist(), found.wrong
    ([1000000, 2000000], [False, False, True, False], {3: '`soon` is not a time; times are ISO 8601, ...'})
    """
    times = _read(column, time)
    if times.local is None:
        return times.coded
    local = clock.local(None if time.zone is None else zone_named(time.zone))
    if local is None:
        clock.notation.unzoned = True
        return times.coded
    return _settled(times, local)


def _settled(times: _Times, local: LocalTimes) -> Coded:
    """Times with those that have no zone as the instants that they are, in the order of the rows."""
    coded = times.coded
    if times.local is None:
        return coded
    if times.local.all() and coded.null is None and not coded.wrong:
        words, skipped = local.instants(coded.words)
        rows = np.arange(len(words))
    else:
        chosen = times.local.copy()
        chosen[list(coded.wrong)] = False
        if coded.null is not None:
            chosen &= ~coded.null
        rows = np.flatnonzero(chosen)
        words = coded.words.copy()
        words[rows], skipped = local.instants(coded.words[rows])
    wrong = {int(rows[place]): local.skipped(int(coded.words[rows[place]])) for place in skipped.tolist()}
    return Coded(words, coded.null, coded.wrong | wrong)


def _read(column: Column, time: Time) -> _Times:
    import pyarrow as pa

    if isinstance(column, list):
        return _one_by_one(column, time)
    kinds = pa.types
    null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if kinds.is_dictionary(column.type):
        if not len(column.dictionary):
            return _Times(Coded(np.zeros(len(column), dtype=np.int64), np.ones(len(column), dtype=bool), {}))
        inner, places = _read(column.dictionary, time), column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return _Times(taken(inner.coded, places, null), None if inner.local is None else inner.local[places])
    if kinds.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if kinds.is_timestamp(column.type):
        counts = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        unit = column.type.unit
        words = counts // 1_000 if unit == "ns" else counts * _PARTS[unit]
        return _Times(Coded(words, null, {}), np.ones(len(words), dtype=bool) if column.type.tz is None else None)
    if kinds.is_integer(column.type):
        counts = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False)
        return _Times(_numbers(counts, time, null))
    if kinds.is_floating(column.type):
        return _Times(_numbers(column.cast(pa.float64()).to_numpy(zero_copy_only=False), time, null))
    if kinds.is_string(column.type) or kinds.is_large_string(column.type) or kinds.is_string_view(column.type):
        if len(column) > _FEW and null is None:
            times = _all_at_once(column)
            if times is not None:
                return times
        return _one_by_one(column.to_pylist(), time)
    return _one_by_one(column.to_pylist(), time)


def _instant(value: object, time: Time) -> tuple[int, bool]:
    """The microseconds of one value, and whether they are local; `ValueError` where it is not a time.

    >>> _instant("2026-11-15T08:00:00Z", Time(None)), _instant(1.5, Time(None)), _instant("1500", Time(None, "ms"))
    ((1794729600000000, False), (1500000, False), (1500000, False))
    """
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.match(text):
            return _scaled(float(text) if re.search("[.eE]", text) else int(text), time, text), False
        try:
            return _microseconds(read_timestamp(text))
        except ValueError:
            raise ValueError(f"`{value}` is not a time; {proposed_writing(text)}") from None
    if isinstance(value, datetime):
        return _microseconds(value)
    if isinstance(value, date):
        return _microseconds(datetime(value.year, value.month, value.day))
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"`{value}` is not a time")
    return _scaled(int(value) if isinstance(value, Integral) else float(value), time, str(value)), False


def _scaled(number: int | float, time: Time, written: str) -> int:
    if abs(number) > 2**62:
        raise ValueError(_far(written, time))
    if time.unit == "ns":
        microseconds = int(number // 1_000)
    elif isinstance(number, int):
        microseconds = number * MICROSECONDS[time.unit]
    else:
        microseconds = round(number * MICROSECONDS[time.unit])
    if not -LATEST < microseconds < LATEST:
        raise ValueError(_far(written, time))
    return microseconds


def _far(written: str, time: Time) -> str:
    """Why a number is not taken for a time, and the unit in which it would be one of our days."""
    unit = {"": "seconds", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}[time.unit]
    size = abs(float(written))
    finer = next((name for name, least in (("ns", 1e17), ("us", 1e14), ("ms", 1e11)) if size >= least), "ms")
    way_out = proposed_writing(written) if len(written) == 14 else f"write `at {time.path} {finer}`"
    return f"`{written}` {unit} since 1970 are beyond the year 9999; {way_out}"


def _microseconds(moment: datetime) -> tuple[int, bool]:
    return microseconds(moment), moment.tzinfo is None


def _numbers(counts: NDArray[Any], time: Time, null: NDArray[np.bool_] | None) -> Coded:
    """Numbers since 1970; those beyond the year 9999 are looked at one by one."""
    missing = np.isnan(counts) if counts.dtype.kind == "f" else None
    if missing is not None and missing.any():
        null = missing if null is None else null | missing
        counts = np.where(missing, 0, counts)
    factor = 0.001 if time.unit == "ns" else MICROSECONDS[time.unit]
    far = np.abs(counts.astype(np.float64)) * factor >= LATEST
    wrong: dict[int, str] = {}
    if far.any():
        for row in np.flatnonzero(far).tolist():
            wrong[row] = _far(str(counts[row]), time)
        counts = np.where(far, 0, counts)
    if time.unit == "ns":
        return Coded((counts // 1_000).astype(np.int64), null, wrong)
    return Coded(np.rint(counts * MICROSECONDS[time.unit]).astype(np.int64), null, wrong)


def _all_at_once(texts: Any) -> _Times | None:
    """The times of texts that are all written the usual way, with a zone or all without; None for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_zoned = pc.all(pc.match_substring_regex(texts, _ZONED)).as_py()
    if not is_zoned and not pc.all(pc.match_substring_regex(texts, f"{_ISO}$")).as_py():
        return None
    try:
        words: Words = texts.cast(pa.timestamp("us", "UTC" if is_zoned else None)).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return _Times(Coded(words, None, {}), None if is_zoned else np.ones(len(words), dtype=bool))


def _one_by_one(values: list[Any], time: Time) -> _Times:
    cached: dict[Any, tuple[int, bool]] = {}
    words: list[int] = []
    null: list[int] = []
    local: list[int] = []
    wrong: dict[int, str] = {}
    for place, value in enumerate(values):
        is_key = not isinstance(value, dict | list | bool)
        word, is_local = cached.get(value, _NONE) if is_key else _NONE
        if word == _NONE[0]:
            word, is_local = 0, False
            if is_missing(value):
                null.append(place)
            else:
                try:
                    word, is_local = _instant(value, time)
                    cached[value] = word, is_local
                except ValueError as error:
                    wrong[place] = str(error)
        words.append(word)
        if is_local:
            local.append(place)
    coded = coded_rows(words, null, wrong)
    if not local:
        return _Times(coded)
    without_zone = np.zeros(len(words), dtype=bool)
    without_zone[local] = True
    return _Times(coded, without_zone)
