"""What is wrong with definitions as a whole: names that are unknown or defined twice, and circles.

NAMED EVENT :A { MATCH EVERY :B }       what a definition uses must be defined, or concluded, by some file of the run
NAMED EVENT :B { MATCH EVERY :A }       and never by way of itself
"""

from collections.abc import Iterator, Sequence

from thalweg.diagnostics import Diagnostic
from thalweg.ir.patterns import Pattern, occurrences
from thalweg.languages.cascade.event_definitions import NamedEvent, Selection
from thalweg.languages.cascade.token_reader import written
from thalweg.languages.rspql.names import unknown_prefix
from thalweg.model.predicate import Predicate
from thalweg.model.similar import nearest


def in_order(events: Sequence[NamedEvent]) -> tuple[list[NamedEvent], list[Diagnostic]]:
    """Definitions, each behind those that it uses, and what is wrong with them as a whole."""
    by_name: dict[str, NamedEvent] = {}
    diagnostics: list[Diagnostic] = []
    for event in events:
        if event.name in by_name:
            first = by_name[event.name].span
            line, column = first.source.position(first.start)
            note = f"the first one is at {first.source.name}:{line}:{column}"
            message = f"`{written(event.span)}` is defined twice"
            diagnostics.append(Diagnostic("E807", message, event.span, "give one of them another name", (note,)))
        by_name.setdefault(event.name, event)
    order: list[NamedEvent] = []
    remaining = dict(by_name)
    while ready := [event for event in remaining.values() if not any(name in remaining for name in event.uses)]:
        order += ready
        for event in ready:
            del remaining[event.name]
    return order, [*diagnostics, *(_circle(event, remaining) for event in _in_circles(remaining))]


def undefined(events: Sequence[NamedEvent], diagnostics: Sequence[Diagnostic]) -> Iterator[tuple[str, Diagnostic]]:
    """The names that patterns use and no text defines: what is wrong where nothing else of the run concludes them.

    A name whose prefix is unknown, as `diagnostics` say, is reported for that alone.
    """
    by_name = {event.name: event for event in events}
    unread = {diagnostic.message for diagnostic in diagnostics if diagnostic.code == "E103"}
    for event in events:
        for used in occurrences(event.definition.operand) if isinstance(event.definition, Pattern) else ():
            name = written(used.span)
            if used.event not in by_name and unknown_prefix(name)[0] not in unread:
                close = nearest(Predicate(used.event, 1), (Predicate(name, 1) for name in by_name))
                help_ = f"define it: `NAMED EVENT {name} AS …`"
                if close is not None:
                    help_ = f"did you mean `{written(by_name[close.name].span)}`?"
                yield used.event, Diagnostic("E801", f"the event `{name}` is not defined", used.span, help_)


def too_many(selections: Sequence[Selection]) -> Iterator[Diagnostic]:
    """Yields an error for every selection behind the first: a run has one."""
    for selection in selections[1:]:
        first = selections[0].span
        line, column = first.source.position(first.start)
        note = f"the first one is at {first.source.name}:{line}:{column}"
        help_ = "use one with several windows, or `UNION`"
        yield Diagnostic("E812", "there is another selection already", selection.span, help_, (note,))


def _in_circles(remaining: dict[str, NamedEvent]) -> list[NamedEvent]:
    """The definitions that reach themselves, without those that only use one that does."""
    return [event for event in remaining.values() if _reaches(event, event.name, remaining)]


def _reaches(event: NamedEvent, name: str, remaining: dict[str, NamedEvent]) -> bool:
    seen: set[str] = set()
    waiting = list(event.uses)
    while waiting:
        used = waiting.pop()
        if used == name:
            return True
        if used in remaining and used not in seen:
            seen.add(used)
            waiting += remaining[used].uses
    return False


def _circle(event: NamedEvent, remaining: dict[str, NamedEvent]) -> Diagnostic:
    used = [
        remaining[name]
        for name in sorted(event.uses)
        if name in remaining and _reaches(remaining[name], event.name, remaining)
    ]
    way = " and ".join(f"`{written(other.span)}`" for other in used if other is not event)
    message = f"`{written(event.span)}` is made of itself{f', by way of {way}' if way else ''}"
    return Diagnostic("E802", message, event.span, "definitions cannot go round in a circle: leave one of the uses out")
