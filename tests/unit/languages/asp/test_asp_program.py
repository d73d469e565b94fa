"""Answer set programs as they are read: statements, inputs, what is shown, what is wrong."""

import pytest

from thalweg.diagnostics import Source
from thalweg.ir.outline import Occurrence
from thalweg.languages.asp.directives import OwnWindow, take_out
from thalweg.languages.asp.program import AspProgram
from thalweg.languages.asp.reader import read_program
from thalweg.languages.asp.terms import Names
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

UB = "http://example.org/ub#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def read(text: str, *inputs: Predicate) -> AspProgram:
    program, wrong = read_program(Source("x.lp", text), inputs)
    assert [found.render() for found in wrong] == []
    return program


def wrong(text: str) -> list[tuple[str, str]]:
    """The numbers of what is wrong, and what they point at."""
    _, found = read_program(Source("x.lp", text))
    return [(one.code, text[one.span.start : one.span.end]) for one in found]


def body(text: str) -> list[str]:
    return [f"{one.how} {one.predicate}" for one in read(text).outlines[0].body]


def test_inputs_are_what_no_rule_derives() -> None:
    assert read("a(X) :- p(X), not q(X,1), b. b.").inputs == ("p/1", "q/2")


def test_inputs_can_be_named() -> None:
    assert read("#input a/1, r/2. a(X) :- p(X).").inputs == ("a/1", "p/1", "r/2")
    assert read("%! input a/1\na(X) :- p(X).").inputs == ("a/1", "p/1")
    assert read("#external p(X) : q(X). q(1).").inputs == ("p/1",)


def test_what_the_user_says_is_all() -> None:
    assert read("#input p/1. a(X) :- p(X), q(X).", Predicate("q", 1)).inputs == ("q/1",)


def test_what_is_shown() -> None:
    assert read("a(X) :- p(X). b.").shown == {"a/1", "b/0"}
    assert read("a(X) :- p(X). b. #show b/0. #show -a/1.").shown == {"b/0", "-a/1"}
    assert read("a(X) :- p(X). #show.").shown == frozenset()


def test_directives_leave_places_as_they_were() -> None:
    lines = (
        'a("#input x/1."). % #input y/1.',
        f"#prefix ub : <{UB}>.",
        "#from stream <http://s> [TIME 3s STEP 2s]",
        "b.",
    )
    text = "\n".join(lines)
    found = take_out(Source("x.lp", text))
    assert len(found.text) == len(text)
    assert found.text.split("\n")[0].rstrip() == 'a("#input x/1.").'
    assert found.text.endswith("\nb.")
    assert (found.prefixes, found.inputs, found.window) == ({"ub": UB}, [], OwnWindow("3s", "2s"))


def test_statements_of_other_parts_are_not_read() -> None:
    program, found = read_program(Source("x.lp", "a :- p. #program step(t). b(t) :- q. #program base. c :- r."))
    assert [one.heads for one in program.outlines] == [("a/0",), ("c/0",)]
    assert [one.code for one in found] == ["W502"]


def test_how_atoms_occur() -> None:
    assert body("a :- p, not q, not not r.") == ["positive p/0", "negative q/0", "negative r/0"]
    assert body("a :- #sum{X : p(X), not q(X)} > 1.") == ["aggregate p/1", "aggregate q/1"]
    assert body("a :- p(X) : q(X).") == ["aggregate p/1", "aggregate q/1"]
    assert body("a :- 1 { p; not q } 2.") == ["aggregate p/0", "aggregate q/0"]
    assert body("{ a(X) : p(X) } = 1 :- q.") == ["positive q/0", "aggregate p/1"]
    assert body("a(X) : p(X) ; b :- q.") == ["positive q/0", "aggregate p/1"]
    assert body("a :- p(X;Y), q(X), q(Y).") == ["positive p/1", "positive q/1", "positive q/1"]
    assert body("a :- p(1;2,3).") == ["aggregate p/1", "aggregate p/2"]
    assert body("a :- -p, X = 1..3.") == ["positive -p/0"]


@pytest.mark.parametrize(
    ("text", "kind", "heads"),
    [
        ("a(X) :- p(X).", "rule", ("a/1",)),
        ("a(1;2,3).", "rule", ("a/1", "a/2")),
        ("-a :- p.", "rule", ("-a/0",)),
        ("#show X : p(X).", "rule", ()),
        ("{ a ; b }.", "choice", ("a/0", "b/0")),
        ("#sum{ X : a(X) : p(X) } < 3.", "choice", ("a/1",)),
        ("#external a : p. [free]", "choice", ("a/0",)),
        ("a ; b :- p.", "disjunction", ("a/0", "b/0")),
        (":- p.", "constraint", ()),
        ("not a :- p.", "constraint", ()),
        ("#edge (X,Y) : p(X,Y).", "constraint", ()),
        (":~ p. [1]", "weak", ()),
        ("#maximize { X : p(X) }.", "weak", ()),
    ],
)
def test_kinds_of_statements(text: str, kind: str, heads: tuple[str, ...]) -> None:
    found = read(text).outlines[0]
    assert (found.kind, found.heads) == (kind, heads)


def test_a_predicate_and_its_denial_exclude_each_other() -> None:
    found = read("-a(X) :- p(X). a(X) :- q(X).").outlines[-1]
    assert (found.kind, found.text) == ("constraint", ":- a(X0), -a(X0).")


def test_all_edges_are_one_graph() -> None:
    found = read("#edge (X,Y) : p(X,Y). #edge (X,Y) : q(X,Y).").outlines
    assert [[one.predicate for one in each.body] for each in found] == [["p/2", "q/2"]] * 2


def test_theories_touch_everything() -> None:
    found = read("#theory t { x {}; &g/0 : x, any }. a :- p. b :- &g{}, q.").outlines
    assert all({"a/0", "b/0", "p/0", "q/0"} == one.predicates for one in found)
    assert {one.kind for one in found} == {"choice"}


def test_a_statement_is_text_that_clingo_reads_back() -> None:
    program = read("#const n = 2. a(X) :- p(X), X < n. :- a(X), not q(X). #show a/1.")
    again = read(program.text())
    assert [one.text for one in again.outlines] == [one.text for one in program.outlines]
    assert again.everywhere == program.everywhere


def test_variables_are_kept_by_argument() -> None:
    (occurrence,) = read("a(X) :- p(X,_,1,Y).").outlines[0].body
    assert occurrence == Occurrence(Predicate("p", 4), "positive", ("X", None, None, "Y"))


def test_what_is_wrong_comes_at_once_and_in_its_place() -> None:
    assert wrong('p("é"). a(X) :- p(Y).\nb(X :- c.\nc(Z) :- not d(Z).') == [
        ("E101", ":-"),
        ("E203", "X"),
        ("E203", "Z"),
    ]


def test_what_clingo_would_not_survive() -> None:
    assert wrong("é :- b.")[0] == ("E101", "é")
    assert wrong("a.\0b.")[0] == ("E101", "\0")


def test_other_complaints_of_clingo() -> None:
    assert wrong("#const n = 1. #const n = 2. a(n).") == [("E501", "#const n = 2.")]
    assert [code for code, _ in wrong("a :- &nothing{}.")] == ["E501"]


@pytest.mark.parametrize("text", ["#prefix ub <http://x>.", "#input p.", "#from stream s"])
def test_directives_that_are_none(text: str) -> None:
    assert wrong(f"{text}\na.") == [("E101", text.split()[0])]


NAMES = Names(
    {"ub": UB, "rdf": RDF}, frozenset({Predicate("ub_advisor", 2), Predicate("rdf_type", 2), Predicate("near", 2)})
)


def test_facts_of_rdf_have_names() -> None:
    assert list(NAMES.atoms(Fact(f"<{UB}advisor>", ("<a>", "<b>")))) == [("ub_advisor", ("<a>", "<b>"))]
    assert list(NAMES.atoms(Fact(f"<{UB}Dean>", ("<a>",)))) == [("rdf_type", ("<a>", f"<{UB}Dean>"))]
    assert list(NAMES.atoms(Fact("ub_advisor", ("a", "b")))) == [("ub_advisor", ("a", "b"))]
    assert list(NAMES.atoms(Fact("far", ("a", "b")))) == []


def test_answers_are_rdf_again() -> None:
    assert str(NAMES.fact("ub_advisor", ('"<a>"', "ub_Dean"))) == f"<{UB}advisor>(<a>,<{UB}Dean>)"
    assert str(NAMES.fact("rdf_type", ('"<a>"', "ub_Dean"))) == f"<{UB}Dean>(<a>)"


def test_prefixes_that_get_in_each_others_way() -> None:
    names = Names({"a": "http://x#", "a_b": "http://y#", "": "http://z#"})
    for iri in ("<http://x#c>", "<http://y#c>", "<http://x#b_c>", "<http://z#c>", "<http://x#c-d>", "<http://x#>"):
        assert names.as_term(names.as_symbol_text(iri)) == iri


@pytest.mark.parametrize(
    "term",
    [
        *("x", "not", "-12", "2147483647", "2147483648", "2.50", "<a>", "_:b", '""', '"a b"', '"<a>"', '"_:b"'),
        *('"\\\\x"', '"a\\nb\\tc\\r"', '"\\"q\\""', '"2.50"', '"chat"@fr', '"P1D"^^<http://x#duration>', '"é"'),
    ],
)
def test_terms_come_back(term: str) -> None:
    assert NAMES.as_term(NAMES.as_symbol_text(term)) == term


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("q(@f(X)) :- p(X).", [3]),
        ("q(X) :- p(X), X = @f(1).", [19]),
        ("q :- not p(@f).", [12]),
        ("q :- #sum{@f(X) : p(X)} > @g.", [27, 11]),
        ("q :- r(@f(X)) : p(X).", [8]),
        ("{q(@f(X)) : p(X)}.", [4]),
        ("a(@f(X)) ; b :- p(X).", [3]),
        ("#show @f(X) : p(X).", [7]),
        ("#minimize{@f(X)@1,X : p(X)}.", [11]),
        (":~ p(X). [@f(X)@@g]", [11, 17]),
        ("#external q(@f(1)).", [13]),
        ("#const n = @f(1).", [12]),
        ("#edge (@f(1),2) : p.", [8]),
        ("#heuristic q(@f) : p. [1@1,@g]", [14, 28]),
        ("#project q(@f(1)).", [12]),
        ("q(1..@f(2);-@g(2);|@h|).", [6, 13, 20]),
        ("q(@f(@g)).", [3, 6]),
        ("&t{X : p(@g(X)), p(X)}. #theory t { tt { - : 2, unary}; &t/0 : tt, any}.", [10]),
    ],
)
def test_calls_of_scripts_are_refused_at_their_place(text: str, columns: list[int]) -> None:
    _, found = read_program(Source("x.lp", text))
    calls = [one for one in found if "calls a script" in one.message]
    assert [(one.code, one.as_data()["column"]) for one in calls] == [("E501", column) for column in columns]


def test_a_text_and_a_comment_call_nothing() -> None:
    assert read_program(Source("x.lp", 'q("@f(X)"). % @f(X)\n%* @f %* *% *% r.'))[1] == []


def test_comments_may_be_nested_and_must_end() -> None:
    program, found = read_program(Source("x.lp", "a. %* x %* y *% b. *% c. %* d."))
    assert [one.heads for one in program.outlines] == [("a/0",), ("c/0",)]
    assert [(one.code, one.message) for one in found] == [("E101", "this comment is not closed")]


@pytest.mark.parametrize(
    "text",
    [
        '#include "a.lp".',
        "#include <incmode>.",
        '#include %* *% "a.lp".',
        '#include % x\n"a.lp".',
        '#include\n"a.lp" .',
        'p."x\\\n#include "a.lp".',
        '%*%\n#include "a.lp".',
        "#includeX.",
    ],
)
def test_no_include_is_left_for_clingo(text: str) -> None:
    assert "#include" not in take_out(Source("x.lp", text)).text


def test_what_only_looks_like_an_include_stays() -> None:
    assert take_out(Source("x.lp", 'p("#include <incmode>.").')).text == 'p("#include <incmode>.").'
