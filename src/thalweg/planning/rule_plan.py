"""A plan: relations, the rules between them, and what feeds them.

Every distinct formula of a program is answered by one *memory*: a relation whose rows hold exactly while the formula
does. Equal formulas share one memory. What can make a formula true decides how its memory is filled:

    p(X) in [9], p streamed              fed: a fact of tick u is a row until u+9
    p(X) at U in [9], p streamed         fed: a row (X,U) until U+9
    q(X) in [9], q derived now           the derived relation itself
    q(X) in [9], q derived at U          a copy of (X,U), clipped to U+9
    p(X) in [9 step 5]                   a copy of (X,U), shown and hidden at the hops
    p(X) in [3 #], p(X) in [3 # by X]    a copy of the window's rows (X,U), which are taken back when pushed out
    p(X) always in [9], p streamed       fed from the run of ticks at which p(X) came
    q(X) always in [9]                   a count of the ticks of q(X) at U in [9]
    r(X) in [9], r recorded              a copy of what is derived now, kept for 9 ticks more
    r(X) before [9]                      fed a tick after r(X) was derived, until 9 ticks after it ended
    r(X) at U in [9], r recorded         a row (X,U) for each tick at which r(X) is derived, until U+9
    r(X) always in [9], r recorded       r(X) now, and a row that is fed when it has lasted for 9 ticks
    b(X) …, b in the background          rows for ever; under `at U` joined with the clock
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter

from thalweg.ir.nodes import Comparison, Expression, KeyedWindow, Program, Rule, TimeWindow, TupleWindow, Window
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate


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
    """Shows a row (X,U) only while U lies in the window, and never before U; with a `delay`, as many ticks later."""

    window: TimeWindow
    delay: int = 0


@dataclass(frozen=True, slots=True)
class JoinOrder:
    """The order of steps that finds every answer of a rule in which a row of `start` takes part."""

    start: RelationAtom
    steps: tuple[RelationAtom | Comparison, ...]


@dataclass(frozen=True, slots=True)
class PlanRule:
    """A rule between relations; `timed` when the last column of the head is a tick.

    The head holds for `extension` ticks more than the premises. `binds` says which comparisons bind a variable
    (`ir.binding`). There is a join for each atom that can set the rule going, positive and negated, in that order, and
    one that goes back from a conclusion to its premises.
    """

    head: RelationAtom
    positive: tuple[RelationAtom, ...]
    negative: tuple[RelationAtom, ...] = ()
    tests: tuple[Comparison, ...] = ()
    clip: Clip | None = None
    extension: int = 0
    timed: bool = False
    origin: Rule | None = field(default=None, compare=False)
    binds: Mapping[int, str] = field(default_factory=dict, compare=False)
    joins: tuple[JoinOrder, ...] = ()
    backwards: JoinOrder | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """How the facts of one signature on one stream enter a relation.

    `seen`: a row until `size` ticks later · `timed`: with its tick · `run`: through `relation`, the run of ticks, into
    `target` · `past`, `timed past`: like `seen` and `timed`, but from the next tick on · `tuple`: see `TupleFeed`.
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
class KeyedFeed:
    """A window by key over the facts of one signature, and the relation that keeps the rows (X,U) in it."""

    window: KeyedWindow
    signature: Predicate
    stream: str | None
    relation: Relation


@dataclass(frozen=True, slots=True)
class Recording:
    """What `target` remembers of the rows of `source`, which hold now; `kind` says how.

    `extended`: a rule copies them and keeps them for `size` ticks more · `lasting`: the same from the next tick on,
    where nothing ends them before their horizon · `followed`: from the next tick on, while they hold and until `size`
    ticks after · `streak`: while they hold, once they have held at `size` ticks before, or at all ticks.
    """

    source: Relation
    target: Relation
    size: int
    kind: str
    signature: Predicate


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
    """`value` has one row for each group of `elements`; `share` is that of a quantile."""

    elements: Relation
    value: Relation
    function: str
    width: int
    share: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A relation without rows of its own: those of `source`, of whose columns the first, second, … is `order`."""

    source: Relation
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AggregateGroup:
    """The predicate `value` holds the `function` of the rows of `elements`, grouped by its first `width` arguments."""

    elements: Predicate
    value: Predicate
    function: str
    width: int
    share: str | None = None


InputCopy = tuple[Predicate, tuple[str, ...]]
"""What facts are fed as, and the constants behind their argument."""


@dataclass(frozen=True)
class InputCopies:
    """For each signature that is fed as another one: that one, and the constants behind its argument."""

    into: Mapping[Predicate, InputCopy] = field(default_factory=dict)

    @cached_property
    def back(self) -> dict[InputCopy, Predicate]:
        return {copy: source for source, copy in self.into.items()}

    def sources(self, signature: Predicate) -> list[Predicate]:
        """The signatures that are fed as one."""
        return [source for source, (into, _) in self.into.items() if into == signature]

    def origin(self, signature: Predicate, args: tuple[str, ...]) -> Fact:
        """The fact that came as another one.

        >>> work, kind = Predicate("<Work>", 1), Predicate("kind'", 2)
        >>> str(InputCopies({work: (kind, ("4",))}).origin(kind, ("bob", "4")))
        '<Work>(bob)'
        """
        source = self.back.get((signature, args[1:]))
        return Fact(signature.name, args) if source is None else Fact(source.name, args[:1])


@dataclass(frozen=True, slots=True)
class PlanTarget:
    """The state of a run that a plan is made for.

    `mixed` are derived predicates that streams turned out to bring as well, beyond those that were expected; `lacking`
    has the names of the relations from which facts were shed.
    """

    mixed: frozenset[Predicate] = frozenset()
    lacking: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RulePlan:
    """Everything that an engine needs to evaluate a program; each pass fills some of it (see `passes`).

    `source` is the program as it was written, `program` the one that is evaluated. `incomplete` has the numbers of the
    relations that may lack rows.
    """

    source: Program
    program: Program
    target: PlanTarget = PlanTarget()
    copies: InputCopies = InputCopies()
    normalised: tuple[Rule, ...] = ()
    groups: tuple[AggregateGroup, ...] = ()
    relations: tuple[Relation, ...] = ()
    rules: tuple[PlanRule, ...] = ()
    feeds: Mapping[tuple[Predicate, str | None], list[Feed]] = field(default_factory=dict)
    tuples: tuple[TupleFeed, ...] = ()
    keyed: tuple[KeyedFeed, ...] = ()
    counts: tuple[Count, ...] = ()
    groupings: tuple[Grouping, ...] = ()
    views: Mapping[int, View] = field(default_factory=dict)
    recordings: tuple[Recording, ...] = ()
    background: tuple[tuple[Relation, Predicate], ...] = ()
    clocks: Mapping[int, Relation] = field(default_factory=dict)
    beats: Mapping[int, Relation] = field(default_factory=dict)
    outputs: Mapping[Predicate, Relation] = field(default_factory=dict)
    imports: Mapping[tuple[Predicate, bool], Relation] = field(default_factory=dict)
    exports: Mapping[tuple[Predicate, bool], Relation] = field(default_factory=dict)
    truth: Relation | None = None
    first_tick: Relation | None = None
    same_pairs: Relation | None = None
    same_keys: Relation | None = None
    representative: Relation | None = None
    memories: Mapping[str, Relation] = field(default_factory=dict)
    strata: tuple[int, ...] = ()
    retractable: tuple[bool, ...] = ()
    incomplete: frozenset[int] = frozenset()

    @property
    def depth(self) -> int:
        return max(self.strata, default=0) + 1

    def view(self, relation: Relation) -> View:
        """Where the rows of a relation are, and in which order their columns."""
        return self.views.get(relation.number) or View(relation, tuple(range(relation.arity)))

    def stored(self, atom: RelationAtom) -> RelationAtom:
        """The same atom over the relation that has the rows."""
        if atom.relation.number not in self.views:
            return atom
        view = self.view(atom.relation)
        args = tuple(arg for _, arg in sorted(zip(view.order, atom.args, strict=True), key=itemgetter(0)))
        return replace(atom, relation=view.source, args=args)

    @property
    def mixed(self) -> frozenset[Predicate]:
        """The predicates that are derived, or imported, and streamed as well."""
        interface = self.source.interface
        derived = self.source.derived | {name for name, _ in interface.imports}
        return self.target.mixed | (interface.inputs & derived)

    @property
    def counted(self) -> Iterator[Relation]:
        """The relations whose rows tuple windows bring and take back: facts, and the ticks that a window spans."""
        for feed in self.tuples:
            yield from feed.relations.values()
            if feed.ticks is not None:
                yield feed.ticks
        yield from (feed.relation for feed in self.keyed)

    @property
    def needs(self) -> Iterator[tuple[int, int, int]]:
        """The numbers of relations and of those that they are filled from; 1 where those must be settled before."""
        for rule in self.rules:
            head = rule.head.relation.number
            yield from ((head, atom.relation.number, 0) for atom in rule.positive)
            yield from ((head, atom.relation.number, 1) for atom in rule.negative)
        yield from ((count.target.number, count.source.number, 0) for count in self.counts)
        yield from ((group.value.number, group.elements.number, 1) for group in self.groupings)

    @property
    def remembers(self) -> Iterator[tuple[int, int, int]]:
        """The numbers of relations and of those whose earlier rows they rest on, in the form of `needs`."""
        yield from ((recording.target.number, recording.source.number, 0) for recording in self.recordings)
