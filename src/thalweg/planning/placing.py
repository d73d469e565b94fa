"""In which stage each rule is evaluated.

Rules go to stages component by component, each after what it rests on: into the first split stage where a key makes
them local, and where there is none, into one that is not split. Two kinds of rules are split without that. Recursion
through facts that streams bring may follow each fact within its bucket; and of a predicate with a few rules that no key
can split, all others can be: the conclusions of the few join theirs in a later stage. What no key splits at all is at
least divided into communities: rules that have nothing to do with each other are stages side by side.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from thalweg.ir.nodes import Program, Rule
from thalweg.model.predicate import Predicate
from thalweg.planning.cliques import components
from thalweg.planning.locality import IN_PARTS, Component, Fit, Keyed, Role, counts_everything, in_order, rests_on

_TOGETHER: Final = "other rules read only facts of one bucket anyway"
_EQUAL: Final = "finding equal things needs all facts that imply equality"
_FOLLOWING: Final = "rules without a key follow each fact within its bucket"


@dataclass(slots=True)
class Draft:
    """A stage under construction.

    `roles` are those of its rules, with whether they include what is derived: `from` asks for streamed facts only.
    `located` has what it derives, `apart` those of which other rules are in a later stage, `merged` the roles that it
    puts together, `outputs` what it outputs.
    """

    number: int
    split: bool
    rules: list[Keyed] = field(default_factory=list)
    roles: dict[Role, bool] = field(default_factory=dict)
    located: dict[Predicate, int | None] = field(default_factory=dict)
    apart: set[Predicate] = field(default_factory=set)
    merged: dict[Role, None] = field(default_factory=dict)
    outputs: dict[Predicate, Predicate] = field(default_factory=dict)
    why: dict[str, None] = field(default_factory=dict)

    def add(self, fit: Fit) -> None:
        self.rules += fit.rules
        self.located |= fit.located
        for keyed in fit.rules:
            for use, role in keyed.roles():
                self.roles[role] = self.roles.get(role, False) or use.formula.stream is None

    def has_all(self, component: Component, streamed: frozenset[Predicate]) -> bool:
        """Whether all that a component reads is in its one bucket."""
        needed = component.reads(streamed)
        return not self.split and all(self.roles.get((name, None)) or name in self.located for name in needed)

    def is_in_parts(self, signature: Predicate) -> bool:
        """Whether other buckets, of this stage or another, may derive the same facts."""
        return signature in self.apart or (self.split and self.located[signature] is None)

    def head(self, signature: Predicate) -> str:
        """The name of the conclusions of its own rules for a predicate."""
        return name_of((signature, IN_PARTS if self.is_in_parts(signature) else self.located[signature]))


class Placing:
    """The stages of a program under construction; `together` names what must not be spread in parts.

    `home` has the stage of each predicate: where its rules are, or where the conclusions of all its rules meet. `early`
    has the stages of rules whose conclusions come to its home from before. `carried` is what follows facts, in parts.
    """

    def __init__(self, program: Program, together: frozenset[Predicate]) -> None:
        self.program = program
        self.together = together
        self.drafts: list[Draft] = []
        self.home: dict[Predicate, Draft] = {}
        self.early: dict[Predicate, Draft] = {}
        self.earliest = dict(program.hints.earliest_stages)
        self.outputs = program.outputs
        self.inputs = program.interface.inputs
        self.carried: set[Predicate] = set()
        self.reasons: dict[Predicate, str] = {}
        self.rules: dict[Predicate, list[Rule]] = {}
        for rule in program.rules:
            self.rules.setdefault(rule.head.signature, []).append(rule)
        self.static = frozenset(fact.signature for fact in program.background) - program.derived
        # Clashes are output where the facts about their individual are, which is their second argument.
        justified = program.hints.justification is not None
        self.wanted = {name: frozenset({1}) for name in self.outputs if justified and name.arity > 1}
        for component in in_order(program):
            self.place([rule for signature in component for rule in self.rules[signature]])
        for signature in self.rules:
            if signature in self.outputs:
                self.choose_output(signature)
        self.send_representatives()
        if program.equality is None and not self.earliest:
            self.divide()
        if not self.drafts:
            # Without rules there is still one stage, which sees that the streams have ended.
            self.keep(Draft(0, split=False))

    def place(self, rules: list[Rule]) -> None:
        """Puts a component into the first stage where it is local, or into one that is not split."""
        component = Component(rules, self.static, self.wanted)
        first = self.after(rules)
        gathered = first >= 0 and self.drafts[first].has_all(component, self.inputs)
        if component.fit({}) is None:
            if not (self.carry(component, first) or self.set_apart(component)):
                self.settle(self.at_or_after(first, split=False), component.whole(), self.why(component))
        elif gathered and not self.is_output(component):
            self.settle(self.drafts[first], component.whole(), _TOGETHER)
        elif not self.settled(self.split(first), component.fit):
            # One more stage costs more than it spreads where all that the rules read is together already.
            if gathered:
                self.settle(self.drafts[first], component.whole(), _TOGETHER)
            else:
                self.settled([self.new()], component.fit)

    def is_output(self, component: Component) -> bool:
        """Whether any of its conclusions is output."""
        return not self.outputs.isdisjoint(component.arities)

    def why(self, component: Component) -> str:
        """Why a component is in one bucket."""
        equality = self.program.equality
        return _EQUAL if equality and equality.representative in component.arities else component.why()

    def after(self, rules: Iterable[Rule]) -> int:
        """The last stage that rules rest on, or the earliest one for them; -1 where there is none."""
        earliest = max((self.earliest.get(rule.head.signature, -1) for rule in rules), default=-1)
        while len(self.drafts) <= earliest:
            self.keep(self.new())
        resting = (self.home[name].number for rule in rules for name in rests_on(rule, self.home))
        return max(earliest, max(resting, default=-1))

    def new(self, split: bool = True) -> Draft:
        return Draft(len(self.drafts), split)

    def split(self, first: int) -> list[Draft]:
        """The split stages from there on."""
        return [draft for draft in self.drafts[max(first, 0) :] if draft.split]

    def settled(self, drafts: Iterable[Draft], fitting: Callable[..., Fit | None]) -> Draft | None:
        """The first stage in which a component fits, with the component in it."""
        for draft in drafts:
            fit = fitting(draft.located, draft.roles)
            if fit is not None:
                self.settle(draft, fit)
                return draft
        return None

    def carry(self, component: Component, first: int) -> bool:
        """Splits recursion without a key, where streams bring the facts themselves: there are many of those."""
        streamed = component.arities.keys() & self.inputs
        if not (component.recursive and streamed and self.is_output(component)):
            return False
        if not self.together.isdisjoint(component.arities):
            return False
        draft = self.settled([*self.split(first), self.new()], component.carried)
        if draft is None:
            return False
        draft.why[_FOLLOWING] = None
        self.carried |= component.arities.keys()
        return True

    def set_apart(self, component: Component) -> bool:
        """Evaluates the rules that no key can split in one bucket, and the others of their predicate in many."""
        alone = component.without_keys()
        splittable = [rule for rule in component.rules if not any(rule is excluded for excluded in alone)]
        if component.recursive or not alone or not splittable:
            return False
        apart, remaining = (Component(rules, self.static, self.wanted) for rules in (alone, splittable))
        streamed = self.inputs
        if remaining.located({}) is None:
            return False
        early = self.at_or_after(self.after(alone), split=False)
        if early.has_all(remaining, streamed) or remaining.reads(streamed) <= apart.reads(streamed):
            return False
        self.settle(early, apart.whole(), apart.why())
        early.apart |= component.arities.keys()
        later = max(self.after(splittable), early.number + 1)
        home = self.settled([*self.split(later), self.new()], remaining.located)
        assert home is not None
        for signature in component.arities:
            self.early[signature] = early
            home.merged[signature, home.located[signature]] = None
        return True

    def gathered(self) -> frozenset[Predicate]:
        """The predicates that are in parts and must be put together in one bucket."""
        read = (name for draft in self.drafts if not draft.split for name, _ in draft.roles)
        return frozenset(name for name in read if name in self.carried)

    def at_or_after(self, first: int, split: bool) -> Draft:
        """The first stage of one kind from there on, or a new one."""
        return next((draft for draft in self.drafts[max(first, 0) :] if draft.split == split), self.new(split))

    def settle(self, draft: Draft, fit: Fit, why: str = "") -> None:
        self.keep(draft)
        draft.add(fit)
        draft.why |= dict.fromkeys(filter(None, (why,)))
        self.reasons |= dict.fromkeys(fit.located, why)
        self.home |= dict.fromkeys(fit.located, draft)

    def keep(self, draft: Draft) -> None:
        if draft.number == len(self.drafts):
            self.drafts.append(draft)

    def choose_output(self, signature: Predicate) -> None:
        """Decides which stage outputs a predicate: one where each fact is in one bucket."""
        home = self.home[signature]
        if not home.is_in_parts(signature):
            home.outputs[signature.renamed(home.head(signature))] = signature
            return
        draft, place = self.gathering(signature)
        if not draft.split and not draft.why:
            draft.why[f"`{signature}` has no argument to be keyed by"] = None
        self.keep(draft)
        draft.merged[signature, place] = None
        draft.outputs[signature.renamed(name_of((signature, place)))] = signature

    def divide(self) -> None:
        """Gives communities that share one bucket a stage each."""
        self.drafts = [part for draft in self.drafts for part in self.communities(draft)]
        for number, draft in enumerate(self.drafts):
            draft.number = number

    def communities(self, draft: Draft) -> list[Draft]:
        """A stage in parts that derive nothing for each other; each gets what it reads."""
        if draft.split or draft.merged or draft.apart:
            return [draft]
        reads = [(keyed.rule.head.signature, role[0]) for keyed in draft.rules for _, role in keyed.roles()]
        # What is in this bucket only because of what it reads stays with the other readers of that, too.
        shared = {name for head, name in reads if self.reasons[head] == _TOGETHER}
        links = [(head, name) for head, name in reads if name in draft.located or name in shared]
        # Nor is the whole input sent twice.
        links += pairwise(keyed.rule.head.signature for keyed in draft.rules if counts_everything(keyed.rule))
        groups = components([*draft.located, *shared], links)
        return [self.community(draft, group) for group in groups] if len(groups) > 1 else [draft]

    def community(self, draft: Draft, names: frozenset[Predicate]) -> Draft:
        part = Draft(draft.number, split=False)
        rules = tuple(keyed for keyed in draft.rules if keyed.rule.head.signature in names)
        located = {name: place for name, place in draft.located.items() if name in names}
        part.add(Fit(rules, located))
        part.outputs = {inner: outer for inner, outer in draft.outputs.items() if outer in names}
        part.why = dict.fromkeys(filter(None, (self.reasons[name] for name in located)))
        self.home |= dict.fromkeys(located, part)
        return part

    def send_representatives(self) -> None:
        """A stage that outputs facts must know which things have representatives."""
        equality = self.program.equality
        home = self.home.get(equality.representative) if equality else None
        for draft in self.drafts:
            if equality and home and draft.outputs and draft.number > home.number:
                draft.roles[equality.representative, None] = True

    def gathering(self, signature: Predicate) -> tuple[Draft, int | None]:
        """A stage that puts the parts of a predicate together anyway, or else one that might as well."""
        later = self.home[signature].number + 1
        for draft in self.drafts[later:]:
            for (name, place), derived in draft.roles.items():
                if name == signature and derived and (place is not None or not draft.split):
                    return draft, place
        return self.at_or_after(later, split=signature.arity > 0), 0 if signature.arity else None


def place_rules(program: Program) -> Placing:
    """The stage of each rule.

    >>> from thalweg.ir.nodes import Atom, Interface, Now, Variable
    >>> x, y = Variable("X"), Variable("Y")
    >>> knows = Rule(Atom("knows", (y, x)), (Now(Atom("knows", (x, y))),))
    >>> known = frozenset({knows.head.signature})
    >>> everyone = Program((knows,), interface=Interface(inputs=known, outputs=known))
    >>> [[draft.split for draft in place_rules(each).drafts] for each in (Program((knows,)), everyone)]
    [[False], [True, True]]
    """
    together: frozenset[Predicate] = frozenset()
    while True:
        placing = Placing(program, together)
        # To spread what one bucket gets all of in the end would only cost stages. What is named once is never carried
        # again, so this ends.
        gathered = placing.gathered()
        if not gathered:
            return placing
        together |= gathered


def name_of(role: Role) -> str:
    """The name of a role in the program of a stage, with an apostrophe, which users cannot type in a name.

    >>> p = Predicate("p", 2)
    >>> name_of((p, 0)), name_of((p, None)), name_of((p, IN_PARTS))
    ("p'0", "p'all", "p'part")
    """
    signature, place = role
    return f"{signature.name}'{'all' if place is None else 'part' if place == IN_PARTS else place}"
