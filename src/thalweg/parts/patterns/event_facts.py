"""Events as facts, which rules, queries and answer sets beside them read.

    {"t":5,"event":"<High>",…,"individual":"<obs1>"}             <High>(<obs1>) at 5
    {"t":12,"event":"<Jam>",…,"bindings":{"loc":"<loc1>"}}       <Jam>(<id>) and <Jam_loc>(<id>,<loc1>) at 12

The id of a complex event is made of its name, its ticks and its events, so it is the same in every run.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from thalweg.ir.pattern_semantics import Instance
from thalweg.ir.patterns import Pattern
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned
from thalweg.model.rdf import OWN
from thalweg.runtimes.event_answers import AbstractEvent, ComplexEvent, EventLine

_DIGITS: Final = 24


def event_id(event: Instance) -> str:
    """The id of a complex event, an IRI.

    >>> high = Instance("<High>", 5, 5, "<obs1>", "<g1>")
    >>> event_id(Instance("<Jam>", 5, 12, events=(high,)))
    '<urn:thalweg:event:1ddf61cfb93ef690e6523cfb>'
    """
    return f"{OWN}event:{sha256(_described(event).encode()).hexdigest()[:_DIGITS]}>"


def _described(event: Instance) -> str:
    """All that tells an event from others; matches of the same events are one, whatever places these fill."""
    inside = sorted({_described(one) for one in event.events})
    return repr((event.event, event.start, event.end, event.individual, event.graph, inside))


def predicates_given(program: CascadeProgram) -> frozenset[Predicate]:
    """The predicates of the facts that the events of a program are."""
    found = {Predicate(one.name, 1) for one in program.events}
    for one in program.events:
        if isinstance(one.definition, Pattern):
            names = {name for clause in one.definition.clauses for name in clause.variables}
            found |= {Predicate(binding_name(one.name, name), 2) for name in names}
    return frozenset(found)


def binding_name(event: str, variable: str) -> str:
    """The name of the predicate that has what an event binds a variable to.

    >>> binding_name("<http://ex.org/Jam>", "loc")
    '<http://ex.org/Jam_loc>'
    """
    return f"{event[:-1]}_{variable}>"


def facts_of(line: EventLine) -> Iterator[Fact]:
    """The facts that a line of the output is; an event without classes is none."""
    match line:
        case AbstractEvent():
            yield Fact(line.event, (line.individual,))
        case ComplexEvent():
            id_ = event_id(line.instance)
            yield Fact(line.event, (id_,))
            for name, term in line.bindings:
                yield Fact(binding_name(line.event, name), (id_, term))


def batch_of(facts: Iterable[Fact], words: Dictionary, stream: str) -> Batch:
    """Facts as an event of a stream."""
    batch = Batch(stream=stream)
    for fact in facts:
        batch.add(interned(fact.predicate, len(fact.terms)), [words.code(term) for term in fact.terms])
    return batch
