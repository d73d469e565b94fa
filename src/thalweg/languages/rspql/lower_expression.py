"""Expressions of the algebra as SPARQL again, because only SPARQL knows exactly what they mean.

RelationalExpression(?v, >, 30)      `(?v > "30"^^xsd:integer)`, and to the engine also the bound `> 30`
A && B in a FILTER                   two filters
RAND(), NOW(), IRI("a"), BNODE()     an obstacle: asked twice they do not answer the same
"""

from collections.abc import Iterator
from typing import Any, Final

from thalweg.languages.rspql.lowered import SparqlExpression
from thalweg.languages.rspql.stored_terms import stored
from thalweg.model.rdf import XSD, literal, named

_UNSTEADY: Final = ("RAND", "NOW", "UUID", "STRUUID", "BNODE", "IRI", "URI")
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_NUMBERS: Final = (f"{XSD}integer", f"{XSD}decimal")


class UnsteadyError(ValueError):
    """A function whose value is not decided by its arguments."""


def kind(node: Any) -> str:
    """What rdflib calls a node: `Variable`, `URIRef`, `BNode`, `Literal`, the name of an operator, or of a path."""
    name = type(node).__name__
    return str(node.name) if name in ("CompValue", "Expr") else name


def term_of(node: Any) -> str:
    """The term of an IRI or a literal, as rules compare it.

    >>> from rdflib import Literal, URIRef
    >>> term_of(URIRef("http://ex.org/a")), term_of(Literal("chat", lang="FR")), term_of(Literal(3))
    ('<http://ex.org/a>', '"chat"@fr', '3')
    """
    if kind(node) == "URIRef":
        return named(f"<{node}>")
    tag = f"@{node.language}" if node.language else f"<{node.datatype or XSD + 'string'}>"
    return stored(literal(str(node), tag))


def conjuncts(expression: Any) -> Iterator[Any]:
    """The conditions that `&&` joins; each may be tested by itself, because a filter takes an error for false."""
    match kind(expression):
        case "ConditionalAndExpression":
            yield from conjuncts(expression.expr)
            for other in expression.other:
                yield from conjuncts(other)
        case "TrueFilter":
            return
        case _:
            yield expression


def variables(expression: Any) -> frozenset[str]:
    """The variables of an expression; of `EXISTS` those of its pattern."""
    if kind(expression) == "Variable":
        return frozenset((str(expression),))
    if isinstance(expression, list | tuple):
        return frozenset().union(*map(variables, expression))
    if hasattr(expression, "items"):
        graph = getattr(expression, "graph", None)
        inside = pattern_variables(graph) if graph is not None else frozenset()
        parts = (variables(part) for key, part in expression.items() if key not in ("_vars", "graph"))
        return inside.union(*parts)
    return frozenset()


def pattern_variables(node: Any) -> frozenset[str]:
    """Every variable that occurs in a pattern."""
    if kind(node) == "Variable":
        return frozenset((str(node),))
    if isinstance(node, list | tuple | set):
        return frozenset().union(*map(pattern_variables, node))
    if hasattr(node, "items"):
        graph = getattr(node, "graph", None) if kind(node).startswith("Builtin_") else None
        inside = pattern_variables(graph) if graph is not None else frozenset()
        return inside.union(
            *(pattern_variables(part) | pattern_variables(key) for key, part in node.items() if key != "graph")
        )
    return frozenset()


def has_pattern(expression: Any) -> bool:
    """Whether there is an EXISTS in an expression."""
    if kind(expression) in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
        return True
    if isinstance(expression, list | tuple):
        return any(map(has_pattern, expression))
    return hasattr(expression, "items") and any(has_pattern(part) for key, part in expression.items() if key != "_vars")


def question(expression: Any, bound: frozenset[str]) -> SparqlExpression:
    """An expression as it is asked where some variables are bound.

    >>> from rdflib.plugins.sparql.algebra import translateQuery
    >>> from rdflib.plugins.sparql.parser import parseQuery
    >>> condition = translateQuery(parseQuery("SELECT * { ?s ?p ?v FILTER(30 < ?v) }")).algebra.p.p.expr
    >>> question(condition, frozenset("spv"))
    SparqlExpression(text='("30"^^<http://www.w3.org/2001/XMLSchema#integer> < ?v)', known=('v',), bound=('>', '30'))
    """
    names = tuple(sorted(variables(expression) & bound))
    return SparqlExpression(spelled(expression), names, _bound(expression, names))


def _bound(expression: Any, names: tuple[str, ...]) -> tuple[str, str] | None:
    """The operator and the number of `?x < 30`; for `?x < ?y` the first of the known ones is compared with `?`."""
    if kind(expression) != "RelationalExpression" or expression.op not in _MIRRORED:
        return None
    left, right = expression.expr, expression.other
    if kind(left) == kind(right) == "Variable" and len(names) == 2:
        return (str(expression.op) if str(left) == names[0] else _MIRRORED[expression.op]), "?"
    if len(names) != 1:
        return None
    if kind(left) == "Variable" and _is_number(right):
        return str(expression.op), term_of(right)
    if kind(right) == "Variable" and _is_number(left):
        return _MIRRORED[expression.op], term_of(left)
    return None


def _is_number(node: Any) -> bool:
    # A number that is too large for a word is written in quotes.
    return kind(node) == "Literal" and str(node.datatype) in _NUMBERS and term_of(node)[0] != '"'


def spelled(node: Any) -> str:
    """The text of an expression; `UnsteadyError` names a function that cannot be asked."""
    match kind(node):
        case "Variable":
            return f"?{node}"
        case "URIRef" | "Literal":
            return str(node.n3())
        case "ConditionalAndExpression":
            return "(" + " && ".join(map(spelled, (node.expr, *node.other))) + ")"
        case "ConditionalOrExpression":
            return "(" + " || ".join(map(spelled, (node.expr, *node.other))) + ")"
        case "RelationalExpression" if node.op in ("IN", "NOT IN"):
            members = node.other if isinstance(node.other, list) else ()
            return f"({spelled(node.expr)} {node.op} ({', '.join(map(spelled, members))}))"
        case "RelationalExpression":
            return f"({spelled(node.expr)} {node.op} {spelled(node.other)})"
        case "AdditiveExpression" | "MultiplicativeExpression":
            terms = (f" {op} {spelled(other)}" for op, other in zip(node.op, node.other, strict=True))
            return f"({spelled(node.expr)}{''.join(terms)})"
        case "UnaryNot":
            return f"(! {spelled(node.expr)})"
        case "UnaryMinus":
            return f"(- {spelled(node.expr)})"
        case "UnaryPlus":
            return f"(+ {spelled(node.expr)})"
        case "Function":
            return f"{spelled(node.iri)}({', '.join(map(spelled, node.expr or ()))})"
        case name if name.startswith("Builtin_"):
            return _builtin(name.removeprefix("Builtin_"), node)
    raise UnsteadyError(kind(node))


def _builtin(name: str, node: Any) -> str:
    if name.upper() in _UNSTEADY or name in ("EXISTS", "NOTEXISTS"):
        raise UnsteadyError(name)
    arguments = [part for key, part in node.items() if key != "_vars" and part is not None]
    # rdflib takes the empty list of `CONCAT()` for rdf:nil; one that is written is in a list.
    if name in ("COALESCE", "CONCAT") and not isinstance(node.arg, list):
        return f"{name}()"
    parts = [argument for part in arguments for argument in (part if isinstance(part, list) else [part])]
    return f"{name}({', '.join(map(spelled, parts))})"
