"""The answers of parts become the answers of the whole.

Parts that have nothing to do with each other: every choice of one answer set from each is an answer set of the whole,
and one part without an answer set leaves the whole without one. Parts of a program with one answer set (communities)
are the same with one choice each: the union. Brave and cautious consequences also add up, because whatever a part does
in some or all of its answer sets, it does beside every answer set of the others. So do optimal answer sets: costs of
parts add up level by level, and in the order of costs adding the same on both sides changes nothing.
"""

from collections.abc import Sequence
from itertools import chain, product
from math import prod
from time import perf_counter

from thalweg.solvers.clingo import Solved


def combine(parts: Sequence[Solved], until: float | None = None) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """The answer sets of the whole, sorted, and whether they are all that was asked for.

    Where a part found nothing within its time, nothing is known of the whole; one without an answer set decides.
    There may be far more combinations than answer sets of parts: at the time `until` it is enough, as soon as every
    answer set of every part is in one.

    >>> combine([Solved((("a",), ("b",))), Solved((("c",),))])
    ((('a', 'c'), ('b', 'c')), True)
    >>> combine([Solved((("a",),), complete=False), Solved(())])
    ((), True)
    >>> combine([Solved((("a",),)), Solved((), complete=False)])
    ((), False)
    >>> combine([Solved((("a",), ("b",))), Solved((("c",), ("d",)))], until=0.0)
    ((('a', 'c'), ('b', 'd')), False)
    """
    if any(part.complete and not part.answers for part in parts):
        return (), True
    complete = all(part.complete for part in parts)
    sizes = [len(part.answers) for part in parts]
    if not all(sizes):
        return (), False
    answer_sets = {
        _union([part.answers[number % size] for part, size in zip(parts, sizes, strict=True)])
        for number in range(max(sizes, default=1))
    }
    if prod(sizes) > max(sizes, default=1):
        for chosen in product(*(part.answers for part in parts)):
            if until is not None and perf_counter() > until:
                complete = False
                break
            answer_sets.add(_union(chosen))
    return tuple(sorted(answer_sets)), complete


def _union(answers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Sorted, each once; quick because the answers are sorted.

    >>> _union([("a", "c"), ("b", "c")])
    ('a', 'b', 'c')
    """
    return answers[0] if len(answers) == 1 else tuple(dict.fromkeys(sorted(chain.from_iterable(answers))))
