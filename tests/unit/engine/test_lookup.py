"""What speaks of a thing is found by the indexes that rules have, and elsewhere by looking."""

import pytest

from thalweg.engine.lookup import facts_about
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.owl.checking import checked
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import OWL, RDFS
from thalweg.planning.choose_topology import lay_out

TRIPLES = [("<A>", f"<{OWL}disjointWith>", "<B>"), ("<r>", f"<{RDFS}domain>", "<A>")]


@pytest.mark.parametrize("topology", ["ntm", "ltm", None])
def test_the_facts_about_a_thing_are_those_that_still_count(topology: str | None) -> None:
    def bolts(known: tuple[object, ...]) -> object:
        return None if topology is None else lay_out(known, topology).topology

    engine = Engine(checked("x", TRIPLES, 5, bolts).program, first=0)  # type: ignore[arg-type]
    engine.advance(0, [Fact("<A>", ("x",))])
    engine.advance(4, [Fact("<B>", ("x",)), Fact("<A>", ("y",)), Fact("<r>", ("x", "y")), Fact("<r>", ("z", "z"))])
    told = [sorted(map(str, facts_about(engine, terms))) for terms in (["x"], ["y"], ["x", "z"])]
    x = ["<A>(x) at 0", "<B>(x) at 4", "<r>(x,y) at 4"]
    assert told == [x, ["<A>(y) at 4", "<r>(x,y) at 4"], [*x, "<r>(z,z) at 4"]]
    engine.advance(6)
    assert sorted(map(str, facts_about(engine, ["x"]))) == x[1:]


def test_classes_that_rules_join_have_an_index() -> None:
    plain = checked("x", TRIPLES[:1], 5, lambda known: lay_out(known, "ntm").topology).program
    engine = Engine(plain, first=0)
    fed = {feed.relation.number for feeds in engine.plan.feeds.values() for feed in feeds}
    assert {relation for relation, _, _, _ in engine.table.by_column.tolist()} == fed
