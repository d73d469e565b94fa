"""SPARQL over a dataset that changes: the door to pyoxigraph's store.

Graphs are kept by the names of their windows, and triples come and go one by one: nothing is loaded twice. Terms are
handed over and given back as text, so that nothing else needs to know the store's own values. Numbers, truth values and
times are kept by value, and come back in canonical form: `"43.0"^^xsd:float` as `"43"^^xsd:float` (`as_stored`).
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.rdf import XSD, as_ntriples, literal
from thalweg.model.term import is_number, unquote

Row = tuple[str | None, ...]

_PLACE: Final = re.compile(r"error at ([0-9]+):([0-9]+): (?:expected )?(?:one of )?(.*)", re.DOTALL)
_KEYWORD: Final = re.compile(r"(?<!\S)[A-Z_]{2,}(?=,|\Z)")
_SENTENCE: Final = re.compile(r"(?:The |Duplicated |An? )[^,\[\]]*")
_FUNCTION: Final = re.compile(r"custom function <([^>]*)>")
_STAND_IN: Final = "urn:thalweg:variable:"
_STOOD_IN: Final = re.compile(f"<{_STAND_IN}")
# Variables, and texts in which they are none.
_VARIABLE: Final = re.compile(
    r"""\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|<[^<>\s]*>|\#.*|[?$](\w+)"""
)
# Keywords are compared as a whole, so that a short rest of the text would be taken for the place of the mistake.
_PADDING: Final = " " * 40


class Mistake(NamedTuple):
    """What is wrong with a query: at or behind an offset, a sentence about it where there is one, and a function."""

    offset: int
    sentence: str = ""
    function: str = ""


def columns(query: str) -> tuple[str, ...] | Mistake:
    """The variables of a SELECT in their order, none for other forms; or what is wrong with the query.

    >>> columns("SELECT ?s (1 AS ?n) { ?s ?p ?o }"), columns("SELECT ?s { ?s ?p ")
    (('s', 'n'), Mistake(offset=18, sentence='', function=''))
    """
    try:
        answer: Any = Store().query(query + _PADDING)
    except SyntaxError as error:
        return _mistake(query, str(error))
    except RuntimeError as error:
        called = _FUNCTION.search(str(error))
        return Mistake(0, function=called[1] if called else "")
    return tuple(variable.value for variable in getattr(answer, "variables", ()))


def template(prologue: str, written: str, variables: Iterable[str]) -> list[tuple[str, str, str]] | Mistake:
    """The triples of a CONSTRUCT's template, variables as `?x`; or what is wrong with it.

    The store says it itself: a graph is constructed in which names stand for the variables.

    >>> template("PREFIX : <http://ex.org/> ", "{ ?s :p 3 }", ["s"])
    [('?s', '<http://ex.org/p>', '3')]
    """
    stand_ins = {f"<{_STAND_IN}{name}>": f"?{name}" for name in variables}
    named = _VARIABLE.sub(lambda match: f"<{_STAND_IN}{match[1]}>" if match[1] else match[0], written)
    before = f"{prologue}CONSTRUCT "
    query = f"{before}{named} WHERE {{}}"
    try:
        answer: Any = Store().query(query + _PADDING)
    except SyntaxError as error:
        mistake = _mistake(query, str(error))
        # Up to a place the stand-ins are longer than what they stand for.
        extra = sum(len(_STAND_IN) + 1 for _ in _STOOD_IN.finditer(query[: mistake.offset]))
        return mistake._replace(offset=max(0, mistake.offset - len(before) - extra))
    numbers: dict[str, str] = {}
    triples = []
    for triple in answer:
        texts = [stand_ins.get(text, text) for text in map(_text, triple)]
        # The store invents names for blank nodes, others in every process.
        terms = [numbers.setdefault(text, f"_:{len(numbers)}") if text.startswith("_:") else text for text in texts]
        triples.append((terms[0], terms[1], terms[2]))
    return triples


def _mistake(query: str, message: str) -> Mistake:
    match = _PLACE.match(message)
    if match is None:
        return Mistake(0, message)
    lines = (query + _PADDING).split("\n")
    offset = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
    # Where a keyword was expected, the place is behind as many letters as the longest of them has.
    longest = max(map(len, _KEYWORD.findall(match[3])), default=0)
    sentence = _SENTENCE.search(match[3])
    return Mistake(max(0, min(offset - longest, len(query))), sentence[0].strip() if sentence else "")


class SparqlStore:
    """A default graph and named graphs, which queries are asked of.

    >>> store = SparqlStore()
    >>> store.extend([("<http://ex.org/a>", "<http://ex.org/p>", "3")], "<http://ex.org/w>")
    >>> store.ask("SELECT ?s ?n { GRAPH <http://ex.org/w> { ?s ?p ?n } }")
    [('<http://ex.org/a>', '3')]
    """

    def __init__(self, graphs: Iterable[str] = ()) -> None:
        self._store = Store()
        for graph in graphs:
            self._store.add_graph(_node(graph))

    def add_graph(self, graph: str) -> None:
        """A named graph, which may stay empty."""
        self._store.add_graph(_node(graph))

    def remove(self, triple: Sequence[str], graph: str | None = None) -> None:
        self._store.remove(_quad(triple, graph))

    def extend(self, triples: Iterable[Sequence[str]], graph: str | None = None) -> None:
        """Adds triples of terms to a graph, to the default graph without one; `ValueError` where RDF has no such."""
        self._store.extend([_quad(triple, graph) for triple in triples])

    def triples(self, graph: str | None, pattern: Sequence[str | None]) -> list[tuple[str, str, str]]:
        """The triples of a graph that match a pattern, as rows have them; None matches every term."""
        subject, predicate, value = (None if term is None else _node(term) for term in pattern)
        where = DefaultGraph() if graph is None else _node(graph)
        quads: Any = self._store.quads_for_pattern(subject, predicate, value, where)
        return [(_text(quad.subject), _text(quad.predicate), _text(quad.object)) for quad in quads]

    def ask(
        self,
        query: str,
        default: Sequence[str] | None = None,
        named: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> list[Row]:
        """The rows of a SELECT, with some `columns`; of an ASK the empty row, if it is true.

        `default` are the graphs that are merged to the default graph, and `named` those that the query may name; all
        that there are without them.
        """
        try:
            answer: Any = self._store.query(
                query,
                default_graph=None if default is None else list(map(_node, default)),
                named_graphs=None if named is None else list(map(_node, named)),
            )
        except SyntaxError as error:
            # The SELECT that stands for another form of a valid query may be none: `?::` is a path's `?` and a name.
            message = f"the query cannot be evaluated as a SELECT: {str(error).partition(', expected')[0]}"
            help_ = "write blanks between the parts of paths, and before names"
            raise RejectedError([Diagnostic("E604", message, help=help_)]) from None
        if not hasattr(answer, "variables"):
            return [()] if answer else []
        # Those of `SELECT *` come in any order.
        order = columns or [variable.value for variable in answer.variables]
        return [tuple((value := solution[name]) and _text(value) for name in order) for solution in answer]


@lru_cache(maxsize=65_536)
def is_known(term: str) -> bool:
    """Whether RDF has a term: not all that may stand in a fact is an IRI to others.

    >>> is_known("<http://ex.org/a>"), is_known("road1"), is_known("<http://[/>")
    (True, True, False)
    """
    try:
        _node(term)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=65_536)
def _node(term: str) -> Any:
    """The store's value of a term; `ValueError` where RDF has none."""
    if is_number(term):
        return Literal(term, datatype=_DECIMAL if "." in term else _INTEGER)
    if term[0] == '"':
        end = term.rindex('"')
        text, tag = unquote(term[: end + 1]), term[end + 1 :]
        if tag.startswith("@"):
            return Literal(text, language=tag[1:])
        return Literal(text, datatype=NamedNode(tag[3:-1])) if tag else Literal(text)
    if term[0] == "_":
        return BlankNode(term[2:])
    return NamedNode(as_ntriples(term)[1:-1]) if term[0] == "<" else Literal(term)


@lru_cache(maxsize=65_536)
def _text(node: Any) -> str:
    """A value of the store as rows have it."""
    if isinstance(node, NamedNode):
        return f"<{node.value}>"
    if isinstance(node, Literal):
        # The store writes a whole decimal as `2`, which would be an integer to whoever reads it.
        suffix = ".0" if node.datatype == _DECIMAL and "." not in node.value else ""
        tag = f"@{node.language}" if node.language else f"<{node.datatype.value}>"
        return as_row(literal(node.value + suffix, tag))
    return str(node)


def as_row(term: str) -> str:
    """A term as rows have it: a text is in quotes, a number is not.

    >>> as_row("road1"), as_row("2.5"), as_row('"b c"'), as_row("<a>")
    ('"road1"', '2.5', '"b c"', '<urn:thalweg:iri:a>')
    """
    return term if is_number(term) else as_ntriples(term)


@lru_cache(maxsize=65_536)
def as_stored(term: str) -> str:
    """The term that the store makes of one, as rows have it: it knows literals of many datatypes by their values.

    >>> as_stored("2.50"), as_stored('"01"^^<http://www.w3.org/2001/XMLSchema#int>'), as_stored("road1")
    ('2.5', '1', '"road1"')
    """
    store = Store()
    store.add(Quad(BlankNode(), _INTEGER, _node(term)))
    return _text(next(iter(store)).object)


def _quad(triple: Sequence[str], graph: str | None) -> Any:
    subject, predicate, value = map(_node, triple)
    try:
        return Quad(subject, predicate, value, DefaultGraph() if graph is None else _node(graph))
    except TypeError:
        raise ValueError(f"`{' '.join(triple)}` is not a triple") from None


_INTEGER: Final = NamedNode(f"{XSD}integer")
_DECIMAL: Final = NamedNode(f"{XSD}decimal")
