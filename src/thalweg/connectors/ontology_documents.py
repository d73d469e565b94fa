"""Documents of RDF and OWL as triples, without times: ontologies, and background."""

from pathlib import Path
from typing import Final

from thalweg.connectors.files import read_bytes
from thalweg.connectors.graphs import misread
from thalweg.connectors.storage import unreadable
from thalweg.diagnostics import RejectedError, Source
from thalweg.languages.owl import graph, syntaxes
from thalweg.languages.owl.formats import format_of
from thalweg.model.encoding import UnknownEncodingError, as_utf8
from thalweg.model.rdf import READ, RdfSyntaxError, read_graph

Triple = tuple[str, str, str]

_SYNTAXES: Final = {"functional": "ofn", "manchester": "omn", "owlxml": "owx"}


def read_triples(document: str | Path | Source) -> list[Triple]:
    """The triples of a document, those of all its graphs; `RejectedError` where it cannot be read.

    Relative IRIs stay relative, and blank nodes are called after the file.
    """
    return list(dict.fromkeys(triple for triples in read_graphs(document).values() for triple in triples))


def read_graphs(document: str | Path | Source) -> dict[str | None, list[Triple]]:
    """The triples of each graph of a document, the default graph under None; `RejectedError` if it cannot be read."""
    name = document.name if isinstance(document, Source) else str(document)
    data = document.text.encode(errors="surrogatepass") if isinstance(document, Source) else read_bytes(Path(document))
    format = format_of(name, data)
    assert format is not None
    try:
        if format not in READ:
            text = as_utf8(data).decode("utf-8-sig", "replace")
            ontology, rules = syntaxes.read_with_rules(text, _SYNTAXES[format], name, name)
            return {None: graph.triples(ontology, name, rules)}
        graphs: dict[str | None, dict[Triple, None]] = {None: {}}
        for subject, predicate, value, where in read_graph(data, format, base=Path(name).name, scope=name):
            graphs.setdefault(where, {})[subject, predicate, value] = None
        return {where: list(triples) for where, triples in graphs.items()}
    except RdfSyntaxError as wrong:
        raise RejectedError([misread("E101", name, 1, wrong)]) from None
    except UnknownEncodingError as error:
        raise unreadable(name, error) from None
