"""Documents and the classes asked for become a program that classifies events, with every diagnostic."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.languages.compile_options import OntologyOptions
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Declaration, Ontology
from thalweg.languages.owl.compiling import inside, outside
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, compile_abstraction
from thalweg.languages.owl.dl.manchester import Vocabulary, read_classes, split_classes
from thalweg.languages.owl.left_out import left_out, unread_imports
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple, short


def compile(
    name: str, triples: Sequence[Triple], settings: OntologyOptions, facts: Iterable[Fact], programs: Sequence[Program]
) -> tuple[AbstractionProgram, list[Diagnostic]]:
    """Compiles documents to a program and diagnostics; `facts` of other backgrounds count if they are about IRIs."""
    diagnostics: list[Diagnostic] = []
    everything = (*triples, *triples_of(facts))
    ontology = structure.read(everything)
    texts = None if settings.classes is None else split_classes(settings.classes)
    classes = (
        None
        if texts is None
        else read_classes(texts, declaring(ontology, derived_names(programs)), dict(settings.prefixes))
    )
    if settings.events_by not in (None, "dl"):
        diagnostics += outside(name, replace(ontology, imports=(), leftovers=()), settings.events_by, ())
        ontology = inside(ontology, settings.events_by)
    for imported in unread_imports(ontology, triples, name):
        diagnostics.append(left_out(name, "it is imported but not read", [imported], "name its file as well"))
    if ontology.leftovers:
        leftovers = [" ".join(map(short, triple)) for triple in ontology.leftovers]
        diagnostics.append(
            left_out(name, "it is not part of an axiom", leftovers, "complete the axiom; the rest is used")
        )
    program = compile_abstraction(name, ontology, classes)
    lookup = lookup_program(name, ontology, settings.looked_up)
    if lookup is not None:
        lookup = replace(lookup, reasoner=settings.reasoner, triples=everything)
    chosen = classes is not None
    about = {"individuals": settings.individuals, "profile": settings.events_by}
    program = replace(program, reasoner=settings.reasoner, **about)  # type: ignore[arg-type]
    return replace(program, chosen=chosen, triples=everything, lookup=lookup), diagnostics


def lookup_program(name: str, ontology: Ontology, wanted: Sequence[Predicate] | None) -> AbstractionProgram | None:
    """The program that finds what follows about the names `wanted`, or about all; None where nothing follows."""
    if wanted is None:
        kinds = Vocabulary(ontology).kinds
        classes, properties = kinds["Class"], kinds["ObjectProperty"] | kinds["DataProperty"]
    else:
        classes = {predicate.name for predicate in wanted if predicate.arity == 1}
        properties = {predicate.name for predicate in wanted if predicate.arity == 2}
    if not classes and not properties:
        return None
    program = compile_abstraction(name, ontology, [(iri, iri) for iri in sorted(classes)], sorted(properties))
    if not program.axioms and not program.same:
        return None
    return replace(program, looked_up=frozenset(classes | properties))


def derived_names(programs: Sequence[Program]) -> set[Predicate]:
    """What rules conclude."""
    return {name for program in programs for name in program.derived}


def declaring(ontology: Ontology, concluded: Iterable[Predicate]) -> Ontology:
    """An ontology that knows the names of what is concluded beside it, which classes may use."""
    kinds = {1: ("Class",), 2: ("ObjectProperty", "DataProperty")}
    declarations = [
        Declaration(kind, predicate.name)
        for predicate in sorted(concluded)
        if predicate.name[0] == "<"
        for kind in kinds.get(predicate.arity, ())
    ]
    declared = {declaration.name for declaration in ontology.declarations}
    new = (declaration for declaration in declarations if declaration.name not in declared)
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
