"""A query as rules: what is fed, which rules there are, and what is left to do with their rows.

    WINDOW :w { ?s :value ?v FILTER(?v > 30) }     an `Input` of two columns, the second one with a condition
    … ?s :room ?r                                  a rule with two atoms; its head has all variables, so that it counts
    OPTIONAL { … }, MINUS, NOT EXISTS              a rule for what is there, and its negation
    FILTER(?v < ?w), BIND, under no negation       a `Step` on the rows of `SolutionRows`
    the same under a negation                      a `Sieve`: rows of one rule, those that pass are facts for others
    SELECT, GROUP BY, DISTINCT, ASK                the `Tail`, which counts

A solution is a row of one of the `SolutionRows`; all of these bind the same variables: an OPTIONAL and a UNION make
several of them. So no row has a hole that a join would have to look at, and each row counts once: variables that
the query does not select are in it.
"""

from dataclasses import dataclass, field
from typing import Literal

from thalweg.diagnostics import Span
from thalweg.ir.nodes import Rule
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

Graph = int | str | None
"""The number of a window, the name of a background graph, or None for the default graph."""


@dataclass(frozen=True, slots=True)
class SparqlExpression:
    """A SPARQL expression, and the variables that it is asked for; others are unbound when it is asked.

    Where it is `?x < 30`, `bound` has the operator and the number; where it is `?x < ?y`, the operator as it stands
    between the `known` variables in their order, and a question mark.
    """

    text: str
    known: tuple[str, ...]
    bound: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """What of a graph is fed to the rules as `signature`: the facts that it `takes`, if they satisfy the conditions.

    `takes` is a predicate, `types` for what is said by rdf:type, with the class as second column, or `triples` for all
    facts, with the predicate in the middle. A condition is asked for the term of a column.
    """

    signature: Predicate
    graph: Graph
    takes: Predicate | Literal["types", "triples"]
    conditions: tuple[tuple[int, SparqlExpression], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What is done with a row: it is left out unless the expression is true, or a variable is bound `into`."""

    asked: SparqlExpression
    into: str | None = None


@dataclass(frozen=True, slots=True)
class SolutionRows:
    """Rows that rules find: the variables of their columns, those that are constants, and the steps that follow."""

    signature: Predicate
    columns: tuple[str, ...]
    constants: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregation:
    """`function(argument)` bound `into` a variable; without an argument all solutions are counted."""

    function: str
    argument: str
    variables: tuple[str, ...]
    distinct: bool
    into: str


@dataclass(frozen=True, slots=True)
class Grouped:
    """Solutions are put together by their `keys`; `always` one group where the query has no GROUP BY."""

    keys: tuple[str, ...]
    aggregations: tuple[Aggregation, ...]
    steps: tuple[Step, ...]
    always: bool


@dataclass(frozen=True, slots=True)
class Sieve:
    """The solutions of answers, or of their groups, as facts for other rules.

    There is one target for each set of `loose` variables that may be bound, with the variables of its columns.
    """

    answers: tuple[SolutionRows, ...]
    targets: tuple[tuple[Predicate, tuple[str, ...]], ...]
    loose: tuple[str, ...] = ()
    grouped: Grouped | None = None


@dataclass(frozen=True, slots=True)
class Tail:
    """What becomes of the solutions: rows of `columns`, each once if `distinct`. An ASK has no columns."""

    columns: tuple[str, ...] = ()
    distinct: bool = False
    grouped: Grouped | None = None


@dataclass(frozen=True, slots=True)
class QueryObstacle:
    """Why a query is not rules: a sentence, and the place of the query that it is about."""

    sentence: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class LoweredQuery:
    """A query as rules, with facts that always hold."""

    inputs: tuple[Input, ...]
    rules: tuple[Rule, ...]
    facts: tuple[Fact, ...]
    sieves: tuple[Sieve, ...]
    answers: tuple[SolutionRows, ...]
    tail: Tail
