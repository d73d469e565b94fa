"""SPARQL per window: any query, evaluated by pyoxigraph over graphs to which triples come and from which they go.

Each window is a named graph of one store. When it closes, the facts that entered are added to its graph and those that
left are taken away; nothing is loaded again. The query is asked anew whenever some graph has changed, so an evaluation
costs what the query costs on the whole dataset.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Diagnostic
from thalweg.kinds.queries.evaluator import QueryEvaluator, Row, Rows
from thalweg.languages.rspql.alternative_paths import alternatives_apart
from thalweg.languages.rspql.closings import Closings, closings_of
from thalweg.languages.rspql.graph_by_graph import graph_by_graph
from thalweg.languages.rspql.query import Query, StreamWindow
from thalweg.model.arrow import decode, encode
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.rdf import RDF_TYPE, as_resource, names_a_predicate
from thalweg.model.term import is_literal
from thalweg.solvers.sparql import SparqlStore, as_stored, is_known

Triple = tuple[str, str, str]
Report = Callable[[Diagnostic], None]

_NOTHING: Final = Dataset()


def triple_of(fact: Fact) -> Triple | None:
    """The triple that a fact is; None where it is none: by the number of its arguments, or with a text as subject.

    >>> triple_of(Fact("speed", ("<a>", "12"))), triple_of(Fact("<C>", ("<a>",)))[2], triple_of(Fact("jam", ("a",)))
    (('<a>', '<urn:thalweg:speed>', '12'), '<urn:thalweg:iri:C>', None)
    """
    name, terms = fact
    if not 1 <= len(terms) <= 2 or is_literal(terms[0]) or not names_a_predicate(name):
        return None
    resource = as_resource(name)
    return (terms[0], resource, terms[1]) if len(terms) == 2 else (terms[0], RDF_TYPE, resource)


class Triples:
    """Facts become triples; those that cannot are left out, with one warning."""

    def __init__(self, report: Report = lambda diagnostic: None) -> None:
        self._report = report
        self._is_reported = False

    def of(self, facts: Iterable[Fact]) -> Iterator[Triple]:
        for fact in facts:
            triple = triple_of(fact)
            if triple is not None and all(map(is_known, triple)):
                yield triple
            elif not self._is_reported:
                self._is_reported = True
                message = f"`{fact}` is not a triple, and queries do not see it; others like it are left out, too"
                help_ = "queries see facts with one argument or two, of which the first is an IRI or a blank node"
                self._report(Diagnostic("W608", message, help=help_))


class _Graph:
    """The graph of one window: what it shows, and what will enter when it closes."""

    def __init__(self, window: StreamWindow, store: SparqlStore) -> None:
        self.window = window
        self._store = store
        self._waiting: deque[tuple[int, Sequence[Triple]]] = deque()
        self._shown: deque[tuple[int, Sequence[Triple]]] = deque()
        self._counts: Counter[Triple] = Counter()
        self.closings: Closings | None = None
        self.closed: int | None = None

    def add(self, tick: int, triples: Sequence[Triple]) -> None:
        assert self.closings is not None
        if triples and self.closings.shows(tick) is not None:
            self._waiting.append((tick, triples))

    def move(self, tick: int) -> bool:
        """Shows what it showed last at a tick; whether that is something else than before."""
        assert self.closings is not None
        closing = self.closings.latest(tick)
        if closing is None or closing == self.closed:
            return False
        self.closed = closing
        changed: set[Triple] = set()
        while self._waiting and self._waiting[0][0] <= closing:
            entered = self._waiting.popleft()
            self._shown.append(entered)
            changed.update(triple for triple in entered[1] if not self._counts[triple])
            self._counts.update(entered[1])
        added = changed.copy()
        while self._shown and self._shown[0][0] <= closing - self.closings.size:
            for triple in self._shown.popleft()[1]:
                self._counts[triple] -= 1
                if not self._counts[triple]:
                    del self._counts[triple]
                    # What enters and leaves at once, behind a long slide, was never there.
                    changed.symmetric_difference_update((triple,))
        self._store.extend((triple for triple in changed if triple in added), self.window.name)
        for triple in changed - added:
            self._store.remove(triple, self.window.name)
        return bool(changed)

    def held(self) -> Iterator[tuple[int, Sequence[Triple]]]:
        yield from self._shown
        yield from self._waiting

    def matches(self, pattern: Sequence[str | None]) -> dict[Triple, list[int]]:
        """The triples that it shows and that match a pattern of terms as rows have them, with their ticks."""
        matched: dict[Triple, list[int]] = {}
        for tick, triples in self._shown:
            for triple in triples:
                if all(
                    term is None or as_stored(component) == term
                    for term, component in zip(pattern, triple, strict=True)
                ):
                    matched.setdefault(triple, []).append(tick)
        return matched


class PerWindow(QueryEvaluator):
    """A query at work; `background` is what it sees besides its windows."""

    def __init__(
        self,
        query: Query,
        background: Dataset,
        dictionary: Dictionary | None = None,
        report: Report = lambda diagnostic: None,
    ) -> None:
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self._query = query
        self._triples = Triples(report)
        self._store = SparqlStore(window.name for window in query.windows)
        self._store.extend(self._triples.of(background.default))
        graphs = {as_resource(name): facts for name, facts in background.named}
        for graph, facts in graphs.items():
            if is_known(graph):
                self._store.add_graph(graph)
                self._store.extend(self._triples.of(facts), graph)
        windows = [window.name for window in query.windows]
        self._named = None if query.named is None else [*query.named, *windows]
        self._text = graph_by_graph(alternatives_apart(query.text), self._named or [*graphs, *windows])
        self._graphs = [_Graph(window, self._store) for window in query.windows]
        self._rows: Counter[Row] | None = None
        self._first = 0

    def begin(self, first: int) -> None:
        self._first = first
        for graph in self._graphs:
            graph.closings = closings_of(graph.window, first)

    def add(self, tick: int, batches: Sequence[Batch]) -> None:
        for stream in dict.fromkeys(batch.stream for batch in batches):
            facts = (fact for batch in batches if batch.stream == stream for fact in batch.facts(self.dictionary))
            triples = tuple(dict.fromkeys(self._triples.of(facts)))
            for graph in self._graphs:
                if graph.window.stream == stream:
                    graph.add(tick, triples)

    def evaluate(self, tick: int) -> Rows:
        changes = [graph.move(tick) for graph in self._graphs]
        if self._rows is not None and not any(changes):
            return Rows([], [])
        before, self._rows = self._rows or Counter(), Counter(self.rows())
        return Rows([*(self._rows - before).elements()], [*(before - self._rows).elements()])

    def fill(self, windows: Mapping[str, Iterable[Fact]]) -> None:
        """Lets windows show some facts, by their names, in the place of what streams bring."""
        for name, facts in windows.items():
            self._store.extend(self._triples.of(facts), name)

    def rows(self, text: str | None = None) -> list[Row]:
        """All rows over what the windows show: of the query, or of another text that looks at the same graphs."""
        columns = self._query.columns if text is None else None
        return self._store.ask(text or self._text, self._query.default, self._named, columns)

    def matches(self, graph: str | None, pattern: Sequence[str | None]) -> dict[Triple, list[int]]:
        """The triples of a graph that match a pattern; those of a window with their ticks, those of others without."""
        for window in self._graphs:
            if window.window.name == graph:
                return window.matches(pattern)
        return {triple: [] for triple in self._store.triples(graph, pattern)}

    def words_in_use(self) -> NDArray[np.int64]:
        """None: triples are kept as text."""
        return np.zeros(0, dtype=np.int64)

    def snapshot(self) -> bytes:
        entries = [[number, tick, *triple] for number, graph in enumerate(self._graphs)
                for tick, triples in graph.held() for triple in triples]  # fmt: skip
        header = {
            "first": self._first,
            "closed": [graph.closed for graph in self._graphs],
            "asked": self._rows is not None,
        }
        numbers = np.array([entry[:2] for entry in entries], dtype=np.int64).reshape(-1)
        return encode(header, {"places": numbers, "terms": [term for entry in entries for term in entry[2:]]})

    def resume(self, data: bytes) -> None:
        header, lists = decode(data)
        self.begin(header["first"])
        places, terms = lists["places"].reshape(-1, 2).tolist(), lists["terms"].to_pylist()
        content: dict[tuple[int, int], list[Triple]] = {}
        for place, (number, tick) in enumerate(places):
            subject, predicate, target = terms[3 * place : 3 * place + 3]
            content.setdefault((number, tick), []).append((subject, predicate, target))
        for (number, tick), triples in content.items():
            self._graphs[number].add(tick, triples)
        for graph, closed in zip(self._graphs, header["closed"], strict=True):
            if closed is not None:
                graph.move(closed)
        if header["asked"]:
            self._rows = Counter(self.rows())


def answer_once(query: Query, windows: Mapping[str, Iterable[Fact]], background: Dataset = _NOTHING) -> list[Row]:
    """The rows of a query over windows with a given content, by their names, and a background; each row once a copy.

    >>> from thalweg.diagnostics import Source
    >>> from thalweg.languages.rspql.read_query import read_query
    >>> text = "SELECT ?s FROM NAMED WINDOW <http://w> ON <http://s> [RANGE 1] { WINDOW <http://w> { ?s ?p ?o } }"
    >>> query, _ = read_query(Source("q.rspql", text))
    >>> answer_once(query, {"<http://w>": [Fact("<http://p>", ("<http://a>", "1"))]})
    [('<http://a>',)]
    """
    evaluator = PerWindow(query, background)
    evaluator.fill(windows)
    return evaluator.rows()
