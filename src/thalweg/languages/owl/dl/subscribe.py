"""Documents and the classes asked for become a program that classifies events, with every diagnostic."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.languages.compile_options import OntologyOptions
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Declaration, Ontology
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
    everything = (*triples, *triples_of(known))
    ontology = structure.read(everything)
    texts = None if asked.classes is None else split_classes(asked.classes)
    classes = None if texts is None else read_classes(texts, _declaring(ontology, beside), dict(asked.prefixes))
    for imported in unread_imports(ontology, triples, name):
        found.append(left_out(name, "it is imported but not read", [imported], "name its file as well"))
    if ontology.leftovers:
        rest = [" ".join(map(short, triple)) for triple in ontology.leftovers]
        found.append(left_out(name, "it is not part of an axiom", rest, "complete the axiom; the rest is used"))
    program = compile_abstraction(name, ontology, classes)
    return replace(program, reasoner=asked.reasoner, chosen=classes is not None, triples=everything), found


def _declaring(ontology: Ontology, beside: Sequence[Program]) -> Ontology:
    """An ontology that knows the names of what rules beside it conclude, which classes may use."""
    kinds = {1: ("Class",), 2: ("ObjectProperty", "DataProperty")}
    derived = sorted({name for program in beside for name in program.derived if name.name[0] == "<"})
    known = [Declaration(kind, one.name) for one in derived for kind in kinds.get(one.arity, ())]
    declared = {one.name for one in ontology.declarations}
    new = (one for one in known if one.name not in declared)
    return replace(ontology, declarations=(*ontology.declarations, *new))


def triples_of(facts: Iterable[Fact]) -> Iterable[Triple]:
    """Facts of one or two arguments as triples, where their names are IRIs."""
    for fact in facts:
        if fact.predicate[0] != "<":
            continue
        if len(fact.terms) == 2:
            yield fact.terms[0], fact.predicate, fact.terms[1]
        elif len(fact.terms) == 1:
            yield fact.terms[0], RDF_TYPE, fact.predicate
