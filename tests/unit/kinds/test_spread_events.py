"""Events in buckets: classes and complex events are what they are in one process, whichever buckets are lost."""

from typing import Any

import pytest

from buckets import LOSSES, Graphs, in_buckets, with_graphs
from rooms import EX, RULES, SITE, reading
from thalweg import api
from thalweg.answers.jsonl import lines
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.classes.classifier import Classifier
from thalweg.kinds.part import Part
from thalweg.languages.compile_options import OntologyOptions
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.spark.job import spread
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.wire import FAILURE, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.watermark import Watermark

LAST = 30


def stream() -> list[Graphs]:
    """Several graphs at a tick, some without a name, and one that contradicts the background."""
    arriving: list[Graphs] = []
    for tick in range(0, 22, 2):
        graphs = [
            (f"<{EX}g{tick}-{room}>" if room else "", reading(10 * tick + room, room, (7 * tick + 11 * room) % 24))
            for room in range(3)
        ]
        arriving.append((tick, graphs))
    arriving.append((22, [(f"<{EX}wrong>", (Fact(f"<{EX}Reading>", (f"<{EX}room1>",)),))]))
    return arriving


def events_part() -> Part:
    sources = [Source("rules.tw", RULES), Source("site.ofn", SITE)]
    return api.load_part(sources, report=lambda _: None)


def selected_part() -> Part:
    """Events of what a window shows; the one that contradicts is selected, too."""
    window = "FROM NAMED WINDOW :w ON STREAM :events [RANGE 4s, SLIDE 2s]"
    selection = (
        f"{window} WHERE {{ WINDOW :w {{ ?o a :Reading }} OPTIONAL {{ WINDOW :w {{ ?o :celsius ?v ; :in ?r }} }} }}"
    )
    sources = [Source("rules.tw", f"{RULES} {selection}"), Source("site.ofn", SITE)]
    return api.load_part(sources, report=lambda _: None)


def classes_part() -> Part:
    return api.load_part(
        [Source("site.ofn", SITE)], ontology=OntologyOptions(profile="dl", task="abstraction"), report=lambda _: None
    )


BESIDE = f"""
@prefix : <{EX}> .
:cooled(R) :- :Cooling_room(E,R), :Cooling(E).
:shut(R)   :- :cooled(R), not open(R).
:Chilly(R) :- :celsius(O,V) in [2], :in(O,R) in [2], V < 9.
"""
DOORS = f"#prefix ex: <{EX}>. 1 {{ open(R) : ex_cooled(R) }} 1 :- ex_cooled(_)."
COUNTED = f"""PREFIX : <{EX}> SELECT ?room (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON STREAM :rules [RANGE 4s, SLIDE 2s]
WHERE {{ WINDOW :w {{ ?e a :Cooling ; :Cooling_room ?room }} }} GROUP BY ?room"""
ABOVE = (
    f"PREFIX : <{EX}> NAMED EVENT :Chill AS :Chilly NAMED EVENT :Then {{ MATCH LAST :HotNow SEQ :Chill WITHIN (5 s) }}"
)


def mixed_part() -> Part:
    texts = {"rules.tw": RULES, "above.tw": ABOVE, "b.lars": BESIDE, "d.lp": DOORS, "c.rspql": COUNTED}
    sources = [*(Source(name, text) for name, text in texts.items()), Source("site.ofn", SITE)]
    return api.load_part(sources, solving=SolveOptions(workers=0), report=lambda _: None)


def alone(part: Part, settings: Settings, events: list[Graphs]) -> list[str]:
    """What a part answers in one process."""
    run = LocalRun(part, Context(settings, Clock(), lambda _: None))
    words: Dictionary = run.dictionary
    batches = {tick: batch for tick, batch, _ in with_graphs(events, words, Watermark(99))}
    answers: list[str] = []
    for tick in range(LAST + 1):
        given = [batches[tick]] if tick in batches else []
        for block in run.advance(tick, given):
            answers += lines(block)
    return answers


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("make", [classes_part, events_part, selected_part, mixed_part])
def test_buckets_answer_as_one_process(make: object, loss: str) -> None:
    part = make()  # type: ignore[operator]
    events = stream()
    settings = Settings(first=0, last=LAST, delay=4, emit="changes")
    expected = alone(part, settings, events)
    swapped = [events[number ^ 1] for number in range(len(events))]
    batches = [swapped[start : start + 3] for start in range(0, len(swapped), 3)]
    assert in_buckets(part, settings, batches, loss, arrived=with_graphs) == expected
    assert sum("wrong" in line for line in expected) == 1
    assert len(expected) > 5


@pytest.mark.parametrize("make", [classes_part, events_part])
def test_answers_up_to_a_failure_are_given(make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    part, settings = make(), Settings(first=0, last=LAST, emit="changes")  # type: ignore[operator]
    work = spread(part, Context(settings, Clock(), lambda _: None), 1)
    decide = Classifier.classify

    def failing(self: Classifier, graph: str, facts: Any) -> Any:
        if self.now == 6:
            raise RejectedError([Diagnostic("E406", "there is no reasoner")])
        return decide(self, graph, facts)

    monkeypatch.setattr(Classifier, "classify", failing)
    worker = Worker(work.job, 0, 0)
    packer = Packer(work.job, 0, (0,))
    parcels = list(packer.pack(with_graphs(stream(), packer.words, Watermark(0)), ended=True))
    *_, said, failed = worker.process([one.payload for one in parcels if one.fragment == 0])
    assert (failed.fragment, unwrap(failed.payload).header["reached"]) == (FAILURE, 4)
    assert max(unwrap(said.payload).lists["block_ticks"].tolist(), default=0) < 6
