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
