"""What an ontology says and is not used: one warning for each reason, with the axioms that it counts."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.languages.owl.axioms import Ontology
from thalweg.languages.owl.kinds import owl
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple

REST_IS_USED: Final = "the other parts of its axiom are used"
_VERSION: Final = owl("versionIRI")
_ONTOLOGY: Final = owl("Ontology")


def left_out(name: str, reason: str, texts: Sequence[str], way_out: str) -> Diagnostic:
    """The warning about axioms or triples that are not used, for one reason.

    >>> left_out("x.ttl", "a class without a name is outside RDFS", ["A", "B"], "").message
    'x.ttl: 2 axioms or triples are not used, such as `A`: a class without a name is outside RDFS'
    """
    if len(texts) == 1:
        return Diagnostic("W409", f"{name}: `{texts[0]}`: {reason}", help=way_out)
    message = f"{name}: {len(texts)} axioms or triples are not used, such as `{texts[0]}`: {reason}"
    help_ = f"{way_out}; `--verbose` lists all" if way_out else "`--verbose` lists all"
    return Diagnostic("W409", message, help=help_, listed=tuple(f"`{text}`" for text in texts))


def unread_imports(ontology: Ontology, triples: Iterable[Triple], name: str) -> Iterator[str]:
    """The imports of documents that were not read.

    A document is known by the IRI of its ontology, by its version, or by its file: `name` has the names of all files.
    """
    if not ontology.imports:
        return
    documents = {subject for subject, predicate, object_ in triples if (predicate, object_) == (RDF_TYPE, _ONTOLOGY)}
    documents |= {version for _, predicate, version in triples if predicate == _VERSION}
    files = {stem for file in name.split(", ") for stem in (PurePath(file).name, PurePath(file).name.partition(".")[0])}
    for imported in ontology.imports:
        if imported not in documents and PurePath(imported.strip("<>").rstrip("/#")).name not in files:
            yield imported
