"""Rules around an answer set program: those below it, which it may read, and those above, which read its answers.

    load(R) :- car(C,R) in [60].                    below    what the answer set part reads
    {green(R)} :- load(R).                          the answer set part
    go(C) :- car(C,R), green(R).                    above    what reads its answers

To its readers an answer is derived: it holds from the tick at which its window closes until the next one closes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from thalweg.diagnostics import NOWHERE, Diagnostic, Rejected
from thalweg.ir.dependency import formulas, resting_on
from thalweg.ir.nodes import Atom, Now, Program, Rule, Variable
from thalweg.model.predicate import Predicate

Touches = Callable[[Predicate], bool]
"""Whether the answer set part reads, or outputs, facts of a predicate."""

_PRESENT: Final = "'now "


@dataclass(frozen=True, slots=True)
class Wiring:
    """Two rule programs and the predicates that connect them with the answer set part between them.

    `below` has a predicate of its own for each one that the answer set part reads: what holds of it now.
    """

    below: Program
    above: Program
    reads: tuple[tuple[Predicate, Predicate], ...]
    """Pairs of a predicate of `below` that holds what is read, and the predicate that it stands for."""


def wire(program: Program, reads: Touches, writes: Touches) -> Wiring:
    """Splits rules; `Rejected` where the answer set part would read what rests on its own answers.

    >>> from thalweg.diagnostics import Source
    >>> from thalweg.languages.lars import read
    >>> rules = read(Source("r.lars", "load(R) :- car(C,R) in [60]. go(C) :- car(C,R), green(R)."))
    >>> wiring = wire(rules, {"load/1"}.__contains__, {"green/1"}.__contains__)
    >>> sorted(wiring.above.derived), wiring.reads
    (['go/1'], (("'now load/1", 'load/1'),))
    """
    above = _above(program, writes)
    lower = tuple(rule for rule in program.rules if rule.head.signature not in above)
    upper = tuple(rule for rule in program.rules if rule.head.signature in above)
    circular = sorted({rule.head.signature for rule in upper if reads(rule.head.signature)})
    if circular:
        heads = {rule.head.signature for rule in upper}
        closing = [rule for rule in upper if any(name in heads or writes(name) for name in _read_by(rule))]
        raise Rejected([_loop(closing or upper, name) for name in circular])
    derived = {rule.head.signature for rule in lower}
    read = tuple((_present(name), name) for name in sorted(filter(reads, derived)))
    below = replace(
        program,
        rules=(*lower, *(_copy(name) for _, name in read)),
        interface=replace(
            program.interface,
            outputs=program.outputs & derived,
            exports=frozenset((name, False) for name, _ in read) | frozenset(_handed_on(lower, upper)),
        ),
    )
    wanted = {name for rule in upper for name in _read_by(rule)}
    given = frozenset((name, False) for name in wanted if writes(name)) | frozenset(_handed_on(lower, upper))
    own = {rule.head.signature for rule in upper}
    interface = replace(program.interface, outputs=program.outputs & own, imports=given)
    return Wiring(below, replace(program, rules=upper, interface=interface), read)


def _above(program: Program, writes: Touches) -> frozenset[Predicate]:
    """The predicates that rest on answers, directly or not; all rules that derive one of them belong together."""
    reads = {rule: {rule.head.signature, *_read_by(rule)} for rule in program.rules}
    needs = ((rule.head.signature, name, 0) for rule, names in reads.items() for name in names)
    return resting_on((rule.head.signature for rule, names in reads.items() if any(map(writes, names))), needs)


def _handed_on(lower: tuple[Rule, ...], upper: tuple[Rule, ...]) -> Iterator[tuple[Predicate, bool]]:
    """What the lower rules derive and the upper ones read, and whether it is derived `at` a tick."""
    wanted = {name for rule in upper for name in _read_by(rule)}
    for rule in lower:
        if rule.head.signature in wanted:
            yield rule.head.signature, rule.time is not None


def _read_by(rule: Rule) -> set[Predicate]:
    return {formula.atom.signature for formula, _ in formulas(rule.body)}


def _present(predicate: Predicate) -> Predicate:
    return predicate.renamed(f"{_PRESENT}{predicate.name}")


def _copy(predicate: Predicate) -> Rule:
    """A rule for what holds of a predicate now, however it came about."""
    args = tuple(Variable(f"X{number}") for number in range(predicate.arity))
    return Rule(Atom(_present(predicate).name, args), (Now(Atom(predicate.name, args)),))


def _loop(rules: Sequence[Rule], name: Predicate) -> Diagnostic:
    span = next((rule.span for rule in rules if rule.head.signature == name), NOWHERE)
    message = f"the answer set program reads `{name}`, which depends on its own answers"
    help_ = "break the loop: let the answer set program read only what rules derive from streams and background"
    return Diagnostic("E513", message, span, help=help_)
