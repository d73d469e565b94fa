"""Predicates that say of streamed facts which they were: what is fed is kept once, and not once more as what follows.

    kind'(X,3) :- <Person>(X) in [9].    kind'(X,4) :- <Work>(X) in [9].        a fact <Person>(bob) of tick 5
    … :- kind'(X,K), kind'(X,L), …                                              is fed as the row kind'(bob,3) until 14

The rules go, and what they derived is streamed, with their window: whoever feeds an engine adds the constants.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from thalweg.ir.nodes import Constant, InWindow, Literal, Now, Program, Rule, TimeWindow, Variable
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_number

Made = tuple[Predicate, tuple[str, ...]]
"""What facts are fed as, and the constants behind their argument."""


@dataclass(frozen=True)
class Gathering:
    """For each signature that is fed as another one: that one, and the constants behind its argument."""

    into: Mapping[Predicate, Made] = field(default_factory=dict)

    @cached_property
    def back(self) -> dict[Made, Predicate]:
        return {made: source for source, made in self.into.items()}

    def sources(self, signature: Predicate) -> list[Predicate]:
        """The signatures that are fed as one."""
        return [source for source, (into, _) in self.into.items() if into == signature]

    def origin(self, signature: Predicate, args: tuple[str, ...]) -> Fact:
        """The fact that came as another one.

        >>> work, kind = Predicate("<Work>", 1), Predicate("kind'", 2)
        >>> str(Gathering({work: (kind, ("4",))}).origin(kind, ("bob", "4")))
        '<Work>(bob)'
        """
        source = self.back.get((signature, args[1:]))
        return Fact(signature.name, args) if source is None else Fact(source.name, args[:1])


def gather(program: Program) -> tuple[Program, Gathering]:
    """The program without the rules of what is `gathered`, and what becomes of facts instead.

    >>> from thalweg.ir.nodes import Atom
    >>> from thalweg.ir.text import show
    >>> x = Variable("X")
    >>> made = Rule(Atom("kind'", (x, Constant("3"))), (InWindow(Atom("p", (x,)), TimeWindow(9)),))
    >>> rule = Rule(Atom("q", (x,)), (Now(made.head),))
    >>> rest, found = gather(Program((made, rule), gathered=frozenset({made.head.signature})))
    >>> show(rest), dict(found.into)
    ("q(X) :- kind'(X,3) in [9].", {'p/1': ("kind'/2", ('3',))})
    """
    found: dict[Predicate, Made] = {}
    windows: dict[Predicate, int] = {}
    derived = program.derived
    for signature in sorted(program.gathered):
        rules = [rule for rule in program.rules if rule.head.signature == signature]
        copies = [copy for copy in map(_copied, rules) if copy is not None]
        sources = {source for source, _, _ in copies} - derived - found.keys()
        if len(sources) == len(rules) and len({size for _, _, size in copies}) == 1:
            windows[signature] = copies[0][2]
            found |= {source: (signature, constants) for source, constants, _ in copies}
    if not found:
        return program, Gathering()
    left = (rule for rule in program.rules if rule.head.signature not in windows)
    rest = replace(
        program,
        rules=tuple(replace(rule, body=tuple(_seen(rule.body, windows))) for rule in left),
        background=(*program.background, *_gathered(program.background, found)),
    )
    return rest, Gathering(found)


def _copied(rule: Rule) -> tuple[Predicate, tuple[str, ...], int] | None:
    """The signature that a rule copies, the numbers that it adds, and its window; None where it does anything else."""
    match rule:
        case Rule(head, (InWindow(atom, TimeWindow(size, None), None),), None):
            pass
        case Rule(head, (Now(atom, None),), None):
            size = 0
        case _:
            return None
    added = [arg.term for arg in head.args[1:] if isinstance(arg, Constant) and is_number(arg.term)]
    is_copy = len(atom.args) == 1 and isinstance(atom.args[0], Variable) and head.args[:1] == atom.args
    return (atom.signature, tuple(added), size) if is_copy and len(added) == len(head.args) - 1 else None


def _seen(body: Iterable[Literal], windows: Mapping[Predicate, int]) -> Iterator[Literal]:
    for literal in body:
        if isinstance(literal, Now) and literal.atom.signature in windows:
            yield InWindow(literal.atom, TimeWindow(windows[literal.atom.signature]))
        else:
            yield literal


def _gathered(background: Iterable[Fact], found: Mapping[Predicate, Made]) -> Iterator[Fact]:
    for fact in background:
        if fact.signature in found:
            signature, constants = found[fact.signature]
            yield Fact(signature.name, (*fact.args, *constants))
