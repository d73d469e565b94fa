"""The restrictions of a pattern: `IF { EVENT :A { ?o :at ?loc . FILTER(?v > 15) } … }` becomes clauses.

Triples are those of SPARQL's basic graph patterns, with `;` and `,`. A filter is kept as text in which every name is an
IRI, so that it means the same wherever it is evaluated.
"""

import re
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.ir.patterns import Clause, Filter, Triple
from thalweg.languages.cascade.event_definitions import SyntaxProblem
from thalweg.languages.cascade.token_reader import TokenReader, shown
from thalweg.languages.rspql.lexer import Token
from thalweg.languages.rspql.query_size import MOST_PARTS, too_deep
from thalweg.model.nesting import TOO_DEEP
from thalweg.model.rdf import RDF_TYPE, XSD, as_ntriples, literal, term
from thalweg.solvers.sparql import Mistake, columns

CLAUSES: Final = "write restrictions as in `IF { EVENT :A { ?o :hasValue ?v . FILTER(?v > 15) } }`"
# Of a text in other quotes, what N-Triples escapes.
_LOOSE: Final = re.compile(r'\\.|["\n\r]', re.DOTALL)
_ESCAPED: Final = {'"': r"\"", "\n": r"\n", "\r": r"\r"}
_TRIPLES: Final = "write triples as in `?o :hasLocation ?loc ; :hasValue ?v .`"


def read_restrictions(text: TokenReader) -> tuple[Clause, ...]:
    """The clauses behind `IF`."""
    text.expect("{", CLAUSES)
    clauses: dict[str, Clause] = {}
    while not text.takes("}"):
        text.expect("EVENT", CLAUSES)
        place = text.now
        name = text.iri("the name of an event", CLAUSES)
        clause = _clause(text, name, place)
        if name in clauses:
            text.report("E805", f"`{place.text}` has two clauses", place, "write all its triples and filters in one")
        clauses.setdefault(name, clause)
    return tuple(clauses.values())


def _clause(text: TokenReader, name: str, place: Token) -> Clause:
    text.expect("{", CLAUSES)
    triples: list[Triple] = []
    filters: list[Filter] = []
    while not text.takes("}"):
        if len(triples) + len(filters) > MOST_PARTS:
            message = f"the clause of `{place.text}` has more than {MOST_PARTS} triples and filters"
            raise SyntaxProblem(Diagnostic("E302", message, text.span(text.now), "define an event for a part of it"))
        if text.takes("FILTER"):
            filters += _filter(text)
        elif not text.takes("."):
            triples += _triples(text)
    return Clause(name, tuple(triples), tuple(filters), text.span(place))


def _triples(text: TokenReader) -> list[Triple]:
    """The triples of one subject."""
    triples = []
    subject = _term(text, "a subject")
    while True:
        start = text.now
        predicate = RDF_TYPE if text.takes("a") else _term(text, "a property")
        if text.now.text in ("/", "|", "*", "+", "^", "?"):
            text.fail(f"`{text.now.text}` makes a path, and restrictions have triples only", _TRIPLES)
        while True:
            object_ = _term(text, "an object")
            triples.append(Triple(subject, predicate, object_, text.span(start, text.tokens[text.at - 1])))
            if not text.takes(","):
                break
        more = False
        while text.takes(";"):
            more = True
        if not more or text.now.text in (".", "}"):
            return triples


def _term(text: TokenReader, what: str) -> str:
    token = text.now
    if token.kind == "variable":
        return f"?{text.take().text[1:]}"
    if token.kind in ("name", "iri"):
        return text.resolved(text.take())
    if token.kind == "blank" or token.text == "[":
        text.fail("a blank node stands for any value here", "use a variable, such as `?x`")
    if what == "an object":
        if token.kind == "number" or token.text in ("+", "-"):
            return _number(text)
        if token.says("TRUE", "FALSE"):
            return literal(text.take().text.lower(), f"<{XSD}boolean>")
        if token.kind == "string":
            return _string(text)
    text.fail(f"expected {what}, found {shown(token)}", _TRIPLES)
    raise AssertionError


def _number(text: TokenReader) -> str:
    sign = text.take().text if text.now.text in ("+", "-") else ""
    digits = text.take().text
    kind = "double" if "e" in digits.lower() else "decimal" if "." in digits else "integer"
    return literal(sign.replace("+", "") + digits, f"<{XSD}{kind}>")


def _string(text: TokenReader) -> str:
    quoted = text.take().text
    width = 3 if quoted[:3] in ('"""', "'''") else 1
    inside = _LOOSE.sub(lambda escape: _ESCAPED.get(escape[0], escape[0]), quoted[width:-width])
    tag = text.take().text if text.now.kind == "language" else ""
    if text.takes("^^"):
        tag = f"^^{as_ntriples(text.iri('a datatype', _TRIPLES))}"
    return term(f'"{inside}"{tag}')


def _filter(text: TokenReader) -> list[Filter]:
    """The filter that comes next, in a list; an empty list where it cannot be read."""
    start = text.now
    if start.says("EXISTS", "NOT"):
        text.fail("a filter compares values: it cannot look for triples", "use `NOT` in the pattern for absent events")
    while text.now.text != "(" and text.now.kind in ("word", "name", "iri"):
        text.take()
    if text.now.text != "(":
        text.fail(f"expected `(`, found {shown(text.now)}", "write a filter as in `FILTER(?v > 15)`")
    text.group("close the filter with `)`")
    inside = [token for token in text.tokens if start.start <= token.start < text.tokens[text.at - 1].end]
    if (deep := too_deep(inside)) is not None:
        text.report("E302", TOO_DEEP, deep, "write several filters, each with fewer brackets and operators")
        return []
    condition = _with_iris(text, inside)
    last = inside[-1]
    if isinstance(mistake := columns(f"SELECT * {{ FILTER {condition} }}"), Mistake):
        message = f"`{mistake.function}` is not a function" if mistake.function else "this is not a condition of SPARQL"
        text.report("E808", message, start, "write it as in `FILTER(?v > 15 && ?loc != :centre)`", last)
        return []
    names = dict.fromkeys(token.text[1:] for token in inside if token.kind == "variable")
    return [Filter(condition, tuple(names), text.span(start, last))]


def _with_iris(text: TokenReader, tokens: list[Token]) -> str:
    """A piece of text in which names are IRIs, as SPARQL writes them."""
    return " ".join(
        as_ntriples(text.resolved(token)) if token.kind in ("name", "iri") else token.text for token in tokens
    )
