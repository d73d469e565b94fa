"""What counts as a change of a program, clause by clause."""

import pytest

from thalweg import api
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import RejectedError, Source
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.part import Part
from thalweg.kinds.units import ProgramChange, Unit, Units, aged, changed, units_of
from thalweg.model.predicate import Predicate
from thalweg.model.time import Clock

CONTEXT = Context(Settings(), Clock(), lambda diagnostic: None)
SPEED, LIGHT = Predicate("speed", 2), Predicate("light", 1)


def part(*texts: str, background: str = "", **options: object) -> Part:
    """A part of texts, each after the name of its file."""
    sources = [Source(*text.split(": ", 1)) for text in texts]
    known = [Source("known.facts", background)] if background else []
    found, wrong = api.analyse(sources, known, **options)
    assert not [one for one in wrong if one.severity == "error"]
    return found


def change(old: Part, new: Part) -> ProgramChange:
    return changed(units_of(old, CONTEXT), units_of(new, CONTEXT))


def begun(old: str, new: str) -> set[str]:
    """What begins of two programs of rules."""
    return {*change(part(f"r.lars: {old}"), part(f"r.lars: {new}")).begun}


RULES = "a(X) :- p(X) in [3]. b(X) :- a(X). c(X) :- q(X)."


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("c(X) :- q(X).\n% a comment\nb(X) :- a(X).   a(X) :- p(X) in [3].", set()),
        (RULES.replace("[3]", "[4]"), {"a/1", "b/1"}),
        (RULES.replace("b(X) :- a(X)", "b(X) :- a(X), q(X)"), {"b/1"}),
        (f"{RULES} a(X) :- q(X).", {"a/1", "b/1"}),
        (f"{RULES} d(X) :- b(X).", {"d/1"}),
        (f"{RULES} #record q/1.", {"c/1"}),
        (f"{RULES} q(X) :- r(X).", {"c/1", "q/1"}),
        (f"{RULES} p(z).", {"a/1", "b/1"}),
        (f"{RULES} #show c/1.", set()),
    ],
    ids=["layout", "window", "body", "another rule", "a reader", "record", "derived now", "a fact", "shown"],
)
def test_rules_change_with_all_that_they_read(new: str, expected: set[str]) -> None:
    assert begun(RULES, new) == expected


def test_rules_that_are_gone_change_their_readers() -> None:
    found = change(part(f"r.lars: {RULES}"), part("r.lars: b(X) :- a(X). c(X) :- q(X)."))
    assert found == ProgramChange(same=("c/1",), begun=("b/1",), gone=("a/1",))


def test_predicates_that_read_each_other_change_together() -> None:
    circle = "even(X) :- odd(X) before [1]. odd(X) :- even(X) before [1], p(X). #record even/1. #record odd/1."
    assert begun(f"{RULES} {circle}", f"{RULES} {circle.replace('p(X)', 'q(X)')}") == {"even/1", "odd/1"}


def test_background_counts_where_it_is_read() -> None:
    old, new = (part(f"r.lars: {RULES}", background=facts) for facts in ("p(x). s(x).", "p(x). s(y)."))
    assert change(old, new).begun == ()
    new = part(f"r.lars: {RULES}", background="p(y). s(x).")
    assert change(old, new).begun == ("a/1", "b/1")


def test_equality_makes_all_rules_one() -> None:
    ontology = (
        "c.ttl: @prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :p a owl:FunctionalProperty ."
    )
    old, new = (part(ontology, f"r.lars: a(X) :- s(X). b(X) :- {body}(X).") for body in "tu")
    assert not change(old, new).same


def test_mappings_and_streams_count_where_they_bring_what_is_read() -> None:
    rules = part("r.lars: slow(R) :- speed(R,V), V < 9. red(R) :- light(R).")

    def units(*sources: tuple[str, frozenset[Predicate] | None], light: str = "light(r)") -> Units:
        return units_of(rules, CONTEXT, [(SPEED, "speed(r, v)"), (LIGHT, light)], sources)

    speeds, lights = ("speeds.csv", frozenset({SPEED})), ("lights.csv", frozenset({LIGHT}))
    assert changed(units(speeds), units(speeds, light="light(road)")).begun == ("red/1",)
    assert changed(units(speeds), units(speeds, lights)).begun == ("red/1",)
    assert changed(units(speeds), units(speeds, ("any.facts", None))).begun == ("red/1", "slow/1")


QUERY = """q.rspql: PREFIX : <http://e/>
REGISTER RSTREAM :one AS SELECT ?x FROM NAMED WINDOW :w ON STREAM :r [RANGE 3s, SLIDE 1s]
WHERE { WINDOW :w { ?x a :a } }
"""
HEARD = "r.lars: @prefix : <http://e/> . :a(X) :- :p(X) in [3]. :b(X) :- :p(X)."


def test_queries_read_the_rules_of_a_file_as_a_stream() -> None:
    old = part(HEARD, QUERY)
    assert change(old, part(HEARD, QUERY.replace("3s", "4s"))).begun == ("the query `one`",)
    assert change(old, part(HEARD.replace("[3]", "[4]"), QUERY)).begun == ("<http://e/a>/1", "the query `one`")


def test_classes_that_were_asked_for_are_units() -> None:
    def asking(classes: str | None, axioms: str = "") -> Part:
        known = "SubClassOf(:b :a) SubClassOf(:a :c) Declaration(Class(:d))"
        text = f"c.ofn: Prefix(:=<http://e/>) Ontology({known} {axioms})"
        return part(text, ontology=api.OntologyOptions(task="abstraction", profile="dl", classes=classes))

    both = "<http://e/b> and <http://e/d>"
    two = asking(f"<http://e/a>, {both}")
    found = change(two, asking(f"{both}, <http://e/c>", "SubClassOf(:e :f)"))
    assert (found.same, found.begun) == ((f"the class `{both}`",), ("the class `<http://e/c>`",))
    assert found.gone == ("the class `<http://e/a>`",)
    assert change(two, asking(f"<http://e/a>, {both}", "SubClassOf(:x :a)")).begun == found.gone
    assert change(asking(None), asking(None, "SubClassOf(:x :a)")).begun == ("the program",)


def test_a_query_is_the_same_alone_and_beside_others() -> None:
    other = QUERY.replace("q.rspql", "s.rspql").replace(":one", ":two")
    assert change(part(QUERY), part(QUERY, other)) == ProgramChange(("the query `one`",), ("the query `two`",))


def test_parts_are_the_same_beside_new_ones_of_other_kinds() -> None:
    """An answer set program stands before the queries of a plan, wherever it was named."""
    found = change(part(HEARD, QUERY), part(HEARD, QUERY, "c.lp: go(X) :- q(X)."))
    assert found.begun == ("the answer set program",)


CHOICE = "c.lp: {go(X)} :- a(X). #show go/1."
AROUND = "r.lars: a(X) :- p(X). b(X) :- go(X). c(X) :- p(X)."


def test_answer_sets_count_with_their_options_and_what_they_read() -> None:
    def mixed(choice: str = CHOICE, around: str = AROUND, background: str = "", **options: object) -> Part:
        return part(around, choice, background=background, solving=SolveOptions(**options))  # type: ignore[arg-type]

    below = ("b/1", "the answer set program")
    assert change(mixed(), mixed(CHOICE.replace("a(X)", "a(X), p(X)"))).begun == below
    assert change(mixed(), mixed(window=4, slide=2)).begun == below
    assert change(mixed(), mixed(models="brave")).begun == below
    assert change(mixed(), mixed(around=AROUND.replace("a(X) :- p", "a(X) :- q"))).begun == ("a/1", *below)
    assert change(mixed(), mixed(background="other(x).")).begun == ()


def test_windows_that_count_everything_need_the_same_streams() -> None:
    counting = "k.lars: @prefix : <http://e/> . :last(X) :- :p(X) [3 #]."
    construct = QUERY.replace("SELECT ?x", "CONSTRUCT { ?x :made ?x }")
    with pytest.raises(RejectedError, match="counts the facts of all streams"):
        change(part(counting), part(counting, construct))
    assert change(part(counting), part(counting.replace("3 #", "4 #"), construct)).begun[0] == "<http://e/last>/1"


def test_units_that_have_not_begun_begin_again() -> None:
    """A second change before the next tick: both begin there."""
    old = Units({"a/1": Unit("x", since=7), "b/1": Unit("y")})
    new = Units({"a/1": Unit("x"), "b/1": Unit("y"), "c/1": Unit("z")})
    assert changed(old, new, 7) == ProgramChange(("b/1",), ("a/1", "c/1"))
    assert changed(old, new, 9) == ProgramChange(("a/1", "b/1"), ("c/1",))
    assert {name: unit.since for name, unit in aged(old, new, changed(old, new, 9), 9).by_name.items()} == {
        "a/1": 7,
        "b/1": None,
        "c/1": 9,
    }
