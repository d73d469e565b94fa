"""Rules and other kinds of part as one, wired by predicate: evaluated in this process, or in a bucket of Spark."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from thalweg.answers.event_answers import UndecidedTotals
from thalweg.dataflow.context import Context
from thalweg.dataflow.operator import OpSpec
from thalweg.dataflow.plan import Edge, Expansion, Plan
from thalweg.diagnostics import Diagnostic
from thalweg.ir.dependency import formulas
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.kinds.member import Member, Neighbours
from thalweg.kinds.part import Account, Examined, Watch
from thalweg.kinds.rules.rule_part import Rules
from thalweg.languages.options import SplitName
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.planning.wire_parts import Layer, Ports, Station, Wiring, wire

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.answers.record import Answer
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.wired_parts import PlacedParts
    from thalweg.kinds.rules.unmatched import RuleWatch


@dataclass(frozen=True)
class Mixed:
    """Rules, and the members that stand among them."""

    around: Rules
    members: tuple[Member, ...]

    @property
    def size(self) -> str:
        return ", ".join([self.around.size, *(member.size for member in self.members)])

    @property
    def rules(self) -> Program:
        """`RejectedError`, with the reason of the first member."""
        return self.members[0].rules

    @property
    def compiles(self) -> bool:
        return True

    @cached_property
    def wiring(self) -> Wiring:
        """`RejectedError` where a member would read what rests on its own results."""
        return wire(self.around.rules, [member.ports for member in self.members])

    def contradictions(self) -> list[Diagnostic]:
        """The contradictions that its members find."""
        return [
            diagnostic
            for member in self.members
            if isinstance(member, Examined)
            for diagnostic in member.contradictions()
        ]

    def identity(self, context: Context) -> tuple[str, str]:
        identities = [self.around.identity(context), *(member.identity(context) for member in self.members)]
        texts, fingerprints = zip(*identities, strict=True)
        return "\n".join(texts), sha256(repr(fingerprints).encode()).hexdigest()

    def answer_columns(self, emit: str) -> "AnswerColumns":
        """The columns of its rules, if there are some, and of its members."""
        from thalweg.answers.answer_columns import FactColumns, several

        # Beside answers of other kinds all arguments are in one column.
        own = [FactColumns(emit)] if self.around.rules.rules else []
        return several([*own, *(member.answer_columns(emit) for member in self.members)])

    def plan(self, context: Context, partitions: int | None) -> Plan:
        """The operators of all places, and the edges between them; with partitions, places are split where it pays."""
        places = self.wiring.places
        expansions = [
            self._expanded(number, context, partitions if self.is_split(number, context.split) else None)
            for number in range(len(places))
        ]
        starts = [0]
        for expansion in expansions:
            starts.append(starts[-1] + len(expansion.operators))
        edges = [
            replace(edge, source=edge.source + start, target=edge.target + start)
            for expansion, start in zip(expansions, starts, strict=False)
            for edge in expansion.edges
        ]
        for number, place in enumerate(places):
            edges += self._edges(number, place, expansions, starts)
        operators = tuple(spec for expansion in expansions for spec in expansion.operators)
        parts = tuple(number for number, expansion in enumerate(expansions) for _ in expansion.operators)
        # What a part reads and gives is asked in this process only.
        ports = tuple(map(self._ports, parts)) if partitions is None else ()
        return Plan(operators, tuple(edges), ports=ports, is_mixed=True, parts=parts)

    def _ports(self, number: int) -> Ports | None:
        place = self.wiring.places[number]
        return None if isinstance(place, Layer) else self.members[place.part].ports

    def is_split(self, number: int, split: str = "auto") -> bool:
        """Whether a place is split over buckets, if it can be.

        A loop through the past stays together. Splitting costs another shuffle, which a place that reads streams only
        does not need: others are split where that is asked for.
        """
        if number in self.wiring.looping:
            return False
        return split == "always" or not self.wiring.sources(number) or self._classifies(number)

    def _classifies(self, number: int) -> bool:
        place = self.wiring.places[number]
        return not isinstance(place, Layer) and self.members[place.part].is_costly

    def _expanded(self, number: int, context: Context, partitions: int | None) -> Expansion:
        from thalweg.kinds.rules.rule_operator import expand_layer

        place = self.wiring.places[number]
        if isinstance(place, Layer):
            return expand_layer(place.program, context.settings.with_until, partitions)
        return self.members[place.part].expand(context, self._beside(number), partitions)

    def _beside(self, number: int) -> Neighbours:
        """What the member at a place reads of the other places, and what they read of it."""
        place, places = self.wiring.places[number], self.wiring.places
        wanted = frozenset(
            link.key[0] for other in places for link in (*other.links, *other.delayed) if link.source == number
        )
        heard = {self._name(source) for source in place.hears}
        streams = {link.stream for link in place.links if link.stream is not None}
        return Neighbours(
            tuple(sorted({link.name for link in place.links if link.stream is None})),
            None if any(number in other.hears for other in places) else wanted,
            tuple(sorted({*streams, *heard, *map(self._name, place.events)})),
            hears_held=bool(streams or heard),
            is_alone=not self.wiring.sources(number),
        )

    def _edges(
        self, number: int, place: "Layer | Station", expansions: Sequence[Expansion], starts: Sequence[int]
    ) -> Iterator[Edge]:
        """What a place takes from others, with the exchange that each of its operators needs."""
        targets = list(enumerate(expansions[number].operators, starts[number]))
        for link, delayed in [*((link, False) for link in place.links), *((link, True) for link in place.delayed)]:
            for source, giver in enumerate(expansions[link.source].operators, starts[link.source]):
                for target, taker in targets if giver.gives(link.key) else ():
                    for called, exchange in taker.held_routes((link.name, link.key[1])):
                        yield Edge(source, target, "held", link.key, called, link.stream, exchange, delayed)
        for source_place in place.events:
            for source, giver in enumerate(expansions[source_place].operators, starts[source_place]):
                for target, taker in targets:
                    if giver.gives_events and taker.takes_events:
                        yield Edge(source, target, "events")
        for source_place in place.hears:
            for source, giver in enumerate(expansions[source_place].operators, starts[source_place]):
                if self._gives_facts(source_place, giver):
                    yield from (Edge(source, target, stream=self._name(source_place)) for target, _ in targets)

    def _gives_facts(self, number: int, spec: OpSpec) -> bool:
        """Whether an operator of a member gives held facts."""
        ports = self._ports(number)
        return ports is not None and any(spec.gives((name, False)) for name in ports.mentions)

    def _name(self, number: int) -> str:
        place = self.wiring.places[number]
        assert not isinstance(place, Layer)
        return self.members[place.part].ports.name

    @property
    def rules_alone(self) -> Program | None:
        return None

    def answerable(self, predicate: Predicate) -> frozenset[Predicate] | None:
        return None

    def account(self, write: Callable[[str], None]) -> Account:
        from thalweg.kinds.answer_sets.solve_report import SolveReport

        return SolveReport(write)

    def guaranteed(self) -> frozenset[Predicate]:
        from thalweg.planning.revocable import guaranteed

        return guaranteed(given_by(self.members, self.around.rules))

    def watch(self, context: Context, partitions: int | None) -> "PlanWatch":
        """What sees whether facts come that are read; what members give counts as come."""
        from thalweg.kinds.rules.unmatched import RuleWatch

        readers = merge([self.around.rules, *(member.readers() for member in self.members)])
        has_streams = any(member.ports.streams for member in self.members)
        rules = given_by(self.members, self.around.rules) if context.progress else None

        def looks(words: Dictionary) -> Iterator[Callable[[Batch], object]]:
            return (look for member in self.members for look in member.looks(context, words))

        also = looks if partitions is not None else lambda words: iter(())
        return PlanWatch(RuleWatch(given_by(self.members, readers), has_streams, rules, also))

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from thalweg.explain.wired_parts import explain_parts

        members = [member.explain_member() for member in self.members]
        placed = () if partitions is None else self._placed(partitions, split)
        return explain_parts(self.wiring, members, partitions, placed, split)

    def _placed(self, partitions: int, split: SplitName) -> "list[PlacedParts]":
        """The fragments of the plan that runs on Spark, for people to read."""
        from thalweg.dataflow.context import Settings
        from thalweg.dataflow.fragment import fragments
        from thalweg.explain.wired_parts import PlacedParts
        from thalweg.model.time import Clock

        plan = self.plan(Context(Settings(), Clock(), lambda diagnostic: None, split=split), partitions)
        placed = []
        for fragment in fragments(plan, partitions):
            places = tuple(sorted({plan.parts[number] for number in fragment.operators}))
            own = plan.operators[fragment.operators[0]] if len(fragment.operators) == 1 else None
            placed.append(PlacedParts(places, None if own is None else own.placement(partitions)))
        return placed


class PlanWatch(Watch):
    """Sees what comes to rules, and adds up the events that buckets could not decide."""

    def __init__(self, rules: "RuleWatch") -> None:
        self._rules = rules
        self._undecided = UndecidedTotals()

    def look(self, words: Dictionary) -> Callable[[Batch], object]:
        return self._rules.look(words)

    def present(self, answer: "Answer") -> "Answer":
        return self._rules.present(answer)

    def hear(self, note: object) -> bool:
        return self._undecided.hear(note)

    def summary(self) -> Iterator[Diagnostic]:
        yield from self._rules.summary()
        yield from self._undecided.summary()


def given_by(members: Sequence[Member], program: Program, streamed: bool = True) -> Program:
    """A program that knows which of the predicates it reads members give; those of events only where asked."""
    ports = [port for port in (member.ports for member in members) if streamed or not port.streams]
    read = {formula.atom.signature for rule in program.rules for formula, _ in formulas(rule.body)}
    imports = {(name, False) for name in read | program.recorded if any(port.writes(name) for port in ports)}
    return replace(program, interface=replace(program.interface, imports=program.interface.imports | imports))
