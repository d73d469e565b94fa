"""One way to solve a pattern: literals of a rule, and which variables they bind.

    { ?s :p ?v } UNION { ?s :q ?w }          two alternatives: one binds s and v, the other s and w
    { ?s :p ?v OPTIONAL { ?s :q ?w } }       two: one binds s, v and w; the other s and v, with a `not`
    VALUES ?s { :a }                         one that binds s to a constant

Every alternative binds the same variables in all its solutions, so that what SPARQL calls compatible is equality of the
variables that two of them share. Only what a step binds (`made`) may be unbound in some rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from thalweg.ir.nodes import Atom, Comparison, Constant, Expression, Literal, Not, Now, Variable
from thalweg.languages.rspql.lowered import Step


@dataclass(frozen=True, slots=True)
class Alternative:
    """The literals; the `names` that they bind and that the query sees; `witnesses`, which it does not see but counts.

    `constants` are variables with a value, which do not occur in the literals. `steps` are done with the rows later.
    """

    body: tuple[Literal, ...] = ()
    names: frozenset[str] = frozenset()
    witnesses: frozenset[str] = frozenset()
    constants: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    made: frozenset[str] = frozenset()

    @property
    def certain(self) -> frozenset[str]:
        """The variables that are bound in every solution."""
        return self.names.union(self.constants)

    @property
    def bound(self) -> frozenset[str]:
        """The variables that may be bound."""
        return self.certain | self.made

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables of a rule's head, if every solution is to count once."""
        return (*sorted(self.names), *sorted(self.witnesses))

    def given(self, values: Mapping[str, str]) -> "Alternative":
        """The alternative with values in the place of some variables."""
        constants = {name: values[name] for name in self.names & values.keys()}
        if not constants:
            return self
        terms = {name: Constant(value) for name, value in constants.items()}
        body = tuple(_put(literal, terms) for literal in self.body)
        return replace(
            self, body=body, names=self.names.difference(constants), constants={**self.constants, **constants}
        )

    def also(self, *literals: Literal) -> "Alternative":
        """The alternative with more literals, which bind nothing."""
        return replace(self, body=(*self.body, *literals))


def joined(alternative: Alternative, other: Alternative) -> Alternative | None:
    """The alternative that requires both; None where a variable would have two values.

    >>> left = Alternative(constants={"x": "1"})
    >>> right = Alternative((Now(Atom("p", (Variable("x"),))),), frozenset("x"))
    >>> joined(left, right).body, joined(left, Alternative(constants={"x": "2"}))
    ((Now(atom=Atom(predicate='p', args=(Constant(term='1'),)), stream=None),), None)
    """
    if any(other.constants.get(name, value) != value for name, value in alternative.constants.items()):
        return None
    left, right = alternative.given(other.constants), other.given(alternative.constants)
    return Alternative(
        (*left.body, *(literal for literal in right.body if literal not in left.body)),
        left.names | right.names,
        left.witnesses | right.witnesses,
        {**left.constants, **right.constants},
        left.steps + right.steps,
        left.made | right.made,
    )


def renamed(alternative: Alternative, names: Mapping[str, str], kept: frozenset[str]) -> Alternative:
    """The same with other names for variables, which are witnesses then unless they are `kept`; it has no steps."""
    assert not alternative.steps
    replacements = {name: Variable(other) for name, other in names.items()}
    body = tuple(_put(literal, replacements) for literal in alternative.body)
    seen = alternative.names & kept
    hidden = frozenset(names.get(name, name) for name in (alternative.names | alternative.witnesses) - seen)
    constants = {name: value for name, value in alternative.constants.items() if name in kept}
    return Alternative(body, seen, hidden, constants)


def _put(literal: Literal, values: Mapping[str, Variable | Constant]) -> Literal:
    """A literal of a body with terms in the place of some variables."""
    match literal:
        case Now(atom):
            return Now(Atom(atom.predicate, tuple(_value(arg, values) for arg in atom.args)))
        case Not(Now() as formula):
            return Not(_put(formula, values))  # type: ignore[arg-type]
        case Comparison(operator, left, right):
            return Comparison(operator, _value(left, values), _value(right, values))
    raise TypeError(literal)


def _value(expression: Expression, values: Mapping[str, Variable | Constant]) -> Expression:
    return values.get(expression.name, expression) if isinstance(expression, Variable) else expression
