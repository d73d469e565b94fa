"""Timestamps as machines and people write them: ISO 8601 is read, and for what is not the right writing is proposed."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_UTC: Final = re.compile(r"(?<!\s)\s+(?:UTC|GMT)\Z")
_ZONE: Final = re.compile(r"(.*[0-9])\s+([A-Z]{3,5}|[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+)\Z")
_YEAR_LAST: Final = re.compile(
    r"([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})(?:[ ,T]+([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?))?"
)
_DIGITS: Final = re.compile(r"((?:19|20)[0-9]{2})(0[1-9]|1[0-2])([0-3][0-9])([0-2][0-9])([0-5][0-9])([0-5][0-9])\Z")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_USUAL: Final = "times are ISO 8601, such as `2026-11-15T08:00:00Z`, or numbers since 1970"


def read_timestamp(text: str) -> datetime:
    """The moment of ISO 8601, also with ` UTC` behind it; `ValueError` where it is not one.

    >>> read_timestamp("2026-11-15 08:00:00 UTC").isoformat(), read_timestamp("2026-11-15 08:00:00.5+0100").isoformat()
    ('2026-11-15T08:00:00+00:00', '2026-11-15T08:00:00.500000+01:00')
    """
    return datetime.fromisoformat(_UTC.sub("Z", text))


def written_instant(milliseconds: int) -> str:
    """An instant in milliseconds since 1970, always with three decimals, so that instants compare as their texts do.

    >>> written_instant(1_794_729_600_250)
    '2026-11-15T08:00:00.250Z'
    """
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


def proposed_writing(text: str) -> str:
    """How a time that is not ISO 8601 should be written.

    >>> proposed_writing("15/11/2026 08:00")
    'write the year first, as in `2026-11-15T08:00`'
    >>> proposed_writing("05/11/2026")
    'write `2026-11-05` or `2026-05-11`: which one is meant is not clear'
    >>> proposed_writing("2026-11-15 08:00:00 CET"), proposed_writing("20261115080000")
    ('write the offset in the place of `CET`, as in `2026-11-15 08:00:00+01:00`', 'write `2026-11-15T08:00:00`')
    """
    if match := _DIGITS.match(text):
        return f"write `{'-'.join(match.groups()[:3])}T{':'.join(match.groups()[3:])}`"
    if match := _YEAR_LAST.match(text):
        first, second, year, time = match.groups()
        behind = f"T{time.zfill(len(time) + (time[1] == ':'))}" if time else ""
        days = [(day, month) for day, month in ((first, second), (second, first)) if int(month) <= 12]
        written = [f"`{year}-{month.zfill(2)}-{day.zfill(2)}{behind}`" for day, month in days]
        if len({*written}) == 1:
            return f"write the year first, as in {written[0]}"
        return f"write {' or '.join(written)}: which one is meant is not clear" if written else _USUAL
    if match := _ZONE.match(text):
        return f"write the offset in the place of `{match[2]}`, as in `{match[1]}+01:00`"
    return _USUAL
