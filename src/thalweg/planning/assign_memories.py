"""Rules become rules between relations: each formula is looked up in the memory that answers it (see `plan`)."""

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from thalweg.ir.binding import binders
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Comparison,
    Formula,
    InWindow,
    KeyedWindow,
    Not,
    Now,
    PastWindow,
    TimeWindow,
    TupleWindow,
    Variable,
    Window,
)
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.planning.revocable import revocable
from thalweg.planning.rule_plan import (
    Clip,
    Count,
    Feed,
    Grouping,
    KeyedFeed,
    PlanRule,
    Recording,
    Relation,
    RelationAtom,
    RulePlan,
    TupleFeed,
)

TICK = Variable("'U")
"""The column of a copied row's tick."""

_TRUE = "true"
"""The relation that a rule without positive formulas starts from."""

_FIRST_TICK = "first tick"
"""The relation that holds at the first tick only."""

_DERIVED_ROWS = 1_000.0
"""What a derived relation is taken to hold, for want of anything better."""

_KEYS = 100.0
"""How many keys a window by key is taken to have."""


def assign_memories(plan: RulePlan) -> RulePlan:
    """The plan with relations, rules between them and feeds for its normalised rules.

    >>> from thalweg.ir.nodes import Atom, Program, Rule
    >>> rule = Rule(Atom("a"), (InWindow(Atom("p"), TimeWindow(9)),))
    >>> program = Program((rule,))
    >>> made = assign_memories(RulePlan(program, program, normalised=(rule,)))
    >>> [relation.name for relation in made.relations]
    ['p/0 in [9]', 'a/0 derived']
    """
    return _Assignment(plan).run()


class _Sources(NamedTuple):
    """Where the facts of an atom come from: rules now or at a time, the background, streams."""

    derived_now: bool = False
    derived_at: bool = False
    background: bool = False
    streamed: bool = False


class _Assignment:
    def __init__(self, plan: RulePlan) -> None:
        self.plan = plan
        self.program = program = plan.program
        self.mixed = plan.mixed
        self.memories: dict[str, Relation] = {}
        self.rules: list[PlanRule] = []
        self.feeds: dict[tuple[Predicate, str | None], list[Feed]] = {}
        self.tuples: list[TupleFeed] = []
        self.keyed: list[KeyedFeed] = []
        self.counts: list[Count] = []
        self.groupings: list[Grouping] = []
        self.recordings: list[Recording] = []
        self.fed_forever: list[tuple[Relation, Predicate]] = []
        self.clocks: dict[int, Relation] = {}
        self.beats: dict[int, Relation] = {}
        self.background = Counter(fact.signature for fact in program.background)
        self.heads_now = {rule.head.signature for rule in plan.normalised if rule.time is None}
        self.heads_now |= {signature for signature, timed in program.interface.imports if not timed}
        if program.equality is not None:
            self.heads_now.add(program.equality.representative)
        self.heads_at = {rule.head.signature for rule in plan.normalised if rule.time is not None}
        self.heads_at |= {signature for signature, timed in program.interface.imports if timed}
        self.values = {group.value: group for group in plan.groups}
        self.recorded = program.recorded & self.heads_now
        grouped = ((group.value, group.elements) for group in plan.groups)
        self.revocable = revocable(program, plan.normalised, grouped) if self.recorded else frozenset()

    # Relations ------------------------------------------------------------------------------------------------------

    def relation(self, name: str, arity: int) -> tuple[Relation, bool]:
        """The relation of that name, and whether it is new."""
        relation = self.memories.get(name)
        if relation is not None:
            return relation, False
        relation = self.memories[name] = Relation(len(self.memories), name, arity)
        return relation, True

    def derived(self, signature: Predicate) -> Relation:
        return self.relation(f"{signature} derived", signature.arity)[0]

    def derived_at(self, signature: Predicate) -> Relation:
        return self.relation(f"{signature} derived at", signature.arity + 1)[0]

    def is_input(self, signature: Predicate, stream: str | None) -> bool:
        derived = signature in self.heads_now or signature in self.heads_at or signature in self.values
        internal = derived or signature in self.program.hints.static
        return stream is not None or not internal or signature in self.mixed

    def feed(self, signature: Predicate, stream: str | None, feed: Feed) -> None:
        self.feeds.setdefault((signature, stream), []).append(feed)

    def copy(
        self,
        target: Relation,
        *sources: RelationAtom,
        head: tuple[Variable, ...],
        window: TimeWindow | None = None,
        delay: int = 0,
        extension: int = 0,
    ) -> None:
        clip = None if window is None else Clip(window, delay)
        self.rules.append(PlanRule(RelationAtom(target, head), sources, clip=clip, extension=extension))

    def clock(self, size: int) -> RelationAtom:
        """The ticks of the last `size`, as rows (U)."""
        relation = self.clocks.get(size)
        if relation is None:
            relation = self.clocks[size] = self.relation(f"clock [{size}]", 1)[0]
        return RelationAtom(relation, (TICK,))

    def always_background(self, signature: Predicate, stream: str | None) -> bool:
        return stream is None and signature in self.background

    def background_rows(self, signature: Predicate) -> Relation:
        relation, new = self.relation(f"{signature} background", signature.arity)
        if new:
            self.fed_forever.append((relation, signature))
        return relation

    # Memories -------------------------------------------------------------------------------------------------------

    def memory(self, formula: Formula) -> RelationAtom:
        """The atom over the memory that answers a formula."""
        signature, args, stream = formula.atom.signature, formula.atom.args, formula.stream
        weight = self.expected_rows(formula)
        match formula:
            case Now():
                return RelationAtom(self.some(signature, TimeWindow(0), stream), args, weight)
            case InWindow(window=PastWindow(size)):
                return RelationAtom(self.past(signature, size, stream), args, weight)
            case InWindow(window=window):
                return RelationAtom(self.some(signature, window, stream), args, weight)
            case Always(window=window):
                return RelationAtom(self.always(signature, window, stream), args, weight)
            case At(time=time, window=PastWindow(size)):
                return RelationAtom(self.past(signature, size, stream, timed=True), (*args, time), weight)
            case At(time=time, window=window):
                window = TimeWindow(FOREVER) if window is None else window
                return RelationAtom(self.at(signature, window, stream), (*args, time), weight)

    def expected_rows(self, formula: Formula) -> float:
        """A guess for the order of joins: the background is counted, a stream is taken to bring one fact a tick."""
        signature = formula.atom.signature
        background = self.background[signature]
        if not self.is_input(signature, formula.stream):
            return background + _DERIVED_ROWS
        match formula:
            case InWindow(window=KeyedWindow(size)) | At(window=KeyedWindow(size)):
                return background + size * _KEYS
            case InWindow(window=window) | Always(window=window):
                return float(background + window.size + 1)
            case At(window=TimeWindow() | PastWindow() | TupleWindow() as window):
                return float(background + window.size + 1)
            case At():
                return float(FOREVER)
        return float(background + 1)

    def some(self, signature: Predicate, window: Window, stream: str | None) -> Relation:
        """`p(X) in W`."""
        if signature in self.values:
            return self.value(signature)
        row, timed_row = _columns(signature.arity)
        sources = self.sources(signature, stream)
        if sources == _Sources(derived_now=True) and not self.looks_back(signature, window):
            return self.derived(signature)
        relation, new = self.relation(_name(signature, stream, f"in {show(window)}"), len(row))
        if not new:
            return relation
        alone = not (sources.derived_now or sources.derived_at or isinstance(window, TupleWindow | KeyedWindow))
        if sources.background:
            self.show_background(relation, signature, alone)
        if isinstance(window, TupleWindow | KeyedWindow):
            self.copy(relation, RelationAtom(self.tuple_rows(signature, window, stream), timed_row), head=row)
        else:
            self.fill(relation, signature, window, stream, alone)
        return relation

    def at(self, signature: Predicate, window: Window, stream: str | None, counted: bool = False) -> Relation:
        """`p(X) at U in W`; to be counted, it has a relation of its own and leaves the background out."""
        row, timed_row = _columns(signature.arity)
        sources = self.sources(signature, stream)
        background = sources.background and not counted
        rows = self.tuple_rows(signature, window, stream) if isinstance(window, TupleWindow | KeyedWindow) else None
        if rows is not None and not background:
            return rows
        plain = sources == _Sources(derived_at=True) and not (counted or _hops(window))
        if plain and self.never_clips(signature, window):
            return self.derived_at(signature)
        name = f"at U in {show(window)}" + (" or background" if background else "")
        relation, new = self.relation(_name(signature, stream, name), len(timed_row))
        if not new:
            return relation
        if rows is not None:
            self.copy(relation, RelationAtom(rows, timed_row), head=timed_row)
        else:
            alone = not (sources.derived_now or sources.derived_at or background)
            self.fill(relation, signature, window, stream, alone, timed=True)
        if background:
            always = RelationAtom(self.background_rows(signature), row)
            self.copy(relation, always, self.ticks_in(window, stream), head=timed_row)
        return relation

    def sources(self, signature: Predicate, stream: str | None) -> "_Sources":
        return _Sources(
            derived_now=stream is None and signature in self.heads_now,
            derived_at=stream is None and signature in self.heads_at,
            background=self.always_background(signature, stream),
            streamed=self.is_input(signature, stream),
        )

    def fill(
        self,
        relation: Relation,
        signature: Predicate,
        window: Window,
        stream: str | None,
        alone: bool,
        timed: bool = False,
    ) -> None:
        """Fills a memory from streams and rules; a `timed` one has the tick as its last column."""
        assert isinstance(window, TimeWindow)
        row, timed_row = _columns(signature.arity)
        head, sources = timed_row if timed else row, self.sources(signature, stream)
        if sources.streamed and window.step is not None:
            self.copy(relation, self.hop_source(signature, window, stream, timed_row), head=head, window=window)
        elif sources.streamed:
            fed = relation if alone else self.fed_beside(relation, head)
            self.feed(signature, stream, Feed("timed" if timed else "seen", fed, window.size))
        if sources.derived_at:
            self.copy(relation, RelationAtom(self.derived_at(signature), timed_row), head=head, window=window)
        if sources.derived_now and signature in self.recorded:
            self.fill_recorded(relation, signature, window, timed)
        elif sources.derived_now:
            beat = () if window.step is None else (self.beat(window.step),)
            source = RelationAtom(self.derived(signature), row)
            self.copy(relation, source, *((self.clock(0),) if timed else ()), *beat, head=head)

    def always(self, signature: Predicate, window: Window, stream: str | None) -> Relation:
        """`p(X) always in W`."""
        arity = signature.arity
        relation, new = self.relation(_name(signature, stream, f"always in {show(window)}"), arity)
        if not new:
            return relation
        derived = stream is None and (signature in self.heads_now or signature in self.heads_at)
        if derived and signature in self.recorded and isinstance(window, TimeWindow) and window.step is None:
            self.lasting_streaks(relation, signature, window.size)
            return relation
        runs = isinstance(window, TimeWindow) and window.step is None and not derived
        if self.always_background(signature, stream):
            self.show_background(relation, signature, alone=runs)
        if runs:
            run, _ = self.relation(_name(signature, stream, "run"), arity)
            self.feed(signature, stream, Feed("run", run, window.size, relation))
            return relation
        source = self.at(signature, window, stream, counted=True)
        counter, _ = self.relation(_name(signature, stream, f"ticks in {show(window)}"), arity)
        tuples = self.tuple_feed(window, stream) if isinstance(window, TupleWindow) else -1
        self.counts.append(Count(source, relation, counter, window, tuples))
        return relation

    # What is recorded ------------------------------------------------------------------------------------------------

    def looks_back(self, signature: Predicate, window: Window) -> bool:
        """Whether a window has more of a derived predicate than what holds now."""
        return _hops(window) or (signature in self.recorded and window.size > 0)

    def record(self, source: Relation, target: Relation, size: int, kind: str, signature: Predicate) -> None:
        self.recordings.append(Recording(source, target, size, kind, signature))

    def fill_recorded(self, relation: Relation, signature: Predicate, window: TimeWindow, timed: bool) -> None:
        """Fills a memory with what is derived now and with what was derived at the earlier ticks of its window."""
        row, timed_row = _columns(signature.arity)
        derived = RelationAtom(self.derived(signature), row)
        if window.step is not None:
            kept = self.derived_ticks(signature, window.size + window.step)
            self.copy(relation, RelationAtom(kept, timed_row), head=timed_row if timed else row, window=window)
        elif timed:
            self.copy(relation, derived, self.clock(0), head=timed_row, extension=window.size)
        elif window.size == 0 or signature not in self.revocable:
            self.copy(relation, derived, head=row, extension=window.size)
        else:
            self.copy(relation, derived, head=row)
            self.copy(relation, RelationAtom(self.past_of_derived(signature, window.size), row), head=row)
            return
        if window.step is None and window.size:
            self.record(derived.relation, relation, window.size, "extended", signature)

    def derived_ticks(self, signature: Predicate, size: int) -> Relation:
        """The rows (X,U) of the ticks at which something recorded was derived, until U + `size`."""
        relation, new = self.relation(f"{signature} derived at U in [{size}]", signature.arity + 1)
        if new:
            self.fill_recorded(relation, signature, TimeWindow(size), timed=True)
        return relation

    def past(self, signature: Predicate, size: int, stream: str | None, timed: bool = False) -> Relation:
        """`p(X) before [size]`, `p(X) at U before [size]`: without the background, which has no past."""
        sources = self.sources(signature, stream)
        relations: list[Relation] = []
        if sources.derived_now and signature in self.recorded:
            relations.append(self.past_of_derived(signature, size, timed))
        if sources.streamed:
            relations.append(self.past_of_streamed(signature, size, stream, timed))
        if len(relations) == 1 and not sources.derived_at:
            return relations[0]
        row, timed_row = _columns(signature.arity)
        head = timed_row if timed else row
        relation, new = self.relation(_name(signature, stream, f"{'at U ' if timed else ''}before [{size}]"), len(head))
        if new:
            for source in relations:
                self.copy(relation, RelationAtom(source, head), head=head)
            if sources.derived_at:
                earlier = RelationAtom(self.derived_at(signature), timed_row)
                self.copy(relation, earlier, head=head, window=TimeWindow(size), delay=1)
        return relation

    def past_of_derived(self, signature: Predicate, size: int, timed: bool = False) -> Relation:
        relation, new = self.relation(
            f"{signature} recorded {'at U ' if timed else ''}before [{size}]", signature.arity + timed
        )
        if new:
            source = self.derived_ticks(signature, 0) if timed else self.derived(signature)
            # A tick at which something held stays one, whatever ends.
            kind = "followed" if signature in self.revocable and not timed else "lasting"
            self.record(source, relation, size, kind, signature)
        return relation

    def past_of_streamed(self, signature: Predicate, size: int, stream: str | None, timed: bool) -> Relation:
        name = _name(signature, stream, f"streamed {'at U ' if timed else ''}before [{size}]")
        relation, new = self.relation(name, signature.arity + timed)
        if new:
            self.feed(signature, stream, Feed("timed past" if timed else "past", relation, size))
        return relation

    def lasting_streaks(self, relation: Relation, signature: Predicate, size: int) -> None:
        """`p(X) always in [size]`: what holds now and has held at all of the ticks before."""
        row, _ = _columns(signature.arity)
        if self.always_background(signature, None):
            self.show_background(relation, signature, alone=False)
        present = RelationAtom(self.present(signature), row)
        if size == 0:
            self.copy(relation, present, head=row)
            return
        streak, _ = self.relation(f"{signature} throughout [{size}]", signature.arity)
        self.record(present.relation, streak, size, "streak", signature)
        self.copy(relation, present, RelationAtom(streak, row), head=row)
        # Nothing is known before the first tick, at which whatever holds has always held.
        self.copy(relation, present, RelationAtom(self.relation(_FIRST_TICK, 0)[0], ()), head=row)

    def present(self, signature: Predicate) -> Relation:
        """The relation with what streams bring and rules derive now, without the background."""
        if not self.is_input(signature, None):
            return self.derived(signature)
        row, _ = _columns(signature.arity)
        relation, new = self.relation(f"{signature} present", len(row))
        if new:
            self.fill(relation, signature, TimeWindow(0), None, alone=False)
        return relation

    # Sources --------------------------------------------------------------------------------------------------------

    def hop_source(
        self, signature: Predicate, window: Window, stream: str | None, timed_row: tuple[Variable, ...]
    ) -> RelationAtom:
        """The streamed rows (X,U) that a hopping window may still show."""
        assert isinstance(window, TimeWindow)
        assert window.step is not None
        size = window.size + window.step
        relation, new = self.relation(_name(signature, stream, f"at U kept for hops [{size}]"), len(timed_row))
        if new:
            self.feed(signature, stream, Feed("timed", relation, size))
        return RelationAtom(relation, timed_row)

    def ticks_in(self, window: Window, stream: str | None) -> RelationAtom:
        """The ticks of a window."""
        if isinstance(window, TupleWindow):
            return self.tuple_ticks(window, stream)
        if isinstance(window, KeyedWindow):
            return self.clock(FOREVER)
        assert isinstance(window, TimeWindow), "other windows are refused"
        if window.step is None:
            return self.clock(window.size)
        relation, new = self.relation(f"clock {show(window)}", 1)
        if new:
            self.copy(relation, self.clock(window.size + window.step), head=(TICK,), window=window)
        return RelationAtom(relation, (TICK,))

    def beat(self, step: int) -> RelationAtom:
        """An atom that holds only at the ticks at which a window with this step hops."""
        relation = self.beats.get(step)
        if relation is None:
            relation = self.beats[step] = self.relation(f"hop of {step}", 0)[0]
        return RelationAtom(relation, ())

    def fed_beside(self, memory: Relation, row: tuple[Variable, ...]) -> Relation:
        """A relation for what the streams bring to a memory that is derived as well.

        Rows of their own, because deriving a row again after it was taken back looks at rules only.
        """
        relation, _ = self.relation(f"{memory.name} streamed", len(row))
        self.copy(memory, RelationAtom(relation, row), head=row)
        return relation

    def show_background(self, memory: Relation, signature: Predicate, alone: bool) -> None:
        """Background holds in every window; beside derived rows it has rows of its own."""
        if alone:
            self.fed_forever.append((memory, signature))
        else:
            row, _ = _columns(signature.arity)
            self.copy(memory, RelationAtom(self.background_rows(signature), row), head=row)

    def tuple_feed(self, window: TupleWindow, stream: str | None) -> int:
        for number, feed in enumerate(self.tuples):
            if feed.window == window and feed.stream == stream:
                return number
        self.tuples.append(TupleFeed(window, stream, {}, None))
        return len(self.tuples) - 1

    def tuple_rows(self, signature: Predicate, window: Window, stream: str | None) -> Relation:
        """The rows (X,U) of a tuple window."""
        relation, new = self.relation(_name(signature, stream, f"at U in {show(window)}"), signature.arity + 1)
        if new and isinstance(window, KeyedWindow):
            self.keyed.append(KeyedFeed(window, signature, stream, relation))
        elif new:
            assert isinstance(window, TupleWindow)
            self.tuples[self.tuple_feed(window, stream)].relations[signature] = relation
        return relation

    def tuple_ticks(self, window: TupleWindow, stream: str | None) -> RelationAtom:
        """The ticks that a tuple window spans."""
        number = self.tuple_feed(window, stream)
        feed = self.tuples[number]
        relation, _ = self.relation(_name("ticks of", stream, show(window)), 1)
        self.tuples[number] = TupleFeed(feed.window, feed.stream, feed.relations, relation)
        return RelationAtom(relation, (TICK,))

    def value(self, signature: Predicate) -> Relation:
        """The rows of an aggregate."""
        group = self.values[signature]
        relation, new = self.relation(f"{signature} value", signature.arity)
        if new:
            elements = self.some(group.elements, TimeWindow(0), None)
            self.groupings.append(Grouping(elements, relation, group.function, group.width, group.share))
        return relation

    def never_clips(self, signature: Predicate, window: Window) -> bool:
        """Whether every row derived `at U` ends by itself before U leaves the window, and never starts before U."""
        assert isinstance(window, TimeWindow)
        return (signature, True) not in self.program.interface.imports and all(
            any(
                isinstance(literal, At)
                and literal.time == rule.time
                and isinstance(literal.time, Variable)
                and isinstance(literal.window, TimeWindow)
                and literal.window.step is None
                and literal.window.size <= window.size
                for literal in rule.body
            )
            for rule in self.plan.normalised
            if rule.head.signature == signature and rule.time is not None
        )

    # Rules ----------------------------------------------------------------------------------------------------------

    def run(self) -> RulePlan:
        """Every rule of the program as a rule between relations."""
        for rule in self.plan.normalised:
            positive = [
                self.memory(literal) for literal in rule.body if not isinstance(literal, Not | Comparison | Aggregate)
            ]
            negative = [self.memory(literal.formula) for literal in rule.body if isinstance(literal, Not)]
            tests = [literal for literal in rule.body if isinstance(literal, Comparison)]
            if rule.time is None:
                head = RelationAtom(self.derived(rule.head.signature), rule.head.args)
            else:
                head = RelationAtom(self.derived_at(rule.head.signature), (*rule.head.args, rule.time))
            if not positive:
                positive.append(RelationAtom(self.relation(_TRUE, 0)[0], ()))
            self.rules.append(
                PlanRule(
                    head=head,
                    positive=tuple(positive),
                    negative=tuple(negative),
                    tests=tuple(tests),
                    timed=rule.time is not None,
                    origin=rule,
                    binds=binders(rule, rule.body),
                )
            )
        return self.finished()

    def finished(self) -> RulePlan:
        """The plan with all relations, rules and feeds; reading the outputs may add some first."""
        equality, interface = self.program.equality, self.program.interface
        representative, same_pairs, same_keys = (
            None if signature is None else self.derived(signature)
            for signature in (
                (equality.representative, equality.same_pairs, equality.same_keys) if equality else (None, None, None)
            )
        )
        outputs = {name: self.output(name) for name in sorted(self.program.outputs)}
        imports, exports = (
            {key: self.derived_at(key[0]) if key[1] else self.derived(key[0]) for key in sorted(passed)}
            for passed in (interface.imports, interface.exports)
        )
        return replace(
            self.plan,
            relations=tuple(self.memories.values()),
            memories=self.memories,
            rules=tuple(self.rules),
            feeds=self.feeds,
            tuples=tuple(self.tuples),
            keyed=tuple(self.keyed),
            counts=tuple(self.counts),
            groupings=tuple(self.groupings),
            recordings=tuple(self.recordings),
            background=tuple(self.fed_forever),
            clocks=self.clocks,
            beats=self.beats,
            outputs=outputs,
            imports=imports,
            exports=exports,
            truth=self.memories.get(_TRUE),
            first_tick=self.memories.get(_FIRST_TICK),
            same_pairs=same_pairs,
            same_keys=same_keys,
            representative=representative,
        )

    def output(self, signature: Predicate) -> Relation:
        """The relation with what is derived of a predicate for the tick of evaluation."""
        if signature not in self.heads_at:
            return self.derived(signature)
        row, timed_row = _columns(signature.arity)
        relation, _ = self.relation(f"{signature} output", len(row))
        self.copy(relation, RelationAtom(self.derived_at(signature), timed_row), head=row, window=TimeWindow(0))
        if signature in self.heads_now:
            self.copy(relation, RelationAtom(self.derived(signature), row), head=row)
        return relation


def _hops(window: Window) -> bool:
    return isinstance(window, TimeWindow) and window.step is not None


def _columns(arity: int) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    row = tuple(Variable(f"'{number}") for number in range(arity))
    return row, (*row, TICK)


def _name(what: str, stream: str | None, suffix: str) -> str:
    return f"{what} {suffix}" if stream is None else f"{what} from {stream} {suffix}"
