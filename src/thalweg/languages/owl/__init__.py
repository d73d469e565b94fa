"""Ontologies become rules.

    :Student rdfs:subClassOf :Person .            <Person>(X) :- <Student>(X) in [10].
    :partOf a owl:TransitiveProperty .            <partOf>(X,Z) :- <partOf>(X,Y) in [10], <partOf>(Y,Z) in [10].

The profiles `rdfs`, `pd` and `rl` are tables of rules over triples (`rules/`), specialised to the ontology at hand;
`ql` is compiled from axioms. What an ontology forbids becomes rules that find clashes (`checking`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic
from thalweg.languages.options import flags_for
from thalweg.languages.owl.formats import FORMATS
from thalweg.languages.registry import RULES, Graph, Language, Options

if TYPE_CHECKING:
    from thalweg.ir.nodes import Program
    from thalweg.languages.owl.checking import Checked
    from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
    from thalweg.model.vocabulary import Triple


def compile(
    documents: Sequence[Graph], options: Options
) -> "tuple[Program | Checked | AbstractionProgram, list[Diagnostic]]":
    """The rules of all documents together, or their checks, and what deserves a warning."""
    from thalweg.languages.owl import checking, compiling
    from thalweg.languages.owl.program import ProfileAdditions
    from thalweg.languages.owl.shapes import without_shapes
    from thalweg.languages.owl.swrl import split_rules
    from thalweg.languages.owl.swrl_rules import not_used

    settings = options.ontology
    name = ", ".join(document.name for document in documents)
    warnings: list[Diagnostic] = []
    triples: list[Triple] = []
    for document in documents:
        kept, shaped = without_shapes(document.name, document.triples)
        triples += kept
        warnings += shaped
    rules, triples = split_rules(triples)
    if rules and (settings.abstracts or settings.checks):
        reason = (
            f"{'the classes of events are decided' if settings.abstracts else 'consistency is checked'} without rules"
        )
        warnings.append(not_used(name, reason, rules, "a profile such as `--profile rl` uses rules"))
    if settings.abstracts:
        from thalweg.languages.owl.dl import subscribe

        abstraction, diagnostics = subscribe.compile(name, triples, settings, options.background, options.beside)
        return abstraction, [*warnings, *diagnostics]
    if settings.checks:
        checked, diagnostics = checking.compile(name, triples, settings, options.beside)
        return checked, [*warnings, *diagnostics]
    additions = ProfileAdditions(settings.literals, settings.witnesses)
    window = int(settings.window)
    program, diagnostics = compiling.compile(
        name,
        triples,
        settings.profile,
        window,
        settings.schema,
        additions,
        options.beside,
        rules,
        settings.owl_streamed,
    )
    return program, [*warnings, *diagnostics]


LANGUAGE: Final = Language(
    "owl",
    tuple(FORMATS),
    compile,
    background=tuple(FORMATS),
    understands=RULES | flags_for("ontologies"),
    takes_triples=True,
    specialised=True,
    title="ontologies",
)
