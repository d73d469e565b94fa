"""Rules, evaluated by the incremental engine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.model.time import Calendar
from thalweg.parts.part import Context, Evaluation, Explained, SparkWork

if TYPE_CHECKING:
    from thalweg.model.event import Batch


@dataclass(frozen=True)
class Rules:
    """A program that the engine evaluates."""

    rules: Program

    @property
    def size(self) -> str:
        return f"rules: {len(self.rules.rules)}, facts: {len(self.rules.background)}"

    def start(self, context: Context) -> Evaluation:
        from thalweg.runtimes.rule_engine import RuleEngine

        settings, calendar = context.settings, Calendar(context.clock)
        engine = RuleEngine(self.rules, first=settings.first, memory=settings.memory, calendar=calendar)
        return Evaluation(engine, look=_schema_watch(self.rules, context.report))

    def spread(self, context: Context, partitions: int) -> SparkWork:
        from thalweg.planning.route_justifications import route_justifications
        from thalweg.runtimes.spark.job import Job
        from thalweg.runtimes.spark.worker import Worker

        return SparkWork(Job(route_justifications(self.rules), context.settings, partitions, name=uuid4().hex), Worker)

    def explain(self, partitions: int | None = None, published: bool = False) -> Explained:
        from thalweg.explain.plan import explain

        return explain(self.rules, partitions)


def _schema_watch(program: Program, report: Callable[[Diagnostic], None]) -> "Callable[[Batch], object] | None":
    """What warns of triples about the schema on a stream, where rules were made for the schema as it was."""
    if not program.hints.static_schema:
        return None
    from thalweg.runtimes.schema import SchemaWatch

    return SchemaWatch(report, may_stream=program.hints.justification is None).look
