"""The operators of classes and events: split over buckets they answer what they answer together, whichever are lost."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from buckets import LOSSES, Graphs, Workers, with_graphs
from rooms import EX, RULES, SITE, reading
from thalweg import api
from thalweg.answers.event_answers import (
    AbstractLine,
    ComplexLine,
    RejectedLine,
    UndecidedEvents,
    UndecidedTotals,
    merged_events,
)
from thalweg.answers.jsonl import lines as lines_of
from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context, Settings
from thalweg.dataflow.executor import open_fragment
from thalweg.dataflow.operator import Operator, OpSpec, Output, Share, Updates
from thalweg.dataflow.plan import Edge, Plan
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.engine import Given
from thalweg.kinds.classes import Abstraction, AbstractionReport
from thalweg.kinds.classes.classifier import Classifier
from thalweg.kinds.classes.ladder import UNDECIDED, Decision, Ladder
from thalweg.kinds.events import EventCascade, Surroundings
from thalweg.kinds.member import Neighbours
from thalweg.languages.compile_options import OntologyOptions
from thalweg.model import plain_data
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json, of_json
from thalweg.model.time import Clock
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.wire import FAILURE, OUT, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.watermark import Watermark

LAST = 30


def stream() -> list[Graphs]:
    """Several graphs at a tick, some without a name or about one individual, and one that contradicts."""
    arriving: list[Graphs] = []
    for tick in range(0, 22, 2):
        graphs = [
            (f"<{EX}g{tick}-{room}>" if room else "", reading(10 * tick + room, room, (7 * tick + 11 * room) % 24))
            for room in range(3)
        ]
        again = (f"<{EX}again{tick}>", reading(10 * tick + 1, 1, (7 * tick + 11) % 24))
        arriving.append((tick, [*graphs, again]))
    arriving.append((22, [(f"<{EX}wrong>", (Fact(f"<{EX}Reading>", (f"<{EX}room1>",)),))]))
    return arriving


def coded(graphs: Sequence[tuple[str, Sequence[Fact]]], words: Dictionary) -> Batch:
    batch = Batch(stream="events")
    for name, facts in graphs:
        for fact in facts:
            batch.add(fact.signature, [words.code(term) for term in fact.terms])
        batch.graphs.append((name, len(facts)))
    return batch


def events_part(above: str = "") -> EventCascade:
    part = api.load_part([Source("rules.tw", RULES + above), Source("site.ofn", SITE)], report=lambda _: None)
    assert isinstance(part, EventCascade)
    return part


def selected_part() -> EventCascade:
    """Events of what a window shows; the one that contradicts is selected, too."""
    window = "FROM NAMED WINDOW :w ON STREAM :events [RANGE 4s, SLIDE 2s]"
    return events_part(
        f"{window} WHERE {{ WINDOW :w {{ ?o a :Reading }} OPTIONAL {{ WINDOW :w {{ ?o :celsius ?v ; :in ?r }} }} }}"
    )


def classes_part(site: str = SITE, reasoner: str = "auto") -> Abstraction:
    ontology = OntologyOptions(profile="dl", task="abstraction", reasoner=reasoner)
    part = api.load_part([Source("site.ofn", site)], ontology=ontology, report=lambda _: None)
    assert isinstance(part, Abstraction)
    return part


# A source of conclusions, and a reader of facts -----------------------------------------------------------------------

CHILLY = Predicate(f"<{EX}Chilly>", 1)
AT = Predicate(f"<{EX}in>", 2)
CHILLS = """
NAMED EVENT :Chill AS :Chilly
NAMED EVENT :Then {
  MATCH LAST :HotNow SEQ :Chill WITHIN (5 s)
  IF { EVENT :HotNow { ?h :in ?room } EVENT :Chill { ?c :in ?room } }
}
"""


@dataclass(frozen=True)
class ConcludeSpec(OpSpec):
    """Concludes at every third tick that an individual is chilly, and where it is."""

    def gives(self, key: tuple[Predicate, bool]) -> bool:
        return True

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> Operator:
        return Conclude(dictionary)


class Conclude(Operator):
    format: ClassVar[StateFormat] = StateFormat("conclude")

    def __init__(self, words: Dictionary) -> None:
        self._words = words
        self._now = -1

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        since, self._now = self._now, tick
        for at in range(since + 1, tick + 1):
            if at % 3 == 0:
                yield Output(at, held=[*self._changes(at)])

    def _changes(self, tick: int) -> Iterator[Given]:
        name = [[self._words.code(f"<{EX}o{tick % 4}>")], [self._words.code(f"<{EX}o{(tick - 3) % 4}>")]]
        rooms = [self._words.code(f"<{EX}room{number}>") for number in (tick % 3, (tick - 3) % 3)]
        yield Given(CHILLY, False, rows(name[:1], 1), rows(name[1:] if tick else [], 1))
        begun, ended = [*name[0], rooms[0]], [*name[1], rooms[1]]
        yield Given(AT, False, rows([begun], 2), rows([ended] if tick else [], 2))

    def save(self) -> bytes:
        return json.dumps(self._now).encode()

    def load(self, data: bytes) -> None:
        self._now = json.loads(data)


def rows(values: list[list[int]], width: int) -> Any:
    return np.array(values, dtype=np.int64).reshape(len(values), width)


@dataclass(frozen=True)
class ReadSpec(OpSpec):
    """Answers the facts that events are."""

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> Operator:
        return Read(dictionary)


class Read(Operator):
    format: ClassVar[StateFormat] = StateFormat("read")

    def __init__(self, words: Dictionary) -> None:
        self._words = words

    def advance(self, tick: int, updates: Updates) -> list[Output]:
        read = (batch for batch in updates.events if batch.stream == "rules")
        facts = [f"{fact} at {tick}" for batch in read for fact in batch.facts(self._words)]
        return [Output(tick, tuple(facts))] if facts else []

    def save(self) -> bytes:
        return b""

    def load(self, data: bytes) -> None:
        pass


def alone(part: EventCascade | Abstraction, context: Context, partitions: int | None) -> Plan:
    expansion = part.expand(context, None, partitions)
    return Plan(expansion.operators, expansion.edges)


def beside(part: EventCascade, context: Context, partitions: int | None) -> Plan:
    """Conclusions before the events, and a reader of facts behind them."""
    expansion = part.expand(context, Neighbours(is_alone=context.split == "always"), partitions)
    own = [Edge(1 + edge.source, 1 + edge.target, edge.what, exchange=edge.exchange) for edge in expansion.edges]
    last = 1 + len(expansion.operators)
    for number, spec in enumerate(expansion.operators, 1):
        for name in (CHILLY, AT):
            held = spec.held_routes((name, False))
            own += (Edge(0, number, "held", (name, False), called, exchange=how) for called, how in held)
        own += [Edge(number, last, "events")] if spec.gives_events else []
    return Plan((ConcludeSpec(), *expansion.operators, ReadSpec()), tuple(own))


# Runs -----------------------------------------------------------------------------------------------------------------


def shown(blocks: Iterable[tuple[int, Any]]) -> list[str]:
    """The answers of a run; events of one tick are one block."""
    ticks: dict[int, tuple[list[Answer], list[str]]] = {}
    for tick, block in blocks:
        events, facts = ticks.setdefault(tick, ([], []))
        if isinstance(block, Answer):
            events.append(block)
        else:
            facts.extend(block)
    lines: list[str] = []
    for _, (events, facts) in sorted(ticks.items()):
        lines += lines_of(merged_events(events)) if events else ()
        lines += facts
    return lines


def together(plan: Plan, context: Context, events: list[Graphs]) -> list[str]:
    """The answers of operators in one process, tick by tick."""
    words = Dictionary()
    executor = open_fragment(plan, plan.numbers, context, words)
    executor.first = 0
    arriving = dict(events)
    blocks: list[tuple[int, Any]] = []
    for tick in range(LAST + 1):
        batches = [coded(arriving[tick], words)] if tick in arriving else []
        blocks += [(output.tick, output.answer) for _, output in executor.advance(tick, batches) if output.answer]
    list(executor.finish())
    executor.close()
    return shown(blocks)


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operators of this file travel as those of an installed language do."""
    monkeypatch.setattr(plain_data, "_packages_of_languages", lambda: iter([__name__]))


class Buckets(Workers):
    """All workers of a plan, and what they note and warn of."""

    def __init__(self, plan: Plan, settings: Settings, partitions: int) -> None:
        super().__init__(Job(plan, settings, partitions, name=f"run {id(self)}"), with_graphs)
        self.notes: list[Any] = []
        self.warnings: list[Any] = []

    def take(self, events: Iterable[Graphs], ended: bool) -> list[tuple[int, Any]]:
        blocks: list[tuple[int, Any]] = []
        for parcel in self.process(events, ended):
            assert parcel.fragment == OUT
            content = unwrap(parcel.payload)
            self.notes += (of_json(json.loads(note))[1] for note in content.header.get("notes", ()))
            self.warnings += content.header.get("warnings", ())
            if "blocks" in content.lists:
                answers = (of_json(json.loads(text)) for text in content.lists["blocks"].to_pylist())
                blocks += zip(content.lists["block_ticks"].tolist(), answers, strict=True)
        return blocks


def in_buckets(buckets: Buckets, batches: Sequence[Sequence[Graphs]], loss: str) -> list[str]:
    blocks: list[tuple[int, Any]] = []
    for number, events in enumerate(batches, 1):
        blocks += buckets.take(events, number == len(batches))
        buckets.lose(loss)
    return shown(blocks)


def swapped(events: list[Graphs]) -> list[list[Graphs]]:
    disordered = [events[number ^ 1] for number in range(len(events))]
    return [disordered[start : start + 3] for start in range(0, len(disordered), 3)]


SETTINGS = Settings(first=0, last=LAST, delay=4, emit="changes")


def context_of(warned: list[Diagnostic] | None = None, **more: Any) -> Context:
    return Context(SETTINGS, Clock(), (lambda _: None) if warned is None else warned.append, **more)


@pytest.mark.parametrize("partitions", [1, 2, 3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("make", [classes_part, events_part, selected_part])
def test_buckets_answer_as_one_process(make: Any, loss: str, partitions: int) -> None:
    part, context = make(), context_of(streams=("events",))
    expected = together(alone(part, context, None), context, stream())
    buckets = Buckets(alone(part, context, partitions), SETTINGS, partitions)
    assert in_buckets(buckets, swapped(stream()), loss) == expected
    assert sum("wrong" in line for line in expected) == 1
    assert len(expected) > 5


@pytest.mark.parametrize("split", ["auto", "always"])
@pytest.mark.parametrize("loss", LOSSES)
def test_conclusions_are_events_and_events_are_facts_in_buckets(loss: str, split: Any) -> None:
    part = replace(events_part(CHILLS), beside=Surroundings(classes=frozenset({CHILLY}), known=frozenset({AT})))
    context = context_of(split=split)
    expected = together(beside(part, context, None), context, stream())
    plan = beside(part, context, 2)
    assert sum(type(spec).__name__ == "MatchSpec" for spec in plan.operators) == (1 if split == "auto" else 3)
    assert in_buckets(Buckets(plan, SETTINGS, 2), swapped(stream()), loss) == expected
    assert any("Then_room" in line for line in expected)
    assert len({*expected}) == len(expected)


def test_undecided_events_are_counted_over_all_buckets_and_batches() -> None:
    part, context = classes_part(), context_of()
    buckets = Buckets(alone(part, context, 3), SETTINGS, 3)
    in_buckets(buckets, swapped(stream()), "none")
    lines: list[str] = []
    report = AbstractionReport(lines.append)
    for note in buckets.notes:
        report.take(None, note)
    report.finish()
    account = json.loads(lines[0])
    warned: list[Diagnostic] = []
    heard: list[Any] = []
    whole = context_of(warned, listen=lambda _, account: heard.append(account))
    together(alone(part, whole, None), whole, stream())
    same = ("events", "dropped", "inconsistent", "undecided")
    assert {name: account[name] for name in same} == {name: heard[0][name] for name in same}


def test_reasons_of_undecided_events_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def decide(self: Ladder, event: Any) -> Decision:
        return Decision(tuple(() for _ in event.subjects), UNDECIDED, "there is no reasoner")

    monkeypatch.setattr(Ladder, "decide", decide)
    for part in (classes_part(), events_part()):
        warned: list[Diagnostic] = []
        context = context_of(warned)
        together(alone(part, context, None), context, stream())
        buckets = Buckets(alone(part, context_of(), 3), SETTINGS, 3)
        in_buckets(buckets, swapped(stream()), "none")
        totals = UndecidedTotals()
        for note in buckets.notes:
            if isinstance(note, UndecidedEvents):
                totals.take(note)
        counts = [
            [warning.message.split(":")[0].split(",")[0] for warning in warnings if "events are" in warning.message]
            for warnings in (warned, totals.summary())
        ]
        assert counts[0] == counts[1]
        assert "events are undecided" in counts[0][0]


@pytest.mark.parametrize("make", [classes_part, events_part])
def test_answers_up_to_a_failure_are_given(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(first=0, last=LAST, emit="changes")
    decide = Classifier.classify

    def failing(self: Classifier, graph: str, facts: Any) -> Any:
        if self.now == 6:
            raise RejectedError([Diagnostic("E406", "there is no reasoner")])
        return decide(self, graph, facts)

    monkeypatch.setattr(Classifier, "classify", failing)
    job = Job(alone(make(), Context(settings, Clock(), lambda _: None), 2), settings, 2, name="failing")
    packer, watermark = Packer(job, 0, (0,)), Watermark(0)
    arrived = [(tick, coded(graphs, packer.words), watermark.meet(tick)) for tick, graphs in stream()]
    parcels = list(packer.pack(arrived, ended=True))
    *others, failed = Worker(job, 0, 0).process(
        [parcel.payload for parcel in parcels if (parcel.fragment, parcel.bucket) == (0, 0)]
    )
    assert (failed.fragment, unwrap(failed.payload).header["reached"]) == (FAILURE, 4)
    said = [unwrap(parcel.payload) for parcel in others if parcel.fragment == OUT]
    assert all(max(content.lists["block_ticks"].tolist()) < 6 for content in said if "blocks" in content.lists)


def test_answers_of_events_come_back_from_json() -> None:
    part, context, words = events_part(), context_of(), Dictionary()
    plan = alone(replace(part, output=part.names), context, None)
    executor = open_fragment(plan, plan.numbers, context, words)
    kinds: set[type] = set()
    for tick, graphs in stream():
        for _, output in executor.advance(tick, [coded(graphs, words)]):
            block = of_json(json.loads(json.dumps(as_json(output.answer))))
            assert block == output.answer
            assert lines_of(block) == lines_of(output.answer)
            kinds |= {*map(type, block.columns[0])}
    assert kinds == {AbstractLine, ComplexLine, RejectedLine}
