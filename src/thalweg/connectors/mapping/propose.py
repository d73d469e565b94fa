"""A mapping that would fit: what an error proposes to those who have a table or a message, and no mapping yet."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from thalweg.connectors.mapping.mapping import spelled

_TIMES: Final = ("ts", "time", "timestamp", "datetime", "date", "at", "when", "t", "_time", "created", "observed")
_TIME: Final = re.compile(
    r"(?:^|[_\W])(?:ts|time|timestamp|date|datetime|zeit|zeitstempel|utc)(?:$|[_\W])", re.IGNORECASE
)
_WHO: Final = re.compile(
    r"(?:^|[_\W])(?:id|device|sensor|name|station|node|source|host|unit|machine)(?:$|[_\W\d])", re.IGNORECASE
)
_VALUES: Final = re.compile(r"[a-z][A-Za-z0-9_]*\Z")


def proposal(names: Sequence[str], has_header: bool = True, timed: bool = True) -> str:
    """A mapping for columns, as the help of an error.

    >>> proposal(["ts", "device_id", "temp", "hum"])
    "map its columns to facts, for example `--map 'temp(device_id, temp) at ts'`"
    """
    lead = "map its columns to facts, for example " if has_header else "it has no header: call its columns c1, c2, …: "
    return f"{lead}`--map '{mapping_for(names, timed=timed)}'`"


def proposal_for_message(message: Mapping[str, Any], timed: bool = True) -> str:
    """A mapping for an object of JSON, as the help of an error.

    >>> proposal_for_message({"ts": 1, "dev": "d1", "meta": {"temp": 3}})
    "map its keys to facts, for example `--map 'temp(dev, meta.temp) at ts'`"
    """
    return f"map its keys to facts, for example `--map '{mapping_for(list(_paths(message)), True, timed)}'`"


def mapping_for(names: Sequence[str], are_paths: bool = False, timed: bool = True) -> str:
    """A mapping that fits columns, as it is typed."""
    shown = list(names) if are_paths else [spelled(name) for name in dict.fromkeys(names)]
    plain = dict(zip(shown, names if are_paths else dict.fromkeys(names), strict=True))
    time = _time(plain) if timed else None
    rest = [one for one in shown if one != time] or shown
    who = next((one for one in rest if _WHO.search(plain[one])), rest[0])
    values = [one for one in rest if one != who]
    value = values[0] if values else None
    predicate = _predicate(plain[value if value is not None else who])
    arguments = ", ".join(one for one in (who, value) if one is not None)
    return f"{predicate}({arguments})" + (f" at {time or 'TIME'}" if timed else "")


def _time(names: Mapping[str, str]) -> str | None:
    exact = [one for wanted in _TIMES for one, name in names.items() if _last(name).lower() == wanted]
    return next(iter([*exact, *(one for one, name in names.items() if _TIME.search(name))]), None)


def _last(path: str) -> str:
    return re.split(r"[.\]]", path)[-1] or path


def _predicate(name: str) -> str:
    found = re.sub(r"\W+", "_", _last(name), flags=re.ASCII).strip("_").lower()
    return found if _VALUES.match(found) else "reading"


def _paths(message: Mapping[str, Any], before: str = "") -> "list[str]":
    """The paths to the values of a message; of an array, those of its first element."""
    found: list[str] = []
    for key, value in message.items():
        path = f"{before}{spelled(key)}"
        inner = value[0] if isinstance(value, list) and value else value
        each = "[]" if isinstance(value, list) else ""
        if isinstance(inner, dict):
            found += _paths(inner, f"{path}{each}.")
        else:
            found.append(path + each)
    return found
