"""Continuous queries in RSP-QL become SPARQL over graphs that are windows.

    FROM NAMED WINDOW :w ON STREAM :s [RANGE 10s, SLIDE 2s]      a window of 10 ticks that closes every 2
    WHERE { WINDOW :w { ?x :p ?y } }                             WHERE { GRAPH :w { ?x :p ?y } }

Every text is one query (`read_query`). What it means is evaluated by a part: by rules where they are exact, else by
SPARQL per window.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, Source
from thalweg.languages.registry import Language, Options

if TYPE_CHECKING:
    from thalweg.languages.rspql.query import QueryProgram


def compile(sources: Sequence[Source], options: Options) -> "tuple[QueryProgram, list[Diagnostic]]":
    """The queries of all texts with their background, and every diagnostic."""
    from thalweg.languages.rspql.query import QueryProgram
    from thalweg.languages.rspql.read_query import read_query

    graphs = options.dataset.resources
    read = [read_query(source, options.tick_length, graphs) for source in sources]
    queries = tuple(query for query, _ in read if query is not None)
    diagnostics = [diagnostic for _, reported in read for diagnostic in reported]
    for window in (window for query in queries for window in query.windows if window.name in graphs):
        message = f"`{window.name}` is a window and a graph of the background"
        diagnostics.append(Diagnostic("E603", message, window.span, "give the window another name"))
    return QueryProgram(queries, options.dataset), diagnostics


LANGUAGE: Final = Language(
    "rspql", (".rspql", ".rq"), compile, understands=frozenset({"why row"}), title="continuous queries (`.rspql`)"
)
