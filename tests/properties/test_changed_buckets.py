"""A run in buckets that goes on with a changed program answers as one in this process that goes on the same way."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from test_changed_parts import LAST, Programs, readings
from test_changed_parts import changes as changed_parts
from test_changed_programs import LAST as SOLVED_LAST
from test_changed_programs import Texts, changed_texts, changes, mixed_events, mixed_part

from buckets import Buckets
from changed_programs import ChangingRun, by_tick
from thalweg.answers.emit import EMITTERS
from thalweg.answers.jsonl import lines
from thalweg.answers.record import Answer
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Source
from thalweg.kinds.part import Part
from thalweg.kinds.rules.rule_part import Rules
from thalweg.languages.lars import read
from thalweg.model.event import Event, Fact
from thalweg.runtimes.spark.handover import BucketHandover

pytestmark = pytest.mark.filterwarnings("ignore::thalweg.ThalwegWarning")

Parts = tuple[Part, Part]


def written(answers: Iterable[Answer]) -> list[str]:
    """The lines of answers; of one tick they may come in any order."""
    return sorted(line for answer in answers for line in lines(answer))


def in_buckets(
    parts: Parts, settings: Settings, batches: Sequence[Sequence[Event]], how: str, partitions: int, split: str
) -> tuple[list[str], BucketHandover]:
    """What buckets answer whose program changes behind the first batch, and what goes on."""
    old, new = parts
    buckets = Buckets(old, settings, partitions, split=split)
    answers = buckets.take(batches[0], ended=False)
    handover = buckets.change(old, new, how)
    for number, events in enumerate(batches[1:], 2):
        answers += buckets.take(events, ended=number == len(batches))
        buckets.lose("none" if number == 2 and how == "replayed" else "saved")
    return written(answers), handover


def in_this_process(parts: Parts, settings: Settings, events: Sequence[Event], handover: BucketHandover) -> list[str]:
    """What a run answers that goes on in the same way."""
    old, new = parts
    first, last, decided = settings.first, settings.last, handover.decided
    assert first is not None
    assert last is not None
    assert decided is not None
    run = ChangingRun(old, first, settings.emit)
    for tick, arrived in by_tick(events, first, decided):
        run.advance(tick, arrived)
    run.change(new, handover.first, handover.succession.change)
    for tick, arrived in by_tick(events, decided + 1, last) if last > decided else ():
        run.advance(tick, arrived)
    return written(run.finish())


def check(
    parts: Parts, settings: Settings, events: Sequence[Event], cut: int, how: str, partitions: int, split: str
) -> BucketHandover:
    """The two runs must answer the same; what goes on."""
    batches = [event for event in events if event.tick <= cut], [event for event in events if event.tick > cut]
    assert settings.first is not None
    # Before the first tick is decided, there is nothing to go on from.
    assume(batches[0] and batches[0][-1].tick > settings.first)
    answers, handover = in_buckets(parts, settings, batches, how, partitions, split)
    goes_on, begins = handover.succession.change.same, handover.succession.change.begun
    event(f"{'some' if goes_on else 'nothing'} goes on, {'some' if begins else 'nothing'} begins")
    assert answers == in_this_process(parts, settings, events, handover)
    return handover


def saved() -> st.SearchStrategy[str]:
    return st.sampled_from(("saved", "replayed"))


@pytest.mark.parametrize("remembering", [False, True])
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_rules_go_on_or_begin(remembering: bool, partitions: int) -> None:
    @given(changes(remembering), saved(), st.sampled_from(sorted(EMITTERS)))
    def goes_on(change, how: str, emit: str) -> None:
        scenario, new, cut = change
        first, last = scenario.first, scenario.last
        events = [one for one in scenario.events if first <= one.tick <= last]
        parts = Rules(scenario.program), Rules(new)
        check(parts, Settings(first=first, last=last, emit=emit), events, cut, how, partitions, "always")

    goes_on()


@pytest.mark.parametrize("split", ["auto", "always"])
def test_queries_and_events_go_on_or_begin(split: str) -> None:
    @given(changed_parts(), readings(), st.integers(5, LAST - 1), saved())
    def goes_on(change: tuple[Programs, Programs, str], events: tuple[Event, ...], cut: int, how: str) -> None:
        old, new, _ = change
        check((old.part, new.part), Settings(first=0, last=LAST), events, cut, how, 2, split)

    goes_on()


@pytest.mark.parametrize("split", ["auto", "always"])
def test_rules_and_answer_sets_go_on_or_begin(split: str) -> None:
    frames = st.none() | st.tuples(st.integers(1, 3), st.integers(1, 3))

    @given(changed_texts(), mixed_events(), frames, st.integers(3, SOLVED_LAST - 1), saved())
    def goes_on(
        texts: tuple[Texts, Texts], events: tuple[Event, ...], frame: tuple[int, int] | None, cut: int, how: str
    ) -> None:
        old, new = (mixed_part(text, frame) for text in texts)
        check((old, new), Settings(first=0, last=SOLVED_LAST), events, cut, how, 2, split)

    goes_on()


@given(st.sampled_from(("auto", "always")))
def test_what_waits_for_an_answer_set_program_is_held_when_it_begins(split: str) -> None:
    above = "a(X) :- o(X), s(X) in [0]. a(X) :- d(X), not u(X)."
    solved = "o(X) :- d(X), not e(X)."
    texts = Texts("d(X) :- s(X) in [0].", solved, above)
    changed = replace(texts, solved=f"{solved} o(X) :- s(X), e(X).")
    events = [Event(tick, (Fact("s", (str(tick),)),)) for tick in (0, 1)]
    parts = mixed_part(texts, None), mixed_part(changed, None)
    check(parts, Settings(first=0, last=SOLVED_LAST), events, 3, "saved", 2, split)


@given(st.sampled_from(sorted(EMITTERS)), saved(), st.sampled_from(("auto", "always")))
def test_a_tick_that_waited_for_a_first_window_is_answered(emit: str, how: str, split: str) -> None:
    texts = Texts("", "o(X) :- d(X), not e(X).", "b(N) :- N = count{X : o(X)}.")
    changed = replace(texts, below="d(X) :- s(X) in [0].")
    parts = mixed_part(texts, (2, 1)), mixed_part(changed, (2, 1))
    events = [Event(tick, (Fact("s", ("1",)),)) for tick in (1, 5)]
    check(parts, Settings(first=0, last=SOLVED_LAST, emit=emit), events, 3, how, 2, split)


@given(saved())
def test_a_stage_that_only_gathers_goes_on_for_one_that_gathered_the_same(how: str) -> None:
    shared = "#record a/1. b(1,1) :- p(X), X = 1."
    old = read(Source("old.lars", f"{shared} a(1) :- p(X) in [2]. a(2) :- N = count{{T : p(1) at T}}, N > 0. g."))
    new = read(Source("new.lars", f"{shared} a(2) :- N = count{{T : p(1) at T}}, N > 0."))
    events = [Event(tick, (Fact("p", ("1",)),)) for tick in (0, 1, 2)]
    handover = check((Rules(old), Rules(new)), Settings(first=0, last=2), events, 1, how, 1, "always")
    assert handover.succession.change.same == ("b/2",)
