"""Where work is spread over several stages, the one that outputs a clash must know the facts behind it.

    inconsistent("Disjoint…",X,X) :- both'0(X).               gets beside it, for each class and property on streams,
    reason'(X) :- inconsistent(_,X,_), <Faculty>(X) in [3].

so that facts about an individual come to the bucket that outputs its clashes, and are kept there as long as they
count. Nothing is derived of it until there is a clash.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from thalweg.ir.nodes import Atom, Formula, InWindow, Now, Program, Rule, Variable
from thalweg.planning.partition import partition

REASON: Final = "reason'"
_X, _ANY, _OTHER = Variable("X"), Variable("_'1"), Variable("_'2")


def route_justifications(program: Program) -> Program:
    """The program, with rules that keep the facts behind its clashes where these are output.

    >>> from thalweg.ir.nodes import Hints, Interface
    >>> from thalweg.ir.text import show
    >>> broken = Atom("inconsistent", (_X, _X, _X))
    >>> seen = Rule(Atom("both'0", (_X,)), (Now(Atom("<A>", (_X,))),))
    >>> outputs, hints = frozenset({broken.signature}), Hints(earliest_stages=frozenset({(seen.head.signature, 0)}))
    >>> found = Program((seen,), interface=Interface(outputs=outputs), hints=replace(hints, justification=Program()))
    >>> print(show(route_justifications(found).rules[-1]))
    reason'(X) :- inconsistent(_,X,_), <A>(X).
    """
    if program.hints.justification is None or not program.rules:
        return program
    if not program.hints.earliest_stages and len(partition(program).stages) == 1:
        return program
    (output,) = program.outputs
    clash = Now(Atom(output.name, (_ANY, _X, _OTHER)))
    kept = [Rule(Atom(REASON, (_X,)), (clash, formula)) for formula in dict.fromkeys(_about(program))]
    return replace(program, rules=(*program.rules, *kept))


def _about(program: Program) -> Iterator[Formula]:
    """The formulas over streams, with X at each of their arguments in turn."""
    for rule in program.rules:
        for formula in rule.body:
            if isinstance(formula, Now | InWindow) and formula.atom.signature not in program.derived:
                for place in range(len(formula.atom.args)):
                    args = tuple(_X if n == place else Variable(f"_'{n + 3}") for n in range(len(formula.atom.args)))
                    if formula.atom.predicate[0] == "<":
                        yield replace(formula, atom=Atom(formula.atom.predicate, args))
