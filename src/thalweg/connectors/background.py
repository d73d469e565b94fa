"""Documents of RDF as background: facts without times, which hold at every tick."""

from pathlib import Path
from typing import Final

from thalweg.connectors.ontologies import is_document, read_triples
from thalweg.diagnostics import Diagnostic, Rejected, Source
from thalweg.model.fact import Fact
from thalweg.model.rdf import ENDINGS, fact_of

_KNOWN: Final = " ".join(ENDINGS)


def read_background(document: str | Path | Source) -> tuple[list[Fact], list[Diagnostic]]:
    """The facts of a document, each once and those of all its graphs, and what is wrong with it.

    A document with a mistake has no facts.

    >>> facts, (found,) = read_background("roads.txt")
    >>> facts, found.code
    ([], 'E402')
    """
    name = document.name if isinstance(document, Source) else str(document)
    if not is_document(name):
        return [], [
            Diagnostic("E402", f"`{name}` cannot be read as background: unknown file type", help=f"it ends in {_KNOWN}")
        ]
    try:
        return [*dict.fromkeys(fact_of(*triple) for triple in read_triples(document))], []
    except Rejected as error:
        return [], list(error.diagnostics)
