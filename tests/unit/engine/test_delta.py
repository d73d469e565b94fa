"""What changed at a tick, relation by relation."""

from thalweg import api
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate


def test_a_change_names_the_relations_that_it_is_about() -> None:
    engine = RuleEngine(api.load("a(X) :- p(X) in [2]. b(X,Y) :- q(X,Y). c(X) :- r(X)."))
    (first,) = engine.advance(0, [Fact("p", ("x",)), Fact("q", ("y", "z")), Fact("p", ("z",))])
    outputs = engine.plan.outputs
    named = {name: relation for name, relation in outputs.items() if relation.number in first.relations}
    assert set(named) == {Predicate("a", 1), Predicate("b", 2)}
    begun = {name: first.columns(relation)[0] for name, relation in outputs.items()}
    spelled = {name: engine.dictionary.spell_rows(name.name, rows) for name, rows in begun.items()}
    assert spelled == {"a/1": ["a(x)", "a(z)"], "b/2": ["b(y,z)"], "c/1": []}
    (second,) = engine.advance(1)
    assert {name for name, relation in outputs.items() if relation.number in second.relations} == {"b/2"}
    assert [len(rows) for rows in second.columns(outputs[Predicate("b", 2)])] == [0, 1, 0]


def test_few_facts_are_spelled_as_many_are() -> None:
    program = api.load("a(X,Y) :- p(X,Y). now :- p(X,Y). later(X) :- p(X,Y) in [3].")
    terms = ("x", "3", "2.50", '"two words"', "<http://ex.org/x>")
    facts = [Fact("p", (term, str(number))) for number, term in enumerate(terms * 8)]
    (many,) = RuleEngine(program).advance(7, facts)
    few: dict[str, int] = {}
    for fact in facts:
        (alone,) = RuleEngine(program).advance(7, [fact])
        assert alone.begin_text == [str(begun) for begun in alone.begin]
        few |= alone.until
    assert many.begin_text == [str(begun) for begun in many.begin]
    assert many.until == few
    assert {*few.values()} == {7, 10}
