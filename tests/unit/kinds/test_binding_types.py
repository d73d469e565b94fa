"""What the variables of a pattern hold, where only the stream decides it."""

import pytest

from thalweg.api import load_part
from thalweg.diagnostics import Source
from thalweg.kinds.events import EventCascade
from thalweg.kinds.typed_columns import Inputs, TypedColumns
from thalweg.model.predicate import Predicate

EX = "<http://ex.org/{}>".format
TEXT = """PREFIX : <http://ex.org/>
NAMED EVENT :Seen AS :Reading
NAMED EVENT :Later AS :Reading
NAMED EVENT :Jam {{ MATCH EVERY {operands} WITHIN (10 s) IF {{ {clauses} }} }}
"""
APART = "EVENT :Seen { ?o :speed ?v } EVENT :Later { ?p :weight ?w }"
INPUTS: Inputs = {
    Predicate(EX("speed"), 2): ("text", "integer"),
    Predicate(EX("weight"), 2): ("text", "number"),
    Predicate(EX("on"), 0): (),
}


def columns(operands: str, clauses: str, background: str = "", inputs: Inputs = INPUTS) -> TypedColumns:
    program = Source("e.tw", TEXT.format(operands=operands, clauses=clauses))
    part = load_part([program], [Source("b.ttl", background)] if background else ())
    assert isinstance(part, EventCascade)
    typed = part.typed_columns("changes", Predicate(EX("Jam"), 1), inputs)
    assert typed is not None
    return typed


@pytest.mark.parametrize(
    ("operands", "clauses", "types"),
    [
        (
            ":Seen SEQ :Later",
            "EVENT :Seen { ?o :speed ?v } EVENT :Later { ?p :weight ?w }",
            {"v": "integer", "w": "number"},
        ),
        # Both triples of a clause hold, so one of them is enough.
        (":Seen SEQ :Later", "EVENT :Seen { ?o :speed ?v ; :note ?v }", {"v": "integer"}),
        # Of an OR one branch binds it.
        (":Seen OR :Later", "EVENT :Seen { ?o :speed ?v } EVENT :Later { ?p :note ?v }", {}),
        (":Seen OR :Later", "EVENT :Seen { ?o :speed ?v } EVENT :Later { ?p :weight ?v }", {"v": "number"}),
        # What is a subject somewhere is not a number.
        (":Seen SEQ :Later", "EVENT :Seen { ?o :speed ?v . ?v :speed ?x }", {"x": "integer"}),
        (":Seen SEQ :Later", "EVENT :Seen { ?o ?speed ?v }", {}),
        (":Seen SEQ :Later", "EVENT :Seen { ?o :speed ?to }", {"?to": "integer"}),
    ],
)
def test_variables_hold_what_all_their_clauses_say(operands: str, clauses: str, types: dict[str, str]) -> None:
    assert columns(operands, clauses).types == types


@pytest.mark.parametrize(
    ("speed", "types"), [("70", {"v": "integer"}), ("70.5", {"v": "number"}), ('"fast"', {}), ("<http://ex.org/Q>", {})]
)
def test_the_background_widens_what_a_variable_holds(speed: str, types: dict[str, str]) -> None:
    triple = f"<http://ex.org/a> <http://ex.org/speed> {speed} ."
    assert columns(":Seen SEQ :Later", "EVENT :Seen { ?o :speed ?v }", triple).types == types


def test_an_axiom_may_give_other_values() -> None:
    axiom = "<http://ex.org/words> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <http://ex.org/speed> ."
    kinds = {"words": "DatatypeProperty", "speed": "DatatypeProperty", "Reading": "Class"}
    declared = " ".join(f"{EX(name)} a <http://www.w3.org/2002/07/owl#{kind}> ." for name, kind in kinds.items())
    program = [Source("e.tw", TEXT.format(operands=":Seen SEQ :Later", clauses="EVENT :Seen { ?o :speed ?v }"))]
    part = load_part([*program, Source("o.ttl", f"{declared} {axiom}")])
    typed = part.typed_columns("changes", Predicate(EX("Jam"), 1), INPUTS)
    assert typed is not None
    assert typed.types == {}
