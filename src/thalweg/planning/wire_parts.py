"""Rules and parts that are more than rules, wired by predicate: which is evaluated when, and what each reads of others.

    load(R) :- car(C,R) in [60].                    layer 0    what the first parts read
    {green(R)} :- load(R).                          part 0     an answer set program
    go(C) :- car(C,R), green(R).                    layer 1    what reads its answers, and what the next parts read
    SELECT … WINDOW :w ON STREAM :rules …           part 1     a query that hears what rules conclude

Each rule belongs to the lowest layer that has all it reads, so there is one engine between two parts at most. What a
part gives is either *held*, which to its readers is derived: it holds until the part says otherwise; or *streamed*: an
event, which windows see as they see those of any stream.

A loop must pass through `before`: what a part gave up to the last tick is known when a tick begins. Where a rule reads
`green(R) before [3]` of a part that rests on the rule, it is given what held a tick ago:

    last(R) :- green(R) before [3].                 last(R) :- 'before green(R) in [2].    which is recorded

Where a run goes on with a changed program, rules that began later have engines of their own, because windows that they
share with others must not know what came before: a layer has rules of one age.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from typing import Final

from thalweg.diagnostics import NOWHERE, Diagnostic, RejectedError
from thalweg.ir.dependency import formulas, least_levels, resting_on
from thalweg.ir.nodes import (
    Atom,
    Formula,
    InWindow,
    Now,
    Passed,
    PastWindow,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
)
from thalweg.ir.rewrite import mapped
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER, NEVER
from thalweg.planning.cliques import components

Touches = Callable[[Predicate], bool]
"""Whether a part reads, or gives, facts of a predicate."""

Needed = Predicate | int
"""What something needs: a predicate that rules derive, or a part by its number."""

Rank = tuple[int, int]
"""The place of a layer: its level, and the tick at which its rules began, `NEVER` where that was with the run."""

_PRESENT: Final = "'now "
BEFORE: Final = "'before "
"""Begins the name of what a predicate was at the tick before."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What a part that is more than rules reads and gives.

    `title` is what people call it, `name` is that of the stream as which others hear it. It `reads` facts of some
    predicates, and `hears` whole streams by their names; it `writes` facts of some predicates, as events where it
    `streams` them; rules may call that stream by its `aliases`, too. `mentions` are predicates for which these
    questions are worth asking. What `gives_rows` is for users only: its stream has no events.
    """

    title: str
    name: str
    reads: Touches = lambda predicate: False
    writes: Touches = lambda predicate: False
    hears: Callable[[str], bool] = lambda stream: False
    streams: bool = False
    aliases: frozenset[str] = frozenset()
    mentions: frozenset[Predicate] = frozenset()
    gives_rows: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A predicate that a place takes from an earlier one: the key of the export, and its name here.

    What is heard has the name of its `stream`: it comes as events, one for each tick at which something holds.
    """

    source: int
    key: tuple[Predicate, bool]
    name: Predicate
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """Rules that one engine evaluates; `events` are the earlier places whose events they read.

    What comes by `delayed` links is given a tick later, by later places. `rules` are those that were written, without
    the copies that others read.
    """

    program: Program
    links: tuple[Link, ...] = ()
    events: tuple[int, ...] = ()
    delayed: tuple[Link, ...] = ()
    rules: tuple[Rule, ...] = ()
    hears: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Station:
    """A part that is more than rules, by its number.

    `events` are the earlier places whose events it reads, `hears` those whose held facts it hears as events.
    """

    part: int
    links: tuple[Link, ...] = ()
    events: tuple[int, ...] = ()
    hears: tuple[int, ...] = ()
    delayed: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Wiring:
    """Places in the order in which they are evaluated at each tick; links name earlier places by their numbers."""

    places: tuple[Layer | Station, ...] = ()

    def sources(self, number: int) -> list[int]:
        """The places that another one takes something from."""
        place = self.places[number]
        return sorted({*(link.source for link in place.links), *place.events, *place.hears})

    @cached_property
    def loops(self) -> tuple[frozenset[int], ...]:
        """The places that each loop through the past passes; loops that have one in common are one loop."""
        ends = [(link.source, number) for number, place in enumerate(self.places) for link in place.delayed]
        return loops([self.sources(number) for number in range(len(self.places))], ends)


def loops(sources: Sequence[Iterable[int]], ends: Iterable[tuple[int, int]]) -> tuple[frozenset[int], ...]:
    """The nodes that stay together because of the past: pairs of a later one and one that reads it, and all between.

    `sources` has, for each node, the earlier ones that it reads.

    >>> [sorted(loop) for loop in loops([[], [0], [1], [0, 2], []], [(2, 1), (4, 4)])]
    [[1, 2], [4]]
    >>> [sorted(loop) for loop in loops([[], [0], [1], [2]], [(3, 1), (1, 0)])]
    [[0, 1, 2, 3]]
    """
    reached = [{number} for number in range(len(sources))]
    for number, own in enumerate(sources):
        reached[number].update(*(reached[source] for source in own))
    joined = list(ends)
    while True:
        groups = components(sorted({number for pair in joined for number in pair}), joined)
        between = [
            (number, min(group))
            for group in groups
            for last in group
            for number in reached[last] - group
            if not reached[number].isdisjoint(group)
        ]
        if not between:
            return tuple(groups)
        joined += between


def wire(program: Program, parts: Sequence[Ports], since: Mapping[Predicate, int] = {}) -> Wiring:
    """Splits rules into layers; `RejectedError` where a part would read what rests on what it gives.

    `since` has the predicates whose rules began later than the run, with the tick at which they did. No predicate reads
    one that began after it.

    >>> from thalweg.diagnostics import Source
    >>> from thalweg.languages.lars import read
    >>> rules = read(Source("r.lars", "load(R) :- car(C,R) in [60]. go(C) :- car(C,R), green(R)."))
    >>> lights = Ports("the answer set program", "lights", {"load/1"}.__contains__, {"green/1"}.__contains__)
    >>> lower, lights, upper = wire(rules, [lights]).places
    >>> sorted(upper.program.derived), [(link.source, link.name) for link in (*lights.links, *upper.links)]
    (['go/1'], [(0, 'load/1'), (1, 'green/1')])
    """
    return _Wires(_without_aliases(program, parts), parts, since).wiring()


def dependencies(program: Program, parts: Sequence[Ports]) -> Iterator[tuple[Needed, Needed]]:
    """What rules and parts read: pairs of a predicate or part, and one that it needs at some tick.

    >>> from thalweg.diagnostics import Source
    >>> from thalweg.languages.lars import read
    >>> rules = read(Source("r.lars", "load(R) :- car(C,R) in [60]."))
    >>> lights = Ports("the answer set program", "lights", {"load/1"}.__contains__, {"green/1"}.__contains__)
    >>> list(dependencies(rules, [lights]))
    [('load/1', 'car/2'), (0, 'load/1')]
    """
    return ((node, needed) for node, needed, _ in _Wires(_without_aliases(program, parts), parts)._needs())


def _without_aliases(program: Program, parts: Sequence[Ports]) -> Program:
    """Rules that call the streams of parts by their names."""
    names = {alias: part.name for part in parts if part.streams for alias in part.aliases}
    if not names:
        return program
    renamed = lambda formula: replace(formula, stream=names.get(formula.stream, formula.stream))  # noqa: E731
    return replace(program, rules=tuple(replace(rule, body=mapped(rule.body, renamed)) for rule in program.rules))


def resting_on_part(program: Program, parts: Sequence[Ports], number: int) -> frozenset[Needed]:
    """A part, and the predicates and parts that rest on what it gives."""
    return resting_on([number], list(_Wires(program, parts)._needs()))


@dataclass
class _Wires:
    program: Program
    parts: Sequence[Ports]
    since: Mapping[Predicate, int] = field(default_factory=dict)
    _levels: dict[Needed, int] = field(default_factory=dict)
    _place_of: dict[Needed, int] = field(default_factory=dict)
    _past: bool = False
    """Whether what a rule reads `before` now may be given by later places."""

    def wiring(self) -> Wiring:
        nodes: list[Needed] = [*sorted(self.program.derived), *range(len(self.parts))]
        levels = least_levels(nodes, self._needs())
        if levels is None:
            self._past = True
            needs = list(self._needs())
            levels = least_levels(nodes, needs)
            if levels is None:
                raise RejectedError(list(self._loops(needs)))
        self._levels = levels
        order: list[tuple[Rank, int | None]] = []
        for level in sorted({*levels.values()}):
            heads = [name for name in self.program.derived if levels[name] == level]
            for rank in sorted({*map(self._rank, heads)}):
                self._place_of |= {name: len(order) for name in heads if self._rank(name) == rank}
                order.append((rank, None))
            for part in range(len(self.parts)):
                if levels[part] == level:
                    self._place_of[part] = len(order)
                    order.append(((level, FOREVER), part))
        links = {number: tuple(self._links(rank, part)) for number, (rank, part) in enumerate(order)}
        delayed = {number: tuple(self._delayed(rank)) for number, (rank, part) in enumerate(order) if part is None}
        exported = [link for group in (*links.values(), *delayed.values()) for link in group]
        places = (
            self._layer(number, rank, links[number], delayed[number], exported)
            if part is None
            else Station(part, links[number], *self._of_parts(part))
            for number, (rank, part) in enumerate(order)
        )
        return Wiring(tuple(places))

    def _rank(self, name: Predicate) -> Rank:
        return self._levels[name], self.since.get(name, NEVER)

    # What needs what ------------------------------------------------------------------------------------------------

    def _needs(self) -> Iterator[tuple[Needed, Needed, int]]:
        return chain(self._needs_of_rules(), self._needs_of_parts())

    def _needs_of_rules(self) -> Iterator[tuple[Needed, Needed, int]]:
        for rule in self.program.rules:
            head = rule.head.signature
            for name in self._present_in(rule):
                yield head, name, 0
            for number, part in enumerate(self.parts):
                if self._rests_on(rule, part):
                    yield head, number, 1

    def _present_in(self, rule: Rule) -> set[Predicate]:
        return {formula.atom.signature for formula, _ in formulas(rule.body) if not self._is_past(formula)}

    def _is_past(self, formula: Formula) -> bool:
        """Whether a formula reads nothing but what was recorded at earlier ticks, and that counts."""
        is_before = isinstance(formula, InWindow) and isinstance(formula.window, PastWindow) and not formula.stream
        return self._past and is_before and formula.atom.signature in self.program.recorded

    def _needs_of_parts(self) -> Iterator[tuple[Needed, Needed, int]]:
        for number, part in enumerate(self.parts):
            for name in self.program.derived:
                if self._takes(part, name):
                    yield number, name, 0
            for other, source in enumerate(self.parts):
                if part.hears(source.name) or _passed(source, part):
                    yield number, other, 1

    def _takes(self, part: Ports, name: Predicate) -> bool:
        """Whether a part reads what rules derive of a predicate, or hears it."""
        return part.reads(name) or any(map(part.hears, self._streams_of(name)))

    def _rests_on(self, rule: Rule, part: Ports) -> bool:
        """Whether a rule reads what a part gives; all rules for what it holds belong together, above it."""
        if _holds(part, rule.head.signature):
            return True
        return any(_sees(formula, part) for formula, _ in formulas(rule.body) if not self._is_past(formula))

    def _streams_of(self, name: Predicate) -> set[str]:
        """The streams as which queries hear a predicate: the stems of the files that have rules for it."""
        return self._files.get(name, set())

    @cached_property
    def _files(self) -> dict[Predicate, set[str]]:
        files: dict[Predicate, set[str]] = {}
        for rule in self.program.rules:
            is_public = rule.head.predicate[0] != "'" and rule.head.signature.file is None
            if rule.span.source.name and is_public:
                files.setdefault(rule.head.signature, set()).add(PurePath(rule.span.source.name).stem)
        return files

    # What is passed on ----------------------------------------------------------------------------------------------

    def _links(self, rank: Rank, part: int | None) -> Iterator[Link]:
        return self._links_of_rules(rank) if part is None else self._links_of_part(self.parts[part])

    def _links_of_rules(self, rank: Rank) -> Iterator[Link]:
        own, past = self._rules_at(rank), self._later(rank)
        wanted = {name for rule in own for name in read_by(rule)} | {rule.head.signature for rule in own}
        for name in sorted(wanted - past):
            yield from (link for at, link in self._sources(name) if at < rank)

    def _delayed(self, rank: Rank) -> Iterator[Link]:
        """The links for predicates whose past is read before they are evaluated."""
        for name in sorted(self._later(rank)):
            for _, link in self._sources(name):
                key = (_present(name), False) if self._place_of.get(name) == link.source else link.key
                yield replace(link, key=key, name=_before(name))

    def _later(self, rank: Rank) -> set[Predicate]:
        """The predicates that rules of a layer read the past of, and that later places give."""
        read = (
            formula for rule in self._rules_at(rank) for formula, _ in formulas(rule.body) if self._is_past(formula)
        )
        return {formula.atom.signature for formula in read if self._is_later(formula.atom.signature, rank[0])}

    def _is_later(self, name: Predicate, level: int) -> bool:
        by_parts = (self._levels[number] for number, part in enumerate(self.parts) if _holds(part, name))
        return self._levels.get(name, -1) > level or any(at >= level for at in by_parts)

    def _rules_at(self, rank: Rank) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.program.rules if self._rank(rule.head.signature) == rank)

    def _sources(self, name: Predicate) -> Iterator[tuple[Rank, Link]]:
        """The places that give facts of a predicate, as held ones."""
        if name in self._levels:
            timed = {rule.time is not None for rule in self.program.rules if rule.head.signature == name}
            for is_timed in sorted(timed):
                yield self._rank(name), Link(self._place_of[name], (name, is_timed), name)
        for number, part in enumerate(self.parts):
            if _holds(part, name):
                yield (self._levels[number], FOREVER), Link(self._place_of[number], (name, False), name)

    def _links_of_part(self, part: Ports) -> Iterator[Link]:
        for name in sorted(self.program.derived):
            key = _present(name), False
            if part.reads(name):
                yield Link(self._place_of[name], key, name)
            for stream in sorted(filter(part.hears, self._streams_of(name))):
                yield Link(self._place_of[name], key, name, stream)
        for number, source in enumerate(self.parts):
            for name in _passed(source, part) if not source.streams else ():
                yield Link(self._place_of[number], (name, False), name)

    def _of_parts(self, part: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The places of parts whose events a part reads, and of those whose held facts it hears."""
        own, places = self.parts[part], self._place_of
        numbered = list(enumerate(self.parts))
        read = (
            number for number, other in numbered if other.streams and (own.hears(other.name) or _passed(other, own))
        )
        heard = (number for number, other in numbered if not other.streams and own.hears(other.name))
        return tuple(places[number] for number in read), tuple(places[number] for number in heard)

    def _layer(
        self, number: int, rank: Rank, links: tuple[Link, ...], delayed: tuple[Link, ...], exported: Sequence[Link]
    ) -> Layer:
        rules, later = self._rules_at(rank), self._later(rank)
        own = frozenset(rule.head.signature for rule in rules)
        own_links = [link for link in exported if link.source == number]
        copied = {link.key[0] for link in own_links if link.key[0].name.startswith(_PRESENT)}
        imports: Passed = frozenset((link.name, link.key[1]) for link in (*links, *delayed))
        available = own | {name for name, _ in imports}
        interface = replace(
            self.program.interface,
            outputs=self.program.outputs & own,
            imports=imports,
            exports=frozenset(link.key for link in own_links),
            inputs=self.program.interface.inputs | {name for name in available if self._is_streamed(name)},
        )
        program = replace(
            self.program,
            rules=(*(_looking_back(rule, later) for rule in rules), *map(_copy, sorted(copied))),
            interface=interface,
            recorded=self.program.recorded | set(map(_before, later)),
        )
        streaming = (index for index, part in enumerate(self.parts) if part.streams)
        read = (index for index in streaming if any(self._rests_on(rule, self.parts[index]) for rule in rules))
        return Layer(program, links, tuple(self._place_of[index] for index in read), delayed, rules)

    def _is_streamed(self, name: Predicate) -> bool:
        return any(part.streams and part.writes(name) for part in self.parts)

    # Loops ----------------------------------------------------------------------------------------------------------

    def _loops(self, needs: Sequence[tuple[Needed, Needed, int]]) -> Iterator[Diagnostic]:
        for number, part in enumerate(self.parts):
            above = resting_on([number], needs)
            rules = [rule for rule in self.program.rules if rule.head.signature in above]
            closing = [rule for rule in rules if self._rests_on(rule, part) or not above.isdisjoint(read_by(rule))]
            for name in sorted({rule.head.signature for rule in rules}):
                if self._takes(part, name):
                    yield _loop(part, closing or rules, name)
            for other, source in enumerate(self.parts):
                if other in above and (number, other, 1) in needs:
                    message = f"{part.title} reads what {source.title} gives, which depends on its own results"
                    yield Diagnostic("E513", message, help=_break_it(part))


def _holds(part: Ports, name: Predicate) -> bool:
    return not part.streams and part.writes(name)


def _passed(source: Ports, part: Ports) -> list[Predicate]:
    """The predicates that one part gives and another one reads."""
    return sorted(name for name in source.mentions | part.mentions if source.writes(name) and part.reads(name))


def _sees(formula: Formula, part: Ports) -> bool:
    """Whether a formula looks at facts that a part gives; a window that counts all facts looks at every event."""
    if part.streams:
        if formula.stream not in (None, part.name):
            return False
        window = formula.window if isinstance(formula, InWindow) else getattr(formula, "window", None)
        if isinstance(window, TupleWindow) and window.of is None:
            return True
    return part.writes(formula.atom.signature)


def read_by(rule: Rule) -> set[Predicate]:
    """The predicates in the body of a rule."""
    return {formula.atom.signature for formula, _ in formulas(rule.body)}


def _present(predicate: Predicate) -> Predicate:
    return predicate.renamed(f"{_PRESENT}{predicate.name}")


def written(predicate: Predicate) -> Predicate:
    """What a program calls a predicate that others read as it is now, or as it was at the tick before.

    >>> written(Predicate("'before green", 1)), written(Predicate("green", 1))
    ('green/1', 'green/1')
    """
    return predicate.renamed(predicate.name.removeprefix(_PRESENT).removeprefix(BEFORE))


def _before(predicate: Predicate) -> Predicate:
    return predicate.renamed(f"{BEFORE}{predicate.name}")


def _copy(present: Predicate) -> Rule:
    """A rule for what holds of a predicate now, however it came about."""
    args = tuple(Variable(f"X{number}") for number in range(present.arity))
    return Rule(Atom(present.name, args), (Now(Atom(present.name.removeprefix(_PRESENT), args)),))


def _looking_back(rule: Rule, later: Collection[Predicate]) -> Rule:
    """A rule that reads what held a tick ago, where it reads the past of predicates that come later."""

    def changed(formula: Formula) -> Formula:
        name = formula.atom.signature
        if name not in later or not isinstance(formula, InWindow):
            return formula
        atom = replace(formula.atom, predicate=_before(name).name)
        return replace(formula, atom=atom, window=TimeWindow(formula.window.size - 1))

    return replace(rule, body=mapped(rule.body, changed)) if later else rule


def _loop(part: Ports, rules: Iterable[Rule], name: Predicate) -> Diagnostic:
    span = next((rule.span for rule in rules if rule.head.signature == name), NOWHERE)
    message = f"{part.title} reads `{name}`, which depends on its own answers"
    return Diagnostic("E513", message, span, help=_break_it(part))


def _break_it(part: Ports) -> str:
    return f"break the loop: let {part.title} read what rules derive without it, or of earlier ticks (`before`)"
