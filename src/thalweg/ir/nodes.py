"""The whole intermediate representation.

    head :- body.            a Rule: an Atom (at a time), and literals
    p(X)                     Now
    p(X) at U, … in W        At
    p(X) in W                InWindow
    p(X) before [n]          InWindow, of a PastWindow
    p(X) always in W         Always
    not F                    Not
    X < Y+1, X is literal    Comparison
    starts_with(X,"a")       Comparison
    N = count{X : F, …}      Aggregate

Every node is a small frozen value. It knows where it was written, and forgets that when it is compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from thalweg.diagnostics import NOWHERE, Span
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """`X`. A lone `_` gets a name of its own from its reader, `_'1`, that nobody can type."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Constant:
    """A term in its canonical spelling: `x1`, `3`, `"b c"`."""

    term: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Operation:
    """`left operator right`, the operator one of `+ - * / mod`."""

    operator: str
    left: "Expression"
    right: "Expression"
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """`round(X, 1)`: one of `model.functions.FUNCTIONS` and its arguments."""

    function: str
    args: tuple["Expression", ...]
    span: Span = _span()


Expression = Variable | Constant | Operation | Call


@dataclass(frozen=True, slots=True)
class Atom:
    """`speed(R,V)`. In a body the arguments are variables and constants; in a head they may be expressions."""

    predicate: str
    args: tuple[Expression, ...] = ()
    span: Span = _span()

    @property
    def signature(self) -> Predicate:
        return interned(self.predicate, len(self.args))


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """`[size]`, or hopping `[size step step]`; in ticks."""

    size: int
    step: int | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TupleWindow:
    """`[size #]`, or `[size # of]` counting the facts of one signature only."""

    size: int
    of: Predicate | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class PastWindow:
    """The `[size]` of `before [size]`: the ticks from `size` before now up to the last one, without now."""

    size: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class KeyedWindow:
    """`[size # by D]`: the last facts of the atom's predicate for each value of the arguments `by`, counted from 0."""

    size: int
    by: tuple[int, ...]
    span: Span = _span()


Window = TimeWindow | PastWindow | TupleWindow | KeyedWindow


@dataclass(frozen=True, slots=True)
class Now:
    """`speed(R,V)`: holds at the tick of evaluation, or is background."""

    atom: Atom
    stream: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class At:
    """`speed(R,V) at U`, `speed(R,V) at U in [10 s]`."""

    atom: Atom
    time: Variable | Constant
    window: Window | None = None
    stream: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class InWindow:
    """At some tick of the window: `speed(R,V) in [10 s]`."""

    atom: Atom
    window: Window
    stream: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Always:
    """At every tick of the window: `speed(R,V) always in [10 s]`."""

    atom: Atom
    window: Window
    stream: str | None = None
    span: Span = _span()


Formula = Now | At | InWindow | Always


@dataclass(frozen=True, slots=True)
class Not:
    """`not F`; its variables are bound by the positive part, a lone `_` means "any"."""

    formula: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`, the operator one of `= != < <= > >= !== is`; `=` may bind a variable on either side.

    `!==` compares spellings. To the right of `is` stands the kind of a term: `literal` (a number or anything in quotes)
    or `resource`, `integer` (a whole number of at most 32 bits) or `non_integer`. The conditions on two texts, such as
    `starts_with` (`model.functions.CONDITIONS`), are operators too, and so is each of them behind `not `.
    """

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()

    @property
    def test(self) -> str:
        """What is tested: the operator, and for `is` the kind."""
        kind = self.right.term if isinstance(self.right, Constant) else ""
        return f"is {kind}" if self.operator == "is" else self.operator


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`result = function{terms : body}`, grouped by the variables shared with the rest of the rule.

    The value is taken over the distinct tuples of `terms`; all functions but `count` look at the first term of each.
    `share` is the part of the values that lie below a `quantile`, as it is written: `0.95`.
    """

    result: Variable
    function: str
    terms: tuple[Expression, ...]
    body: tuple["Literal", ...]
    share: str | None = None
    span: Span = _span()


Literal = Formula | Not | Comparison | Aggregate


@dataclass(frozen=True, slots=True)
class Rule:
    """`head :- body.`, or `head at time :- body.`"""

    head: Atom
    body: tuple[Literal, ...] = ()
    time: Expression | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TermAnnotations:
    """Which facts about the terms of a stream rules read: they follow from the terms themselves.

    For a literal: which of the `datatypes` it belongs to, and the blank node that stands for it (`stand_ins`); for a
    resource: blank nodes for what the `restrictions` promise it.
    """

    datatypes: tuple[str, ...] | None = None
    stand_ins: bool = False
    restrictions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Equality:
    """Equality of individuals: the signatures that state it, and those that follow from it.

    `same_pairs(X,Y)`, which are derived, say that X and Y are equal; `same_keys(A,K,X)` that X is equal to all others
    for which it is said with the same A and K. `representative(X,R)` holds of every X that these connect with something
    whose name is less, by code point, and R is the least of all. Facts about such an X are output about R only, apart
    from the `names` that rules use for other things than individuals. A part of a larger program that has no
    `same_pairs` imports its representatives.
    """

    same_pairs: Predicate | None
    same_keys: Predicate | None
    representative: Predicate
    names: frozenset[str] = frozenset()


Passed = frozenset[tuple[Predicate, bool]]
"""Predicates that parts pass on; True where the facts are derived `at` a tick, which is then their last column."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What a program takes in and gives out.

    `inputs` are derived predicates that streams are expected to bring as well: all others that no rule derives are
    inputs anyway. `outputs` are the predicates whose changes are output; by default all that are derived, without those
    that are local to a file. A part of a
    larger program `imports` some predicates from other parts and `exports` some. What is imported holds as long as the
    other part derives it: to the rules it is derived, not streamed.
    """

    inputs: frozenset[Predicate] = frozenset()
    outputs: frozenset[Predicate] | None = None
    imports: Passed = frozenset()
    exports: Passed = frozenset()


@dataclass(frozen=True, slots=True)
class Hints:
    """What helps to evaluate, spread or explain a program and is not part of its meaning; most programs have no hints.

    The ends of `irrevocable` imports and exports are known in advance: nothing can take them back. `static` is
    background that no stream adds to; `static_schema`: the rules were made for a schema, which streams cannot change.
    `earliest_stages` are derived predicates with the number of the stage in which, where work is spread, they come
    about at the earliest. `input_copies` repeat what streams bring, each fact with constants that say what it was.
    `justification`: what is output are clashes, each with a smallest set of facts behind it; these rules, which know no
    windows, say whether some facts suffice.
    """

    irrevocable: Passed = frozenset()
    static: frozenset[Predicate] = frozenset()
    static_schema: bool = False
    earliest_stages: frozenset[tuple[Predicate, int]] = frozenset()
    input_copies: frozenset[Predicate] = frozenset()
    justification: "Program | None" = None


@dataclass(frozen=True, slots=True)
class Program:
    """Rules, the facts that hold at every tick, and what goes in and out.

    `annotations` are the facts about terms that rules read; `equality` says which things are one. What is derived of a
    `recorded` predicate stands at its tick from then on, as if a stream had brought it.
    """

    rules: tuple[Rule, ...] = ()
    background: tuple[Fact, ...] = ()
    interface: Interface = Interface()
    annotations: TermAnnotations = TermAnnotations()
    equality: Equality | None = None
    hints: Hints = Hints()
    recorded: frozenset[Predicate] = frozenset()

    @property
    def derived(self) -> frozenset[Predicate]:
        """The signatures that rules derive."""
        return frozenset(rule.head.signature for rule in self.rules)

    @property
    def outputs(self) -> frozenset[Predicate]:
        """The signatures whose changes are output: by default all but those that are local to a file."""
        if self.interface.outputs is not None:
            return self.interface.outputs
        return frozenset(signature for signature in self.derived if signature.file is None)


def meant_by(program: Program, fact: Fact) -> Fact:
    """The fact that a person means: of a derived predicate, or else of the only local one that is called so.

    >>> rule = Rule(Atom("seen'jam.lars'", (Variable("X"),)), (Now(Atom("p", (Variable("X"),))),))
    >>> str(meant_by(Program((rule,)), Fact("seen", ("a",))))
    "seen'jam.lars'(a)"
    """
    if fact.signature in program.derived:
        return fact
    local = [name for name in program.derived if name.file is not None and name.public == fact.signature]
    return Fact(local[0].name, fact.terms) if len(local) == 1 else fact


def variables(*nodes: Expression | Atom | Literal | None) -> Iterator[Variable]:
    """Every occurrence of a variable in the nodes, in the order they are written.

    >>> [v.name for v in variables(Atom("p", (Variable("X"), Variable("Y"))))]
    ['X', 'Y']
    """
    for node in nodes:
        match node:
            case Variable():
                yield node
            case Operation(_, left, right) | Comparison(_, left, right):
                yield from variables(left, right)
            case Atom(_, args) | Call(_, args):
                yield from variables(*args)
            case Now(atom) | InWindow(atom) | Always(atom):
                yield from variables(atom)
            case At(atom, time):
                yield from variables(atom, time)
            case Not(formula):
                yield from variables(formula)
            case Aggregate(result, _, terms, body):
                yield from variables(result, *terms, *body)


def names(*nodes: Expression | Atom | Literal | None) -> frozenset[str]:
    """The names of the variables in the nodes."""
    variable_names = set[str]()
    for node in nodes:
        # Most nodes are arguments of atoms, and planning asks for their names again and again.
        if isinstance(node, Variable):
            variable_names.add(node.name)
        elif not isinstance(node, Constant):
            variable_names.update(variable.name for variable in variables(node))
    return frozenset(variable_names)


def global_names(rule: Rule, aggregate: Aggregate) -> frozenset[str]:
    """The variables of an aggregate that it shares with the rest of its rule: its groups."""
    outside = names(rule.head, rule.time, *(literal for literal in rule.body if literal is not aggregate))
    inside = names(*aggregate.terms, *aggregate.body)
    return (inside & outside) | (inside & {aggregate.result.name})


def is_anonymous(name: str) -> bool:
    """Whether a variable was written as a lone `_`."""
    return name.startswith("_'")
