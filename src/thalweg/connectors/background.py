"""Documents of RDF as background: facts without times, which hold at every tick."""

from pathlib import Path
from typing import Final

from thalweg.connectors.files import FILE_BLOCK, open_for_reading, unreadable
from thalweg.connectors.graphs import misread
from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.model.fact import Fact
from thalweg.model.rdf import ENDINGS, READ, WrongSyntax, fact_of, format_of, read_graph

_KNOWN: Final = " ".join(ending for ending, format in ENDINGS.items() if format in READ)


def read_background(path: str | Path) -> tuple[list[Fact], list[Diagnostic]]:
    """The facts of a document, each once and those of all its graphs, and what is wrong with it.

    Relative IRIs stay relative, and blank nodes are called after the file. A document with a mistake has no facts.

    >>> facts, (found,) = read_background("roads.txt")
    >>> facts, found.code
    ([], 'E402')
    """
    try:
        return [*dict.fromkeys(_facts(Path(path)))], []
    except Rejected as error:
        return [], list(error.diagnostics)


def _facts(path: Path) -> list[Fact]:
    """Facts in the order of the document; `Rejected` where it is none that can be read."""
    if format_of(path.name) is None:
        raise Rejected([Diagnostic("E402", f"`{path}` is no background that can be read", help=f"it ends in {_KNOWN}")])
    data = _read(path)
    format = format_of(path.name, data)
    if format not in READ:
        help = "give it as a program, as in `thalweg run koala.ofn`"
        raise Rejected([Diagnostic("E402", f"`{path}` is an ontology in OWL's own syntax, and no graph", help=help)])
    try:
        return [fact_of(*quad[:3]) for quad in read_graph(data, format, base=path.name, scope=str(path))]
    except WrongSyntax as wrong:
        raise Rejected([misread("E101", str(path), 1, wrong)]) from None


def _read(path: Path) -> bytes:
    file = open_for_reading(path)
    try:
        return b"".join(iter(lambda: file.read(FILE_BLOCK), b""))
    except (OSError, EOFError) as error:
        raise unreadable(str(path), error) from error
    finally:
        file.close()
