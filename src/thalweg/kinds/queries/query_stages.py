"""The rules of a query as programs, one behind the other.

Most queries are one program. A sieve asks SPARQL about rows of rules, and other rules read what passes: those rules are
the next program, which is given what began and ended of the rows that it reads.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thalweg.ir.nodes import Hints, Interface, Not, Now, Program, Rule
from thalweg.languages.rspql.lowered import Input, LoweredQuery, Sieve
from thalweg.model.predicate import Predicate


@dataclass(frozen=True, slots=True)
class QueryStage:
    """A program, the inputs and the rows of earlier stages that it reads, what is read of it, and sieves behind it."""

    program: Program
    inputs: tuple[Input, ...]
    imports: tuple[Predicate, ...]
    outputs: tuple[Predicate, ...]
    sieves: tuple[Sieve, ...]


def stages_of(query: LoweredQuery) -> tuple[QueryStage, ...]:
    """The programs of a query in their order."""
    levels = _levels(query)
    last = max((levels[rule.head.signature] for rule in query.rules), default=0)
    answers = {answer.signature for answer in query.answers}
    answers |= {answer.signature for sieve in query.sieves for answer in sieve.answers}
    stages = []
    for level in range(last + 1):
        rules = [rule for rule in query.rules if levels[rule.head.signature] == level]
        read = set(_read(rules))
        derived = {rule.head.signature for rule in rules}
        later = set(_read(rule for rule in query.rules if levels[rule.head.signature] > level))
        inputs = tuple(needed for needed in query.inputs if needed.signature in read)
        stated = {needed.signature for needed in query.inputs} | {fact.signature for fact in query.facts}
        imports = tuple(sorted(read - derived - stated))
        outputs = tuple(sorted(derived & (answers | later)))
        lasting = frozenset((needed.signature, False) for needed in inputs)
        program = Program(
            tuple(rules),
            tuple(fact for fact in query.facts if fact.signature in read),
            Interface(outputs=frozenset(outputs), imports=lasting | {(name, False) for name in imports}),
            hints=Hints(irrevocable=lasting),
        )
        sieves = tuple(sieve for sieve in query.sieves if _level(sieve, levels) == level)
        stages.append(QueryStage(program, inputs, imports, outputs, sieves))
    return tuple(stages)


def _levels(query: LoweredQuery) -> dict[Predicate, int]:
    """In which program each predicate is known first."""
    levels = {needed.signature: 0 for needed in query.inputs} | {fact.signature: 0 for fact in query.facts}
    levels |= {rule.head.signature: 0 for rule in query.rules}
    changed = True
    while changed:
        changed = False
        for rule in query.rules:
            level = max((levels.get(name, 0) for name in _read([rule])), default=0)
            if level > levels[rule.head.signature]:
                levels[rule.head.signature], changed = level, True
        for sieve in query.sieves:
            for target, _ in sieve.targets:
                level = _level(sieve, levels) + 1
                if level > levels.get(target, 0):
                    levels[target], changed = level, True
    return levels


def _level(sieve: Sieve, levels: Mapping[Predicate, int]) -> int:
    """Behind which program a sieve stands."""
    return max((levels[answer.signature] for answer in sieve.answers), default=0)


def _read(rules: Iterable[Rule]) -> Iterable[Predicate]:
    for rule in rules:
        for literal in rule.body:
            formula = literal.formula if isinstance(literal, Not) else literal
            if isinstance(formula, Now):
                yield formula.atom.signature
