"""What LARS text becomes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.diagnostics import RejectedError, Source
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Comparison,
    Constant,
    Formula,
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
from thalweg.languages.lars import parse, read
from thalweg.languages.lars.parser import Plain, statements
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

TICKER = Path(__file__).parents[4] / "shared" / "data" / "lars" / "ticker"

P = Atom("p", (Variable("X"),))
X, Y, U = Variable("X"), Variable("Y"), Variable("U")


def program(text: str, tick_length: int = 1_000) -> Program:
    return read(Source("test.lars", text), tick_length)


def body(text: str) -> tuple[object, ...]:
    return program(f"h :- {text}.").rules[0].body


def codes(text: str, tick_length: int = 1_000) -> list[str]:
    return [found.code for found in parse(Source("test.lars", text), tick_length)[1]]


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("p(X)", Now(P)),
        ("p(X) at U", At(P, U)),
        ("p(X) at 36", At(P, Constant("36"))),
        ("p(X) in [10]", InWindow(P, TimeWindow(10))),
        ("p(X) [10]", InWindow(P, TimeWindow(10))),
        ("p(X) at U in [10]", At(P, U, TimeWindow(10))),
        ("p(X) at U [10]", At(P, U, TimeWindow(10))),
        ("p(X) always in [10]", Always(P, TimeWindow(10))),
        ("p(X) always [10]", Always(P, TimeWindow(10))),
        ("p(X) from s", Now(P, "s")),
        ("p(X) from :s [0]", InWindow(P, TimeWindow(0), "s")),
        ("p(X) from <http://e.org/s> at U [1]", At(P, U, TimeWindow(1), "<http://e.org/s>")),
        ("p(X) from s always in [3 #]", Always(P, TupleWindow(3), "s")),
        ("at(X,X) at U in [2]", At(Atom("at", (X, X)), U, TimeWindow(2))),
        ("in in [2]", InWindow(Atom("in"), TimeWindow(2))),
    ],
)
def test_formulas(text: str, formula: Formula) -> None:
    assert body(text) == (formula,)
    assert body(f"not {text}") == (Not(formula),)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("[10 sec]", TimeWindow(10)),
        ("[10s]", TimeWindow(10)),
        ("[5 min step 1 min]", TimeWindow(300, 60)),
        ("[5 step 2]", TimeWindow(5, 2)),
        ("[1 hour]", TimeWindow(3600)),
        ("[2000 ms]", TimeWindow(2)),
        ("[1.5 min]", TimeWindow(90)),
        ("[1 d step 1 h]", TimeWindow(86_400, 3_600)),
        ("[3 #]", TupleWindow(3)),
        ("[3#]", TupleWindow(3)),
        ("[3 # p/2]", TupleWindow(3, Predicate("p", 2))),
        ("[3 # <http://e.org/p>/2]", TupleWindow(3, Predicate("<http://e.org/p>", 2))),
    ],
)
def test_windows(text: str, window: TimeWindow | TupleWindow) -> None:
    assert body(f"p(X) in {text}") == (InWindow(P, window),)


def test_a_shorter_tick_makes_more_of_them() -> None:
    assert show(program("a :- p in [2500 ms].", tick_length=500)) == "a :- p in [5]."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("X = Y + 1", "X = Y + 1"),
        ("X == Y", "X = Y"),
        ("X <> Y", "X != Y"),
        ("X<Y", "X < Y"),
        ("X>=-3", "X >= -3"),
        ("1 + 2 * 3 < X", "1 + 2 * 3 < X"),
        ("(1 + 2) * 3 < X", "(1 + 2) * 3 < X"),
        ("X = Y - (3 - 2)", "X = Y - (3 - 2)"),
        ("X = Y - 3 - 2", "X = Y - 3 - 2"),
        ("X = -Y", "X = 0 - Y"),
        ("X = Y-1", "X = Y - 1"),
        ("X = Y mod 3", "X = Y mod 3"),
        ("X = mod", "X = mod"),
        ("X < 1.5e-3", "X < 0.0015"),
        ("abc != X", "abc != X"),
        ('"a" = X', "a = X"),
        ('"a b" = X', '"a b" = X'),
        ("20 < V < 25", "20 < V, V < 25"),
        ("abs(V - A) > round(A / 10, 1)", "abs(V - A) > round(A / 10, 1)"),
        ("X = mod(Y, 3) + min(Y, 3)", "X = Y mod 3 + min(Y, 3)"),
        ("p(floor(X))", "V'1 = floor(X), p(V'1)"),
        ('starts_with(X, "a"), not matches(lower(X), "^b+")', 'starts_with(X, a), not matches(lower(X), "^b+")'),
        ("N = quantile(0.95){V, T : p(V) at T in [9]}", "N = quantile(0.95){V, T : p(V) at T in [9]}"),
        ("median{V : p(V)} < 3", "V'1 = median{V : p(V)}, V'1 < 3"),
        ("X < @2026-11-15", 'X < "2026-11-15"^^<http://www.w3.org/2001/XMLSchema#date>'),
        ("N = count{C : at(C,R) in [5 min]}", "N = count{C : at(C,R) in [300]}"),
        ("N = count{C:at(C,R)}", "N = count{C : at(C,R)}"),
        ("count{C : p(C)} = N", "N = count{C : p(C)}"),
        ("N = sum{V,S : load(S,V), V > 3, not off(S)}", "N = sum{V, S : load(S,V), V > 3, not off(S)}"),
        ("count{C : p(C)} > 3", "V'1 = count{C : p(C)}, V'1 > 3"),
        ("3 < count{C : p(C)}", "V'1 = count{C : p(C)}, 3 < V'1"),
        ("min{C : p(C)} = max{C : p(C)}", "V'1 = min{C : p(C)}, V'2 = max{C : p(C)}, V'1 = V'2"),
        ("p(X+1,Y)", "V'1 = X + 1, p(V'1,Y)"),
        ("not p(X+1)", "V'1 = X + 1, not p(V'1)"),
        ("p(X) at T+1 in [3]", "V'1 = T + 1, p(X) at V'1 in [3]"),
        ("N = avg{X : p(X*2)}", "N = avg{X : V'1 = X * 2, p(V'1)}"),
        ("count(X), sum(X)", "count(X), sum(X)"),
    ],
)
def test_values(text: str, shown: str) -> None:
    assert show(program(f"h :- {text}.")) == f"h :- {shown}."


def test_the_names_that_are_made_up_keep_clear_of_those_that_are_there() -> None:
    assert show(program("h :- p(V'1), q(X+1).")) == "h :- p(V'1), V'2 = X + 1, q(V'2)."


def test_each_lone_underscore_is_a_variable_of_its_own() -> None:
    (rule,) = program("h(_) :- p(_,_), not q(_X,_).").rules
    names = [[arg.name for arg in args if isinstance(arg, Variable)] for args in (
        rule.head.args, rule.body[0].atom.args, rule.body[1].formula.atom.args,  # type: ignore[union-attr]
    )]  # fmt: skip
    assert names == [["_'1"], ["_'2", "_'3"], ["_X", "_'4"]]


def test_a_head_calculates_and_has_a_time() -> None:
    assert program("h(X+1) at U-1 :- p(X) at U in [3].").rules == (
        Rule(
            Atom("h", (Operation("+", X, Constant("1")),)),
            (At(P, U, TimeWindow(3)),),
            Operation("-", U, Constant("1")),
        ),
    )


def test_facts_are_background_and_timed_facts_are_rules() -> None:
    assert program("car(1). car(2). done. a(x) at 36.") == Program(
        (Rule(Atom("a", (Constant("x"),)), (), Constant("36")),),
        (Fact("car", ("1",)), Fact("car", ("2",)), Fact("done")),
    )


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("x_1A", "x_1A"),
        ("007", "7"),
        ("-3", "-3"),
        ("- 3", "-3"),
        ("12.50", "12.50"),
        ("1e3", "1000"),
        ("1+2*3", "7"),
        ('"b c"', '"b c"'),
        ('"a. b, c) at 3."', '"a. b, c) at 3."'),
        (r'"say \"hi\"\n"', r'"say \"hi\"\n"'),
        ('"tab\there"', r'"tab\there"'),
        ('"x"@EN-gb', '"x"@en-gb'),
        ('"P1D"^^<http://e.org/d>', '"P1D"^^<http://e.org/d>'),
        ('"x"^^<http://www.w3.org/2001/XMLSchema#string>', "x"),
        ('"x1"', "x1"),
        ('"X1"', '"X1"'),
        ('"31.5"^^xsd:double', '"31.5"^^<http://www.w3.org/2001/XMLSchema#double>'),
        ("@2026-11-15T08:00:00Z", '"2026-11-15T08:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'),
        ('"03"^^xsd:integer', "3"),
        ("<http://e.org/x.y#z>", "<http://e.org/x.y#z>"),
        ("ex:jam", "<http://example.org/jam>"),
        ("ex:main-road", "<http://example.org/main-road>"),
        (":a", "<http://empty.org/a>"),
        ("_:b0", "_:b0"),
    ],
)
def test_terms(written: str, term: str) -> None:
    prefixes = (
        "@prefix ex: <http://example.org/> . @prefix : <http://empty.org/> ."
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."
    )
    assert program(f"{prefixes} a({written}).").background == (Fact("a", (term,)),)
    if written != "1+2*3":
        assert program(f"{prefixes} a :- b({written}).").rules[0].body == (Now(Atom("b", (Constant(term),))),)


def test_prefixes_name_predicates() -> None:
    text = "@prefix ex: <http://e.org/> . ex:jam(R) :- ex:speed(R,V) in [60 # ex:speed/2], V < 20. ex:a."
    assert show(program(text)) == (
        "<http://e.org/jam>(R) :- <http://e.org/speed>(R,V) in [60 # <http://e.org/speed>/2], V < 20.\n<http://e.org/a>."
    )


def test_a_dot_ends_a_statement_only_where_it_is_not_part_of_a_number() -> None:
    assert show(program("a :- X = 3.b :- X = 3.5.c(3.5).d(4).")) == "a :- X = 3.\nb :- X = 3.5.\nc(3.5).\nd(4)."


def test_comments_stand_anywhere() -> None:
    text = '% one. \na /* two. \n */ :- // three.\n b, % four\n c("% no", "// no"). /* * / */'
    assert show(program(text)) == 'a :- b, c("% no","// no").'


def test_an_empty_text_is_an_empty_program() -> None:
    assert program(" % nothing") == program("") == Program()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("leq(18,V)", "18 <= V"),
        ("lt(V,18)", "V < 18"),
        ("geq(V,W)", "V >= W"),
        ("gt(V,W)", "V > W"),
        ("eq(V,W)", "V = W"),
        ("neq(V,W)", "V != W"),
        ("not eq(V,W)", "V != W"),
        ("not lt(V,W)", "V >= W"),
        ("incr(K,L)", "L = K + 1"),
        ("decr(K,L)", "L = K - 1"),
        ("sum(X,Y,Z)", "Z = X + Y"),
        ("diff(X,Y,Z)", "Z = X - Y"),
        ("prod(X,Y,Z)", "Z = X * Y"),
        ("N = count{X : p(X), lt(X,3)}", "N = count{X : p(X), X < 3}"),
        ("lt(X)", "lt(X)"),
        ("lt(X,Y) in [3]", "lt(X,Y) in [3]"),
        ("lt(X,Y) from s", "lt(X,Y) from s"),
    ],
)
def test_tickers_built_in_predicates(text: str, shown: str) -> None:
    assert show(program(f"h :- {text}.")) == f"h :- {shown}."


def test_a_program_may_define_what_ticker_builds_in() -> None:
    for text in ("h :- lt(a,b).\nlt(X,Y) :- p(X,Y).", "h :- lt(a,b).\nlt(a,b).", "h :- lt(a,b), lt(b,a) in [3]."):
        assert show(program(text)) == text


@pytest.mark.skipif(not TICKER.exists(), reason="Ticker's programs are not here")
def test_tickers_programs_are_read() -> None:
    shown = [show(program(path.read_text())) for path in sorted(TICKER.glob("*.lars"))]
    assert len(shown) == 3
    assert all(show(program(text)) == text for text in shown)


def test_everything_knows_where_it_was_written() -> None:
    text = "h(X) at U :- p(X) at U in [3 sec], not q(X), X < 1 + 2, N = count{Y : r(Y)}."
    (rule,) = program(text).rules
    at, negation, comparison, aggregate = rule.body
    assert isinstance(at, At)
    assert isinstance(negation, Not)
    assert isinstance(comparison, Comparison)
    assert isinstance(aggregate, Aggregate)
    assert at.window is not None
    nodes = (
        rule,
        rule.head,
        rule.head.args[0],
        rule.time,
        at,
        at.atom,
        at.window,
        negation,
        comparison.right,
        aggregate,
    )
    assert [text[node.span.start : node.span.end] for node in nodes if node] == [
        text, "h(X)", "X", "U", "p(X) at U in [3 sec]", "p(X)", "[3 sec]", "not q(X)", "1 + 2", "N = count{Y : r(Y)}",
    ]  # fmt: skip


def test_one_mistake_does_not_hide_the_next() -> None:
    text = "p(X :- q(X).\ncar(1).\nr :- , s.\n@base <x> .\nt :- ex:u. v :- w."
    found, diagnostics = parse(Source("test.lars", text))
    assert [(one.code, one.span.source.position(one.span.start)) for one in diagnostics] == [
        ("E101", (1, 5)),
        ("E101", (3, 6)),
        ("E102", (4, 1)),
        ("E103", (5, 6)),
    ]
    assert found.background == (Fact("car", ("1",)),)
    assert found.rules[-1] == Rule(Atom("v"), (Now(Atom("w")),))


def test_a_forgotten_dot_costs_neither_statement() -> None:
    found, diagnostics = parse(Source("test.lars", "a :- b\nc :- d.\ne :- f"))
    assert [one.span.source.position(one.span.start) for one in diagnostics] == [(1, 7), (3, 7)]
    assert show(found) == "a :- b.\nc :- d.\ne :- f."


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a :- b", "E101"),
        ("a :- .", "E101"),
        (":- a.", "E101"),
        ("a | b.", "E101"),
        ('a("x).', "E101"),
        (r'a("\x").', "E101"),
        ("Speed(X) :- p(X).", "E101"),
        ("a :- N = count{X : p(X), M = count{Y : q(Y)}}.", "E101"),
        ("a :- p in [3 parsec].", "E101"),
        ("a :- p in [1.5 #].", "E101"),
        ("a /* never closed", "E101"),
        ("a :- b'.", "E101"),
        ("@include x.", "E102"),
        ("a :- ex:b.", "E103"),
        ("a(ex:b).", "E103"),
        ("a :- p in [3 # ex:p/1].", "E103"),
        ('a("1"^^xml:integer).', "E103"),
        ("a(@2026-13-01).", "E101"),
        ("#include x.", "E102"),
        ("#record p.", "E101"),
        ("a :- p before [0].", "E206"),
        ("a :- p before [3 step 2].", "E210"),
        ("a :- p at T before [3 #].", "E210"),
        ("a :- p always before [3].", "E101"),
        ("a :- p(X) in [1 # by Y].", "E212"),
        ("a :- p(_) in [1 # by _].", "E212"),
        ("a :- p(a) in [1 # by a].", "E212"),
        ("a :- p(X,a) in [1 # by X, a].", "E212"),
        ("a :- p(X) in [1 # by 3].", "E212"),
        ("a :- p(X) in [1 # by].", "E212"),
        ("a :- p(X) in [1 # by a.", "E212"),
        ("a :- p(X) in [1 # bye].", "E101"),
        ("a :- p(X + 1), q(X) in [0 # by X].", "E206"),
        ("a :- p(X), f(X) > 3.", "E213"),
        ("a :- p(X), round(X, 1, 2) > 3.", "E213"),
        ("a :- p(X), mod(X) > 3.", "E213"),
        ("a :- contains(X, Y) in [3].", "E213"),
        ("a :- not contains(X).", "E213"),
        ("a :- p(X), 3 < quantile(1.5){V : q(V)}.", "E213"),
        ('a :- p(X), matches(X, "(").', "E214"),
        ("a(99999999999999999999).", "E104"),
        ("a(1e999999999).", "E104"),
        ("a(1e-999999999).", "E104"),
        (f"a({'1' * 5000}).", "E104"),
        ("a :- X < 1e40.", "E104"),
        ("a :- p in [99999999999999999 d].", "E104"),
        ("a :- p in [1500 ms].", "E105"),
        ("a :- p in [2.5].", "E105"),
        ("a :- p in [3 step 0.5 s].", "E105"),
        ("car(1). car(1,2).", "E201"),
        ("a :- p in [-3].", "E206"),
        ("a :- p in [0 #].", "E206"),
        ("a :- p in [-1 #].", "E206"),
        ("a :- p in [3 step 0].", "E206"),
        ("a :- p in [3 step -2 sec].", "E206"),
        ("a(1/0).", "E207"),
        ("a(1+b).", "E207"),
        ("a :- p in [3 # p/1.5].", "E208"),
        (f"a :- p in [3 # p/{'1' * 5000}].", "E208"),
    ],
)
def test_rejected(text: str, code: str) -> None:
    assert codes(text) == [code]
    with pytest.raises(RejectedError):
        program(text)


def test_a_way_out_of_a_tick_that_is_too_long() -> None:
    (found,) = parse(Source("test.lars", "a :- p in [2500 ms]."))[1]
    assert "--tick 500ms" in found.help
    assert codes("a :- p in [2500 ms].", tick_length=500) == []


def test_the_same_class_and_property_may_have_one_name() -> None:
    assert codes("<http://e.org/p>(a). <http://e.org/p>(a,b).") == []


def test_plain_facts_need_no_parser() -> None:
    found = list(statements(Source("test.lars", 'edge(8,x). name(a, "b, c"). done. <http://e.org/p>(ex:a,-2.5).')))
    assert [one.terms for one in found if isinstance(one, Plain)] == [["8", "x"], ["a", '"b, c"'], [], ["ex:a", "-2.5"]]


WORDS = [
    "p", "X", "_", "(", ")", ",", ".", ":-", " ", "\n", "at", "in", "[", "]", "3", "sec", "#", "not", "always", "from",
    "count", "{", "}", ":", "=", "<", "+", "-", "mod", "ex:a", "<http://e.org/x>", '"s"', '"', "%", "/*", "*/",
    "@prefix",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join))
def test_whatever_is_written_gets_an_answer(text: str) -> None:
    found, diagnostics = parse(Source("test.lars", text))
    assert all(one.help and one.span.source.text == text for one in diagnostics)
    assert diagnostics or read(Source("shown", show(found))) == found


@pytest.mark.parametrize("expression", ["X" + "+1" * 5_000, "-" * 5_000 + "X", "(1+" * 5_000 + "X" + ")" * 5_000])
def test_nesting_has_an_end(expression: str) -> None:
    program, found = parse(Source("x.lars", f"q({expression}) :- p(X). r(X) :- p(X)."))
    assert [one.code for one in found] == ["E302"]
    assert [rule.head.predicate for rule in program.rules] == ["r"]


def test_what_is_nested_less_is_printed_and_compared() -> None:
    program = read(Source("x.lars", f"q(X{'+1' * 140}) :- p(X)."))
    assert read(Source("x.lars", show(program))) == program
