"""From a program to a plan: relations, the rules between them, and what feeds them.

Every distinct formula of a program is answered by one *memory*: a relation whose rows hold exactly while the formula
does. Equal formulas share one memory. What can make a formula true decides how its memory is filled:

    p(X) in [9], p streamed              fed: a fact of tick u is a row until u+9
    p(X) at U in [9], p streamed         fed: a row (X,U) until U+9
    q(X) in [9], q derived now           the derived relation itself
    q(X) in [9], q derived at U          a copy of (X,U), clipped to U+9
    p(X) in [9 step 5]                   a copy of (X,U), shown and hidden at the hops
    p(X) in [3 #]                        a copy of the window's rows (X,U), which are taken back when pushed out
    p(X) always in [9], p streamed       fed from the run of ticks at which p(X) came
    q(X) always in [9]                   a count of the ticks of q(X) at U in [9]
    b(X) …, b in the background          rows for ever; under `at U` joined with the clock
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from thalweg.ir.binding import binders
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Comparison,
    Expression,
    Formula,
    InWindow,
    Not,
    Now,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    Window,
)
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.planning.normalise import normalise
from thalweg.planning.unsupported import refuse_unsupported

TICK = Variable("'U")
"""The column of a copied row's tick."""

_DERIVED_ROWS = 1_000.0
"""What a derived relation is taken to hold, for want of anything better."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of one shape. `name` is what `explain` prints; `arity` counts the columns of the key."""

    number: int
    name: str
    arity: int


@dataclass(frozen=True, slots=True)
class RelationAtom:
    """A relation and what stands in its columns."""

    relation: Relation
    args: tuple[Expression, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Clip:
    """Shows a row (X,U) only while U lies in the window, and never before U."""

    window: TimeWindow


@dataclass(frozen=True, slots=True)
class PlanRule:
    """A rule between relations; `timed` when the last column of the head is a tick."""

    head: RelationAtom
    positive: tuple[RelationAtom, ...]
    negative: tuple[RelationAtom, ...] = ()
    tests: tuple[Comparison, ...] = ()
    clip: Clip | None = None
    timed: bool = False
    origin: Rule | None = field(default=None, compare=False)
    binds: Mapping[int, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Feed:
    """How the facts of one signature on one stream enter a relation.

    `seen`: a row until `size` ticks later · `timed`: with its tick · `run`: through `relation`, the run of ticks, into
    `target` · `tuple`: see `TupleFeed`.
    """

    kind: str
    relation: Relation
    size: int = 0
    target: Relation | None = None


@dataclass(frozen=True, slots=True)
class TupleFeed:
    """A tuple window: which facts it counts, and the relations that keep the rows (X,U) of each signature in it."""

    window: TupleWindow
    stream: str | None
    relations: dict[Predicate, Relation]
    ticks: Relation | None


@dataclass(frozen=True, slots=True)
class Count:
    """`target` has X when `source` has (X,U) for every tick U of the window."""

    source: Relation
    target: Relation
    counter: Relation
    window: Window
    tuples: int = -1


@dataclass(frozen=True, slots=True)
class Grouping:
    """`value` has one row for each group of `elements`."""

    elements: Relation
    value: Relation
    function: str
    width: int


@dataclass(slots=True)
class Plan:
    """All that the engine needs to know."""

    program: Program
    relations: list[Relation] = field(default_factory=list)
    rules: list[PlanRule] = field(default_factory=list)
    feeds: dict[tuple[Predicate, str | None], list[Feed]] = field(default_factory=dict)
    tuples: list[TupleFeed] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)
    groupings: list[Grouping] = field(default_factory=list)
    background: list[tuple[Relation, Predicate]] = field(default_factory=list)
    clocks: dict[int, Relation] = field(default_factory=dict)
    beats: dict[int, Relation] = field(default_factory=dict)
    outputs: dict[Predicate, Relation] = field(default_factory=dict)
    imports: dict[tuple[Predicate, bool], Relation] = field(default_factory=dict)
    exports: dict[tuple[Predicate, bool], Relation] = field(default_factory=dict)
    truth: Relation | None = None
    edges: Relation | None = None
    alike: Relation | None = None
    links: Relation | None = None
    strata: list[int] = field(default_factory=list)
    retractable: list[bool] = field(default_factory=list)
    memories: dict[str, Relation] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return max(self.strata, default=0) + 1


def make_plan(program: Program, mixed: frozenset[Predicate] = frozenset()) -> Plan:
    """The plan of a program; `mixed` names the derived signatures that the streams carry as well."""
    refuse_unsupported(program)
    planner = _Planner(program, mixed)
    planner.lower()
    planner.stratify()
    return planner.plan


class _Planner:
    def __init__(self, program: Program, mixed: frozenset[Predicate]) -> None:
        self.plan = Plan(program)
        self.rules, self.groups = normalise(program.rules)
        self.mixed = mixed
        self.background = Counter(fact.signature for fact in program.background)
        self.heads_now = {rule.head.signature for rule in self.rules if rule.time is None}
        self.heads_now |= {signature for signature, timed in program.imports if not timed}
        if program.equality is not None:
            self.heads_now.add(program.equality.links)
        self.heads_at = {rule.head.signature for rule in self.rules if rule.time is not None}
        self.heads_at |= {signature for signature, timed in program.imports if timed}
        self.values = {group.value: group for group in self.groups}

    # Relations ------------------------------------------------------------------------------------------------------

    def relation(self, name: str, arity: int) -> tuple[Relation, bool]:
        """The relation of that name, and whether it is new."""
        known = self.plan.memories.get(name)
        if known is not None:
            return known, False
        made = Relation(len(self.plan.relations), name, arity)
        self.plan.relations.append(made)
        self.plan.memories[name] = made
        return made, True

    def derived(self, signature: Predicate) -> Relation:
        return self.relation(f"{signature} derived", signature.arity)[0]

    def derived_at(self, signature: Predicate) -> Relation:
        return self.relation(f"{signature} derived at", signature.arity + 1)[0]

    def is_input(self, signature: Predicate, stream: str | None) -> bool:
        derived = signature in self.heads_now or signature in self.heads_at or signature in self.values
        known = derived or signature in self.plan.program.static
        return stream is not None or not known or signature in self.mixed

    def feed(self, signature: Predicate, stream: str | None, feed: Feed) -> None:
        self.plan.feeds.setdefault((signature, stream), []).append(feed)

    def copy(
        self, target: Relation, *sources: RelationAtom, head: tuple[Variable, ...], window: TimeWindow | None = None
    ) -> None:
        clip = None if window is None else Clip(window)
        self.plan.rules.append(PlanRule(RelationAtom(target, head), sources, clip=clip))

    def clock(self, size: int) -> RelationAtom:
        """The ticks of the last `size`, as rows (U)."""
        made = self.plan.clocks.get(size)
        if made is None:
            made = self.plan.clocks[size] = self.relation(f"clock [{size}]", 1)[0]
        return RelationAtom(made, (TICK,))

    def always_background(self, signature: Predicate, stream: str | None) -> bool:
        return stream is None and signature in self.background

    def background_rows(self, signature: Predicate) -> Relation:
        made, new = self.relation(f"{signature} background", signature.arity)
        if new:
            self.plan.background.append((made, signature))
        return made

    # Memories -------------------------------------------------------------------------------------------------------

    def memory(self, formula: Formula) -> RelationAtom:
        """The atom over the memory that answers a formula."""
        signature, args, stream = formula.atom.signature, formula.atom.args, formula.stream
        weight = self.expected_rows(formula)
        match formula:
            case Now():
                return RelationAtom(self.some(signature, TimeWindow(0), stream), args, weight)
            case InWindow(window=window):
                return RelationAtom(self.some(signature, window, stream), args, weight)
            case Always(window=window):
                return RelationAtom(self.always(signature, window, stream), args, weight)
            case At(time=time, window=window):
                window = TimeWindow(FOREVER) if window is None else window
                return RelationAtom(self.at(signature, window, stream), (*args, time), weight)

    def expected_rows(self, formula: Formula) -> float:
        """A guess for the order of joins: the background is counted, a stream is taken to bring one fact a tick."""
        signature = formula.atom.signature
        known = self.background[signature]
        if not self.is_input(signature, formula.stream):
            return known + _DERIVED_ROWS
        match formula:
            case InWindow(window=window) | Always(window=window) | At(window=TimeWindow() | TupleWindow() as window):
                return float(known + window.size + 1)
            case At():
                return float(FOREVER)
        return float(known + 1)

    def some(self, signature: Predicate, window: Window, stream: str | None) -> Relation:
        """`p(X) in W`."""
        if signature in self.values:
            return self.value(signature)
        row, timed_row = _columns(signature.arity)
        derived_now = stream is None and signature in self.heads_now
        derived_at = stream is None and signature in self.heads_at
        background = self.always_background(signature, stream)
        hopping = isinstance(window, TimeWindow) and window.step is not None
        inputs = self.is_input(signature, stream)
        if derived_now and not (derived_at or background or hopping or inputs):
            return self.derived(signature)
        made, new = self.relation(_name(signature, stream, f"in {show(window)}"), len(row))
        if not new:
            return made
        alone = not (derived_now or derived_at or isinstance(window, TupleWindow))
        if background:
            self.show_background(made, signature, alone)
        if isinstance(window, TupleWindow):
            self.copy(made, RelationAtom(self.tuple_rows(signature, window, stream), timed_row), head=row)
            return made
        assert isinstance(window, TimeWindow), "other windows are refused"
        if inputs and hopping:
            self.copy(made, self.hop_source(signature, window, stream, timed_row), head=row, window=window)
        elif inputs:
            fed = made if alone else self.fed_beside(made, row)
            self.feed(signature, stream, Feed("seen", fed, window.size))
        if derived_at:
            self.copy(made, RelationAtom(self.derived_at(signature), timed_row), head=row, window=window)
        if derived_now:
            beat = () if window.step is None else (self.beat(window.step),)
            self.copy(made, RelationAtom(self.derived(signature), row), *beat, head=row)
        return made

    def at(self, signature: Predicate, window: Window, stream: str | None, counted: bool = False) -> Relation:
        """`p(X) at U in W`; to be counted, it has a relation of its own and leaves the background out."""
        row, timed_row = _columns(signature.arity)
        derived_now = stream is None and signature in self.heads_now
        derived_at = stream is None and signature in self.heads_at
        background = not counted and self.always_background(signature, stream)
        hopping = isinstance(window, TimeWindow) and window.step is not None
        inputs = self.is_input(signature, stream)
        if isinstance(window, TupleWindow):
            rows = self.tuple_rows(signature, window, stream)
            if not background:
                return rows
            made, new = self.relation(_name(signature, stream, f"at U in {show(window)} or background"), len(timed_row))
            if new:
                self.copy(made, RelationAtom(rows, timed_row), head=timed_row)
                always = RelationAtom(self.background_rows(signature), row)
                self.copy(made, always, self.tuple_ticks(window, stream), head=timed_row)
            return made
        assert isinstance(window, TimeWindow), "other windows are refused"
        plain = derived_at and not (derived_now or background or hopping or inputs or counted)
        if plain and self.never_clips(signature, window):
            return self.derived_at(signature)
        name = f"at U in {show(window)}" + (" or background" if background else "")
        made, new = self.relation(_name(signature, stream, name), len(timed_row))
        if not new:
            return made
        if inputs and hopping:
            self.copy(made, self.hop_source(signature, window, stream, timed_row), head=timed_row, window=window)
        elif inputs:
            fed = self.fed_beside(made, timed_row) if derived_now or derived_at or background else made
            self.feed(signature, stream, Feed("timed", fed, window.size))
        if derived_at:
            self.copy(made, RelationAtom(self.derived_at(signature), timed_row), head=timed_row, window=window)
        if derived_now:
            beat = () if window.step is None else (self.beat(window.step),)
            self.copy(made, RelationAtom(self.derived(signature), row), self.clock(0), *beat, head=timed_row)
        if background:
            always = RelationAtom(self.background_rows(signature), row)
            self.copy(made, always, self.clock_in(window), head=timed_row)
        return made

    def always(self, signature: Predicate, window: Window, stream: str | None) -> Relation:
        """`p(X) always in W`."""
        arity = signature.arity
        made, new = self.relation(_name(signature, stream, f"always in {show(window)}"), arity)
        if not new:
            return made
        derived = stream is None and (signature in self.heads_now or signature in self.heads_at)
        runs = isinstance(window, TimeWindow) and window.step is None and not derived
        if self.always_background(signature, stream):
            self.show_background(made, signature, alone=runs)
        if runs:
            run, _ = self.relation(_name(signature, stream, "run"), arity)
            self.feed(signature, stream, Feed("run", run, window.size, made))
            return made
        source = self.at(signature, window, stream, counted=True)
        counter, _ = self.relation(_name(signature, stream, f"ticks in {show(window)}"), arity)
        tuples = self.tuple_feed(window, stream) if isinstance(window, TupleWindow) else -1
        self.plan.counts.append(Count(source, made, counter, window, tuples))
        return made

    def hop_source(
        self, signature: Predicate, window: Window, stream: str | None, timed_row: tuple[Variable, ...]
    ) -> RelationAtom:
        """The streamed rows (X,U) that a hopping window may still show."""
        assert isinstance(window, TimeWindow)
        assert window.step is not None
        size = window.size + window.step
        made, new = self.relation(_name(signature, stream, f"at U kept for hops [{size}]"), len(timed_row))
        if new:
            self.feed(signature, stream, Feed("timed", made, size))
        return RelationAtom(made, timed_row)

    def clock_in(self, window: TimeWindow) -> RelationAtom:
        """The ticks of a window."""
        if window.step is None:
            return self.clock(window.size)
        made, new = self.relation(f"clock {show(window)}", 1)
        if new:
            self.copy(made, self.clock(window.size + window.step), head=(TICK,), window=window)
        return RelationAtom(made, (TICK,))

    def beat(self, step: int | None) -> RelationAtom:
        """Holds at the hops only."""
        assert step is not None
        made = self.plan.beats.get(step)
        if made is None:
            made = self.plan.beats[step] = self.relation(f"hop of {step}", 0)[0]
        return RelationAtom(made, ())

    def fed_beside(self, memory: Relation, row: tuple[Variable, ...]) -> Relation:
        """A relation for what the streams bring to a memory that is derived as well.

        Rows of their own, because deriving a row again after it was taken back looks at rules only.
        """
        made, _ = self.relation(f"{memory.name} streamed", len(row))
        self.copy(memory, RelationAtom(made, row), head=row)
        return made

    def show_background(self, memory: Relation, signature: Predicate, alone: bool) -> None:
        """Background holds in every window; beside derived rows it has rows of its own."""
        if alone:
            self.plan.background.append((memory, signature))
        else:
            row, _ = _columns(signature.arity)
            self.copy(memory, RelationAtom(self.background_rows(signature), row), head=row)

    def tuple_feed(self, window: TupleWindow, stream: str | None) -> int:
        for number, feed in enumerate(self.plan.tuples):
            if feed.window == window and feed.stream == stream:
                return number
        self.plan.tuples.append(TupleFeed(window, stream, {}, None))
        return len(self.plan.tuples) - 1

    def tuple_rows(self, signature: Predicate, window: Window, stream: str | None) -> Relation:
        """The rows (X,U) of a tuple window."""
        assert isinstance(window, TupleWindow)
        feed = self.plan.tuples[self.tuple_feed(window, stream)]
        made, new = self.relation(_name(signature, stream, f"at U in {show(window)}"), signature.arity + 1)
        if new:
            feed.relations[signature] = made
        return made

    def tuple_ticks(self, window: TupleWindow, stream: str | None) -> RelationAtom:
        """The ticks that a tuple window spans."""
        number = self.tuple_feed(window, stream)
        feed = self.plan.tuples[number]
        made, _ = self.relation(_name("ticks of", stream, show(window)), 1)
        self.plan.tuples[number] = TupleFeed(feed.window, feed.stream, feed.relations, made)
        return RelationAtom(made, (TICK,))

    def value(self, signature: Predicate) -> Relation:
        """The rows of an aggregate."""
        group = self.values[signature]
        made, new = self.relation(f"{signature} value", signature.arity)
        if new:
            elements = self.some(group.elements, TimeWindow(0), None)
            self.plan.groupings.append(Grouping(elements, made, group.function, group.width))
        return made

    def never_clips(self, signature: Predicate, window: Window) -> bool:
        """Whether every row derived `at U` ends by itself before U leaves the window, and never starts before U."""
        assert isinstance(window, TimeWindow)
        return (signature, True) not in self.plan.program.imports and all(
            any(
                isinstance(literal, At)
                and literal.time == rule.time
                and isinstance(literal.time, Variable)
                and isinstance(literal.window, TimeWindow)
                and literal.window.step is None
                and literal.window.size <= window.size
                for literal in rule.body
            )
            for rule in self.rules
            if rule.head.signature == signature and rule.time is not None
        )

    # Rules ----------------------------------------------------------------------------------------------------------

    def lower(self) -> None:
        """Every rule of the program as a rule between relations, and the relations to be read as output."""
        for rule in self.rules:
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
                positive.append(RelationAtom(self.true(), ()))
            self.plan.rules.append(
                PlanRule(
                    head=head,
                    positive=tuple(positive),
                    negative=tuple(negative),
                    tests=tuple(tests),
                    timed=rule.time is not None,
                    origin=rule,
                    binds=binders(rule.body),
                )
            )
        equality = self.plan.program.equality
        if equality is not None:
            self.plan.links = self.derived(equality.links)
            self.plan.edges = None if equality.edges is None else self.derived(equality.edges)
            self.plan.alike = None if equality.alike is None else self.derived(equality.alike)
        told = self.plan.program.outputs
        for signature in sorted(self.plan.program.derived if told is None else told):
            self.plan.outputs[signature] = self.output(signature)
        for passed, relations in (
            (self.plan.program.imports, self.plan.imports),
            (self.plan.program.exports, self.plan.exports),
        ):
            for signature, timed in sorted(passed):
                relations[signature, timed] = self.derived_at(signature) if timed else self.derived(signature)

    def true(self) -> Relation:
        if self.plan.truth is None:
            self.plan.truth = self.relation("true", 0)[0]
        return self.plan.truth

    def output(self, signature: Predicate) -> Relation:
        """What is derived for the tick of evaluation."""
        if signature not in self.heads_at:
            return self.derived(signature)
        row, timed_row = _columns(signature.arity)
        made, _ = self.relation(f"{signature} output", len(row))
        self.copy(made, RelationAtom(self.derived_at(signature), timed_row), head=row, window=TimeWindow(0))
        if signature in self.heads_now:
            self.copy(made, RelationAtom(self.derived(signature), row), head=row)
        return made

    def stratify(self) -> None:
        """Numbers the relations so that what is negated or aggregated is settled before it is asked for."""
        count = len(self.plan.relations)
        edges = [(rule.head.relation, atom.relation, 0) for rule in self.plan.rules for atom in rule.positive]
        edges += [(rule.head.relation, atom.relation, 1) for rule in self.plan.rules for atom in rule.negative]
        edges += [(each.target, each.source, 0) for each in self.plan.counts]
        edges += [(each.value, each.elements, 1) for each in self.plan.groupings]
        self.plan.strata = _least(count, ((head.number, body.number, step) for head, body, step in edges))
        taken_back = [False] * count
        for feed in self.plan.tuples:
            for relation in (*feed.relations.values(), *filter(None, (feed.ticks,))):
                taken_back[relation.number] = True
        uncertain = [
            relation for key, relation in self.plan.imports.items() if key not in self.plan.program.irrevocable
        ]
        for relation in (*(grouping.value for grouping in self.plan.groupings), *uncertain):
            taken_back[relation.number] = True
        changed = True
        while changed:
            changed = False
            for head, body, step in edges:
                if (step or taken_back[body.number]) and not taken_back[head.number]:
                    taken_back[head.number] = changed = True
        self.plan.retractable = taken_back


def _least(count: int, edges: Iterable[tuple[int, int, int]]) -> list[int]:
    level, known = [0] * count, list(edges)
    changed = True
    while changed:
        changed = False
        for head, body, step in known:
            if level[head] < level[body] + step:
                level[head] = level[body] + step
                changed = True
                assert level[head] <= count, "an unstratified program passed the checks"
    return level


def _columns(arity: int) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    row = tuple(Variable(f"'{number}") for number in range(arity))
    return row, (*row, TICK)


def _name(what: str, stream: str | None, rest: str) -> str:
    return f"{what} {rest}" if stream is None else f"{what} from {stream} {rest}"
