"""Rules that only rename: their conclusions can be read off another predicate in the output.

    suggest(X,Y) :- teaches(Y,X).     no rule reads `suggest`: output `teaches`, with its columns swapped

Of a predicate that no rule reads, and whose rules are all of this kind, the engine holds nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Now, Program, Rule, Variable, is_anonymous
from thalweg.model.predicate import Predicate


@dataclass(frozen=True, slots=True)
class Copy:
    """The facts of another predicate, and which of its arguments comes first, second, …"""

    source: Predicate
    order: tuple[int, ...]


Copies = Mapping[Predicate, tuple[Copy, ...]]


def drop_renamings(program: Program) -> tuple[Program, Copies]:
    """A program without the predicates that only rename others, which it outputs instead; and what those are copies of.

    >>> from thalweg.ir.nodes import Atom, Interface, InWindow, TimeWindow
    >>> x, y = Variable("X"), Variable("Y")
    >>> teaches = Rule(Atom("teaches", (x, y)), (InWindow(Atom("gives", (x, y)), TimeWindow(2)),))
    >>> suggest = Rule(Atom("suggest", (x, y)), (Now(Atom("teaches", (y, x))),))
    >>> interface = Interface(outputs=frozenset({suggest.head.signature}))
    >>> program, copies = drop_renamings(Program((teaches, suggest), interface=interface))
    >>> program.rules == (teaches,), sorted(program.outputs), copies
    (True, ['teaches/2'], {'suggest/2': (Copy(source='teaches/2', order=(1, 0)),)})
    """
    read = {formula.atom.signature for rule in program.rules for formula, _ in formulas(rule.body)}
    fixed = read | program.interface.inputs | {fact.signature for fact in program.background}
    copies = {}
    for signature in sorted((program.outputs & program.derived) - fixed):
        candidates = [_copy(rule, program.derived) for rule in program.rules if rule.head.signature == signature]
        renamings = tuple(copy for copy in candidates if copy is not None)
        if len(renamings) == len(candidates):
            copies[signature] = renamings
    sources = {copy.source for renamings in copies.values() for copy in renamings}
    rules = tuple(rule for rule in program.rules if rule.head.signature not in copies)
    interface = replace(program.interface, outputs=(program.outputs - copies.keys()) | sources)
    return replace(program, rules=rules, interface=interface), copies


def _copy(rule: Rule, derived: frozenset[Predicate]) -> Copy | None:
    """What a rule copies, if it does nothing else."""
    match rule:
        case Rule(head, (Now(atom, None),), None) if atom.signature in derived:
            if set(head.args) == set(atom.args) and are_distinct(head.args) and are_distinct(atom.args):
                return Copy(atom.signature, tuple(atom.args.index(arg) for arg in head.args))
    return None


def are_distinct(args: tuple[object, ...]) -> bool:
    """Whether arguments are variables with names, each of which occurs once.

    >>> are_distinct((Variable("X"), Variable("Y"))), are_distinct((Variable("X"), Variable("X")))
    (True, False)
    """
    return len(set(args)) == len(args) and all(isinstance(arg, Variable) and not is_anonymous(arg.name) for arg in args)
