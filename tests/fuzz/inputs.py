"""The input that a seed and a number stand for."""

from random import Random
from typing import Final

from fuzz.grammar import grammar_of, write
from fuzz.mutate import LONGEST, mutated
from fuzz.seeds import documents
from fuzz.targets import TARGETS, Target

_WEIGHTS: Final = [target.weight for target in TARGETS]


def nth_input(seed: int, number: int) -> tuple[Target, bytes]:
    """A target and a document for it.

    >>> nth_input(1, 7) == nth_input(1, 7)
    True
    """
    random = Random(f"{seed}/{number}")
    target = random.choices(TARGETS, _WEIGHTS)[0]
    known = documents(target.kind)
    data = random.choice(known)
    grammar = grammar_of(target.kind)
    if grammar is not None and random.random() < 0.6:
        data = write(random, grammar).encode()[:LONGEST]
        if random.random() < 0.4:
            return target, data
    return target, mutated(random, data, known, target.words)
