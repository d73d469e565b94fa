"""Matches that have begun: how far they are, and until when they can be completed."""

from typing import NamedTuple

from thalweg.ir.pattern_semantics import Instance, Solution
from thalweg.model.time import AS_TICKS, TimeFormat


def within_of(start: int, within: int | None) -> int | None:
    """The last tick of a match that began at a tick; None where nothing bounds it.

    >>> within_of(3, 10), within_of(3, None)
    (13, None)
    """
    return None if within is None else start + within


class Begun(NamedTuple):
    """A match that has begun: its events so far, what they bind, and the last tick at which it can be completed.

    It is `complete` where nothing but its time is missing: it is output then, unless a `NOT` is disturbed.
    """

    events: tuple[Instance, ...]
    bindings: Solution
    until: int | None
    complete: bool = False

    def lasts(self, now: int) -> bool:
        """Whether its time is not over."""
        return self.until is None or self.until > now

    def render(self, times: TimeFormat = AS_TICKS) -> str:
        listed = ", ".join(short(event, times) for event in self.events)
        bound = f" with {bound_text(self.bindings)}" if self.bindings else ""
        until = "" if self.until is None else times.text(self.until)
        if self.complete:
            return f"{listed}{bound}: is output at {until}, unless it is disturbed before"
        return f"{listed}{bound}: can be completed {f'until {until}' if until else 'for ever'}"

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        events = [event_summary(event, times) for event in self.events]
        until = None if self.until is None else times.data(self.until)
        return {"events": events, "bindings": dict(self.bindings), "until": until, "complete": self.complete}


def short(event: Instance, times: TimeFormat = AS_TICKS) -> str:
    """An event in a few words.

    >>> short(Instance("<A>", 3, 3, "<x>", "<g>"))
    '<A>(<x>) at 3 in <g>'
    """
    start, end = times.text(event.start), times.text(event.end)
    when = f"at {start}" if event.start == event.end else f"from {start} to {end}"
    if event.events:
        individuals = ", ".join(sorted(event.individuals))
        return f"{event.event} {when} of {individuals}"
    graph = f" in {event.graph}" if event.graph else ""
    return f"{event.event}({event.individual}) {when}{graph}"


def bound_text(bindings: Solution) -> str:
    """What is bound, as it is asked for in a query."""
    return " ".join(f"?{name}={term}" for name, term in bindings)


def event_summary(event: Instance, times: TimeFormat = AS_TICKS) -> dict[str, object]:
    """An event as data, without those that it is made of."""
    data: dict[str, object] = {"event": event.event, "from": times.data(event.start), "to": times.data(event.end)}
    if not event.events:
        data |= {"individual": event.individual, "graph": event.graph}
    return data
