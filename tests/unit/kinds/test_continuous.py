"""Continuous queries at work: what is output when, over which streams and graphs, and after which interruption."""

import json
import re
from dataclasses import replace

import pytest

from thalweg import RejectedError, run
from thalweg.api import RunOptions, load_part, why_row
from thalweg.api.jobs import start
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Source
from thalweg.kinds.queries.query_operator import MOST_EMPTY
from thalweg.model.event import Event
from thalweg.model.fact import Fact, fact_of_text
from thalweg.model.time import Clock
from thalweg.runtimes.local import LocalRun

EX = "http://ex.org/"
PREFIX = f"PREFIX : <{EX}>"


def ex(text):
    """A fact, or what a user writes, with IRIs in the place of names: p(a,1) is about resources."""
    return re.sub(
        r'"[^"]*"|<[^>]*>|[a-z]\w*', lambda found: found[0] if found[0][0] in '"<' else f"<{EX}{found[0]}>", text
    )


def events(stream):
    if isinstance(stream, list) and stream and isinstance(stream[0], tuple) and not isinstance(stream[0], Event):
        return [(tick, [ex(fact) for fact in facts]) for tick, facts in stream]
    return stream


def query(form, pattern, *windows, output="RSTREAM"):
    clauses = " ".join(windows or ("FROM NAMED WINDOW :w ON STREAM :s [RANGE 3, SLIDE 1]",))
    return Source("q.rspql", f"{PREFIX} REGISTER {output} :q AS {form} {clauses} WHERE {{ {pattern} }}")


def answers(program, stream, warned=None, **options):
    found = run(program, stream=events(stream), report=(warned if warned is not None else []).append, **options)
    return [json.loads(str(one)) for one in found]


def rows(found):
    return {one["t"]: [list(row.values()) for row in one["bindings"]] for one in found}


STREAM = [(1, ["p(a,1)"]), (2, ["p(a,1)", "p(b,2)"]), (5, ["p(b,3)"]), (8, [])]


def test_all_rows_at_every_close_and_a_line_even_without_any():
    found = answers(query("SELECT ?x ?n", "WINDOW :w { ?x :p ?n }"), STREAM)
    assert [one["window"] for one in found] == [[1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [6, 8]]
    a, b = "<http://ex.org/a>", "<http://ex.org/b>"
    both = [[a, "1"], [b, "2"]]
    assert rows(found) == {3: both, 4: both, 5: [[b, "3"]], 6: [[b, "3"]], 7: [[b, "3"]], 8: []}


def test_new_rows_and_rows_that_are_gone():
    pattern = "WINDOW :w { ?x :p ?n }"
    new = rows(answers(query("SELECT ?n", pattern, output="ISTREAM"), STREAM))
    gone = rows(answers(query("SELECT ?n", pattern, output="DSTREAM"), STREAM))
    assert (new, gone) == ({3: [["1"], ["2"]], 5: [["3"]]}, {5: [["1"], ["2"]], 8: [["3"]]})


def test_rows_are_a_bag():
    found = answers(query("SELECT ?x", "WINDOW :w { ?x :p ?n }"), [(1, ["p(a,1)", "p(a,2)"]), (3, [])])
    assert found[0]["bindings"] == [{"x": "<http://ex.org/a>"}] * 2


def test_unbound_variables_are_left_out_and_rows_are_in_the_order_of_their_text():
    pattern = "WINDOW :w { ?x :p ?n OPTIONAL { ?x :q ?m } }"
    found = answers(query("SELECT ?m ?x", pattern), [(1, ["p(a,1)", "p(b,1)", "q(b,7)"]), (3, [])])
    assert found[0]["bindings"] == [{"m": "7", "x": "<http://ex.org/b>"}, {"x": "<http://ex.org/a>"}]


def test_all_columns_in_the_order_in_which_they_are_written():
    found = answers(query("SELECT *", "WINDOW :w { ?z :p ?a }"), [(1, ["p(a,1)"]), (3, [])])
    assert list(found[0]["bindings"][0].items()) == [("z", f"<{EX}a>"), ("a", "1")]


def test_the_mean_of_nothing_is_zero():
    found = answers(query("SELECT (AVG(?n) AS ?m)", "WINDOW :w { ?x :p ?n }"), [(1, ["go(a)"]), (4, [])])
    assert [one["bindings"] for one in found] == [[{"m": "0"}]] * 2


def test_ask():
    program = query("ASK", "WINDOW :w { :b :p ?n }")
    assert [(one["t"], one["answer"]) for one in answers(program, STREAM)][:1] == [(3, True)]
    assert [(one["t"], one["answer"]) for one in answers(program, STREAM)][-1:] == [(8, False)]
    for output, told in (("ISTREAM", [(3, True)]), ("DSTREAM", [(8, False)])):
        found = answers(query("ASK", "WINDOW :w { :b :p ?n }", output=output), STREAM)
        assert [(one["t"], one["answer"]) for one in found] == told


def test_a_graph_is_facts():
    program = query("CONSTRUCT { ?x a :Seen ; :twice ?m . ?n :of ?x }", "WINDOW :w { ?x :p ?n } BIND(2 * ?n AS ?m)")
    found = answers(program, [(1, ["p(a,1)"]), (3, [])])
    # A number is no subject: its triple is left out.
    assert found == [{"t": 3, "window": [1, 3], "graph": [f"<{EX}Seen>(<{EX}a>)", ex("twice(a,2)")]}]


def test_a_limit_of_a_graph_counts_rows():
    program = query("CONSTRUCT { ?x :seen :yes }", "WINDOW :w { ?x :p ?n }")
    limited = Source("q.rspql", f"{program.text} ORDER BY ?x LIMIT 2")
    found = answers(limited, [(1, ["p(a,1)", "p(a,2)", "p(b,1)"]), (3, [])])
    assert found[0]["graph"] == [ex("seen(a,yes)")]


def test_a_triple_that_several_rows_make_is_there_once():
    program = query("CONSTRUCT { ?x :has :p }", "WINDOW :w { ?x :p ?n }", output="ISTREAM")
    found = answers(program, [(1, ["p(a,1)"]), (2, ["p(a,2)"]), (3, ["p(a,3)"]), (5, ["p(a,4)"])])
    assert [(one["t"], one["graph"]) for one in found] == [(3, [ex("has(a,p)")])]


# Windows -------------------------------------------------------------------------------------------------------------


def test_each_window_shows_what_it_showed_when_it_closed_last():
    wide = "FROM NAMED WINDOW :wide ON STREAM :s [RANGE 4, SLIDE 4]"
    short = "FROM NAMED WINDOW :short ON STREAM :s [RANGE 1, SLIDE 1]"
    program = query("SELECT ?n ?m", "{ WINDOW :wide { ?x :p ?n } } UNION { WINDOW :short { ?x :p ?m } }", wide, short)
    found = answers(program, [(tick, [f"p(a,{tick})"]) for tick in range(6)])
    assert [one["bindings"] for one in found] == [
        [{"m": "0"}],
        [{"m": "1"}],
        [{"m": "2"}],
        [{"m": "3"}, *({"n": str(n)} for n in range(4))],
        [{"m": "4"}, *({"n": str(n)} for n in range(4))],
        [{"m": "5"}, *({"n": str(n)} for n in range(4))],
    ]
    assert [one["window"] for one in found] == [[max(0, tick - 3), tick] for tick in range(6)]


def test_facts_between_windows_are_never_seen():
    gaps = "FROM NAMED WINDOW :w ON STREAM :s [RANGE 1, SLIDE 3]"
    found = answers(query("SELECT ?n", "WINDOW :w { ?x :p ?n }", gaps), [(t, [f"p(a,{t})"]) for t in range(8)])
    assert rows(found) == {0: [["0"]], 3: [["3"]], 6: [["6"]]}


def test_aligned_windows_close_at_multiples():
    aligned = "FROM NAMED WINDOW :w ON STREAM :s [RANGE 10, SLIDE 5 ALIGN]"
    found = answers(query("ASK", "WINDOW :w { ?x :p ?n }", aligned), [(3, ["p(a,1)"]), (26, [])])
    assert [one["window"] for one in found] == [[6, 15], [11, 20], [16, 25]]


def test_the_first_tick_can_be_given():
    found = answers(query("ASK", "WINDOW :w { ?x :p ?n }"), STREAM, start=0, end=4)
    assert [one["window"] for one in found] == [[0, 2], [1, 3], [2, 4]]


def test_a_long_silence_is_passed_over():
    warned = []
    program = query("SELECT ?n", "WINDOW :w { ?x :p ?n }")
    found = answers(program, [(0, ["p(a,1)"]), (10_000_000, ["p(a,2)"])], warned)
    assert len(found) == 1 + MOST_EMPTY + 1
    assert found[-1] == {"t": 10_000_000, "window": [9_999_998, 10_000_000], "bindings": [{"n": "2"}]}
    assert [(one.code, "from 1003 to 9999999" in one.message) for one in warned] == [("W512", True)]
    in_steps = [(0, ["p(a,1)"]), *((tick, []) for tick in range(1, 2_000)), (10_000_000, ["p(a,2)"])]
    assert answers(program, in_steps) == found


def test_a_window_that_never_closes_is_reported():
    warned = []
    assert answers(query("ASK", "WINDOW :w { ?x :p ?n }"), [(1, ["p(a,1)"]), (2, [])], warned) == []
    assert [one.code for one in warned] == ["W606"]


# Streams -------------------------------------------------------------------------------------------------------------

TWO = (
    "FROM NAMED WINDOW :w ON STREAM <http://ex.org/streams#north> [RANGE 2, SLIDE 1]",
    "FROM NAMED WINDOW :v ON STREAM <http://ex.org/south> [RANGE 2, SLIDE 1]",
)


def event(tick, stream, *facts):
    return Event(tick, tuple(Fact(f"<{EX}p>", (f"<{EX}{name}>", "1")) for name in facts), stream)


def test_a_stream_is_called_by_its_local_name_or_its_iri():
    program = query("SELECT ?x ?y", "WINDOW :w { ?x :p ?n } WINDOW :v { ?y :p ?n }", *TWO)
    stream = [event(1, "north", "a"), event(1, "http://ex.org/south", "b"), event(2, "west", "c")]
    assert answers(program, stream)[0]["bindings"] == [{"x": "<http://ex.org/a>", "y": "<http://ex.org/b>"}]


def test_one_stream_and_one_in_the_query_are_each_others(tmp_path):
    (tmp_path / "other.facts").write_text(f"{ex('p(a,1)')} at 1.\n{ex('p(b,1)')} at 3.\n")
    assert rows(answers(query("SELECT ?x", "WINDOW :w { ?x :p ?n }"), tmp_path / "other.facts"))[3]


def test_a_stream_that_is_not_there_is_refused(tmp_path):
    (tmp_path / "north.facts").write_text(f"{ex('p(a,1)')} at 1.\n")
    (tmp_path / "east.facts").write_text(f"{ex('p(a,1)')} at 1.\n")
    program = query("ASK", "WINDOW :w { ?x :p ?n } WINDOW :v { ?x :p ?n }", *TWO)
    with pytest.raises(RejectedError) as error:
        answers(program, [tmp_path / "north.facts", tmp_path / "east.facts"])
    assert [(one.code, "`south`" in one.message) for one in error.value.diagnostics] == [("E602", True)]
    assert "`east`, `north`" in error.value.diagnostics[0].help


@pytest.mark.parametrize("named", [False, True])
def test_lines_that_name_no_stream_are_of_their_file(tmp_path, named):
    """Whether a stream is missing is known before the run if no line can be of another stream than its file."""
    key = '"stream":"west",' if named else ""
    for name in ("north", "east"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"t":1{" " * (1 << 20)},{key}"facts":[]}}\n')
    program = query("ASK", "WINDOW :w { ?x :p ?n } WINDOW :v { ?x :p ?n }", *TWO)
    files, warned = [tmp_path / "north.jsonl", tmp_path / "east.jsonl"], []
    if named:
        answers(program, files, warned)
        assert "W610" in [one.code for one in warned]
    else:
        with pytest.raises(RejectedError) as error:
            answers(program, files)
        assert [one.code for one in error.value.diagnostics] == ["E602"]


def test_a_stream_that_is_named_within_a_file_and_never_comes_is_reported(tmp_path):
    (tmp_path / "all.jsonl").write_text('{"t":1,"stream":"x","facts":["p(a,1)"]}\n{"t":9,"stream":"x","facts":[]}\n')
    warned = []
    assert not any(
        one["bindings"] for one in answers(query("SELECT ?n", "WINDOW :w { ?x :p ?n }"), tmp_path / "all.jsonl", warned)
    )
    assert [one.code for one in warned] == ["W610"]


def test_one_of_two_streams_that_never_comes_is_reported():
    warned = []
    program = query("ASK", "WINDOW :w { ?x :p ?n } WINDOW :v { ?x :p ?n }", *TWO)
    answers(program, [event(1, "north", "a"), event(2, "nrth", "a")], warned)
    assert [(one.code, "`south`" in one.message, "`north`, `nrth`" in one.help) for one in warned] == [
        ("W610", True, True)
    ]


def test_facts_that_are_not_triples_are_left_out_with_one_warning():
    warned = []
    stream = [(1, ["go", 'p("text",1)', "p(a,b,c)", "p(<http://[/>,2)", "p(a,1)"]), (3, [])]
    found = answers(query("SELECT *", "WINDOW :w { ?s ?p ?o }"), stream, warned)
    assert len(found[0]["bindings"]) == 1
    assert [one.code for one in warned] == ["W608"]


def test_texts_are_literals_however_they_are_written():
    stream = [(1, [f"<{EX}p>(<{EX}a>,road1)", f'<{EX}p>(<{EX}a>,"b c")', f"says(<{EX}a>,1)"]), (3, [])]
    found = run(query("SELECT ?n", "WINDOW :w { ?x :p ?n FILTER(?n IN ('road1', 'b c')) }"), stream=stream)
    assert [row["n"] for row in next(iter(found)).rows] == ["b c", "road1"]
    program = query("CONSTRUCT { ?x ?p ?n }", "WINDOW :w { ?x ?p ?n }")
    assert next(iter(run(program, stream=stream))).facts == tuple(map(fact_of_text, sorted(stream[0][1])))


# Background ----------------------------------------------------------------------------------------------------------

BACKGROUND = Source("known.trig", "@prefix : <http://ex.org/> . :a :in :g0 . :g { :a :in :g1 } :h { :a :in :g2 }")


@pytest.mark.parametrize(
    ("clauses", "pattern", "found"),
    [
        ("", "?x :in ?y", "g0"),
        ("", "GRAPH :g { ?x :in ?y }", "g1"),
        ("", "GRAPH ?g { ?x :in ?y }", "g1 g2"),
        ("FROM :g", "?x :in ?y", "g1"),
        ("FROM :g FROM :h", "?x :in ?y", "g1 g2"),
        ("FROM :g", "GRAPH ?g { ?x :in ?y }", ""),
        ("FROM NAMED :h", "GRAPH ?g { ?x :in ?y }", "g2"),
        ("FROM NAMED :h", "?x :in ?y", ""),
    ],
)
def test_a_pattern_outside_of_windows_sees_the_background(clauses, pattern, found):
    window = f"FROM NAMED WINDOW :w ON STREAM :s [RANGE 1] {clauses}"
    program = query("SELECT ?y", f"WINDOW :w {{ ?x :p ?n }} {pattern}", window)
    answered = answers(program, [(1, ["p(a,1)", "in(a,never)"])], background=BACKGROUND)
    assert [row["y"] for row in answered[0]["bindings"]] == [f"<http://ex.org/{name}>" for name in found.split()]


def test_a_window_cannot_have_the_name_of_a_graph():
    window = "FROM NAMED WINDOW :g ON STREAM :s [RANGE 1]"
    with pytest.raises(RejectedError) as error:
        answers(query("ASK", "WINDOW :g { ?x :p ?n }", window), STREAM, background=BACKGROUND)
    assert [one.code for one in error.value.diagnostics] == ["E603"]


def test_a_variable_for_windows_ranges_over_windows_only():
    program = query("SELECT ?w", "WINDOW ?w { }", *TWO)
    found = answers(program, [event(1, "north", "a"), event(2, "south", "a")], background=BACKGROUND)
    assert rows(found)[2] == [["<http://ex.org/v>"], ["<http://ex.org/w>"]]


# Interruptions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["RSTREAM", "ISTREAM", "DSTREAM"])
@pytest.mark.parametrize("form", ["SELECT ?x ?n", "CONSTRUCT { ?x :n ?n ; :b [] }", "ASK"])
def test_a_run_goes_on_where_it_was_saved(form, output):
    windows = (
        "FROM NAMED WINDOW :w ON STREAM :s [RANGE 4, SLIDE 3]",
        "FROM NAMED WINDOW :v ON STREAM :s [RANGE 3, SLIDE 2]",
    )
    program = query(form, "{ WINDOW :w { ?x :p ?n } } UNION { WINDOW :v { ?x :p ?n } }", *windows, output=output)
    part = load_part([program])
    stream = [(tick, ex(f"p({name},{tick % 3})")) for tick, name in enumerate("abcabbacbacb")]

    def made():
        return LocalRun(part, Context(Settings(first=0), Clock(), lambda found: None))

    def taken(reasoner, some):
        told = []
        for tick, fact in some:
            with start(part, [(tick, fact)], RunOptions()) as job:
                [(_, batch)] = [item for item in job.inputs if item is not None]
                words = job.run.dictionary
            facts = [replace_words(batch, words, reasoner.dictionary)]
            told += map(str, reasoner.advance(tick, facts))
        return told

    whole = taken(made(), stream)
    assert whole or (form, output) == ("ASK", "DSTREAM")
    for cut in range(1, len(stream)):
        before = made()
        told = taken(before, stream[:cut])
        after = LocalRun(part, Context(Settings(first=0), Clock(), lambda found: None))
        after.resume(before.snapshot())
        assert told + taken(after, stream[cut:]) == whole


def replace_words(batch, there, here):
    coded = replace(batch, rows={}, order=[])
    for fact in batch.facts(there):
        coded.add(fact.signature, [here.code(term) for term in fact.terms])
    return coded


# Why -----------------------------------------------------------------------------------------------------------------


def test_why_a_row_is_there_and_until_when():
    program = query("SELECT ?x ?k", "WINDOW :w { ?x :p ?n } ?x :kind ?k")
    given = {"stream": events(STREAM), "background": ex("kind(a,road). kind(b,road).")}
    proof = why_row(program, "?x=:a", 4, **given)
    assert (proof.tick, proof.until, proof.number) == (4, 4, 1)
    assert [(one.fact, one.ticks) for one in proof.solutions[0]] == [(ex("p(a,1)"), (2,)), (ex("kind(a,road)"), ())]
    assert why_row(program, '{"x":"<http://ex.org/b>"}', 6, **given).until == 7
    assert why_row(program, "?x=:c", 4, **given) is None


def test_what_a_row_of_an_aggregate_rests_on():
    program = query("SELECT (SUM(?n) AS ?sum)", "WINDOW :w { ?x :p ?n }")
    proof = why_row(program, "?sum=3", 3, stream=events(STREAM))
    assert proof.number == 2
    assert proof.until == 4


def test_what_a_row_with_a_computed_column_rests_on():
    program = query("SELECT ?x (?n + 1 AS ?next)", "WINDOW :w { ?x :p ?n }")
    proof = why_row(program, "?x=:a ?next=3", 4, stream=events([(2, ["p(a,1)", "p(a,2)"]), (4, [])]))
    assert [[one.fact for one in solution] for solution in proof.solutions] == [[ex("p(a,2)")]]
    assert proof.as_data()["row"] == {"x": "<http://ex.org/a>", "next": "3"}


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        (":p|:q", ["p(a,b)", "q(a,b)"]),
        ("^:r", ["r(b,a)"]),
        (":p/:r/:s", ["p(a,b)", "r(b,a)", "s(a,b)"]),
        ("(:s/^:t)+/:t", ["s(a,b)", "t(c,b)"]),
        ("!:p", ["q(a,b)", "s(a,b)"]),
        (":z?/:q", ["q(a,b)"]),
    ],
)
def test_why_a_path_leads_there(path, facts):
    program = query("SELECT ?x ?y", f"WINDOW :w {{ ?x {path} ?y FILTER(?x = :a && ?y = :b) }}")
    stream = [(1, ["p(a,b)", "q(a,b)", "r(b,a)", "s(a,b)", "t(c,b)"]), (4, [])]
    (solution,) = why_row(program, "?x=:a", 3, stream=events(stream)).solutions
    assert [one.fact for one in solution] == [ex(fact) for fact in facts]


def test_why_an_ask_is_true():
    proof = why_row(query("ASK", "WINDOW :w { ?x :p 1 }"), "", 3, stream=events(STREAM))
    assert (proof.row, proof.until, [one.fact for one in proof.solutions[0]]) == ("true", 4, [ex("p(a,1)")])


def test_a_row_may_come_to_an_end_because_something_leaves_that_kept_another_out():
    program = query("SELECT ?x", "WINDOW :w { ?x :p ?n FILTER NOT EXISTS { ?x :off ?m } }", output="ISTREAM")
    proof = why_row(program, "?x=:b", 4, stream=events([(2, ["p(a,1)", "off(a,1)"]), (3, ["p(b,1)"]), (4, ["p(b,1)"])]))
    assert (proof.until, [one.ticks for one in proof.solutions[0]]) == (6, [(3, 4)])


@pytest.mark.parametrize("row", ["?nowhere=1", "{", "", '{"x":3}', "[1]", "?x=<"])
def test_what_is_not_a_row_of_the_query_is_refused(row):
    with pytest.raises(RejectedError) as error:
        why_row(query("SELECT ?x", "WINDOW :w { ?x :p ?n }"), row, 4, stream=events(STREAM))
    assert [one.code for one in error.value.diagnostics] == ["E405"]
