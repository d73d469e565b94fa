"""Rules and other kinds of part as one, wired by predicate: evaluated in this process, or in a bucket of Spark."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

from thalweg.dataflow.context import Context, Settings
from thalweg.dataflow.exchange import TERMS, Canon, Hash
from thalweg.dataflow.fragment import LoopObstacle, fragments, loops_of, obstacles
from thalweg.dataflow.operator import OpSpec
from thalweg.dataflow.plan import Edge, Expansion, Plan
from thalweg.diagnostics import Diagnostic
from thalweg.ir.dependency import formulas
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.kinds.member import Member, Neighbours
from thalweg.kinds.part import Account, Examined, Watch
from thalweg.kinds.rules.rule_part import Rules
from thalweg.kinds.typed_columns import Inputs, TypedColumns, merged_types
from thalweg.languages.options import SplitName
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import Clock
from thalweg.planning.wire_parts import Layer, Ports, Station, Wiring, wire, written

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.plan_stage import PlanStage
    from thalweg.explain.wired_parts import PlacedParts


@dataclass(frozen=True)
class Mixed:
    """Rules, and the members that stand among them."""

    around: Rules
    members: tuple[Member, ...]
    since: frozenset[tuple[Predicate, int]] = frozenset()
    """The predicates whose rules began later than the run, and the tick at which they did."""

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
        return wire(self.around.rules, [member.ports for member in self.members], dict(self.since))

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

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        """Those of all its answers; of one predicate, those of the rules that conclude it, or of the first member."""
        if of is None:
            columns = self.answer_columns(emit)
            members = (member.typed_columns(emit, None, inputs) for member in self.members)
            return TypedColumns(columns, merged_types(member for member in members if member is not None))
        if of in self.around.rules.outputs:
            return self.around.typed_columns(emit, of, inputs)
        about = (member for member in self.members if of in (member.answerable(of) or {of}))
        return next(filter(None, (member.typed_columns(emit, of, inputs) for member in about)), None)

    def plan(self, context: Context, partitions: int | None) -> Plan:
        """The operators of all places, and the edges between them; with partitions, places are split where it pays."""
        return self._planned(context, partitions)[0]

    def _planned(self, context: Context, partitions: int | None) -> tuple[Plan, dict[frozenset[int], LoopObstacle]]:
        """The plan, and the loops that are in one bucket although they were to be split, each with the reason.

        Loops, and what is in the way, have the numbers of places.
        """
        unkeyed: dict[frozenset[int], LoopObstacle] = {}
        together: frozenset[int] = frozenset()
        while True:
            plan = self._wired(context, partitions, together)
            if partitions is None:
                return plan, unkeyed
            found = {}
            for loop in loops_of(plan):
                places = frozenset(plan.parts[number] for number in loop)
                obstacle = next(obstacles(plan, loop, partitions, self._streamed(places)), None)
                if obstacle and any(self.is_split(place, context.split) for place in places - together):
                    source = None if obstacle.source is None else plan.parts[obstacle.source]
                    found[places] = replace(obstacle, operator=plan.parts[obstacle.operator], source=source)
            if not found:
                return plan, unkeyed
            unkeyed |= found
            together = together.union(*found)

    def _streamed(self, places: Collection[int]) -> list[Predicate]:
        """Predicates of which members at some places may read facts of streams."""
        ports = (self._ports(place) for place in places)
        return sorted({name for port in ports if port is not None for name in port.mentions})

    def _wired(self, context: Context, partitions: int | None, together: frozenset[int]) -> Plan:
        """The plan whose places are split where it pays, apart from those that stay `together`."""
        places = self.wiring.places
        expansions = self._expansions(context, partitions, together)
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

        Splitting costs another shuffle, which a place that reads streams only does not need, nor does a loop through
        the past whose places read nothing but streams and each other: others are split where that is asked for.
        """
        loop = next((loop for loop in self.wiring.loops if number in loop), frozenset({number}))
        reads_streams_only = all(loop.issuperset(self.wiring.sources(place)) for place in loop)
        return split == "always" or reads_streams_only or self._classifies(number)

    def _classifies(self, number: int) -> bool:
        place = self.wiring.places[number]
        return not isinstance(place, Layer) and self.members[place.part].is_costly

    def _expansions(self, context: Context, partitions: int | None, together: frozenset[int]) -> list[Expansion]:
        """The operators of each place; rules in a loop take in facts by the canon of the members of the loop."""
        from thalweg.kinds.rules.rule_operator import expand_layer

        numbers = range(len(self.wiring.places))
        splits = [self.is_split(number, context.split) and number not in together for number in numbers]
        widths = [partitions if split else None for split in splits]
        members = {
            number: self.members[place.part].expand(context, self._beside(number), widths[number])
            for number, place in enumerate(self.wiring.places)
            if not isinstance(place, Layer)
        }
        expansions = []
        for number, place in enumerate(self.wiring.places):
            if isinstance(place, Layer):
                loop = next((loop for loop in self.wiring.loops if number in loop), frozenset())
                canon = self._canon({other: members[other] for other in loop if other in members})
                until = context.settings.with_until
                expansions.append(expand_layer(place.program, until, widths[number], canon))
            else:
                expansions.append(members[number])
        return expansions

    def _canon(self, members: Mapping[int, Expansion]) -> Canon:
        """Which terms count as equal to the members of a loop, where they agree."""
        canons = {
            exchange.canon
            for number, expansion in members.items()
            for link in self.wiring.places[number].links
            for spec in expansion.operators
            for _, exchange in spec.held_routes((link.name, link.key[1]))
            if isinstance(exchange, Hash)
        }
        return canons.pop() if len(canons) == 1 else TERMS

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
            loop=any(number in loop for loop in self.wiring.loops),
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

    def watch(self, context: Context, partitions: int | None) -> Watch:
        """What sees whether facts come that are read; what members give counts as come."""
        from thalweg.answers.event_answers import UndecidedTotals
        from thalweg.kinds.rules.rule_watch import RuleWatch

        readers = merge([self.around.rules, *(member.readers() for member in self.members)])
        has_streams = any(member.ports.streams for member in self.members)
        rules = given_by(self.members, self.around.rules) if context.progress else None

        def looks(words: Dictionary) -> Iterator[Callable[[Batch], object]]:
            return (look for member in self.members for look in member.looks(context, words))

        also = looks if partitions is not None else lambda words: iter(())
        return RuleWatch(given_by(self.members, readers), has_streams, rules, also, UndecidedTotals())

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from thalweg.explain.wired_parts import explain_parts

        members = [member.explain_member() for member in self.members]
        if partitions is None:
            return explain_parts(self.wiring, members)
        context = Context(Settings(), Clock(), lambda diagnostic: None, split="always")
        always, unkeyed = self._planned(context, partitions)
        split_places = (fragment.places for fragment in _placed(always, partitions) if fragment.stage is not None)
        plan = self.plan(replace(context, split=split), partitions)
        loops = {loop: _words(obstacle) for loop, obstacle in unkeyed.items()}
        return explain_parts(
            self.wiring, members, partitions, _placed(plan, partitions), frozenset(chain(*split_places)), loops
        )


def _placed(plan: Plan, partitions: int) -> "Iterator[PlacedParts]":
    """The fragments of a plan on Spark, for people to read."""
    from thalweg.explain.wired_parts import PlacedParts

    for fragment in fragments(plan, partitions):
        places = tuple(sorted({plan.parts[number] for number in fragment.operators}))
        yield PlacedParts(places, _stage([plan.operators[number] for number in fragment.operators], partitions))


def _stage(specs: Sequence[OpSpec], partitions: int) -> "PlanStage | None":
    """How the operators of a fragment are spread, as one stage; None where they share a partition."""
    stages = [stage for spec in specs if (stage := spec.placement(partitions)) is not None]
    if len(specs) == 1 or len(stages) < len(specs):
        return stages[0] if len(specs) == len(stages) else None
    from thalweg.explain.wired_parts import ONE_KEY

    statements = tuple(statement for stage in stages for statement in stage.statements)
    keys = tuple(dict.fromkeys(key for stage in stages for key in stage.key or ()))
    return replace(stages[0], statements=statements, key=keys, why=ONE_KEY)


def _words(obstacle: LoopObstacle) -> str:
    """Why no key splits a loop."""
    reader = f"part {obstacle.operator + 1}"
    if obstacle.source is None:
        return f"{reader} has no key"
    giver = f"part {obstacle.source + 1}"
    if obstacle.streams:
        readers = reader if reader == giver else f"{giver} and {reader}"
        return f"{readers} need `{obstacle.what}` of streams by different keys"
    what = "events" if obstacle.what is None else f"`{written(obstacle.what)}`"
    return f"{reader} does not read {what} by the key by which {giver} gives it"


def given_by(members: Sequence[Member], program: Program, streamed: bool = True) -> Program:
    """A program that knows which of the predicates it reads members give; those of events only where asked."""
    ports = [port for port in (member.ports for member in members) if streamed or not port.streams]
    read = {formula.atom.signature for rule in program.rules for formula, _ in formulas(rule.body)}
    imports = {(name, False) for name in read | program.recorded if any(port.writes(name) for port in ports)}
    return replace(program, interface=replace(program.interface, imports=program.interface.imports | imports))
