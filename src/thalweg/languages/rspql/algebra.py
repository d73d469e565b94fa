"""The algebra of a query, by rdflib's parser: the only door to rdflib.

pyoxigraph decides what a query is; rdflib says what it consists of, which pyoxigraph does not. Some valid queries it
cannot read. They have no algebra here, and are evaluated all the same.
"""

from collections.abc import Iterator
from logging import getLogger
from typing import Any, NamedTuple

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.rdf import XSD, literal
from thalweg.solvers.sparql import as_row


def translate(text: str) -> Any:
    """What rdflib's `translateQuery` makes of a query; None where rdflib cannot read it.

    >>> translate("SELECT ?s { ?s ?p ?o }").algebra.name, translate("SELECT ?s {")
    ('SelectQuery', None)
    """
    try:
        from rdflib.plugins.sparql.algebra import translateQuery
        from rdflib.plugins.sparql.parser import parseQuery
    except ImportError:
        message = "continuous queries need the package `rdflib`, which is not installed"
        raise RejectedError(
            [Diagnostic("E406", message, help="install it with `pip install 'thalweg[rspql]'`")]
        ) from None
    # It logs what it thinks of IRIs, which pyoxigraph has judged already.
    log = getLogger("rdflib.term")
    before, log.disabled = log.disabled, True
    try:
        return translateQuery(parseQuery(text))
    except Exception as error:
        if not _is_of_rdflib(error):
            raise
        return None
    finally:
        log.disabled = before


def _is_of_rdflib(error: Exception) -> bool:
    """Whether rdflib cannot read a query, which is known to be valid SPARQL.

    What its parser and its translation raise has no common class: a `ParseException`, a plain `Exception`, an
    `AttributeError`. But they raise it: an error that comes from the call itself is a mistake here, and one for lack of
    memory says nothing about the query.
    """
    inside = error.__traceback__.tb_next if error.__traceback__ is not None else None
    return inside is not None and not isinstance(error, MemoryError)


def unbound(algebra: Any) -> Iterator[str]:
    """The variables of filters that nothing in their group can bind.

    >>> list(unbound(translate("SELECT ?s { ?s ?p ?o FILTER(?v > 3 && ?o < 4) }")))
    ['v']
    """
    variables = _unbound(algebra.algebra, frozenset()) if algebra is not None else iter(())
    return iter(dict.fromkeys(variables))


def _unbound(node: Any, outside: frozenset[str]) -> Iterator[str]:
    if isinstance(node, list | tuple):
        for child in node:
            yield from _unbound(child, outside)
        return
    if not hasattr(node, "name"):
        return
    if node.name == "Filter":
        bound = outside | _visible(node.p)
        yield from _missing(node.expr, bound)
    if node.name == "LeftJoin":
        bound = outside | _visible(node.p1) | _visible(node.p2)
        yield from _missing(node.expr, bound)
    for part in ("p", "p1", "p2"):
        if part in node:
            yield from _unbound(node[part], outside)


def _missing(expression: Any, bound: frozenset[str]) -> Iterator[str]:
    """The variables of an expression that are not known; those of `EXISTS` are looked for where it has patterns."""
    from rdflib.term import Variable

    if isinstance(expression, Variable):
        # Those that rdflib makes itself stand for aggregates.
        if str(expression) not in bound and not str(expression).startswith("__agg_"):
            yield str(expression)
    elif isinstance(expression, list | tuple):
        for operand in expression:
            yield from _missing(operand, bound)
    elif hasattr(expression, "name"):
        if expression.name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
            yield from _unbound(expression.graph, bound)
        else:
            for key, part in expression.items():
                if key != "_vars":
                    yield from _missing(part, bound)


def _visible(node: Any) -> frozenset[str]:
    """The variables that a part may bind: those that occur in it outside of expressions."""
    from rdflib.term import Variable

    if isinstance(node, Variable):
        return frozenset({str(node)})
    if isinstance(node, dict):
        parts = [*(part for key, part in node.items() if key not in ("expr", "_vars")), *node]
    else:
        parts = list(node) if isinstance(node, list | tuple) else []
    return frozenset().union(*map(_visible, parts))


Path = str | tuple["Path", ...]
"""An IRI, or an operator and what it is applied to: `("/", "<p>", ("*", "<q>"))`."""


class TriplePattern(NamedTuple):
    """A triple pattern and the graph that it looks at, None for the default graph; variables are `?x`.

    A blank node, which stands for anything, is None; where there is a path, so is the predicate.
    """

    graph: str | None
    terms: tuple[str | None, str | None, str | None]
    path: Path | None = None


def patterns(algebra: Any) -> list[TriplePattern]:
    """The triple patterns that a solution may rest on: not those of MINUS and EXISTS.

    >>> patterns(translate("SELECT ?s { ?s <http://p> 3 GRAPH <http://w> { ?s <http://q> [] } }"))[1]
    TriplePattern(graph='<http://w>', terms=('?s', '<http://q>', None), path=None)
    """
    return [] if algebra is None else list(dict.fromkeys(_patterns(algebra.algebra, None)))


def _patterns(node: Any, graph: str | None) -> Iterator[TriplePattern]:
    if node.name == "BGP":
        for subject, predicate, object_ in node.triples:
            yield TriplePattern(graph, (_written(subject), _written(predicate), _written(object_)), _path(predicate))
    elif node.name == "Graph":
        yield from _patterns(node.p, _written(node.term))
    else:
        for part in ("p", "p1") if node.name == "Minus" else ("p", "p1", "p2"):
            if part in node:
                yield from _patterns(node[part], graph)


def _path(predicate: Any) -> Path | None:
    """A path; None for a single predicate, and where rdflib does not know what a path excludes."""
    from rdflib import paths

    if not isinstance(predicate, paths.Path):
        return None
    parts = [_path(part) or _written(part) for part in _parts_of(predicate)]
    readable = tuple(part for part in parts if part is not None)
    kinds = {paths.InvPath: "^", paths.SequencePath: "/", paths.AlternativePath: "|", paths.NegatedPath: "!"}
    kind = str(predicate.mod) if isinstance(predicate, paths.MulPath) else kinds[type(predicate)]
    return (kind, *readable) if len(readable) == len(parts) else None


def _parts_of(path: Any) -> list[Any]:
    return list(path.args) if hasattr(path, "args") else [path.arg if hasattr(path, "arg") else path.path]


def _written(term: Any) -> str | None:
    from rdflib.term import Literal, URIRef, Variable

    if isinstance(term, Variable):
        return f"?{term}"
    if isinstance(term, URIRef):
        return f"<{term}>"
    if isinstance(term, Literal):
        tag = f"@{term.language}" if term.language else f"<{term.datatype or f'{XSD}string'}>"
        return as_row(literal(str(term), tag))
    return None
