"""Predicates that say of streamed facts which they were: what is fed is kept once, and not once more as what follows.

    kind'(X,3) :- <Person>(X) in [9].    kind'(X,4) :- <Work>(X) in [9].        a fact <Person>(bob) of tick 5
    … :- kind'(X,K), kind'(X,L), …                                              is fed as the row kind'(bob,3) until 14

The rules go, and what they derived is streamed, with their window: the engine adds the constants when it is fed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from thalweg.ir.nodes import Constant, InWindow, Literal, Now, Rule, TimeWindow, Variable
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_number
from thalweg.planning.rule_plan import InputCopies, InputCopy, RulePlan


def fuse_input_copies(plan: RulePlan) -> RulePlan:
    """The plan for a program without the rules of `input_copies`, and the copies that facts are fed as instead.

    >>> from thalweg.ir.nodes import Atom, Hints, Program
    >>> from thalweg.ir.text import show
    >>> x = Variable("X")
    >>> made = Rule(Atom("kind'", (x, Constant("3"))), (InWindow(Atom("p", (x,)), TimeWindow(9)),))
    >>> rule = Rule(Atom("q", (x,)), (Now(made.head),))
    >>> program = Program((made, rule), hints=Hints(input_copies=frozenset({made.head.signature})))
    >>> plan = fuse_input_copies(RulePlan(program, program))
    >>> show(plan.program), dict(plan.copies.into)
    ("q(X) :- kind'(X,3) in [9].", {'p/1': ("kind'/2", ('3',))})
    """
    program, by_source = plan.program, dict[Predicate, InputCopy]()
    windows: dict[Predicate, int] = {}
    derived = program.derived
    for signature in sorted(program.hints.input_copies):
        rules = [rule for rule in program.rules if rule.head.signature == signature]
        copies = [copy for copy in map(_copied, rules) if copy is not None]
        sources = {source for source, _, _ in copies} - derived - by_source.keys()
        if len(sources) == len(rules) and len({size for _, _, size in copies}) == 1:
            windows[signature] = copies[0][2]
            by_source |= {source: (signature, constants) for source, constants, _ in copies}
    if not by_source:
        return plan
    left = (rule for rule in program.rules if rule.head.signature not in windows)
    fused = replace(
        program,
        rules=tuple(replace(rule, body=tuple(_seen(rule.body, windows))) for rule in left),
        background=(*program.background, *_gathered(program.background, by_source)),
    )
    return replace(plan, program=fused, copies=InputCopies(by_source))


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


def _gathered(background: Iterable[Fact], by_source: Mapping[Predicate, InputCopy]) -> Iterator[Fact]:
    for fact in background:
        if fact.signature in by_source:
            signature, constants = by_source[fact.signature]
            yield Fact(signature.name, (*fact.terms, *constants))
