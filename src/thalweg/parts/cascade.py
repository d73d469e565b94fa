"""Rules around an answer set program, as one part: what it reads of them is below it, what reads its answers above."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Calendar
from thalweg.parts.answer_sets import AnswerSets
from thalweg.parts.choose_outputs import Shown
from thalweg.parts.part import Context, Evaluation, Explained, SparkWork
from thalweg.parts.rule_part import Rules
from thalweg.planning.wire_parts import Wiring, wire


@dataclass(frozen=True)
class Cascade:
    """Two parts, wired by predicate; where something is `shown`, nothing else of the answers is output."""

    around: Rules
    answer_sets: AnswerSets
    shown: Shown | None = None

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

    def identity(self, context: Context) -> tuple[str, str]:
        message = "a run of rules and answer set programs together cannot be resumed: leave out `--checkpoint`"
        raise Rejected([Diagnostic("E403", message)])

    def start(self, context: Context) -> Evaluation:
        from thalweg.parts.chain import Chain
        from thalweg.runtimes.emit import EMITTERS
        from thalweg.runtimes.mixed_kinds import mixed_kinds
        from thalweg.runtimes.unmatched import Unmatched

        derived = [name for _, name in self.wiring.reads]
        on_change = self.answer_sets.options.window is None and self.answer_sets.program.window is None
        windowed, answerer = self._solved.windowed(context, Dictionary(), derived, on_change)
        emitter = EMITTERS[context.settings.emit]()
        shown = None if self.shown is None else frozenset(filter(self._solved.program.writes, self.shown.predicates))
        first, calendar = context.settings.first, Calendar(context.clock)
        chain = Chain(self.wiring, windowed, answerer, emitter, first, context.report, shown, calendar)
        watch = Unmatched(merge([self.around.rules, self.answer_sets.program.readers()]))

        def summary() -> Iterator[Diagnostic]:
            yield from watch.summary()
            yield from mixed_kinds(self.around.rules, [*chain.below.incomparable, *chain.above.incomparable])

        return Evaluation(chain, chain, look=watch.look, summary=summary, close=chain.close)

    @property
    def _solved(self) -> AnswerSets:
        """What is solved: answers have what rules read of them, and what is shown."""
        if self.shown is None:
            return self.answer_sets
        program = self.answer_sets.program
        shown = program.shown | program.showing(self.shown.predicates).shown
        return replace(self.answer_sets, program=replace(program, shown=shown))

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
