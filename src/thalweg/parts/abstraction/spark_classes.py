"""Classes of events on Spark: buckets take whole events in turn, and each process closes the background once.

What a bucket keeps between two batches is what waits for its tick. What it did goes to the driver with each batch and
is added up there; so do warnings, which the driver reports once.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, Final, Generic, TypeVar

from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.ir.nodes import Program
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.event import Batch
from thalweg.model.time import NEVER
from thalweg.parts.abstraction import Abstraction
from thalweg.parts.abstraction.abstract_events import Classifier, undecided
from thalweg.parts.abstraction.ladder import Ladder
from thalweg.parts.part import Context, SparkWork
from thalweg.parts.spark_plan import PlanJob, answers, packed, plan_job, unpacked
from thalweg.planning.partition import Partitioning, Stage
from thalweg.runtimes.event_answers import EventAnswers, EventLine, RejectedEvents
from thalweg.runtimes.spark.inbox import Inbox
from thalweg.runtimes.spark.wire import Parcel, failure, unwrap

T = TypeVar("T")

# A process works for one run; a session that is used again may have a second one while the first is let go.
_MOST_RUNS: Final = 2


@dataclass(frozen=True)
class ClassesJob(PlanJob):
    """Events that are classified in all buckets."""

    classes: Abstraction | None = None

    @cached_property
    def plan(self) -> Partitioning:
        return Partitioning((Stage(0, Program(), (), (), True, (), (), (), frozenset()),))

    def spreads_events(self, stage: int) -> bool:
        return True

    def answered(self, bucket: int, given: list[tuple[int, object]], first: int, decided: int, over: bool) -> Parcel:
        """What is output of a bucket, with its ticks, and how far it has come, on its way to where it is combined."""
        return answers(bucket, given, first, decided, over)


def spread_classes(part: Abstraction, context: Context, partitions: int) -> SparkWork:
    """The classes of events on Spark."""
    job = plan_job(ClassesJob, part, context, partitions, classes=part)
    totals = Totals(context)
    return SparkWork(job, ClassesWorker, combine=totals.combine, finish=totals.finish, summary=totals.undecided)


class OncePerRun(Generic[T]):
    """What all buckets of a run share in a process; made by the first that asks.

    >>> known = OncePerRun[list[int]]()
    >>> known.of("run", lambda: [1]) is known.of("run", lambda: [2])
    True
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def of(self, run: str, make: Callable[[], T]) -> T:
        """What belongs to a run."""
        with self._lock:
            if run not in self._known:
                self._known[run] = make()
                if len(self._known) > _MOST_RUNS:
                    self._known.popitem(last=False)
            return self._known[run]


@dataclass(frozen=True)
class ClosedBackground:
    """What all buckets of a process share; one of them at a time adds an event to it and takes it back."""

    ladder: Ladder
    hidden: frozenset[int]
    lock: Lock = field(default_factory=Lock)


_CLOSED: Final = OncePerRun[ClosedBackground]()


def closed_background(job: ClassesJob) -> ClosedBackground:
    """The ladder of a run, made once in this process; the driver has checked that nothing contradicts."""
    assert job.classes is not None
    program = job.classes.program

    def close() -> ClosedBackground:
        ladder = Ladder(program, program.reasoner)
        return ClosedBackground(ladder, frozenset() if program.chosen else ladder.held_by_everything())

    return _CLOSED.of(job.name, close)


@dataclass(frozen=True, slots=True)
class Account:
    """What a bucket did in a batch, as `--report` has it; undecided events by their reasons, with examples."""

    done: dict[str, Any]
    reasons: dict[str, int]
    examples: dict[str, str]


class ClassesWorker:
    """Classifies the events of a bucket."""

    must_save = False

    def __init__(self, job: ClassesJob, stage: int, bucket: int) -> None:
        self.job = job
        self._bucket = bucket
        self._found: list[Diagnostic] = []
        self._closed = closed_background(job)
        self.classifier = Classifier(self._closed.ladder, self._closed.hidden, job.settings.first, self._found.append)
        self._inbox = Inbox(job, stage, bucket, self.classifier.dictionary, lambda run: run.signature)

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        """Takes in a batch's parcels, and classifies the events of all ticks that are decided.

        Where the reasoner is missing, the parcels are those of the ticks before, and the last one holds the diagnostic.
        """
        out = self._inbox.take(map(unwrap, payloads))
        time = self._inbox.watermark
        if time.decided is None or time.start is None:
            return [*out, *self.said([], 0, NEVER)] if time.is_over else out
        batches = self._inbox.up_to(time.decided, in_order=True)
        given: list[tuple[int, object]] = []
        try:
            with self._closed.lock:
                given += ((tick, block) for tick in sorted(batches) for block in self.classified(tick, batches[tick]))
                done = self._account()
        except (FailedError, RejectedError) as error:
            reached = self.classifier.now - 1 if self.classifier.now is not None else -1
            said = self.said(given, time.start, reached)
            return [*out, *self.handed_on(), *said, failure(self._bucket, error, reached)]
        doubts = self.doubts() if time.is_over else ()
        given += ((time.decided, one) for one in (*self._found, *doubts, done))
        self._found.clear()
        if self.classifier.dictionary.wants_collection:
            self.classifier.collect(self._inbox.waiting())
        return [*out, *self.handed_on(), *self.said(given, time.start, time.decided)]

    def classified(self, tick: int, batches: list[Batch]) -> Iterable[EventAnswers]:
        """What is output of the events of a tick."""
        return self.classifier.advance(tick, batches)

    def said(self, given: list[tuple[int, object]], first: int, decided: int) -> list[Parcel]:
        """What is output, with its ticks, and how far this bucket has come."""
        over = self._inbox.watermark.is_over
        return [self.job.answered(self._bucket, given, first, decided, over)]

    def doubts(self) -> Iterable[Diagnostic]:
        """What deserves a warning at the end."""
        return ()

    def handed_on(self) -> Iterable[Parcel]:
        """What later stages get."""
        return ()

    def _account(self) -> Account:
        """What was done since the last batch."""
        one = self.classifier
        done = Account(one.account(), dict(one.reasons), dict(one.examples))
        one.start_counting()
        return done

    def replay(self, payloads: Iterable[bytes]) -> None:
        """Nothing is known of an event but its classes, and they have been handed on."""
        self._inbox.take(map(unwrap, payloads))
        if self._inbox.watermark.decided is not None:
            self._inbox.up_to(self._inbox.watermark.decided, in_order=True)

    def save(self) -> bytes:
        """What waits for its tick."""
        about, runs = self._inbox.save()
        return frame([encode(about, {}), *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        about, *runs = unframe(saved)
        self._inbox.load(decode(about)[0], runs)


class Totals:
    """Puts together what buckets send: lines in order, warnings once, accounts added up."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._warned: set[tuple[str, str]] = set()
        self._done: dict[str, Any] = {}
        self._reasons: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def combine(self, rows: list[dict[str, Any]]) -> Iterator[EventAnswers]:
        """The answers of a batch."""
        lines: list[EventLine] = []
        for row in rows:
            match unpacked(row["fact"]):
                case EventAnswers(some):
                    lines += some
                case Account(done, reasons, examples):
                    self._done = added(self._done, done)
                    self._reasons.update(reasons)
                    self._examples = examples | self._examples
                case Diagnostic() as found:
                    self._warn(found)
        return merged(lines)

    def _warn(self, found: Diagnostic) -> None:
        if about(found) not in self._warned:
            self._warned.add(about(found))
            self._context.report(found)

    def finish(self) -> None:
        """Reports what was done in all."""
        if self._done:
            self._context.listen(None, self._done)

    def undecided(self) -> Iterator[Diagnostic]:
        """Warnings about undecided events."""
        return undecided(self._reasons, self._examples)

    def save(self) -> str:
        """What has been added up and reported."""
        return packed((self._warned, self._done, self._reasons, self._examples))

    def load(self, saved: str) -> None:
        """Goes on where another one was saved."""
        self._warned, self._done, self._reasons, self._examples = unpacked(saved)


def about(found: Diagnostic) -> tuple[str, str]:
    """What a warning is about: its first word says so; the values of examples differ from bucket to bucket."""
    return found.code, found.message.split(" ", 1)[0]


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two accounts as one.

    >>> added({"hits": 2, "seconds": {"rules": 0.5}}, {"hits": 1, "seconds": {"cases": 0.25}})
    {'hits': 3, 'seconds': {'rules': 0.5, 'cases': 0.25}}
    """
    found = dict(one)
    for name, value in other.items():
        if isinstance(value, Mapping):
            found[name] = added(found.get(name, {}), value)
        else:
            found[name] = round(found.get(name, 0) + value, 6)
    return found


def merged(lines: Iterable[EventLine]) -> Iterator[EventAnswers]:
    """The lines of all buckets tick by tick, in their order.

    >>> lines = [RejectedEvents(7, "inconsistent", ("<h>",)), RejectedEvents(7, "inconsistent", ("<g>",))]
    >>> [str(line) for block in merged(lines) for line in block.lines]
    ['{"t":7,"inconsistent":[{"graph":"<g>"},{"graph":"<h>"}]}']
    """
    ticks: dict[int, list[EventLine]] = {}
    rejected: dict[tuple[int, str], list[str]] = {}
    for line in lines:
        if isinstance(line, RejectedEvents):
            rejected.setdefault((line.t, line.why), []).extend(line.graphs)
        else:
            ticks.setdefault(line.t, []).append(line)
    for (tick, why), graphs in rejected.items():
        ticks.setdefault(tick, []).append(RejectedEvents(tick, why, tuple(sorted(graphs))))
    return (EventAnswers(tuple(sorted(ticks[tick], key=str))) for tick in sorted(ticks))
