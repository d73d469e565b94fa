"""A test of SPARQL as a continuous query: the data are one event, in the only window of the only stream.

SELECT ?s { ?s :p ?o }                      SELECT ?s FROM NAMED WINDOW <…> ON STREAM <…> [RANGE 1s, SLIDE 1s]
                                            { WINDOW <…> { ?s :p ?o } }
CONSTRUCT WHERE { … }                       CONSTRUCT { … } FROM NAMED WINDOW … WHERE { WINDOW <…> { … } }
GRAPH <g> { … }                             as it is: graphs with names are background
CONSTRUCT FROM <g> WHERE { … }              without FROM: the graph <g> is the event
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from thalweg.bench.oxigraph import SparqlAnswer, as_nquads, read_bindings, triple
from thalweg.bench.query_ways import at_work
from thalweg.bench.sparql_tests import REJECTED, SparqlTest
from thalweg.connectors.json_lines import JsonLinesReader
from thalweg.languages.rspql.lexer import Edit, Edited, Token, closing, tokens
from thalweg.model.rdf import triple_of
from thalweg.model.time import Clock

_WINDOW: Final = "<urn:window>"
_CLAUSE: Final = f" FROM NAMED WINDOW {_WINDOW} ON STREAM <urn:stream> [RANGE 1s, SLIDE 1s] "


def as_continuous(text: str, wraps: bool = True) -> str:
    """A query over one window instead of the default graph; `wraps` is off where only the clause is added.

    >>> print(as_continuous("SELECT ?s { ?s ?p ?o }").replace(_CLAUSE, " … "))
    SELECT ?s  … { WINDOW <urn:window> { ?s ?p ?o } }
    >>> print(as_continuous("CONSTRUCT WHERE { ?s ?p ?o }").replace(_CLAUSE, " … "))
    CONSTRUCT { ?s ?p ?o }  … WHERE { WINDOW <urn:window> { ?s ?p ?o } }
    """
    lexemes = tokens(text)
    form = next(place for place, token in enumerate(lexemes) if token.says("SELECT", "ASK", "CONSTRUCT"))
    template = lexemes[form].says("CONSTRUCT") and lexemes[form + 1].text == "{"
    start = (closing(lexemes, form + 1) or form) + 1 if template else form + 1
    opening = next(_groups(lexemes, start))
    shut = closing(lexemes, opening)
    where = next((place for place in range(start, opening) if lexemes[place].says("WHERE")), opening)
    edits = [Edit(lexemes[where].start, lexemes[where].start, _CLAUSE), *_without_from(lexemes[start:opening])]
    if wraps and shut is not None:
        inside = lexemes[opening].end, lexemes[shut].start
        edits += [Edit(inside[0], inside[0], f" WINDOW {_WINDOW} {{"), Edit(inside[1], inside[1], "} ")]
        if lexemes[form].says("CONSTRUCT") and not template:
            edits.append(Edit(lexemes[form].end, lexemes[form].end, f" {{{text[slice(*inside)]}}} "))
    return Edited(text, edits).text


def _groups(lexemes: list[Token], start: int) -> Iterator[int]:
    """The places of braces that are not inside of brackets."""
    place = start
    while place < len(lexemes):
        if lexemes[place].text == "{":
            yield place
        place = (closing(lexemes, place) or place) + 1 if lexemes[place].text == "(" else place + 1


def _without_from(lexemes: list[Token]) -> Iterator[Edit]:
    for token, graph in pairwise(lexemes):
        if token.says("FROM"):
            yield Edit(token.start, graph.end, "")


def by_thalweg(test: SparqlTest, way: str) -> SparqlAnswer:
    """Thalweg's answer, by rules or by SPARQL per window; `RejectedError` if it does not take the query."""
    text = test.query.read_text(encoding="utf-8")
    selected = [graph for graph in test.graphs if f"FROM <{graph.name}>" in text]
    with TemporaryDirectory() as folder:
        query, background = Path(folder, "test.rspql"), Path(folder, "graphs.nq")
        query.write_text(f"BASE <{test.base}>\n{as_continuous(text, test.kind != REJECTED)}", encoding="utf-8")
        background.write_text(as_nquads(test.graphs, test.base, named=True), encoding="utf-8")
        continuous = at_work(way, query, background)
    event = {"t": 0, "graph": as_nquads((*test.data, *selected), test.base)}
    reader = JsonLinesReader(continuous.dictionary, "stream", "stream", Clock(), "stream")
    batches = [item[1] for item in reader.feed(f"{json.dumps(event)}\n".encode()) if isinstance(item, tuple)]
    (answer,) = continuous.advance(0, batches)
    return _answer(json.loads(str(answer)))


def _answer(line: dict[str, Any]) -> SparqlAnswer:
    """The answer in a line of output."""
    if "answer" in line:
        return SparqlAnswer(line["answer"])
    if "graph" in line:
        return SparqlAnswer(triples=tuple(triple(*triple_of(fact)) for fact in line["graph"]))
    return read_bindings(line["bindings"])
