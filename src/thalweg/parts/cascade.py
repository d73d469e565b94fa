"""Rules around an answer set program, as one part: what it reads of them is below it, what reads its answers above."""

from dataclasses import dataclass
from functools import cached_property

from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Calendar
from thalweg.parts.answer_sets import AnswerSets
from thalweg.parts.part import Context, Evaluation, Explained, SparkWork
from thalweg.parts.rule_part import Rules
from thalweg.planning.wire_parts import Wiring, wire


@dataclass(frozen=True)
class Cascade:
    """Two parts, wired by predicate."""

    around: Rules
    answer_sets: AnswerSets

    @property
    def size(self) -> str:
        return f"{self.around.size}, {self.answer_sets.size}"

    @property
    def rules(self) -> Program:
        return self.answer_sets.rules

    @cached_property
    def wiring(self) -> Wiring:
        """`Rejected` where the answer set program would read what rests on its own answers."""
        program = self.answer_sets.program
        return wire(self.around.rules, program.reads, program.writes)

    def start(self, context: Context) -> Evaluation:
        from thalweg.parts.chain import Chain
        from thalweg.runtimes.emit import EMITTERS

        derived = [name for _, name in self.wiring.reads]
        on_change = self.answer_sets.options.window is None and self.answer_sets.program.window is None
        windowed, answerer = self.answer_sets.windowed(context, Dictionary(), derived, on_change)
        emitter = EMITTERS[context.settings.emit]()
        calendar = Calendar(context.clock)
        chain = Chain(self.wiring, windowed, answerer, emitter, context.settings.first, context.report, calendar)
        return Evaluation(chain, chain, close=chain.close)

    def spread(self, context: Context, partitions: int) -> SparkWork:
        raise _only_embedded()

    def explain(self, partitions: int | None = None, published: bool = False) -> Explained:
        from thalweg.explain.wired_parts import explain_parts

        if partitions is not None:
            raise _only_embedded()
        return explain_parts(self.wiring, self.answer_sets.explain(), self.answer_sets.program.writes)


def _only_embedded() -> Rejected:
    message = "rules and answer set programs can run together only with `--runtime embedded`"
    return Rejected([Diagnostic("E403", message, help="leave out `--runtime spark`, or run them separately")])
