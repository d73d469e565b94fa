"""A history is drawn of the lines that are kept, as the timeline page draws the run that wrote them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, cast

import pytest

from services import body, posted, serving, settled
from thalweg import api
from thalweg.answers.answer_timeline import TimelineRecorder
from thalweg.answers.event_answers import AbstractLine, ComplexLine, RejectedLine, event_answer
from thalweg.answers.jsonl import lines as lines_of
from thalweg.answers.record import Answer, changes
from thalweg.diagnostics import Source
from thalweg.explain.timeline_page import chart_data
from thalweg.ir.pattern_semantics import Instance
from thalweg.model.time import AS_TICKS, FOREVER, Calendar, Clock, TimeFormat
from thalweg.service.answer_lines import Line
from thalweg.service.generation import Generation
from thalweg.service.history import history
from thalweg.service.holding import Holding
from thalweg.service.refused import RefusedError

JAMS = (
    changes(3, ("jam(a)",), until=(5,)),
    changes(4, ("jam(b)",), until=(9,)),
    changes(6, (), ("jam(a)",)),
    changes(7, ("calm(c)",), until=(FOREVER,)),
)


@dataclass
class ListedLines:
    """Lines in memory, the first of which are perhaps not kept any more."""

    all: list[Line] = field(default_factory=list)
    first: int = 1

    @property
    def last(self) -> int:
        return len(self.all)

    def read(self, after: int, limit: int) -> list[tuple[int, Line]]:
        start = max(after, self.first - 1)
        return [*enumerate(self.all[start : start + limit], start + 1)]


@dataclass
class EndedGeneration:
    """What a history looks at of a generation, made of its answers."""

    answers: Sequence[Answer]
    t: int
    times: TimeFormat = AS_TICKS
    first: int = 1
    lock: Any = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.lines, self.holding = ListedLines(first=self.first), Holding()
        for answer in self.answers:
            self.lines.all += [Line(text.encode(), answer.t) for text in lines_of(answer, self.times)]
            self.holding.apply(answer)


def _history(*given: Any, **more: Any) -> dict[str, Any]:
    first, last, matches = (more.pop(name, None) for name in ("from_", "to", "matches"))
    return history(cast("Generation", EndedGeneration(*given, **more)), first, last, matches)


def _rows(drawn: dict[str, Any]) -> dict[str, Any]:
    return {fact: spans for group in drawn["groups"] for fact, spans in group["rows"]}


def _answers(program: Source, facts: str, **options: Any) -> list[Answer]:
    part = api.load_part([program])
    with api.start(part, [Source("s.facts", facts)], api.RunOptions(**options)) as job:
        return [answer for answer in job.pieces() if answer is not None]


def test_what_holds_is_open_and_its_guaranteed_future_is_drawn() -> None:
    drawn = _history(JAMS, 8)
    assert _rows(drawn) == {"jam(a)": [[3, 6, 0, None]], "jam(b)": [[4, 9, 1, 10]], "calm(c)": [[7, 9, 1, None]]}
    assert (drawn["first"], drawn["last"], drawn["unit"], drawn["zone"], drawn["note"]) == (3, 10, 1, None, "")
    assert [group["p"] for group in drawn["groups"]] == ["calm", "jam"]


def test_time_that_has_passed_without_a_line_is_drawn() -> None:
    assert _rows(_history(JAMS, 20))["calm(c)"] == [[7, 21, 1, None]]
    assert _rows(_history(JAMS, 20))["jam(b)"] == [[4, 21, 1, None]]
    assert _history((*JAMS[:1], changes(6, (), ("jam(a)",))), 20)["last"] == 21


def test_only_what_matches_between_two_times_is_drawn() -> None:
    assert _rows(_history(JAMS, 8, from_="6", to="8")).keys() == {"jam(b)", "calm(c)"}
    assert _rows(_history(JAMS, 8, to="3")).keys() == {"jam(a)"}
    drawn = _history(JAMS, 8, from_="5", to="6", matches=lambda fact: fact.startswith("jam"))
    assert _rows(drawn) == {"jam(a)": [[3, 6, 0, None]], "jam(b)": [[4, 9, 1, 10]]}
    assert (drawn["first"], drawn["last"]) == (5, 7)


def test_a_history_that_begins_in_the_middle_says_so() -> None:
    drawn = _history(JAMS, 8, first=3)
    assert _rows(drawn) == {"jam(b)": [[4, 9, 1, 10]], "calm(c)": [[7, 9, 1, None]]}
    assert "Lines before 6 are no longer kept" in drawn["note"]


def test_nothing_has_a_history_too() -> None:
    drawn = _history((), 8)
    assert (drawn["first"], drawn["last"], drawn["groups"]) == (8, 9, [])


@pytest.mark.parametrize("given", [{"from_": "noon"}, {"to": "2026-13-01"}, {"from_": "9", "to": "3"}])
def test_times_that_make_no_sense_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(RefusedError) as refused:
        _history(JAMS, 8, **given)
    assert refused.value.status == 400


def test_times_are_read_and_placed_as_the_run_writes_them() -> None:
    clock = Clock(tick_length=1_000)
    times = TimeFormat(Calendar(clock), "iso")
    drawn = _history(JAMS, 8, times, from_="1970-01-01T00:00:04Z", to="6")
    assert _rows(drawn)["jam(a)"] == [[3_000, 6_000, 0, None]]
    assert (drawn["first"], drawn["last"], drawn["unit"], drawn["zone"]) == (4_000, 7_000, 1_000, "UTC")
    ticks = TimeFormat(Calendar(clock))
    _history(JAMS, 8, ticks, from_="1970-01-01T00:00:04Z")
    assert not ticks.iso


PROGRAMS = {
    "rules": (
        Source("jam.lars", "jam(S) :- slow(S) in [10]. calm(S) :- seen(S), not slow(S) in [3]."),
        "slow(a) at 3.\nseen(b) at 4.\nslow(b) at 5.\nseen(a) at 9.\nslow(c) at 19.\n",
    ),
    "numbers": (
        Source("mean.lars", "mean(S,V) :- v(S,V) in [1 # by S]."),
        "v(a,3) at 3.\nv(a,4) at 4.\nv(b,1) at 7.\n",
    ),
    "answer sets": (
        Source("jam.lp", "%! window 3\n{on(X)} :- slow(X). off(X) :- slow(X), not on(X). :- on(a)."),
        "slow(a) at 3.\nslow(b) at 5.\nslow(a) at 9.\n",
    ),
    "rows": (
        Source(
            "q.rspql",
            "REGISTER RStream <o> AS SELECT ?s ?v FROM NAMED WINDOW <w> ON <s> [RANGE PT2S STEP PT2S] "
            "WHERE { WINDOW <w> { ?s <v> ?v } }",
        ),
        "<v>(<a>,3) at 3.\n<v>(<b>,4) at 5.\n<v>(<a>,3) at 8.\n",
    ),
}
CLASH = {"individual": "<bob>", "axiom": "DisjointClasses(<Man> <Work>)"}
HIGH = Instance("<High>", 5, 5, "<obs1>", "<g1>")
WRITTEN = {
    "clashes": (
        Answer("changes", 5, ((json.dumps(CLASH | {"because": ["<Man>(<bob>) at 5"]}),), (), (), ()), of_clashes=True),
        Answer("changes", 9, ((), (json.dumps(CLASH),), (), ()), of_clashes=True),
    ),
    "events": (
        event_answer([AbstractLine(5, "<High>", "<obs1>", "<g1>")]),
        event_answer([RejectedLine(7, "inconsistent", ("<g3>", ""))]),
        event_answer([ComplexLine(12, Instance("<Jam>", 5, 12, events=(HIGH,)), (("loc", "<loc1>"),))]),
    ),
    "triples": (Answer("triples", 7, (("<p>(<s>,<o>)",),), 4),),
    "truth": (Answer("truth", 3, ((True,),), 2), Answer("truth", 5, ((False,),), 4)),
}


def _drawn_alike(answers: Sequence[Answer], times: TimeFormat) -> None:
    recorder = TimelineRecorder(times)
    for answer in answers:
        recorder.see(answer)
    drawn = _history(answers, answers[-1].t, times)
    assert drawn["groups"] == chart_data(recorder.chart())["groups"]
    assert drawn["groups"]


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_history_is_what_a_recorder_of_the_run_draws(kind: str) -> None:
    _drawn_alike(_answers(*PROGRAMS[kind]), AS_TICKS)


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("times", [AS_TICKS, TimeFormat(times="iso")])
def test_lines_of_every_kind_are_drawn(kind: str, times: TimeFormat) -> None:
    _drawn_alike(WRITTEN[kind], times)


def test_a_program_of_the_service_has_a_history(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": "jam(S) :- slow(S) in [10]."}))
        settled(program, posted(service, "slow(a) at 3.\nslow(b) at 5.\n", "slow(c) at 14.\nslow(c) at 15.\n"))
        drawn = history(program.current)
    assert _rows(drawn)["jam(a)"] == [[3, 14, 0, None]]
    assert _rows(drawn)["jam(b)"][0][:1] == [5]
