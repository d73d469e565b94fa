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
    known: dict[str, NamedEvent] = {}
    found: list[Diagnostic] = []
    for one in events:
        if one.name in known:
            first = known[one.name].span
            line, column = first.source.position(first.start)
            note = f"the first one is at {first.source.name}:{line}:{column}"
            message = f"`{written(one.span)}` is defined twice"
            found.append(Diagnostic("E807", message, one.span, "give one of them another name", (note,)))
        known.setdefault(one.name, one)
    order: list[NamedEvent] = []
    rest = dict(known)
    while ready := [one for one in rest.values() if not any(name in rest for name in one.uses)]:
        order += ready
        for one in ready:
            del rest[one.name]
    return order, [*found, *(_circle(one, rest) for one in _in_circles(rest))]


def undefined(events: Sequence[NamedEvent], found: Sequence[Diagnostic]) -> Iterator[tuple[str, Diagnostic]]:
    """The names that patterns use and no text defines: what is wrong where nothing else of the run concludes them.

    A name with a prefix that was `found` to be unknown is reported for that alone.
    """
    known = {one.name: one for one in events}
    unread = {one.message for one in found if one.code == "E103"}
    for one in events:
        for used in occurrences(one.definition.operand) if isinstance(one.definition, Pattern) else ():
            name = written(used.span)
            if used.event not in known and unknown_prefix(name)[0] not in unread:
                close = nearest(Predicate(used.event, 1), (Predicate(name, 1) for name in known))
                help_ = f"define it: `NAMED EVENT {name} AS …`"
                if close is not None:
                    help_ = f"did you mean `{written(known[close.name].span)}`?"
                yield used.event, Diagnostic("E801", f"the event `{name}` is not defined", used.span, help_)


def too_many(selections: Sequence[Selection]) -> Iterator[Diagnostic]:
    """A run has one selection."""
    for one in selections[1:]:
        first = selections[0].span
        line, column = first.source.position(first.start)
        note = f"the first one is at {first.source.name}:{line}:{column}"
        help_ = "use one with several windows, or `UNION`"
        yield Diagnostic("E812", "there is another selection already", one.span, help_, (note,))


def _in_circles(rest: dict[str, NamedEvent]) -> list[NamedEvent]:
    """The definitions that reach themselves, without those that only use one that does."""
    return [one for one in rest.values() if _reaches(one, one.name, rest)]


def _reaches(one: NamedEvent, name: str, rest: dict[str, NamedEvent]) -> bool:
    seen: set[str] = set()
    waiting = list(one.uses)
    while waiting:
        used = waiting.pop()
        if used == name:
            return True
        if used in rest and used not in seen:
            seen.add(used)
            waiting += rest[used].uses
    return False


def _circle(one: NamedEvent, rest: dict[str, NamedEvent]) -> Diagnostic:
    used = [rest[name] for name in sorted(one.uses) if name in rest and _reaches(rest[name], one.name, rest)]
    way = " and ".join(f"`{written(each.span)}`" for each in used if each is not one)
    message = f"`{written(one.span)}` is made of itself{f', by way of {way}' if way else ''}"
    return Diagnostic("E802", message, one.span, "definitions cannot go round in a circle: leave one of the uses out")
