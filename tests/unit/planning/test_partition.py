"""Where rules are evaluated and facts are sent when a program is spread over buckets.

`tests/passes/partition.txt` shows whole stages; here are single decisions, and what holds for any program.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given

from buckets import rule_job
from thalweg.bench.workload import COOLING
from thalweg.diagnostics import Source
from thalweg.explain.document import WIDTH, PlanDocument
from thalweg.explain.rule_plan import explain
from thalweg.explain.stages import explain_stages
from thalweg.ir.annotate_terms import EDGE
from thalweg.ir.nodes import Expression, Interface, Program, Rule, TupleWindow, Variable
from thalweg.ir.text import show
from thalweg.languages.lars import read
from thalweg.languages.owl.program import over_triples, specialised
from thalweg.languages.owl.specialise import EQUAL
from thalweg.model.predicate import Predicate
from thalweg.model.vocabulary import OWL, RDFS, SAME_AS
from thalweg.planning.check_safety import check_safety
from thalweg.planning.locality import in_order, rests_on, uses
from thalweg.planning.partition import Route, Stage, partition
from thalweg.planning.passes import plan
from thalweg.planning.rule_plan import PlanTarget
from thalweg.planning.stratify import check_strata
from thalweg.testing.strategies import programs

SUB_CLASS, DOMAIN, RANGE = (f"<{RDFS}{name}>" for name in ("subClassOf", "domain", "range"))
INVERSE = f"<{OWL}inverseOf>"


def program(text: str) -> Program:
    return read(Source("test.lars", text))


def stages(text: str) -> tuple[Stage, ...]:
    return partition(program(text)).stages


def stages_of_facts(text: str, told: str = "", streamed: str = "") -> tuple[Stage, ...]:
    """Those of a program that says which of its predicates are told and streamed, besides being derived."""
    known, brought = (frozenset(map(Predicate.read, names.split())) for names in (told, streamed))
    return partition(replace(program(text), interface=Interface(inputs=brought, outputs=known))).stages


def keys(text: str) -> list[list[str | None]]:
    """The keys of each stage's rules; of a stage that only merges there are none."""
    return [list(stage.keys) for stage in stages(text)]


def rules(stage: Stage) -> list[str]:
    return [show(rule) for rule in stage.program.rules]


def from_others(stage: Stage) -> list[Route]:
    """How conclusions of other stages reach one."""
    return [route for route in stage.routes if route.stage is not None]


# Keys ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a(X) :- p(X,Y), q(Y,X).", "X"),
        ("a(X) :- p(X,Y), q(X), r(X,Z).", "X"),
        ("a(X) :- p(X), not q(X,_).", "X"),
        ("a(X,N) :- p(X), N = count{Y : q(Y,X)}.", "X"),
        ("a(X,N) :- p(X), N = count{Y : q(Y,X), not r(X,Y)}.", "X"),
        ("a(X) :- p(X) at T in [5], q(X,T).", "X"),
        ("a(X) :- p(X,Y), q(a), not k.", "X"),
        ("a(X) :- p(X,Y), b(Z), Z < Y. b(1).", "X"),
        ("a(X) :- b(X), not p(X). b(1).", "X"),
        ("a(T) :- p(T) at T in [5].", "T"),
        ("a(X+1) :- p(X).", "X"),
        ("a(X) :- a(X) from s.", "X"),
    ],
)
def test_a_rule_with_a_key(text: str, key: str) -> None:
    first = stages(text)[0]
    assert (first.split, first.keys, first.why) == (True, (key,), "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a(X) :- p(X), q(Y).", "no variable that occurs in all of its atoms"),
        ("a(X) :- p(X), not q(_).", "no variable that occurs in all of its atoms"),
        ("a(X) :- p(X), N = count{Y : q(Y)}.", "no variable that occurs in all of its atoms"),
        ("a(N) :- p(N), N = count{Y : q(Y,N)}.", "no variable that occurs in all of its atoms"),
        ("a(T) :- p(X) at T in [5], q(T).", "no variable that occurs in all of its atoms"),
        ("a :- not p.", "no variable in a positive atom"),
        ("a(N) :- N = count{Y : q(Y)}.", "no variable in a positive atom"),
        ("a :- k, p(x).", "no variable in a positive atom"),
        ("a(X) :- p(X) in [3 #].", "`p(X) in [3 #]` counts facts"),
        ("a(X) :- p(X), N = count{Y : q(X,Y) in [3 # q/2]}.", "`q(X,Y) in [3 # q/2]` counts facts"),
        ("a(X,Z) :- a(X,Y), a(Y,Z). a(X,Y) :- p(X,Y).", "`a/2` depends on itself"),
        ("a(X) :- b(X,Y). b(X,Y) :- a(Y), p(X,Y).", "`a/1` and `b/2` depend on each other"),
    ],
)
def test_a_rule_without_a_key_is_evaluated_in_one_place(text: str, why: str) -> None:
    (only,) = stages(text)
    assert not only.split
    assert set(only.keys) == {None}
    assert why in only.why


def test_of_several_keys_one_that_stands_in_the_head() -> None:
    assert keys("a(Y) :- p(X,Y), q(X,Y).") == [["Y"]]


def test_of_several_keys_one_that_sends_facts_fewer_times() -> None:
    assert keys("a(X,Y) :- p(X,Y), q(Y). b(X,Y) :- p(X,Y).") == [["Y", "Y"]]


def test_rules_of_one_predicate_agree_on_where_it_is_found() -> None:
    assert keys("a(X,Y) :- p(X,Y). a(U,V) :- q(U,V), r(V).") == [["Y", "V"]]


def test_rules_that_cannot_agree_have_keys_of_their_own() -> None:
    split, merging = stages("a(X,Y) :- p(X,Y), not q(X). a(X,Y) :- p(X,Y), not r(Y).")
    assert split.keys == ("X", "Y")
    assert rules(merging) == ["a'0(X0,X1) :- a'0u(X0,X1,_)."]


# Stages -------------------------------------------------------------------------------------------------------------


def test_recursion_that_keeps_its_key_is_split() -> None:
    text = "reach(X,Y) :- edge(X,Y). reach(X,Z) :- reach(X,Y), next(Y,Z). next(a,b)."
    (only,) = stages(text)
    assert only.keys == ("X", "X")
    assert Route(Predicate("next", 2), "next'all", None) in only.routes


def test_recursion_over_several_predicates_agrees_on_places() -> None:
    (only,) = stages("a(X,Y) :- p(X,Y). b(Y,X) :- a(X,Y), q(X). a(X,Y) :- b(Y,X).")
    assert rules(only) == [
        "a'0(X,Y) :- p'0(X,Y).",
        "b'1(Y,X) :- a'0(X,Y), q'0(X).",
        "a'0(X,Y) :- b'1(Y,X).",
    ]


def test_recursion_never_rests_on_a_part_of_itself() -> None:
    (only,) = stages("a(X) :- p(X). a(Y) :- a(X), e(X,Y).")
    assert not only.split


def test_a_conclusion_in_the_wrong_place_is_sent_on() -> None:
    first, second = stages("a(X,Y) :- p(X,Y), q(X). b(Y) :- a(X,Y), r(Y).")
    assert (first.keys, second.keys) == (("X",), ("Y",))
    assert first.supplies == (("a'0/2", "a/2", False),)
    assert Route(Predicate("a", 2), "a'1", 1, stage=0, lasting=True) in second.routes
    assert second.program.interface.imports == {("a'1/2", False)}
    assert first.program.interface.exports == {("a'0/2", False)}


def test_a_conclusion_that_everyone_needs_is_sent_to_everyone() -> None:
    second = stages("alarm :- p(X) in [3]. b(X) :- q(X), not alarm.")[1]
    assert Route(Predicate("alarm", 0), "alarm'all", None, stage=0, lasting=True) in second.routes
    assert rules(second) == ["b'0(X) :- q'0(X), not alarm'all."]


def test_its_parts_may_be_taken_back_one_by_one() -> None:
    second = stages("alarm :- p(X) in [3], not off(X). b(X) :- q(X), not alarm.")[1]
    assert Route(Predicate("alarm", 0), "alarm'allu", None, stage=0, union=True) in second.routes
    assert rules(second) == ["alarm'all :- alarm'allu(_).", "b'0(X) :- q'0(X), not alarm'all."]


def test_what_is_sent_to_everyone_is_told_by_one() -> None:
    told = {
        signature: stage
        for stage in stages("alarm :- p(X). b(X) :- q(X), not alarm.")
        for _, signature in stage.outputs
    }
    assert not told["alarm/0"].split
    assert told["b/1"].split


def test_a_stage_that_gets_the_parts_anyway_tells_of_them() -> None:
    first, second = stages("a(X) :- p(X,Y), q(Y). b(X) :- a(X), r(X).")
    assert first.outputs == ()
    assert second.outputs == (("a'0/1", "a/1"), ("b'0/1", "b/1"))


def test_conclusions_at_a_tick_and_now_are_sent_apart() -> None:
    _, second = stages("a(X) at T :- p(X,Y) at T in [5], q(Y). a(X) :- r(X,Y), q(Y). b(X) :- a(X) in [3].")
    assert from_others(second) == [
        Route(Predicate("a", 1), "a'0", 0, stage=0, lasting=True),
        Route(Predicate("a", 1), "a'0", 0, stage=0, timed=True, lasting=True),
    ]
    assert second.program.interface.imports == second.program.hints.irrevocable == {("a'0/1", False), ("a'0/1", True)}
    assert rules(second) == ["b'0(X) :- a'0(X) in [3]."]


def test_parts_at_a_tick_and_now_are_merged_apart() -> None:
    _, second = stages("a(X) at T :- p(X,Y) at T in [5], not q(Y). a(X) :- r(X,Y), q(Y). b(X) :- a(X) in [3].")
    assert from_others(second) == [
        Route(Predicate("a", 1), "a'0u", 0, stage=0, union=True),
        Route(Predicate("a", 1), "a'0t", 0, stage=0, timed=True, union=True),
    ]
    assert second.program.interface.imports == {("a'0u/2", False), ("a'0t/2", True)}
    assert rules(second)[:2] == ["a'0(X0) :- a'0u(X0,_).", "a'0(X0) at U :- a'0t(X0,_) at U."]


def test_conclusions_of_one_bucket_are_not_in_parts() -> None:
    _, second = stages("a(X) at T :- p(X) at T in [3 #]. b(X) :- a(X) in [3], q(X).")
    assert Route(Predicate("a", 1), "a'0", 0, stage=0, timed=True) in second.routes
    assert second.program.interface.imports == {("a'0/1", True)}


def test_a_predicate_that_is_derived_may_be_streamed_too() -> None:
    first, second = stages("p(X,Y) :- e(X,Y), q(X). a(X) :- p(X,Y). b(Y) :- p(X,Y), r(Y).")
    assert Route(Predicate("p", 2), "p'0", 0) in first.routes
    assert {Route(Predicate("p", 2), "p'1", 1), Route(Predicate("p", 2), "p'1", 1, stage=0, lasting=True)} <= set(
        second.routes
    )


def test_what_nobody_reads_is_not_sent() -> None:
    (only,) = stages("a(X) :- p(X). b(1).")
    assert only.routes == (Route(Predicate("p", 1), "p'0", 0),)
    assert only.program.background == ()


def test_background_stands_under_the_name_of_each_role() -> None:
    (only,) = stages("a(X) :- p(X,Y), b(X,Y), b(Z,Z). c(Y) :- q(Y), b(X,Y). b(1,2).")
    assert [str(fact) for fact in only.program.background] == ["b'0(1,2)", "b'all(1,2)", "b'1(1,2)"]
    assert {route.name: route.key for route in only.routes if route.signature == "b/2"} == {
        "b'0": 0,
        "b'all": None,
        "b'1": 1,
    }


def test_background_that_is_derived_too_is_not_sent_to_everyone() -> None:
    assert not stages("a(X) :- p(X,Y), b(Z). b(X) :- q(X). b(1).")[-1].split


@pytest.mark.parametrize(
    ("window", "everything", "counted"), [("[3 #]", True, "[3 #]"), ("[3 # p/1]", False, "[3 # p'all/1]")]
)
def test_tuple_windows_count_what_they_counted(window: str, everything: bool, counted: str) -> None:
    (only,) = stages(
        f"a(X) :- p(X) in {window}. b(X) :- a(X), p(X) from s at T in {window}. c(X) :- b(X), p(X) always {window}."
    )
    assert only.counts_everything is everything
    assert rules(only) == [
        f"a'all(X) :- p'all(X) in {counted}.",
        f"b'all(X) :- a'all(X), p'all(X) from s at T in {counted}.",
        f"c'all(X) :- b'all(X), p'all(X) always in {counted}.",
    ]


def test_communities_without_a_key_are_side_by_side() -> None:
    """Rules are together if one derives what the other reads, or both count the whole input; to read the same is not
    enough.
    """
    text = "a(X,Y) :- p(X), q(Y). b(X,Y) :- p(X), r(Y). c(X,Y) :- a(X,Z), b(V,Y). d(X,Y) :- p(X), s(Y)."
    together, alone = stages(text)
    assert [rule.head.predicate for rule in together.rules] == ["a", "b", "c"]
    assert [rule.head.predicate for rule in alone.rules] == ["d"]
    assert {route.signature for route in alone.routes} == {"p/1", "s/1"}
    assert [told for _, told in alone.outputs] == ["d/2"]
    assert len(stages("a(X) :- p(X) in [3 #]. b(X) :- q(X) in [5 #].")) == 1
    assert len(stages("a(X) :- p(X) in [3 # p/1]. b(X) :- q(X) in [5 # q/1].")) == 2


def test_levels_have_what_needs_nothing_of_each_other() -> None:
    """And fragments of one bucket that run at the same time have different ones."""
    text = "a(X,Y) :- p(X), q(Y). d(X,Y) :- p(X), s(Y). e(X) :- r(X). f(Y) :- a(X,Y), t(Y)."
    job = rule_job(program(text), partitions=3)
    numbers = [[fragment.number for fragment in level] for level in job.levels]
    heads = {
        fragment.number: {rule.head.predicate for spec in job.specs(fragment.number) for rule in spec.stage.rules}
        for fragment in job.fragments
    }
    assert [sorted(name for number in level for name in heads[number]) for level in numbers] == [["a", "d"], ["e", "f"]]
    alone = [tuple(job.buckets(number)) for number in numbers[0] if job.fragments[number].width == 1]
    assert sorted(alone) == [(0,), (1,)]


def test_a_rule_that_reads_what_is_in_one_bucket_stays_there() -> None:
    (only,) = stages("a(X) :- p(X) in [3 #]. b(X) :- p(X), not a(X).")
    assert only.why.endswith("other rules read only facts of one bucket anyway")


def test_a_rule_does_not_follow_facts_into_one_bucket() -> None:
    assert [stage.split for stage in stages("a(X) :- p(X) in [3 #]. b(X) :- p(X).")] == [False, True]


def test_places_in_the_text_are_kept() -> None:
    written = program("a(X) :- p(X), not q(X).")
    (only,) = partition(written).stages
    assert [rule.span for rule in only.program.rules] == [rule.span for rule in written.rules]
    assert [use.formula.span for use in uses(only.program.rules[0].body)] == [
        use.formula.span for use in uses(written.rules[0].body)
    ]


def test_iris_may_be_predicates_of_several_arities() -> None:
    (only,) = stages("<http://x.org/a>(X) :- <http://x.org/p>(X), <http://x.org/p>(X,Y).")
    assert rules(only) == ["<http://x.org/a>'0(X) :- <http://x.org/p>'0(X), <http://x.org/p>'0(X,Y)."]


def test_nothing_to_split() -> None:
    (only,) = stages("b(1).")
    assert (only.rules, only.split, only.outputs) == ((), False, ())


def test_long_chains() -> None:
    (only,) = stages("\n".join(f"p{number + 1}(X) :- p{number}(X)." for number in range(1_500)))
    assert len(only.rules) == 1_500


# What lasts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "p(X,Y), q(Y)",
        "p(X,Y) in [5], q(Y), X < 3",
        "p(X,Y) in [5 step 5], q(Y)",
        "p(X,Y) at T in [5], q(Y), r(Y,T)",
        "p(X,Y), c(Y)",
    ],
)
def test_what_nothing_can_take_back_needs_no_merging(body: str) -> None:
    first, second = stages(f"a(X) :- {body}. c(Y) :- r(Y,Z).")
    assert from_others(second) == [Route(Predicate("a", 1), "a'0", 0, stage=0, lasting=True)]
    assert first.program.hints.irrevocable == first.program.interface.exports == {("a'part/1", False)}
    assert second.program.hints.irrevocable == second.program.interface.imports == {("a'0/1", False)}
    assert second.program.outputs == frozenset({"a'0/1"})
    assert rules(second) == []


@pytest.mark.parametrize(
    "body",
    [
        "p(X,Y), not q(Y)",
        "p(X,Y), N = count{Z : q(Y,Z)}",
        "p(X,Y) always in [5], q(Y)",
        "p(X,Y), c(Y)",
        "p(X,Y), d(Y)",
    ],
)
def test_what_may_be_taken_back_is_merged(body: str) -> None:
    first, second = stages(f"a(X) :- {body}. c(Y) :- d(Y), r(Y). d(Y) :- r(Y), not q(Y).")
    assert from_others(second) == [Route(Predicate("a", 1), "a'0u", 0, stage=0, union=True)]
    assert first.program.hints.irrevocable == second.program.hints.irrevocable == set()
    assert rules(second) == ["a'0(X0) :- a'0u(X0,_)."]


def test_one_rule_is_enough_to_take_back_a_predicate() -> None:
    _, second = stages("a(X) :- p(X,Y), q(Y). a(X) :- p(X,Y), not r(Y).")
    assert from_others(second) == [Route(Predicate("a", 1), "a'0u", 0, stage=0, union=True)]


def test_counting_may_take_back_what_it_counted() -> None:
    first, _ = stages("a(X) :- p(X) in [3 #]. b(X) :- a(X), q(X).")
    assert first.program.hints.irrevocable == set()


# What is told and what is streamed ---------------------------------------------------------------------------------


def test_what_nobody_is_told_is_not_gathered() -> None:
    text = "a(X) :- p(X,Y), q(Y). b(Y) :- p(X,Y), q(Y)."
    (only,) = stages_of_facts(text, told="b/1")
    assert only.outputs == (("b'0/1", "b/1"),)
    assert [len(stages_of_facts(text, told=told)) for told in ("", "a/1", "a/1 b/1")] == [1, 2, 2]


def test_what_nobody_is_told_may_come_in_parts() -> None:
    text = "a(X) :- p(X,Y), q(Y). b(X) :- a(X), r(X)."
    named = replace(program(text), interface=Interface(outputs=frozenset({Predicate("b", 1)})))
    _, second = explain_stages(named, 2)
    assert [(each.signature, each.merged) for each in second.arrivals if each.stage is not None] == [("a/1", True)]


def test_every_stage_knows_what_streams_bring_besides() -> None:
    text = "p(X,Y) :- e(X,Y), q(X). a(X) :- p(X,Y). b(Y) :- p(X,Y), r(Y)."
    first, second = stages_of_facts(text, told="a/1 b/1", streamed="p/2")
    assert (first.program.interface.inputs, second.program.interface.inputs) == ({"p'0/2"}, {"p'1/2"})
    streaming = replace(program(text), interface=Interface(inputs=frozenset({Predicate("p", 2)})))
    expected = explain_stages(streaming, 2)
    assert [[each.signature for each in one.arrivals if each.kind == "stream"] for one in expected] == [
        ["e/2", "q/1", "p/2"],
        ["p/2", "r/1"],
    ]


def test_what_nobody_is_told_stays_where_all_that_it_reads_is() -> None:
    text = "a(X) :- p(X) in [3 #]. b(X) :- q(X), r(X). c(X) :- a(X). d(X) :- c(X), a(Y)."
    assert [stage.split for stage in stages_of_facts(text, told="a/1 b/1 d/1")] == [False, True]
    assert [stage.split for stage in stages(text)] == [False, True, False]


# Recursion that follows facts ---------------------------------------------------------------------------------------

KNOWS = "knows(Y,X) :- knows(X,Y) in [5]."


def test_recursion_follows_the_facts_that_streams_bring() -> None:
    first, second = stages_of_facts(KNOWS, told="knows/2", streamed="knows/2")
    assert (first.split, first.keys, rules(first)) == (True, (None,), ["knows'part(Y,X) :- knows'part(X,Y) in [5]."])
    assert first.routes == (Route(Predicate("knows", 2), "knows'part", 0),)
    assert first.why == "rules without a key follow each fact within its bucket"
    assert second.routes == (Route(Predicate("knows", 2), "knows'0", 0, stage=0, lasting=True),)
    assert second.outputs == (("knows'0/2", "knows/2"),)


def test_where_streams_bring_nothing_there_is_nothing_to_spread() -> None:
    assert [stage.split for stage in stages_of_facts(KNOWS, told="knows/2")] == [False]
    assert [stage.split for stage in stages_of_facts(KNOWS, streamed="knows/2")] == [False]


def test_what_a_rule_needs_besides_the_fact_is_in_every_bucket() -> None:
    first, _ = stages_of_facts("a(Y) :- a(X), s(X,Y), not t(Y). b(X) :- a(X).", told="a/1 b/1", streamed="a/1")
    assert rules(first) == ["a'part(Y) :- a'part(X), s'all(X,Y), not t'all(Y)."]
    assert {route.name: route.key for route in first.routes} == {"a'part": 0, "s'all": None, "t'all": None}


def test_one_recursion_may_follow_what_another_leaves_in_a_bucket() -> None:
    text = "a(Y,X) :- a(X,Y). b(X,Y) :- a(X,Y). b(Y,X) :- b(X,Y). c(X) :- b(X,Y)."
    first, second = stages_of_facts(text, told="a/2 b/2 c/1", streamed="a/2 b/2")
    assert [show(rule.head) for rule in first.rules] == ["a(Y,X)", "b(X,Y)", "b(Y,X)"]
    assert rules(first)[1] == "b'part(X,Y) :- a'part(X,Y)."
    assert second.keys == ("X",)


@pytest.mark.parametrize(
    "text",
    [
        "a(X,Z) :- a(X,Y), a(Y,Z).",
        "a(Y,X) :- a(X,Y) always in [3].",
        "a(Y,X) :- a(X,Y) in [3 #].",
        "a(Y,X) :- a(X,Y), b(Y,X). b(X,Y) :- a(X,Y), q(X).",
        "a(Y,X) :- a(X,Y), N = count{Z : b(X,Z) in [3 #]}, N > 1.",
        "a(Y,X) :- a(X,Y). b(X,Y) :- a(X,Y). b(X,Z) :- b(X,Y), b(Y,Z).",
        "a(Y,X) :- c(X,Y). c(X,Y) :- a(X,Y). c(Y,X) :- a(X,Y). b(X,Y) :- c(X,Y). b(X,Z) :- b(X,Y), b(Y,Z).",
    ],
)
def test_recursion_that_cannot_follow_single_facts_is_evaluated_in_one_place(text: str) -> None:
    (only,) = stages_of_facts(text, told="a/2 b/2", streamed="a/2 b/2")
    assert not only.split


# Rules set apart ----------------------------------------------------------------------------------------------------


def test_a_rule_without_a_key_does_not_keep_the_others_from_theirs() -> None:
    first, second = stages("bad(X) :- p(X), q(X). bad(X) :- r(X), s(Y).")
    assert (first.split, rules(first), first.outputs) == (False, ["bad'part(X) :- r'all(X), s'all(Y)."], ())
    assert (second.split, second.keys, rules(second)) == (True, ("X",), ["bad'0(X) :- p'0(X), q'0(X)."])
    assert from_others(second) == [Route(Predicate("bad", 1), "bad'0", 0, stage=0, lasting=True)]
    assert second.outputs == (("bad'0/1", "bad/1"),)


def test_what_may_be_taken_back_by_one_rule_may_be_held_by_another() -> None:
    first, second = stages("bad(X) :- p(X), q(X). bad(X) at T :- r(X) at T in [3], not s(_).")
    assert first.supplies == (("bad'part/1", "bad/1", True),)
    assert rules(second) == ["bad'0(X0) at U :- bad'0t(X0,_) at U.", "bad'0(X) :- p'0(X), q'0(X)."]


@pytest.mark.parametrize(
    "text",
    [
        "bad(X) :- r(X), s(X). bad(X) :- r(X), s(Y).",
        "bad(X) :- a(X). bad(X) :- r(X), s(Y), a(Y). a(X) :- p(X) in [3 #].",
        "bad :- p(X). bad :- r(X), s(Y).",
    ],
)
def test_rules_stay_together_where_little_could_be_spread(text: str) -> None:
    assert [stage.split for stage in stages(text)] == [False]


# Ontologies ---------------------------------------------------------------------------------------------------------

SCHEMA = [
    ("<Student>", SUB_CLASS, "<Person>"),
    ("<teaches>", DOMAIN, "<Teacher>"),
    ("<teaches>", RANGE, "<Course>"),
    ("<teaches>", INVERSE, "<taughtBy>"),
]


def test_what_is_said_about_a_subject_is_in_its_bucket() -> None:
    (only,) = partition(specialised("x.ttl", SCHEMA, "rdfs", 5)).stages
    assert only.split
    assert {route.name: route.key for route in only.routes if route.signature == "<Student>/1"} == {"<Student>'0": 0}
    assert {route.name: route.key for route in only.routes if route.signature == "<teaches>/2"} == {
        "<teaches>'0": 0,
        "<teaches>'1": 1,
    }


def test_equality_alone_is_in_one_bucket() -> None:
    together, spread, merged = partition(specialised("x.ttl", SCHEMA, "pd", 5)).stages
    assert {rule.head.predicate for rule in together.rules} == {EDGE, SAME_AS}
    assert {route.signature for route in spread.routes if route.key is None} == {f"{SAME_AS}/2"}
    assert (spread.split, spread.outputs, merged.rules) == (True, (), ())


def test_representatives_are_found_in_one_bucket_and_known_to_all_that_tell() -> None:
    together, spread, merged = partition(specialised("x.ttl", SCHEMA, "rl", 5)).stages
    assert (together.split, together.why) == (False, "finding equal things needs all facts that imply equality")
    assert [
        (known and (known.same_pairs, known.representative))
        for known in (each.program.equality for each in (together, merged))
    ] == [
        (f"{EQUAL}'all/2", f"{SAME_AS}'all/2"),
        (None, f"{SAME_AS}'all/2"),
    ]
    assert {route.signature for route in spread.routes if route.key is None} == {f"{SAME_AS}/2"}
    assert spread.split
    assert merged.outputs


def test_rules_over_triples_say_why_they_are_in_one_bucket() -> None:
    (only,) = partition(over_triples(SCHEMA, "rl", 5)).stages
    assert "rules over triples join them by subject, by predicate and by object" in only.why


# Programs that people know ------------------------------------------------------------------------------------------


TRAFFIC = """
slow(R) :- speed(S,V) in [15], on(S,R), V < 15.
busy(R) :- road(R), N = count{C : passes(C,R) in [30]}, N >= 25.
jam(R) :- slow(R), busy(R), not light(R,red) in [10].
queue(R) :- jam(R), crash(R) in [120].
queue(R) :- jam(R), next(R,Q), queue(Q).
unexplained(R) :- jam(R), not queue(R).
on(s1,a). road(a). next(a,b).
"""


def test_traffic() -> None:
    assert [(stage.split, stage.keys) for stage in stages(TRAFFIC)] == [
        (True, ("S", "R")),
        (True, ("R",)),
        (False, (None, None, None)),
    ]


def test_cooling() -> None:
    first, second, third = stages(COOLING.rules(5))
    assert set(first.keys) == {"V"}
    assert [show(rule.head) for rule in second.rules] == ["alarm", "normal", "freeze"]
    assert {signature for _, signature in third.outputs} == {"veryHot/1", "veryCold/1"}


# Any program --------------------------------------------------------------------------------------------------------


@given(programs(max_rules=8))
def test_every_rule_has_its_stage_and_every_conclusion_its_teller(program: Program) -> None:
    found = partition(program).stages
    assert sorted(map(id, (rule for stage in found for rule in stage.rules))) == sorted(map(id, program.rules))
    assert sorted(told for stage in found for _, told in stage.outputs) == sorted(program.derived)


@given(programs(max_rules=8))
def test_every_stage_can_be_run(program: Program) -> None:
    for stage in partition(program).stages:
        errors = [
            each for each in (*check_safety(stage.program), *check_strata(stage.program)) if each.severity == "error"
        ]
        assert errors == []
        made = plan(stage.program, PlanTarget(mixed=stage.program.derived))
        assert {name for name, _ in stage.outputs} <= made.outputs.keys()
        assert {(name, timed) for name, _, timed in stage.supplies} == made.exports.keys()


@given(programs(max_rules=8))
def test_every_bucket_has_what_its_rules_read(program: Program) -> None:
    found = partition(program).stages
    derived = {rule.head.signature: stage for stage in found for rule in stage.rules}
    for stage in found:
        streamed = {route.called for route in stage.routes if route.stage is None}
        for rule, renamed in zip(stage.rules, stage.renamed, strict=True):
            for use, called in zip(uses(rule.body), uses(renamed.body), strict=True):
                atom = called.formula.atom
                assert atom.signature in streamed
                if use.formula.stream is None and use.signature in derived:
                    assert derived[use.signature].number <= stage.number
                    assert atom.signature in stage.program.derived | {
                        name for name, _ in stage.program.interface.imports
                    }


@given(programs(max_rules=8))
def test_a_key_stands_where_facts_are_hashed(program: Program) -> None:
    for stage in partition(program).stages:
        places = {route.name: route.key for route in stage.routes}
        for key, rule in zip(stage.keys, stage.renamed, strict=True):
            hashed = list(_hashed(rule, places))
            assert {name for name, _ in hashed} <= {key}
            assert any(positive for _, positive in hashed) == stage.split


def _hashed(rule: Rule, places: dict[str, int | None]) -> Iterator[tuple[str, bool]]:
    """The variables that the facts for a rule are hashed by, and whether their atoms are positive."""
    for use in uses(rule.body):
        place = places[use.formula.atom.predicate]
        if place is not None:
            yield _variable(use.formula.atom.args[place]), use.positive


def _variable(argument: Expression) -> str:
    assert isinstance(argument, Variable)
    return argument.name


@given(programs(max_rules=8))
def test_only_earlier_stages_supply(program: Program) -> None:
    found = partition(program).stages
    for stage in found:
        for route in stage.routes:
            if route.stage is not None:
                assert route.stage < stage.number
                supplied = {(signature, timed) for _, signature, timed in found[route.stage].supplies}
                assert (route.signature, route.timed) in supplied


@given(programs(max_rules=8))
def test_what_is_in_parts_and_does_not_last_is_merged(program: Program) -> None:
    found = partition(program).stages
    for stage in found:
        for route in from_others(stage):
            in_parts = route.signature not in {told for _, told in found[route.stage or 0].outputs}
            assert route.union == (in_parts and not route.lasting)
            assert (route.called, route.timed) in stage.program.interface.imports


@given(programs(max_rules=8))
def test_facts_are_counted_in_one_bucket(program: Program) -> None:
    for stage in partition(program).stages:
        windows = [use.window for rule in stage.rules for use in uses(rule.body)]
        assert not (stage.split and any(isinstance(window, TupleWindow) for window in windows))


@given(programs(max_rules=8))
def test_components_come_after_what_they_rest_on(program: Program) -> None:
    seen: set[str] = set()
    for component in in_order(program):
        seen |= set(component)
        for rule in program.rules:
            if rule.head.signature in component:
                assert set(rests_on(rule, program.derived)) <= seen


# Explained ----------------------------------------------------------------------------------------------------------

TEXT = """
slow(R) :- speed(S,V) in [15], on(S,R), limit(L), V < L.
jam(R) :- slow(R), not light(R).
far(R) :- jam(R), near(R,Q), near(Q,P), near(P,R).
on(s1,a). limit(20).
"""


def explained(text: str) -> PlanDocument:
    return explain(program(text), partitions=4)


def shuffles(text: str) -> list[tuple[int, str, bool]]:
    """What each stage gets from others, and whether it comes in parts."""
    return [
        (stage.number, arrival.signature, arrival.merged)
        for stage in explain_stages(program(text), 4)
        for arrival in stage.arrivals
        if arrival.stage is not None
    ]


def test_stages_as_data() -> None:
    first, second, third = json.loads(json.dumps(explained(TEXT).as_data()))["stages"]
    assert first == {
        "rules": ["slow(R) :- speed(S,V) in [15], on(S,R), limit(L), V < L."],
        "key": ["S"],
        "partitions": 4,
        "keys": ["S"],
        "inputs": [
            {"signature": "speed/2", "argument": 1, "kind": "stream"},
            {"signature": "on/2", "argument": 1, "kind": "background"},
            {"signature": "limit/1", "argument": None, "kind": "background"},
        ],
        "broadcast": ["limit/1"],
        "shuffles": [],
        "tells": [],
        "counts_everything": False,
        "why": "",
        "beside": [],
    }
    assert second["shuffles"] == [{"signature": "slow/1", "argument": 1, "from": 0, "merged": True}]
    assert second["tells"] == ["slow/1", "jam/1"]
    assert (third["key"], third["partitions"], third["broadcast"]) == (None, 1, [])
    assert "no variable that occurs in all of its atoms" in third["why"]


@pytest.mark.parametrize("body", ["p(X,Y), q(Y)", "p(X,Y), not q(Y)"])
def test_parts_are_shown_as_merged_however_that_is_done(body: str) -> None:
    assert shuffles(f"a(X) :- {body}. b(X) :- a(X), r(X).") == [(1, "a/1", True)]


@pytest.mark.parametrize("body", ["p(X,Y), q(X)", "p(X,Y), not q(X)", "p(X,Y) in [3 #], q(X)"])
def test_what_comes_whole_is_not_shown_as_merged(body: str) -> None:
    assert shuffles(f"a(X,Y) :- {body}. b(Y) :- a(X,Y), r(Y).") == [(1, "a/2", False)]


def test_without_partitions_there_are_no_stages() -> None:
    assert "stages" not in explain(program(TEXT)).as_data()
    assert "STAGES" not in explain(program(TEXT)).as_text()


def test_any_value_can_be_a_key() -> None:
    assert keys("a :- p(_).")[0] == ["_'1"]
    assert explained("a :- p(_).").as_data()["stages"][0]["key"] == ["_"]  # type: ignore[index]


def test_a_stage_that_only_merges_has_a_key() -> None:
    merging = explained("a(X) :- p(X,Y), q(Y).").as_data()["stages"][1]  # type: ignore[index]
    assert (merging["rules"], merging["key"], merging["tells"]) == ([], ["X0"], ["a/1"])


def test_a_drawing_shows_stages() -> None:
    drawing = ElementTree.fromstring(explained(TEXT).as_svg())
    shown = ["".join(text.itertext()) for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    for label in (
        "stage 0 · 4 buckets",
        "stage 2 · 1 bucket",
        "limit/1in every bucket",
        "slow/1by argument 1parts merged",
    ):
        assert shown.count(label) == 1
    assert any(label.startswith("because") for label in shown)
    heads = [
        str(path.get("marker-end"))
        for path in drawing.iter("{http://www.w3.org/2000/svg}path")
        if " C" in path.get("d", "")
    ]
    assert {head: heads.count(f"url(#{head})") for head in ("sent", "shuffled", "everywhere", "negated")} == {
        "sent": 4,
        "shuffled": 2,
        "everywhere": 1,
        "negated": 1,
    }


@given(programs())
def test_any_partitioning_can_be_explained(program: Program) -> None:
    explanation = explain(program, partitions=3)
    told = json.loads(json.dumps(explanation.as_data()))["stages"]
    assert [stage["partitions"] for stage in told] == [3 if stage.split else 1 for stage in partition(program).stages]
    assert "'" not in json.dumps(told)
    assert all(len(line) <= WIDTH for line in explanation.as_text().splitlines())
    ElementTree.fromstring(explanation.as_svg())
