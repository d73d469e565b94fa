"""Events of a `.tw` that change: what is concluded, what others read, and what was kept before."""

import json

import pytest

from changed_programs import ChangingRun
from thalweg import api
from thalweg.dataflow.state import StateFormat, sealed, unsealed
from thalweg.diagnostics import Source
from thalweg.kinds.events.selected_events import SelectingOperator
from thalweg.kinds.part import Part
from thalweg.kinds.units import ProgramChange, changed
from thalweg.languages.lars.facts import read_fact
from thalweg.model.arrow import frame, unframe
from thalweg.model.event import Event

SPACE = "http://e/"
PREFIX = f"PREFIX : <{SPACE}>"
ONTOLOGY = f"c.ofn: Prefix(:=<{SPACE}>) Ontology(Declaration(Class(:hot)))"
HOT = f"r.lars: @prefix : <{SPACE}> . :hot(S) :- :v(S,V) in [3], V > 5."
CLASS = "NAMED EVENT :K AS :hot"


def part(*texts: str, show: list[str] | None = None) -> Part:
    """A part of texts, each after the name of its file; `.tw` begins with the prefix."""
    named = [text.split(": ", 1) for text in texts]
    sources = [Source(name, f"{PREFIX} {text}" if name.endswith("tw") else text) for name, text in named]
    found, wrong = api.analyse(sources, show=show)
    assert not [one for one in wrong if one.severity == "error"], wrong
    return found


def facts(tick: int, *texts: str) -> Event:
    return Event(tick, tuple(read_fact(text.replace(":", f"<{SPACE}").replace("|", ">")) for text in texts), "s")


def lines(run: ChangingRun, since: int = 0) -> list[tuple[int, str, str]]:
    """The events that were output: tick, name and individual."""
    found = [json.loads(line) for answer in run.answers for line in str(answer).splitlines()]
    return [
        (line["t"], line["event"].rpartition("/")[2][:-1], line.get("individual", "").rpartition("/")[2][:-1])
        for line in found
        if "event" in line and line["t"] >= since
    ]


def events(*names: str) -> set[str]:
    return {f"the event `<{SPACE}{name}>`" for name in names}


def change(old: Part, new: Part) -> ProgramChange:
    run = ChangingRun(old, 0)
    return changed(run.units(old), run.units(new))


AB = "NAMED EVENT :A AS :a NAMED EVENT :B AS :b"
M = "NAMED EVENT :M { MATCH EVERY :A SEQ :B WITHIN (5 s) }"
N = "NAMED EVENT :N { MATCH EVERY :M SEQ :A WITHIN (9 s) }"
P = "NAMED EVENT :P { MATCH EVERY :B SEQ :B WITHIN (9 s) }"


@pytest.mark.parametrize(
    ("new", "begun", "gone"),
    [
        (f"{AB} {M} {N} {P}", set(), set()),
        (f"{P} {N} {M.replace('EVERY', '  EVERY')} {AB}", set(), set()),
        (f"{AB} {M} {P}", set(), {"N"}),
        (f"{AB} {M} {N} {P} NAMED EVENT :Q {{ MATCH EVERY :N }}", {"Q"}, set()),
        (f"{AB} {M.replace('5 s', '6 s')} {N} {P}", {"M", "N"}, set()),
        (f"{AB.replace('AS :b', 'AS :c')} {M} {N} {P}", {"B", "M", "N", "P"}, set()),
        (f"{AB} {M} {N} {P} NAMED EVENT :C AS :a and (:p some :b)", {"C"}, set()),
    ],
    ids=["same", "layout and order", "gone", "added", "pattern", "class", "an expression"],
)
def test_each_event_is_a_unit(new: str, begun: set[str], gone: set[str]) -> None:
    ontology = f"c.ofn: Prefix(:=<{SPACE}>) Ontology(Declaration(Class(:a)) Declaration(ObjectProperty(:p)) "
    ontology += "Declaration(Class(:b)) Declaration(Class(:c)))"
    found = change(part(f"e.tw: {AB} {M} {N} {P}", ontology), part(f"e.tw: {new}", ontology))
    assert ({*found.begun}, {*found.gone}) == (events(*begun), events(*gone))


@pytest.mark.parametrize(
    ("axiom", "begun"),
    [("SubClassOf(:a :d)", ()), ("SubClassOf(:d :b)", "BMNP"), ("DisjointClasses(:a :d)", "ABMNP")],
    ids=["above", "below", "what contradicts"],
)
def test_axioms_count_where_they_can_matter(axiom: str, begun: str) -> None:
    classes = "".join(f"Declaration(Class(:{name}))" for name in "abd")
    old, new = (f"c.ofn: Prefix(:=<{SPACE}>) Ontology({classes} {own})" for own in ("", axiom))
    text = f"e.tw: {AB} {M} {N} {P}"
    assert {*change(part(text, old), part(text, new)).begun} == events(*begun)


def test_clauses_read_the_background_that_they_look_up() -> None:
    clause = "NAMED EVENT :M { MATCH EVERY :A SEQ :B WITHIN (5 s) IF { EVENT :A { ?o :at ?p . ?p :in :north } } }"

    def beside(background: str) -> Part:
        known = [Source("known.ttl", f"@prefix : <{SPACE}> . {background}")]
        found, _ = api.analyse([Source("e.tw", f"{PREFIX} {AB} {clause} {P}")], known)
        return found

    old = beside(":x :in :north .")
    assert change(old, beside(":x :in :north . :x :near :y .")).begun == ()
    assert {*change(old, beside(":y :in :north .")).begun} == events("M")


def test_rules_read_the_events_that_they_name() -> None:
    rules = f"r.lars: @prefix : <{SPACE}> . :late(E) :- :M(E) in [3]. :odd(E) :- :P(E). :last(E) :- :A(E) [3 #]."
    rules = rules.replace(" :last(E) :- :A(E) [3 #].", "")
    ontology = f"c.ofn: Prefix(:=<{SPACE}>) Ontology(Declaration(Class(:a)) Declaration(Class(:b)))"
    old, new = (part(f"e.tw: {AB} {M.replace('5', bound)} {P}", rules, ontology) for bound in "56")
    assert {*change(old, new).begun} == events("M") | {f"<{SPACE}late>/1"}


def test_events_go_on_whatever_is_output_and_although_others_use_them() -> None:
    ontology = f"c.ofn: Prefix(:=<{SPACE}>) Ontology(Declaration(Class(:a)) Declaration(Class(:b)))"
    run = ChangingRun(part(f"e.tw: {AB} {M}", ontology), 0)
    run.advance(1, [facts(1, ":a|(:x|)")])
    run.change(part(f"e.tw: {AB} {M} {N}", ontology, show=[f"<{SPACE}M>/1", f"<{SPACE}N>/1"]))
    run.advance(3, [facts(3, ":b|(:y|)")])
    run.advance(4, [facts(4, ":a|(:x|)")])
    assert lines(run) == [(3, "M", ""), (4, "N", "")]


@pytest.mark.parametrize("more", ["", "NAMED EVENT :Q { MATCH EVERY :M SEQ :M WITHIN (9 s) }"])
def test_a_new_clause_looks_at_events_from_before(more: str) -> None:
    """The event `:M` has the graphs of all its events, although no clause looked at them when they came."""
    ontology = f"c.ofn: Prefix(:=<{SPACE}>) Ontology(Declaration(Class(:a)) Declaration(Class(:b)))"
    clause = "NAMED EVENT :N { MATCH EVERY :M IF { EVENT :M { ?o :at ?p } } }"
    run = ChangingRun(part(f"e.tw: {AB} {M} {more}", ontology), 0)
    run.advance(1, [facts(1, ":a|(:x|)", ":at|(:x|,:here|)")])
    run.change(part(f"e.tw: {AB} {M} {more} {clause}", ontology))
    run.advance(3, [facts(3, ":b|(:y|)")])
    (answer,) = [json.loads(line) for line in str(run.answers[-1]).splitlines() if "/N>" in line]
    assert answer["bindings"]["p"] == f"<{SPACE}here>"


def took_over(old: str, new: str, at: int = 2, resumed: bool = False) -> ChangingRun:
    """A run beside the rules for `:hot`, which holds of `:x` from tick 1 to tick 4 and of `:y` from tick 5 on."""
    run = ChangingRun(part(HOT, f"e.tw: {old}", ONTOLOGY), 0)
    run.advance(1, [facts(1, ":v|(:x|,9)")])
    run.advance(at - 1, [])
    run.change(part(HOT, f"e.tw: {new}", ONTOLOGY))
    if resumed:
        run.resume(part(HOT, f"e.tw: {new}", ONTOLOGY))
    run.advance(5, [facts(5, ":v|(:y|,9)")])
    run.advance(9, [])
    return run


@pytest.mark.parametrize("resumed", [False, True])
def test_what_holds_is_an_event_of_a_class_that_begins(resumed: bool) -> None:
    run = took_over(CLASS, f"{CLASS} NAMED EVENT :L AS :hot", resumed=resumed)
    assert lines(run) == [(1, "K", "x"), (2, "L", "x"), (5, "K", "y"), (5, "L", "y")]


def test_what_holds_is_an_event_of_a_pattern_over_conclusions_that_begins() -> None:
    old = "NAMED EVENT :P { MATCH EVERY :hot SEQ :hot WITHIN (9 s) }"
    run = took_over(old, f"{old} NAMED EVENT :Q {{ MATCH EVERY :hot SEQ :hot WITHIN (3 s) }}")
    assert lines(run) == [(5, "P", ""), (5, "Q", "")]
    run = took_over(old, f"{old} NAMED EVENT :Q {{ MATCH EVERY :hot SEQ :hot WITHIN (2 s) }}")
    assert lines(run) == [(5, "P", "")]


def test_what_does_not_hold_any_more_is_no_event() -> None:
    run = took_over(CLASS, f"{CLASS} NAMED EVENT :L AS :hot", at=5)
    assert lines(run) == [(1, "K", "x"), (5, "K", "y"), (5, "L", "y")]


def test_conclusions_that_are_read_from_now_on_are_in_the_graphs_of_events() -> None:
    """What holds since before, and no event had in its graph so far, is in those of events from now on."""
    rules = f"{HOT} :at(S,P) :- :place(S,P) in [99]."
    clause = "NAMED EVENT :P { MATCH EVERY :K IF { EVENT :K { ?o :at ?p } } }"
    run = ChangingRun(part(rules, f"e.tw: {CLASS}", ONTOLOGY), 0)
    run.advance(1, [facts(1, ":place|(:y|,:here|)")])
    run.change(part(rules, f"e.tw: {CLASS} {clause}", ONTOLOGY))
    run.advance(5, [facts(5, ":v|(:y|,9)")])
    assert lines(run) == [(5, "P", "")]


def test_rows_of_a_query_are_no_events() -> None:
    query = f"q.rspql: {PREFIX} REGISTER RSTREAM :q AS SELECT ?x FROM NAMED WINDOW :w ON STREAM :s "
    query += "[RANGE 3s, SLIDE 1s] WHERE { WINDOW :w { ?x a :a } }"
    ontology = f"c.ofn: Prefix(:=<{SPACE}>) Ontology(Declaration(Class(:a)) Declaration(Class(:b)))"
    old, new = (part(own, f"e.tw: {AB} {M}", ontology) for own in (query, query.replace("3s", "4s")))
    assert change(old, new).begun == ("the query `q`",)
    assert {*change(part(f"e.tw: {AB} {M}", ontology), new).same} == events("A", "B", "M")


SELECTED = "FROM NAMED WINDOW :w ON STREAM :s [RANGE 4s, SLIDE 4s] WHERE { WINDOW :w { ?o a ?k } }"


def test_a_class_that_begins_knows_nothing_selected_of_earlier_ticks() -> None:
    """A window closes at 3: what it selects of tick 1 was there before the class `:B`, and what of tick 3 was not."""
    ontology = f"c.ofn: Prefix(:=<{SPACE}>) Ontology(Declaration(Class(:a)) Declaration(Class(:b)))"
    run = ChangingRun(part(f"e.tw: NAMED EVENT :A AS :a {SELECTED}", ontology), 0)
    run.advance(1, [facts(1, ":a|(:x|)", ":b|(:x|)")])
    run.change(part(f"e.tw: {AB} # another class\n {SELECTED}", ontology))
    run.advance(3, [facts(3, ":a|(:y|)", ":b|(:y|)")])
    assert lines(run) == [(3, "A", "x"), (3, "A", "y"), (3, "B", "y")]


def test_what_waits_for_a_window_to_close_goes_on_and_begins() -> None:
    run = took_over(f"{CLASS} {SELECTED}", f"{CLASS} NAMED EVENT :L AS :hot {SELECTED}", at=3, resumed=True)
    assert lines(run) == [(3, "K", "x"), (3, "L", "x"), (7, "K", "y"), (7, "L", "y")]


def test_a_state_of_the_version_before_is_read() -> None:
    """Version 1 of events behind a selection did not say which of those that wait are renewed."""
    whole = part(HOT, f"e.tw: {CLASS} {SELECTED}", ONTOLOGY)
    run = ChangingRun(whole, 0)
    run.advance(1, [facts(1, ":v|(:x|,9)")])
    (node,) = [node for node in run.run.executor.nodes if isinstance(node.operator, SelectingOperator)]
    assert node.operator.format.version == 2
    before = sealed(StateFormat("events", 1), _of_version_1(node.operator.save()))
    other = ChangingRun(whole, 0)
    (fresh,) = [node for node in other.run.executor.nodes if isinstance(node.operator, SelectingOperator)]
    fresh.operator.first = 0
    fresh.operator.load(unsealed(fresh.operator.format, before))
    assert fresh.operator.save() == node.operator.save()


def _of_version_1(state: bytes) -> bytes:
    snapshot, arriving = unframe(state)
    about, *kept = unframe(snapshot)
    saved = json.loads(about)
    assert saved["waiting"]
    saved["waiting"] = [event[:-1] for event in saved["waiting"]]
    return frame([frame([json.dumps(saved).encode(), *kept]), arriving])
