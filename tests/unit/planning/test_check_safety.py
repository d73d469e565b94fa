"""Which rules can be evaluated as they are written."""

import pytest

from thalweg.diagnostics import Diagnostic, Source
from thalweg.ir.nodes import Atom, InWindow, Program, Rule, TimeWindow, TupleWindow
from thalweg.languages.lars import read
from thalweg.planning.check_safety import check_safety


def found(text: str) -> list[Diagnostic]:
    return check_safety(read(Source("test.lars", text)))


def places(text: str) -> list[tuple[str, str]]:
    """The number of each diagnostic, and the text that it points at."""
    return [(one.code, text[one.span.start : one.span.end]) for one in found(text)]


@pytest.mark.parametrize(
    "text",
    [
        "h(X) :- p(X).",
        "h(X) at U :- p(X) at U in [3].",
        "h(X) at U - 1 :- p(X) at U in [3].",
        "h(X) at 36 :- p(X).",
        "h(Y) :- p(X), Y = X + 1.",
        "h(Y) :- Z = X, Y = Z * 2, p(X).",
        "h(X) :- X = 3.",
        "h(X) :- p(X), not q(X), not r(_).",
        "h(X) :- p(X), X < 3, X != abc, X < abc.",
        "h(N) :- N = count{X : p(X)}.",
        "h(R,N) :- road(R), N = count{C : at(C,R)}, N > 3.",
        "h(M) :- N = count{X : p(X)}, M = N + 1.",
        "h(N) :- q(Y), N = sum{Z, X : p(X), Z = X + Y, not r(Z)}.",
        "h :- p(X) in [3 #], q(X) [3 # q/1].",
        "h(X) :- q(X) from s in [3 #]. q(X) :- p(X).",
        "h(X) :- p(X), X = a, X = b.",
        "h(X) :- p(X) at U, q at U in [3].",
        "h(X) :- p(X) at 3.",
        "h(X) :- d(X) at U. d(X) at T :- p(X) at T in [3].",
        "<http://e.org/p>(X) :- <http://e.org/p>(X,X).",
        "a(1) at 36.",
    ],
)
def test_safe(text: str) -> None:
    assert places(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h(X,Y) :- p(X).", [("E203", "Y")]),
        ("h(X).", [("E203", "X")]),
        ("h(X + Y) :- p(X).", [("E203", "Y")]),
        ("h :- not p(X).", [("E203", "X")]),
        ("h :- not p at U.", [("W201", "p at U"), ("E203", "U")]),
        ("h :- p(X), X < Y.", [("E203", "Y")]),
        ("h :- q(X), p(X), not r(X,Y,Y), not s(Y).", [("E203", "Y")]),
        ("h(X) :- p(Y), X = Z + Y.", [("E203", "Z")]),
        ("h(X) :- p(X+1).", [("E203", "X")]),
        ("h(X) :- X + 1 = 3.", [("E203", "X")]),
        ("h(_) :- p(_).", [("E203", "_")]),
        ("h :- p(X), _ < X.", [("E203", "_")]),
        ("h(R,N) :- N = count{C : at(C,R)}.", [("E203", "R")]),
        ("h(N) :- N = count{C : at(C,R)}, not r(R).", [("E203", "R")]),
        ("h(N) :- N = count{C, D : at(C)}.", [("E203", "D")]),
        ("h(N) :- N = count{C : at(C), not q(D)}.", [("E203", "D")]),
        ("h :- count{C : at(C)} > R.", [("E203", "R")]),
        ("h(X) at U :- p(X).", [("E202", "U")]),
        ("h at U + 1 :- not p at U in [3].", [("E202", "U")]),
        ("h(X) at U :- p(X), U = V.", [("E202", "U"), ("E203", "V")]),
        ("h(X) at U :- p(X), U = V + 1.", [("E203", "V")]),
        ("h(U) at U :- p.", [("E203", "U")]),
    ],
)
def test_unbound(text: str, expected: list[tuple[str, str]]) -> None:
    assert places(text) == expected


def test_variables_that_only_bind_each_other() -> None:
    assert places("h(X) :- X = Y, Y = X.") == [("E203", "X"), ("E203", "Y")]


def test_the_way_out_is_made_from_the_rule() -> None:
    (_, found_in_body) = found("sensor(s,t). jam(S) :- not slow(S, T) in [60 s].")
    assert found_in_body.help == "bind it first, for example `sensor(S, T), not slow(S, T) in [60 s]`"
    (in_head,) = found("jam(S) :- p.")
    assert in_head.help == "bind it in the body, for example `jam(S) :- known(S), …`"
    (time,) = found("jam(S) at T :- p(S).")
    assert time.help == "bind it in the body, for example `p(S) at T in [10 sec]`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h :- p(X). g :- p(X,Y).", [("E201", "p(X,Y)")]),
        ("h :- p(X). h(X) :- p(X).", [("E201", "h(X)")]),
        ("h :- not p. g :- N = count{X : p(X)}, N > 1.", [("E201", "p(X)")]),
        ("car(1). h :- car(X,Y).", [("E201", "car(X,Y)")]),
    ],
)
def test_arity_clash(text: str, expected: list[tuple[str, str]]) -> None:
    assert places(text) == expected


def test_an_arity_clash_shows_the_other_place() -> None:
    (clash,) = found("h :- p(X).\ng :- p(X,Y).")
    assert clash.notes == ("`p/1` at test.lars:1:6",)
    (clash,) = found("car(1). h :- car(X,Y).")
    assert clash.notes == ("`car/1` in the fact `car(1)`",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d(X) :- p(X). h :- d(X) in [3 #].", [("E205", "d(X) in [3 #]")]),
        ("d(X) :- p(X). h :- q(X), not d(X) [1 #].", [("E205", "d(X) [1 #]")]),
        ("d(X) :- p(X). h(N) :- N = count{X : d(X) [1 #]}.", [("E205", "d(X) [1 #]")]),
        ("h :- q(X) in [3 # p/2].", [("E208", "[3 # p/2]")]),
        ("h :- q(X) in [3 # q/2].", [("E208", "[3 # q/2]")]),
    ],
)
def test_tuple_windows(text: str, expected: list[tuple[str, str]]) -> None:
    assert places(text) == expected


def test_windows_that_no_text_can_have() -> None:
    windows = (TimeWindow(-1), TimeWindow(3, 0), TupleWindow(0))
    rules = tuple(Rule(Atom("h"), (InWindow(Atom("p"), window),)) for window in windows)
    assert [one.code for one in check_safety(Program(rules))] == ["E206"] * 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('h(X + "1") :- p(X).', [("E207", '"1"')]),
        ("h(Y) :- p(X), Y = X * abc.", [("E207", "abc")]),
        ("h :- p(X), X < 3 - (2 mod <http://e.org/a>).", [("E207", "<http://e.org/a>")]),
        ("h(X) at U + a :- p(X) at U in [3].", [("E207", "a")]),
        ("h :- p(X, abc + 1).", [("E207", "abc")]),
        ("h(N) :- N = sum{abc : p(X)}.", [("E207", "abc")]),
        ("h(N) :- N = avg{X, abc : p(X)}.", []),
        ("h(N) :- N = count{abc : p(X)}.", []),
        ("h(Z) :- p(X), Y = abc, Z = X + Y.", [("E207", "Y")]),
        ("h(X) :- p(X), X < abc.", []),
    ],
)
def test_arithmetic(text: str, expected: list[tuple[str, str]]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h(X) :- p(X) at U.", ["p(X) at U"]),
        ("h(X) :- p(X) at U, q at U in [3 #].", ["p(X) at U"]),
        ("h(X) :- p(X) at U, q at V in [3].", ["p(X) at U"]),
        ("h(X) :- q(X) at T in [3], p(X) at T-1.", ["p(X) at T-1"]),
        ("h(X) :- q(X) at T in [3], not p(X) at T.", []),
    ],
)
def test_what_must_be_kept_for_ever(text: str, expected: list[str]) -> None:
    assert places(text) == [("W201", place) for place in expected]
    assert all(one.severity == "warning" for one in found(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h :- p in [3], p before [3], p at U before [3].", []),
        ("#record a/0. a :- p. h :- a in [3], a before [3].", []),
        ("a :- p. h :- a before [3].", [("E210", "a before [3]")]),
        ("a :- p. h :- not a before [3].", [("E210", "a before [3]")]),
        ("a :- p. h :- a from s before [3], a from s in [3].", []),
        ("a :- p. h :- a in [3].", [("W203", "a in [3]")]),
        (
            "a :- p. h :- a always in [3], N = count{U : a at U in [2]}.",
            [("W203", "a always in [3]"), ("W203", "a at U in [2]")],
        ),
        ("a :- p. h :- a in [0], a.", []),
        ("a at T :- p at T in [3]. h :- a in [3].", []),
        ("a(X) :- a(Y) in [3], e(Y,X).", []),
        ("#record a/0. a :- p. h :- a at U.", [("W201", "a at U")]),
        ("#record a/1. a(X) :- p(X). h :- a(X) in [1 # by X].", [("E205", "a(X) in [1 # by X]")]),
        ("h :- p(X) always in [1 # by X].", [("E212", "p(X) always in [1 # by X]")]),
    ],
)
def test_what_is_remembered(text: str, expected: list[tuple[str, str]]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(
    ("body", "way_out"),
    [
        ('m(R,"CO2",V) in [1 # by R]', 'm(R,Q,V) in [1 # by R, Q], Q = "CO2"'),
        ("q(Q), m(R,c,V) in [1 # by R]", "m(R,Q1,V) in [1 # by R, Q1], Q1 = c"),
        ("m(R,_,V), n(a,R,b,V) in [2 # by R]", "n(Q,R,Q1,V) in [2 # by Q, R, Q1], Q = a, Q1 = b"),
        ("m(R,_,V), not m(R,c,V) in [1 # by R]", "m(R,Q,V) in [1 # by R, Q], Q = c"),
        ("m(R,_,V), N = count{W : m(R,c,W) in [1 # by R]}", "m(R,Q,W) in [1 # by R, Q], Q = c"),
        ("m(R,_,V), door(R,open) at T in [1 # by R]", "door(R,Q) at T in [1 # by R, Q], Q = open"),
        ("m(R,_,V), door(R,open) in [1 # by R]", None),
        ("m(R,Q,V) in [1 # by R], Q = c", None),
        ("m(R,Q,V) in [1 # by R, Q], Q = c", None),
    ],
)
def test_constants_beside_keys(body: str, way_out: str | None) -> None:
    warnings = [one for one in found(f"h(R,V) :- {body}.") if one.code == "W206"]
    assert [one.help.rpartition(": ")[2] for one in warnings] == ([] if way_out is None else [f"`{way_out}`"])


@pytest.mark.parametrize(
    ("aggregate", "warned"),
    [
        ("avg{V : t(V) in [3]}", True),
        ("sum{V + 1, S : s(S), r(S,V) in [3]}", True),
        ("avg{V : t(V) at T in [3]}", True),
        ("avg{V : t(V) before [3]}", True),
        ("avg{V, S : r(S,V) in [2 # by S]}", True),
        ("avg{V, T : t(V) at T in [3]}", False),
        ("avg{V, S : r(S,V) in [1 # by S]}", False),
        ("avg{V : t(V)}", False),
        ("max{V : t(V) in [3]}", False),
        ("sum{W, S : r(S,_) in [3], w(S,W)}", False),
    ],
)
def test_readings_that_are_taken_for_one(aggregate: str, warned: bool) -> None:
    assert [code for code, _ in places(f"h(N) :- N = {aggregate}.")] == ["W204"] * warned


def test_directives_about_nothing() -> None:
    messages = [(one.code, one.message, one.help) for one in found("#record c/1. #show b/2. b(X) :- p(X).")]
    assert messages == [
        ("W205", "`#record c/1.` has no effect: no rule derives it", "write a rule for it, or leave it out"),
        ("W205", "`#show b/2.` has no effect: no rule derives it", "there is `b/1`"),
    ]


def test_diagnostics_come_in_the_order_of_the_text() -> None:
    text = "a(X) :- p(Y).\nb :- p(X,X), q(X) [3 # p/1].\nc(X + a) :- q(X)."
    assert [code for code, _ in places(text)] == ["E203", "E201", "E208", "E207"]
