"""Which operators of a plan that is spread over buckets go on where its program has changed.

What goes on keeps its state in each bucket, so it must be given the same facts in the same bucket as before:

    slow(R) :- speed(R,V), V < 20.      by road, as before: goes on
    jam(R) :- slow(R) in [5].           by road, in one operator with `slow`: both go on, or both begin
    met(S) :- slow(R), near(S,R).       was by sensor, and is by road now: begins, and so does what reads it

A unit (see `units`) goes on if it is unchanged, if each of its operators has one that did the same in the same buckets,
and if all units that it reads go on.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from thalweg.dataflow.plan import Edge, Plan
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Program
from thalweg.ir.text import show
from thalweg.kinds.rules.rule_operator import RulesSpec, RuleStageSpec
from thalweg.kinds.units import ProgramChange, is_one_unit
from thalweg.model.predicate import Predicate
from thalweg.planning.wire_parts import written


@dataclass(frozen=True, slots=True)
class Home:
    """Where operators work together: the number of their fragment, its buckets, and whether events stay whole there."""

    fragment: int
    buckets: range
    keeps_events: bool


@dataclass(frozen=True)
class PlacedPlan:
    """A plan, the part that each operator is of (None for rules), and where each of them works.

    `groups` has the units of parts that consist of several.
    """

    plan: Plan
    owners: tuple[str | None, ...]
    homes: tuple[Home, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def units(self) -> tuple[frozenset[str], ...]:
        """The units that each operator has a share in."""
        return tuple(
            frozenset(map(unit_of, self.heads(number)))
            if owner is None
            else frozenset(self.groups.get(owner, (owner,)))
            for number, owner in enumerate(self.owners)
        )

    def heads(self, number: int) -> frozenset[Predicate]:
        """The predicates that an operator of rules derives, as its program calls them, or gathers."""
        return self.program(number).derived | self.gathered(number)

    def gathered(self, number: int) -> frozenset[Predicate]:
        """The predicates that an operator of rules puts out as others have derived them."""
        derived = self.program(number).derived
        match self.plan.operators[number]:
            case RuleStageSpec(stage=stage):
                return frozenset(outer for inner, outer in stage.outputs if inner not in derived)
        return frozenset()

    def program(self, number: int) -> Program:
        """The rules of an operator as it evaluates them; none where it is of another kind."""
        match self.plan.operators[number]:
            case RuleStageSpec(stage=stage):
                return stage.program
            case RulesSpec(program=program):
                return program
        return Program()

    @cached_property
    def is_one_unit(self) -> bool:
        """Whether all rules go on, or none of them."""
        specs = (spec for spec in self.plan.operators if isinstance(spec, RulesSpec | RuleStageSpec))
        return any(is_one_unit(spec.program) for spec in specs)

    def outputs(self, number: int) -> frozenset[Predicate]:
        """The predicates that an operator of rules shows to users."""
        match self.plan.operators[number]:
            case RuleStageSpec(stage=stage, shown=shown):
                return frozenset(outer for _, outer in stage.outputs if outer in shown)
            case RulesSpec(program=program):
                return frozenset(program.outputs)
        return frozenset()


def unit_of(name: Predicate) -> str:
    """The unit of a predicate of an operator's program: the predicate as it was written.

    >>> unit_of(Predicate("slow'0", 1)), unit_of(Predicate("'now slow", 1)), unit_of(Predicate("slow", 1))
    ('slow/1', 'slow/1', 'slow/1')
    """
    own = written(name)
    stem, mark, role = own.name.rpartition("'")
    is_role = bool(mark and stem) and (role in ("all", "part") or role.isdigit())
    return str(own.renamed(stem) if is_role else own)


@dataclass(frozen=True)
class PlanSuccession:
    """A plan in place of another one: what goes on, and from which operator each of those that do.

    `heirs` has the fragment that goes on for one of before. By `fresh` edges, which are named by their numbers, what
    goes on gives something to what begins. Of what is shown, predicates that `stay` go on, and others end; those that
    `appear` were not shown before.
    """

    change: ProgramChange
    origins: Mapping[int, int]
    heirs: Mapping[int, int] = field(default_factory=dict)
    fresh: frozenset[int] = frozenset()
    stay: frozenset[Predicate] = frozenset()
    appear: frozenset[Predicate] = frozenset()


def succession(old: PlacedPlan, new: PlacedPlan, change: ProgramChange) -> PlanSuccession:
    """What goes on where one plan takes the place of another, and `change` says what is unchanged."""
    same = {*change.same}
    while True:
        matching = _Matching(old, new, frozenset(same))
        wrong = {*matching.broken()} & same
        if not wrong:
            break
        same -= wrong
        if (old.is_one_unit or new.is_one_unit) and wrong & _of_rules(new):
            same -= _of_rules(new)
    begun = tuple(sorted({*change.begun, *change.same} - same))
    edges = enumerate(new.plan.edges)
    fresh = (
        number for number, edge in edges if edge.source in matching.origins and edge.target not in matching.origins
    )
    before, after = _shown(old), _shown(new)
    stay = frozenset(name for name in after if str(name) in same or _is_unnamed(name, new, begun, change))
    return PlanSuccession(
        replace(change, same=tuple(sorted(same)), begun=begun),
        matching.origins,
        matching.heirs,
        frozenset(fresh),
        stay & before,
        stay - before,
    )


def _of_rules(placed: PlacedPlan) -> set[str]:
    """The units that are predicates of rules."""
    return {unit for number, owner in enumerate(placed.owners) if owner is None for unit in placed.units[number]}


def _shown(placed: PlacedPlan) -> frozenset[Predicate]:
    return frozenset[Predicate]().union(*(placed.outputs(number) for number in placed.plan.numbers))


def _is_unnamed(name: Predicate, new: PlacedPlan, begun: Collection[str], change: ProgramChange) -> bool:
    """Whether no rule derives a predicate by name, so that what is shown of it goes on with all rules."""
    units = {str(name)} & {*change.same, *change.begun}
    return not units and not {*begun} & _of_rules(new) and not change.gone


@dataclass(frozen=True)
class _Matching:
    """Operators of two plans, matched where all that they do may be the same, if these units are."""

    old: PlacedPlan
    new: PlacedPlan
    same: frozenset[str]

    @cached_property
    def origins(self) -> dict[int, int]:
        """The operators that may go on, by their numbers in the new plan and in the old one."""
        pairs = {number: origin for number in self.new.plan.numbers if (origin := self._origin(number)) is not None}
        heirs = self._heirs(pairs)
        homes = self.old.homes, self.new.homes
        return {
            number: origin
            for number, origin in pairs.items()
            if heirs.get(homes[0][origin].fragment) == homes[1][number].fragment
        }

    @cached_property
    def heirs(self) -> dict[int, int]:
        """The fragment that goes on for one of before."""
        return {self.old.homes[there].fragment: self.new.homes[here].fragment for here, there in self.origins.items()}

    def _heirs(self, pairs: Mapping[int, int]) -> dict[int, int]:
        """Each fragment goes on for one of before at most, that with which it has the most in common."""
        counts = Counter((self.old.homes[old].fragment, self.new.homes[new].fragment) for new, old in pairs.items())
        heirs: dict[int, int] = {}
        for (before, after), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            if before not in heirs and after not in heirs.values():
                heirs[before] = after
        return heirs

    def _origin(self, number: int) -> int | None:
        if not self.new.units[number] <= self.same:
            return None
        candidates = self._of_owner(number) if self.new.owners[number] is not None else self._of_rules(number)
        return next((origin for origin in candidates if self._is_placed_alike(number, origin)), None)

    def _of_owner(self, number: int) -> Iterator[int]:
        """The operator that had the same place in its part."""
        owner = self.new.owners[number]
        own, before = (
            [at for at, name in enumerate(owners) if name == owner] for owners in (self.new.owners, self.old.owners)
        )
        types = [
            [type(placed.plan.operators[at]) for at in places]
            for placed, places in ((self.new, own), (self.old, before))
        ]
        if types[0] == types[1]:
            yield before[own.index(number)]

    def _of_rules(self, number: int) -> Iterator[int]:
        """Operators of rules that had the same rules, perhaps among others."""
        rules, gathered = _rules(self.new.program(number)), self.new.gathered(number)
        for origin, owner in enumerate(self.old.owners):
            if owner is None and gathered <= self.old.gathered(origin):
                before = _rules(self.old.program(origin))
                if all(before.get(head) == own for head, own in rules.items()):
                    yield origin

    def _is_placed_alike(self, number: int, origin: int) -> bool:
        here, there = self.new.homes[number], self.old.homes[origin]
        specs = self.new.plan.operators[number], self.old.plan.operators[origin]
        is_alike = type(specs[0]) is type(specs[1]) and _streamed(specs[0]) <= _streamed(specs[1])
        return is_alike and (here.buckets, here.keeps_events) == (there.buckets, there.keeps_events)

    # What is not given the same as before -----------------------------------------------------------------------------

    def broken(self) -> Iterator[str]:
        """Units that cannot go on although they are unchanged."""
        for number in self.new.plan.numbers:
            if number not in self.origins or not self._reads_alike(number):
                yield from self.new.units[number]

    def _reads_alike(self, number: int) -> bool:
        """Whether all that an operator reads of others is given by operators that go on, as before."""
        origin = self.origins[number]
        own = [self._as_before(edge) for edge in self.new.plan.incoming[number]]
        before = [_about(edge) for edge in self.old.plan.incoming[origin]]
        called = {(edge.called, edge.stream) for edge in self.new.plan.incoming[number]}
        wanted = [_about(edge) for edge in self.old.plan.incoming[origin] if (edge.called, edge.stream) in called]
        # Some exchanges can be compared only.
        is_alike = all(edge in before for edge in own) and all(edge in own for edge in wanted)
        return is_alike and self._reads_no_less(number, origin)

    def _reads_no_less(self, number: int, origin: int) -> bool:
        """Whether what it reads of streams now was not given by others before."""
        read = {
            formula.atom.signature for rule in self.new.program(number).rules for formula, _ in formulas(rule.body)
        } | self.new.heads(number)
        now = {edge.called for edge in self.new.plan.incoming[number]}
        lost = {edge.called for edge in self.old.plan.incoming[origin] if edge.called is not None} - now
        return read.isdisjoint(lost)

    def _as_before(self, edge: Edge) -> tuple[object, ...] | None:
        """An edge as the old plan has it; None where its source begins."""
        origin = self.origins.get(edge.source)
        return None if origin is None else _about(replace(edge, source=origin))


def _about(edge: Edge) -> tuple[object, ...]:
    """All of an edge but where it leads."""
    about = edge.source, edge.what, edge.key, edge.called, edge.stream
    return *about, edge.exchange, edge.delayed, edge.union, edge.lasting


def _rules(program: Program) -> dict[Predicate, list[str]]:
    """The texts of rules, by what they derive."""
    rules: dict[Predicate, list[str]] = {}
    for rule in program.rules:
        rules.setdefault(rule.head.signature, []).append(show(rule))
    return {head: sorted(texts) for head, texts in rules.items()}


def _streamed(spec: object) -> frozenset[object]:
    """How facts of streams reach a stage of rules; other operators are split as their unit says."""
    if not isinstance(spec, RuleStageSpec):
        return frozenset()
    return frozenset(
        (route.signature, route.called, route.key, spec.canon) for route in spec.stage.routes if route.stage is None
    )
