"""Ontologies to reason about: generated to any size, or well-known ones where they are at hand; with instances.

Instances live in small neighbourhoods, and a property leads from each to one other of the same: so properties that are
functional, transitive or inverse to each other conclude what they should, and nothing grows with the square of data.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from thalweg.bench import university
from thalweg.connectors.ontology_documents import read_triples
from thalweg.model.rdf import read_graph
from thalweg.model.vocabulary import OWL, RDFS, TYPE, Triple, is_schema, is_schema_class

_NAMESPACE: Final = "http://example.org/made#"
_NEIGHBOURS: Final = 5
_BRANCHES: Final = 4

KNOWN: Final = ("teams", "koala", "mad_cows", "beer")


@dataclass(frozen=True, slots=True)
class Subject:
    """An ontology, and a generator for a number of triples of data."""

    name: str
    schema: tuple[Triple, ...]
    data: Callable[[int], list[Triple]]


def data_folder() -> Path:
    """The folder of published ontologies and tests, which do not ship with the package."""
    return Path(os.environ.get("THALWEG_DATA", "../shared/data"))


def well_known() -> list[Subject]:
    """The ontologies that Coror and Stream Coror were measured with, as far as they are installed."""
    paths = [(name, data_folder() / "coror" / f"{name}.nt") for name in KNOWN]
    return [about(name, read_triples(path)) for name, path in paths if path.exists()]


def universities() -> Subject:
    """LUBM's ontology where it is at hand, ours elsewhere; with data of our generator."""
    path = data_folder() / "lubm" / "univ-bench.owl"
    schema = read_triples(path) if path.exists() else university.ontology()
    kept = tuple(triple for triple in schema if is_schema(triple))
    named = "LUBM" if path.exists() else "university"
    return Subject(named, kept, partial(university.data, namespace=university.namespace_of(kept)))


def generated_subject(classes: int) -> Subject:
    """An ontology with a number of classes, and about four axioms for each two.

    >>> generated_subject(8).name, len(generated_subject(80).data(1_000))
    ('8 classes', 1000)
    """
    text = "\n".join(_axioms(classes)).encode()
    return about(f"{classes:,} classes", [triple[:3] for triple in read_graph(text, "turtle", scope="made")])


def about(name: str, triples: Sequence[Triple]) -> Subject:
    """A subject with an ontology's own axioms; its data are instances that are made for it."""
    schema = tuple(triple for triple in triples if is_schema(triple))
    return Subject(name, schema, partial(instances, schema))


def _axioms(classes: int) -> Iterator[str]:
    """Trees of classes and of properties; every second property has a class defined by it, some are transitive."""
    yield f"@prefix : <{_NAMESPACE}> . @prefix owl: <{OWL}> . @prefix rdfs: <{RDFS}> ."
    for n in range(classes):
        yield f":Class{n} a owl:Class ."
        if n:
            yield f":Class{n} rdfs:subClassOf :Class{(n - 1) // _BRANCHES} ."
    for n in range(classes // 2):
        other = classes - 1 - n
        yield f":property{n} a owl:ObjectProperty ."
        if n:
            yield f":property{n} rdfs:subPropertyOf :property{(n - 1) // _BRANCHES} ."
        match n % 8:
            case 1 | 3 | 5:
                restriction = f"a owl:Restriction ; owl:onProperty :property{n} ; owl:someValuesFrom :Class{other}"
                yield f"[ {restriction} ] rdfs:subClassOf :Class{n} ."
            case 2 | 4:
                yield f":property{n} rdfs:domain :Class{n} ; rdfs:range :Class{other} ."
            case 6:
                yield f":property{n} owl:inverseOf :property{n - 1} ."
            case 7:
                yield f":property{n} a owl:TransitiveProperty ."


def instances(schema: Sequence[Triple], triples: int, seed: int = 0) -> list[Triple]:
    """Individuals of an ontology's classes, related by its object properties; as many triples as asked for.

    >>> schema = [("<p>", TYPE, f"<{OWL}ObjectProperty>"), ("<C>", TYPE, f"<{OWL}Class>")]
    >>> sorted({predicate for _, predicate, _ in instances(schema, 20)}) == sorted(["<p>", TYPE])
    True
    """
    random, classes, properties = Random(seed), *_vocabulary(schema)
    statements: dict[Triple, None] = {}
    number = 0
    while len(statements) < triples:
        for _ in range(4):
            statements[_individual(number), TYPE, random.choice(classes)] = None
            place = random.randrange(len(properties))
            statements[_individual(number), properties[place], _neighbour(number, place)] = None
        number += 1
    return list(statements)[:triples]


def _vocabulary(schema: Sequence[Triple]) -> tuple[list[str], list[str]]:
    """The classes and the object properties that an ontology names.

    Where a restriction gives everyone the same value, another one would make all that are valued alike the same.
    """
    valued = {node for node, predicate, _ in schema if predicate == f"<{OWL}hasValue>"}
    fixed = {value for node, predicate, value in schema if predicate == f"<{OWL}onProperty>" and node in valued}
    classes, properties = dict[str, None](), dict[str, None]()
    for subject, predicate, value in schema:
        if predicate == TYPE and value == f"<{OWL}Class>" and subject[0] == "<":
            classes[subject] = None
        elif predicate == TYPE and value in _OBJECT_PROPERTIES and subject not in fixed:
            properties[subject] = None
        elif predicate == f"<{RDFS}subClassOf>":
            classes |= dict.fromkeys(name for name in (subject, value) if name[0] == "<" and not is_schema_class(name))
    return sorted(classes), sorted(properties)


_OBJECT_PROPERTIES: Final = tuple(
    f"<{OWL}{kind}Property>" for kind in ("Object", "Transitive", "Symmetric", "InverseFunctional")
)


def _individual(number: int) -> str:
    return f"<{_NAMESPACE}individual{number}>"


def _neighbour(number: int, place: int) -> str:
    """Another of the same neighbourhood; by one property no two have the same."""
    first, mine = number // _NEIGHBOURS * _NEIGHBOURS, number % _NEIGHBOURS
    return _individual(first + (mine + 1 + place % (_NEIGHBOURS - 1)) % _NEIGHBOURS)
