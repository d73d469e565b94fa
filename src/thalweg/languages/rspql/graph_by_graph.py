"""`GRAPH ?g { … }` graph by graph, where the store does not do what SPARQL says of it.

    GRAPH ?g { SELECT … }      { { GRAPH <a> { SELECT … } VALUES ?g { <a> } }
                                 UNION { GRAPH <b> { SELECT … } VALUES ?g { <b> } } }

That is the definition of `GRAPH`. pyoxigraph looks up triples with their graph instead, so a sub-select forgets the
graph, and `MINUS` takes it for a variable that both sides share.
"""

from collections.abc import Sequence
from typing import Final

from thalweg.languages.rspql.lexer import Edit, Edited, Token, closing, tokens

_HIDES: Final = ("SELECT", "MINUS", "VALUES", "BIND")


def graph_by_graph(text: str, graphs: Sequence[str]) -> str:
    """A query that asks some graphs in turn, where a variable stands for them.

    >>> graph_by_graph("ASK { GRAPH ?g { ?s ?p ?o } }", ["<a>"])
    'ASK { GRAPH ?g { ?s ?p ?o } }'
    >>> graph_by_graph("ASK { GRAPH ?g { SELECT * { ?s ?p _:o } } }", ["<a>"])
    'ASK { { { GRAPH <a> { SELECT * { ?s ?p _:o0 } } VALUES ?g { <a> } } } }'
    """
    lexemes = tokens(text)
    for place, token in enumerate(lexemes[:-2]):
        end = closing(lexemes, place + 2) if lexemes[place + 2].text == "{" else None
        if token.says("GRAPH") and lexemes[place + 1].kind == "variable" and end is not None:
            inside = lexemes[place + 3 : end]
            if any(lexeme.says(*_HIDES) or lexeme.text == lexemes[place + 1].text for lexeme in inside):
                return graph_by_graph(_spelled_out(text, lexemes[place : end + 1], graphs), graphs)
    return text


def _spelled_out(text: str, lexemes: Sequence[Token], graphs: Sequence[str]) -> str:
    start, end, name = lexemes[0].start, lexemes[-1].end, lexemes[1].text
    written = text[lexemes[2].start : end]
    copies = []
    for number, graph in enumerate(graphs):
        # A blank node must not be in two patterns.
        blank = [lexeme for lexeme in lexemes[2:] if lexeme.kind == "blank"]
        edits = [Edit(lexeme.end - lexemes[2].start, lexeme.end - lexemes[2].start, str(number)) for lexeme in blank]
        copies.append(f"{{ GRAPH {graph} {Edited(written, edits).text} VALUES {name} {{ {graph} }} }}")
    return f"{text[:start]}{{ {' UNION '.join(copies) or f'VALUES {name} {{ }}'} }}{text[end:]}"
