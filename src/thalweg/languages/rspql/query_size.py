"""How deep and how long a query may be: parsers of SPARQL are recursive, and crash the process where it is too much.

    {{{ ?s :p ?o }}}                      three levels
    { ?s :p ?o ; :q 3 . FILTER(?o > 1) }  four parts: a brace, two signs between triples, a filter

How long planning takes grows with the fourth power of the number of triples, and nothing can end it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from thalweg.languages.rspql.lexer import Token
from thalweg.model.nesting import MOST_NESTED, Nesting

MOST_PARTS: Final = 200
"""The most patterns, filters and computed columns of a query."""

TOO_LONG: Final = f"this query has more than {MOST_PARTS} patterns, filters and expressions"

_OPERATORS: Final = {"!": "+", "&&": "+", "||": "+"}
_CLOSED: Final = frozenset("})]")
_BETWEEN_TRIPLES: Final = frozenset(".;,")
_PARTS: Final = ("FILTER", "BIND", "AS")
_TERMS: Final = frozenset(("iri", "name", "blank", "variable", "string", "number"))


def too_deep(tokens: Sequence[Token]) -> Token | None:
    """The token with which a query is nested too deeply; None where it is not.

    >>> from thalweg.languages.rspql.lexer import tokens
    >>> too_deep(tokens("(" * 200)), too_deep(tokens("(" * 201)).start
    (None, 200)
    """
    nesting = Nesting()
    signs = (token for token in tokens if token.kind == "sign")
    return next((sign for sign in signs if nesting.take(_OPERATORS.get(sign.text, sign.text)) > MOST_NESTED), None)


def too_long(tokens: Sequence[Token]) -> Token | None:
    """The token with which a query has too many parts; None where it has not.

    >>> from thalweg.languages.rspql.lexer import tokens
    >>> too_long(tokens("{" + "?s ?p ?o . " * 199)), too_long(tokens("{" + "?s ?p ?o . " * 200)).text
    (None, '.')
    """
    for number, part in enumerate(_parts(tokens), 1):
        if number > MOST_PARTS:
            return part
    return None


def _parts(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens with which parts begin or end.

    >>> from thalweg.languages.rspql.lexer import tokens
    >>> [part.text for part in _parts(tokens("SELECT (1+(2) AS ?n) { ?s :p (1 ?x) ; :q 3, 4 FILTER(?s IN (1, 2.5)) }"))]
    ['AS', '{', '1', '?x', ';', ',', 'FILTER']
    >>> [part.text for part in _parts(tokens("{ VALUES (?a ?b) { (1 2) (3 4) } BIND(f(?a, 2) AS ?c) }"))]
    ['{', 'BIND', 'AS']
    """
    inside: list[str] = []
    is_data = False
    before = Token("end", "", 0)
    for token in tokens:
        around = inside[-1] if inside else ""
        is_data |= token.says("VALUES")
        if token.kind == "sign" and token.text in "{[(":
            inside.append("data" if is_data and token.text == "{" else _bracket(token, before, around))
            is_data &= token.text != "{"
            if inside[-1] in ("{", "["):
                yield token
        elif token.kind == "sign" and token.text in _CLOSED:
            del inside[-1:]
        elif _is_part(token, around):
            yield token
        before = token


def _is_part(token: Token, around: str) -> bool:
    """Whether a token that is no bracket begins a part, or stands between two, inside of some bracket."""
    if around == "list":
        return token.kind in _TERMS
    return token.says(*_PARTS) or (around in ("{", "[") and token.text in _BETWEEN_TRIPLES)


def _bracket(token: Token, before: Token, around: str) -> str:
    """What a bracket opens: a group, a node, a list, or something that has no triples."""
    if token.text != "(" or around == "data":
        return "data" if around == "data" else token.text
    if around in ("{", "["):
        return "list" if before.kind in ("name", "iri", "variable", "sign") else "("
    return around if around == "list" else "("
