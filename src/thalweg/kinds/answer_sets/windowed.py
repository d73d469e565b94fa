"""Windows of a stream, each answered by its answer sets.

A `Windowed` program is taken through time like an engine. It counts positions (`windows`), hands what comes to an
evaluator, and asks it for an answer whenever a window closes. There are two evaluators, with the same answers:

    `solving`     clingo, piece by piece: any program
    `lowering`    the incremental engine: programs that can be rules

Windows without facts all have the same answer. The first of them in a row are answered like others; the rest is passed
over, so that one timestamp that is far off does not make a million lines. Whether a window is passed over depends on
the stream alone, and not on the steps in which time passes: so all runtimes give the same answers.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from thalweg.answers.record import Answer
from thalweg.connectors.interrupt import Interrupt, Interrupted
from thalweg.diagnostics import Diagnostic
from thalweg.languages.asp.frame import Frame
from thalweg.languages.asp.numbers import Numbers
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.listing import Listing
from thalweg.model.predicate import Predicate
from thalweg.model.records import record

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram

Unread = list[ref[Listing]]
"""Answers that are spelled when they are read, as long as someone has them."""

MOST_EMPTY: Final = 1_000
"""How many windows without facts are answered in a row."""


@record
@dataclass(frozen=True, slots=True)
class PieceShare:
    """What one piece of a program had to do for a window: facts of some inputs, seconds, and how many answers.

    What is not known is None: where pieces are evaluated together, how long each took, and which forbids an answer.
    """

    inputs: tuple[Predicate, ...]
    facts: int
    seconds: float | None
    answers: int | None


@record
@dataclass(frozen=True, slots=True)
class Answered:
    """The answer sets of a window; whether these are all that was asked for; and what each piece had to do.

    `overtime`: it is complete, and took longer than it may. `together` is how long all took where they
    cannot be told apart.
    """

    sets: tuple[Sequence[str], ...]
    complete: bool = True
    shares: tuple[PieceShare, ...] = ()
    overtime: bool = False
    together: float | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(share.seconds or 0.0 for share in self.shares) if self.together is None else self.together


class AnswerEvaluator(Protocol):
    """Answers windows. Positions never decrease."""

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary that codes facts that come in."""

    def add(self, position: int, batches: Sequence[Batch]) -> None:
        """Facts arrive."""

    def answer(self, first: int, last: int) -> Answered:
        """The answer of the window with these positions; no later one begins earlier."""

    def collect(self, waiting: Iterable[Batch]) -> None:
        """Forgets the terms that neither windows nor waiting batches use."""

    def close(self) -> None:
        """Nothing more will be asked."""


class Connected(AnswerEvaluator, Protocol):
    """An evaluator that is a part of a larger plan, and shares its dictionary with the others."""

    def hold(self, begun: Batch, ended: Batch) -> None:
        """Facts that other parts derive begin and end; a window holds those that hold at its close."""

    def words_in_use(self) -> NDArray[np.int64]:
        """The words of the terms that are still needed."""

    def unread(self) -> Unread:
        """Its answers that may still be read: their terms are needed."""


class ProgramInputs:
    """What a program takes from streams; the rest stays outside.

    Facts of predicates that the program does not mention are skipped. Those of a predicate that it mentions, and that
    is not an input, make it one: `grow` is called with the program that takes them. Where inputs are declared, or
    nothing can `grow`, they are skipped, too, with one warning. There is also one warning of numbers that are text to
    clingo.
    """

    def __init__(
        self,
        program: "AspProgram",
        report: Callable[[Diagnostic], None] = lambda diagnostic: None,
        dictionary: Dictionary | None = None,
        grow: "Callable[[AspProgram], None] | None" = None,
    ) -> None:
        self._program = program
        self._grow = None if program.declared else grow
        self._numbers = Numbers(dictionary, report) if dictionary is not None and program.reckons else None
        self._inputs = frozenset(program.inputs)
        self._names = replace(program.names, signatures=program.mentioned)
        self._report = report
        self._taken: dict[Predicate, bool] = {}
        self._strays: set[Predicate] = set()

    @property
    def names(self) -> tuple[Predicate, ...]:
        """The inputs, those included that streams have turned out to bring."""
        return self._program.inputs

    def take(self, names: Iterable[Predicate]) -> None:
        """Makes inputs of predicates that the program mentions."""
        new = frozenset(names) - self._inputs
        if self._grow is not None and new:
            self._program = self._program.taking(new)
            self._inputs = frozenset(self._program.inputs)
            self._grow(self._program)

    def only(self, batch: Batch) -> Batch:
        """A batch without what is not an input."""
        self._learn([signature for signature in batch.rows if signature not in self._taken])
        rows = {signature: words for signature, words in batch.rows.items() if self._taken[signature]}
        if len(rows) < len(batch.rows):
            batch = Batch(rows, [signature for signature in batch.order if signature in rows], batch.stream)
        if self._numbers is not None:
            self._numbers.look(batch)
        return batch

    def _learn(self, signatures: Iterable[Predicate]) -> None:
        by_signature = {signature: self._names.known_as(signature) for signature in signatures}
        self.take({name for names in by_signature.values() if names.isdisjoint(self._inputs) for name in names})
        self._taken |= {signature: not names.isdisjoint(self._inputs) for signature, names in by_signature.items()}
        # A class may be an input, and so may `rdf_type`: a fact that comes in as one of them is not a stray.
        strays = {name for signature, names in by_signature.items() if not self._taken[signature] for name in names}
        strays -= self._strays
        self._strays |= strays
        for name in sorted(strays):
            message = f"a stream has facts of `{name}`, which is not an input of the program: they are ignored"
            help = f"declare all inputs: `--inputs {','.join(sorted(self._inputs | self._strays))}`"
            self._report(Diagnostic("W506", message, help=help))


Listener = Callable[[Answer, Answered], None]
Repeats = Callable[[Answer, Answered, int], None]
"""Called with the first of windows that are passed over, the answer that all have, and how many there are."""


class TimeoutLog:
    """The windows that took too long, and those that were passed over: reported at the end."""

    def __init__(self, report: Callable[[Diagnostic], None]) -> None:
        self._report = report
        # For each that deserves a warning the tick of its first window, and how many windows there are.
        self._found: dict[str, tuple[int, int]] = {}

    def pass_over(self, first: int, count: int) -> None:
        """Counts windows without facts, the first of which closes at a tick."""
        self._count("empty", first, count)

    def take(self, solution: Answer, answered: Answered) -> None:
        """Remembers a window that was not solved in time, or that was, and too late."""
        if solution.incomplete:
            self._count("incomplete", solution.t)
        if answered.overtime:
            self._count("overtime", solution.t)

    def _count(self, what: str, tick: int, more: int = 1) -> None:
        first, count = self._found.get(what, (tick, 0))
        self._found[what] = first, count + more

    def report(self) -> None:
        for what, warning in (("incomplete", _too_slow), ("overtime", _overtime), ("empty", _passed_over)):
            if what in self._found:
                self._report(warning(*self._found[what]))

    def save(self) -> dict[str, tuple[int, int]]:
        """The counts of the warnings to report, by what they are about."""
        return self._found

    def load(self, saved: Mapping[str, Sequence[int]]) -> None:
        """Goes on where another one was saved."""
        self._found = {what: (first, count) for what, (first, count) in saved.items()}


class Windowed:
    """A program that is asked whenever a window closes."""

    def __init__(
        self,
        evaluator: AnswerEvaluator,
        inputs: ProgramInputs,
        frame: Frame,
        first: int | None = None,
        report: Callable[[Diagnostic], None] = lambda diagnostic: None,
        listen: Listener = lambda solution, answered: None,
        interrupt: Interrupt | None = None,
        repeats: Repeats | None = None,
        on_change: bool = False,
    ) -> None:
        self.first = first
        self.now: int | None = None
        self.evaluator = evaluator
        self._inputs = inputs
        self._frame = frame
        self._timeouts = TimeoutLog(report)
        self._listen = listen
        self._repeats = repeats
        self._interrupt = interrupt or Interrupt()
        self._ended = False
        self._closed = False
        # The ticks of the facts that tuple windows hold, the last of them at the last position.
        self._ticks: deque[int] = deque()
        self._position = -1
        # The last position with a fact, and how many windows without any have closed since the last one with some.
        self._filled = -frame.size
        self._empty = 0
        # Whether only windows with another content than the one before are answered; and whether the next one may be.
        self._on_change = on_change
        self._stale = True

    @property
    def dictionary(self) -> Dictionary:
        return self.evaluator.dictionary

    def advance(self, to: int, batches: Sequence[Batch]) -> Iterator[Answer]:
        """Takes what comes at a tick; the answers of all windows that close up to it."""
        self.first = to if self.first is None else self.first
        self.now = to
        return self._until_interrupted(
            self._by_facts(to, batches) if self._frame.tuples else self._by_time(to - self.first, batches)
        )

    def _until_interrupted(self, solutions: Iterator[Answer]) -> Iterator[Answer]:
        """Solving may take for ever: an interrupt in the middle of it ends the answers."""
        if self._ended:
            return
        try:
            yield from solutions
        except Interrupted:
            self._ended = True

    def _by_time(self, position: int, batches: Sequence[Batch]) -> Iterator[Answer]:
        yield from self._close(self._frame.closings(self._position, position - 1))
        if self._frame.holds(position):
            self._add(position, batches)
        yield from self._close(self._frame.closings(max(self._position, position - 1), position))
        self._position = position

    def _close(self, closings: range) -> Iterator[Answer]:
        """The answers of windows that close one after the other, while no fact comes."""
        filled = range(closings.start, min(closings.stop, self._filled + self._frame.size), closings.step)
        full, empty = closings[: len(filled)], closings[len(filled) :]
        self._empty = 0 if full else self._empty
        self._stale = self._stale or bool(full)
        shown = int(self._stale) if self._on_change else max(0, MOST_EMPTY - self._empty)
        self._stale = self._stale and not empty
        self._empty += len(empty)
        for closing in (*full, *empty[:shown]):
            yield self._answer(closing)
        if (passed := empty[shown:]) and not self._on_change:
            self._pass_over(passed)

    @property
    def has_closed(self) -> bool:
        """Whether a window has closed yet."""
        return self._closed

    def refresh(self) -> None:
        """The evaluator has been given other facts besides: windows without any of their own have another answer."""
        self._stale, self._empty = True, 0

    def _pass_over(self, closings: range) -> None:
        start, tick = self._ticks_of(closings[0] - self._frame.size + 1, closings[0])
        if self._repeats is None:
            self._timeouts.pass_over(tick, len(closings))
            return
        answered = self.evaluator.answer(closings[-1] - self._frame.size + 1, closings[-1])
        self._repeats(
            Answer("answer sets", tick, answered.sets, start, incomplete=not answered.complete), answered, len(closings)
        )

    def _by_facts(self, tick: int, batches: Sequence[Batch]) -> Iterator[Answer]:
        for single in singles(batches):
            self._position = position = self._position + 1
            self._ticks.append(tick)
            if len(self._ticks) > self._frame.size:
                self._ticks.popleft()
            if self._frame.holds(position):
                self._add(position, [single])
            for closing in self._frame.closings(position - 1, position):
                yield self._answer(closing)

    def _add(self, position: int, batches: Sequence[Batch]) -> None:
        inputs = [batch for batch in map(self._inputs.only, batches) if batch.rows]
        if inputs:
            self._filled = position
            self.evaluator.add(position, inputs)

    def _answer(self, closing: int) -> Answer:
        self._closed = True
        start = max(0, closing - self._frame.size + 1)
        # After an interrupt the windows that are decided are still answered; a wait would end at once.
        with nullcontext() if self._interrupt.asked else self._interrupt.waiting():
            answered = self.evaluator.answer(start, closing)
        first, last = (self._ticks[0], self._ticks[-1]) if self._frame.tuples else self._ticks_of(start, closing)
        solution = Answer("answer sets", last, answered.sets, first, incomplete=not answered.complete)
        self._timeouts.take(solution, answered)
        self._listen(solution, answered)
        return solution

    def _ticks_of(self, start: int, closing: int) -> tuple[int, int]:
        assert self.first is not None
        return self.first + start, self.first + closing

    def finish(self) -> Iterator[Answer]:
        """A stream that was too short for a window has one all the same."""
        if not self._closed and self._position >= 0:
            yield from self._until_interrupted(iter(map(self._answer, (self._position,))))
        self._timeouts.report()

    def save(self) -> dict[str, Any]:
        """How far it has come, apart from what the evaluator holds."""
        return {
            "first": self.first,
            "now": self.now,
            "position": self._position,
            "closed": self._closed,
            "ticks": list(self._ticks),
            "filled": self._filled,
            "empty": self._empty,
            "stale": self._stale,
            "inputs": list(self._inputs.names),
            "timeouts": self._timeouts.save(),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Goes on where another one was, before its evaluator is given what that one held."""
        self._inputs.take(map(Predicate.read, saved["inputs"]))
        self.first, self.now = saved["first"], saved["now"]
        self._position, self._closed = saved["position"], saved["closed"]
        self._ticks = deque(saved["ticks"])
        self._filled, self._empty, self._stale = saved["filled"], saved["empty"], saved["stale"]
        self._timeouts.load(saved["timeouts"])

    def close(self) -> None:
        self.evaluator.close()


def singles(batches: Sequence[Batch]) -> Iterator[Batch]:
    """The facts of a tick one by one, in the order of arrival; on one stream each counts once.

    >>> batch = Batch()
    >>> for word in (5, 9, 5): batch.add(Predicate("p", 1), [word])
    >>> [single.rows for single in singles([batch])]
    [{'p/1': [5]}, {'p/1': [9]}]
    """
    seen = set()
    for batch in batches:
        for signature, words in batch.in_order():
            if (batch.stream, signature, words) not in seen:
                seen.add((batch.stream, signature, words))
                yield Batch({signature: list(words)}, [signature], batch.stream)


def _overtime(first: int, count: int) -> Diagnostic:
    number = "1 window" if count == 1 else f"{count} windows"
    return Diagnostic(
        "W509",
        f"{number} took longer than the limit, the first at {first}: the engine does not stop within a window",
        help="the answers are complete; `--solver clingo` ends at the limit",
    )


def _passed_over(first: int, count: int) -> Diagnostic:
    number = "1 window" if count == 1 else f"{count:,} windows"
    return Diagnostic(
        "W512",
        f"{number} without facts skipped after {MOST_EMPTY} others in a row, the first at {first}",
        help="they have the same answer as the window before; check the stream for a wrong timestamp",
    )


def _too_slow(first: int, count: int) -> Diagnostic:
    number = "1 window was" if count == 1 else f"{count} windows were"
    return Diagnostic(
        "W505",
        f"{number} not solved within the limit, the first at {first}: the answer is incomplete",
        help="allow more with `--solve-limit`, or see with `--report` which part of the program is slow",
    )
