"""The names in a query: prefixes, relative IRIs, and what of an IRI is its local name.

A relative IRI is resolved against `BASE`; without one it stays what it is, a name, and is spelled as such names are
spelled in RDF (`model.rdf`): `<w1>` is `<urn:thalweg:iri:w1>`.
"""

import re
from contextlib import suppress
from typing import Final
from urllib.parse import urljoin

from thalweg.model.rdf import as_ntriples

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPED: Final = re.compile(r"\\(.)")
_LOCAL: Final = re.compile(r"[^#/:]*\Z")

WELL_KNOWN: Final = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "prov": "http://www.w3.org/ns/prov#",
}


class DeclaredNames:
    """The prefixes and the base that a query has declared so far.

    >>> names = DeclaredNames()
    >>> names.declare("ex:", "<http://ex.org/>")
    >>> names.iri("<w1>"), names.iri("ex:a"), names.iri("other:a")
    ('<urn:thalweg:iri:w1>', '<http://ex.org/a>', None)
    """

    def __init__(self) -> None:
        self._base = ""
        self._prefixes: dict[str, str] = {}

    def rebase(self, iri: str) -> None:
        """`BASE`."""
        self._base = self._absolute(iri)[1:-1]

    def declare(self, prefix: str, iri: str) -> None:
        """`PREFIX`; the prefix has its colon."""
        self._prefixes[prefix.removesuffix(":")] = self._absolute(iri)[1:-1]

    def iri(self, written: str) -> str | None:
        """The IRI that a name or an IRI stands for, in its brackets; None where its prefix is unknown."""
        if written.startswith("<"):
            return self._absolute(written)
        prefix, _, local = written.partition(":")
        space = self._prefixes.get(prefix)
        return None if space is None else f"<{space}{_ESCAPED.sub(lambda escape: escape[1], local)}>"

    def _absolute(self, iri: str) -> str:
        """An IRI with a scheme, resolved or spelled as a name."""
        if self._base and not _SCHEME.match(iri[1:]):
            # What cannot be resolved, such as an address with half a bracket, is rejected by SPARQL's own parser.
            with suppress(ValueError):
                return f"<{urljoin(self._base, iri[1:-1])}>"
        return as_ntriples(iri)


def local_name(name: str) -> str:
    """What an IRI is called for short; a name that is none stays what it is.

    >>> local_name("<http://ex.org/streams#traffic>"), local_name("traffic")
    ('traffic', 'traffic')
    """
    local = _LOCAL.search(name[1:-1]) if name.startswith("<") else None
    return name if local is None else local[0]


def means_stream(written: str, stream: str) -> bool:
    """Whether what a query calls a stream is one of a name: its local name, or exactly its IRI.

    >>> means_stream("<http://ex.org/s>", "s"), means_stream("<http://ex.org/s>", "http://ex.org/s")
    (True, True)
    """
    return stream in (written, written.strip("<>"), local_name(written))


def unknown_prefix(name: str) -> tuple[str, str]:
    """What is said about the prefix of a name that is not declared, and the way out."""
    prefix = name.partition(":")[0]
    space = WELL_KNOWN.get(prefix, "http://example.org/")
    return f"unknown prefix `{prefix}:`", f"declare it first: `PREFIX {prefix}: <{space}>`"
