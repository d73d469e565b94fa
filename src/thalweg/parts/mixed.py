"""Rules and other kinds of part as one, wired by predicate: evaluated in this process, or in a bucket of Spark."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from thalweg.diagnostics import Diagnostic
from thalweg.ir.dependency import formulas
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Calendar, Clock
from thalweg.parts.member import Beside, Member
from thalweg.parts.part import Context, Evaluation, Examined, SparkWork
from thalweg.parts.rule_part import Rules
from thalweg.planning.wire_parts import Layer, Wiring, wire

if TYPE_CHECKING:
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.plan_stage import PlanStage
    from thalweg.parts.split_place import SplitPlace
    from thalweg.parts.wired_run import Place
    from thalweg.runtimes.answer_columns import AnswerColumns
    from thalweg.runtimes.unmatched import RuleWatch


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
        """What its members find."""
        return [one for member in self.members if isinstance(member, Examined) for one in member.contradictions()]

    def identity(self, context: Context) -> tuple[str, str]:
        known = [self.around.identity(context), *(member.identity(context) for member in self.members)]
        texts, fingerprints = zip(*known, strict=True)
        return "\n".join(texts), sha256(repr(fingerprints).encode()).hexdigest()

    def answer_columns(self, emit: str) -> "AnswerColumns":
        """Those of its rules, if there are some, and of its members."""
        from thalweg.runtimes.answer_columns import FactColumns, several

        # Beside answers of other kinds all arguments are in one column.
        own = [FactColumns(emit)] if self.around.rules.rules else []
        return several([*own, *(member.answer_columns(emit) for member in self.members)])

    def start(self, context: Context) -> Evaluation:
        return self.started(context, {})

    def started(self, context: Context, split: "Mapping[int, SplitPlace]") -> Evaluation:
        """A plan at work, some of whose places, by their numbers, are split over buckets elsewhere."""
        from thalweg.parts.wired_run import WiredRun
        from thalweg.planning.check_future import future_heads
        from thalweg.planning.revocable import guaranteed
        from thalweg.runtimes.emit import Lasting, emitter_of
        from thalweg.runtimes.mixed_kinds import mixed_kinds

        dictionary, calendar = Dictionary(), context.settings.calendar
        places = [
            self._place(number, context, dictionary, calendar, split.get(number))
            for number in range(len(self.wiring.places))
        ]
        settings = context.settings
        known = Lasting(guaranteed(given_by(self.members, self.around.rules))) if settings.with_until else None
        run = WiredRun(places, dictionary, emitter_of(settings.emit, known), settings.first)
        watch = self._watch(context)

        def summary() -> Iterator[Diagnostic]:
            yield from watch.summary()
            yield from mixed_kinds(self.around.rules, run.incomparable)
            yield from future_heads(run.future)

        look = watch.look(dictionary)
        return Evaluation(run, run, present=watch.present, look=look, state=run, summary=summary, close=run.close)

    def _place(
        self, number: int, context: Context, dictionary: Dictionary, calendar: Calendar, split: "SplitPlace | None"
    ) -> "Place":
        from thalweg.parts.rule_layer import RuleLayer
        from thalweg.parts.wired_run import Place

        place, sources = self.wiring.places[number], tuple(self.wiring.sources(number))
        if isinstance(place, Layer) and split is not None:
            return Place(split.join(context, dictionary, Beside()), fed=True, reads_streams=False)
        if isinstance(place, Layer):
            layer = RuleLayer(place, context.settings.first, dictionary, calendar)
            return Place(layer, place.links, sources, place.events, delayed=place.delayed)
        member, others = self.members[place.part], self.wiring.places
        wanted = frozenset(
            link.key[0] for one in others for link in (*one.links, *one.delayed) if link.source == number
        )
        heard = {one: self._name(one) for one in place.hears}
        streams = {link.stream for link in place.links if link.stream is not None}
        beside = Beside(
            tuple(sorted({link.name for link in place.links if link.stream is None})),
            None if any(number in one.hears for one in others) else wanted,
            tuple(sorted({*streams, *heard.values(), *map(self._name, place.events)})),
        )
        worker = (split or member).join(context, dictionary, beside)
        fed, reads = split is not None, split is None or split.reads_streams
        return Place(worker, place.links, sources, place.events, heard, member.ports, (), fed, reads)

    def _name(self, number: int) -> str:
        place = self.wiring.places[number]
        assert not isinstance(place, Layer)
        return self.members[place.part].ports.name

    def spread(self, context: Context, partitions: int) -> SparkWork:
        """Places meet in one bucket, where what one gives is there when the next one is evaluated.

        Some of them can be split; they do their work in buckets before.
        """
        from thalweg.parts.spark_plan import in_one_bucket
        from thalweg.parts.staged_plan import in_stages

        watch, split = self._watch(context), self.split(context, partitions)
        if not split:
            work = in_one_bucket(self, context, partitions, watch.look, watch.summary)
        else:
            work = in_stages(self, split, context, partitions, watch)
        return replace(work, present=watch.present)

    def split(self, context: Context, partitions: int) -> "dict[int, SplitPlace]":
        """The places that are split over buckets, by their numbers: those that need nothing of others, or whose work
        on streams does not.
        """
        from thalweg.parts.split_layer import split_layer

        found: dict[int, SplitPlace] = {}
        for number, place in enumerate(self.wiring.places if partitions > 1 else ()):
            if isinstance(place, Layer):
                one: SplitPlace | None = split_layer(place, context, partitions)
            else:
                is_alone = not self.wiring.sources(number) and not place.delayed
                one = self.members[place.part].split(context, partitions, is_alone)
            if one is not None:
                found[number] = one
        return found

    def _watch(self, context: Context) -> "RuleWatch":
        """What sees whether facts come that are read; what members give counts as come."""
        from thalweg.runtimes.unmatched import RuleWatch

        readers = merge([self.around.rules, *(member.readers() for member in self.members)])
        others = any(member.ports.streams for member in self.members)
        rules = given_by(self.members, self.around.rules) if context.progress else None
        return RuleWatch(given_by(self.members, readers), others, rules)

    def explain(self, partitions: int | None = None, published: bool = False) -> "PlanDocument":
        from thalweg.explain.wired_parts import explain_parts

        members = [member.explain_member() for member in self.members]
        return explain_parts(self.wiring, members, partitions, self._stages(partitions) if partitions else {})

    def _stages(self, partitions: int) -> "dict[int, tuple[PlanStage, ...]]":
        """The stages of places that are split, for people to read."""
        from thalweg.runtimes.embedded import Settings

        context = Context(Settings(), Clock(), lambda found: None)
        return {number: one.stages() for number, one in self.split(context, partitions).items()}


def given_by(members: Sequence[Member], program: Program, streamed: bool = True) -> Program:
    """A program that knows which of the predicates it reads members give; those of events only where asked."""
    ports = [one for one in (member.ports for member in members) if streamed or not one.streams]
    read = {formula.atom.signature for rule in program.rules for formula, _ in formulas(rule.body)}
    imports = {(name, False) for name in read | program.recorded if any(one.writes(name) for one in ports)}
    return replace(program, interface=replace(program.interface, imports=program.interface.imports | imports))
