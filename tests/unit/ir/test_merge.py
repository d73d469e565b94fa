"""Merging programs drops nothing."""

from dataclasses import fields

import pytest

from thalweg.diagnostics import RejectedError
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Atom, Equality, Hints, Interface, Program, Rule, TermAnnotations
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

P, Q = Rule(Atom("p")), Rule(Atom("q"))
WHOLE = {
    "rules": (P,),
    "background": (Fact("t", ("b",)),),
    "interface": Interface(
        inputs=frozenset({Predicate("p", 0)}),
        outputs=frozenset({Predicate("p", 0)}),
        imports=frozenset({(Predicate("g", 1), False)}),
        exports=frozenset({(Predicate("q", 1), True)}),
    ),
    "annotations": TermAnnotations(("<a>", "<b>"), True, ("_:r",)),
    "equality": Equality(Predicate("e", 2), Predicate("a", 3), Predicate("l", 2), frozenset({"<n>"})),
    "hints": Hints(
        irrevocable=frozenset({(Predicate("q", 1), True)}),
        static=frozenset({Predicate("t", 1)}),
        static_schema=True,
        earliest_stages=frozenset({(Predicate("p", 0), 1)}),
        input_copies=frozenset({Predicate("g", 1)}),
        justification=Program((P,)),
    ),
    "recorded": frozenset({Predicate("p", 0)}),
}


def test_every_field_is_looked_at() -> None:
    assert [*WHOLE] == [field.name for field in fields(Program)]
    for value, nothing in ((WHOLE["interface"], Interface()), (WHOLE["hints"], Hints())):
        assert [each.name for each in fields(nothing) if getattr(value, each.name) == getattr(nothing, each.name)] == []


@pytest.mark.parametrize("field", [field.name for field in fields(Program)])
@pytest.mark.parametrize("first", [True, False])
def test_no_field_of_any_part_is_dropped(field: str, first: bool) -> None:
    part, nothing = Program(**{field: WHOLE[field]}), Program()  # type: ignore[arg-type]
    assert getattr(merge([part, nothing] if first else [nothing, part]), field) == WHOLE[field]


def test_one_part_is_itself() -> None:
    program = Program(**WHOLE)  # type: ignore[arg-type]
    assert merge([program]) == program
    assert merge([]) == Program()


def test_a_part_that_does_not_say_outputs_all_that_it_derives() -> None:
    assert merge([Program((P,)), Program((Q,))]).interface.outputs is None
    assert merge([Program((P,)), Program((Q,), interface=Interface(outputs=frozenset()))]).interface.outputs == {"p/0"}


def test_annotations_are_all_that_one_of_them_asks_for() -> None:
    several = (
        TermAnnotations(("<b>", "<a>")),
        TermAnnotations(None, True),
        TermAnnotations(("<a>", "<c>"), restrictions=("_:r",)),
    )
    merged = merge([Program(annotations=annotations) for annotations in several]).annotations
    assert merged == TermAnnotations(("<b>", "<a>", "<c>"), True, ("_:r",))


def test_equality_is_merged_where_the_names_agree() -> None:
    one, other = (
        Equality(Predicate("e", 2), None, Predicate("l", 2), frozenset({"<a>"})),
        Equality(None, Predicate("a", 3), Predicate("l", 2), frozenset({"<b>"})),
    )
    merged = merge([Program(equality=one), Program(equality=other)]).equality
    assert merged == Equality(Predicate("e", 2), Predicate("a", 3), Predicate("l", 2), frozenset({"<a>", "<b>"}))
    with pytest.raises(RejectedError, match="E411"):
        merge([Program(equality=one), Program(equality=Equality(Predicate("e", 2), None, Predicate("k", 2)))])


def test_checks_of_consistency_do_not_go_with_other_rules() -> None:
    with pytest.raises(RejectedError, match="E411"):
        merge([Program((P,), hints=Hints(justification=Program())), Program((Q,))])
