"""Answer set programs: windows of streams are cut, solved by clingo or the engine, and reported."""

import atexit
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.ir.nodes import Program
from thalweg.languages.asp.frame import Frame
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.parts.answer_sets.solve_options import SolveOptions, evaluator
from thalweg.parts.choose_outputs import Shown
from thalweg.parts.member import Beside
from thalweg.parts.part import Context, Evaluation, SparkWork
from thalweg.planning.wire_parts import Ports

if TYPE_CHECKING:
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.wired_parts import ExplainedMember
    from thalweg.languages.asp.program import AspProgram
    from thalweg.parts.answer_sets.holding import HoldingAnswers
    from thalweg.parts.answer_sets.split_answers import SplitAnswers
    from thalweg.parts.answer_sets.windowed import Connected, Windowed
    from thalweg.runtimes.answer_columns import AnswerColumns


@dataclass(frozen=True)
class AnswerSets:
    """An answer set program, the background that it knows, and how it is solved."""

    program: "AspProgram"
    background: tuple[Fact, ...] = ()
    options: SolveOptions = SolveOptions()
    output: Shown | None = None
    """What is output of its answers beside other parts, which may read more of them."""

    def __reduce__(self) -> "tuple[Any, ...]":
        """The syntax trees of clingo stay where they are: another process reads the program again."""
        program = self.program
        return _read_again, (program.source, program.inputs, program.shown, self.background, self.options, self.output)

    @property
    def size(self) -> str:
        return "answer sets"

    @property
    def rules(self) -> Program:
        message = f"`{self.program.source.name}` is an answer set program and cannot be loaded as rules"
        way_out = "pass its name to `thalweg.run`, or use `thalweg run`"
        raise RejectedError([Diagnostic("E402", message, help=way_out)])

    @property
    def compiles(self) -> bool:
        return self.options.solver != "clingo" and not self.program.obstacles

    def identity(self, context: Context) -> tuple[str, str]:
        from thalweg.parts.answer_sets.held import program_text

        text = program_text(self.program.source, self.program.inputs, self.background)
        what = text, sorted(self.program.names.prefixes.items()), self.options, self.frame(context)
        return text, sha256(repr((*what, sorted(self.program.shown), self.output)).encode()).hexdigest()

    def showing(self, shown: Shown) -> "AnswerSets":
        """The same with answers of what is shown only."""
        return replace(self, program=self.program.showing(shown.predicates))

    def unknown(self, shown: Shown, others: Collection[Predicate] = ()) -> Iterator[Diagnostic]:
        """W205: what is named although neither this program nor the `others` derive it."""
        own = {name for name in shown.predicates if self.program.showing([name]).shown}
        return shown.unknown({*own, *others, *self.program.derived})

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.runtimes.answer_columns import AnswerSetColumns

        return AnswerSetColumns()

    def start(self, context: Context) -> Evaluation:
        from thalweg.parts.answer_sets.held import HeldWindows

        if context.settings.emit != "changes":
            raise _refused("emit")
        windowed, _ = self._windowed(context)
        state = HeldWindows(windowed) if context.saves else None
        return Evaluation(windowed, windowed, state=state, close=windowed.close)

    # Beside other parts ---------------------------------------------------------------------------------------------

    @property
    def ports(self) -> Ports:
        name = PurePath(self.program.source.name).stem
        reads, writes = self.program.reads, self.program.writes
        return Ports("the answer set program", name, reads, writes, mentions=self.program.mentioned)

    def readers(self) -> Program:
        return self.program.readers()

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> "HoldingAnswers":
        from thalweg.parts.answer_sets.held import HeldWindows
        from thalweg.parts.answer_sets.holding import HoldingAnswers

        windowed, evaluator = self.solved._windowed(context, dictionary, beside.derived, self.on_change)
        state = HeldWindows(windowed) if context.saves else None
        return HoldingAnswers(windowed, evaluator, beside.wanted, context.report, self.selected, state)

    def split(self, context: Context, partitions: int, is_alone: bool) -> "SplitAnswers | None":
        """Its pieces are split, where it reads nothing but streams and there are several."""
        from thalweg.parts.answer_sets.split_answers import split_answers

        return split_answers(self, context, partitions) if is_alone else None

    @property
    def on_change(self) -> bool:
        """Whether it is asked when something changes: beside other parts, where it has no windows."""
        return self.options.window is None and self.program.window is None

    @property
    def selected(self) -> frozenset[Predicate] | None:
        """The predicates of answers that are output beside other parts; None where these are all."""
        return None if self.output is None else frozenset(filter(self.solved.program.writes, self.output.predicates))

    @property
    def solved(self) -> "AnswerSets":
        """What is solved: answers have what others read of them, and what is output."""
        if self.output is None:
            return self
        shown = self.program.shown | self.program.showing(self.output.predicates).shown
        return replace(self, program=replace(self.program, shown=shown))

    def explain_member(self) -> "ExplainedMember":
        from thalweg.explain.decomposition import answer_set_statements
        from thalweg.explain.wired_parts import ExplainedMember
        from thalweg.planning.input_dependency import analyse

        dependency = analyse(self.program.outlines, self.program.inputs)
        statements = tuple(answer_set_statements(dependency))
        outputs = tuple(sorted({head for statement in statements for head in statement.heads}))
        return ExplainedMember("answer sets", self.ports.name, dependency.inputs, outputs, statements, self.explain())

    def _windowed(
        self,
        context: Context,
        dictionary: Dictionary | None = None,
        derived: Collection[Predicate] = (),
        on_change: bool = False,
    ) -> "tuple[Windowed, Connected]":
        """What cuts windows, and what answers them; `on_change`, only where a window differs from the one before.

        Beside other parts of a plan a `dictionary` is shared with these, which derive some of the inputs.
        """
        from thalweg.parts.answer_sets.growing import Growing
        from thalweg.parts.answer_sets.windowed import Inputs, Windowed

        if context.settings.memory is not None:
            raise _refused("memory")
        frame = self.frame(context)
        shared = dictionary is not None

        def solving(program: "AspProgram", words: Dictionary | None) -> "Connected":
            return evaluator(program, self.options, frame, self.background, None, words, derived, shared)

        answerer = (
            solving(self.program, dictionary) if self.program.declared else Growing(solving, self.program, dictionary)
        )
        grow = answerer.grow if isinstance(answerer, Growing) else None
        inputs = Inputs(self.program, context.report, answerer.dictionary, grow)
        first, interrupt = context.settings.first, context.interrupt
        windowed = Windowed(
            answerer, inputs, frame, first, context.report, context.listen, interrupt, on_change=on_change
        )
        return windowed, answerer

    def spread(self, context: Context, partitions: int) -> SparkWork:
        from thalweg.parts.answer_sets.spark_job import answer_set_job
        from thalweg.parts.answer_sets.spark_worker import answer_set_worker
        from thalweg.parts.answer_sets.windowed import Inputs
        from thalweg.parts.spark_plan import blocks_of

        job = answer_set_job(self, context, partitions)
        look = lambda words: Inputs(self.program, context.report, words).only  # noqa: E731
        return SparkWork(job, answer_set_worker, combine=blocks_of(context), look=look)

    def explain(self, partitions: int | None = None, published: bool = False) -> "PlanDocument":
        from thalweg.explain.decomposition import explain_answer_sets
        from thalweg.planning.input_dependency import analyse
        from thalweg.planning.published import Published

        dependency = analyse(self.program.outlines, self.program.inputs)
        reasons = tuple(dict.fromkeys(obstacle.words for obstacle in self.program.obstacles))
        return explain_answer_sets(dependency, Published(dependency) if published else None, reasons, partitions)

    def frame(self, context: Context) -> Frame:
        """The windows that it is asked over."""
        return self.options.frame(context.clock, self.program)


@lru_cache(maxsize=4)
def _read_again(
    source: Source,
    inputs: tuple[Predicate, ...],
    shown: frozenset[Predicate],
    background: tuple[Fact, ...],
    options: SolveOptions,
    output: Shown | None,
) -> AnswerSets:
    from thalweg.languages.asp.reader import read_program

    program = read_program(source, inputs)[0].knowing(background)
    program = program if program.shown == shown else replace(program.showing(shown), shown=shown)
    return AnswerSets(program, background, options, output)


# Syntax trees must be gone before clingo is.
atexit.register(_read_again.cache_clear)


def _refused(option: str) -> RejectedError:
    return RejectedError(
        [Diagnostic("E403", f"`{option}` cannot be used with answer set programs (`.lp`): leave it out")]
    )
