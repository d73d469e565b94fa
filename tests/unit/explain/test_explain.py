"""What `explain` says about a plan, in words, as data and as a drawing."""

import json
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given

from thalweg.diagnostics import Source
from thalweg.explain.document import WIDTH, PlanDocument
from thalweg.explain.rule_analysis import RuleAnalysis, analyse_rules
from thalweg.explain.rule_plan import explain
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Program
from thalweg.languages.lars import read
from thalweg.languages.owl.program import specialised
from thalweg.planning.stratify import by_stratum
from thalweg.testing.strategies import programs

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "read-a-plan.md"
SVG = "{http://www.w3.org/2000/svg}"


def explained(text: str) -> PlanDocument:
    return explain(read(Source("test.lars", text)))


def analysed(text: str) -> RuleAnalysis:
    return analyse_rules(read(Source("test.lars", text)))


def memory(explanation: PlanDocument, name: str) -> dict[str, object]:
    """What is said about one memory, without its name."""
    (found,) = (each for each in explanation.as_data()["memories"] if each.pop("name") == name)  # type: ignore[attr-defined]
    return found  # type: ignore[no-any-return]


def reads(explanation: RuleAnalysis, number: int) -> list[tuple[str, str, tuple[int, ...]]]:
    rule = explanation.rules[number - 1]
    return [
        (explanation.memories[each.memory].name, each.role, tuple(explanation.sharing(each)))
        for each in explanation.reads(rule)
    ]


def joins(explanation: RuleAnalysis, number: int) -> list[str]:
    return [" → ".join((join.start, *join.steps)) for join in explanation.rules[number - 1].joins]


def test_a_page_of_text() -> None:
    program = (
        "slow(R) :- speed(S,V) in [15 sec],\n  on(S,R), V < 15. % why\njam(R) :- slow(R), not waiting(R).\non(s,r)."
    )
    assert explained(program).as_text() == "\n".join([
        "2 rules in 1 stratum; 4 atoms are answered by 4 memories, 0 of them shared",
        "",
        "STRATA",
        "  0  jam/1, slow/1",
        "",
        "RULES",
        "  1  slow(R) :- speed(S,V) in [15], on(S,R), V < 15.",
        "     at     test.lars:1, stratum 0",
        "     reads  speed/2 in [15]",
        "            on/2 in [0]",
        "     joins  speed(S,V) in [15] → V < 15 → on(S,R)",
        "            on(S,R) → speed(S,V) in [15] → V < 15",
        "  2  jam(R) :- slow(R), not waiting(R).",
        "     at     test.lars:3, stratum 0",
        "     reads  slow/1 derived",
        "            not waiting/1 in [0]",
        "     joins  slow(R) → not waiting(R)",
        "            not waiting(R) → slow(R)",
        "",
        "MEMORIES",
        "  memory            filled           ticks kept   taken back by  read by",
        "  speed/2 in [15]   fed              15           –              1",
        "  on/2 in [0]       fed, background  0, for ever  –              1",
        "  waiting/1 in [0]  fed              0            –              not 2",
        "  slow/1 derived    derived          ≤ 15         –              2",
        "  jam/1 derived     derived          ≤ 15         negation       –",
        "",
        "TICKS",
        "  those with input are looked at, and those at which something ends",
    ])  # fmt: skip


def test_strata_as_data() -> None:
    assert explained("i1(X) :- p(X). k1(X) :- q(X), not i1(X).").as_data()["strata"] == [["i1/1"], ["k1/1"]]


def test_a_rule_as_data() -> None:
    explanation = explained("a(X) :- p(X) in [5].\n  b(X) :- p(X) in [5], not a(X).")
    assert explanation.as_data()["rules"][1] == {  # type: ignore[index]
        "number": 2,
        "text": "b(X) :- p(X) in [5], not a(X).",
        "head": "b/1",
        "stratum": 1,
        "file": "test.lars",
        "line": 2,
        "reads": [
            {"formula": "p(X) in [5]", "as": "positive", "memory": "p/1 in [5]", "shared_with": [1]},
            {"formula": "a(X)", "as": "negated", "memory": "a/1 derived", "shared_with": []},
        ],
        "joins": [{"from": "p(X) in [5]", "steps": ["not a(X)"]}, {"from": "not a(X)", "steps": ["p(X) in [5]"]}],
        "aggregates": [],
    }
    assert explanation.as_data()["sharing"] == {"atoms": 3, "memories": 2, "shared": 1}


def test_a_memory_as_data() -> None:
    assert memory(explained("a(X) :- p(X) from gate in [5]. b(X) :- not a(_), p(X) from gate in [5]."),
                  "p/1 from gate in [5]") == {
        "kind": ["fed"],
        "stratum": 0,
        "kept": 5,
        "fed_for": 5,
        "taken_back_by": [],
        "from": [{"kind": "stream", "name": "p/1 from gate"}],
        "read_by": [1, 2],
        "copied_from": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "kinds", "kept", "taken_back"),
    [
        ("a :- p in [5].", "p/0 in [5]", ["fed"], 5, []),
        ("a :- p always in [5].", "p/0 always in [5]", ["fed"], 0, []),
        ("a :- p at U.", "p/0 at U", ["fed"], None, []),
        ("a :- p in [3 #].", "p/0 in [3 #]", ["copied"], None, ["tuple window"]),
        ("a at U :- p at U in [9]. b :- a in [5].", "a/0 in [5]", ["copied"], 5, []),
        ("a at U :- p at U in [9]. b :- a always in [5].", "a/0 always in [5]", ["counted"], 0, []),
        ("a(N) :- N = max{V : p(V) in [5]}.", "max{V : p(V) in [5]}", ["aggregate"], None, ["aggregate"]),
        ("a :- p. p.", "p/0 in [0]", ["fed", "background"], None, []),
        ("a :- p in [9], not q in [5].", "a/0 derived", ["derived"], 9, ["negation"]),
    ],
)
def test_memories(text: str, name: str, kinds: list[str], kept: int | None, taken_back: list[str]) -> None:
    found = memory(explained(text), name)
    assert (found["kind"], found["kept"], found["taken_back_by"]) == (kinds, kept, taken_back)


def test_rows_are_followed_to_where_they_come_from() -> None:
    explanation = explained("a(X) at U :- p(X) at U in [9]. b(X) :- a(X) always in [5], q(X) in [3 #].")
    assert memory(explanation, "a/1 always in [5]")["from"] == [{"kind": "derived", "name": "a/1"}]
    assert memory(explanation, "a/1 always in [5]")["copied_from"] == ["a/1 at U in [5]"]
    assert memory(explanation, "q/1 in [3 #]")["from"] == [{"kind": "stream", "name": "q/1"}]


# Rules --------------------------------------------------------------------------------------------------------------


def test_what_rules_derive_may_come_on_a_stream_too() -> None:
    """Nothing is said never to be filled that streams can fill."""
    below = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    program = specialised("x.ttl", [("<A>", below, "<B>"), ("<B>", below, "<C>")], "rl", 5)
    memories = analyse_rules(program).memories
    assert not [each.name for each in memories if each.kept is not None and each.kept < 0]
    assert memory(explain(program), "<B>/1 in [5] streamed")["kind"] == ["fed"]


def test_what_an_aggregate_reads_counts_once() -> None:
    explanation = analysed("busy(R) :- road(R), N = count{C : passes(C,R) in [30]}, N > 25.")
    assert reads(explanation, 1) == [("road/1 in [0]", "positive", ()), ("passes/2 in [30]", "aggregated", ())]
    assert explanation.rules[0].aggregates == ("N = count{C : passes(C,R) in [30]} by R",)


def test_what_binds_the_group_of_an_aggregate_is_not_aggregated() -> None:
    explanation = analysed("n(X,N) :- p(X), N = sum{Y : q(Y), Y < X, not r(Y,_)}.")
    assert reads(explanation, 1) == [
        ("p/1 in [0]", "positive", ()),
        ("r/2 in [0]", "aggregated", ()),
        ("q/1 in [0]", "aggregated", ()),
    ]


def test_any_value_under_not() -> None:
    explanation = analysed("a(X) :- p(X), not q(X,_) in [3]. b(X) :- q(X,Y) in [3].")
    assert reads(explanation, 1) == [("p/1 in [0]", "positive", ()), ("q/2 in [3]", "negated", (2,))]
    assert joins(explanation, 1) == ["p(X) → not q(X,_) in [3]", "not q(X,_) in [3] → p(X)"]


def test_made_up_names_are_not_shown() -> None:
    program = "n(X,N) :- p(X), N = count{Y : q(Y,X), not r(Y,_)}, M = sum{Z : s(X,Z)}, M > 2."
    assert "'" not in json.dumps(explained(program).as_data())


def test_joins_are_those_of_the_engine() -> None:
    explanation = analysed("a(X,N) :- r(X,Y), p(X), not s(Y), N = Y + 1. b :- not c. d(X) :- p(X).")
    assert joins(explanation, 1) == [
        "r(X,Y) → N = Y + 1 → not s(Y) → p(X)",
        "p(X) → r(X,Y) → N = Y + 1 → not s(Y)",
        "not s(Y) → N = Y + 1 → r(X,Y) → p(X)",
    ]
    assert joins(explanation, 2) == ["the start of time → not c"]
    assert joins(explanation, 3) == []


def test_a_formula_of_which_nothing_is_known_is_gone_through() -> None:
    assert joins(analysed("a(X,Y) :- p(X), q(Y), r(1,Y)."), 1) == [
        "p(X) → r(1,Y) → q(Y)",
        "q(Y) → r(1,Y) → every p(X)",
        "r(1,Y) → q(Y) → every p(X)",
    ]


# Time ---------------------------------------------------------------------------------------------------------------


def test_what_is_kept_for_ever_is_a_warning() -> None:
    program = "a(X) :- p(X) at U, q(X).\nb(X) :- r(X) at U in [9], s(X) at U."
    (warning,) = explained(program).warnings
    assert (warning.code, warning.message) == ("W201", "all facts of `p/1` must be kept for ever")
    assert program[warning.span.start : warning.span.end] == "p(X) at U"
    assert "warning[W201]" in explained(program).as_text()


def test_a_tick_that_is_fixed_keeps_facts_for_ever_too() -> None:
    assert [found.code for found in explained("a(X) :- p(X) at 5.").warnings] == ["W201"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a :- p in [5].", []),
        ("a :- p in [9 step 5]. b(X) :- q(X) in [3 #].", []),
        ("a :- p. b(U) :- a at U in [5].", [{"because": "clock [0]", "for": ["a/0 at U in [5]"]}]),
        ("a :- p. b :- a in [9 step 5].", [{"because": "hop of 5", "for": ["a/0 in [9 step 5]"]}]),
        ("b(U) :- p at U in [9]. p.", [{"because": "clock [9]", "for": ["p/0 at U in [9] or background"]}]),
    ],
)
def test_what_makes_every_tick_matter(text: str, expected: list[object]) -> None:
    assert explained(text).as_data()["every_tick"] == expected


def test_tuple_windows() -> None:
    explanation = explained("a(X) :- p(X) in [3 #], q(X) in [3 #]. b(X) :- p(X) from s in [2 # p/1].")
    assert explanation.as_data()["tuple_windows"] == [
        {"window": "[3 #]", "stream": None, "keeps": ["p/1", "q/1"]},
        {"window": "[2 # p/1]", "stream": "s", "keeps": ["p/1"]},
    ]
    assert "  [3 #] counts the facts of the whole input and keeps p/1, q/1" in explanation.as_text()


def test_windows_by_key() -> None:
    explanation = explained("a(D,V) :- p(D,V) in [3 # by D].")
    assert explanation.as_data()["tuple_windows"] == [{"window": "[3 # by 1]", "stream": None, "keeps": ["p/2"]}]
    assert "  [3 # by 1] counts the facts of p/2 in the whole input, for each key alone" in explanation.as_text()


# Reading and looking ------------------------------------------------------------------------------------------------


def test_iris_are_short_where_nobody_can_mistake_them() -> None:
    prefixes = "@prefix x: <http://x.org/a#> . @prefix y: <http://y.org/> ."
    text = explained(f"{prefixes} x:jam(R) :- x:slow(R) in [5], y:slow(R), x:road(R).").as_text()
    assert ":road(R)" in text
    assert "<http://x.org/a#slow>/1 in [5]" in text
    assert "<http://x.org/a#road>" not in text


def test_nothing_to_explain() -> None:
    explanation = explained("")
    assert explanation.as_text().startswith("0 rules in 0 strata")
    assert explanation.as_data()["strata"] == []
    assert ElementTree.fromstring(explanation.as_svg()).tag == f"{SVG}svg"


def drawn(explanation: PlanDocument) -> ElementTree.Element:
    return ElementTree.fromstring(explanation.as_svg())


def labels(explanation: PlanDocument) -> list[str]:
    return ["".join(text.itertext()) for text in drawn(explanation).iter(f"{SVG}text")]


def test_a_drawing_shows_everything_once() -> None:
    explanation = explained("a(X) :- p(X) in [5], b(X). c(X) :- a(X), not p(X) in [5]. a(X) :- a(Y), e(Y,X). b(s1).")
    shown = labels(explanation)
    assert [one for one in shown if one.startswith("rule ")] == [
        "rule 1 · test.lars:1a(X) :- p(X) in [5], b(X).",
        "rule 2 · test.lars:1c(X) :- a(X), not p(X) in [5].",
        "rule 3 · test.lars:1a(X) :- a(Y), e(Y,X).",
    ]
    for label in ("p/1stream", "b/1background", "p/1 in [5]5 ticks", "a/1≤ 5 ticks", "stratum 0"):
        assert shown.count(label) == 1


def test_arrows_look_different() -> None:
    explanation = explained("a(N) :- p, not q, N = count{X : r(X)}.")
    arrows = [path for path in drawn(explanation).iter(f"{SVG}path") if " C" in path.get("d", "")]
    heads = sorted(str(path.get("marker-end")) for path in arrows)
    assert heads == ["url(#aggregated)", "url(#negated)", *["url(#positive)"] * 5]
    assert {path.get("marker-end") for path in arrows if path.get("stroke-dasharray")} == {
        "url(#aggregated)",
        "url(#negated)",
    }


def test_labels_are_escaped() -> None:
    explanation = explained('a(X) :- <http://x.org/?a=1&b=2>(X,"<&>"), X < 3.')
    assert any('"<&>"' in label for label in labels(explanation))


def overlapping(explanation: PlanDocument) -> list[tuple[str, str]]:
    """Boxes that lie on each other."""
    boxes = []
    for group in drawn(explanation).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        x, y, width, height = (float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
        boxes.append((str(group.findtext(f"{SVG}title")), x, y, x + width, y + height))
    return [
        (one[0], other[0])
        for one, other in combinations(boxes, 2)
        if one[1] < other[3] and other[1] < one[3] and one[2] < other[4] and other[2] < one[4]
    ]


@given(programs())
def test_any_program_can_be_explained(program: Program) -> None:
    explanation = explain(program)
    data = json.loads(json.dumps(explanation.as_data()))
    assert data["strata"] == by_stratum(program)
    assert [rule["number"] for rule in data["rules"]] == [number + 1 for number in range(len(program.rules))]
    for rule, told in zip(program.rules, data["rules"], strict=True):
        assert {f.atom.signature for f, _ in formulas(rule.body)} == {_signature(read) for read in told["reads"]}
    assert all(len(line) <= WIDTH for line in explanation.as_text().splitlines())
    assert overlapping(explanation) == []


def _signature(read: dict[str, str]) -> str:
    return read["memory"].split(" ")[0]


def test_the_page_about_plans_shows_what_is_printed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (program,) = re.findall(r"```lars\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert explain(read(Source("traffic.lars", program))).as_text() == shown.rstrip()


def test_equal_things_are_drawn_in_their_stage() -> None:
    below = ("<A>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "<B>")
    program = specialised("x.ttl", [below], "rl", 5)
    assert "sameAs" in explain(program, partitions=2).as_svg()
    stages = analyse_rules(program, partitions=2).stages
    assert stages is not None
    assert "finding equal things" in stages[0].why
    assert not any("sameAs" in each.signature for stage in stages for each in stage.arrivals if each.stage is None)
