"""pyoxigraph as the yardstick of queries: what it answers, and when two answers are the same.

The only module beside the product that imports it. An answer is what a query gives at one evaluation: a truth value, a
set of triples, or a bag of rows. Two of them are compared as graphs, each row a node of its own, so that blank nodes
may have any names; numbers and booleans are compared by datatype and value, whatever their spelling, to the digits that
do not depend on the order of calculation.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox

from thalweg.model.rdf import XSD, as_ntriples

RESULT_SET: Final = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_ROW: Final = "urn:row:"
_EXACT: Final = {f"{XSD}{name}" for name in ("integer", "decimal")}
_FLOATING: Final = {f"{XSD}{name}" for name in ("double", "float")}
# An average that never ends is cut off at any digit behind these, and a sum of floating-point numbers has no order.
_DIGITS: Final = Context(prec=15)
_BOOLEANS: Final = {"0": "false", "1": "true"}
_RESULTS: Final = {".srx": ox.QueryResultsFormat.XML, ".srj": ox.QueryResultsFormat.JSON}

Row = Mapping[str, Any]
"""A row of a SELECT: the nodes that its variables are bound to."""


@dataclass(frozen=True, slots=True)
class SparqlAnswer:
    """A truth value, triples, or rows; whether the order of rows counts."""

    value: bool | None = None
    triples: tuple[Any, ...] = ()
    rows: tuple[Row, ...] = ()
    ordered: bool = False

    def __str__(self) -> str:
        if self.value is not None:
            return "true" if self.value else "false"
        return f"{len(self.triples)} triples" if self.triples else f"{len(self.rows)} rows"


def ask(data: Any, query: str, base: str, ordered: bool = False) -> SparqlAnswer:
    """The answer of pyoxigraph; `SyntaxError` if it does not read the query.

    >>> str(ask(ox.Store(), "SELECT ?x { VALUES ?x { 1 2 } }", "http://example.org/"))
    '2 rows'
    """
    return _answer(data.query(query, base_iri=base), ordered)


def _answer(result: Any, ordered: bool = False) -> SparqlAnswer:
    if isinstance(result, ox.QueryBoolean):
        return SparqlAnswer(bool(result))
    if isinstance(result, ox.QueryTriples):
        return SparqlAnswer(triples=tuple(result))
    names = [variable.value for variable in result.variables]
    rows = ({name: node for name in names if (node := row[name]) is not None} for row in result)
    return SparqlAnswer(rows=tuple(rows), ordered=ordered)


def store(default: Iterable[Path], named: Iterable[Path], base: str) -> Any:
    """A store of documents: some in the default graph, others in graphs with the names of their files."""
    dataset = ox.Store()
    for path in default:
        dataset.load(path=str(path), base_iri=f"{base}{path.name}")
    for path in named:
        name = ox.NamedNode(f"{base}{path.name}")
        dataset.add_graph(name)
        dataset.load(path=str(path), base_iri=name.value, to_graph=name)
    return dataset


def read_answer(path: Path, base: str, ordered: bool = False) -> SparqlAnswer:
    """The expected answer in a file: results in XML or JSON, a graph, or a graph that describes rows."""
    if path.suffix in _RESULTS:
        return _answer(ox.parse_query_results(path=str(path), format=_RESULTS[path.suffix]), ordered)
    graph = ox.Store()
    graph.load(path=str(path), base_iri=f"{base}{path.name}")
    if not bool(graph.query(f"ASK {{ ?s a <{RESULT_SET}ResultSet> }}")):
        return SparqlAnswer(triples=tuple(quad.triple for quad in graph))
    return SparqlAnswer(rows=tuple(_described_rows(graph)), ordered=ordered)


def _described_rows(graph: Any) -> Iterable[Row]:
    """The rows that a graph describes in the W3C's vocabulary of result sets."""
    solutions = graph.query(
        f"PREFIX rs: <{RESULT_SET}> SELECT ?row ?name ?value {{ ?set rs:solution ?row . "
        "OPTIONAL { ?row rs:binding [ rs:variable ?name ; rs:value ?value ] } }"
    )
    rows: dict[Any, dict[str, Any]] = {}
    for row in solutions:
        bindings = rows.setdefault(row["row"], {})
        if row["name"] is not None:
            bindings[row["name"].value] = row["value"]
    return rows.values()


def read_rows(text: str) -> SparqlAnswer:
    r"""The rows in a text of SPARQL's JSON or TSV.

    >>> str(read_rows("?x\n1\n2\n"))
    '2 rows'
    """
    format = ox.QueryResultsFormat.JSON if text.startswith("{") else ox.QueryResultsFormat.TSV
    return _answer(ox.parse_query_results(text, format))


def read_bindings(rows: Iterable[Mapping[str, str]]) -> SparqlAnswer:
    """The rows that Thalweg prints, `{"x":"<a>","n":"3"}`.

    >>> read_bindings([{"n": "3"}]).rows[0]["n"].datatype
    <NamedNode value=http://www.w3.org/2001/XMLSchema#integer>
    """
    return SparqlAnswer(rows=tuple({name: node(term) for name, term in row.items()} for row in rows))


@lru_cache(maxsize=65_536)
def node(term: str) -> Any:
    """A term as pyoxigraph has it."""
    return next(iter(ox.parse(f"<urn:s> <urn:p> {as_ntriples(term)} .", format=ox.RdfFormat.N_TRIPLES))).object


def same(first: SparqlAnswer, second: SparqlAnswer) -> bool:
    """Whether two answers are equal up to the names of blank nodes.

    >>> a, b = ox.BlankNode(), ox.BlankNode()
    >>> same(SparqlAnswer(rows=({"x": a, "y": b},)), SparqlAnswer(rows=({"x": b, "y": a},)))
    True
    >>> same(SparqlAnswer(rows=({"x": a, "y": b},)), SparqlAnswer(rows=({"x": a, "y": a},)))
    False
    """
    ordered = first.ordered and second.ordered
    if len(first.rows) != len(second.rows):
        return False
    return first.value == second.value and _graph(first, ordered) == _graph(second, ordered)


def _graph(answer: SparqlAnswer, ordered: bool) -> Any:
    graph = ox.Dataset(ox.Quad(*map(_by_value, triple)) for triple in answer.triples)
    rows = [{name: _by_value(node) for name, node in row.items()} for row in answer.rows]
    for number, (row, times) in enumerate(zip(rows, range(len(rows)), strict=True) if ordered else _counted(rows)):
        place = ox.BlankNode(f"row{number}")
        graph.add(ox.Quad(place, ox.NamedNode(_ROW), ox.Literal(times)))
        for name, value in row.items():
            graph.add(ox.Quad(place, ox.NamedNode(f"{_ROW}{name}"), value))
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return graph


def _counted(rows: Sequence[Row]) -> Iterable[tuple[Row, int]]:
    """Equal rows as one, with their number: that keeps graphs of many equal rows easy to compare."""
    return ((dict(row), times) for row, times in Counter(frozenset(row.items()) for row in rows).items())


def _by_value(node: Any) -> Any:
    """A number or a boolean in one spelling for each value of its datatype; any other node as it is."""
    if not isinstance(node, ox.Literal):
        return node
    if node.datatype.value == f"{XSD}boolean":
        return ox.Literal(_BOOLEANS.get(node.value, node.value), datatype=node.datatype)
    try:
        if node.datatype.value in _EXACT:
            return ox.Literal(f"{_DIGITS.create_decimal(node.value).normalize():f}", datatype=node.datatype)
        if node.datatype.value in _FLOATING:
            return ox.Literal(f"{float(node.value):.12g}", datatype=node.datatype)
    except (InvalidOperation, ValueError):
        pass
    return node


def select(path: Path, query: str) -> Iterable[Row]:
    """The rows of a query about a document; a relative IRI is the path of a file beside it."""
    graph = ox.Store()
    graph.load(path=str(path), base_iri=path.resolve().as_uri())
    return _answer(graph.query(query)).rows


class Windows:
    """The windows of a query as graphs of a store, in which it is asked again whenever they close.

    `reload`: into an empty store, each time; elsewhere triples are added as they come and removed as they leave. Each
    way takes the calls that are the fastest for it.
    """

    def __init__(self, query: str, graphs: Mapping[str, str], background: str, range: int, reload: bool) -> None:
        self._query, self._range, self._reload = query, range, reload
        self._graphs = {stream: str(ox.NamedNode(graph)) for stream, graph in graphs.items()}
        self._background = list(ox.parse(background, format=ox.RdfFormat.N_TRIPLES))
        self._store = ox.Store()
        self._store.extend(self._background)
        self._held: deque[list[Any]] = deque()

    def add(self, texts: Mapping[str, str]) -> None:
        """Takes the N-Triples that each stream brings at the next tick."""
        lines = "".join(text.replace(" .\n", f" {self._graphs[stream]} .\n") for stream, text in texts.items())
        quads = list(ox.parse(lines, format=ox.RdfFormat.N_QUADS))
        self._held.append(quads)
        gone = self._held.popleft() if len(self._held) > self._range else ()
        if not self._reload:
            self._store.extend(quads)
            for quad in gone:
                self._store.remove(quad)

    def answer(self) -> list[str]:
        """The rows over the ticks that are held, a text for each."""
        if self._reload:
            self._store = ox.Store()
            self._store.bulk_extend(self._background)
            self._store.bulk_extend(quad for quads in self._held for quad in quads)
        solutions: Any = self._store.query(self._query)
        text: bytes = solutions.serialize(format=ox.QueryResultsFormat.TSV)
        return text.decode().splitlines(keepends=True)


def as_nquads(paths: Iterable[Path], base: str, named: bool = False) -> str:
    """Documents as lines of N-Quads, in the default graph or in graphs with the names of their files."""
    quads = []
    for path in paths:
        # A store would write numbers in its own way.
        parsed = ox.parse(path=str(path), base_iri=f"{base}{path.name}", rename_blank_nodes=True)
        graph = ox.NamedNode(f"{base}{path.name}") if named else ox.DefaultGraph()
        quads += [ox.Quad(quad.subject, quad.predicate, quad.object, graph) for quad in parsed]
    lines = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
    return (lines or b"").decode()


def triple(subject: str, predicate: str, object: str) -> Any:
    """A triple of terms as N-Triples writes them."""
    return ox.Triple(node(subject), node(predicate), node(object))
