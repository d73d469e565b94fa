"""How the joins of a query are split over buckets: each stage of its rules by a variable that stands in all it joins.

    rows(D,L,O,V) :- value(O,V), level(O,L), of(L,D)     stage 0, by O: every bucket has all of the background `of`
    AVG(V) for each D                                    stage 1, by D: rows come by the hash of what groups them

A sieve stands at the beginning of the stage that reads what passes: the rows that it is asked about go where its groups
are. A stage behind the first one that has no key is evaluated in one bucket. Other queries, and those that are asked of
SPARQL per window, are evaluated by one operator.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from thalweg.dataflow.exchange import GATHER, Exchange, Hash, Words, spelled_hashes
from thalweg.ir.nodes import Atom, Hints, Interface, Literal, Not, Now, Program, Rule, Variable
from thalweg.kinds.queries.query_stages import QueryStage, stages_of
from thalweg.languages.rspql.lower import lower
from thalweg.languages.rspql.lowered import Input, LoweredQuery, Sieve
from thalweg.languages.rspql.query import Query
from thalweg.languages.rspql.stored_terms import stored
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE
from thalweg.planning.partition import Stage, partition


@dataclass(frozen=True, slots=True)
class StoredValues:
    """Terms are equal if SPARQL's store keeps them as the same value: `2.50` and `2.5`."""

    def hashes(self, column: Words, words: Dictionary) -> Words:
        return spelled_hashes(column, words, stored)


STORED_VALUES: Final = StoredValues()


def by_value(column: int) -> Hash:
    """The exchange by the value of a column."""
    return Hash(column, STORED_VALUES)


@dataclass(frozen=True, slots=True)
class FedInput:
    """What of a graph is fed to the rules of a stage, as `called`; without a `key` every bucket has all of it."""

    called: Predicate
    needed: Input
    key: int | None = None


@dataclass(frozen=True, slots=True)
class SplitStage:
    """The `rules` of a stage, which are a `program` in each of its buckets, behind some sieves.

    `keys` are the variables that rows are hashed by; without one there is one bucket. `reads` are the rows of earlier
    stages that come to it, what they are called then, and their exchange; `passed` are the targets of sieves, and
    `outputs` the rows that it gives, each with what the program calls them.
    """

    rules: tuple[Rule, ...]
    program: Program
    keys: tuple[str, ...]
    inputs: tuple[FedInput, ...]
    sieves: tuple[Sieve, ...]
    reads: tuple[tuple[Predicate, Predicate, Exchange], ...]
    passed: tuple[tuple[Predicate, Predicate], ...]
    outputs: tuple[tuple[Predicate, Predicate], ...]

    @property
    def reads_streams(self) -> bool:
        return any(isinstance(fed.needed.graph, int) for fed in self.inputs)

    def exchanges(self, signature: Predicate) -> Iterator[tuple[int, Exchange]]:
        """The inputs that take facts of a signature, by their numbers, and how facts reach the buckets."""
        for number, fed in enumerate(self.inputs):
            if not isinstance(fed.needed.graph, int) or not _takes(fed.needed, signature):
                continue
            if not self.keys:
                yield number, GATHER
            elif (column := _argument(fed.needed, fed.key)) is not None:
                yield number, by_value(column)


@dataclass(frozen=True, slots=True)
class SplitQuery:
    """The rules of a query as stages, of which the first one is split by a key."""

    lowered: LoweredQuery
    stages: tuple[SplitStage, ...]


def split_query(query: Query, background: Dataset) -> SplitQuery | str:
    """How the joins of a query are split; or why they are not, in words that follow `because`."""
    lowered = lower(query, tuple(name for name, _ in background.named))
    if not isinstance(lowered, LoweredQuery):
        return "SPARQL is asked per window"
    if lowered.facts or not lowered.inputs:
        return "some of its rules read no triples"
    first, *later = stages_of(lowered)
    split = _keyed(first, lowered)
    if isinstance(split, str):
        return split
    return SplitQuery(lowered, (split, *(_later(stage, lowered) for stage in later)))


def _later(stage: QueryStage, lowered: LoweredQuery) -> SplitStage:
    """A stage behind another: split by a key, or in one bucket."""
    split = _keyed(stage, lowered)
    return split if isinstance(split, SplitStage) else _together(stage, lowered)


def _together(stage: QueryStage, lowered: LoweredQuery) -> SplitStage:
    """A stage in one bucket."""
    sieves, targets = _sieves(stage, lowered)
    reads = dict.fromkeys(name for name in stage.imports if name not in targets)
    reads |= dict.fromkeys(answer.signature for sieve in sieves for answer in sieve.answers)
    return SplitStage(
        stage.program.rules,
        stage.program,
        (),
        tuple(FedInput(needed.signature, needed) for needed in stage.inputs),
        sieves,
        tuple((name, name, GATHER) for name in reads),
        tuple((name, name) for name in stage.imports if name in targets),
        tuple((name, name) for name in stage.outputs),
    )


def _sieves(stage: QueryStage, lowered: LoweredQuery) -> tuple[tuple[Sieve, ...], dict[Predicate, tuple[str, ...]]]:
    """The sieves that a stage reads, and the variables of their targets."""
    sieves = tuple(sieve for sieve in lowered.sieves if any(target in stage.imports for target, _ in sieve.targets))
    return sieves, {target: columns for sieve in sieves for target, columns in sieve.targets}


def _keyed(stage: QueryStage, lowered: LoweredQuery) -> SplitStage | str:
    """A stage by a key; or why it has none. Every bucket has a copy of the background only where there is no other way.

    To the pass, the predicates of facts in the background of a program are those that need no key.
    """
    static = [needed.signature for needed in stage.inputs if not isinstance(needed.graph, int)]
    reason = "no variable stands in all that is joined"
    for key, copied in product(_sieve_keys(stage, lowered), ([], static)):
        background = tuple(Fact(name.name, ("x",) * name.arity) for name in copied)
        rules = tuple(_hidden(rule, key, lowered) for rule in stage.program.rules)
        parts = partition(Program(rules, background, Interface(outputs=frozenset(stage.outputs)))).stages
        if stage.program.background or len(parts) > 1 or not parts[0].split or parts[0].in_parts:
            continue
        split = _with_keys(stage, parts[0], lowered)
        if isinstance(split, SplitStage):
            return split
        reason = split
    return reason


def _sieve_keys(stage: QueryStage, lowered: LoweredQuery) -> list[str]:
    """The variables that can be the key of what passes the sieves of a stage; where it has none, any variable can."""
    sieves, targets = _sieves(stage, lowered)
    if not sieves:
        return [""]
    names = sorted({name for columns in targets.values() for name in columns})
    return [name for name in names if all(_looked_up(sieve, name) for sieve in sieves)]


def _hidden(rule: Rule, key: str, lowered: LoweredQuery) -> Rule:
    """A rule that can be keyed by one variable only of what passes sieves: its others are called something else."""
    targets = {target for sieve in lowered.sieves for target, _ in sieve.targets}

    def renamed(atom: Atom) -> Atom:
        names = (f"{arg.name}'" if isinstance(arg, Variable) and arg.name != key else arg for arg in atom.args)
        args = tuple(Variable(name) if isinstance(name, str) else name for name in names)
        return replace(atom, args=args) if atom.signature in targets else atom

    return _with_atoms(rule, renamed)


def _shown(rule: Rule) -> Rule:
    """A rule with all its variables called by their own names again."""

    def renamed(atom: Atom) -> Atom:
        variables = (Variable(arg.name.removesuffix("'")) if isinstance(arg, Variable) else arg for arg in atom.args)
        return replace(atom, args=tuple(variables))

    return _with_atoms(rule, renamed)


def _with_atoms(rule: Rule, change: Callable[[Atom], Atom]) -> Rule:
    """A rule with other atoms in its body."""
    body: list[Literal] = []
    for literal in rule.body:
        match literal:
            case Now(atom):
                body.append(replace(literal, atom=change(atom)))
            case Not(Now(atom) as formula):
                body.append(replace(literal, formula=replace(formula, atom=change(atom))))
            case _:
                body.append(literal)
    return replace(rule, body=tuple(body))


def _with_keys(stage: QueryStage, part: Stage, lowered: LoweredQuery) -> SplitStage | str:
    """A stage by the keys that its rules have; or why facts cannot be sent by them."""
    inputs = {needed.signature: needed for needed in stage.inputs}
    # Routes of what the rules derive themselves bring nothing.
    fed = [
        FedInput(route.called, inputs[route.signature], route.key) for route in part.routes if route.signature in inputs
    ]
    if any(isinstance(item.needed.graph, int) and _argument(item.needed, item.key) is None for item in fed):
        return "what is joined is a predicate or a class"
    imported = [route for route in part.routes if route.signature in stage.imports]
    sieves, targets = _sieves(stage, lowered)
    reads = [
        (route.signature, route.called, by_value(route.key))
        for route in imported
        if route.signature not in targets and route.key is not None
    ]
    keys = {
        route.signature: targets[route.signature][route.key]
        for route in imported
        if route.signature in targets and route.key is not None
    }
    for sieve in sieves:
        names = {_looked_up(sieve, keys[target]) for target, _ in sieve.targets if target in keys}
        reads += [
            (answer.signature, answer.signature, by_value(answer.columns.index(name)))
            for answer in sieve.answers
            for name in names
            if name is not None
        ]
    if len({called for _, called, _ in reads}) < len(reads) or any(route.key is None for route in imported):
        return "different rules look up the same rows by different variables"
    lasting = frozenset((item.called, False) for item in fed)
    imports = lasting | {(route.called, False) for route in imported}
    interface = Interface(outputs=frozenset(inner for inner, _ in part.outputs), imports=imports)
    # What is fed holds for as long as windows show it.
    program = Program(tuple(map(_shown, part.program.rules)), interface=interface, hints=Hints(irrevocable=lasting))
    return SplitStage(
        stage.program.rules,
        program,
        tuple(sorted({key for key in part.keys if key is not None})),
        tuple(fed),
        sieves,
        tuple(reads),
        tuple((route.signature, route.called) for route in imported if route.signature in targets),
        tuple((outer, inner) for inner, outer in part.outputs),
    )


def _looked_up(sieve: Sieve, name: str) -> str | None:
    """The column of a sieve's rows that a variable of what passes is; of groups one that they are told apart by."""
    if sieve.grouped is not None:
        for step in reversed(sieve.grouped.steps):
            if step.into == name:
                name = step.asked.text.removeprefix("?")
        by = {item.into: item.argument for item in sieve.grouped.aggregations if item.function == "key"}
        name = by.get(name, name)
    is_key = sieve.grouped is None or name in sieve.grouped.keys
    return name if is_key and all(name in answer.columns for answer in sieve.answers) else None


def _argument(needed: Input, column: int | None) -> int | None:
    """The argument of facts in a column of an input; None where it may be the predicate, or every bucket needs all."""
    return column if column == 0 or isinstance(needed.takes, Predicate) else None


def _takes(needed: Input, signature: Predicate) -> bool:
    if isinstance(needed.takes, Predicate):
        return needed.takes == signature
    return signature.arity == 1 or (signature.arity == 2 and (needed.takes == "triples" or signature.name == RDF_TYPE))
