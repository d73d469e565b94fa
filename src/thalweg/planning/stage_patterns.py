"""Definitions of events in stages that can be spread over buckets.

    stage 0    classes of events: whole events in turn
    stage 1    patterns over them, split by a variable that all events of a match agree on
    stage 2    patterns over those of stage 1, split again

Each level is a stage of its own, because a clause may find a complex event by other terms than those it was made by.
A pattern that cannot be split is in one bucket; so are those above it that cannot be split either, with no stage
between them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thalweg.ir.patterns import Pattern, occurrences
from thalweg.planning.split_pattern import split_variable


@dataclass(frozen=True, slots=True)
class PatternStage:
    """The names of definitions that are matched together, each behind those that it uses; `reads` are the stages whose
    events they use. `keys` has the variable of each definition, and is empty where they are in one bucket.
    """

    number: int
    names: tuple[str, ...]
    reads: tuple[int, ...]
    keys: Mapping[str, str]

    @property
    def split(self) -> bool:
        return bool(self.keys)


def stage_patterns(definitions: Iterable[tuple[str, Pattern]]) -> tuple[PatternStage, ...]:
    """The stages of patterns, each of which comes behind those that it uses; stage 0 has the classes.

    >>> from thalweg.ir.patterns import Clause, Occurs, Sequence, Triple
    >>> at = [Clause(name, (Triple(f"?{name}", "<at>", "?l"),)) for name in "abd"]
    >>> pair = Pattern(Sequence((Occurs("a", 0), Occurs("b", 1))), "EVERY", clauses=tuple(at[:2]))
    >>> twice = Pattern(Sequence((Occurs("d", 0), Occurs("a", 1))), "EVERY", clauses=(at[2], at[0]))
    >>> stages = stage_patterns([("d", pair), ("e", twice), ("f", Pattern(Occurs("e", 0)))])
    >>> [(one.names, one.reads, one.split) for one in stages]
    [(('d',), (0,), True), (('e',), (0, 1), True), (('f',), (2,), False)]
    """
    levels: dict[str, tuple[int, bool]] = {}
    members: dict[tuple[int, bool], list[tuple[str, frozenset[str], str | None]]] = {}
    for name, pattern in definitions:
        uses = frozenset(occurrence.event for occurrence in occurrences(pattern.operand))
        key = split_variable(pattern)
        used = [levels[event] for event in uses if event in levels]
        below = max((level for level, _ in used), default=0)
        stays = key is None and below > 0 and all(alone for level, alone in used if level == below)
        place = levels[name] = below if stays else below + 1, key is None
        members.setdefault(place, []).append((name, uses, key))
    order = sorted(members)
    numbers = {name: number for number, place in enumerate(order, 1) for name, _, _ in members[place]}
    return tuple(_stage(number, members[place], numbers) for number, place in enumerate(order, 1))


def _stage(
    number: int, members: list[tuple[str, frozenset[str], str | None]], numbers: Mapping[str, int]
) -> PatternStage:
    read = {numbers.get(name, 0) for _, uses, _ in members for name in uses} - {number}
    keys = {name: key for name, _, key in members if key is not None}
    return PatternStage(number, tuple(name for name, _, _ in members), tuple(sorted(read)), keys)
