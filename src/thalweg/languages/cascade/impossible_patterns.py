"""Patterns that no events can match, found without looking at the ontology.

    MATCH EVERY :A SEQ :B SEQ :C WITHIN (1 s)          three ticks, one after the other, take two seconds
    EVENT :A { ?o :value ?v . FILTER(?v > 15) FILTER(?v < 10) }
    MATCH EVERY :A SEQ :X                              where `:X` never happens

The shortest match of a pattern is computed from below: an event of a class lasts no time, a sequence as long as its
parts and the ticks between them, and a pattern with an open `NOT` as long as its bound.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.ir import patterns
from thalweg.ir.pattern_semantics import has_open_not
from thalweg.ir.patterns import Absent, Both, Clause, Either, Filter, Occurs, Operand, Pattern, occurrences
from thalweg.languages.cascade.event_definitions import NamedEvent
from thalweg.languages.cascade.token_reader import written
from thalweg.languages.lars.windows import spell

_NUMBER: Final = r"[+-]?\s*[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
_COMPARED: Final = re.compile(rf"\?(\w+)\s*(<=|>=|<|>|=)\s*({_NUMBER})")
_TURNED: Final = re.compile(rf"({_NUMBER})\s*(<=|>=|<|>|=)\s*\?(\w+)")
# A conjunction of comparisons, in tokens.
_PLAIN: Final = re.compile(rf"(?:[()\s]|&&|\?\w+|[<>]=?|=|{_NUMBER})+")
_TURN: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def impossible_patterns(
    events: Sequence[NamedEvent], tick_length: int, never: Collection[str] = ()
) -> Iterator[tuple[str, Diagnostic]]:
    """The names of patterns that nothing matches, with a warning for each; `never` are events that never happen.

    Definitions come behind those that they use.
    """
    shortest: dict[str, int | None] = dict.fromkeys(never)
    for event in events:
        if isinstance(event.definition, Pattern):
            warning = _impossible(event, event.definition, shortest, tick_length)
            if warning is not None:
                yield event.name, warning
            shortest[event.name] = None if warning is not None else _length(event.definition, shortest)


def _impossible(
    event: NamedEvent, pattern: Pattern, shortest: Mapping[str, int | None], tick_length: int
) -> Diagnostic | None:
    name = f"`{written(event.span)}` can never happen"
    excluded = [(clause.event, *exclusion) for clause in pattern.clauses for exclusion in _excluded(clause)]
    least = _shortest(pattern.operand, {**shortest, **{event_name: None for event_name, _, _ in excluded}})
    if least is not None:
        if pattern.within is None or least <= pattern.within:
            return None
        message = f"{name}: its events take at least {spell(least * tick_length)}, and `WITHIN` allows less"
        way_out = f"allow it, as in `WITHIN ({spell(least * tick_length)})`, or use a shorter `--tick`"
        return Diagnostic("W815", message, pattern.operand.span, way_out)
    used = [
        occurrence
        for occurrence in occurrences(pattern.operand, under_not=False)
        if shortest.get(occurrence.event, 0) is None
    ]
    if used:
        what = f"`{written(used[0].span)}`"
        way_out = f"correct {what}, or leave it out"
        return Diagnostic("W815", f"{name}, because {what} never does", used[0].span, way_out)
    if not excluded:
        message = f"{name}: the event that one part of an `AND` asks for is what its `NOT` excludes"
        return Diagnostic("W815", message, pattern.operand.span, "use `SEQ`, or exclude another event")
    _, variable, condition = excluded[0]
    message = f"{name}: no value of `?{variable}` satisfies all filters"
    return Diagnostic("W815", message, condition.span, "change one of the filters, or leave it out")


def _length(pattern: Pattern, shortest: Mapping[str, int | None]) -> int | None:
    """How long the shortest match lasts, in ticks."""
    places = frozenset(occurrence.place for occurrence in occurrences(pattern.operand))
    if not _has_branches(pattern.operand) and has_open_not(pattern.operand, places):
        return pattern.within
    return _shortest(pattern.operand, shortest)


def _has_branches(operand: Operand) -> bool:
    match operand:
        case Either():
            return True
        case patterns.Sequence(operands) | Both(operands):
            return any(map(_has_branches, operands))
    return False


def _shortest(operand: Operand, shortest: Mapping[str, int | None]) -> int | None:
    """How many ticks lie between the first and the last event of the shortest match; None where there is none."""
    if isinstance(operand, Occurs):
        return shortest.get(operand.event, 0)
    assert not isinstance(operand, Absent)
    lengths = [_shortest(inner, shortest) for inner in operand.operands if not isinstance(inner, Absent)]
    finite = [length for length in lengths if length is not None]
    if isinstance(operand, Either):
        return min(finite, default=None)
    if len(finite) < len(lengths) or _excluding(operand):
        return None
    return max(finite) if isinstance(operand, Both) else sum(finite) + len(finite) - 1


def _excluding(operand: Operand) -> bool:
    """Whether an `AND` excludes an event that it asks for: one event may fill both places, so each match has one."""
    if not isinstance(operand, Both):
        return False
    events = {inner.event for inner in operand.operands if isinstance(inner, Occurs)}
    absent = (inner.operand for inner in operand.operands if isinstance(inner, Absent))
    return any(isinstance(inner, Occurs) and inner.event in events for inner in absent)


def _excluded(clause: Clause) -> Iterator[tuple[str, Filter]]:
    """The variables of which no number satisfies all comparisons of a clause, each with the filter that excludes it."""
    compared: dict[str, list[tuple[str, Decimal]]] = {}
    for condition in clause.filters:
        for variable, sign, number in _comparisons(condition.text):
            conditions = compared.setdefault(variable, [])
            conditions.append((sign, number))
            if not _satisfiable(conditions):
                yield variable, condition


def _comparisons(text: str) -> Iterator[tuple[str, str, Decimal]]:
    """The comparisons of variables with numbers that a condition consists of; none where it has other parts.

    >>> list(_comparisons("( ?v > 15 && 20 >= ?v )")), list(_comparisons("( ?v > 15 || ?v < 3 )"))
    ([('v', '>', Decimal('15')), ('v', '<=', Decimal('20'))], [])
    """
    if not _PLAIN.fullmatch(text):
        return
    for piece in text.split("&&"):
        plain = piece.strip("() ")
        if comparison := _COMPARED.fullmatch(plain):
            yield comparison[1], comparison[2], Decimal(comparison[3].replace(" ", ""))
        elif comparison := _TURNED.fullmatch(plain):
            yield comparison[3], _TURN[comparison[2]], Decimal(comparison[1].replace(" ", ""))


def _satisfiable(compared: Sequence[tuple[str, Decimal]]) -> bool:
    """Whether some number satisfies all comparisons.

    >>> _satisfiable([(">", Decimal(15)), ("<", Decimal(10))]), _satisfiable([(">=", Decimal(3)), ("=", Decimal(3))])
    (False, True)
    """
    low = max((number for sign, number in compared if sign[0] in ">="), default=None)
    high = min((number for sign, number in compared if sign[0] in "<="), default=None)
    if low is None or high is None or low < high:
        return True
    return low == high and not any(sign in "<>" and number == low for sign, number in compared)
