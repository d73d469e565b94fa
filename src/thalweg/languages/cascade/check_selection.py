"""What a selection cannot have: a selected event consists of triples, so each must be known from a solution.

WHERE { WINDOW :w { ?o :value [] } }          a blank node is not part of a solution: use a variable
WHERE { WINDOW :w { ?o :near/:in ?t } }       nor are the triples along a path
WHERE { { SELECT ?o { … } } }                 nor those that a query inside hides
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from thalweg.diagnostics import Diagnostic, Span

if TYPE_CHECKING:
    from thalweg.languages.rspql.query import Query


def check_selection(query: "Query", span: Span) -> Iterator[Diagnostic]:
    """What is wrong with a selection that is right as a query."""
    from thalweg.languages.rspql.algebra import patterns
    from thalweg.languages.rspql.lexer import tokens

    triples = patterns(query.algebra)
    if query.algebra is None or sum(token.says("SELECT") for token in tokens(query.text)) > 1:
        help_ = "write its triples without a query inside"
        yield Diagnostic("E812", "a selection is made of triples, and those of this one are not known", span, help_)
    elif any(pattern.path is not None or pattern.terms[1] is None for pattern in triples):
        help_ = "write the triples along the path, with variables between them"
        yield Diagnostic("E812", "a selection is made of triples, and those along a path are not known", span, help_)
    elif any(None in pattern.terms for pattern in triples):
        help_ = "write a variable in the place of the blank node"
        yield Diagnostic(
            "E812", "a selection is made of triples, and what a blank node stands for is not known", span, help_
        )
    elif not any(pattern.graph is not None for pattern in triples):
        help_ = "write `WINDOW :w { … }` around the triples of events"
        yield Diagnostic("E812", "the selection does not look at a window, so it never selects an event", span, help_)
