"""Rows of a query: what becomes of the solutions that begin and end.

    Solutions      columns of words, and the steps that are done with them
    Groups         solutions put together by keys, with the values of their aggregates as SPARQL has them
    Sieves         solutions, or groups of them, as facts for other rules
    RowCounter     rows of the query, counted, and spelled
    Constructed    the graph that rows of a CONSTRUCT make

A SELECT is linear: the rows that begin are those of the solutions that begin, as many times. DISTINCT counts solutions
by row. Each group of an aggregate keeps the bag of what is aggregated. Where all of it are plain numbers, count, sum
and the least and greatest are kept up as solutions come and go, so that a large group costs no more than a small one.
Everything else is asked anew of SPARQL, for all groups that have changed at once.

Every row of a CONSTRUCT makes the triples of the template. A triple is in the graph as long as some row makes it. A
blank node of the template is another one for every row, and has the same name whenever the same row comes again: so
answers are the same in every run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import heappop, heappush
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.kinds.queries.evaluator import Row, Rows, rdf_spelling
from thalweg.kinds.queries.sparql_expressions import UNBOUND, Asking, Words
from thalweg.languages.rspql.lowered import (
    Aggregation,
    Grouped,
    LoweredQuery,
    Sieve,
    SolutionRows,
    SparqlExpression,
    Step,
)
from thalweg.languages.rspql.query import Query
from thalweg.model.dictionary import Dictionary
from thalweg.model.number import LARGEST_INTEGER, LARGEST_MANTISSA, mantissa, scale
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import fact_of, named
from thalweg.model.rdf import term as read_term
from thalweg.model.term import is_literal, is_number

Key = tuple[int, ...]
_MOST_TEXTS: Final = 1 << 18

Changes = Mapping[Predicate, tuple[Words, Words]]
"""The rows of predicates that begin and end."""

_PLACES: Final = 18
"""SPARQL's decimals, and those that are summed up here, have as many places at most."""
_QUOTIENT: Final = SparqlExpression("(?s / ?n)", ("s", "n"))


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


def solutions(answer: SolutionRows, rows: Words, dictionary: Dictionary, asking: Asking) -> Solutions:
    """The solutions that rows of rules are, after the steps of their answer."""
    columns: dict[str, Words | int] = {name: rows[:, place] for place, name in enumerate(answer.columns)}
    columns |= {name: dictionary.code(term) for name, term in answer.constants}
    return stepped(Solutions(len(rows), columns), answer.steps, asking)


def solutions_of(
    answers: Iterable[SolutionRows], rows: Mapping[Predicate, Words], dictionary: Dictionary, asking: Asking
) -> list[Solutions]:
    """The solutions of each answer, of the rows of rules by their predicates."""
    return [
        solutions(answer, rows.get(answer.signature, no_rows(answer.signature)), dictionary, asking)
        for answer in answers
    ]


def answered(
    answers: Sequence[SolutionRows], changes: Changes, dictionary: Dictionary, asking: Asking
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
        rows: list[Key] = []
        for number, (key, *elements) in enumerate(zip(keys, *columns, strict=True)):
            changed[key] = None
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = Group(self._widths)
            group.size += sign
            for bag, element in zip(group.bags, elements, strict=True):
                if bag.change(element, sign):
                    rows = rows or list(map(tuple, solutions.matrix(sorted(solutions.columns)).tolist()))
                    bag.place(element, rows[number], sign)
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
            for bag in group.bags:
                yield from (word for element in bag.counts for word in element)
                yield from (word for rows in bag.rows.values() for row in rows for word in row)
        for values in self._values.values():
            yield from values


def _stacked(parts: Sequence[Words], width: int) -> Words:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, width), dtype=np.int64), *parts])


def _matrix(rows: Sequence[Key], width: int) -> Words:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


# Groups ---------------------------------------------------------------------------------------------------------------


class Bag:
    """Values of some variables with how often they are there; of one variable also what plain numbers add up to.

    What floating point numbers add up to depends on their order. It must not depend on the order in which they came: so
    of all that are not plain numbers the solutions are known that they stand in, and these have an order.
    """

    def __init__(self, width: int) -> None:
        self.counts: Counter[Key] = Counter()
        self.rows: dict[Key, Counter[Key]] = {}
        self._is_single = width == 1
        self._bound = self._odd = self._decimals = self._total = 0
        # Least and greatest first; what has gone is taken out when it comes to the top.
        self._heaps: dict[int, list[tuple[int, int]]] = {}

    def change(self, element: Key, by: int) -> bool:
        """Puts a value in, or takes it out; whether its solution must be put in (`place`), too."""
        count = self.counts[element] + by
        if count:
            self.counts[element] = count
        else:
            del self.counts[element]
        if not self._is_single:
            return True
        word = element[0]
        if word == UNBOUND:
            return False
        self._bound += by
        if word & 3 == 0 or scale(word) > _PLACES:
            self._odd += by
            return True
        self._decimals += by if word & 3 == 2 else 0
        self._total += by * _scaled(word)
        if by > 0 and count == by:
            for sign, heap in self._heaps.items():
                heappush(heap, (sign * _scaled(word), word))
        return False

    def place(self, element: Key, row: Key, by: int) -> None:
        """Puts a solution in which a value stands in, or takes it out."""
        rows = self.rows.setdefault(element, Counter())
        rows[row] += by
        if not rows[row]:
            del rows[row]
        if not rows:
            del self.rows[element]

    def in_order(self, asking: Asking) -> dict[Key, int]:
        """The values with how often they are there: plain numbers first, then others as their first solutions are."""
        plain = sorted(element for element in self.counts if element not in self.rows)
        firsts = {element: min(map(asking.order, rows)) for element, rows in self.rows.items()}
        return {element: self.counts[element] for element in (*plain, *sorted(firsts, key=firsts.__getitem__))}

    def value(self, aggregation: Aggregation) -> int | tuple[int, int] | None:
        """The word of an aggregate's value, for an average a sum and a number; None where SPARQL must be asked."""
        if not self._is_single or aggregation.argument != f"?{aggregation.variables[0]}":
            return None
        if aggregation.function == "COUNT":
            return (len(self.counts) - ((UNBOUND,) in self.counts) if aggregation.distinct else self._bound) << 2 | 1
        if self._odd or not self._bound or (UNBOUND,) in self.counts:
            return None
        if aggregation.function in ("MIN", "MAX"):
            return self._extreme(1 if aggregation.function == "MIN" else -1)
        if aggregation.distinct:
            return None
        total = _number(self._total, bool(self._decimals))
        return total if aggregation.function == "SUM" or total is None else (total, self._bound << 2 | 1)

    def _extreme(self, sign: int) -> int:
        if sign not in self._heaps:
            self._heaps[sign] = sorted((sign * _scaled(word), word) for (word,) in self.counts)
        heap = self._heaps[sign]
        while (heap[0][1],) not in self.counts:
            heappop(heap)
        return heap[0][1]


class Group:
    """How many solutions a group has, and a bag for each set of variables that is aggregated."""

    def __init__(self, widths: Sequence[int]) -> None:
        self.size = 0
        self.bags = [Bag(width) for width in widths]


def group_values(
    aggregations: Sequence[Aggregation],
    variables: Sequence[tuple[str, ...]],
    groups: Sequence[Group],
    asking: Asking,
) -> list[Key]:
    """For each group the words of its aggregates, `UNBOUND` where there is no value; `variables` has those of its bags.

    >>> from thalweg.model.dictionary import Dictionary
    >>> words, group = Dictionary(), Group([1])
    >>> for term in ("2", "3.5"):
    ...     _ = group.bags[0].change((words.code(term),), 1)
    >>> average = Aggregation("AVG", "?v", ("v",), False, "a")
    >>> [words.spell(word) for word, in group_values([average], [("v",)], [group], Asking(words))]
    ['2.75']
    """
    columns = []
    for aggregation in aggregations:
        if aggregation.argument == "*":
            columns.append([group.size << 2 | 1 for group in groups])
            continue
        bags = [group.bags[variables.index(aggregation.variables)] for group in groups]
        columns.append(_values(aggregation, bags, asking))
    return [tuple(column[place] for column in columns) for place in range(len(groups))]


def _values(aggregation: Aggregation, bags: Sequence[Bag], asking: Asking) -> list[int]:
    values = [bag.value(aggregation) for bag in bags]
    averages = [place for place, value in enumerate(values) if isinstance(value, tuple)]
    if averages:
        quotients = asking.values(_QUOTIENT, np.array([values[place] for place in averages], dtype=np.int64))
        for place, word in zip(averages, quotients.tolist(), strict=True):
            values[place] = word
    undecided = [place for place, value in enumerate(values) if value is None]
    for place, word in zip(
        undecided, asking.aggregated(aggregation, [bags[place].in_order(asking) for place in undecided]), strict=True
    ):
        values[place] = word
    return [value for value in values if isinstance(value, int)]


def _scaled(word: int) -> int:
    """A plain number, multiplied so that all of them are integers."""
    value: int = mantissa(word) * 10 ** (_PLACES - scale(word))
    return value


def _number(total: int, decimal: bool) -> int | None:
    """The word of a sum; None where it has too many digits for one.

    >>> from thalweg.model.number import show_number
    >>> [show_number(_number(total * 10**17, decimal)) for total, decimal in ((20, False), (20, True), (25, True))]
    ['2', '2.0', '2.5']
    """
    if not decimal:
        integer = total // 10**_PLACES
        return integer << 2 | 1 if abs(integer) <= LARGEST_INTEGER else None
    digits, places = total, _PLACES
    # A whole decimal keeps a place, or it would be an integer.
    while places > 1 and digits % 10 == 0:
        digits, places = digits // 10, places - 1
    return digits << 8 | places << 2 | 2 if abs(digits) <= LARGEST_MANTISSA else None


# Graphs ---------------------------------------------------------------------------------------------------------------


class Constructed:
    """What rows of a query are as triples.

    >>> from types import SimpleNamespace
    >>> query = SimpleNamespace(columns=("s",), template=(("?s", "<p>", "1"),))
    >>> graph = Constructed(query)
    >>> graph.change(Rows([("<a>",), ("<b>",)], [])).begin, graph.change(Rows([], [("<a>",)])).end
    ([('<a>', '<p>', '1'), ('<b>', '<p>', '1')], [('<a>', '<p>', '1')])
    """

    def __init__(self, query: Query) -> None:
        self._columns = query.columns
        self._template = query.template
        # Copies of a row differ in their blank nodes only.
        self._copies = any(term.startswith("_:") for triple in query.template for term in triple)
        self._rows: Counter[Row] = Counter()
        self._triples: Counter[Row] = Counter()

    def change(self, rows: Rows) -> Rows:
        """The triples that begin and end with rows."""
        changed: Counter[Row] = Counter()
        for row in rows.end:
            self._rows[row] -= 1
            self._take(changed, row, self._rows[row], -1)
            if not self._rows[row]:
                del self._rows[row]
        for row in rows.begin:
            self._take(changed, row, self._rows[row], 1)
            self._rows[row] += 1
        before = {triple for triple in changed if self._triples[triple]}
        self._triples.update(changed)
        now = {triple for triple in changed if self._triples[triple]}
        for triple in changed.keys() - now:
            del self._triples[triple]
        return Rows(sorted(now - before, key=str), sorted(before - now, key=str))

    def _take(self, changed: Counter[Row], row: Row, copy: int, sign: int) -> None:
        for triple in self._made(row, copy if self._copies else 0):
            changed[triple] += sign

    def _made(self, row: Row, copy: int) -> Iterator[Row]:
        """The triples that the template makes of a row; one with an unbound variable or a text as subject is none."""
        bindings = dict(zip(self._columns, row, strict=True))
        for triple in self._template:
            subject, predicate, target = (_filled(term, bindings, copy) for term in triple)
            if subject and predicate and target and not is_literal(subject) and predicate[0] == "<":
                yield subject, predicate, target

    def save(self) -> list[tuple[Row, int]]:
        """The rows that there are, and how often."""
        return list(self._rows.items())

    def load(self, saved: Iterable[tuple[Any, int]]) -> None:
        """Goes on with the rows that another one had."""
        self.change(Rows([tuple(row) for row, count in saved for _ in range(count)], []))


def _filled(term: str, bindings: dict[str, str | None], copy: int) -> str | None:
    if term.startswith("?"):
        return bindings.get(term[1:])
    if term.startswith("_:"):
        return "_:c" + sha256(repr((term, sorted(bindings.items()), copy)).encode()).hexdigest()[:16]
    return term


def fact_text(triple: Row) -> str:
    """A triple of a constructed graph as facts print.

    >>> fact_text(("<http://ex.org/a>", "<urn:thalweg:says>", '"hello"'))
    'says(<http://ex.org/a>,hello)'
    """
    subject, predicate, target = (term if term and is_number(term) else _as_fact(term or "") for term in triple)
    return str(fact_of(subject, predicate, target))


def _as_fact(term: str) -> str:
    return named(term) if term[0] == "<" else read_term(term) if term[0] == '"' else term
