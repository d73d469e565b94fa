"""Texts of events, and what they become."""

import pytest

from thalweg.diagnostics import Source
from thalweg.ir.patterns import Absent, Both, Clause, Either, Filter, Occurs, Pattern, Sequence, Triple
from thalweg.languages import cascade
from thalweg.languages.cascade.event_definitions import CascadeProgram, ClassText
from thalweg.languages.compile_options import Options

SITE = "http://example.org/site#"
PAGE = """
PREFIX : <http://example.org/site#>
PREFIX sosa: <http://www.w3.org/ns/sosa/>

NAMED EVENT :Hot  AS :HotReading
NAMED EVENT :Cold AS sosa:Observation and (:of some :ColdStore) and (:celsius some xsd:double[< 4.0])

NAMED EVENT :CooledDown {
  MATCH EVERY :Hot SEQ :Cold WITHIN (10 m)
  IF { EVENT :Hot  { ?hot  :in ?room ; :celsius ?v . FILTER(?v > 15) }
       EVENT :Cold { ?cold :in ?room } }
}

FROM NAMED WINDOW :w ON STREAM :readings [RANGE 5m, SLIDE 1m]
WHERE { ?kind a :Temperature . WINDOW :w { ?o sosa:observedProperty ?kind ; :celsius ?v } }
"""


def read(text: str, tick_length: int = 1_000) -> CascadeProgram:
    program, found = cascade.compile([Source("rules.tw", text)], Options(tick_length))
    assert [one.render() for one in found] == []
    return program


def pattern(text: str) -> Pattern:
    events = " ".join(f"NAMED EVENT :{name} AS :Class" for name in "ABCN")
    program = read(f"PREFIX : <> {events} NAMED EVENT :E {{ MATCH EVERY {text} WITHIN (9 s) }}")
    definition = program.events[-1].definition
    assert isinstance(definition, Pattern)
    return definition


def test_a_whole_text() -> None:
    hot, cold, cooled = read(PAGE).events
    assert (hot.name, hot.definition) == (f"<{SITE}Hot>", ClassText(f"<{SITE}HotReading>"))
    assert isinstance(cold.definition, ClassText)
    double = "<http://www.w3.org/2001/XMLSchema#double>"
    assert cold.definition.text.endswith(f"and (<{SITE}celsius> some {double}[< 4.0])")
    assert cooled.definition == Pattern(
        Sequence((Occurs(hot.name, 0), Occurs(cold.name, 1))),
        "EVERY",
        600,
        (
            Clause(
                hot.name,
                (Triple("?hot", f"<{SITE}in>", "?room"), Triple("?hot", f"<{SITE}celsius>", "?v")),
                (Filter("( ?v > 15 )", ("v",)),),
            ),
            Clause(cold.name, (Triple("?cold", f"<{SITE}in>", "?room"),)),
        ),
    )
    assert cooled.definition.shared == {"room"}


def test_a_selection_is_kept_as_it_was_written() -> None:
    (selection,) = read(PAGE).selections
    assert selection.text.startswith("FROM NAMED WINDOW :w ON STREAM :readings")
    assert selection.text.endswith("?kind ; :celsius ?v } }")


def test_not_binds_tighter_than_and_than_or_than_seq() -> None:
    a, b, c = (Occurs(f"<{name}>", place) for place, name in enumerate("ABC"))
    assert pattern(":A OR :B SEQ :C").operand == Sequence((Either((a, b)), c))
    assert pattern(":A OR :B AND :C").operand == Either((a, Both((b, c))))
    assert pattern("NOT :A AND :B SEQ :C").operand == Sequence((Both((Absent(a), b)), c))
    assert pattern(":A SEQ :B SEQ :C").operand == Sequence((a, b, c))
    assert pattern("(:A SEQ :B) SEQ :C").operand == Sequence((Sequence((a, b)), c))
    assert pattern(":A SEQ NOT (:B SEQ :C)").operand == Sequence((a, Absent(Sequence((b, c)))))


def test_braces_are_optional_and_keywords_have_any_case() -> None:
    text = "PREFIX : <> NAMED EVENT :A AS :C NAMED EVENT :E MATCH EVERY :A NAMED EVENT :F { AS {:x, :y} }"
    assert read(text) == read(text.replace("NAMED EVENT", "named event").replace("MATCH EVERY", "match every"))
    assert read(text).events[1].definition == ClassText("{<x>, <y>}")


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("3", "3"),
        ("-2.50", "-2.50"),
        ("1e3", '"1e3"^^<http://www.w3.org/2001/XMLSchema#double>'),
        ("true", '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'),
        ('"a\\"b"', '"a\\"b"'),
        ("'a\"b'", '"a\\"b"'),
        ('"""a\nb"""', '"a\\nb"'),
        ('"chat"@FR', '"chat"@fr'),
        ('"3"^^xsd:integer', "3"),
        (":x", "<x>"),
    ],
)
def test_terms_of_triples_are_those_of_facts(written: str, term: str) -> None:
    clauses = f"IF {{ EVENT :A {{ ?o :p {written} }} }}"
    program = read(f"PREFIX : <> NAMED EVENT :A AS :C NAMED EVENT :E {{ MATCH EVERY :A {clauses} }}")
    definition = program.events[-1].definition
    assert isinstance(definition, Pattern)
    assert definition.clauses[0].triples == (Triple("?o", "<p>", term),)


def test_semicolons_commas_and_types() -> None:
    clauses = "IF { EVENT :A { ?o a :T ; :p ?x , ?y ; . ?x :q ?z } }"
    definition = (
        read(f"PREFIX : <> NAMED EVENT :A AS :C NAMED EVENT :E {{ MATCH EVERY :A {clauses} }}").events[1].definition
    )
    assert isinstance(definition, Pattern)
    rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    assert [(one.subject, one.predicate, one.object) for one in definition.clauses[0].triples] == [
        ("?o", rdf_type, "<T>"),
        ("?o", "<p>", "?x"),
        ("?o", "<p>", "?y"),
        ("?x", "<q>", "?z"),
    ]


def test_definitions_come_behind_what_they_use_and_the_top_is_what_nothing_uses() -> None:
    program = read(
        "PREFIX : <> NAMED EVENT :E { MATCH EVERY :D } NAMED EVENT :D { MATCH EVERY :A } NAMED EVENT :A AS :C"
    )
    assert [one.name for one in program.events] == ["<A>", "<D>", "<E>"]
    assert program.top == {"<E>"}


def test_bounds_are_ticks() -> None:
    text = "PREFIX : <> NAMED EVENT :A AS :C NAMED EVENT :E { MATCH EVERY :A WITHIN (1 m) }"
    definition = read(text, tick_length=500).events[1].definition
    assert isinstance(definition, Pattern)
    assert definition.within == 120
    _, found = cascade.compile([Source("rules.tw", text)], Options(7_000))
    assert [one.code for one in found] == ["E105"]


def test_included_files_are_named() -> None:
    source = Source("rules.tw", 'INCLUDE "shared.tw"\nPREFIX : <> NAMED EVENT :A AS :C')
    assert [name for name, _ in cascade.includes(source)] == ["shared.tw"]
