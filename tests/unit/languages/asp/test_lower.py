"""Answer set programs as rules over windows; what keeps some from it."""

from dataclasses import replace
from pathlib import Path

import pytest

from thalweg.diagnostics import Source
from thalweg.ir.text import show
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.asp.lower import INCONSISTENT
from thalweg.languages.asp.program import AspProgram
from thalweg.languages.asp.reader import read_program
from thalweg.languages.lars.facts import read_fact
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

STREAMRULE = Path(__file__).parents[5] / "shared" / "data" / "streamrule"
UB = "#prefix ub: <http://example.org/ub#>. #prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>. "


def read(text: str, *inputs: Predicate) -> AspProgram:
    program, wrong = read_program(Source("x.lp", text), inputs)
    assert not wrong
    return program


def lowered(text: str) -> list[str]:
    program = read(text).lowered(3)
    assert program is not None
    return show(replace(program, interface=replace(program.interface, outputs=None))).splitlines()


def answers(program: AspProgram, *facts: Fact) -> list[str]:
    """What holds when all facts come at once."""
    rules = program.lowered(1)
    assert rules is not None
    engine = Engine(rules, first=0)
    list(engine.advance(0, facts))
    return sorted(map(str, engine.facts()))


def test_inputs_are_looked_for_in_the_window() -> None:
    assert lowered("a(X) :- p(X), not q(X). b(X) :- a(X).") == [
        "a(X) :- p(X) in [2], not q(X) in [2].",
        "b(X) :- a(X).",
    ]


def test_a_number_comes_before_everything_else() -> None:
    assert lowered("a(X) :- p(X), X < 3.") == ["a(X) :- p(X) in [2], X is integer, X < 3."]
    assert lowered("a(X) :- p(X), X > 3.") == [
        "a(X) :- p(X) in [2], X is integer, X > 3.",
        "a(X) :- p(X) in [2], X is non_integer.",
    ]
    assert lowered("a(X) :- p(X), 1 < X < 9.") == ["a(X) :- p(X) in [2], X is integer, 1 < X, X < 9."]


def test_equal_terms_are_one() -> None:
    assert lowered("a(X) :- p(X), q(Y), X = Y, Y != b.") == ["a(Y) :- p(Y) in [2], q(Y) in [2], Y !== b."]
    assert lowered("a(X) :- p(Y), X = c.") == ["a(c) :- p(Y) in [2]."]
    assert lowered("a(X) :- p(X), 1 = 2.") == []


def test_what_is_calculated_with_is_an_integer() -> None:
    assert lowered("#const n = 4. a(X+n) :- p(X), not q(X-1).") == [
        "a((X + 2147483652) mod 4294967296 - 2147483648) :- p(X) in [2], not q(V'1) in [2], X is integer, "
        "V'1 = (X + 2147483647) mod 4294967296 - 2147483648."
    ]


def test_aggregates() -> None:
    assert lowered("a(X,N) :- p(X), N = #sum{V,S : e(X,V,S)}, N > 2.") == [
        "a(X,N) :- p(X) in [2], V'1 = sum{V'3, V'2 : e(X,V'3,V'2) in [2], V'3 is integer}, "
        "N = (V'1 + 2147483648) mod 4294967296 - 2147483648, N > 2."
    ]


def test_a_constraint_derives_that_there_is_no_answer() -> None:
    assert lowered(":- p(X), not q(X).") == ["'inconsistent :- p(X) in [2], not q(X) in [2]."]
    program = read(":- p(X), q(X). a :- p(X).")
    assert answers(program, Fact("p", ("1",)), Fact("q", ("1",))) == [str(INCONSISTENT), "a"]
    assert answers(program, Fact("p", ("1",))) == ["a"]


def test_inputs_that_are_derived_or_told_are_copied() -> None:
    rules = lowered("p(X) :- q(X). a(X) :- p(X). #show a/1. %! input p/1")
    assert rules == ["'p(X) :- q(X) in [2].", "a(X) :- 'p(X).", "'p(X0) :- p(X0) in [2]."]
    assert answers(read("a(X) :- p(X). #show p/1."), Fact("p", ("1",))) == ["p(1)"]


def test_what_is_neither_derived_nor_an_input_stays_empty() -> None:
    program = read("a(X) :- p(X). b(X) :- q(X), not p(X).", Predicate("q", 1))
    assert answers(program, Fact("p", ("1",)), Fact("q", ("1",))) == ["b(1)"]


def test_facts_are_told_unless_they_are_hidden() -> None:
    assert answers(read("a(1..2). a(x;y). b(X) :- a(X), p.")) == ["a(1)", "a(2)", "a(x)", "a(y)"]
    assert answers(read("a(1..2). b(X) :- a(X), p. #show b/1."), Fact("p")) == ["b(1)", "b(2)"]


def test_what_no_answer_rests_on_is_left_out() -> None:
    assert lowered("a(X) :- p(X). b(X) :- a(X), c(X). c(1). d(X) :- p(X). e(2). #show a/1.") == ["a(X) :- p(X) in [2]."]
    assert lowered("a(X) :- p(X). :- a(X), q. #show.") == ["a(X) :- p(X) in [2].", "'inconsistent :- a(X), q in [2]."]


def test_names_with_a_prefix_are_iris_or_themselves() -> None:
    program = read(
        UB + "ub_helps(Y,X) :- ub_advisor(X,Y). dean(X) :- rdf_type(X,ub_Dean). -ub_dean(X) :- ub_helps(X,c).",
        Predicate("ub_advisor", 2),
        Predicate("rdf_type", 2),
    )
    facts = ["<http://example.org/ub#advisor>(<a>,<b>)", "ub_advisor(c,d)", "<http://example.org/ub#Dean>(<a>)"]
    assert answers(program, *map(read_fact, facts)) == [
        "-<http://example.org/ub#dean>(d)",
        "<http://example.org/ub#helps>(<b>,<a>)",
        "<http://example.org/ub#helps>(d,c)",
        "dean(<a>)",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{a} :- p.", "a choice or a disjunction has several answers"),
        ("a :- not b. b :- not a.", "negation or an aggregate is cyclic"),
        ("a(f(X)) :- p(X).", "`f(X)` is left to clingo"),
        ("a(X/2) :- p(X).", "`(X/2)` is left to clingo"),
        ("a(X) :- p(X), q(Y), X < Y.", "an order between terms that may not be numbers"),
        ("a(X) :- X = 1..3.", "`(1..3)` is left to clingo"),
        ("a(1..999999).", "an interval of more than 100,000 numbers is left to clingo"),
        ("a(1..999,1..999).", "more than 100,000 facts in one statement are left to clingo"),
        ("a(X) :- p(X+1).", "an equation that has to be solved"),
        ("a(X) :- p(X), q(2*X).", "an equation with a multiple"),
        (UB + "rdf_type(X,ub_Boss) :- ub_dean(X).", "`rdf_type/2` is output"),
        (UB + "-rdf_type(X,ub_Boss) :- ub_dean(X).", "`-rdf_type/2` is output"),
        ("m(X) :- X = #max{Y : p(Y)}.", "only `#count` and `#sum`"),
        ("a :- p(X) : q(X).", "a conditional literal"),
        ("#show X : p(X).", "`#show` with a condition"),
        ("#external p. [true]", "`#external` with a value"),
    ],
)
def test_what_is_left_to_clingo(text: str, reason: str) -> None:
    program = read(text)
    assert program.lowered(3) is None
    assert any(obstacle.reason.startswith(reason) for obstacle in program.obstacles)
    assert program.obstacles[0].words.startswith(("x.lp:1:", "negation"))


@pytest.mark.skipif(not STREAMRULE.exists(), reason="the data of StreamRule is not here")
def test_universities() -> None:
    program = read((STREAMRULE / "lubm.txt").read_text())
    facts = [read_fact(line.rstrip(".")) for line in (STREAMRULE / "facts_first500.lp").read_text().splitlines()]
    expected = (STREAMRULE / "expected_lubm_first500.lp").read_text().splitlines()
    assert answers(program, *facts) == sorted(line.rstrip(".") for line in expected if line)
