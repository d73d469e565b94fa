"""Events as facts, which rules, queries and answer sets beside them read.

    {"t":5,"event":"<High>",…,"individual":"<obs1>"}             <High>(<obs1>) at 5
    {"t":12,"event":"<Jam>",…,"bindings":{"loc":"<loc1>"}}       <Jam>(<id>) and <Jam_loc>(<id>,<loc1>) at 12

`answers/event_answers.py` makes them.
"""

from collections.abc import Iterable

from thalweg.answers.event_answers import binding_name
from thalweg.diagnostics import Diagnostic
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Atom, Program
from thalweg.ir.patterns import Pattern
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned


def predicates_given(program: CascadeProgram) -> frozenset[Predicate]:
    """The predicates of the facts that the events of a program are."""
    predicates = {Predicate(event.name, 1) for event in program.events}
    for event in program.events:
        if isinstance(event.definition, Pattern):
            predicates |= {Predicate(binding_name(event.name, name), 2) for name in event.definition.bound}
    return frozenset(predicates)


def never_bound(program: CascadeProgram, rules: Program) -> list[Diagnostic]:
    """Warns where rules read a variable of an event that no match binds."""
    names = {
        Predicate(binding_name(event.name, variable), 2): (event.name, variable)
        for event in program.events
        if isinstance(event.definition, Pattern)
        for variable in frozenset().union(*(clause.variables for clause in event.definition.clauses))
        - event.definition.bound
    }
    atoms = (formula.atom for rule in rules.rules for formula, _ in formulas(rule.body))
    return [
        _never_bound(atom, *names[atom.signature])
        for atom in atoms
        if atom.signature in names and atom.signature not in rules.derived
    ]


def _never_bound(atom: Atom, event: str, variable: str) -> Diagnostic:
    message = f"no match of `{event}` binds `?{variable}`, so `{atom.predicate}` never holds"
    way_out = (
        f"give each place a name of its own (`NAMED EVENT :Second AS …`) and use `?{variable}` in the clauses of both"
    )
    return Diagnostic("W816", message, atom.span, help=way_out)


def batch_of(facts: Iterable[Fact], words: Dictionary, stream: str) -> Batch:
    """Facts as an event of a stream."""
    batch = Batch(stream=stream)
    for fact in facts:
        batch.add(interned(fact.predicate, len(fact.terms)), [words.code(term) for term in fact.terms])
    return batch
