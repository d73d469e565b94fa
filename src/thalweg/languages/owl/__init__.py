"""Ontologies become rules.

    :Student rdfs:subClassOf :Person .            <Person>(X) :- <Student>(X) in [10].
    :partOf a owl:TransitiveProperty .            <partOf>(X,Z) :- <partOf>(X,Y) in [10], <partOf>(Y,Z) in [10].

The profiles `rdfs`, `pd` and `rl` are tables of rules over triples (`rules/`), specialised to the ontology at hand;
`ql` is compiled from axioms. What an ontology forbids becomes rules that find clashes (`checking`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic
from thalweg.languages.owl.formats import FORMATS
from thalweg.languages.registry import RULES, Graph, Language, Options

if TYPE_CHECKING:
    from thalweg.ir.nodes import Program
    from thalweg.languages.owl.checking import Checked
    from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram


def compile(
    documents: Sequence[Graph], options: Options
) -> "tuple[Program | Checked | AbstractionProgram, list[Diagnostic]]":
    """The rules of all documents together, or their checks, and what deserves a warning."""
    from thalweg.languages.owl import checking, compiling
    from thalweg.languages.owl.program import Options as Additions

    asked = options.ontology
    name = ", ".join(document.name for document in documents)
    triples = [triple for document in documents for triple in document.triples]
    if asked.abstracts:
        from thalweg.languages.owl.dl import subscribe

        return subscribe.compile(name, triples, asked, options.background, options.beside)
    if asked.checks:
        return checking.compile(name, triples, asked, options.beside)
    additions = Additions(asked.literals, asked.witnesses)
    window = int(asked.window)
    return compiling.compile(name, triples, asked.profile, window, asked.schema, additions, options.beside)


_OPTIONS: Final = (
    "--window --keep --profile --schema-stream --literals --witnesses --as --topology --bolts --classes --reasoner"
)

LANGUAGE: Final = Language(
    "owl",
    tuple(FORMATS),
    compile,
    background=tuple(FORMATS),
    understands=RULES | frozenset(_OPTIONS.split()),
    takes_triples=True,
    specialised=True,
    title="ontologies",
)
