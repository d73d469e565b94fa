"""The words of RDF, RDFS and OWL, and which of them describe the schema.

A triple is *schema* when its predicate is one of OWL's own (`rdfs:subClassOf`, `owl:onProperty`, `rdf:first`), or when
it types something with one of OWL's own classes (`owl:TransitiveProperty`). Everything else is data, `owl:sameAs` and
`owl:Thing` included: streams may bring it.
"""

from typing import Final

from thalweg.model.rdf import RDF_TYPE, XSD

Triple = tuple[str, str, str]

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
PREFIXES: Final = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}

TYPE: Final = RDF_TYPE
SAME_AS: Final = f"<{OWL}sameAs>"
DIFFERENT_FROM: Final = f"<{OWL}differentFrom>"
THING: Final = f"<{OWL}Thing>"
RESOURCE: Final = f"<{RDFS}Resource>"
DATATYPE: Final = f"<{RDFS}Datatype>"
LITERAL: Final = f"<{RDFS}Literal>"
SOME_VALUES_FROM: Final = f"<{OWL}someValuesFrom>"
RESTRICTION: Final = f"<{OWL}Restriction>"
ON_PROPERTY: Final = f"<{OWL}onProperty>"
FILLERS: Final = frozenset({SOME_VALUES_FROM, f"<{OWL}allValuesFrom>", f"<{OWL}hasValue>"})

_OWN: Final = tuple(f"<{namespace}" for namespace in (RDF, RDFS, OWL))
_DATA_PREDICATES: Final = frozenset(
    {TYPE, SAME_AS, DIFFERENT_FROM}
    | {f"<{OWL}{name}>" for name in ("topObjectProperty", "topDataProperty")}
    | {f"<{OWL}{name}>" for name in ("bottomObjectProperty", "bottomDataProperty", "versionInfo", "deprecated")}
    | {f"<{RDFS}{name}>" for name in ("label", "comment", "seeAlso", "isDefinedBy", "member")}
    | {f"<{RDF}{name}>" for name in ("value", "subject", "predicate", "object")}
)
_DATA_CLASSES: Final = frozenset(
    {THING, RESOURCE}
    | {f"<{OWL}{name}>" for name in ("Nothing", "NamedIndividual")}
    | {f"<{RDFS}{name}>" for name in ("Literal", "Container")}
    | {f"<{RDF}{name}>" for name in ("List", "Bag", "Seq", "Alt", "Statement", "PlainLiteral", "XMLLiteral")}
)


def is_schema_predicate(term: str) -> bool:
    """Whether a predicate describes classes and properties.

    >>> is_schema_predicate(f"<{RDFS}subClassOf>"), is_schema_predicate(SAME_AS), is_schema_predicate(f"<{RDF}_1>")
    (True, False, False)
    """
    return term.startswith(_OWN) and term not in _DATA_PREDICATES and not term.startswith(f"<{RDF}_")


def is_schema_class(term: str) -> bool:
    """Whether a class has classes, properties or axioms as its members.

    >>> is_schema_class(f"<{OWL}TransitiveProperty>"), is_schema_class(THING)
    (True, False)
    """
    return term.startswith(_OWN) and term not in _DATA_CLASSES


def is_schema(triple: Triple) -> bool:
    """Whether a triple describes the schema."""
    _, predicate, value = triple
    return is_schema_class(value) if predicate == TYPE else is_schema_predicate(predicate)


def short(term: str) -> str:
    """A term as people write it.

    >>> short(f"<{RDFS}subClassOf>"), short("<http://example.org/a>")
    ('rdfs:subClassOf', '<http://example.org/a>')
    """
    for prefix, namespace in PREFIXES.items():
        if term.startswith(f"<{namespace}"):
            return f"{prefix}:{term[len(namespace) + 1 : -1]}"
    return term
