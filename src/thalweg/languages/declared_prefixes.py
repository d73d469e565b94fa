"""The prefixes that a text declares, in whichever language it is written.

    @prefix ex: <http://example.org/> .      LARS, Turtle, TriG
    PREFIX ex: <http://example.org/>         Turtle, queries
    #prefix ex: <http://example.org/>.       answer set programs
    Prefix(ex:=<http://example.org/>)        functional syntax
    Prefix: ex: <http://example.org/>        Manchester syntax
    xmlns:ex="http://example.org/"           RDF/XML
    <Prefix name="ex" IRI="http://…"/>       OWL/XML

What people read is written with them, and what they type is read with them; what programs mean does not depend on this.
"""

import re
from typing import Final

_DECLARATIONS: Final = (
    re.compile(r"^\s*(?:[@#]prefix|PREFIX|Prefix:)\s+([\w-]*)\s*:\s*<([^<>\s]*)>", re.MULTILINE | re.IGNORECASE),
    re.compile(r"^\s*Prefix\s*\(\s*([\w-]*)\s*:\s*=\s*<([^<>\s]*)>\s*\)", re.MULTILINE),
    re.compile(r"""\sxmlns:([\w-]+)\s*=\s*["']([^"'&<]*)["']"""),
    re.compile(r"""<Prefix\s+name\s*=\s*["']([\w-]*)["']\s+IRI\s*=\s*["']([^"'&<]*)["']"""),
)


def declared_prefixes(text: str) -> dict[str, str]:
    """Names and namespaces; of two declarations of one name the first counts.

    >>> declared_prefixes("@prefix ex: <http://example.org/> .")
    {'ex': 'http://example.org/'}
    """
    prefixes: dict[str, str] = {}
    for pattern in _DECLARATIONS:
        for name, space in pattern.findall(text):
            prefixes.setdefault(name, space)
    return prefixes
