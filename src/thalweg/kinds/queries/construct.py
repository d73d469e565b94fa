"""The graph of a CONSTRUCT, from rows that come and go.

Every row makes the triples of the template. A triple is in the graph as long as some row makes it. A blank node of the
template is another one for every row, and has the same name whenever the same row comes again: so answers are the same
in every run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from thalweg.kinds.queries.evaluator import Row, Rows
from thalweg.languages.rspql.query import Query
from thalweg.model.rdf import fact_of, named
from thalweg.model.rdf import term as read_term
from thalweg.model.term import is_literal, is_number


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
