"""Text that is printed from the representation reads back to an equal value."""

from hypothesis import given
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Call,
    Comparison,
    Constant,
    Interface,
    InWindow,
    KeyedWindow,
    Not,
    Now,
    Operation,
    PastWindow,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
)
from thalweg.ir.text import show
from thalweg.languages.lars import read
from thalweg.model.fact import Fact
from thalweg.model.number import OPERATORS
from thalweg.model.predicate import Predicate
from thalweg.model.term import constant
from thalweg.testing.strategies import programs

predicates = st.sampled_from(["p", "q2", "at", "in", "by", "before", "count", "from", "<http://e.org/p#x>"])
words = st.text(st.characters(codec="utf-8"), max_size=6).map(constant)
numbers = st.one_of(
    st.integers(-(10**15), 10**15).map(str),
    st.tuples(st.integers(-999, 999), st.integers(0, 999)).map(lambda pair: f"{pair[0]}.{pair[1]:03}"),
)
tags = st.sampled_from(['"x"@en', '"x"^^<http://e.org/t>', "_:b1", "<http://e.org/a>", "step", "always", "x_Y"])
terms = st.one_of(words, numbers, tags)

variables = st.sampled_from(["X", "Yy", "_Z", "V'1"]).map(Variable)
simple = st.one_of(variables, terms.map(Constant))
expressions = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(Operation, st.sampled_from(sorted(OPERATORS)), inner, inner),
        st.builds(lambda name, arg: Call(name, (arg,)), st.sampled_from(["abs", "iso", "round", "concat"]), inner),
        st.builds(lambda name, *args: Call(name, args), st.sampled_from(["min", "round", "concat"]), inner, inner),
    ),
    max_leaves=5,
)


def atoms(args: st.SearchStrategy[object]) -> st.SearchStrategy[Atom]:
    return st.builds(Atom, predicates, st.lists(args, max_size=3).map(tuple))


windows = st.one_of(
    st.builds(TimeWindow, st.integers(0, 99), st.one_of(st.none(), st.integers(1, 9))),
    st.builds(
        TupleWindow, st.integers(1, 99), st.sampled_from([None, Predicate("p", 2), Predicate("<http://e.org/p#x>", 1)])
    ),
)
X, Y = Variable("X"), Variable("Yy")
keys = st.sampled_from([(0, 2), (1,), (0, 1, 2)])
streams = st.sampled_from([None, "s", "<http://e.org/s>"])
formulas = st.one_of(
    st.builds(Now, atoms(simple), streams),
    st.builds(At, atoms(simple), simple, st.one_of(st.none(), windows), streams),
    st.builds(InWindow, atoms(simple), windows, streams),
    st.builds(Always, atoms(simple), windows, streams),
    st.builds(InWindow, atoms(simple), st.builds(PastWindow, st.integers(1, 99)), streams),
    st.builds(At, atoms(simple), simple, st.builds(PastWindow, st.integers(1, 99)), streams),
    st.builds(InWindow, st.just(Atom("p", (X, Y, X))), st.builds(KeyedWindow, st.integers(1, 9), keys), streams),
    st.builds(At, st.just(Atom("p", (X, Y, X))), simple, st.builds(KeyedWindow, st.integers(1, 9), keys), streams),
)
comparisons = st.one_of(
    st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), expressions, expressions),
    st.builds(Comparison, st.sampled_from(["starts_with", "not contains", "ends_with"]), expressions, expressions),
)
conditions = st.one_of(formulas, formulas.map(Not), comparisons)
aggregates = st.builds(
    Aggregate,
    variables,
    st.sampled_from(["count", "sum", "min", "max", "avg", "stddev", "median"]),
    st.lists(expressions, min_size=1, max_size=2).map(tuple),
    st.lists(conditions, min_size=1, max_size=2).map(tuple),
) | st.builds(
    Aggregate,
    variables,
    st.just("quantile"),
    st.lists(expressions, min_size=1, max_size=2).map(tuple),
    st.lists(conditions, min_size=1, max_size=2).map(tuple),
    st.sampled_from(["0", "0.95"]),
)
bodies = st.lists(st.one_of(conditions, aggregates), min_size=1, max_size=4).map(tuple)
rules = st.builds(Rule, atoms(expressions), bodies, st.one_of(st.none(), expressions))


named = st.builds(Predicate, predicates, st.integers(0, 9))


@given(st.lists(rules, max_size=3).map(tuple))
def test_any_rule(rules: tuple[Rule, ...]) -> None:
    program = Program(rules)
    assert read(Source("shown", show(program))) == program


@given(st.lists(terms, max_size=3))
def test_any_fact(terms: list[str]) -> None:
    program = Program(background=(Fact("p", tuple(terms)),))
    assert read(Source("shown", show(program))) == program


@given(st.sets(named), st.one_of(st.none(), st.sets(named)))
def test_any_directive(recorded: set[Predicate], shown: set[Predicate] | None) -> None:
    outputs = None if shown is None else frozenset(shown)
    program = Program(interface=Interface(outputs=outputs), recorded=frozenset(recorded))
    assert read(Source("shown", show(program))) == program


@given(st.one_of(programs(), programs(remembering=True, values=True)))
def test_the_programs_that_the_engine_is_tested_with(program: Program) -> None:
    # Their lone underscores have other numbers than a reader gives, so that what is shown is compared.
    assert show(read(Source("shown", show(program)))) == show(program)


def test_a_lone_underscore() -> None:
    text = "h :- p(_,X,_), not q(_), N = count{Y : r(Y,_)}."
    program = read(Source("first", text))
    assert show(program) == text
    assert read(Source("shown", show(program))) == program
