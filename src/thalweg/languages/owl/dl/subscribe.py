"""Documents and the classes asked for become a program that classifies events, with every diagnostic."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.languages.compile_options import OntologyOptions
from thalweg.languages.owl import structure
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, compile_abstraction
from thalweg.languages.owl.dl.manchester import read_classes, split_classes
from thalweg.languages.owl.left_out import left_out, unread_imports
from thalweg.model.fact import Fact
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple, short


def compile(
    name: str, triples: Sequence[Triple], asked: OntologyOptions, known: Iterable[Fact], beside: Sequence[Program]
) -> tuple[AbstractionProgram, list[Diagnostic]]:
    """The program of documents; `known` are facts of other backgrounds, which count if they are about IRIs."""
    found: list[Diagnostic] = []
    if any(program.rules for program in beside):
        found.append(Diagnostic("E403", "`--as abstraction` classifies events by ontologies only: leave the rules out"))
    everything = (*triples, *_triples(known))
    ontology = structure.read(everything)
    texts = None if asked.classes is None else split_classes(asked.classes)
    classes = None if texts is None else read_classes(texts, ontology, dict(asked.prefixes))
    for imported in unread_imports(ontology, triples, name):
        found.append(left_out(name, "it is imported but not read", [imported], "name its file as well"))
    if ontology.leftovers:
        rest = [" ".join(map(short, triple)) for triple in ontology.leftovers]
        found.append(left_out(name, "it is not part of an axiom", rest, "complete the axiom; the rest is used"))
    program = compile_abstraction(name, ontology, classes)
    return replace(program, reasoner=asked.reasoner, chosen=classes is not None, triples=everything), found


def _triples(facts: Iterable[Fact]) -> Iterable[Triple]:
    """Facts of one or two arguments as triples."""
    for fact in facts:
        if len(fact.terms) == 2:
            yield fact.terms[0], fact.predicate, fact.terms[1]
        elif len(fact.terms) == 1:
            yield fact.terms[0], RDF_TYPE, fact.predicate
