"""What the variables of a pattern hold, as far as the tables of a stream say it.

EVENT :Slow { ?o :speed ?v ; :road ?r }      v holds what the second argument of :speed does; o is a text

A clause looks its triples up in the event, in the background and in what the ontology entails. So the stream decides
what a variable holds only where no axiom gives more triples of that property, and the background has none that differ.
"""

from collections.abc import Collection, Iterator, Mapping

from thalweg.ir.patterns import Clause, Pattern
from thalweg.kinds.typed_columns import Inputs
from thalweg.languages.owl.axioms import within
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.model.predicate import Predicate
from thalweg.planning.argument_types import Type, joined, term_type


def binding_types(pattern: Pattern, properties: Mapping[str, Type]) -> dict[str, Type]:
    """The types of the variables that a match binds, by their names; those that hold texts are left out.

    `properties` has what the objects of a property hold.
    """
    types: dict[str, Type] = {}
    for name in sorted(pattern.bound):
        # A branch of an `OR` binds it by its own clause alone, so each clause must say what it holds.
        by_clause = [_in_clause(clause, name, properties) for clause in pattern.clauses if name in clause.variables]
        type_ = None if None in by_clause else joined(by_clause)
        if type_ is not None and type_ != "text":
            types[name] = type_
    return types


def _in_clause(clause: Clause, name: str, properties: Mapping[str, Type]) -> Type | None:
    """What a variable holds by the triples of a clause, all of which it is in; None where they do not say."""
    variable = f"?{name}"
    if any(variable in (triple.subject, triple.predicate) for triple in clause.triples):
        return "text"
    objects = (properties.get(triple.predicate) for triple in clause.triples if triple.object == variable)
    return joined(list(objects))


def property_types(program: AbstractionProgram, inputs: Inputs, concluded: Collection[Predicate]) -> dict[str, Type]:
    """What the objects of properties hold, where only the stream and the background have triples of them.

    Rules beside the events conclude more of the `concluded` ones, and axioms may give more of those that they mention.
    """
    mentioned = frozenset(_mentioned(program))
    types: dict[str, Type] = {}
    for predicate, arguments in inputs.items():
        if predicate.arity != 2 or predicate in concluded or predicate.name in mentioned:
            continue
        if (type_ := arguments[1]) is not None:
            types[predicate.name] = type_
    for _, name, target in program.triples:
        if name in types:
            types[name] = joined([types[name], term_type(target)]) or "text"
    return types


def _mentioned(program: AbstractionProgram) -> Iterator[str]:
    """The names in the axioms by which more triples follow."""
    for axiom in () if program.lookup is None else program.lookup.axioms:
        yield from (part for part in within(axiom) if isinstance(part, str))
