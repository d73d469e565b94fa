import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import RECENT

from thalweg.answers.jsonl import lines
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.rules.rule_part import Rules
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import Calendar, Clock
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.observer import Observer
from thalweg.runtimes.watermark import Watermark


class Listed(list):
    """Items that are all there, with nothing read ahead."""

    groups, group, resting, ended, holds, repeats = 1, 0, frozenset(), frozenset(), False, True

    def waiting(self):
        return ()


class Counted(LocalRun):
    """Counts how often it is called: there is nothing to evaluate at ticks at which nothing comes."""

    calls: list[int]

    def advance(self, tick, batches):
        self.calls.append(tick)
        return super().advance(tick, batches)


class Run:
    """Rules in this process; an item is a tick with names for `p`, a diagnostic, or None for a wait."""

    def __init__(self, *items, late=None, emit="snapshot", **settings):
        self.reports = []
        context = Context(Settings(emit=emit, **settings), Clock(), self.reports.append)
        self.run = Counted(Rules(RECENT), context, Observer(late=late))
        self.run.calls = []
        self.items = Listed(self._coded(item) for item in items)

    def _coded(self, item):
        if not isinstance(item, tuple):
            return item
        tick, *names = item
        batch = Batch(stream="s")
        for name in names:
            batch.add(Predicate("p", 1), [self.run.dictionary.code(name)])
        return tick, batch

    def lines(self):
        return [line for answer in self.run.answers(self.items) if answer for line in lines(answer)]

    def told_at_each_wait(self):
        """The answers, cut where the runtime says that it has nothing more to say."""
        parts = [[]]
        for piece in self.run.answers(self.items):
            if piece is None:
                parts.append([])
            else:
                parts[-1] += lines(piece)
        return parts


def test_a_snapshot_for_every_tick_up_to_the_last_event():
    assert Run((3, "a"), (5, "b")).lines() == [
        '{"t":3,"facts":["q(a)"]}',
        '{"t":4,"facts":["q(a)"]}',
        '{"t":5,"facts":["q(a)","q(b)"]}',
    ]


def test_from_and_to_fix_the_timeline():
    assert Run((3, "a"), first=2, last=6).lines() == [
        '{"t":2,"facts":[]}',
        '{"t":3,"facts":["q(a)"]}',
        '{"t":4,"facts":["q(a)"]}',
        '{"t":5,"facts":["q(a)"]}',
        '{"t":6,"facts":[]}',
    ]


def test_what_comes_before_from_takes_no_part_and_is_not_late():
    run = Run((3, "a"), (2, "b"), (4, "c"), first=4)
    assert run.lines() == ['{"t":4,"facts":["q(c)"]}']
    assert run.reports == []


def test_what_comes_after_to_takes_no_part_and_nothing_more_is_read():
    class Items:
        def __iter__(self):
            yield (3, Batch())
            yield (9, Batch())
            raise AssertionError("read on after the end")

        groups, group, resting, ended = 1, 0, frozenset(), frozenset()

        def waiting(self):
            return ()

    run = Run(last=4)
    run.items = Items()
    assert run.lines() == ['{"t":3,"facts":[]}', '{"t":4,"facts":[]}']


def test_without_events_there_is_a_timeline_only_where_both_ends_are_known():
    assert Run().lines() == Run(first=2).lines() == Run(last=2).lines() == []
    assert Run(first=2, last=3).lines() == ['{"t":2,"facts":[]}', '{"t":3,"facts":[]}']


def test_operators_are_called_for_events_only():
    run = Run((3, "a"), (500, "b"), (502, "c"), emit="changes")
    run.lines()
    assert run.run.calls == [3, 500, 502]


def test_a_live_stream_is_answered_before_the_wait():
    run = Run((3, "a"), None, (4, "b"), None, (9, "c"), None, emit="changes")
    assert run.told_at_each_wait() == [
        [],
        ['{"t":3,"begin":["q(a)"],"end":[]}'],
        [
            '{"t":4,"begin":["q(b)"],"end":[]}',
            '{"t":6,"begin":[],"end":["q(a)"]}',
            '{"t":7,"begin":[],"end":["q(b)"]}',
        ],
        ['{"t":9,"begin":["q(c)"],"end":[]}'],
    ]


def test_a_late_fact_is_told():
    late = []
    assert Run((3, "a"), (5, "b"), (4, "c", "d"), late=late.append).lines()[-1] == '{"t":5,"facts":["q(a)","q(b)"]}'
    assert late == ['{"t":4,"watermark":5,"stream":"s","facts":["p(c)","p(d)"]}\n']


def test_late_facts_are_counted_where_nobody_listens():
    run = Run((3, "a"), (5, "b"), (4, "c", "d"), (1, "e"))
    run.lines()
    (told,) = run.reports
    assert told.severity == "warning"
    assert "3 facts" in told.message
    assert "p(c) at 4" in told.message


def test_a_malformed_line_stops_the_run_after_what_came_before_it():
    run = Run((3, "a"), Diagnostic("E301", "what?"), (4, "b"), last=9, emit="changes")
    told = []
    with pytest.raises(RejectedError, match="what"):
        told += (str(piece) for piece in run.run.answers(run.items))
    assert run.run.now == 3


def test_answers_before_a_malformed_line_are_delivered():
    run = Run((3, "a"), Diagnostic("E301", "what?"), last=9, emit="intervals")
    answers = run.run.answers(run.items)
    assert str(next(answers)) == '{"fact":"q(a)","from":3,"until":null}'
    with pytest.raises(RejectedError):
        next(answers)


def test_a_malformed_line_can_be_skipped():
    run = Run((3, "a"), Diagnostic("E301", "what?"), (4, "b"), on_error="skip")
    assert run.lines()[-1] == '{"t":4,"facts":["q(a)","q(b)"]}'
    assert [found.code for found in run.reports] == ["E301"]


def test_an_interrupt_ends_the_timeline_at_the_last_event():
    run = Run((3, "a"), (4, "b"), (5, "c"), last=9)
    run.run._interrupt.asked = True
    assert run.lines() == ['{"t":3,"facts":["q(a)"]}']


@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from("abc")), max_size=8), st.data())
def test_any_order_inside_the_delay_gives_the_same_answers(events, data):
    in_order = sorted(events, key=lambda event: event[0])
    # Moving each event by less than the delay keeps the disorder inside it.
    moved = [(event[0] + data.draw(st.integers(0, 4)), number) for number, event in enumerate(in_order)]
    shuffled = [in_order[number] for _, number in sorted(moved)]
    waits = [item for event in shuffled for item in ((event, None) if data.draw(st.booleans()) else (event,))]
    expected = Run(*in_order, last=15).lines()
    assert Run(*shuffled, delay=4, last=15).lines() == expected
    assert Run(*waits, delay=4, last=15).lines() == expected


@pytest.mark.parametrize("way", ["stamped", "bare"])
def test_a_run_that_is_resumed_knows_how_times_were_written(way):
    def run():
        calendar = Calendar(Clock())
        context = Context(Settings(calendar=calendar), calendar.clock, lambda diagnostic: None)
        return LocalRun(Rules(RECENT), context), calendar.clock.notation

    first, written = run()
    setattr(written, way, True)
    again, notation = run()
    again.load(first.save({}))
    assert notation == written


class Grouped(Listed):
    """Items with the number of their group, and the groups that rest when they come."""

    groups = 2

    def __iter__(self):
        for group, resting, item in list.__iter__(self):
            self.group, self.resting = group, frozenset(resting)
            yield item


BEFORE = [(0, (), (95, "x")), (0, (), (100, "a")), (0, {1}, None)]
AFTER = [(1, (), (50, "old")), (1, (), (98, "older")), (1, (), (101, "b")), (0, (), (102, "c"))]


def grouped(*items):
    run = Run(emit="changes")
    run.items = Grouped((group, resting, run._coded(item)) for group, resting, item in items)
    return run


@pytest.mark.parametrize("is_format_8", [False, True])
def test_what_was_decided_while_a_stream_rested_stays_decided_when_a_run_is_resumed(is_format_8, monkeypatch):
    uninterrupted = grouped(*BEFORE, *AFTER)
    expected = uninterrupted.lines()
    stopped, said = grouped(*BEFORE), []
    for answer in stopped.run.answers(stopped.items):
        if answer is None:
            break
        said += lines(answer)
    if is_format_8:
        kept = Watermark.save
        without = lambda self: {key: value for key, value in kept(self).items() if key != "reached"}  # noqa: E731
        monkeypatch.setattr(Watermark, "save", without)
    resumed = grouped(*AFTER)
    resumed.run.load(stopped.run.save({}))
    assert said + resumed.lines() == expected
    assert [report.code for report in resumed.reports] == ["W302"] == [r.code for r in uninterrupted.reports]
