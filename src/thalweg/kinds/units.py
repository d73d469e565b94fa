"""What goes on and what begins where a run goes on with a changed program.

A *unit* is a predicate that rules derive, or a part that is more than rules. It is unchanged if its rules and options
are, the streams, mappings and background that it reads, and every unit that it reads:

    slow(R) :- speed(R,V), V < 20.                        unchanged
    jam(R) :- slow(R) in [5].       → in [9].             changed: begins
    alarm(R) :- jam(R).                                   reads what changed: begins, too

A fingerprint stands for all of that, so programs are compared without having both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeGuard

from thalweg.dataflow.context import Context
from thalweg.dataflow.plan import Plan
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.dependency import strongly_connected
from thalweg.ir.fingerprint import fingerprint
from thalweg.ir.nodes import Program, TermAnnotations
from thalweg.ir.text import show
from thalweg.kinds.change_reasons import reasons
from thalweg.kinds.definitions import Definition, Definitions, Node
from thalweg.kinds.member import Member, StandsAlone
from thalweg.kinds.mixed import Mixed
from thalweg.kinds.part import Part
from thalweg.kinds.rules.rule_operator import RulesSpec, RuleStageSpec
from thalweg.kinds.rules.rule_part import Rules
from thalweg.model.predicate import Predicate
from thalweg.planning.locality import counts_everything
from thalweg.planning.wire_parts import Layer, Ports, dependencies

if TYPE_CHECKING:
    from thalweg.kinds.compose import PartMember

Mappings = Sequence[tuple[Predicate, str]]
"""The mappings of a run: the predicate of each, and its text."""

Sources = Sequence[tuple[str, frozenset[Predicate] | None]]
"""The streams of a run: a name, and the predicates that mappings make of what it brings; None where it may be any."""

ONLY_PART = "the program"
"""The unit of a part that cannot stand beside others."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as a saved run knows it: all that it depends on, and its first tick where it began later than the run.

    `own` leaves out what it reads of other units, and is kept of units that count the facts of all streams. `text` is
    all of its fingerprint that is not of the units that it `reads`.
    """

    fingerprint: str
    since: int | None = None
    own: str | None = None
    text: str = ""
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Units:
    """The units of a program by their names, a text for the streams that parts make, and what comes from outside."""

    by_name: Mapping[str, Unit]
    streams: str = ""
    mappings: Mappings = ()
    sources: Sources = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The units of each part that consists of several."""

    def save(self) -> dict[str, Any]:
        """They as what JSON can write."""
        by_name = self.by_name.items()
        return {
            "units": [[name, unit.fingerprint, unit.since, unit.own, unit.text, unit.reads] for name, unit in by_name],
            "streams": self.streams,
            "mappings": [[str(name), text] for name, text in self.mappings],
            "sources": [[name, None if brought is None else sorted(brought)] for name, brought in self.sources],
            "groups": {owner: list(names) for owner, names in self.groups.items()},
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> "Units":
        """What was saved."""
        return cls(
            {name: replace(Unit(*unit), reads=tuple(reads)) for name, *unit, reads in data["units"]},
            data["streams"],
            [(Predicate.read(name), text) for name, text in data["mappings"]],
            [(name, brought and frozenset(map(Predicate.read, brought))) for name, brought in data["sources"]],
            {owner: tuple(names) for owner, names in data["groups"].items()},
        )


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """The names of units that go on, that begin, and that are gone."""

    same: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Why units begin."""


@dataclass(frozen=True)
class AgedPlan:
    """A plan whose rules have an operator for each tick at which some of them began.

    `owners` has the unit of each operator, None for rules; `begins` the first ticks of operators that began later. The
    owner of definitions is their part: `groups` has the units of such parts, which one operator takes care of.
    """

    plan: Plan
    owners: tuple[str | None, ...]
    begins: Mapping[int, int] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def halves(part: Part) -> tuple[Program, tuple[Member, ...]]:
    """The rules of a part, and what else it has."""
    if isinstance(part, Mixed):
        return part.around.rules, part.members
    if isinstance(part, Rules):
        return part.rules, ()
    return Program(), (part,) if _is_member(part) else ()


def _is_member(part: Part) -> "TypeGuard[PartMember]":
    return Member in type(part).__mro__


# Units ----------------------------------------------------------------------------------------------------------------


def units_of(part: Part, context: Context, mappings: Mappings = (), sources: Sources = ()) -> Units:
    """The units of a part as they are at the beginning of a run.

    >>> from thalweg.dataflow.context import Settings
    >>> from thalweg.diagnostics import Source
    >>> from thalweg.languages.lars import read
    >>> from thalweg.model.time import Clock
    >>> context = Context(Settings(), Clock(), print)
    >>> texts = "a(X) :- p(X). b(X) :- a(X).", "a(X) :- p(X). b(X) :- a(X), q(X)."
    >>> old, new = (units_of(Rules(read(Source("r", text))), context) for text in texts)
    >>> changed(old, new)
    ProgramChange(same=('a/1',), begun=('b/1',), gone=())
    """
    program, members = halves(part)
    inputs = _Inputs(mappings, sources)
    if not members and not isinstance(part, Rules | Mixed):
        only = dict(_only_units(part, context, inputs))
        return Units(only, inputs.all(), mappings, sources, {ONLY_PART: tuple(only)})
    names = _names(members)
    ports = [member.ports for member in members]
    inner = _definitions(members, ports, program, context)
    of_members = (node for number in range(len(members)) for node in inner.nodes(number))
    nodes: list[Node] = [*sorted(program.derived), *of_members]
    read: dict[Node, set[Node]] = {node: set() for node in nodes}
    between = (pair for reader, needed in dependencies(program, ports) for pair in inner.between(reader, needed))
    for node, source in (*between, *inner.inside()):
        read[node].add(source)
    own: dict[Node, str] = dict(_rule_texts(program, read, inputs))
    own |= {
        number: _member_text(member, context, not isinstance(part, Mixed), inputs)
        for number, member in enumerate(members)
        if number not in inner.by_part
    }
    own |= {node: _definition_text(definition, inputs) for node, definition in inner}
    titles = {node: _title(node, names) for node in own}
    total = _with_reads(own, read, titles)
    counting = _counting(program)
    by_name = {
        titles[node]: Unit(
            text,
            own=counting.get(node),
            text=own[node],
            reads=tuple(sorted(titles[source] for source in read[node] if source in titles)),
        )
        for node, text in total.items()
    }
    made = sorted(
        f"{names[number]} {' '.join(sorted(total[node] for node in inner.nodes(number)))}"
        for number, port in enumerate(ports)
        if port.streams
    )
    groups = {names[number]: tuple(titles[node] for node in inner.nodes(number)) for number in inner.by_part}
    return Units(by_name, _digest(inputs.all(), *made), mappings, sources, groups)


def _only_units(part: Part, context: Context, inputs: "_Inputs") -> Iterator[tuple[str, Unit]]:
    """The units of a part that cannot stand beside others."""
    inner = _inner(part, context)
    for definition in inner:
        text = _definition_text(definition, inputs)
        yield definition.title, Unit(text, text=text)
    if not inner:
        text = _digest(part.identity(context)[1], inputs.all())
        yield ONLY_PART, Unit(text, text=text)


def _inner(part: object, context: Context) -> tuple[Definition, ...]:
    return part.definitions(context) if _stands_alone(part) else ()


def _stands_alone(part: object) -> TypeGuard[StandsAlone]:
    return StandsAlone in type(part).__mro__


def _definitions(members: Sequence[Member], ports: Sequence[Ports], program: Program, context: Context) -> Definitions:
    """The definitions of the members that consist of some."""
    inner = ((number, _inner(member, context)) for number, member in enumerate(members))
    return Definitions({number: own for number, own in inner if own}, ports, program)


def _definition_text(definition: Definition, inputs: "_Inputs") -> str:
    return _digest(definition.text, *([inputs.all()] if definition.hears else ()))


def _title(node: Node, names: Sequence[str]) -> str:
    if isinstance(node, tuple):
        return node[1]
    return names[node] if isinstance(node, int) else str(node)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What comes from outside: mappings and streams."""

    mappings: Mappings
    sources: Sources

    def of(self, name: Predicate) -> str:
        """The mappings and streams that may bring facts of a predicate."""
        mapped = sorted(text for predicate, text in self.mappings if predicate == name)
        return repr((mapped, [source for source, brought in self.sources if brought is None or name in brought]))

    def all(self) -> str:
        """All mappings and streams."""
        return repr((sorted(text for _, text in self.mappings), [source for source, _ in self.sources]))


def _counting(program: Program) -> dict[Node, str]:
    """The rules of predicates that count the facts of all streams."""
    counting = {rule.head.signature for rule in program.rules if counts_everything(rule)}
    return {
        name: _digest(*sorted(show(rule) for rule in program.rules if rule.head.signature == name)) for name in counting
    }


def _names(members: Sequence[Member]) -> list[str]:
    """What people call members; a number tells apart those of one name."""
    titles = [member.ports.title for member in members]
    return [
        title if titles.count(title) == 1 else f"{title} ({titles[:number].count(title) + 1})"
        for number, title in enumerate(titles)
    ]


def _digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()[:32]


def _rule_texts(program: Program, read: Mapping[Node, set[Node]], inputs: _Inputs) -> Iterator[tuple[Predicate, str]]:
    """All that the facts of a predicate depend on, apart from other units."""
    if is_one_unit(program):
        everything = fingerprint(replace(program, interface=replace(program.interface, outputs=None)))
        text = _digest(everything, inputs.all())
        yield from ((name, text) for name in program.derived)
        return
    rules: dict[Predicate, list[str]] = {}
    for rule in program.rules:
        rules.setdefault(rule.head.signature, []).append(show(rule))
    background: dict[Predicate, list[str]] = {}
    for fact in program.background:
        background.setdefault(fact.signature, []).append(str(fact))
    flags = program.recorded, program.interface.inputs, program.hints.static
    for head, texts in rules.items():
        touched = sorted({head, *(name for name in read[head] if isinstance(name, Predicate))})
        about = [
            repr((name, *(name in flag for flag in flags), sorted(background.get(name, ())), inputs.of(name)))
            for name in touched
        ]
        yield head, _digest(*sorted(texts), *about)


def is_one_unit(program: Program) -> bool:
    """Whether all rules depend on each other by more than what they read: as where any two things may be equal."""
    is_whole = program.equality is not None or program.hints.justification is not None
    is_made = program.annotations != TermAnnotations() or bool(program.hints.input_copies)
    return is_whole or is_made or any(name.name.startswith("'") for name in program.derived)


def _member_text(member: Member, context: Context, is_alone: bool, inputs: _Inputs) -> str:
    ports = member.ports
    # What hears streams reads all that they bring.
    read = [text for name, text in inputs.mappings if ports.streams or ports.reads(name)]
    sources = [
        source
        for source, brought in inputs.sources
        if ports.streams or brought is None or any(ports.reads(name) for name in brought)
    ]
    return _digest(member.fingerprint(context, is_alone), *sorted(read), *sources)


def _with_reads(own: Mapping[Node, str], read: Mapping[Node, set[Node]], titles: Mapping[Node, str]) -> dict[Node, str]:
    """Fingerprints that stand for what units read, too; units that read each other change together."""
    total: dict[Node, str] = {}
    after = {node: [needed for needed in needs if needed in own] for node, needs in read.items()}
    for component in strongly_connected(after):
        together = {*component}
        below = {total[needed] for node in component for needed in after[node] if needed not in together}
        # A part has another number where there are others.
        circle = _digest(*sorted(f"{titles[node]} {own[node]}" for node in component), *sorted(below))
        total |= {node: _digest(titles[node], circle) if len(component) > 1 else circle for node in component}
    return {node: total[node] for node in own}


# Changes --------------------------------------------------------------------------------------------------------------


def changed(old: Units, new: Units, first: int | None = None) -> ProgramChange:
    """What goes on of a program, what begins and what is gone; units that begin at tick `first` have not begun.

    `RejectedError` where a window counts the facts of all streams, and these are others now.
    """
    same = {
        name
        for name, unit in new.by_name.items()
        if (before := old.by_name.get(name)) is not None
        and before.fingerprint == unit.fingerprint
        and (before.since is None or before.since != first)
    }
    if old.streams != new.streams:
        for name, unit in new.by_name.items():
            if unit.own is not None and name in old.by_name and old.by_name[name].own == unit.own:
                raise RejectedError([_other_input(name)])
    order = sorted(new.by_name)
    begun = tuple(name for name in order if name not in same)
    return ProgramChange(
        tuple(name for name in order if name in same),
        begun,
        tuple(name for name in sorted(old.by_name) if name not in new.by_name),
        reasons(old, new, begun),
    )


def _other_input(name: str) -> Diagnostic:
    message = f"`{name}` counts the facts of all streams (`[n #]`), and the streams of the plan are others now"
    return Diagnostic("E408", message, help="name the predicate that it counts, or begin with a new folder")


def aged(old: Units, new: Units, change: ProgramChange, first: int) -> Units:
    """The units of a changed program: those that begin do so at tick `first`."""
    since = {name: old.by_name[name].since for name in change.same} | dict.fromkeys(change.begun, first)
    by_name = {name: replace(unit, since=since[name]) for name, unit in new.by_name.items()}
    return replace(new, by_name=by_name)


# Plans ----------------------------------------------------------------------------------------------------------------


def aged_plan(part: Part, context: Context, units: Units) -> AgedPlan:
    """The plan in this process of a part whose units began at different ticks."""
    program, members = halves(part)
    part, members = _aged_parts(part, members, units)
    since = {name: units.by_name[name].since for name in map(str, program.derived)}
    if len({*since.values()}) > 1:
        later = frozenset((name, tick) for name in program.derived if (tick := since[str(name)]) is not None)
        part = Mixed(part.around if isinstance(part, Mixed) else Rules(program), members, later)
        if context.settings.memory is not None:
            raise RejectedError([_no_budget()])
    plan = part.plan(context, None)
    owners = owners_of(part, plan)
    units_of_operators = (
        sorted(map(str, heads(plan, number))) if owner is None else units.groups.get(owner, (owner,))
        for number, owner in enumerate(owners)
    )
    ticks = {number: _since(units, names) for number, names in enumerate(units_of_operators) if names}
    begins = {number: tick for number, tick in ticks.items() if tick is not None}
    return AgedPlan(plan, owners, begins, units.groups)


def _since(units: Units, names: Sequence[str]) -> int | None:
    """The tick at which the first of some units began; None where that was with the run."""
    ticks = [units.by_name[name].since for name in names]
    return None if None in ticks else min(tick for tick in ticks if tick is not None)


def _aged_parts(part: Part, members: Sequence[Member], units: Units) -> tuple[Part, tuple[Member, ...]]:
    """A part and its members, which know the definitions that began later than the run."""
    since = {name: unit.since for name, unit in units.by_name.items() if unit.since is not None}
    if not since or not members:
        return part, tuple(members)
    aged_members = tuple(member.aged(since) for member in members)
    if isinstance(part, Mixed):
        return replace(part, members=aged_members), aged_members
    return part.aged(since) if _is_member(part) else part, aged_members


def _no_budget() -> Diagnostic:
    message = "with `--memory`, either all rules go on or all begin: a budget is for one engine"
    return Diagnostic("E408", message, help="begin with a new folder, or leave the rules as they were")


def owners_of(part: Part, plan: Plan) -> tuple[str | None, ...]:
    """The unit that each operator of a part's plan is of; None for rules."""
    return tuple(_owners(part, plan, halves(part)[1]))


def _owners(part: Part, plan: Plan, members: Sequence[Member]) -> Iterator[str | None]:
    names = _names(members)
    for number, spec in enumerate(plan.operators):
        if isinstance(part, Mixed):
            place = part.wiring.places[plan.parts[number]]
            yield None if isinstance(place, Layer) else names[place.part]
        else:
            is_of_rules = isinstance(spec, RulesSpec | RuleStageSpec)
            yield None if is_of_rules else names[0] if names else ONLY_PART


def heads(plan: Plan, number: int) -> frozenset[Predicate]:
    """The predicates that an operator of rules derives, without the copies that others read."""
    spec = plan.operators[number]
    names = spec.program.derived if isinstance(spec, RulesSpec) else ()
    return frozenset(name for name in names if not name.name.startswith("'now "))


def origins(old: AgedPlan, new: AgedPlan, change: ProgramChange) -> dict[int, int]:
    """The operators that go on, by their numbers in the new plan and in the old one.

    `RejectedError` where rules that are unchanged would be evaluated together in another way.
    """
    same = {*change.same}
    numbers: dict[int, int] = {}
    for number, owner in enumerate(new.owners):
        if owner is not None:
            goes_on = not same.isdisjoint(new.groups.get(owner, (owner,)))
            numbers |= {number: old.owners.index(owner)} if goes_on else {}
        elif same.issuperset(map(str, heads(new.plan, number))):
            numbers[number] = _earlier(old, new.plan, number)
    return numbers


def _earlier(old: AgedPlan, plan: Plan, number: int) -> int:
    own, imports = heads(plan, number), _imports(plan, number)
    for earlier, owner in enumerate(old.owners):
        if owner is None and own <= heads(old.plan, earlier) and imports <= _imports(old.plan, earlier):
            return earlier
    message = f"`{min(own)}` is unchanged, but it would be evaluated together with other parts than before"
    raise RejectedError([Diagnostic("E408", message, help="begin with a new folder")])


def _imports(plan: Plan, number: int) -> frozenset[tuple[Predicate, bool]]:
    spec = plan.operators[number]
    return spec.program.interface.imports if isinstance(spec, RulesSpec) else frozenset()


def shown_by(plan: Plan) -> frozenset[Predicate]:
    """The predicates that the rules of a plan output."""
    shown = (spec.program.outputs for spec in plan.operators if isinstance(spec, RulesSpec))
    return frozenset[Predicate]().union(*shown)


def is_same(change: ProgramChange, name: Predicate) -> bool:
    """Whether what is shown of a predicate goes on; what no rule derives by name goes on with all rules."""
    if str(name) in change.same or str(name) in change.begun:
        return str(name) in change.same
    return not change.begun and not change.gone
