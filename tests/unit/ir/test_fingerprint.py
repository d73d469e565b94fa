"""A fingerprint sees everything that changes answers."""

from dataclasses import fields, replace

import pytest

from buckets import rule_job
from thalweg.diagnostics import Source
from thalweg.engine.checkpoint import MismatchError
from thalweg.ir.fingerprint import fingerprint
from thalweg.ir.nodes import Atom, Constant, Equality, Hints, Interface, Program, Rule, TermAnnotations
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages import lars
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

PROGRAM = lars.read(Source("a.lars", "q(X) :- p(X) in [3]. r(X) :- q(X), not s(X,_).\nt(a)."))
CHANGED = {
    "rules": PROGRAM.rules[:1],
    "background": (Fact("t", ("b",)),),
    "recorded": frozenset({Predicate("q", 1)}),
    "annotations": TermAnnotations(stand_ins=True),
    "equality": Equality(Predicate("e", 2), None, Predicate("l", 2)),
}
INTERFACE = {
    "inputs": frozenset({Predicate("q", 1)}),
    "outputs": frozenset({Predicate("r", 1)}),
    "imports": frozenset({(Predicate("p", 1), False)}),
    "exports": frozenset({(Predicate("q", 1), True)}),
}
HINTS = {
    "irrevocable": frozenset({(Predicate("q", 1), True)}),
    "static": frozenset({Predicate("t", 1)}),
    "static_schema": True,
    "earliest_stages": frozenset({(Predicate("q", 1), 1)}),
    "input_copies": frozenset({Predicate("p", 1)}),
    "justification": Program(),
}
PROGRAMS = {
    **{name: replace(PROGRAM, **{name: value}) for name, value in CHANGED.items()},  # type: ignore[arg-type]
    **{name: replace(PROGRAM, interface=Interface(**{name: value})) for name, value in INTERFACE.items()},  # type: ignore[arg-type]
    **{name: replace(PROGRAM, hints=Hints(**{name: value})) for name, value in HINTS.items()},  # type: ignore[arg-type]
}


def test_every_field_is_looked_at() -> None:
    named = {field.name for part in (Program, Interface, Hints) for field in fields(part)}
    assert named - {"interface", "hints"} == set(PROGRAMS)


@pytest.mark.parametrize("field", PROGRAMS)
def test_every_field_counts(field: str) -> None:
    assert fingerprint(PROGRAMS[field]) != fingerprint(PROGRAM)
    assert rule_job(PROGRAMS[field]).fingerprint != rule_job(PROGRAM).fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TermAnnotations(("<a>",)), TermAnnotations(("<b>",))),
        (TermAnnotations(()), TermAnnotations(None)),
        (TermAnnotations(stand_ins=True), TermAnnotations()),
        (TermAnnotations(restrictions=("_:a",)), TermAnnotations()),
        *(
            (Equality(Predicate("e", 2), Predicate("a", 3), Predicate("l", 2)), each)
            for each in (
                Equality(Predicate("f", 2), Predicate("a", 3), Predicate("l", 2)),
                Equality(Predicate("e", 2), None, Predicate("l", 2)),
            )
        ),
        (Equality(Predicate("e", 2), None, Predicate("l", 2)), Equality(Predicate("e", 2), None, Predicate("k", 2))),
        (
            Equality(Predicate("e", 2), None, Predicate("l", 2)),
            Equality(Predicate("e", 2), None, Predicate("l", 2), frozenset({"<a>"})),
        ),
    ],
)
def test_every_field_of_a_field_counts(one: TermAnnotations | Equality, other: TermAnnotations | Equality) -> None:
    field = "annotations" if isinstance(one, TermAnnotations) else "equality"
    assert fingerprint(Program(**{field: one})) != fingerprint(Program(**{field: other}))  # type: ignore[arg-type]


def test_a_rule_without_a_body_is_no_background() -> None:
    rule, fact = Rule(Atom("p", (Constant("a"),))), Fact("p", ("a",))
    assert fingerprint(Program((rule,))) != fingerprint(Program(background=(fact,)))


def test_where_something_was_written_does_not_count() -> None:
    moved = lars.read(Source("b.lars", "\n\nq(X) :- p(X) in [3].\nr(X) :- q(X), not s(X,_). t(a)."))
    assert fingerprint(moved) == fingerprint(PROGRAM)


def test_a_snapshot_is_of_the_rules_whatever_they_output() -> None:
    engine = Engine(PROGRAM)
    engine.advance(0, [Fact("p", ("a",))])
    assert Engine.restore(PROGRAM, engine.snapshot()).now == 0
    assert Engine.restore(PROGRAMS["outputs"], engine.snapshot()).now == 0
    with pytest.raises(MismatchError):
        Engine.restore(PROGRAMS["background"], engine.snapshot())
