"""Solutions as columns of words, and the steps that are done with them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.kinds.queries.sparql_expressions import UNBOUND, Asking, Words
from thalweg.languages.rspql.lowered import Answer, Step
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate

Changes = Mapping[Predicate, tuple[Words, Words]]
"""The rows of predicates that begin and end."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """As many solutions as there are rows; a variable has a column of words, or one word for all."""

    size: int
    columns: Mapping[str, Words | int]

    def matrix(self, names: Sequence[str]) -> Words:
        """The words of some variables, `UNBOUND` where there is none."""
        words = np.empty((self.size, len(names)), dtype=np.int64)
        for place, name in enumerate(names):
            words[:, place] = self.columns.get(name, UNBOUND)
        return words

    def kept(self, mask: NDArray[np.bool_]) -> "Solutions":
        columns = {name: words if isinstance(words, int) else words[mask] for name, words in self.columns.items()}
        return Solutions(int(mask.sum()), columns)


def solutions(answer: Answer, rows: Words, dictionary: Dictionary, asking: Asking) -> Solutions:
    """The solutions that rows of rules are, after the steps of their answer."""
    columns: dict[str, Words | int] = {name: rows[:, place] for place, name in enumerate(answer.columns)}
    columns |= {name: dictionary.code(term) for name, term in answer.constants}
    return stepped(Solutions(len(rows), columns), answer.steps, asking)


def solutions_of(
    answers: Iterable[Answer], rows: Mapping[Predicate, Words], dictionary: Dictionary, asking: Asking
) -> list[Solutions]:
    """The solutions of each answer, of the rows of rules by their predicates."""
    return [
        solutions(answer, rows.get(answer.signature, no_rows(answer.signature)), dictionary, asking)
        for answer in answers
    ]


def answered(
    answers: Sequence[Answer], changes: Changes, dictionary: Dictionary, asking: Asking
) -> tuple[list[Solutions], list[Solutions]]:
    """The solutions of answers that begin and end."""
    begun, ended = ({name: rows[side] for name, rows in changes.items()} for side in (0, 1))
    return (
        solutions_of(answers, begun, dictionary, asking),
        solutions_of(answers, ended, dictionary, asking),
    )


def no_rows(name: Predicate) -> Words:
    """No rows of a predicate."""
    return np.zeros((0, name.arity), dtype=np.int64)


def stepped(solutions: Solutions, steps: Iterable[Step], asking: Asking) -> Solutions:
    """What is left of solutions after some steps, with what they bind."""
    for step in steps:
        if not solutions.size:
            break
        rows = solutions.matrix(step.asked.known)
        if step.into is None:
            solutions = solutions.kept(asking.holds(step.asked, rows))
        else:
            solutions = Solutions(solutions.size, {**solutions.columns, step.into: asking.values(step.asked, rows)})
    return solutions


def net(begun: Words, ended: Words) -> tuple[Words, Words]:
    """Bags of rows without what is in both.

    >>> [rows.tolist() for rows in net(np.array([[1, 2], [3, 4], [1, 2]]), np.array([[1, 2]]))]
    [[[1, 2], [3, 4]], []]
    """
    if not (len(begun) and len(ended)):
        return begun, ended
    width = begun.shape[1]
    if width == 0:
        change = len(begun) - len(ended)
        return begun[: max(change, 0)], ended[: max(-change, 0)]
    rows = np.concatenate((begun, ended))
    order = np.lexsort(rows.T)
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1))))
    signs = np.where(order < len(begun), 1, -1)
    counts = np.add.reduceat(signs, starts)
    firsts: Any = ordered[starts]
    return np.repeat(firsts, np.maximum(counts, 0), axis=0), np.repeat(firsts, np.maximum(-counts, 0), axis=0)
