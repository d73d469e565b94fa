"""A program in stages that can be spread over buckets.

    slow(R) :- speed(S,V) in [15], on(S,R).     stage 0, keyed by S: facts go to buckets by the hash of their sensor
    jam(R)  :- slow(R), not light(R).           stage 1, keyed by R: conclusions go on by the hash of their road

Within a stage every bucket runs the same program on its own part of the facts, and no rule needs to look into another
bucket. A predicate that different rules look up by different arguments has one *role* for each of them, and the stage's
program calls each role by a name of its own: a rule must not see what is in its bucket for another rule's sake, or its
negation would look complete where it is not.

    p'0, p'1     the facts of p, hashed by the first or the second argument
    p'all        all facts of p, in every bucket
    p'part       what a bucket derives of p where several buckets may derive the same; and what it finds of it there
    p'0u, p'0t   the parts of p from an earlier stage with the number of their bucket; derived now, derived `at` a tick

What cannot be split by any key is evaluated in a stage that has one bucket; communities of such rules, which derive
nothing for each other, are stages side by side, each in a bucket of its own. Where that is so for some rules of a
predicate, their conclusions join those of its other rules in a later stage.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import overload

from thalweg.ir.dependency import by_level, least_levels
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Comparison,
    Equality,
    Formula,
    Hints,
    Interface,
    InWindow,
    Literal,
    Not,
    Now,
    Program,
    Rule,
    TupleWindow,
    Variable,
)
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned
from thalweg.planning.locality import IN_PARTS, Keyed, Role, counts_everything
from thalweg.planning.placing import Draft, name_of, place_rules
from thalweg.planning.revocable import lasting


@dataclass(frozen=True, slots=True)
class Route:
    """How the facts of one signature reach a stage.

    The program of the stage calls them `name`. `key` is the argument whose hash chooses the bucket; without one every
    bucket gets them. `stage` derives them; without one they are streamed. Of those derived, `timed` ones come with
    their tick; those of which nothing can be taken back are `lasting`: they come with their ends, and no matter how
    many buckets derive one. Of others, in a `union` the number of the deriving bucket is one more last argument.
    """

    signature: Predicate
    name: str
    key: int | None
    stage: int | None = None
    timed: bool = False
    union: bool = False
    lasting: bool = False

    @property
    def called(self) -> Predicate:
        """The predicate of its facts in the program of the stage."""
        return interned(self.name, self.signature.arity + self.union)


@dataclass(frozen=True, slots=True)
class Stage:
    """Rules that each bucket can evaluate alone; `keys` has the key of each of them.

    `outputs` pairs signatures of the stage's program with those of the whole program: what this stage outputs.
    `supplies` has those that later stages need, and whether they are derived `at` a tick; of those that it derives
    `in_parts`, other buckets may derive the same facts. Of others `located` has the argument whose hash chooses the
    bucket of each fact.
    """

    number: int
    program: Program
    rules: tuple[Rule, ...]
    keys: tuple[str | None, ...]
    split: bool
    routes: tuple[Route, ...]
    outputs: tuple[tuple[Predicate, Predicate], ...]
    supplies: tuple[tuple[Predicate, Predicate, bool], ...]
    in_parts: frozenset[Predicate]
    counts_everything: bool = False
    why: str = ""
    located: tuple[tuple[Predicate, int], ...] = ()

    @property
    def renamed(self) -> tuple[Rule, ...]:
        """The rules as the stage's program has them; before them stand those that merge."""
        return self.program.rules[len(self.program.rules) - len(self.rules) :]


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The stages of a program; each needs only what stands before it."""

    stages: tuple[Stage, ...]

    @property
    def levels(self) -> tuple[tuple[Stage, ...], ...]:
        """The stages that can be evaluated at the same time, each level after those that it needs."""
        needs = (
            (stage.number, route.stage, 1) for stage in self.stages for route in stage.routes if route.stage is not None
        )
        level = least_levels((stage.number for stage in self.stages), needs)
        assert level is not None, "a stage needs only what stands before it"
        return tuple(tuple(self.stages[number] for number in numbers) for numbers in by_level(level))


def partition(program: Program) -> Partitioning:
    """Finds stages and keys for a program.

    >>> from thalweg.ir.text import show
    >>> x, y = Variable("X"), Variable("Y")
    >>> meet = Rule(Atom("a", (x,)), (Now(Atom("p", (x, y))), Not(Now(Atom("q", (y,))))))
    >>> stage, merging = partition(Program((meet,))).stages
    >>> stage.keys, show(stage.program.rules[0])
    (('Y',), "a'part(X) :- p'1(X,Y), not q'0(Y).")
    >>> show(merging.program.rules[0])
    "a'0(X0) :- a'0u(X0,_)."
    """
    return _Writer(program).partitioning()


class _Writer:
    """Writes the stages of rules that have been placed."""

    def __init__(self, program: Program) -> None:
        self.stand_ins = tuple(_stand_ins(program.equality))
        self.program = program = replace(program, rules=(*program.rules, *self.stand_ins))
        self.placing = place_rules(program)
        self.order = {id(rule): number for number, rule in enumerate(program.rules)}
        self.background: dict[Predicate, list[Fact]] = {}
        for fact in program.background:
            self.background.setdefault(fact.signature, []).append(fact)
        self.lasting = lasting(program)
        self.inputs = program.interface.inputs

    def partitioning(self) -> Partitioning:
        drafts = self.placing.drafts
        routes = [tuple(self.routes(draft)) for draft in drafts]
        wanted = list(dict.fromkeys((route.stage, route.signature, route.timed) for route in chain(*routes)))
        return Partitioning(tuple(self.stage(draft, routes[draft.number], wanted) for draft in drafts))

    def routes(self, draft: Draft) -> Iterator[Route]:
        yield from (Route(role[0], name_of(role), 0 if role[1] == IN_PARTS else role[1]) for role in draft.roles)
        for role, derived in (draft.roles | dict.fromkeys(draft.merged, True)).items():
            home = self.placing.home.get(role[0], draft)
            if derived and home is not draft:
                yield from self.derived_routes(role, home, self.placing.rules[role[0]])
            elif derived and role[0] in self.placing.early:
                early = self.placing.early[role[0]]
                yield from self.derived_routes(role, early, [keyed.rule for keyed in early.rules])

    def derived_routes(self, role: Role, home: Draft, rules: Iterable[Rule]) -> Iterator[Route]:
        signature, place = role
        lasting = signature in self.lasting
        union = home.is_in_parts(signature) and not lasting
        for timed in sorted({rule.time is not None for rule in rules if rule.head.signature == signature}):
            suffix = ("t" if timed else "u") if union else ""
            yield Route(signature, name_of(role) + suffix, place, home.number, timed, union, lasting)

    def stage(self, draft: Draft, routes: tuple[Route, ...], wanted: list[tuple[int | None, Predicate, bool]]) -> Stage:
        rules = [
            keyed_rule
            for keyed_rule in draft.rules
            if not any(keyed_rule.rule is stand_in for stand_in in self.stand_ins)
        ]
        keyed = sorted(rules, key=lambda keyed_rule: self.order[id(keyed_rule.rule)])
        supplies = tuple(
            (signature.renamed(draft.head(signature)), signature, timed)
            for stage, signature, timed in wanted
            if stage == draft.number
        )
        program = Program(
            rules=(*map(_merging, (route for route in routes if route.union)), *self.renamed(draft, keyed)),
            background=tuple(self.renamed_background(draft)),
            interface=Interface(
                inputs=frozenset(
                    route.called for route in routes if route.stage is None and route.signature in self.inputs
                ),
                outputs=frozenset(draft.outputs),
                imports=frozenset(self.imports(routes)),
                exports=frozenset((name, timed) for name, _, timed in supplies),
            ),
            equality=self.equality(draft),
            recorded=frozenset(self.recorded(draft)),
            hints=self.hints(draft, routes, supplies),
        )
        return Stage(
            number=draft.number,
            program=program,
            rules=tuple(keyed_rule.rule for keyed_rule in keyed),
            keys=tuple(keyed_rule.key for keyed_rule in keyed),
            split=draft.split,
            routes=routes,
            outputs=tuple(draft.outputs.items()),
            supplies=supplies,
            in_parts=frozenset(filter(draft.is_in_parts, draft.located)),
            counts_everything=any(counts_everything(keyed_rule.rule) for keyed_rule in keyed),
            why="; ".join(draft.why),
            located=tuple(dict.fromkeys(_located(draft))) if draft.split else (),
        )

    def imports(self, routes: Iterable[Route]) -> Iterator[tuple[Predicate, bool]]:
        """What other stages derive, and what other parts of a plan hold, by the names of their roles."""
        for route in routes:
            if route.stage is not None:
                yield _given(route)
            else:
                keys = ((route.signature, timed) for timed in (False, True))
                yield from ((route.called, key[1]) for key in keys if key in self.program.interface.imports)

    def hints(
        self, draft: Draft, routes: Iterable[Route], supplies: Iterable[tuple[Predicate, Predicate, bool]]
    ) -> Hints:
        hints = self.program.hints
        irrevocable = [_given(route) for route in routes if route.lasting]
        irrevocable += [(name, timed) for name, signature, timed in supplies if signature in self.lasting]
        supplied = {signature for _, signature, _ in supplies}
        # What later stages read is derived here, and not only fed to the rules that read it.
        copies = (hints.input_copies & draft.located.keys()) - supplied
        return Hints(
            irrevocable=frozenset(irrevocable),
            static=frozenset(role[0].renamed(name_of(role)) for role in draft.roles if role[0] in hints.static),
            input_copies=frozenset(signature.renamed(draft.head(signature)) for signature in copies),
        )

    def recorded(self, draft: Draft) -> Iterator[Predicate]:
        """What a stage calls the recorded predicates that it derives or gets: each role of one remembers its facts."""
        names = self.program.recorded
        yield from (role[0].renamed(name_of(role)) for role in (*draft.roles, *draft.merged) if role[0] in names)
        yield from (signature.renamed(draft.head(signature)) for signature in draft.located if signature in names)

    def equality(self, draft: Draft) -> Equality | None:
        """The equality of a stage: with pairs where it finds representatives, else without; None if it needs none."""
        equality = self.program.equality
        if equality is None or not (
            (equality.representative, None) in draft.roles or equality.representative in draft.located
        ):
            return None
        here = equality.representative in draft.located
        return Equality(
            _alone(equality.same_pairs) if here else None,
            _alone(equality.same_keys) if here else None,
            _alone(equality.representative),
            equality.names,
        )

    def renamed(self, draft: Draft, keyed: list[Keyed]) -> Iterator[Rule]:
        for keyed_rule in keyed:
            called = iter([name_of(role) for _, role in keyed_rule.roles()])
            head = replace(keyed_rule.rule.head, predicate=draft.head(keyed_rule.rule.head.signature))
            yield replace(
                keyed_rule.rule, head=head, body=tuple(_renamed(literal, called) for literal in keyed_rule.rule.body)
            )

    def renamed_background(self, draft: Draft) -> Iterator[Fact]:
        """All facts under the name of each role; those that do not belong into a bucket are left out there."""
        for role in draft.roles:
            yield from (fact._replace(predicate=name_of(role)) for fact in self.background.get(role[0], ()))


@overload
def _alone(signature: Predicate) -> Predicate: ...
@overload
def _alone(signature: Predicate | None) -> Predicate | None: ...
def _alone(signature: Predicate | None) -> Predicate | None:
    """The name of a predicate in a stage that has all of it in one bucket."""
    return signature and signature.renamed(name_of((signature, None)))


def _stand_ins(equality: Equality | None) -> Iterator[Rule]:
    """Rules in the place of what finds representatives: it needs to see all edges at once."""
    if equality is not None and equality.same_pairs is not None:
        x, y, z, r = map(Variable, "XYZR")
        pair = Atom(equality.representative.name, (x, r))
        edges = equality.same_pairs.name
        yield Rule(pair, (Now(Atom(edges, (x, y))), Now(Atom(edges, (z, r)))))
        yield Rule(Atom(edges, (x, r)), (Now(pair),))
        if equality.same_keys is not None:
            alike = equality.same_keys.name
            yield Rule(pair, (Now(Atom(alike, (y, z, x))), Now(Atom(alike, (z, y, r)))))
            yield Rule(Atom(alike, (x, x, r)), (Now(pair),))


def _located(draft: Draft) -> Iterator[tuple[Predicate, int]]:
    """The predicates whose facts are in the bucket of one of their arguments, with that argument."""
    for signature, place in (*draft.located.items(), *draft.merged):
        if place is not None and (signature not in draft.located or not draft.is_in_parts(signature)):
            yield signature, place


def _merging(route: Route) -> Rule:
    """The rule that forgets which bucket derived a fact."""
    row = tuple(Variable(f"X{number}") for number in range(route.signature.arity))
    parts, time = Atom(route.name, (*row, Variable("_'bucket"))), Variable("U")
    head = Atom(route.name[:-1], row)
    return Rule(head, (At(parts, time),), time) if route.timed else Rule(head, (Now(parts),))


def _renamed(literal: Literal, called: Iterator[str]) -> Literal:
    """A literal whose atoms are called by the next names."""
    match literal:
        case Comparison():
            return literal
        case Not(formula):
            return replace(literal, formula=_renamed_formula(formula, next(called)))
        case Aggregate(body=inner):
            return replace(literal, body=tuple(_renamed(inner_literal, called) for inner_literal in inner))
        case formula:
            return _renamed_formula(formula, next(called))


def _renamed_formula(formula: Formula, name: str) -> Formula:
    atom = replace(formula.atom, predicate=name)
    match formula:
        case At(window=TupleWindow() as window) | InWindow(window=TupleWindow() as window):
            return replace(formula, atom=atom, window=_counting(window))
        case Always(window=TupleWindow() as window):
            return replace(formula, atom=atom, window=_counting(window))
    return replace(formula, atom=atom)


def _counting(window: TupleWindow) -> TupleWindow:
    """Only a stage that is not split has tuple windows, so what it counts has one name."""
    return window if window.of is None else replace(window, of=window.of.renamed(name_of((window.of, None))))


def _given(route: Route) -> tuple[Predicate, bool]:
    return route.called, route.timed
