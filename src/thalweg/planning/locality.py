"""By which variables a rule can be split over buckets, and where its conclusions are found then.

    jam(R) :- slow(R), not light(R), on(S,R).     keyed by R: whatever meets in it has the same R

Facts go to buckets by the hash of one argument. A rule is *local* under a key variable when each bucket can evaluate it
alone: the variable stands in every atom, and facts are hashed by the argument where it stands. Two kinds of atoms need
no key because every bucket may have all of their facts: those of a predicate of the background, and those without a
variable. So does what recursion takes from outside, where it cannot be split otherwise. One positive atom must have the
key, or else the rule would fire in every bucket.

A predicate is *located* at an argument when the key of each of its rules stands there in the head: its facts are then
where a consumer with that key looks for them, and each of them in one bucket only.

    knows(Y,X) :- knows(X,Y).                     wherever a fact is: no key, and no need for one

Recursion that has no such key may still go on within a bucket: where each rule takes one fact from the bucket and finds
all else in every bucket, it does not matter which bucket that is. Its conclusions stay there, *in parts*.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from thalweg.ir.dependency import strongly_connected
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    Comparison,
    Formula,
    KeyedWindow,
    Literal,
    Not,
    Now,
    Program,
    Rule,
    TupleWindow,
    Variable,
    Window,
    names,
    variables,
)
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate
from thalweg.model.triples import TRIPLES

_TRIED = 16
"""How many ways to locate a component are compared; a few are as good as all."""

Places = tuple[int | None, ...]
"""For each atom of a body the argument that it is hashed by; None where every bucket has all of its facts."""

IN_PARTS: Final = -2
"""In place of an argument: what is found in a bucket, whatever brought it there."""

Role = tuple[Predicate, int | None]
"""A signature hashed by one of its arguments, or sent to every bucket, or in parts."""

Domains = dict[Predicate, frozenset[int]]
"""The arguments that predicates may be located at."""


@dataclass(frozen=True, slots=True)
class AtomUse:
    """An atom in a body. An aggregate's result is hidden inside it: there, the name stands for something else."""

    formula: Formula
    positive: bool
    hidden: frozenset[str] = frozenset()

    @property
    def signature(self) -> Predicate:
        return self.formula.atom.signature

    @property
    def window(self) -> Window | None:
        return None if isinstance(self.formula, Now) else self.formula.window

    def places(self, key: str) -> tuple[int, ...]:
        """The arguments where a variable stands; in a window by key it must be a key, whose facts are all together."""
        args = () if key in self.hidden else self.formula.atom.args
        standing = (place for place, arg in enumerate(args) if isinstance(arg, Variable) and arg.name == key)
        by = self.window.by if isinstance(self.window, KeyedWindow) else range(len(args))
        return tuple(place for place in standing if place in by)


@dataclass(frozen=True, slots=True)
class KeyOption:
    """A variable that a rule can be keyed by, and for each use the arguments where it stands."""

    key: str
    places: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Keyed:
    """A rule with its key, and how the facts for each of its uses come to the bucket.

    Without a key it is evaluated in one bucket, or in each on the facts that are there.
    """

    rule: Rule
    key: str | None
    places: Places

    def roles(self) -> Iterator[tuple[AtomUse, Role]]:
        """The uses of the rule, each with the role that answers it."""
        for use, place in zip(uses(self.rule.body), self.places, strict=True):
            yield use, (use.signature, place)


@dataclass(frozen=True, slots=True)
class Fit:
    """Rules that are local together, and the argument that each of their heads is located at."""

    rules: tuple[Keyed, ...]
    located: Mapping[Predicate, int | None]


def uses(body: Iterable[Literal], positive: bool = True, hidden: frozenset[str] = frozenset()) -> Iterator[AtomUse]:
    """Every atom of a body, in the order in which they are written."""
    for literal in body:
        match literal:
            case Comparison():
                pass
            case Not(formula):
                yield AtomUse(formula, False, hidden)
            case Aggregate(result=result, body=inner):
                yield from uses(inner, False, hidden | {result.name})
            case _:
                yield AtomUse(literal, positive, hidden)


def rests_on(rule: Rule, derived: Iterable[Predicate]) -> list[Predicate]:
    """The derived signatures that a rule reads; with `from` only what is streamed is read."""
    return [use.signature for use in uses(rule.body) if use.formula.stream is None and use.signature in derived]


def options(rule: Rule, static: frozenset[Predicate], copied: bool = False) -> list[KeyOption]:
    """The variables that a rule can be keyed by, those of the head first; `static` names what only the background has.

    Where facts may be `copied`, every bucket gets all of those that lack the key, whatever their predicate is.

    >>> from thalweg.ir.nodes import Atom
    >>> x, y = Variable("X"), Variable("Y")
    >>> rule = Rule(Atom("a", (y,)), (Now(Atom("p", (x, y))), Not(Now(Atom("q", (y,))))))
    >>> options(rule, static=frozenset())
    [KeyOption(key='Y', places=((1,), (0,)))]
    """
    rule_uses = list(uses(rule.body))
    if any(isinstance(use.window, TupleWindow) for use in rule_uses):
        return []
    keys = dict.fromkeys(variable.name for variable in variables(rule.head, *_positive(rule_uses)))
    return [option for key in keys if (option := _option(key, rule_uses, static, copied)) is not None]


def _positive(rule_uses: Iterable[AtomUse]) -> Iterator[Formula]:
    return (use.formula for use in rule_uses if use.positive)


def _option(key: str, rule_uses: Sequence[AtomUse], static: frozenset[Predicate], copied: bool) -> KeyOption | None:
    places = tuple(use.places(key) for use in rule_uses)
    if not any(use.positive and where for use, where in zip(rule_uses, places, strict=True)):
        return None
    everywhere = (copied or use.signature in static or not names(*use.formula.atom.args) for use in rule_uses)
    return KeyOption(key, places) if all(a or b for a, b in zip(places, everywhere, strict=True)) else None


def counts_everything(rule: Rule) -> bool:
    """Whether a rule has a tuple window over the whole input."""
    windows = (use.window for use in uses(rule.body))
    return any(isinstance(window, TupleWindow) and window.of is None for window in windows)


def in_order(program: Program) -> list[list[Predicate]]:
    """The derived signatures, those that rest on each other together, and each after what it rests on.

    >>> from thalweg.ir.nodes import Atom
    >>> a, b, c = (Now(Atom(name)) for name in "abc")
    >>> in_order(Program((Rule(c.atom, (b,)), Rule(b.atom, (a,)), Rule(a.atom, (b,)))))
    [['a/0', 'b/0'], ['c/0']]
    """
    needs: dict[Predicate, dict[Predicate, None]] = {rule.head.signature: {} for rule in program.rules}
    for rule in program.rules:
        needs[rule.head.signature] |= dict.fromkeys(rests_on(rule, needs))
    return [sorted(component) for component in strongly_connected(needs)]


# Rules together -----------------------------------------------------------------------------------------------------


class Component:
    """The rules of predicates that rest on each other, looking for keys under which all of them are local.

    What `wanted` names is located at one of the arguments there.
    """

    def __init__(self, rules: Sequence[Rule], static: frozenset[Predicate], wanted: Domains | None = None) -> None:
        self.rules = rules
        self.wanted = wanted or {}
        self.uses = [list(uses(rule.body)) for rule in rules]
        self.arities = {rule.head.signature: len(rule.head.args) for rule in rules}
        self.recursive = any(rests_on(rule, self.arities) for rule in rules)
        self.options = [options(rule, static) for rule in rules]
        if self.recursive and self.fit({}) is None:
            # A closure is larger than what it is made from: copying that is a fair price for splitting it.
            self.options = [options(rule, static, copied=True) for rule in rules]

    def fit(self, placed: Mapping[Predicate, int | None], roles: Container[Role] = ()) -> Fit | None:
        """Keys for the rules in a stage that derives some predicates already, each at its argument, and has some roles.

        What rests on itself must be located; for other predicates it is the better choice.
        """
        fit = self.located(placed, roles)
        return self._scattered(self._fixed(placed), roles) if fit is None and not self.recursive else fit

    def located(self, placed: Mapping[Predicate, int | None], roles: Container[Role] = ()) -> Fit | None:
        """The same with an argument for each head."""
        free = {name: self.wanted.get(name, frozenset(range(arity))) for name, arity in self.arities.items()}
        fits = [self._located(domains) for domains in islice(self._locations(self._fixed(placed) | free), _TRIED)]
        return min(fits, key=lambda fit: _cost(fit.rules, roles), default=None)

    def _fixed(self, placed: Mapping[Predicate, int | None]) -> Domains:
        places = {
            name: placed[name] for rule_uses in self.uses for use in rule_uses if (name := use.signature) in placed
        }
        return {name: frozenset(() if place is None else (place,)) for name, place in places.items()}

    def carried(self, placed: Mapping[Predicate, int | None], roles: Container[Role] = ()) -> Fit | None:
        """The rules in a stage where each follows the facts that it reads, all heads in parts."""
        near = {**placed, **dict.fromkeys(self.arities)}
        candidates = [self._following(number, near, roles) for number in range(len(self.rules))]
        keyed = tuple(candidate for candidate in candidates if candidate is not None)
        fits = len(keyed) == len(candidates) and all(self.arities.values())
        return Fit(keyed, dict.fromkeys(self.arities)) if fits else None

    def _following(self, number: int, near: Mapping[Predicate, int | None], roles: Container[Role]) -> Keyed | None:
        """A rule that takes one fact of its stage from the bucket; one that takes none may have any key."""
        rule, rule_uses = self.rules[number], self.uses[number]
        here = [use for use in rule_uses if use.formula.stream is None and use.signature in near]
        if not here:
            keyed = [Keyed(rule, option.key, places) for option, places in self._local(number, {})]
            return min(keyed, key=lambda candidate: _cost((candidate,), roles), default=None)
        # At some tick one fact suffices; those of every tick may be in different buckets.
        if len(here) > 1 or not here[0].positive or isinstance(here[0].formula, Always) or not self.options[number]:
            return None
        place = near[here[0].signature]
        taken = IN_PARTS if place is None else place
        return Keyed(rule, None, tuple(taken if use is here[0] else None for use in rule_uses))

    def without_keys(self) -> list[Rule]:
        """The rules that no key can split."""
        return [rule for rule, options in zip(self.rules, self.options, strict=True) if not options]

    def reads(self, streamed: frozenset[Predicate]) -> set[Predicate]:
        """The signatures that come to it from elsewhere; of its own those that are `streamed`."""
        return {use.signature for rule_uses in self.uses for use in rule_uses} - (self.arities.keys() - streamed)

    def whole(self) -> Fit:
        """All rules in one bucket."""
        pairs = zip(self.rules, self.uses, strict=True)
        return Fit(
            tuple(Keyed(rule, None, (None,) * len(rule_uses)) for rule, rule_uses in pairs), dict.fromkeys(self.arities)
        )

    def why(self) -> str:
        """The reason why no key can split the rules, in words."""
        for rule, rule_uses, options in zip(self.rules, self.uses, self.options, strict=True):
            counting = next((use for use in rule_uses if isinstance(use.window, TupleWindow)), None)
            if counting is not None:
                return f"`{show(counting.formula)}` counts facts, whatever their arguments are"
            if not any(use.positive and names(*use.formula.atom.args) for use in rule_uses):
                return f"`{show(rule)}` has no variable in a positive atom to be keyed by"
            if not options:
                return f"`{show(rule)}` has no variable that occurs in all of its atoms"
        if TRIPLES in self.arities:
            return "rules over triples join them by subject, by predicate and by object, and depend on each other"
        heads = " and ".join(f"`{signature}`" for signature in self.arities)
        verb = "depends on itself" if len(self.arities) == 1 else "depend on each other"
        return f"{heads} {verb}, but no key is passed on from rule to rule"

    def _locations(self, domains: Domains) -> Iterator[Domains]:
        """Every way to locate the heads such that all rules are local."""
        narrowed = self._narrow(domains)
        if narrowed is None:
            return
        undecided = next((name for name in self.arities if len(narrowed[name]) > 1), None)
        if undecided is None:
            yield narrowed
            return
        for place in sorted(narrowed[undecided]):
            yield from self._locations(narrowed | {undecided: frozenset((place,))})

    def _narrow(self, domains: Domains) -> Domains | None:
        """Without the places that some rule has no key for; None where a head has no place left."""
        while True:
            narrowed = dict(domains)
            for number, rule in enumerate(self.rules):
                keys = [option for option, _ in self._local(number, narrowed)]
                narrowed[rule.head.signature] &= frozenset().union(*(_standing(rule, option.key) for option in keys))
                for use, *places in zip(self.uses[number], *(option.places for option in keys), strict=True):
                    if use.formula.stream is None and use.signature in self.arities:
                        narrowed[use.signature] &= frozenset().union(*places)
            if not all(narrowed[name] for name in self.arities):
                return None
            if narrowed == domains:
                return domains
            domains = narrowed

    def _local(self, number: int, places: Domains) -> Iterator[tuple[KeyOption, Places]]:
        """The keys of a rule that agree with where predicates of the same stage may be, those of its head included."""
        rule = self.rules[number]
        for option in self.options[number]:
            chosen = [_place(*pair, places) for pair in zip(self.uses[number], option.places, strict=True)]
            head = places.get(rule.head.signature)
            if -1 not in chosen and (head is None or head & _standing(rule, option.key)):
                yield option, tuple(chosen)

    def _located(self, domains: Domains) -> Fit:
        chosen = [next(self._local(number, domains)) for number in range(len(self.rules))]
        keyed = (Keyed(rule, option.key, places) for rule, (option, places) in zip(self.rules, chosen, strict=True))
        return Fit(tuple(keyed), {name: min(domains[name]) for name in self.arities})

    def _scattered(self, fixed: Domains, roles: Container[Role]) -> Fit | None:
        """Each rule with a key of its own."""
        chosen: list[Keyed] = []
        for number, rule in enumerate(self.rules):
            keyed = [(Keyed(rule, option.key, places),) for option, places in self._local(number, fixed)]
            if not keyed:
                return None
            chosen += min(keyed, key=lambda candidate: _cost(candidate, roles))
        return Fit(tuple(chosen), dict.fromkeys(self.arities))


def _standing(rule: Rule, key: str) -> frozenset[int]:
    """The arguments of the head where a variable stands alone."""
    return frozenset(place for place, arg in enumerate(rule.head.args) if isinstance(arg, Variable) and arg.name == key)


def _place(use: AtomUse, standing: tuple[int, ...], places: Domains) -> int | None:
    """The argument that a use is hashed by, None for all of its facts, -1 where what it reads is somewhere else."""
    if use.formula.stream is None and use.signature in places:
        return next((place for place in standing if place in places[use.signature]), -1)
    return standing[0] if standing else None


def _cost(rules: Iterable[Keyed], roles: Container[Role]) -> tuple[int, int]:
    """How many more predicates must be sent to every bucket, and how many to some."""
    new = {role for keyed in rules for _, role in keyed.roles() if role not in roles}
    return sum(place is None for _, place in new), len(new)
