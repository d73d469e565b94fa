"""Facts as named graphs that others can read, with statements about each graph: N-Quads, and JSON-LD.

    <g> prov:generatedAtTime "1970-01-01T00:00:41Z"^^xsd:dateTime .
    <s> <p> <o> <g> .

JSON-LD has the same on one line, in its expanded form, so that it needs no context and a stream of it has no end.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from thalweg.model.rdf import RDF_TYPE, triple_of
from thalweg.model.term import unquote

Statements = tuple[tuple[str, str], ...]
"""Predicates and objects, as N-Triples writes them."""

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class PublishedGraph:
    """Facts under the name of a graph, and statements about the graph, which stand in the default graph.

    >>> graph = PublishedGraph("<urn:g>", ("<http://a/p>(<http://a/b>,<http://a/c>)",), (("<http://a/by>", '"me"'),))
    >>> print(graph.nquads(), end="")
    <urn:g> <http://a/by> "me" .
    <http://a/b> <http://a/p> <http://a/c> <urn:g> .
    >>> print(graph.jsonld(), end="")
    {"@id":"urn:g","http://a/by":[{"@value":"me"}],"@graph":[{"@id":"http://a/b","http://a/p":[{"@id":"http://a/c"}]}]}
    """

    name: str
    facts: tuple[str, ...]
    about: Statements

    def nquads(self) -> str:
        """Lines of N-Quads: the statements about the graph first, then its triples in the order of their text."""
        about = [f"{self.name} {predicate} {object} .\n" for predicate, object in self.about]
        return "".join(about + [f"{triple} {self.name} .\n" for triple in _triples(self.facts)])

    def jsonld(self) -> str:
        """A line that is a document of JSON-LD."""
        data: dict[str, Any] = _node(self.name, self.about)
        return _encode(data | {"@graph": _nodes(self.facts)}) + "\n"


@lru_cache(maxsize=8)
def _triples(facts: tuple[str, ...]) -> list[str]:
    """The text of triples; the same facts are output at many ticks."""
    return sorted(map(" ".join, map(triple_of, facts)))


@lru_cache(maxsize=8)
def _nodes(facts: tuple[str, ...]) -> list[dict[str, Any]]:
    by_subject: dict[str, list[tuple[str, str]]] = {}
    for subject, predicate, object in sorted(map(triple_of, facts)):
        by_subject.setdefault(subject, []).append((predicate, object))
    return [_node(subject, properties) for subject, properties in by_subject.items()]


def _node(subject: str, properties: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A node object of JSON-LD."""
    node: dict[str, Any] = {"@id": _id(subject)}
    for predicate, object in properties:
        if predicate == RDF_TYPE and object[0] != '"':
            node.setdefault("@type", []).append(_id(object))
        else:
            node.setdefault(_id(predicate), []).append(_value(object))
    return node


def _value(object: str) -> dict[str, str]:
    """An object of a triple in JSON-LD.

    >>> _value('"3"^^<http://a/t>'), _value('"chat"@fr'), _value("_:b")
    ({'@value': '3', '@type': 'http://a/t'}, {'@value': 'chat', '@language': 'fr'}, {'@id': '_:b'})
    """
    if object[0] != '"':
        return {"@id": _id(object)}
    end = object.rindex('"') + 1
    text, tag = unquote(object[:end]), object[end:]
    if not tag:
        return {"@value": text}
    return {"@value": text, "@language": tag[1:]} if tag[0] == "@" else {"@value": text, "@type": _id(tag[2:])}


def _id(term: str) -> str:
    return term[1:-1] if term[0] == "<" else term
