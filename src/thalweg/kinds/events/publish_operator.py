"""Events become facts, which other parts of a plan read: what all buckets know of a tick is put together first.

A fact is given once, although several buckets may know events of which it is one: those of a class about one
individual, and matches of the same events that bind different terms.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from thalweg.answers.event_answers import ordered_lines
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Exchange, Multicast
from thalweg.dataflow.operator import HeldKey, Operator, OpSpec, Output, Share, Updates
from thalweg.dataflow.state import StateFormat
from thalweg.ir.pattern_semantics import Instance
from thalweg.kinds.events.event_stream import facts_of, output_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.kinds.events import EventCascade


@dataclass(frozen=True)
class ToPublisher(Multicast):
    """Sends lines of events to one bucket, and nothing that patterns are matched with."""

    def addresses(self, context: Context, buckets: range) -> Callable[[Any], Iterable[int]]:
        return lambda record: () if isinstance(record, Instance) else buckets[:1]


@dataclass(frozen=True)
class PublishSpec(OpSpec):
    """The events of a cascade as answers, and as facts of the stream with its name."""

    part: "EventCascade"

    reads_streams = False
    gives_events: ClassVar[bool] = True

    def held_routes(self, key: HeldKey) -> tuple[tuple[Predicate, Exchange], ...]:
        """Conclusions become events where these are classified."""
        return ()

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "Publish":
        return Publish(self.part.program.name, self.part.output, dictionary)


class Publish(Operator):
    """Puts together what buckets know of the events of a tick."""

    format: ClassVar[StateFormat] = StateFormat("publish")

    def __init__(self, name: str, output: frozenset[str], dictionary: Dictionary) -> None:
        self._name = name
        self._output = output
        self._dictionary = dictionary

    def advance(self, tick: int, updates: Updates) -> list[Output]:
        lines = [record for record in updates.records if not isinstance(record, Instance)]
        if not lines:
            return []
        events = ordered_lines(lines)
        return [output_of(tick, events, self._output, facts_of(events), self._dictionary, self._name)]

    def save(self) -> bytes:
        """Nothing waits between two ticks."""
        return b""

    def load(self, data: bytes) -> None:
        """There is nothing to load."""
