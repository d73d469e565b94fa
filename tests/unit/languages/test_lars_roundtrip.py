"""Text that is printed from the representation reads back to an equal value."""

from hypothesis import given
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Comparison,
    Constant,
    InWindow,
    Not,
    Now,
    Operation,
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
from thalweg.model.term import quote
from thalweg.testing.strategies import programs

predicates = st.sampled_from(["p", "q2", "at", "in", "mod", "count", "from", "<http://e.org/p#x>"])
words = st.text(st.characters(codec="utf-8"), max_size=6).map(quote)
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
    lambda inner: st.builds(Operation, st.sampled_from(sorted(OPERATORS)), inner, inner),
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
streams = st.sampled_from([None, "s", "<http://e.org/s>"])
formulas = st.one_of(
    st.builds(Now, atoms(simple), streams),
    st.builds(At, atoms(simple), simple, st.one_of(st.none(), windows), streams),
    st.builds(InWindow, atoms(simple), windows, streams),
    st.builds(Always, atoms(simple), windows, streams),
)
comparisons = st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), expressions, expressions)
conditions = st.one_of(formulas, formulas.map(Not), comparisons)
aggregates = st.builds(
    Aggregate,
    variables,
    st.sampled_from(["count", "sum", "min", "max", "avg"]),
    st.lists(expressions, min_size=1, max_size=2).map(tuple),
    st.lists(conditions, min_size=1, max_size=2).map(tuple),
)
bodies = st.lists(st.one_of(conditions, aggregates), min_size=1, max_size=4).map(tuple)
rules = st.builds(Rule, atoms(expressions), bodies, st.one_of(st.none(), expressions))


@given(st.lists(rules, max_size=3).map(tuple))
def test_any_rule(rules: tuple[Rule, ...]) -> None:
    program = Program(rules)
    assert read(Source("shown", show(program))) == program


@given(st.lists(terms, max_size=3))
def test_any_fact(terms: list[str]) -> None:
    program = Program(background=(Fact("p", tuple(terms)),))
    assert read(Source("shown", show(program))) == program


@given(programs())
def test_the_programs_that_the_engine_is_tested_with(program: Program) -> None:
    # Their lone underscores have other numbers than a reader gives, so that what is shown is compared.
    assert show(read(Source("shown", show(program)))) == show(program)


def test_a_lone_underscore() -> None:
    text = "h :- p(_,X,_), not q(_), N = count{Y : r(Y,_)}."
    program = read(Source("first", text))
    assert show(program) == text
    assert read(Source("shown", show(program))) == program
