"""Rules of a plan that read nothing but streams, split by keys: what they conclude is sent to where all places meet."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Diagnostic
from thalweg.engine import Given
from thalweg.engine.incomparable import Incomparable
from thalweg.explain.plan_stage import PlanStage
from thalweg.ir.annotate_terms import EDGES, SUPPLIED
from thalweg.ir.nodes import Program
from thalweg.ir.text import show
from thalweg.model.arrow import decode, encode, read_words, terms_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.model.triples import TRIPLES
from thalweg.parts.member import Beside, Output
from thalweg.parts.part import Context
from thalweg.parts.spark_plan import packed, unpacked
from thalweg.planning.partition import Partitioning, Stage, partition
from thalweg.planning.wire_parts import Layer
from thalweg.runtimes.emit import TextDelta
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import CHANGES, Content, Parcel, Words, wrap
from thalweg.runtimes.spark.worker import Worker


@dataclass(frozen=True)
class LayerJob(Job):
    """The rules of a layer in their stages, and the stage that is given their conclusions."""

    @cached_property
    def plan(self) -> Partitioning:
        stages = partition(self.program).stages
        return Partitioning((*stages, Stage(len(stages), Program(), (), (), False, (), (), (), frozenset())))


def split_layer(layer: Layer, context: Context, partitions: int) -> "SplitLayer | None":
    """How a layer is split; None where it reads other places, or no key is found for any of its rules."""
    program, exports = layer.program, layer.program.interface.exports
    is_alone = not (layer.links or layer.events or layer.delayed or layer.hears)
    is_plain = program.equality is None and program.hints.justification is None and not context.settings.with_until
    if not is_alone or not is_plain or any(timed for _, timed in exports):
        return None
    passed_on = program.outputs | {name for name, _ in exports}
    interface = replace(program.interface, outputs=passed_on, exports=frozenset())
    settings = replace(context.settings, emit="changes", memory=None)
    job = LayerJob(replace(program, interface=interface), settings, partitions, name=uuid4().hex)
    read = {TRIPLES, EDGES, *SUPPLIED}
    if not any(stage.split for stage in job.stages) or not read.isdisjoint(job.streamed.keys() | passed_on):
        return None
    return SplitLayer(job, program.outputs, frozenset(name for name, _ in exports))


@dataclass(frozen=True)
class SplitLayer:
    """A layer that is split: `shown` are the predicates that it outputs, and other places read those `given`."""

    job: LayerJob
    shown: frozenset[Predicate]
    given: frozenset[Predicate]

    reads_streams: ClassVar[bool] = False

    def start(self, job: Any, stage: int, bucket: int) -> "LayerWorker":
        return LayerWorker(job, stage, bucket)

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> "FedLayer":
        return FedLayer(dictionary, self.shown, self.given)

    def look(self, report: Callable[[Diagnostic], None], words: Dictionary) -> Callable[[Batch], object] | None:
        return None

    def stages(self) -> tuple[PlanStage, ...]:
        from thalweg.explain.stages import explain_stages

        texts = [show(rule) for rule in self.job.program.rules]
        return tuple(
            PlanStage(
                tuple(texts[number - 1] for number, _ in stage.rules if texts[number - 1][0] != "'"),
                tuple(stage.key) if stage.split else None,
                stage.partitions,
                stage.why,
            )
            for stage in explain_stages(self.job.program, self.job.partitions)
        )


class LayerWorker(Worker):
    """The rules of a bucket, whose conclusions are handed on."""

    job: LayerJob

    def __init__(self, job: LayerJob, stage: int, bucket: int) -> None:
        super().__init__(job, stage, bucket)
        self._handed: dict[Predicate, list[tuple[int, int, Words]]] = {}
        self._incomparable: list[Incomparable] = []

    def _output(self, tick: int, what: int, signature: Predicate, rows: Words, until: int = FOREVER) -> None:
        self._handed.setdefault(signature, []).append((tick, what, rows))

    def _warnings(self, over: bool) -> list[str]:
        """Where all places meet, each comparison is reported once."""
        found = self.engine.incomparable
        self._incomparable, self._noted = found[self._noted :], len(found)
        return self._future(over)

    def _process(self, payloads: Iterable[bytes]) -> Any:
        out, error = super()._process(payloads)
        out += self._parcels()
        self._handed = {}
        return out, error

    def _parcels(self) -> Iterator[Parcel]:
        known = [(name, *each) for name, some in self._handed.items() for each in some]
        if not known and not self._incomparable:
            return
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *(rows.reshape(-1) for *_, rows in known)])
        header = {
            "kind": CHANGES,
            "names": [name for name, *_ in known],
            "incomparable": packed(self._incomparable) if self._incomparable else "",
        }
        lists = {
            "ticks": np.array([tick for _, tick, _, _ in known], dtype=np.int64),
            "ended": np.array([what for _, _, what, _ in known], dtype=np.int64),
            "rows": np.array([len(rows) for *_, rows in known], dtype=np.int64),
            "words": flat,
            **terms_of(flat, self.engine.dictionary),
        }
        last = len(self.job.stages) - 1
        yield wrap(last, self.job.buckets(last)[0], header, lists)


@dataclass
class FedLayer:
    """What stands for a layer where all places meet: conclusions begin and end as its buckets have said."""

    dictionary: Dictionary
    shown: frozenset[Predicate]
    given: frozenset[Predicate]
    first: int | None = None
    incomparable: list[Incomparable] = field(default_factory=list)
    _waiting: dict[int, list[tuple[Predicate, int, Words]]] = field(default_factory=dict)

    is_settled = True

    def take(self, content: Content) -> None:
        """What a bucket has concluded."""
        header, lists = content.header, content.lists
        words, place = read_words(lists, self.dictionary), 0
        columns = (lists[name].tolist() for name in ("ticks", "ended", "rows"))
        for name, tick, what, count in zip(map(Predicate.read, header["names"]), *columns, strict=True):
            rows = words[place : place + count * name.arity].reshape(count, name.arity)
            place += count * name.arity
            self._waiting.setdefault(tick, []).append((name, what, rows))
        if header["incomparable"]:
            spans = {one.comparison.span for one in self.incomparable}
            new: list[Incomparable] = unpacked(header["incomparable"])
            self.incomparable += (one for one in new if one.comparison.span not in spans)

    def ticks(self) -> Iterable[int]:
        """The ticks of what was sent and is still to be said."""
        return list(self._waiting)

    def advance(self, tick: int, batches: Sequence[Batch], given: Sequence[Given]) -> Iterator[Output]:
        for when in sorted(one for one in self._waiting if one <= tick):
            yield self._said(when, self._waiting.pop(when))

    def _said(self, tick: int, changes: list[tuple[Predicate, int, Words]]) -> Output:
        tables: dict[Predicate, tuple[list[Words], list[Words]]] = {}
        for name, what, rows in changes:
            tables.setdefault(name, ([], []))[what].append(rows)
        shown: tuple[list[str], list[str]] = [], []
        handed = []
        for name, some in sorted(tables.items()):
            begun, ended = (np.concatenate([np.zeros((0, name.arity), dtype=np.int64), *rows]) for rows in some)
            if name in self.shown:
                for texts, rows in zip(shown, (begun, ended), strict=True):
                    texts += self.dictionary.spell_rows(name.name, rows)
            if name in self.given:
                handed.append(Given(name, False, begun, ended))
        return Output(tick, TextDelta(tick, *shown), tuple(handed))

    def finish(self) -> Iterator[Output]:
        return iter(())

    def looks(self, after: int, before: int) -> Iterable[int]:
        """Its rules read facts of streams."""
        return ()

    def why(self, fact: Fact) -> None:
        """Spark is not asked why."""

    def lacking(self, fact: Fact) -> str:
        return f"rules do not conclude `{fact}`"

    def words_in_use(self) -> NDArray[np.int64]:
        rows = (rows.reshape(-1) for some in self._waiting.values() for *_, rows in some)
        return np.concatenate([np.zeros(0, dtype=np.int64), *rows])

    def snapshot(self) -> bytes:
        """Nothing waits between two batches: its buckets decide what this one decides."""
        return encode({"incomparable": packed(self.incomparable)}, {})

    def resume(self, data: bytes) -> None:
        self.incomparable = unpacked(decode(data)[0]["incomparable"])

    def close(self) -> None:
        """Its engines are elsewhere."""
