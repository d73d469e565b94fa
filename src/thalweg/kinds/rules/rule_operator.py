"""Rules as operators: a whole program in one engine, or one stage of it, split over buckets by a key.

jam(R) :- slow(R), not light(R).     `RulesSpec`: all facts come to one engine
                                     `RuleStageSpec`: facts come by the hash of the road, under the names of roles
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from thalweg.answers.emit import MissingFacts
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import BROADCAST, GATHER, TERMS, Canon, Exchange, Hash
from thalweg.dataflow.operator import (
    Doubt,
    FactRows,
    HeldKey,
    Notes,
    Operator,
    OpSpec,
    Output,
    Share,
    Updates,
    Words,
)
from thalweg.dataflow.plan import Edge, Expansion
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import NOWHERE
from thalweg.engine import Delta, Given
from thalweg.engine.checkpoint import take_over
from thalweg.engine.lookup import TimedFact, facts_about
from thalweg.engine.number_text import spell_numbers
from thalweg.ir.annotate_terms import EDGES, SUPPLIED, as_streamed
from thalweg.ir.dependency import formulas
from thalweg.ir.head_names import head_names
from thalweg.ir.nodes import Program
from thalweg.ir.text import show
from thalweg.kinds.consistency.clash_tracker import Tracker
from thalweg.kinds.consistency.justifier import Justifier
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.kinds.rules.rule_watch import mixed_kinds
from thalweg.model.arrow import Lists, decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.model.triples import TRIPLES, as_facts
from thalweg.planning.check_future import future_heads
from thalweg.planning.locality import counts_everything
from thalweg.planning.partition import Stage, partition
from thalweg.planning.revocable import guaranteed
from thalweg.planning.rule_plan import Relation, RulePlan

if TYPE_CHECKING:
    from thalweg.explain.plan_stage import PlanStage

MOST_GUARANTEED: Final = 10_000
"""Of at most this many facts a bucket reports at the end until when they are guaranteed."""


@dataclass(frozen=True, slots=True)
class Export:
    """What others read of rules: `inner` is what the engine's program calls it; an output is exported as it is shown.

    Of a `lasting` one rows come with the tick until which they are guaranteed, and are never said to end.
    """

    key: HeldKey
    inner: Predicate
    is_output: bool = False
    lasting: bool = False

    def relation(self, engine: RuleEngine) -> Relation:
        """The relation of the engine's plan that holds it."""
        plan = engine.plan
        return plan.outputs[self.inner] if self.is_output else plan.exports[self.inner, self.key[1]]


@dataclass(frozen=True, slots=True)
class RuleNames:
    """What an engine's program calls predicates of the whole program.

    `outputs` pairs its own names of what is shown with those of the whole program, and `inputs` its names of what comes
    in.
    """

    outputs: tuple[tuple[Predicate, Predicate], ...] = ()
    inputs: tuple[tuple[Predicate, Predicate], ...] = ()


@dataclass(frozen=True, slots=True)
class _Readers:
    """By the numbers of a plan's relations: what is shown of each, and the places of the exports that read it."""

    plan: RulePlan
    outputs: dict[int, list[tuple[int, Predicate, Relation]]]
    exports: dict[int, list[int]]

    @classmethod
    def of(
        cls, engine: RuleEngine, names: Iterable[tuple[Predicate, Predicate]], exports: Iterable[Export]
    ) -> "_Readers":
        readers = cls(engine.plan, {}, {})
        for place, (name, signature) in enumerate(names):
            relation = engine.plan.outputs[name]
            readers.outputs.setdefault(relation.number, []).append((place, signature, relation))
        for place, export in enumerate(exports):
            readers.exports.setdefault(export.relation(engine).number, []).append(place)
        return readers


class RuleOperator(Operator):
    """An engine, what is shown of its conclusions, and what others read of them."""

    format = StateFormat("rules")

    def __init__(
        self,
        program: Program,
        context: Context,
        dictionary: Dictionary,
        exports: Sequence[Export],
        names: RuleNames | None = None,
        source: Program | None = None,
        is_share: bool = False,
        engine: type[RuleEngine] | None = None,
    ) -> None:
        """`source` is the program that this one is a stage of; a stage has names of its own."""
        settings = context.settings
        self.engine = (engine or RuleEngine)(
            program, settings.first, settings.memory, dictionary=dictionary, calendar=settings.calendar
        )
        self._whole = source or program
        self._exports = tuple(exports)
        self._names = names
        self._inner = {} if names is None else dict(names.inputs)
        self._in_columns = context.in_columns
        self._is_share = is_share
        self._missing = MissingFacts(lasting=settings.emit == "intervals")
        self._guaranteed = guaranteed(self._whole) if settings.with_until and context.in_columns else frozenset()
        self._lacking: dict[HeldKey, tuple[Predicate, ...]] = {}
        self._doubts: dict[tuple[HeldKey, int], tuple[Predicate, ...]] = {}
        self._noted = 0
        self._read: _Readers | None = None
        self._tracker: Tracker | None = None
        justification = self._whole.hints.justification
        if justification is not None and (names is None or names.outputs):
            self._tracker = Tracker(Justifier(justification), self._about, settings.emit)

    @property
    def first(self) -> int | None:
        return self.engine.first

    @first.setter
    def first(self, tick: int | None) -> None:
        self.engine.first = tick

    @property
    def shed(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.engine.shed

    @property
    def unsure(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.engine.unsure

    @property
    def counts_facts(self) -> bool:
        return bool(self.engine.plan.tuples or self.engine.plan.keyed)

    def advance(self, tick: int, updates: Updates) -> Iterable[Output]:
        engine = self.engine
        if not (self._exports or self._tracker or self._in_columns):
            return [Output(delta.tick, delta) for delta in engine.advance(tick, updates.events, updates.held)]
        # When facts are shed depends on how an engine came to where it is, so such a batch is not repeated.
        budget, dropped = engine.memory, engine.dropped
        engine.memory = None if self.quiet else budget
        try:
            outputs = list(self._outputs(tick, updates))
        finally:
            engine.memory = budget
        self.must_save |= engine.dropped > dropped
        return outputs

    def _outputs(self, tick: int, updates: Updates) -> Iterable[Output]:
        if updates.doubts or self._tracker is not None:
            return self._explained(tick, updates)
        deltas = self.engine.advance(tick, updates.events, updates.held)
        return [Output(delta.tick, self._shown(delta), *self._handed_on(delta)) for delta in deltas]

    def _explained(self, tick: int, updates: Updates) -> Iterator[Output]:
        """The same where facts are doubted, or clashes need reasons."""
        engine = self.engine
        if updates.doubts:
            yield from self._doubt(tick, updates.doubts)
        while self._tracker and (stop := self._tracker.stop(tick, engine.settle_at)) is not None:
            yield from self._of(engine.advance(stop))
        yield from self._of(engine.advance(tick, updates.events, updates.held))

    def _of(self, deltas: list[Delta]) -> Iterator[Output]:
        """The outputs of changes; those of clashes come with their reasons."""
        engine = self.engine
        if self._tracker is None:
            for delta in deltas:
                yield Output(delta.tick, self._shown(delta), *self._handed_on(delta))
            return
        assert engine.now is not None
        for explained in self._tracker.take(engine.now, engine.shed, deltas):
            yield Output(explained.tick, explained)
        for delta in deltas:
            self._shown(delta)
            yield Output(delta.tick, None, *self._handed_on(delta))

    def _doubt(self, tick: int, doubts: Sequence[Doubt]) -> Iterator[Output]:
        """From this tick on, other operators lack other facts than before."""
        engine = self.engine
        if engine.first is not None and tick > engine.first and (engine.now is None or engine.now < tick - 1):
            yield from self._of(engine.advance(tick - 1))
        for key, sender, names in doubts:
            self._doubts[key, sender] = names
        lacking: dict[HeldKey, tuple[Predicate, ...]] = {}
        for (key, _), names in self._doubts.items():
            if names:
                lacking[key] = tuple(sorted({*lacking.get(key, ()), *names}))
        engine.doubt(lacking)

    # What is given --------------------------------------------------------------------------------------------------

    def _shown(self, delta: Delta) -> Delta | FactRows | None:
        """A change as users see it: spelled when it is read, or in columns."""
        if not self._in_columns:
            return delta
        outputs = self._readers().outputs
        lacks = any(number in outputs for number in delta.incomplete)
        self._missing.see(delta.tick, self._as_streamed(delta.shed) if lacks else ())
        if self._tracker is not None:
            return None
        changed = sorted(output for number in delta.relations for output in outputs.get(number, ()))
        rows = tuple(row for _, signature, relation in changed for row in self._rows(delta, relation, signature))
        return FactRows(delta.tick, rows) if rows else None

    def _readers(self) -> "_Readers":
        """What is shown and exported of each relation of the plan, which may be another one than at the last tick."""
        if self._read is None or self._read.plan is not self.engine.plan:
            self._read = _Readers.of(self.engine, self._output_names(), self._exports)
        return self._read

    def _output_names(self) -> Iterable[tuple[Predicate, Predicate]]:
        """What the engine's program and the whole one call what is shown."""
        if self._names is not None:
            return self._names.outputs
        return ((name, name) for name in self.engine.plan.outputs)

    def _rows(self, delta: Delta, relation: Relation, signature: Predicate) -> Iterator[tuple[str, int, Words, int]]:
        begun, *changes = delta.columns(relation)
        if signature in self._guaranteed:
            lasting = delta.begun_until(relation)
            for until in np.unique(lasting[:, -1]).tolist():
                yield from self._named(signature, 0, lasting[lasting[:, -1] == until, :-1], until)
            begun = begun[:0]
        for what, rows in enumerate((begun, *changes)):
            if len(rows):
                yield from self._named(signature, what, rows, FOREVER)

    def _named(self, signature: Predicate, what: int, rows: Words, until: int) -> Iterator[tuple[str, int, Words, int]]:
        """Rows of an output with the predicates that they belong to."""
        if signature != TRIPLES:
            yield signature.name, what, rows, until
            return
        yield from ((name, what, part, until) for name, part in as_facts(rows, self.engine.dictionary))

    def _handed_on(self, delta: Delta) -> tuple[tuple[Given, ...], tuple[()], tuple[()], tuple[Doubt, ...]]:
        """What others read of a change, and what they must doubt from its tick on."""
        changes: list[Given] = []
        doubts: list[Doubt] = []
        if not self._exports:
            return (), (), (), ()
        exports = self._readers().exports
        doubtful = bool(delta.incomplete or self._lacking)
        changed = exports if doubtful else delta.relations
        for place in sorted(place for number in changed for place in exports.get(number, ())):
            export = self._exports[place]
            relation = export.relation(self.engine)
            if export.lasting:
                begun = delta.lasting(relation)
                ended = begun[:0]
            else:
                begun, ended, unknown = delta.columns(relation)
                # What became unknown is taken back like what ended.
                ended = np.concatenate((ended, unknown)) if len(unknown) else ended
            if len(begun) or len(ended):
                changes.append(Given(*export.key, begun, ended, export.lasting))
            lacking = self._as_streamed(delta.shed) if relation.number in delta.incomplete else ()
            if lacking != self._lacking.get(export.key, ()):
                self._lacking[export.key] = lacking
                doubts.append((export.key, 0, lacking))
        return tuple(changes), (), (), tuple(doubts)

    def _as_streamed(self, predicates: Iterable[Predicate]) -> tuple[Predicate, ...]:
        """Predicates of the engine's program as streams call them."""
        return tuple(sorted(as_streamed(self._inner.get(name, name) for name in predicates)))

    def notes(self, decided: int, over: bool) -> Notes:
        engine = self.engine
        terms = engine.incomparable
        new, self._noted = terms[self._noted :], len(terms)
        # Rules that only pass conclusions on have no place.
        dropped = [(rule, count) for rule, count in engine.future if rule.span != NOWHERE] if over else []
        warnings = [*(mixed_kinds(self._whole, new) if new else ()), *future_heads(dropped, is_share=self._is_share)]
        missing = self._missing.up_to(decided) if self._in_columns else []
        names = dict(self._output_names()) if missing else {}
        unsure = sorted(names[name] for name in engine.unsure) if missing else ()
        lasting = dict(islice(self._lasting_now(), MOST_GUARANTEED)) if over and self._guaranteed else {}
        return Notes(tuple(warnings), tuple(missing), tuple(unsure), lasting)

    def _lasting_now(self) -> Iterator[tuple[str, int]]:
        """What is shown at the last tick, and until when it is guaranteed."""
        engine = self.engine
        rows = None if engine.now is None else engine.output_rows()
        for name, signature in self._output_names():
            if signature in self._guaranteed:
                columns = engine.decoder.columns_of(engine.plan.outputs[name], rows, with_horizon=True)
                for until in np.unique(columns[:, -1]).tolist():
                    part = columns[columns[:, -1] == until, :-1]
                    for predicate, _, facts, _ in self._named(signature, 0, part, until):
                        yield from ((fact, until) for fact in engine.dictionary.spell_rows(predicate, facts))

    def _about(self, terms: Sequence[str]) -> Iterator[TimedFact]:
        """The facts about terms, as streams call them."""
        streamed = {inner.name: outer.name for inner, outer in self._inner.items()}
        for dated in facts_about(self.engine, terms):
            name = dated.fact.predicate
            yield dated._replace(fact=dated.fact._replace(predicate=streamed.get(name, name)))

    # Where a run goes on with a changed program -----------------------------------------------------------------------

    def take_over(self, other: Operator) -> None:
        """Goes on for the rules of another one that are its own."""
        assert isinstance(other, RuleOperator)
        take_over(self.engine, other.engine)
        keys = {export.key for export in self._exports}
        self._lacking = {key: names for key, names in other._lacking.items() if key in keys}
        self._doubts = {
            (key, sender): names for (key, sender), names in other._doubts.items() if key in self.engine.plan.imports
        }
        if self._tracker is not None and other._tracker is not None:
            self._tracker.load(other._tracker.save())

    def holding(self) -> Iterator[Given]:
        for export in self._exports:
            rows = self.engine.rows_of(export.relation(self.engine), export.lasting)
            yield Given(*export.key, rows, rows[:0], export.lasting)

    def showing(self) -> Iterator[tuple[Predicate, list[str]]]:
        if self._tracker is not None:
            yield from ((name, self._tracker.ends()) for name in sorted(self.engine.plan.outputs)[:1])
            return
        outer = dict(self._output_names())
        for name, rows in self.engine.decoder.by_predicate(self.engine.output_rows()):
            inner = Predicate(name, rows.shape[1])
            if inner in outer or inner not in self.engine.plan.outputs:
                shown = outer.get(inner)
                text = self.engine.dictionary.spell_rows(name if shown is None else shown.name, rows, spell_numbers)
                yield shown or TRIPLES, text

    # State ----------------------------------------------------------------------------------------------------------

    def words_in_use(self) -> Words:
        self.engine.spell_changes()
        return self.engine.words_in_use()

    def save(self) -> bytes:
        self.must_save = False
        doubts = [[*key, sender, list(names)] for (key, sender), names in self._doubts.items()]
        lacking = [[*key, list(names)] for key, names in self._lacking.items()]
        lists: Lists = self._missing.save() | {"clashes": [] if self._tracker is None else self._tracker.save()}
        return frame([encode({"doubts": doubts, "lacking": lacking}, lists), self.engine.snapshot()])

    def load(self, data: bytes) -> None:
        about, engine = unframe(data)
        header, lists = decode(about)
        self.engine.resume(engine)
        self._missing.load(lists)
        if self._tracker is not None:
            self._tracker.load(lists["clashes"].to_pylist())
        for name, timed, sender, names in header["doubts"]:
            self._doubts[(Predicate.read(name), timed), sender] = _predicates(names)
        for name, timed, names in header["lacking"]:
            self._lacking[Predicate.read(name), timed] = _predicates(names)


def _predicates(texts: Iterable[str]) -> tuple[Predicate, ...]:
    return tuple(map(Predicate.read, texts))


# Specifications ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RulesSpec(OpSpec):
    """A whole program in one engine."""

    program: Program
    keeps_events: ClassVar[bool] = True
    shows_facts: ClassVar[bool] = True

    @cached_property
    def counts_everything(self) -> bool:  # type: ignore[override]
        return any(map(counts_everything, self.program.rules))

    @cached_property
    def _read(self) -> frozenset[Predicate] | None:
        """The predicates of facts that it reads; None where that may be any."""
        read = {formula.atom.signature for rule in self.program.rules for formula, _ in formulas(rule.body)}
        read |= self.program.interface.inputs & self.program.derived
        if self.program.equality or self.counts_everything or any(map(_is_made, read)):
            return None
        return frozenset(read)

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        return ((0, GATHER),) if self._read is None or signature in self._read else ()

    def gives(self, key: HeldKey) -> bool:
        return key in self.program.interface.exports

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> RuleOperator:
        exports = [Export(key, key[0]) for key in sorted(self.program.interface.exports)]
        return RuleOperator(self.program, context, dictionary, exports)


def _is_made(name: Predicate) -> bool:
    """Whether facts of a predicate are made of those of others as they come in, as triples are."""
    return name.name[0] == "'" and not name.name.startswith(("'now ", "'before "))


@dataclass(frozen=True)
class RuleStageSpec(OpSpec):
    """One stage of a program; `shown` are the predicates that users see, `exported` those that other parts read.

    Terms that are equal to rules are equal under any `canon`, so facts may come by that of another part.
    """

    stage: Stage
    program: Program = field(repr=False)
    shown: frozenset[Predicate] = frozenset()
    exported: frozenset[Predicate] = frozenset()
    canon: Canon = TERMS
    engine: ClassVar[type[RuleEngine] | None] = None
    """What evaluates it in place of an engine, where something else is measured."""
    shares: ClassVar[bool] = False
    renames: ClassVar[bool] = True
    shows_facts: ClassVar[bool] = True

    @property
    def counts_everything(self) -> bool:  # type: ignore[override]
        return self.stage.counts_everything

    def width(self, partitions: int) -> int:
        return partitions if self.stage.split else 1

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        return self._routes.get(signature, ())

    @cached_property
    def _routes(self) -> dict[Predicate, list[tuple[int, Exchange]]]:
        routes: dict[Predicate, list[tuple[int, Exchange]]] = {}
        for number, route in enumerate(self.stage.routes):
            if route.stage is None:
                routes.setdefault(route.signature, []).append((number, _exchange(route.key, self.canon)))
        return routes

    def called(self, route: int, signature: Predicate) -> Predicate:
        return signature.renamed(self.stage.routes[route].name)

    def held_routes(self, key: HeldKey) -> Iterable[tuple[Predicate, Exchange]]:
        routes = (self.stage.routes[number] for number, _ in self.routes(key[0]))
        return [(route.called, _exchange(route.key, self.canon)) for route in routes]

    def placement(self, partitions: int) -> "PlanStage":
        from thalweg.explain.plan_stage import PlanStage
        from thalweg.explain.stages import explain_stages

        texts = [show(rule) for rule in self.program.rules]
        (stage,) = [stage for stage in explain_stages(self.program, partitions) if stage.number == self.stage.number]
        # Rules that hand conclusions to other parts were not written by anyone.
        written = [(texts[number - 1], key) for number, key in stage.rules if texts[number - 1][0] != "'"]
        keys = dict.fromkeys(key for _, key in written if key is not None) or dict.fromkeys(
            head_names(self.program, arrival.signature)[arrival.argument - 1]
            for arrival in stage.arrivals
            if arrival.argument is not None
        )
        rules = tuple(text for text, _ in written)
        return PlanStage(rules, tuple(keys) if stage.split else None, stage.partitions, stage.why)

    def gives(self, key: HeldKey) -> bool:
        return not key[1] and key[0] in self.exported and any(key[0] == outer for _, outer in self.stage.outputs)

    def location(self, key: HeldKey) -> Exchange | None:
        place = dict(self.stage.located).get(key[0])
        return None if place is None else Hash(place, self.canon)

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> RuleOperator:
        stage = self.stage
        irrevocable = stage.program.hints.irrevocable
        exports = [
            Export((signature, timed), inner, lasting=(inner, timed) in irrevocable)
            for inner, signature, timed in stage.supplies
        ]
        exports += [Export((outer, False), inner, True) for inner, outer in stage.outputs if outer in self.exported]
        names = RuleNames(
            tuple((inner, outer) for inner, outer in stage.outputs if outer in self.shown),
            tuple((route.called, route.signature) for route in stage.routes),
        )
        program = replace(stage.program, background=tuple(self._background(share)))
        is_share = len(share.buckets) > 1
        return RuleOperator(program, context, dictionary, exports, names, self.program, is_share, self.engine)

    def _background(self, share: Share) -> Iterator[Fact]:
        """A bucket's share of the background; where each fact belongs is found once in a process."""
        if share.buckets not in self._places:
            self._places[share.buckets] = _buckets_of_background(self.stage, share.buckets, self.canon)
        places = self._places[share.buckets]
        facts = zip(self.stage.program.background, places, strict=True)
        return (fact for fact, place in facts if place is None or place == share.bucket)

    @cached_property
    def _places(self) -> dict[range, list[int | None]]:
        return {}


def _exchange(key: int | None, canon: Canon) -> Exchange:
    return BROADCAST if key is None else Hash(key, canon)


def _buckets_of_background(stage: Stage, buckets: range, canon: Canon) -> list[int | None]:
    """The bucket of each fact of the background; None where all buckets have it."""
    keys = {route.signature.renamed(route.name): route.key for route in stage.routes if route.key is not None}
    words = Dictionary()
    tables: dict[Predicate, list[tuple[int, ...]]] = {}
    for fact in stage.program.background:
        if fact.signature in keys:
            tables.setdefault(fact.signature, []).append(tuple(words.code(term) for term in fact.terms))
    places: dict[Predicate, Iterator[int]] = {}
    for signature, rows in tables.items():
        where = Hash(keys[signature] or 0, canon).buckets_of(np.array(rows, dtype=np.int64), words, buckets)
        assert where is not None
        places[signature] = iter(where.tolist())
    return [next(places.get(fact.signature, iter((None,)))) for fact in stage.program.background]


def expand_stages(
    program: Program, shown: frozenset[Predicate], exported: frozenset[Predicate], canon: Canon = TERMS
) -> Expansion:
    """The stages of a program as operators, each behind those whose conclusions it reads."""
    stages = partition(program).stages
    edges = [
        Edge(
            route.stage,
            stage.number,
            key=(route.signature, route.timed),
            called=route.called,
            exchange=_exchange(route.key, canon),
            union=route.union,
            lasting=route.lasting,
        )
        for stage in stages
        for route in stage.routes
        if route.stage is not None
    ]
    return Expansion(tuple(RuleStageSpec(stage, program, shown, exported, canon) for stage in stages), tuple(edges))


def expand_layer(program: Program, with_until: bool, partitions: int | None, canon: Canon = TERMS) -> Expansion:
    """The rules between other parts of a plan: split where a key is found for some of them, else in one engine."""
    exports = program.interface.exports
    is_plain = program.equality is None and program.hints.justification is None and not with_until
    # What others give of a predicate that rules derive, too, belongs to it wherever it is read or shown.
    is_plain = is_plain and program.derived.isdisjoint(name for name, _ in program.interface.imports)
    if partitions is None or partitions < 2 or not is_plain or any(timed for _, timed in exports):
        return Expansion((RulesSpec(program),))
    exported = frozenset(name for name, _ in exports)
    interface = replace(program.interface, outputs=program.outputs | exported, exports=frozenset())
    expansion = expand_stages(replace(program, interface=interface), program.outputs, exported, canon)
    stages = [spec.stage for spec in expansion.operators if isinstance(spec, RuleStageSpec)]
    read = {route.signature for stage in stages for route in stage.routes if route.stage is None}
    if not any(stage.split for stage in stages) or not {TRIPLES, EDGES, *SUPPLIED}.isdisjoint(read | exported):
        return Expansion((RulesSpec(program),))
    return expansion
