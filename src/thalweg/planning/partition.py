"""A program in stages that can be spread over buckets.

    slow(R) :- speed(S,V) in [15], on(S,R).     stage 0, keyed by S: facts go to buckets by the hash of their sensor
    jam(R)  :- slow(R), not light(R).           stage 1, keyed by R: conclusions go on by the hash of their road

Within a stage every bucket runs the same program on its own part of the facts, and no rule needs to look into another
bucket. A predicate that different rules look up by different arguments has one *role* for each of them, and the stage's
program calls each role by a name of its own: a rule must not see what is in its bucket for another rule's sake, or its
negation would look complete where it is not.

    p'0, p'1     the facts of p, hashed by the first or the second argument
    p'all        all facts of p, in every bucket
    p'part       what a bucket derives of p where several buckets may derive the same
    p'0u, p'0t   the parts of p from an earlier stage with the number of their bucket; derived now, derived `at` a tick

What cannot be split by any key is evaluated in a stage that has one bucket.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Comparison,
    Formula,
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
from thalweg.planning.locality import Component, Fit, Keyed, Role, components, rests_on, uses


@dataclass(frozen=True, slots=True)
class Route:
    """How the facts of one signature reach a stage.

    The program of the stage calls them `name`. `key` is the argument whose hash chooses the bucket; without one every
    bucket gets them. `stage` derives them; without one they are streamed. Of those derived, `timed` ones come with
    their tick; those of which nothing can be taken back are `lasting`: they come with their ends, and no matter how
    many buckets derive one. Of others, in a `union` the number of the deriving bucket is one more last argument.
    """

    signature: str
    name: str
    key: int | None
    stage: int | None = None
    timed: bool = False
    union: bool = False
    lasting: bool = False

    @property
    def arity(self) -> int:
        """How many arguments its facts have in the world."""
        return _parts(self.signature)[1]


@dataclass(frozen=True, slots=True)
class Stage:
    """Rules that each bucket can evaluate alone; `keys` has the key of each of them.

    `outputs` pairs signatures of the stage's program with those that the world knows: what this stage tells the world.
    `supplies` has those that later stages need, and whether they are derived `at` a tick.
    """

    number: int
    program: Program
    rules: tuple[Rule, ...]
    keys: tuple[str | None, ...]
    split: bool
    routes: tuple[Route, ...]
    outputs: tuple[tuple[str, str], ...]
    supplies: tuple[tuple[str, str, bool], ...]
    counts_everything: bool = False
    why: str = ""

    @property
    def renamed(self) -> tuple[Rule, ...]:
        """The rules as the stage's program has them; before them stand those that merge."""
        return self.program.rules[len(self.program.rules) - len(self.rules) :]


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The stages of a program; each needs only what stands before it."""

    stages: tuple[Stage, ...]


def partition(program: Program) -> Partitioning:
    """Finds stages and keys for a program.

    >>> from thalweg.ir.text import show
    >>> x, y = Variable("X"), Variable("Y")
    >>> meet = Rule(Atom("a", (x,)), (Now(Atom("p", (x, y))), Not(Now(Atom("q", (y,))))))
    >>> stage, merging = partition(Program((meet,))).stages
    >>> stage.keys, show(stage.program)
    (('Y',), "a'part(X) :- p'1(X,Y), not q'0(Y).")
    >>> show(merging.program)
    "a'0(X0) :- a'0u(X0,_)."
    """
    return _Partitioner(program).partitioning()


@dataclass(slots=True)
class _Draft:
    """A stage in the making.

    `roles` are those of its rules, with whether they include what is derived: `from` asks for streamed facts only.
    `located` has what it derives, `merged` the roles that it only puts together, `told` what it tells the world.
    """

    number: int
    split: bool
    rules: list[Keyed] = field(default_factory=list)
    roles: dict[Role, bool] = field(default_factory=dict)
    located: dict[str, int | None] = field(default_factory=dict)
    merged: dict[Role, None] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    why: dict[str, None] = field(default_factory=dict)

    def add(self, fit: Fit) -> None:
        self.rules += fit.rules
        self.located |= fit.located
        for one in fit.rules:
            for use, role in one.roles():
                self.roles[role] = self.roles.get(role, False) or use.formula.stream is None

    def has_all(self, component: Component) -> bool:
        """Whether all that a component reads is in its one bucket."""
        needed = {use.signature for found in component.uses for use in found} - component.arities.keys()
        return not self.split and all(self.roles.get((name, None)) or name in self.located for name in needed)

    def scatters(self, signature: str) -> bool:
        """Whether several buckets may derive the same fact."""
        return self.split and self.located[signature] is None

    def head(self, signature: str) -> str:
        """What it calls the conclusions of its own rules."""
        predicate, _ = _parts(signature)
        return f"{predicate}'part" if self.scatters(signature) else _name((signature, self.located[signature]))


class _Partitioner:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.rules: dict[str, list[Rule]] = {}
        for rule in program.rules:
            self.rules.setdefault(rule.head.signature, []).append(rule)
        self.order = {id(rule): number for number, rule in enumerate(program.rules)}
        self.background: dict[str, list[Fact]] = {}
        for fact in program.background:
            self.background.setdefault(fact.signature, []).append(fact)
        self.static = frozenset(self.background) - program.derived
        self.lasting = _lasting(program)
        self.drafts: list[_Draft] = []
        self.home: dict[str, _Draft] = {}

    def partitioning(self) -> Partitioning:
        for component in components(self.program):
            self.place([rule for signature in component for rule in self.rules[signature]])
        for signature in self.rules:
            if self.program.told is None or signature in self.program.told:
                self.tell(signature)
        if not self.drafts:
            # Without rules there is still somebody who hears that the streams have ended.
            self.keep(_Draft(0, split=False))
        routes = [tuple(self.routes(draft)) for draft in self.drafts]
        wanted = list(dict.fromkeys((each.stage, each.signature, each.timed) for each in chain(*routes)))
        return Partitioning(tuple(self.stage(draft, routes[draft.number], wanted) for draft in self.drafts))

    # Placing rules --------------------------------------------------------------------------------------------------

    def place(self, rules: list[Rule]) -> None:
        """Puts a component into the first stage where it is local, or into one that is not split."""
        component = Component(rules, self.static)
        homes = [self.home[name] for rule in rules for name in rests_on(rule, self.home)]
        first = max((home.number for home in homes), default=0)
        new = _Draft(len(self.drafts), True)
        if component.fit(new.located) is None:
            self.settle(self.at_or_after(first, split=False), component.whole(), component.why())
        elif not self.fitted(component, [draft for draft in self.drafts[first:] if draft.split]):
            # One more stage costs more than it spreads where all that the rules read is together already.
            if homes and self.drafts[first].has_all(component):
                self.settle(self.drafts[first], component.whole(), "other rules read only what is in one bucket anyway")
            else:
                self.fitted(component, [new])

    def fitted(self, component: Component, drafts: Iterable[_Draft]) -> bool:
        for draft in drafts:
            fit = component.fit(draft.located, draft.roles)
            if fit is not None:
                self.settle(draft, fit)
                return True
        return False

    def at_or_after(self, first: int, split: bool) -> _Draft:
        """The first stage of one kind from there on, or a new one."""
        new = _Draft(len(self.drafts), split)
        return next((draft for draft in self.drafts[first:] if draft.split == split), new)

    def settle(self, draft: _Draft, fit: Fit, why: str = "") -> None:
        self.keep(draft)
        draft.add(fit)
        draft.why |= dict.fromkeys(filter(None, (why,)))
        self.home |= dict.fromkeys(fit.located, draft)

    def keep(self, draft: _Draft) -> None:
        if draft.number == len(self.drafts):
            self.drafts.append(draft)

    def tell(self, signature: str) -> None:
        """Decides which stage tells the world: one where each fact is in one bucket."""
        home = self.home[signature]
        if not home.scatters(signature):
            home.told[_signature(home.head(signature), signature)] = signature
            return
        draft, place = self.gathering(signature)
        if not (draft.split or draft.why):
            draft.why[f"`{signature}` has no argument to be keyed by"] = None
        self.keep(draft)
        draft.merged[signature, place] = None
        draft.told[_signature(_name((signature, place)), signature)] = signature

    def gathering(self, signature: str) -> tuple[_Draft, int | None]:
        """A stage that puts the parts of a predicate together anyway, or else one that might as well."""
        later = self.home[signature].number + 1
        for draft in self.drafts[later:]:
            for (name, place), derived in draft.roles.items():
                if name == signature and derived and (place is not None or not draft.split):
                    return draft, place
        _, arity = _parts(signature)
        return self.at_or_after(later, split=arity > 0), 0 if arity else None

    # Writing stages -------------------------------------------------------------------------------------------------

    def routes(self, draft: _Draft) -> Iterator[Route]:
        yield from (Route(role[0], _name(role), role[1]) for role in draft.roles)
        for role, derived in (draft.roles | dict.fromkeys(draft.merged, True)).items():
            home = self.home.get(role[0], draft)
            if derived and home is not draft:
                yield from self.derived_routes(role, home)

    def derived_routes(self, role: Role, home: _Draft) -> Iterator[Route]:
        signature, place = role
        lasting = signature in self.lasting
        union = home.scatters(signature) and not lasting
        for timed in sorted({rule.time is not None for rule in self.rules[signature]}):
            suffix = ("t" if timed else "u") if union else ""
            yield Route(signature, _name(role) + suffix, place, home.number, timed, union, lasting)

    def stage(self, draft: _Draft, routes: tuple[Route, ...], wanted: list[tuple[int | None, str, bool]]) -> Stage:
        keyed = sorted(draft.rules, key=lambda one: self.order[id(one.rule)])
        supplies = tuple(
            (_signature(draft.head(signature), signature), signature, timed)
            for stage, signature, timed in wanted
            if stage == draft.number
        )
        program = Program(
            rules=(*map(_merging, (route for route in routes if route.union)), *self.renamed(draft, keyed)),
            background=tuple(self.renamed_background(draft)),
            given=frozenset(_given(route) for route in routes if route.stage is not None),
            handed_on=frozenset((name, timed) for name, _, timed in supplies),
            lasting=frozenset(
                [
                    *(_given(route) for route in routes if route.lasting),
                    *((name, timed) for name, signature, timed in supplies if signature in self.lasting),
                ]
            ),
            told=frozenset(draft.told),
            streamed=frozenset(
                f"{route.name}/{route.arity}"
                for route in routes
                if route.stage is None and route.signature in self.program.streamed
            ),
        )
        return Stage(
            number=draft.number,
            program=program,
            rules=tuple(one.rule for one in keyed),
            keys=tuple(one.key for one in keyed),
            split=draft.split,
            routes=routes,
            outputs=tuple(draft.told.items()),
            supplies=supplies,
            counts_everything=any(_counts_everything(one.rule) for one in keyed),
            why="; ".join(draft.why),
        )

    def renamed(self, draft: _Draft, keyed: list[Keyed]) -> Iterator[Rule]:
        for one in keyed:
            called = iter([_name(role) for _, role in one.roles()])
            head = replace(one.rule.head, predicate=draft.head(one.rule.head.signature))
            yield replace(one.rule, head=head, body=tuple(_renamed(literal, called) for literal in one.rule.body))

    def renamed_background(self, draft: _Draft) -> Iterator[Fact]:
        """All facts under the name of each role; those that do not belong into a bucket are left out there."""
        for role in draft.roles:
            yield from (fact._replace(predicate=_name(role)) for fact in self.background.get(role[0], ()))


def _lasting(program: Program) -> frozenset[str]:
    """The predicates whose facts nothing can take back before their horizon, and are not prolonged tick by tick."""
    uncertain = {
        rule.head.signature
        for rule in program.rules
        if any(isinstance(literal, Not | Aggregate | Always) for literal in rule.body)
        or any(isinstance(use.window, TupleWindow) for use in uses(rule.body))
    }
    edges = [(rule.head.signature, use.signature) for rule in program.rules for use in uses(rule.body)]
    while more := {head for head, needed in edges if needed in uncertain} - uncertain:
        uncertain |= more
    return program.derived - uncertain


def _merging(route: Route) -> Rule:
    """The rule that forgets which bucket derived a fact."""
    row = tuple(Variable(f"X{number}") for number in range(route.arity))
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
            return replace(literal, body=tuple(_renamed(each, called) for each in inner))
        case formula:
            return _renamed_formula(formula, next(called))


def _renamed_formula(formula: Formula, name: str) -> Formula:
    atom = replace(formula.atom, predicate=name)
    match formula:
        case At(window=TupleWindow(of=str(of)) as window) | InWindow(window=TupleWindow(of=str(of)) as window):
            return replace(formula, atom=atom, window=_counting(window, of))
        case Always(window=TupleWindow(of=str(of)) as window):
            return replace(formula, atom=atom, window=_counting(window, of))
    return replace(formula, atom=atom)


def _counting(window: TupleWindow, of: str) -> TupleWindow:
    """Only a stage that is not split has tuple windows, so what it counts has one name."""
    return replace(window, of=_signature(_name((of, None)), of))


def _counts_everything(rule: Rule) -> bool:
    windows = (use.window for use in uses(rule.body))
    return any(isinstance(window, TupleWindow) and window.of is None for window in windows)


def _given(route: Route) -> tuple[str, bool]:
    return f"{route.name}/{route.arity + route.union}", route.timed


def _name(role: Role) -> str:
    """What the program of a stage calls a role. Nobody can type an apostrophe in a name."""
    predicate, _ = _parts(role[0])
    return f"{predicate}'{'all' if role[1] is None else role[1]}"


def _signature(name: str, of: str) -> str:
    """A name with the number of arguments of another signature."""
    return f"{name}/{_parts(of)[1]}"


def _parts(signature: str) -> tuple[str, int]:
    predicate, _, arity = signature.rpartition("/")
    return predicate, int(arity)
