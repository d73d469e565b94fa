"""What becomes of the solutions that begin and end: rows of the query, counted, grouped, and spelled.

A SELECT is linear: the rows that begin are those of the solutions that begin, as many times. DISTINCT counts solutions
by row. An aggregate keeps the bag of each group, and SPARQL is asked for the groups that have changed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from thalweg.kinds.queries.evaluator import Row, Rows, rdf_spelling
from thalweg.kinds.queries.group_values import Group, group_values
from thalweg.kinds.queries.solutions import Changes, Solutions, answered, net, solutions_of, stepped
from thalweg.kinds.queries.sparql_expressions import UNBOUND, Asking, Words
from thalweg.languages.rspql.lowered import Grouped, LoweredQuery, Sieve
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate

Key = tuple[int, ...]
_MOST_TEXTS: Final = 1 << 18


class RowCounter:
    """The rows of one query: the last operators, after its rules."""

    def __init__(self, query: LoweredQuery, dictionary: Dictionary, asking: Asking) -> None:
        self._tail = query.tail
        self._dictionary = dictionary
        self._asking = asking
        self._texts: dict[int, str | None] = {UNBOUND: None}
        self._collections = dictionary.collections
        self._counts: Counter[Key] = Counter()
        self._groups = Groups(query.tail.grouped, dictionary, asking) if query.tail.grouped else None
        # Where nothing is left out of the rows of one answer, none of them can begin and end at once.
        shown = [set(answer.columns) <= set(query.tail.columns) and not answer.steps for answer in query.answers]
        self._is_injective = len(shown) == 1 and shown[0]

    def change(self, begun: Sequence[Solutions], ended: Sequence[Solutions]) -> Rows:
        """The rows that begin and end with solutions."""
        return Rows(*map(self._spelled, self.changed(begun, ended)))

    def changed(self, begun: Sequence[Solutions], ended: Sequence[Solutions]) -> tuple[Words, Words]:
        """The rows that begin and end, as words."""
        if self._groups is not None:
            plus, minus = self._groups.change(begun, ended)
            begun, ended = [plus], [minus]
        begin, end = (_stacked([solutions.matrix(self._tail.columns) for solutions in batches], len(self._tail.columns))
                      for batches in (begun, ended))  # fmt: skip
        if self._tail.distinct:
            return self._distinct(begin, end)
        return (begin, end) if self._is_injective else net(begin, end)

    def _distinct(self, begin: Words, end: Words) -> tuple[Words, Words]:
        change = Counter(map(tuple, begin.tolist()))
        change.subtract(map(tuple, end.tolist()))
        came, went = [], []
        for row, difference in change.items():
            if not difference:
                continue
            before = self._counts[row]
            self._counts[row] += difference
            if not before:
                came.append(row)
            elif not self._counts[row]:
                went.append(row)
                del self._counts[row]
        width = len(self._tail.columns)
        return _matrix(came, width), _matrix(went, width)

    def _spelled(self, rows: Words) -> list[Row]:
        if not len(rows):
            return []
        if not rows.shape[1]:
            return [()] * len(rows)
        if self._collections != self._dictionary.collections or len(self._texts) > _MOST_TEXTS:
            self._texts, self._collections = {UNBOUND: None}, self._dictionary.collections
        return list(zip(*map(self._column, rows.T), strict=True))

    def _column(self, words: Words) -> list[str | None]:
        texts, listed = self._texts, words.tolist()
        for word in {*listed} - texts.keys():
            texts[word] = rdf_spelling(self._dictionary.spell(word))
        return [texts[word] for word in listed]

    def words_in_use(self) -> Words:
        rows = [word for row in self._counts for word in row]
        words = self._groups.words() if self._groups is not None else []
        return np.array([*rows, *words], dtype=np.int64)


class Sieves:
    """What passes sieves of rows of rules, which begin and end."""

    def __init__(self, sieves: Iterable[Sieve], dictionary: Dictionary, asking: Asking) -> None:
        self._dictionary = dictionary
        self._asking = asking
        self._groups = {
            sieve: Groups(sieve.grouped, dictionary, asking) for sieve in sieves if sieve.grouped is not None
        }

    def passed(self, sieve: Sieve, changes: Changes) -> dict[Predicate, tuple[Words, Words]]:
        """What begins and ends behind a sieve, by the variables that are bound."""
        begun, ended = answered(sieve.answers, changes, self._dictionary, self._asking)
        if sieve in self._groups:
            plus, minus = self._groups[sieve].change(begun, ended)
            begun, ended = [plus], [minus]
        return {
            target: (_bound_rows(begun, columns, sieve.loose), _bound_rows(ended, columns, sieve.loose))
            for target, columns in sieve.targets
        }

    def resume(self, standing: Mapping[Predicate, Words]) -> None:
        """Goes on with the rows that there were before."""
        for sieve, groups in self._groups.items():
            groups.change(solutions_of(sieve.answers, standing, self._dictionary, self._asking), [])

    def words(self) -> Words:
        return np.array([word for groups in self._groups.values() for word in groups.words()], dtype=np.int64)


def _bound_rows(batches: Iterable[Solutions], columns: Sequence[str], loose: Iterable[str]) -> Words:
    """The rows in which just the variables of some columns are bound, of those that may be unbound."""
    parts = []
    for solutions in batches:
        mask = np.ones(solutions.size, dtype=bool)
        for name in loose:
            bound = solutions.matrix((name,))[:, 0] != UNBOUND
            mask &= bound if name in columns else ~bound
        parts.append(solutions.matrix(columns)[mask])
    return _stacked(parts, len(columns))


class Groups:
    """The groups of an aggregate, by their keys, and the solution that each was last."""

    def __init__(self, grouped: Grouped, dictionary: Dictionary, asking: Asking) -> None:
        self._grouped = grouped
        self._dictionary = dictionary
        self._asking = asking
        self._computed = [aggregation for aggregation in grouped.aggregations if aggregation.function != "key"]
        self._variables = list(
            dict.fromkeys(aggregation.variables for aggregation in self._computed if aggregation.argument != "*")
        )
        self._widths = [len(names) for names in self._variables]
        self._groups: dict[Key, Group] = {(): Group(self._widths)} if grouped.always else {}
        self._values: dict[Key, Key] = {}
        self._columns = (*grouped.keys, *(aggregation.into for aggregation in self._computed))
        self._is_new = True

    def change(self, begun: Iterable[Solutions], ended: Iterable[Solutions]) -> tuple[Solutions, Solutions]:
        """The solutions of groups that begin and end."""
        changed: dict[Key, None] = {(): None} if self._is_new and self._grouped.always else {}
        self._is_new = False
        for batches, sign in ((begun, 1), (ended, -1)):
            for solutions in batches:
                changed |= self._take(solutions, sign)
        old = [(*key, *self._values.pop(key)) for key in changed if key in self._values]
        for key in changed:
            if not self._groups[key].size and not self._grouped.always:
                del self._groups[key]
        living = [key for key in changed if key in self._groups]
        groups = [self._groups[key] for key in living]
        aggregates = group_values(self._computed, self._variables, groups, self._asking)
        self._values.update(zip(living, aggregates, strict=True))
        new = [(*key, *values) for key, values in zip(living, aggregates, strict=True)]
        begin, end = net(_matrix(new, len(self._columns)), _matrix(old, len(self._columns)))
        return self._solutions(begin), self._solutions(end)

    def _take(self, solutions: Solutions, sign: int) -> dict[Key, None]:
        """Puts solutions into their groups, or takes them out; the keys of these."""
        changed: dict[Key, None] = {}
        keys = map(tuple, solutions.matrix(self._grouped.keys).tolist())
        columns = [map(tuple, solutions.matrix(names).tolist()) for names in self._variables]
        for key, *elements in zip(keys, *columns, strict=True):
            changed[key] = None
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = Group(self._widths)
            group.size += sign
            for bag, element in zip(group.bags, elements, strict=True):
                bag.change(element, sign)
        return changed

    def _solutions(self, rows: Words) -> Solutions:
        columns: dict[str, Words | int] = {name: rows[:, place] for place, name in enumerate(self._columns)}
        for aggregation in self._grouped.aggregations:
            if aggregation.function == "key":
                columns[aggregation.into] = columns[aggregation.argument]
        return stepped(Solutions(len(rows), columns), self._grouped.steps, self._asking)

    def words(self) -> Iterable[int]:
        for key, group in self._groups.items():
            yield from key
            for element in (element for bag in group.bags for element in bag.counts):
                yield from element
        for values in self._values.values():
            yield from values


def _stacked(parts: Sequence[Words], width: int) -> Words:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, width), dtype=np.int64), *parts])


def _matrix(rows: Sequence[Key], width: int) -> Words:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)
