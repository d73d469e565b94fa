"""An answer set program as one operator: windows are cut, solved and answered where all facts come together.

The answer of the last window holds for other parts of a plan until the next window closes (`LastAnswer`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from thalweg.answers.record import Answer
from thalweg.connectors.batches import code_facts
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import HeldKey, Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.engine import Given
from thalweg.engine.proof import Proof
from thalweg.kinds.answer_sets import AnswerSets
from thalweg.kinds.answer_sets.solve_options import evaluator
from thalweg.kinds.answer_sets.solving import pool_of
from thalweg.kinds.answer_sets.windowed import (
    Answered,
    Connected,
    Growing,
    HeldWindows,
    Listener,
    ProgramInputs,
    Windowed,
    mentioned_names,
)
from thalweg.kinds.member import Neighbours
from thalweg.languages.asp.frame import Frame
from thalweg.languages.lars.facts import FactReader, read_fact
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram
    from thalweg.languages.asp.terms import Names


class AnsweringOperator(Operator):
    """What answers windows, for users; beside other parts of a plan the answer of the last window holds for these.

    They read the `wanted` predicates of answers, all where that is None; where some are `shown`, the answers that users
    see have no others. Alone, answers go out unread: they are spelled where they are written.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        context: Context,
        neighbours: Neighbours | None,
        shown: frozenset[Predicate] | None,
    ) -> None:
        self._wanted = frozenset[Predicate]() if neighbours is None else neighbours.wanted
        self._answers = None if neighbours is None else LastAnswer(dictionary, context.report)
        self._selection = None if shown is None else FactSelection(shown)

    def _output(self, solution: Answer, tick: int) -> Output:
        """The answer of a window, and what begins and ends with it, at a tick."""
        if self._answers is None:
            return Output(tick, solution)
        # Read once, for readers and for output.
        solution = replace(solution, columns=tuple(map(tuple, solution.columns)))
        self._answers.see(solution)
        shown = (solution,) if self._selection is None else self._selection.of(solution)
        return Output(tick, next(iter(shown), None), self._answers.turn(self._wanted))

    def why(self, fact: Fact) -> Proof | None:
        """Which window has an answer that holds a fact; the facts that it read are put below by others."""
        return None if self._answers is None else self._answers.why(fact)

    def lacking(self, fact: Fact) -> str:
        """That a fact is not in the last answer, in words that go on behind `and`."""
        return "answers are not kept" if self._answers is None else self._answers.lacking(fact)

    def holding(self) -> Iterable[Given]:
        return () if self._answers is None else self._answers.facts(self._wanted)

    def _save_answer(self) -> bytes:
        """The answer that holds."""
        return b"" if self._answers is None else self._answers.save()

    def _load_answer(self, data: bytes) -> None:
        """Brings back the answer that held."""
        if self._answers is not None:
            self._answers.load(data)


class LastAnswer:
    """The answer of the last window that closed, as facts that begin and end."""

    def __init__(self, dictionary: Dictionary, report: Callable[[Diagnostic], None]) -> None:
        self._reader = FactReader("answers", dictionary)
        self._dictionary = dictionary
        self._report = report
        self._holding: frozenset[str] = frozenset()
        self._given: frozenset[str] = frozenset()
        self._window: tuple[int, int] | None = None
        self._strange = False

    def see(self, solution: Answer) -> None:
        """A window has closed: its answer holds instead of the one before."""
        self._holding = frozenset(fact for facts in solution.columns for fact in facts)
        self._window = solution.start, solution.t

    def why(self, fact: Fact) -> Proof | None:
        """Which window has an answer that holds a fact; until another one closes, so until when is not known."""
        if str(fact) not in self._holding or self._window is None:
            return None
        start, end = self._window
        return Proof(f"{fact}", None, "answer set", rule=f"the answer of the window [{start},{end}]")

    def lacking(self, fact: Fact) -> str:
        """That a fact is not in the last answer, in words."""
        if self._window is None:
            return "no window has closed yet"
        start, end = self._window
        return f"the answer of the window [{start},{end}] does not contain `{fact}`"

    def turn(self, wanted: frozenset[Predicate] | None) -> tuple[Given, ...]:
        """What has begun and ended since the last turn, of the wanted predicates; of all where that is None."""
        begun, ended = self._coded(self._holding - self._given), self._coded(self._given - self._holding)
        self._given = self._holding
        changed = begun.rows.keys() | ended.rows.keys()
        return tuple(
            Given(name, False, _rows(begun, name), _rows(ended, name))
            for name in sorted(changed if wanted is None else changed & wanted)
        )

    def facts(self, wanted: frozenset[Predicate] | None) -> Iterator[Given]:
        """The answer that holds as facts, those of the wanted predicates; all where that is None."""
        batch = self._coded(self._given)
        for name in sorted(batch.rows.keys() if wanted is None else batch.rows.keys() & wanted):
            rows = _rows(batch, name)
            yield Given(name, False, rows, rows[:0])

    def save(self) -> bytes:
        """The answer that holds."""
        return encode({"window": self._window, "strange": self._strange}, {"facts": sorted(self._holding)})

    def load(self, data: bytes) -> None:
        about, lists = decode(data)
        self._holding = self._given = frozenset(lists["facts"].to_pylist())
        self._window = about["window"] and tuple(about["window"])
        self._strange = about["strange"]

    def _coded(self, facts: frozenset[str]) -> Batch:
        batch = self._reader.batch(sorted(facts))
        return self._one_by_one(facts) if batch is None else batch

    def _one_by_one(self, facts: frozenset[str]) -> Batch:
        """The facts as a batch, without those that rules cannot read: rules have no terms such as `f(1)`."""
        readable = []
        for fact in sorted(facts):
            try:
                code_facts([fact], self._dictionary)
            except RejectedError:
                if not self._strange:
                    message = f"rules cannot read `{fact}`, which an answer set contains: they skip it"
                    self._report(Diagnostic("W514", message, help="rules have names, numbers, texts and IRIs only"))
                self._strange = True
            else:
                readable.append(fact)
        return code_facts(readable, self._dictionary)


class FactSelection:
    """The facts of answers that are output, where only some predicates are.

    >>> answer = Answer("answer sets", 4, (("a(1)", "a(1,2)", "b(1)"),), 4)
    >>> [str(one) for one in FactSelection(frozenset({Predicate("a", 1)})).of(answer)]
    ['{"t":4,"window":[4,4],"answers":[["a(1)"]]}']
    """

    def __init__(self, shown: frozenset[Predicate]) -> None:
        self._shown = shown
        self._names = {name.name for name in shown}

    def of(self, solution: Answer) -> Iterator[Answer]:
        """The answer with what is shown of it; none where nothing of answers is."""
        if self._shown:
            yield replace(solution, columns=tuple(tuple(filter(self._is_shown, facts)) for facts in solution.columns))

    def _is_shown(self, fact: str) -> bool:
        if fact.partition("(")[0] not in self._names:
            return False
        try:
            return read_fact(fact).signature in self._shown
        except RejectedError:
            # A term such as `f(1)`, which rules do not have.
            return True


def _rows(batch: Batch, predicate: Predicate) -> Words:
    words = np.array(batch.rows.get(predicate, ()), dtype=np.int64)
    if predicate.arity:
        return words.reshape(-1, predicate.arity)
    return np.zeros((int(predicate in batch.rows), 0), dtype=np.int64)


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
        return ((0, GATHER),) if self._names.known_as(signature) else ()

    @cached_property
    def _names(self) -> "Names":
        return mentioned_names(self.part.program)

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
