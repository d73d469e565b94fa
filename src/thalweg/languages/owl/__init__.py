"""Ontologies become rules.

    :Student rdfs:subClassOf :Person .            <Person>(X) :- <Student>(X) in [10].
    :partOf a owl:TransitiveProperty .            <partOf>(X,Z) :- <partOf>(X,Y) in [10], <partOf>(Y,Z) in [10].

The profiles `rdfs`, `pd` and `rl` are tables of rules over triples (`rules/`), specialised to the ontology at hand;
`ql` is compiled from axioms. What an ontology forbids becomes rules that find clashes (`checking`).
"""

from typing import Final

from thalweg.languages.owl.formats import FORMATS
from thalweg.languages.registry import Language

LANGUAGE: Final = Language("owl", tuple(FORMATS), kind="ontology", background=tuple(FORMATS))
