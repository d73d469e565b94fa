"""Clauses of other stream query languages: what they are in RSP-QL.

    REGISTER QUERY q AS                          C-SPARQL    REGISTER RSTREAM <q> AS
    FROM STREAM <s> [RANGE 5s STEP 1s]           C-SPARQL    FROM NAMED WINDOW :w ON STREAM <s> [RANGE 5s, SLIDE 1s]
    STREAM <s> [RANGE 5s] { ?s :p ?o }           CQELS-QL    the same, and WINDOW :w { ?s :p ?o }

They are not translated silently: C-SPARQL has one default graph for all streams, and CQELS-QL answers every triple.
"""

import re
from collections.abc import Sequence
from typing import Final

from thalweg.diagnostics import Diagnostic, Span
from thalweg.languages.rspql.lexer import Token

_COUNTED: Final = "a number of triples has no counterpart: use a time, or rules (`.lars`), which have `[100 #]`"
_UNBOUNDED: Final = "a window has an end: RSP-QL has no unbounded ones"


def c_sparql_stream(stream: Token, inside: Sequence[Token], text: str, span: Span) -> Diagnostic:
    """`FROM STREAM <s> [RANGE 5s STEP 1s]`."""
    message = "`FROM STREAM` is C-SPARQL: in RSP-QL a window has a name, and patterns say which window they look at"
    return _translated(message, stream, _window(inside, text), "and in the query", span)


def cqels_stream(stream: Token, inside: Sequence[Token], text: str, span: Span) -> Diagnostic:
    """`STREAM <s> [RANGE 5s] { … }`."""
    message = "`STREAM` in a pattern is CQELS-QL: in RSP-QL windows are declared before the query"
    return _translated(message, stream, _window(inside, text), "before `WHERE`, and here", span)


def _translated(message: str, stream: Token, window: tuple[str, str], then: str, span: Span) -> Diagnostic:
    extent, note = window
    joint = ", " if then.startswith("and") else " "
    clause = f"write `FROM NAMED WINDOW :w ON STREAM {stream.text} {extent}`{joint}{then} `WINDOW :w {{ … }}`{note}"
    return Diagnostic("E601", message, span, help=clause)


def c_sparql_register(name: str, span: Span) -> Diagnostic:
    """`REGISTER QUERY q AS`."""
    return Diagnostic(
        "E601",
        "`REGISTER QUERY` is C-SPARQL: RSP-QL says which rows of each window are output",
        span,
        help=f"write `REGISTER RSTREAM {name} AS`; `ISTREAM` outputs new rows only, and `DSTREAM` those that are gone",
    )


def _window(inside: Sequence[Token], text: str) -> tuple[str, str]:
    """The window in RSP-QL, and a remark to add to the help, which may be empty."""
    if any(token.says("TRIPLES", "ROWS") for token in inside):
        return "[RANGE 10s, SLIDE 1s]", f"; {_COUNTED}"
    if any(token.says("UNBOUNDED", "ALL") for token in inside):
        return "[RANGE 1h, SLIDE 1s]", f"; {_UNBOUNDED}"
    if any(token.says("NOW") for token in inside) or not inside:
        return "[RANGE 1, SLIDE 1]", ""
    parts = [text[length[0].start : length[-1].end] for length in _lengths(inside)]
    size = parts[0] if parts else "10s"
    tumbling = any(token.says("TUMBLING") for token in inside)
    return f"[RANGE {size}, SLIDE {parts[1] if len(parts) > 1 else size if tumbling else 1}]", ""


def _lengths(inside: Sequence[Token]) -> list[list[Token]]:
    """The tokens behind RANGE, and behind STEP or SLIDE, in their order; empty ones are left out."""
    lengths: list[list[Token]] = []
    for token in inside:
        if token.says("RANGE", "STEP", "SLIDE"):
            lengths.append([])
        elif lengths and token.kind in ("number", "word") and not token.says("TUMBLING"):
            lengths[-1].append(token)
    return [length for length in lengths if length]


def is_name(text: str) -> bool:
    """Whether a text can stand where RSP-QL has an IRI."""
    return bool(re.match(r"<|[\w.-]*:", text))
