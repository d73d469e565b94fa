"""An ontology as a program, by any profile, with warnings about the axioms that lie outside of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Axiom, ClassAssertion, Ontology, show
from thalweg.languages.owl.left_out import REST_IS_USED, left_out, unread_imports
from thalweg.languages.owl.profiles import inside_and_outside, reason_outside
from thalweg.languages.owl.program import (
    ProfileAdditions,
    bridged,
    is_about_owl,
    over_triples,
    rewritten,
    specialised,
    windowed,
)
from thalweg.languages.owl.swrl import DLSafeRule
from thalweg.languages.owl.swrl_rules import compile_rules
from thalweg.model.vocabulary import Triple, short


def compile(
    name: str,
    triples: Sequence[Triple],
    profile: str,
    window: int = 0,
    schema: bool = False,
    options: ProfileAdditions = ProfileAdditions(),
    programs: Sequence[Program] = (),
    swrl: Sequence[DLSafeRule] = (),
    owl_streamed: bool = True,
) -> tuple[Program, list[Diagnostic]]:
    """The program of an ontology, and a warning for each kind of axiom that lies outside the profile.

    `programs` are those that it runs beside, `swrl` the rules in its documents. The profile `auto` is `rl` without the
    rules that need facts in the vocabulary of OWL, where there are none: none are `owl_streamed`, none are in the
    background, and nothing beside can derive them.
    """
    chosen, profile = profile, "rl" if profile == "auto" else profile
    ontology = structure.read(triples)
    ruled, unused = compile_rules(name, swrl, profile, specialised=not schema)
    ruled = replace(ruled, rules=tuple(windowed(rule, window) for rule in ruled.rules))
    programs = (*programs, ruled)
    if profile == "ql":
        program = rewritten(name, triples, ontology, window)
    elif schema:
        program = bridged(over_triples(triples, profile, window, options), programs)
    else:
        # Rules beside an ontology may ask for anything by any of its names.
        alone = not any(other.rules for other in programs)
        about_owl = any(is_about_owl(fact.signature) for other in programs for fact in other.background)
        owl_facts = chosen != "auto" or owl_streamed or about_owl or not alone
        program = specialised(name, triples, profile, window, options, profile == "rl" and alone, owl_facts)
    diagnostics = [*unused, *outside(name, ontology, profile, triples)]
    return merge([program, ruled]) if ruled.rules else program, diagnostics


def inside(ontology: Ontology, profile: str) -> Ontology:
    """An ontology with the axioms of a profile only."""
    kept = ([axiom] if _is_plain(axiom) else inside_and_outside(axiom, profile)[0] for axiom in ontology.axioms)
    return replace(ontology, axioms=tuple(axiom for axioms in kept for axiom in axioms))


def outside(name: str, ontology: Ontology, profile: str, triples: Sequence[Triple]) -> list[Diagnostic]:
    """A warning for each kind of axiom that lies outside a profile, and for what is no axiom."""
    by_reason: dict[str, list[str]] = {}
    for axiom in ontology.axioms:
        used, unused = ([axiom], []) if _is_plain(axiom) else inside_and_outside(axiom, profile)
        for part in unused:
            reason = f"{reason_outside(part, profile)}{f'; {REST_IS_USED}' if used else ''}"
            by_reason.setdefault(reason, []).append(show(part))
    for imported in unread_imports(ontology, triples, name):
        by_reason.setdefault("it is imported but not read: name its file as well", []).append(imported)
    for triple in ontology.leftovers:
        by_reason.setdefault("it is not part of an axiom", []).append(" ".join(map(short, triple)))
    return [
        left_out(name, reason, texts, _WAY_OUT if number == len(by_reason) else "")
        for number, (reason, texts) in enumerate(by_reason.items(), 1)
    ]


_WAY_OUT: Final = "the rest is used; another `--profile` may support it"


def _is_plain(axiom: Axiom) -> bool:
    """Whether an axiom puts an individual into a named class, which is data and inside every profile."""
    return isinstance(axiom, ClassAssertion) and isinstance(axiom.of, str)
