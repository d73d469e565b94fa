"""How the joins of a query are split over buckets: by a variable that stands in all that its rules join.

Other queries, and those that are asked of SPARQL per window, are evaluated by one operator.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from thalweg.dataflow.exchange import Exchange, Hash, Words, spelled_hashes
from thalweg.ir.annotate_terms import SUPPLIED
from thalweg.ir.nodes import Hints, Interface, Program
from thalweg.languages.rspql.lower import lower
from thalweg.languages.rspql.lowered import Input, LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.languages.rspql.stored_terms import stored
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.triples import TRIPLES
from thalweg.planning.partition import Route, Stage, partition


@dataclass(frozen=True, slots=True)
class StoredValues:
    """Terms are equal if SPARQL's store keeps them as the same value: `2.50` and `2.5`."""

    def hashes(self, column: Words, words: Dictionary) -> Words:
        return spelled_hashes(column, words, stored)


STORED_VALUES: Final = StoredValues()


def by_value(column: int) -> Hash:
    """The exchange by the value of a column."""
    return Hash(column, STORED_VALUES)


@dataclass(frozen=True, slots=True)
class KeyedJoins:
    """The rules of a query as one stage that is split by a key; `routes` are those of facts, with what each takes."""

    lowered: LoweredQuery
    stage: Stage
    routes: tuple[tuple[Route, Input], ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables that facts are hashed by."""
        return tuple(sorted({key for key in self.stage.keys if key is not None}))

    @property
    def program(self) -> Program:
        """The rules of a bucket; what is fed holds for as long as windows show it."""
        fed = frozenset((route.called, False) for route, _ in self.routes)
        outputs = frozenset(inner for inner, _ in self.stage.outputs)
        interface = Interface(outputs=outputs, imports=fed)
        return replace(self.stage.program, interface=interface, hints=Hints(irrevocable=fed))

    @property
    def outputs(self) -> dict[Predicate, Predicate]:
        """What the rules of a bucket call the solutions of each answer, by the signature of the answer."""
        inner = {outer: name for name, outer in self.stage.outputs}
        return {answer.signature: inner[answer.signature] for answer in self.lowered.answers}

    def exchanges(self, signature: Predicate) -> Iterator[tuple[int, Exchange]]:
        """The parts of a join that take facts of a signature, by their numbers, and how facts reach the buckets."""
        for number, (route, needed) in enumerate(self.routes):
            column = _argument(needed, route.key)
            if column is not None and _takes(needed, signature):
                yield number, by_value(column)


def keyed_joins(query: Query, background: Dataset) -> KeyedJoins | str:
    """How the joins of a query are split; or why they are not, in words that follow `because`."""
    lowered = lower(query, tuple(name for name, _ in background.named))
    if not isinstance(lowered, LoweredQuery):
        return "SPARQL is asked per window"
    if lowered.sieves or lowered.facts or not lowered.inputs:
        return "some of its rules read rows that SPARQL was asked about, or no triples"
    answers = frozenset(answer.signature for answer in lowered.answers)
    stages = partition(Program(lowered.rules, interface=Interface(outputs=answers))).stages
    if len(stages) > 1 or not stages[0].split or stages[0].in_parts:
        return "no variable stands in all that is joined"
    (stage,) = stages
    inputs = {needed.signature: needed for needed in lowered.inputs}
    # Streams do not bring what rules derive.
    routes = tuple((route, inputs[route.signature]) for route in stage.routes if route.signature in inputs)
    if any(_argument(needed, route.key) is None for route, needed in routes):
        return "what is joined is a predicate or a class"
    return KeyedJoins(lowered, stage, routes)


def _argument(needed: Input, column: int | None) -> int | None:
    """The argument of facts in a column of an input; None where it may be the predicate, or every bucket needs all."""
    return column if column == 0 or isinstance(needed.takes, Predicate) else None


def _takes(needed: Input, signature: Predicate) -> bool:
    if isinstance(needed.takes, Predicate):
        return needed.takes == signature
    return signature.arity == 1 or (signature.arity == 2 and (needed.takes == "triples" or signature.name == RDF_TYPE))


def is_streamed(signature: Predicate) -> bool:
    """Whether streams bring facts of a signature as they are: others are made of these, for rules."""
    return signature not in SUPPLIED and signature != TRIPLES
