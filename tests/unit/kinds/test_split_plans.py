"""A plan of several kinds in fragments: what is split, who reports what, and what becomes of facts that are late."""

import pytest

from buckets import LOSSES, Buckets
from thalweg import api
from thalweg.answers.jsonl import lines
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Diagnostic, FailedError, Source
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.part import Part
from thalweg.languages.lars.facts import read_fact
from thalweg.model.event import Event
from thalweg.model.predicate import Predicate
from thalweg.runtimes.spark.job import Job
from thalweg.solvers.pool import SolverPool

RULES = "slow(R) :- speed(S,V) in [5], on(S,R), V < 20. go(R) :- slow(R), not closed(R)."
SOLVED = "closed(R) :- works(R), not done(R). tow(C) :- parked(C), noted(C)."
ONTOLOGY = """Prefix(:=<http://ex/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(Declaration(DataProperty(:v)) DisjointClasses(:Hot :Cold)
  EquivalentClasses(:Hot DataSomeValuesFrom(:v DatatypeRestriction(xsd:integer xsd:minInclusive "20"^^xsd:integer))))"""
EVENTS = "PREFIX : <http://ex/> NAMED EVENT :H AS :Hot NAMED EVENT :M { MATCH EVERY :H SEQ :H WITHIN (3 s) }"
COLD = ((), (), ("<http://ex/Cold>(<http://ex/o5>)", "<http://ex/v>(<http://ex/o5>,30)"))
SPLITS = ("auto", "always")
LOOP = "#record closed/1. slow(R) :- closed(R) before [2]. go(R) :- closed(R)."
OF_EVENTS = "@prefix : <http://ex/> . hot(E) :- :H(E). seen(E) :- :M(E) in [2]."


def plan(*texts: str, asking: SolveOptions = SolveOptions(workers=0)) -> Part:
    names = ("rules.lars", "solved.lp", "events.tw", "site.ofn", "made.rspql")
    sources = [Source(name, text) for name, text in zip(names, texts, strict=False) if text]
    return api.load_part(sources, solving=asking, report=lambda _: None)


def event(tick: int, *facts: str) -> Event:
    return Event(tick, tuple(map(read_fact, facts)), "in")


def buckets(part: Part, partitions: int = 2, split: str = "auto", **settings: int) -> Buckets:
    return Buckets(part, Settings(emit="changes", **settings), partitions, split=split)


def widths(job: Job) -> list[int]:
    return [fragment.width for fragment in job.fragments]


def said(blocks: list[object]) -> list[str]:
    return [line for block in blocks for line in lines(block)]


def test_places_that_read_streams_only_are_split_and_all_meet_in_one_bucket() -> None:
    job = buckets(plan(RULES, SOLVED)).job
    # Rules by sensor, two pieces, roads put together, and the meeting: answers are combined, and rules read them.
    assert widths(job) == [2, 2, 2, 2, 1]
    assert [fragment.operators for fragment in job.fragments] == [(0,), (2,), (3,), (1,), (4, 5)]
    assert [[fragment.number for fragment in level] for level in job.levels] == [[0, 1, 2], [3], [4]]
    assert len(set(job.labels)) == 2


def test_places_that_read_others_are_split_where_that_is_asked_for() -> None:
    job = buckets(plan(RULES, SOLVED), split="always").job
    assert widths(job) == [2, 2, 2, 1, 2, 2]
    assert [fragment.operators for fragment in job.fragments] == [(0,), (2,), (3,), (4,), (1,), (5,)]
    assert [[fragment.number for fragment in level] for level in job.levels] == [[0, 1, 2], [3, 4], [5]]


@pytest.mark.parametrize(
    ("texts", "together"),
    [
        (("go(R) :- slow(R), not closed.", "closed :- slow(_), works."), (0,)),
        ((LOOP, "closed(R) :- slow(R). :- closed(R), open(R)."), (0, 1)),
    ],
    ids=["no key", "a loop through the past"],
)
def test_a_plan_without_such_places_is_in_one_bucket(texts: tuple[str, str], together: tuple[int, ...]) -> None:
    job = buckets(plan(*texts)).job
    assert [job.buckets(fragment.number) for fragment in job.fragments] == [range(1)]
    # What has no key, and the loop, stay in one bucket even where all is split that can be.
    split = buckets(plan(*texts), split="always").job
    assert widths(split) == [1, 2]
    assert split.fragments[0].operators == together


OF_TWO = "#record o/2. d(X,Y) :- o(X,Y) before [2]. d(X,Y) :- r(X,Y)."
BY_SECOND = "#record o/2. d(X,Y) :- o(X,Y) before [2], not q(Y). d(X,Y) :- r(X,Y)."


@pytest.mark.parametrize(
    ("texts", "split", "expected"),
    [
        ((LOOP, "closed(R) :- slow(R)."), "auto", [((0, 1), 2), ((2, 3), 1)]),
        ((LOOP, "closed(R) :- slow(R). closed(R) :- works(R), not done(R)."), "auto", [((0, 1, 2), 2), ((3, 4), 1)]),
        ((LOOP, "closed(R) :- slow(R)."), "always", [((0, 1), 2), ((2,), 1), ((3,), 2)]),
        # What several buckets would derive is put together in one.
        ((LOOP, "closed(R) :- slow(S), on(S,R)."), "always", [((0, 1), 1), ((2,), 2)]),
        # Another bucket may have no answer.
        ((LOOP, "{ closed(R) } :- slow(R)."), "always", [((0, 1), 1), ((2,), 2)]),
        ((OF_TWO, "o(X,Y) :- d(X,Y), s(X)."), "always", [((0, 1), 2), ((2,), 1)]),
        ((BY_SECOND, "o(X,Y) :- d(X,Y), s(Y)."), "always", [((0, 1), 2), ((2,), 1)]),
        # Rules and answer sets need different keys.
        ((BY_SECOND, "o(X,Y) :- d(X,Y), s(X)."), "always", [((0, 1), 1)]),
        ((OF_TWO, "o(Y,X) :- d(X,Y), s(X)."), "always", [((0, 1), 1)]),
    ],
)
def test_a_loop_through_the_past_is_split_where_all_of_it_has_one_key(
    texts: tuple[str, str], split: str, expected: list[object]
) -> None:
    job = buckets(plan(*texts), split=split).job
    assert [(fragment.operators, fragment.width) for fragment in job.fragments] == expected


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (
            (LOOP, "closed(R) :- slow(R)."),
            "on Spark parts 1, 2 share their partitions: a loop through `before` has one key",
        ),
        (
            (LOOP, "closed(R) :- slow(R). :- closed(R), open(R)."),
            "on Spark parts 1, 2 are together in one partition: "
            "parts 1 and 2 are a loop through `before` that no key splits, as part 2 has no key",
        ),
        (
            (BY_SECOND, "o(X,Y) :- d(X,Y), s(X)."),
            "on Spark parts 1, 2 are together in one partition: parts 1 and 2 are a loop through `before` that no key "
            "splits, as part 1 does not read `o/2` by the key by which part 2 gives it",
        ),
    ],
    ids=["one key", "no key", "two keys"],
)
def test_explain_says_whether_a_loop_has_a_key(texts: tuple[str, str], sentence: str) -> None:
    assert sentence in plan(*texts).explain(2, split="always").as_text().splitlines()


@pytest.mark.parametrize("split", SPLITS)
def test_in_one_partition_nothing_is_split(split: str) -> None:
    assert {*widths(buckets(plan(RULES, SOLVED), 1, split).job)} == {1}


def reading(job: Job, name: str) -> list[int]:
    return [fragment for fragment, _, _ in job.routes(Predicate.read(name))]


def test_facts_go_where_they_are_read() -> None:
    job = buckets(plan(RULES, SOLVED)).job
    read = {name: reading(job, name) for name in ("speed/2", "works/1", "x/1")}
    assert read == {"speed/2": [0], "works/1": [1], "x/1": []}
    # A rule that is not split reads it, too.
    both = buckets(plan(f"{RULES} a(S) :- closed(R), speed(S,R).", SOLVED)).job
    assert reading(both, "speed/2") == [0, 4]
    # A window that counts all facts needs all of them.
    counting = buckets(plan("a(X) :- closed(X), on(X) in [2 #].", SOLVED)).job
    assert reading(counting, "x/1") == [2]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("how", LOSSES)
def test_answers_of_pieces_are_read_by_rules(how: str, split: str) -> None:
    work = buckets(plan(RULES, SOLVED), split=split, first=0)
    found = said(work.take([event(0, "speed(s1,9)", "on(s1,r1)", "works(r1)")], ended=False))
    work.lose(how)
    found += said(work.take([event(2, "done(r1)", "works(r1)", "parked(c)", "noted(c)", "on(s1,r1)")], ended=False))
    work.lose(how)
    found += said(work.take([event(4, "on(s1,r1)")]))
    assert found == [
        '{"t":0,"window":[0,0],"answers":[["closed(r1)"]]}',
        '{"t":0,"begin":["slow(r1)"],"end":[]}',
        '{"t":1,"window":[1,1],"answers":[[]]}',
        '{"t":1,"begin":[],"end":["slow(r1)"]}',
        '{"t":2,"window":[2,2],"answers":[["tow(c)"]]}',
        '{"t":2,"begin":["go(r1)","slow(r1)"],"end":[]}',
        '{"t":3,"window":[3,3],"answers":[[]]}',
        '{"t":3,"begin":[],"end":["go(r1)","slow(r1)"]}',
        '{"t":4,"begin":["go(r1)","slow(r1)"],"end":[]}',
    ]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("how", LOSSES)
def test_a_stream_too_short_for_a_window_has_one_at_its_end_though_its_last_tick_has_passed(
    how: str, split: str
) -> None:
    part = plan("go(R) :- closed(R).", SOLVED, asking=SolveOptions(window=9, slide=1, workers=0))
    work = buckets(part, split=split, first=0, last=2)
    assert said(work.take([event(1, "works(a)"), event(5, "works(b)")], ended=False)) == []
    work.lose(how)
    assert said(work.take([])) == [
        '{"t":2,"window":[0,2],"answers":[["closed(a)"]]}',
        '{"t":2,"begin":["go(a)"],"end":[]}',
    ]


@pytest.mark.parametrize("split", SPLITS)
def test_late_facts_are_reported_once_whoever_gets_them(split: str) -> None:
    part = plan(f"{RULES} a(S) :- closed(R), speed(S,R). b(R) :- works(R) in [2], not slow(R).", SOLVED)
    work = buckets(part, split=split, delay=1)
    facts = ("speed(s1,9)", "on(s1,r1)", "works(r1)", "done(r1)", "nobody(x)")
    work.take([event(9, "speed(s1,30)"), event(3, *facts)])
    assert sorted(work.late) == sorted(facts)


@pytest.mark.parametrize("split", SPLITS)
def test_what_deserves_a_warning_is_reported_once(split: str) -> None:
    part = plan(
        "slow(S) :- speed(S,V), V < 20. go(S) :- slow(S), not closed(S).", "closed(R) :- works(R), not done(R)."
    )
    work = buckets(part, 3, split)
    work.take([event(0, *(f'speed(s{number},"n/a")' for number in range(9)))], ended=False)
    work.take([event(1, *(f'speed(s{number},"n/a")' for number in range(9)))])
    assert [one.code for one in work.found] == ["W305"]


@pytest.mark.parametrize(("split", "expected"), [("auto", [3, 1]), ("always", [3, 1, 3])])
@pytest.mark.parametrize("how", LOSSES)
def test_events_are_classified_in_all_buckets_and_rejected_as_in_one_process(
    how: str, split: str, expected: list[int]
) -> None:
    part = plan(OF_EVENTS, "", EVENTS, ONTOLOGY)
    some = [event(tick // 2, f"<http://ex/v>(<http://ex/o{tick}>,{tick * 5})", *COLD[tick % 3]) for tick in range(12)]
    timing = api.Timing(first=0)
    with api.start(part, some, api.RunOptions(timing), api.Observer(lambda _: None)) as job:
        alone = said([block for block in job.pieces() if block is not None])
    work, found = buckets(part, 3, split, first=0), list[str]()
    assert widths(work.job) == expected
    for start in range(0, 12, 5):
        found += said(work.take(some[start : start + 5], ended=start == 10))
        work.lose(how)
    assert found == alone
    assert all(name in str(found) for name in ("inconsistent", "hot", "seen"))


def test_what_a_bucket_cannot_solve_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise FailedError(Diagnostic("E504", "clingo has not solved a window: it is gone"))

    monkeypatch.setattr(SolverPool, "solve", broken)
    work = buckets(plan("go(R) :- pick(R).", f"{SOLVED} {{ pick(R) }} :- works(R)."))
    with pytest.raises(FailedError, match="it is gone"):
        work.take([event(0, "works(a)")])


@pytest.mark.parametrize("split", SPLITS)
def test_facts_that_are_not_inputs_are_warned_about_once(split: str) -> None:
    work = buckets(plan("go(R) :- closed(R).", f"{SOLVED} done(R) :- over(R)."), split=split)
    work.take([event(0, "done(a)", "done(b)", "works(a)")], ended=False)
    work.take([event(1, "done(c)", "parked(a)")])
    assert [one.code for one in work.found] == ["W506"]


def test_windows_of_pieces_that_are_passed_over_are_reported_once() -> None:
    part = plan("go(R) :- closed(R).", SOLVED, asking=SolveOptions(window=1, slide=1, workers=0))
    work = buckets(part, first=0)
    work.take([event(0, "works(a)"), event(5_000, "works(b)")])
    assert [one.message for one in work.found if one.code == "W512"] == [
        "3,999 windows without facts skipped after 1000 others in a row, the first at 1001"
    ]


OF_ONE = """PREFIX : <http://ex/> NAMED EVENT :H AS :Hot NAMED EVENT :G AS :v some xsd:integer[>= 40]
NAMED EVENT :M { MATCH EVERY :H SEQ :G WITHIN (9 s) IF { EVENT :H { ?x :v ?a } EVENT :G { ?x :v ?b } } }"""
MADE = """PREFIX : <http://ex/> REGISTER RSTREAM :made AS CONSTRUCT { ?x a :Big }
FROM NAMED WINDOW :w ON STREAM :in [RANGE 3s, SLIDE 2s] WHERE { WINDOW :w { ?x :v ?v FILTER(?v > 30) } }"""


@pytest.mark.parametrize("how", LOSSES)
@pytest.mark.parametrize(
    ("texts", "split", "expected"),
    [
        ((OF_EVENTS, "", OF_ONE, ONTOLOGY), "auto", [3, 3, 1]),
        ((OF_EVENTS, "", OF_ONE, ONTOLOGY), "always", [3, 3, 1, 3]),
        (("@prefix : <http://ex/> . big(X) :- :Big(X) in [2].", "", "", "", MADE), "auto", [3, 1]),
        (("@prefix : <http://ex/> . big(X) :- :Big(X) in [2].", "", "", "", MADE), "always", [3, 1, 3]),
    ],
)
def test_patterns_and_queries_that_read_streams_only_are_split_as_they_are_alone(
    texts: tuple[str, ...], split: str, expected: list[int], how: str
) -> None:
    part = plan(*texts)
    some = [event(tick // 2, f"<http://ex/v>(<http://ex/o{tick % 4}>,{tick * 5})", "other(x)") for tick in range(14)]
    with api.start(part, some, api.RunOptions(api.Timing(first=0)), api.Observer(lambda _: None)) as job:
        alone = said([block for block in job.pieces() if block is not None])
    work, found = buckets(part, 3, split, first=0), list[str]()
    assert widths(work.job) == expected
    for start in range(0, 14, 5):
        found += said(work.take(some[start : start + 5], ended=start == 10))
        work.lose(how)
    assert found == alone
    assert len(found) > 4


def test_facts_that_a_query_does_not_join_are_reported_late_once() -> None:
    work = buckets(plan("@prefix : <http://ex/> . big(X) :- :Big(X) in [2].", "", "", "", MADE), delay=1)
    facts = ("<http://ex/v>(<http://ex/o>,9)", "other(x)")
    work.take([event(9, "<http://ex/v>(<http://ex/o>,9)"), event(3, *facts)])
    assert sorted(work.late) == sorted(facts)


@pytest.mark.parametrize(
    ("split", "behind", "last"),
    [
        ("auto", [(["R"], 2), (None, 1)], ["on Spark parts 2, 3 are together in one partition: "]),
        (
            "always",
            [(None, 1), (["R"], 2), (["R"], 2)],
            [
                "on Spark part 3 is split: 2 partitions by R",
                "on Spark what the buckets of part 2 give is put together in one partition",
            ],
        ),
    ],
)
def test_explain_says_what_runs_where(split: str, behind: list[object], last: list[str]) -> None:
    part = plan(RULES, SOLVED)
    explained = part.explain(2, split=split)
    stages = [(stage["key"], stage["partitions"]) for stage in explained.as_data()["stages"]]
    assert stages == [(["S"], 2), (["R"], 2), (["C"], 2), *behind]
    assert [partitions for _, partitions in stages] == widths(buckets(part, split=split).job)
    expected = [
        "on Spark part 1 is split: 2 partitions by S, 2 partitions by R",
        "on Spark part 2 is split: 2 partitions by R, 2 partitions by C",
        *last,
    ]
    sentences = [line for line in explained.as_text().splitlines() if line.startswith("on Spark")]
    assert all(line.startswith(words) for line, words in zip(sentences, expected, strict=True))
    assert ("`--split always` splits" in explained.as_text()) == (split == "auto")
    assert "Spark" not in part.explain().as_text()


def test_explain_says_which_definitions_of_events_are_matched_where_all_meet() -> None:
    stages = plan(f"{OF_EVENTS} :Hot(X) :- far(X) in [3].", "", OF_ONE, ONTOLOGY).explain(2).as_data()["stages"]
    assert [stage["partitions"] for stage in stages] == [2, 2, 1]
    assert stages[1]["rules"] == ["<http://ex/H>", "<http://ex/G>"]
    assert any("<http://ex/M>" in one for one in stages[2]["rules"])
    alone = plan(OF_EVENTS, "", OF_ONE, ONTOLOGY).explain(2).as_data()["stages"]
    assert [stage["rules"] for stage in alone[:2]] == [["<http://ex/H>", "<http://ex/G>"], ["<http://ex/M>"]]
    assert alone[2]["rules"] == ["hot(E) :- <http://ex/H>(E).", "seen(E) :- <http://ex/M>(E) in [2]."]


def test_what_waits_for_a_first_window_waits_with_its_last_tick_only() -> None:
    asking = SolveOptions("brave", 3, 1, workers=0)
    part = plan("d(X) :- s(X) in [1]. b(N) :- N = count{X : u(X)}.", "{ u(X) } :- w(X).", asking=asking)
    with api.start(part, [event(1, "s(x)")], api.RunOptions(api.Timing(first=0)), api.Observer(lambda _: None)) as job:
        alone = said([block for block in job.pieces() if block is not None])
    assert alone == [
        '{"t":0,"begin":["b(0)"],"end":[]}',
        '{"t":1,"window":[0,1],"answers":[[]]}',
        '{"t":1,"begin":["d(x)"],"end":[]}',
    ]
