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
    found = tokens(text)
    for place, token in enumerate(found[:-2]):
        end = closing(found, place + 2) if found[place + 2].text == "{" else None
        if token.says("GRAPH") and found[place + 1].kind == "variable" and end is not None:
            inside = found[place + 3 : end]
            if any(each.says(*_HIDES) or each.text == found[place + 1].text for each in inside):
                return graph_by_graph(_spelled_out(text, found[place : end + 1], graphs), graphs)
    return text


def _spelled_out(text: str, found: Sequence[Token], graphs: Sequence[str]) -> str:
    start, end, name = found[0].start, found[-1].end, found[1].text
    written = text[found[2].start : end]
    copies = []
    for number, graph in enumerate(graphs):
        # A blank node must not be in two patterns.
        blank = [each for each in found[2:] if each.kind == "blank"]
        edits = [Edit(each.end - found[2].start, each.end - found[2].start, str(number)) for each in blank]
        copies.append(f"{{ GRAPH {graph} {Edited(written, edits).text} VALUES {name} {{ {graph} }} }}")
    return f"{text[:start]}{{ {' UNION '.join(copies) or f'VALUES {name} {{ }}'} }}{text[end:]}"
