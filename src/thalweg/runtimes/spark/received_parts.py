"""What tasks do about live streams: they read parts of what has come, and say how far time is."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from thalweg.connectors.readers import format_of
from thalweg.model.records import record
from thalweg.model.shipped import Shipped
from thalweg.runtimes.spark.recordings import ReadingOptions

_SELF_STANDING: Final = frozenset({"facts", "json", "triples"})
"""The formats whose lines stand for themselves."""

ReceivedKind = Literal["live", "recorded", "items"]
"""What comes as it is made, what the driver alone has but was recorded, and what it has decoded."""


@record
@dataclass(frozen=True)
class ReceivedSource(Shipped):
    """A stream that the driver receives: its number among the groups of streams, its name, and how it is read."""

    group: int
    name: str
    stream: str | None
    kind: ReceivedKind = "live"
    format: str | None = None

    @property
    def is_live(self) -> bool:
        return self.kind == "live"


@dataclass(frozen=True, slots=True)
class ReceivedPart:
    """What a group brought in some segments; in those of `begun` its transport began anew.

    `known` is what the task of an earlier batch has left; with `ended` the stream ends behind it.
    """

    group: int
    segments: tuple[int, ...]
    begun: frozenset[int] = frozenset()
    ended: bool = False
    known: "dict[str, Any] | None" = None
    lines: int = 0
    """How many lines other tasks read before it in this batch."""


def can_be_shared(source: ReceivedSource, known: "dict[str, Any] | None", reading: ReadingOptions) -> bool:
    """Whether several tasks can read whole lines of a stream, each from what was known before all of them.

    >>> from thalweg.model.time import Clock
    >>> line = {"rest": "", "skips": False, "line": 7}
    >>> [can_be_shared(ReceivedSource(0, "tcp://host:1", "host"), {"reader": state}, ReadingOptions(Clock()))
    ...  for state in ({"format": "json", "reader": line}, {"format": "trig", "reader": {}}, {"begun": "{"})]
    [True, False, False]
    """
    if known is None or known["reader"] is None or reading.mappings or reading.stated:
        return False
    state = known["reader"]
    format = state.get("format") or format_of(source.name)
    inner = state.get("reader", state)
    is_between_lines = not (
        inner.get("rest", "?") or inner["skips"] or inner.get("facts", {}).get("pending", "").strip()
    )
    return format in _SELF_STANDING and is_between_lines and reading.clock.zone is None and not reading.zones


@dataclass(frozen=True, slots=True)
class Beat:
    """How far time is by the machine's clock: the groups that are `resting`, and the ticks to which it has come.

    The ticks are those of the groups that go by it. Where a run `ends`, no group brings more.
    """

    resting: tuple[int, ...] = ()
    ticks: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    ends: bool = False
