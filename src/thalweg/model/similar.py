"""Names that are easily taken for each other: a slip of the finger, another case, another number of arguments.

tempp/2   temp/2                        one letter too many
Temp/2    temp/2                        another case
temp/1    temp/2                        another number of arguments
speed/2   <http://example.org/speed>/2  a name, and the IRI that ends in it
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from thalweg.model.predicate import Predicate

_DIGITS: Final = re.compile(r"[0-9]+")
_SHORTEST: Final = 4
"""Letters that a name needs for one of them to be a slip (`on` and `in` are two words); one less for two swapped."""
_LONGEST: Final = 60
"""Letters beyond which names are not compared letter by letter."""
_BEGINNING: Final = 12
"""Letters by which names that may be a slip apart are looked up."""

_Slip = tuple[str, str, int, tuple[str, ...]]


def nearest(predicate: Predicate, candidates: Iterable[Predicate], loose: bool = True) -> Predicate | None:
    """The predicate that is most likely meant; None where none is similar.

    Where it is not `loose`, only the case or the number of arguments may differ.

    >>> nearest(Predicate("tempp", 2), [Predicate("light", 2), Predicate("temp", 2)])
    'temp/2'
    >>> nearest(Predicate("lane1", 2), [Predicate("lane2", 2)]), nearest(Predicate("jma", 1), [Predicate("jam", 1)])
    (None, 'jam/1')
    """
    ranked = [(rank, candidate) for candidate in candidates if (rank := _rank(predicate, candidate, loose)) is not None]
    return min(ranked)[1] if ranked else None


class Similar:
    """Predicates, kept so that those similar to one are found without comparing it with all.

    >>> similar = Similar([Predicate("light", 2), Predicate("temp", 2), Predicate("Tempp", 1)])
    >>> similar.candidates(Predicate("tempp", 2)), similar.candidates(Predicate("tempp", 2), loose=False)
    (['Tempp/1', 'temp/2'], ['Tempp/1'])
    """

    def __init__(self, predicates: Iterable[Predicate]) -> None:
        self._predicates = tuple(predicates)

    def candidates(self, predicate: Predicate, loose: bool = True) -> list[Predicate]:
        """The predicates that `nearest` has to choose from."""
        same = self._by_name.get(local_name(predicate.name).lower(), ())
        slips = [other for key in _slips(predicate) for other in self._by_slip.get(key, ())] if loose else ()
        return list(dict.fromkeys((*same, *slips)))

    @cached_property
    def _by_name(self) -> dict[str, list[Predicate]]:
        by_name: dict[str, list[Predicate]] = {}
        for predicate in self._predicates:
            by_name.setdefault(local_name(predicate.name).lower(), []).append(predicate)
        return by_name

    @cached_property
    def _by_slip(self) -> dict[_Slip, list[Predicate]]:
        by_slip: dict[_Slip, list[Predicate]] = {}
        for predicate in self._predicates:
            for key in _slips(predicate):
                by_slip.setdefault(key, []).append(predicate)
        return by_slip


def _slips(predicate: Predicate) -> Iterator[_Slip]:
    """What names that are two slips apart have in common: their beginnings, with up to two letters left out."""
    name = local_name(predicate.name)
    if len(name) > _LONGEST:
        return
    context = _space(predicate.name), predicate.arity, tuple(_DIGITS.findall(name))
    start = name[:_BEGINNING].lower()
    letters = range(len(start))
    pairs = ((first, second) for first in letters for second in letters if first < second)
    shorter = {start[:first] + start[first + 1 : second] + start[second + 1 :] for first, second in pairs}
    shorter |= {start[:place] + start[place + 1 :] for place in letters}
    yield from ((beginning, *context) for beginning in sorted({start} | shorter))


def _rank(first: Predicate, second: Predicate, loose: bool) -> int | None:
    """How far a predicate is from another; None where it is too far."""
    if first == second:
        return None
    if first.name == second.name:
        return 0
    left, right = local_name(first.name), local_name(second.name)
    together = _space(first.name) == _space(second.name)
    if left.lower() == right.lower() and (together or loose):
        return 1 + (first.arity != second.arity) + 2 * (not together)
    # `lane1` and `lane2` are two names on purpose.
    numbered = _DIGITS.findall(left) != _DIGITS.findall(right)
    if not loose or not together or first.arity != second.arity or numbered:
        return None
    length = max(len(left), len(right))
    if length > _LONGEST or abs(len(left) - len(right)) > 2:
        return None
    distance = _distance(left.lower(), right.lower())
    long_enough = length >= _SHORTEST - (sorted(left) == sorted(right))
    return 4 + distance if long_enough and distance <= (1 if length < 2 * _SHORTEST else 2) else None


def local_name(name: str) -> str:
    """The end of an IRI, which people take for its name; all of any other name.

    >>> local_name("<http://example.org/city#Camera>"), local_name("camera")
    ('Camera', 'camera')
    """
    if name[0] != "<":
        return name
    text = name[1:-1]
    text = text[:-1] if text.endswith(("/", "#")) else text
    return text[max(map(text.rfind, "/#:<>")) + 1 :] or name


def _space(name: str) -> str:
    return name.removesuffix(">").removesuffix(local_name(name)) if name[0] == "<" else ""


def _distance(first: str, second: str) -> int:
    """How many letters to insert, delete, replace or swap with the next one.

    >>> _distance("speed", "sepde"), _distance("temp", "tempp")
    (2, 1)
    """
    before, last = list[int](), list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        line = [row]
        for column, opposite in enumerate(second, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != opposite))
            swapped = row > 1 and column > 1 and first[row - 2] == opposite and second[column - 2] == letter
            line.append(min(cost, before[column - 2] + 1) if swapped else cost)
        before, last = last, line
    return last[-1]
