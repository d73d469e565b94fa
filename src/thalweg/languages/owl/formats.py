"""In which format an ontology or another document of RDF is written, by its suffix."""

from typing import Final

from thalweg.languages.registry import suffix_of
from thalweg.model.encoding import look

FORMATS: Final = {
    ".ttl": "turtle", ".trig": "trig", ".nt": "ntriples", ".nq": "nquads", ".jsonld": "jsonld",
    ".rdf": "rdfxml", ".owl": "rdfxml", ".xml": "rdfxml",
    ".ofn": "functional", ".omn": "manchester", ".owx": "owlxml",
}  # fmt: skip


def format_of(name: str, content: bytes = b"") -> str | None:
    """The format of a document by its suffix; None where that is unknown.

    Suffixes of XML, `.owl` first of all, are given to anything that holds an ontology: where the content is known, it
    decides. The formats that are not in `model.rdf.READ` are OWL's own.

    >>> format_of("data/roads.ttl.gz"), format_of("koala.owl"), format_of("koala.owl", b"Prefix(:=<http://a/>)")
    ('turtle', 'rdfxml', 'functional')
    """
    format = FORMATS.get(suffix_of(name))
    return look(content) if format == "rdfxml" and content else format
