import gzip
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import thalweg
from thalweg import IRI, Event, Fact, Program, RejectedError, api
from thalweg.api import Timing
from thalweg.diagnostics import Source
from thalweg.model.fact import Fact as SpelledFact

RECENT = "q(X) :- p(X) in [2]."
A, B = Fact("q", ("a",)), Fact("q", ("b",))


def test_the_public_names_are_there():
    for name in thalweg.__all__:
        assert getattr(thalweg, name).__name__ == {"Fact": "PythonFact"}.get(name, name)
    assert {*thalweg.__all__, "open", "__version__"} == {*dir(thalweg)}
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", thalweg.__version__)
    with pytest.raises(AttributeError, match="nonsense"):
        thalweg.nonsense  # noqa: B018


def test_a_program_is_a_path_a_text_or_a_program(tmp_path):
    path = tmp_path / "recent.lars"
    path.write_text(RECENT)
    expected = thalweg.load(RECENT)
    assert isinstance(expected, Program)
    assert thalweg.load(path) == thalweg.load(str(path)) == thalweg.load(expected) == expected


def test_many_programs_make_one():
    program = thalweg.load("q(X) :- p(X).", "r(X) :- q(X).\nq(a).", background=["p(b).", Fact("p", ("c",))])
    assert program.derived == {"q/1", "r/1"}
    assert sorted(map(str, program.background)) == ["p(b)", "p(c)", "q(a)"]


def test_everything_wrong_is_told_at_once(tmp_path):
    (tmp_path / "a.lars").write_text("q(X :- p(X).")
    (tmp_path / "b.txt").write_text("")
    found = thalweg.check(tmp_path / "a.lars", tmp_path / "b.txt", tmp_path / "c.lars", "r(X,Y) :- p(X).")
    assert [one.code for one in found] == ["E101", "E402", "E401", "E203"]
    with pytest.raises(RejectedError) as caught:
        thalweg.load(tmp_path / "a.lars", tmp_path / "c.lars")
    assert [one.code for one in caught.value.diagnostics] == ["E101", "E401"]


def test_a_circle_through_two_programs_is_found():
    assert [one.code for one in thalweg.check("a :- not b, c.", "b :- not a, c.")] == ["E204"]
    # Also when something else cannot be read: no rule that is missing takes the circle away.
    assert [one.code for one in thalweg.check("a :- not b, c.", "b :- not a, c. d(X :- c.")] == ["E101", "E204"]


def test_a_background_holds_facts_only():
    (found,) = thalweg.check("q(X) :- p(X).", background="p(a).\np(X) :- r(X).")
    assert found.code == "E403"
    assert found.span.source.line_at(found.span.start) == "p(X) :- r(X)."


@pytest.mark.parametrize(
    "on",
    [
        "p(a) at 3. p(b) at 4.",
        '{"t":3,"facts":["p(a)"]}\n{"t":4,"facts":["p(b)"]}',
        [(3, "p(a)"), (4, ["p(b)"])],
        iter([Event(3, (Fact("p", ("a",)),)), Event(4, (Fact("p", ("b",)),), "s")]),
        ["p(a) at 3.", "p(b) at 4."],
    ],
)
def test_streams_of_all_kinds(on):
    found = [(answer.t, answer.facts) for answer in thalweg.run(RECENT, stream=on, emit="snapshot")]
    assert found == [(3, (A,)), (4, (A, B))]


def test_streams_from_files(tmp_path):
    (tmp_path / "a.facts").write_text("p(a) at 3.")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"t":4,"facts":["p(b)"]}'))
    files = [tmp_path / "a.facts", tmp_path / "b.jsonl.gz"]
    assert list(thalweg.run(RECENT, stream=files, emit="snapshot"))[-1].facts == (A, B)
    assert [change.begin for change in thalweg.run(RECENT, stream=Path(files[0]))] == [(A,)]


def test_changes_and_intervals():
    on = [(3, "p(a)"), (4, "p(b)")]
    changes = thalweg.run(RECENT, stream=on, end=6)
    assert [(one.t, one.begin, one.end) for one in changes] == [(3, (A,), ()), (4, (B,), ()), (6, (), (A,))]
    intervals = thalweg.run(RECENT, stream=on, emit="intervals", end=6)
    assert [(one.fact, one.start, one.until) for one in intervals] == [(A, 3, 5), (B, 4, None)]
    assert str(next(iter(intervals))) == '{"fact":"q(a)","from":3,"until":5}'


def test_an_iterator_is_answered_as_it_flows():
    told = []

    def sensor():
        for tick in (3, 4, 9):
            yield tick, "p(a)"
            told.append(f"event {tick}")

    for answer in thalweg.run("q(X) :- p(X).", stream=sensor(), emit="changes"):
        told.append(answer.t)
    assert told == ["event 3", 3, "event 4", 5, "event 9", 9]


def test_a_gap_of_a_million_ticks_is_one_step():
    answers = thalweg.run(RECENT, stream=[(3, "p(a)"), (1_000_003, "p(b)")], emit="intervals")
    assert [(one.fact, one.start, one.until) for one in answers] == [(A, 3, 5), (B, 1_000_003, None)]


def test_the_dictionary_follows_the_window():
    """Terms that left the window are given back, also while batches wait for their turn."""
    events = ((tick, [f"p(n{tick}_{number})" for number in range(2_000)]) for tick in range(60))
    job = thalweg.api.start(
        thalweg.api.load_part([thalweg.load(RECENT)]), events, thalweg.api.RunOptions(Timing(delay=3))
    )
    begun, ended = set(), set()
    for piece in job.pieces():
        for answer in piece.answers() if piece else ():
            begun.update(answer.begin)
            ended.update(answer.end)
    assert begun == {f"q(n{tick}_{number})" for tick in range(60) for number in range(2_000)}
    assert len(begun - ended) == 3 * 2_000
    assert len(job.run.dictionary) < 100_000


def test_times_as_users_write_them():
    timing = Timing(tick="500ms", first="4", last="1970-01-01T00:00:10", delay="2 s")
    assert timing.ticks() == (4, 20, 4)
    assert timing.clock.tick_length == 500


@pytest.mark.parametrize(
    ("timing", "part"),
    [
        (Timing(tick="0s"), "tick"),
        (Timing(tick="1 fortnight"), "fortnight"),
        (Timing(delay="1500 ms"), "whole number"),
        (Timing(delay="soon"), "soon"),
        (Timing(delay="3 \x1c x"), "duration"),
        (Timing(delay="9" * 5_000), "duration"),
        (Timing(last="٣"), "neither"),
        (Timing(first="noon"), "noon"),
        (Timing(first=4, last=3), "before"),
        (Timing(first=-1), "-1"),
        (Timing(delay=-1), "-1"),
    ],
)
def test_times_that_do_not_fit(timing, part):
    with pytest.raises(ValueError, match=part):
        timing.ticks()


def test_why():
    on = [(3, "p(a)")]
    proof = thalweg.why(RECENT, "q(a)", at=4, stream=on)
    assert "p(a)" in proof.render()
    assert thalweg.why(RECENT, Fact("q", ("a",)), at=6, stream=on) is None
    assert thalweg.why(RECENT, "q(a)", at=6) is None
    absence = thalweg.why_not(RECENT, "q(a)", at=6, stream=on)
    assert absence is not None
    assert absence.rules
    assert thalweg.why_not(RECENT, Fact("q", ("a",)), at=4, stream=on) is None
    assert thalweg.why_not(RECENT, "q(a)", at=6).note == "no tick has been evaluated"


def test_a_late_fact_is_not_lost_in_silence():
    with pytest.warns(UserWarning, match="W302"):
        list(thalweg.run("q(X) :- p(X) in [1].", stream=[(3, "p(a)"), (1, "p(b)")]))


def test_facts_take_values_of_python():
    engine = thalweg.Engine(thalweg.load("q(X,Y) :- p(X,Y) in [1], Y > 2."))
    facts = [Fact("p", args) for args in [("a b", 3.0), (IRI("http://ex.org/a"), 2), ("c", 4)]]
    (change,) = engine.advance(1, facts)
    assert sorted(map(str, change.begin)) == ['q("a b",3)', "q(c,4)"]
    assert sorted(fact.args for fact in change.begin) == [("a b", 3), ("c", 4)]
    assert engine.why(Fact("q", ("a b", 3))) is not None
    (answer,) = thalweg.run("q(X) :- p(X).", stream=[(1, Fact("p", (True,)))], background=Fact("p", ("b 7",)))
    assert answer.begin == (Fact("q", ("b 7",)), Fact("q", (True,)))


def test_what_could_not_be_read_back_is_refused():
    engine = thalweg.Engine(thalweg.load("q(X) :- p(X) in [1]."))
    for spelling in ("a b", '"a"', "A"):
        with pytest.raises(ValueError, match="not the spelling of a term"):
            engine.advance(1, [SpelledFact("p", (spelling,))])
    with pytest.raises(TypeError, match="not a Fact"):
        engine.advance(1, ["p(a)"])


def test_diagnostics_come_in_the_order_of_the_text():
    found = thalweg.check("q(X,Y) :- p(X).\nr(X :- p(X).\ns(Z) :- p(X).")
    assert [one.span.source.position(one.span.start)[0] for one in found] == [1, 2, 3]


# What is wrong with a call -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda: thalweg.run(RECENT, mapp="p(x) at t"), "`mapp`; did you mean `map`"),
        (lambda: thalweg.open(RECENT, tck="1s"), "`tck`; did you mean `tick`"),
        (lambda: thalweg.check(RECENT, backgroud="p(a)."), "`backgroud`; did you mean `background`"),
        (lambda: thalweg.load(RECENT, sho="q/1"), "`sho`; did you mean `show`"),
        (lambda: api.explain(RECENT, partition=2), "`partition`; did you mean `partitions`"),
        (lambda: thalweg.why(RECENT, "q(a)", at=1, strem="p(a) at 1."), "`strem`; did you mean `stream`"),
        (lambda: thalweg.why_not(RECENT, "q(a)", at=1, dely=1), "`dely`; did you mean `delay`"),
        (lambda: thalweg.why_row(RECENT, "q(a)", at=1, zones="UTC"), "`zones`; did you mean `zone`"),
        (lambda: thalweg.why_event(RECENT, "q(a)", at=1, profle="dl"), "`profle`; did you mean `profile`"),
        (lambda: thalweg.open(RECENT, end=4), "`end`"),
    ],
)
def test_an_unknown_option_is_answered_with_the_one_that_was_meant(use, said):
    with pytest.raises(TypeError, match=f"unknown option {said}"):
        use()


TABLE = {"sensor": ["a", "b"], "v": [12, 30], "ts": [36, 37]}


@pytest.mark.parametrize("kind", ["held", "csv", "gz", "parquet", "text"])
def test_a_mapping_that_is_missing_is_raised_at_once(tmp_path, kind):
    table = pa.table(TABLE)
    match kind:
        case "held":
            stream = table
        case "text":
            stream = Source("readings.csv", "sensor;v;ts\na;12;36\n")
        case "parquet":
            stream = tmp_path / "readings.parquet"
            parquet.write_table(table, stream)
        case _:
            stream = tmp_path / f"readings.csv{'.gz' if kind == 'gz' else ''}"
            with gzip.open(stream, "w") if kind == "gz" else stream.open("wb") as file:
                file.write(b"sensor,v,ts\na,12,36\nb,30,37\n")
    for wrong in ((), "p(sensr) at ts", "p(sensor)"):
        with pytest.raises(RejectedError) as error:
            thalweg.run(RECENT, stream=stream, map=wrong)
        (found,) = error.value.diagnostics
        assert found.code == ("E308" if wrong == "p(sensor)" else "E301")
        assert "at ts" in found.help
    assert list(thalweg.run(RECENT, stream=stream, map="p(sensor) at ts"))
    # What is wrong is reported where the run is to go on, with what else it reads.
    reported = []
    assert not list(thalweg.run(RECENT, stream=stream, on_error="skip", report=reported.append))
    assert reported[0].code == "E301"


EIGHT = datetime(2026, 11, 15, 8, tzinfo=UTC)


def test_events_of_python_may_have_timestamps():
    times = EIGHT, "2026-11-15T08:00:01Z", "2026-11-15T09:00:02+01:00"
    for events in ([(time, "p(a)") for time in times], (Event(time, (Fact("p", ("a",)),)) for time in times)):
        (change,) = thalweg.run(RECENT, stream=events)
        assert (change.t, change.begin) == (EIGHT, (A,))
    # A number of numpy is a tick as any other.
    (change,) = thalweg.run(RECENT, stream=[(np.int64(3), "p(a)")])
    assert change.t == 3
    with pytest.raises(RejectedError, match="E309"):
        list(thalweg.run(RECENT, stream=[(3, "p(a)"), (EIGHT, "p(a)")]))
    for wrong in (True, 3.5, None):
        with pytest.raises(TypeError, match="is not a time"):
            list(thalweg.run(RECENT, stream=[(wrong, "p(a)")]))
    with pytest.raises(RejectedError, match="neither a tick nor a timestamp"):
        list(thalweg.run(RECENT, stream=[("noon", "p(a)")]))


OUTSIDE = (-1, 2**62, 2**63, "9" * 30)


@pytest.mark.parametrize("tick", OUTSIDE)
def test_an_event_outside_the_timeline_is_a_diagnostic(tick):
    for stream in ([(3, "p(b)"), (tick, "p(a)")], iter([(tick, "p(a)")])):
        with pytest.raises(RejectedError, match=rf"E301.*`{tick}` is outside the timeline") as raised:
            list(thalweg.run(RECENT, stream, end=5))
        assert "p(a)" in raised.value.diagnostics[0].message
    reported = []
    answers = thalweg.run(RECENT, [(tick, "p(a)"), (3, "p(b)")], on_error="skip", report=reported.append)
    assert [answer.begin for answer in answers] == [(B,)]
    assert [found.code for found in reported] == ["E301"]


@pytest.mark.parametrize("tick", OUTSIDE)
def test_a_timeline_has_no_end_or_start_outside(tick):
    for option in ("start", "end"):
        with pytest.raises(RejectedError, match=f"E403.*`{tick}` is"):
            list(thalweg.run(RECENT, [(3, "p(a)")], **{option: tick}))
    with pytest.raises(RejectedError, match="E403"):
        thalweg.why(RECENT, "q(a)", at=tick, stream=[(3, "p(a)")])


def test_messages_are_a_stream_with_a_mapping():
    messages = [{"s": "a", "ts": EIGHT}, {"s": None, "ts": EIGHT}, {"s": "b", "ts": "2026-11-15T08:00:01Z"}]
    reported = []
    for stream in (messages, iter(messages)):
        answers = thalweg.run(RECENT, stream=stream, map="p(s) at ts", report=reported.append)
        assert [one.begin for one in answers] == [(A,), (B,)]
    assert {one.code for one in reported} == {"W307"}
    with pytest.raises(RejectedError, match="an event needs the key `t`") as error:
        thalweg.run(RECENT, stream=messages)
    assert "at ts" in error.value.diagnostics[0].help
    with pytest.raises(RejectedError, match="not all the names of"):
        thalweg.run(RECENT, stream=[{"x": "a"}], map="p(s) at ts")
    # What is wrong further on goes by `on_error`; an iterator is read as it comes.
    for stream in ([*messages, {"x": 1}], iter([*messages, {"x": 1}])):
        answers = iter(thalweg.run(RECENT, stream=stream, map="p(s) at ts", report=reported.append))
        assert next(answers).begin == (A,)
        with pytest.raises(RejectedError, match="not all the names of"):
            list(answers)
        reported.clear()
    skipped = thalweg.run(
        RECENT, stream=[{"x": 1}, *messages], map="p(s) at ts", on_error="skip", report=reported.append
    )
    assert len(list(skipped)) == 2
    assert reported[0].code == "E301"
    # Without a time in the mapping, messages that come are of the tick of their arrival.
    (change,) = thalweg.run(RECENT, stream=iter([{"s": "a"}]), map="p(s)")
    assert change.t.year >= 2026
    with pytest.raises(RejectedError, match="says no time"):
        thalweg.run(RECENT, stream=[{"s": "a"}], map="p(s)")


def test_durations_and_dates_of_python():
    events = [(EIGHT, "p(a)"), (EIGHT - timedelta(seconds=2), "p(b)")]
    for day in (date(2026, 11, 16), np.datetime64("2026-11-15T08:00:09"), EIGHT + timedelta(seconds=9)):
        answers = thalweg.run(RECENT, events, tick=timedelta(seconds=1), delay=timedelta(seconds=5), end=day)
        assert [one.end for one in answers][-1] == (A,)
    windows = thalweg.run(Source("a.lp", "q(X) :- p(X)."), events, delay="5s", window=timedelta(seconds=3), workers=0)
    assert [one.sets for one in windows] == [((A, B),)]
    kept = thalweg.run(Source("a.nt", ""), [(1, "<a>(<b>)")], keep=timedelta(seconds=5))
    assert list(kept) == []
    for wrong in (60, timedelta(microseconds=1)):
        with pytest.raises(RejectedError, match="is not a duration"):
            thalweg.run(RECENT, events, tick=wrong)


def test_rows_of_pandas_are_messages():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"s": ["a", "b"], "ts": [EIGHT, EIGHT]})
    for rows in (list(table.itertuples()), table.itertuples(), [row for _, row in table.iterrows()]):
        (change,) = thalweg.run(RECENT, rows, map="p(s) at ts")
        assert change.begin == (A, B)
        with thalweg.open(RECENT, map="p(s) at ts") as session:
            for row in table.itertuples():
                session.push(row)
            session.push(table.iloc[0])
            assert [one.begin for one in session.advance()] == [(A, B)]
    with pytest.raises(TypeError, match="stands among messages"):
        list(thalweg.run(RECENT, [{"s": "a", "ts": 3}, (3, "p(a)")], map="p(s) at ts"))


def test_messages_are_a_background():
    known = [{"s": "a", "site": "north"}, {"s": "b"}]
    rules = "q(X,Y) :- p(X), site(X,Y)."
    (change, *_) = thalweg.run(rules, [(3, "p(a)")], background=known, map="site(s, site)", report=lambda _: None)
    assert change.begin == (Fact("q", ("a", "north")),)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda: thalweg.run(None), "None is neither a file nor a text"),
        (lambda: thalweg.check(b"q :- p."), "is neither a file nor a text"),
        (lambda: thalweg.run(RECENT, background=3), "3 is neither a file nor a text"),
        (lambda: thalweg.run(RECENT, map={"p": ["s"]}), "`map` is a text such as"),
        (lambda: thalweg.run(RECENT, map=[3]), "`map` is a text such as"),
        (lambda: thalweg.run(RECENT, prefix="ex=http://ex.org/"), "`prefix` is a dict such as"),
    ],
)
def test_a_value_of_another_type_is_said_in_words(use, said):
    with pytest.raises(TypeError, match=said):
        use()


@pytest.mark.parametrize("text", ["jam.lrs", "rules/jam", "/home/me/jam.txt"])
def test_a_text_that_looks_like_a_path_is_answered_with_the_endings(text):
    with pytest.raises(RejectedError) as error:
        thalweg.run(text)
    assert "a name that ends in .lars" in error.value.diagnostics[0].help


def test_what_is_not_a_stream_is_said_at_the_call():
    polars = pytest.importorskip("polars")
    for wrong, said in ((3, "int is not a stream"), (polars.LazyFrame({"a": [1]}), "`collect\\(\\)` it")):
        with pytest.raises(TypeError, match=said):
            thalweg.run(RECENT, stream=wrong)


def test_a_size_of_memory_is_a_number_or_a_text():
    for memory in ("32M", 33554432):
        assert list(thalweg.run(RECENT, stream=[(3, "p(a)")], memory=memory))
    with pytest.raises(RejectedError, match="`32Q` is not a size"):
        thalweg.run(RECENT, memory="32Q")


# Warnings ------------------------------------------------------------------------------------------------------------

AGAIN = "again(S) :- alarm(S), alarm(S) at U."
ON = [(1, "alarm(a)")]


@pytest.mark.parametrize(
    "use",
    [
        lambda **more: thalweg.load(AGAIN, **more),
        lambda **more: list(thalweg.run(AGAIN, stream=ON, **more)),
        lambda **more: thalweg.why(AGAIN, "again(a)", at=1, stream=ON, **more),
    ],
    ids=["load", "run", "why"],
)
def test_what_check_warns_of_is_a_warning_of_python(use):
    (expected,) = thalweg.check(AGAIN)
    with pytest.warns(thalweg.ThalwegWarning, match="kept for ever") as given:
        use()
    (warning,) = given
    assert warning.message.diagnostic == expected
    assert warning.filename == __file__
    reported = []
    use(report=reported.append)
    assert reported == [expected]


def test_late_facts_are_a_warning_wherever_a_program_is_run():
    late = [(5, "p(a)"), (1, "p(a)")]
    for use in (
        lambda: list(thalweg.run(RECENT, stream=late)),
        lambda: thalweg.why(RECENT, "q(a)", at=5, stream=late),
    ):
        with pytest.warns(thalweg.ThalwegWarning, match="late"):
            use()


def test_hours_are_those_of_the_ticks_of_the_run() -> None:
    program = Source("hours.lars", "h(H) :- p(T), H = hour(T).")
    answers = list(thalweg.run(program, stream=[(0, "p(90)")], tick="1 min", emit="snapshot"))
    assert [answer.facts for answer in answers] == [(Fact("h", (1,)),)]


MOMENT = "2026-11-15T08:00:00Z"


@pytest.mark.parametrize("amount", ["12345678901234567.89", "720575940379279.35"])
def test_money_is_exact_or_malformed(tmp_path, amount):
    cents = pa.decimal128(38, 2)
    table = pa.table({"x": ["a", "b"], "v": pa.array([Decimal(amount), Decimal("123456789012.34")], cents)})
    mapped = table.append_column("ts", pa.array([MOMENT] * 2))
    parquet.write_table(mapped, tmp_path / "paid.parquet")
    stated = pa.table({"s": table["x"], "p": ["paid"] * 2, "o": table["v"], "t": [1, 1]})
    for stream, mapping in (
        (mapped, "paid(x, v) at ts"),
        (tmp_path / "paid.parquet", "paid(x, v) at ts"),
        (stated, ()),
    ):
        with pytest.raises(RejectedError, match=f"E301.*`{amount}` has more digits than a number can hold"):
            list(thalweg.run("q(X,V) :- paid(X,V).", stream, map=mapping))
        answers = thalweg.run("q(X,V) :- paid(X,V).", stream, map=mapping, on_error="skip", report=lambda found: None)
        assert [str(fact) for answer in answers for fact in answer.begin] == ["q(b,123456789012.34)"]
    answers = thalweg.run("q(X,V) :- paid(X,V).", mapped, map="paid(x, text(v)) at ts")
    assert Fact("q", ("a", amount)) in next(iter(answers)).begin
    with pytest.raises(ValueError, match="more digits"):
        list(thalweg.run("q(V) :- p(V).", [(1, Fact("p", (Decimal(amount),)))]))


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [("rdf:type(x, <http://c.org/Hot>) at ts", {"a", "b"}), ("rdf:type(x, <{class}>) at ts", {"a"})],
)
def test_a_mapping_to_a_type_is_a_fact_of_the_class(mapping, expected):
    rows = [("a", "http://c.org/Hot"), ("b", "http://c.org/Cold")]
    messages = [{"x": x, "class": name, "ts": MOMENT} for x, name in rows]
    program = "@prefix c: <http://c.org/> . hot(X) :- c:Hot(X)."
    for stream in (messages, pa.Table.from_pylist(messages)):
        answers = thalweg.run(program, stream, map=mapping, report=lambda found: None)
        assert {fact.args[0] for answer in answers for fact in answer.begin} == expected
    with pytest.raises(RejectedError, match="is not a class"):
        list(thalweg.run(program, messages, map="rdf:type(x, class) at ts"))


def test_errors_of_mappings_are_those_of_python():
    for mapping, place in (("p(x at ts", "map:1:"), ("p(y) at ts", '`map="')):
        with pytest.raises(RejectedError, match=place) as raised:
            thalweg.run("q(X) :- p(X).", pa.table({"x": ["a"], "ts": [MOMENT]}), map=mapping)
        assert "--map" not in str(raised.value)
