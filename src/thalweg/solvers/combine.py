"""The answers of parts become the answers of the whole.

Parts that have nothing to do with each other: every choice of one answer set from each is an answer set of the whole,
and one part without an answer set leaves the whole without one. Parts of a program with one answer set (communities)
are the same with one choice each: the union. Brave and cautious consequences also add up, because whatever a part does
in some or all of its answer sets, it does beside every answer set of the others. So do optimal answer sets: costs of
parts add up level by level, and in the order of costs adding the same on both sides changes nothing.
"""

from collections.abc import Sequence
from itertools import product

from thalweg.solvers.clingo import Solved


def combine(parts: Sequence[Solved]) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """The answer sets of the whole, sorted, and whether they are all that was asked for.

    Where a part found nothing within its time, nothing is known of the whole; one without an answer set decides.

    >>> combine([Solved((("a",), ("b",))), Solved((("c",),))])
    ((('a', 'c'), ('b', 'c')), True)
    >>> combine([Solved((("a",),), complete=False), Solved(())])
    ((), True)
    >>> combine([Solved((("a",),)), Solved((), complete=False)])
    ((), False)
    """
    if any(part.complete and not part.answers for part in parts):
        return (), True
    if len(parts) == 1:
        return parts[0].answers, parts[0].complete
    complete = all(part.complete for part in parts)
    every = product(*(part.answers for part in parts))
    return tuple(sorted({tuple(sorted({*_all(chosen)})) for chosen in every})), complete


def _all(chosen: Sequence[tuple[str, ...]]) -> list[str]:
    return [atom for answer in chosen for atom in answer]
