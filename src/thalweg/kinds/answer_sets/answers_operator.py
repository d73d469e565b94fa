"""An answer set program as one operator: windows are cut, solved and answered where all facts come together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import HeldKey, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.kinds.answer_sets import AnswerSets
from thalweg.kinds.answer_sets.growing import Growing
from thalweg.kinds.answer_sets.last_answer import AnsweringOperator
from thalweg.kinds.answer_sets.shared_pool import pool_of
from thalweg.kinds.answer_sets.solve_options import evaluator
from thalweg.kinds.answer_sets.window_facts import HeldWindows
from thalweg.kinds.answer_sets.windowed import Answered, Connected, Listener, ProgramInputs, Windowed
from thalweg.kinds.member import Neighbours
from thalweg.languages.asp.frame import Frame
from thalweg.model.arrow import frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram


@dataclass(frozen=True)
class AnswersSpec(OpSpec):
    """A program that all facts come to; alone, it has no `neighbours`.

    Where it `grows`, streams make inputs of predicates that the program derives; else their facts are reported.
    """

    part: AnswerSets
    frame: Frame
    neighbours: Neighbours | None
    grows: bool
    counts_everything: bool

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        return ((0, GATHER),) if self.part.mentions(signature) else ()

    def gives(self, key: HeldKey) -> bool:
        return not key[1] and self.part.program.writes(key[0])

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "AnswersOperator":
        return AnswersOperator(self, context, dictionary)


class AnswersOperator(AnsweringOperator):
    """A program at work, over its windows."""

    format = StateFormat("answer sets")

    def __init__(self, spec: AnswersSpec, context: Context, dictionary: Dictionary) -> None:
        part, neighbours = spec.part, spec.neighbours
        super().__init__(dictionary, context, neighbours, None if neighbours is None else part.selected)
        self._listen = listener(context)
        self._counts_facts = spec.frame.tuples
        derived, pool = () if neighbours is None else neighbours.derived, pool_of(context)

        def solving(program: "AspProgram", words: Dictionary | None) -> Connected:
            shared = neighbours is not None
            return evaluator(program, part.options, spec.frame, part.background, pool, words, derived, shared)

        program = part.program
        answerer = Growing(solving, program, dictionary) if spec.grows else solving(program, dictionary)
        grow = answerer.grow if isinstance(answerer, Growing) else None
        windowed = Windowed(
            answerer,
            ProgramInputs(program, context.report, dictionary, grow),
            spec.frame,
            context.settings.first,
            context.report,
            self._answered,
            context.interrupt,
            on_change=neighbours is not None and part.on_change,
        )
        self.windows = HeldWindows(windowed, answerer, context.saves)

    def _answered(self, solution: Answer, answered: Answered) -> None:
        # Solving again may get further, or take longer.
        self.must_save |= not answered.complete or answered.overtime
        self._listen(solution, answered)

    @property
    def is_settled(self) -> bool:
        return self.windows.windowed.has_closed

    @property
    def counts_facts(self) -> bool:
        return self._counts_facts

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        self._silence()
        for solution in self.windows.advance(tick, self.first, updates):
            yield self._output(solution, solution.t)

    def finish(self) -> Iterator[Output]:
        """The window of a stream that was too short for any; which windows took too long is reported."""
        self._silence()
        windowed = self.windows.windowed
        for solution in windowed.finish():
            assert isinstance(solution, Answer)
            # Where windows count facts, the last of them may have come long ago.
            yield self._output(solution, max(solution.t, windowed.now or 0))

    def _silence(self) -> None:
        """Leaves out what only outputs need, unless other parts read what holds."""
        self.windows.silence(self.quiet and self._wanted == frozenset())

    # State ----------------------------------------------------------------------------------------------------------

    def words_in_use(self) -> Words:
        return self.windows.words_in_use()

    def save(self) -> bytes:
        self.must_save = False
        return frame([self.windows.snapshot(), self._save_answer()])

    def load(self, data: bytes) -> None:
        windows, answer = unframe(data)
        self.windows.resume(windows)
        self._load_answer(answer)

    def close(self) -> None:
        self.windows.close()


def listener(context: Context) -> Listener:
    """Who hears of windows and what each took; answers themselves do not travel to another process for that."""
    if not context.in_columns:
        return context.listen
    return lambda solution, answered: context.listen(replace(solution, columns=()), replace(answered, sets=()))
