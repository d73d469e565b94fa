"""Rules, evaluated by the incremental engine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.parts.part import Context, Evaluation, SparkWork

if TYPE_CHECKING:
    from thalweg.explain.document import PlanDocument
    from thalweg.model.dictionary import Dictionary
    from thalweg.model.event import Batch
    from thalweg.runtimes.answer_columns import AnswerColumns
    from thalweg.runtimes.unmatched import RuleWatch


@dataclass(frozen=True)
class Rules:
    """A program that the engine evaluates."""

    rules: Program

    @property
    def size(self) -> str:
        return f"rules: {len(self.rules.rules)}, facts: {len(self.rules.background)}"

    @property
    def compiles(self) -> bool:
        return True

    def identity(self, context: Context) -> tuple[str, str]:
        from thalweg.ir.fingerprint import fingerprint
        from thalweg.ir.text import show

        return show(self.rules), fingerprint(self.rules)

    def answer_columns(self, emit: str) -> "AnswerColumns":
        """Where one predicate is output, its arguments have the names of the rule's variables."""
        from thalweg.ir.head_names import head_names
        from thalweg.runtimes.answer_columns import FactColumns

        outputs = self.rules.interface.outputs
        only = next(iter(outputs)) if outputs is not None and len(outputs) == 1 else None
        return FactColumns(emit, None if only is None else head_names(self.rules, only))

    def start(self, context: Context) -> Evaluation:
        from thalweg.planning.check_future import future_heads
        from thalweg.planning.revocable import guaranteed
        from thalweg.runtimes.emit import Lasting, emitter_of
        from thalweg.runtimes.mixed_kinds import mixed_kinds
        from thalweg.runtimes.rule_engine import RuleEngine
        from thalweg.runtimes.unmatched import RuleWatch

        settings, calendar = context.settings, context.settings.calendar
        engine = RuleEngine(self.rules, first=settings.first, memory=settings.memory, calendar=calendar)
        watch = RuleWatch(self.rules, rules=self.rules if context.progress else None)
        look = _look(self.rules, watch, context.report)(engine.dictionary)

        def summary() -> Iterator[Diagnostic]:
            yield from watch.summary()
            yield from mixed_kinds(self.rules, engine.incomparable)
            yield from future_heads(engine.future)

        emitter = emitter_of(settings.emit, Lasting(guaranteed(self.rules))) if settings.with_until else None
        return Evaluation(engine, emitter, present=watch.present, look=look, state=engine, summary=summary)

    def spread(self, context: Context, partitions: int) -> SparkWork:
        from thalweg.planning.route_justifications import route_justifications
        from thalweg.runtimes.spark.job import Job
        from thalweg.runtimes.spark.worker import Worker
        from thalweg.runtimes.unmatched import RuleWatch

        job = Job(route_justifications(self.rules), context.settings, partitions, name=uuid4().hex)
        watch = RuleWatch(self.rules, rules=self.rules if context.progress else None)
        look = _look(self.rules, watch, context.report)
        return SparkWork(job, Worker, present=watch.present, look=look, summary=watch.summary)

    def explain(self, partitions: int | None = None, published: bool = False) -> "PlanDocument":
        from thalweg.explain.plan import explain

        return explain(self.rules, partitions)


def _look(
    program: Program, watch: "RuleWatch", report: Callable[[Diagnostic], None]
) -> "Callable[[Dictionary], Callable[[Batch], object]]":
    """What sees every batch; where rules were made for a schema as it was, it warns of triples about it."""
    if not program.hints.static_schema:
        return watch.look
    from thalweg.runtimes.schema import SchemaWatch

    schema = SchemaWatch(report, may_stream=program.hints.justification is None)

    def looking(words: "Dictionary") -> "Callable[[Batch], object]":
        unmatched = watch.look(words)

        def look(batch: "Batch") -> None:
            unmatched(batch)
            schema.look(batch)

        return look

    return looking
