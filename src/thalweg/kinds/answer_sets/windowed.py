"""Windows of a stream, each answered by its answer sets.

A `Windowed` program is taken through time like an engine. It counts positions (`windows`), hands what comes to an
evaluator, and asks it for an answer whenever a window closes. There are two evaluators, with the same answers:

    `solving`     clingo, piece by piece: any program
    `lowering`    the incremental engine: programs that can be rules

Windows without facts all have the same answer. The first of them in a row are answered like others; the rest is passed
over, so that one timestamp that is far off does not make a million lines. Whether a window is passed over depends on
the stream alone, and not on the steps in which time passes: so all runtimes give the same answers.

`HeldWindows` are what an operator has: windows with facts of streams and of other parts, which are kept beside the
evaluator where they must be saved (`Held`). A stream may bring facts of a predicate that the program also derives. They
are input like others, which changes how the program is decomposed and whether rules can evaluate it: another evaluator
is made, and given what windows hold (`Growing`).
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
from thalweg.dataflow.operator import Updates
from thalweg.dataflow.operator_arrivals import Heard
from thalweg.diagnostics import Diagnostic
from thalweg.engine import Given
from thalweg.languages.asp.frame import Frame
from thalweg.languages.asp.numbers import Numbers
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.listing import Listing
from thalweg.model.predicate import Predicate
from thalweg.model.records import record
from thalweg.model.saved_batches import load_batches, save_batches

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram
    from thalweg.languages.asp.terms import Names

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


def mentioned_names(program: "AspProgram") -> "Names":
    """The names of all that a program mentions: facts of it are input, or what the program derives."""
    return replace(program.names, signatures=program.mentioned)


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
        self._names = mentioned_names(program)
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

    def save(self) -> list[Predicate]:
        """The predicates that are not inputs, and were reported."""
        return sorted(self._strays)

    def load(self, strays: Iterable[str]) -> None:
        """Goes on where another one was saved."""
        self._strays.update(map(Predicate.read, strays))

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


_WINDOW_WARNINGS: Final = {
    "incomplete": (
        "W505",
        "1 window was",
        "{} windows were",
        "not solved within the limit, the first at {}: the answer is incomplete",
        "allow more with `--solve-limit`, or see with `--report` which part of the program is slow",
    ),
    "overtime": (
        "W509",
        "1 window",
        "{} windows",
        "took longer than the limit, the first at {}: the engine does not stop within a window",
        "the answers are complete; `--solver clingo` ends at the limit",
    ),
    "empty": (
        "W512",
        "1 window",
        "{:,} windows",
        f"without facts skipped after {MOST_EMPTY} others in a row, the first at {{}}",
        "they have the same answer as the window before; check the stream for a wrong timestamp",
    ),
}
"""The code of each warning about windows, how one and how many are counted, what is said of them, and the way out."""


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
        """Reports each sort of windows that there were."""
        for what, (code, single, many, text, way_out) in _WINDOW_WARNINGS.items():
            if what in self._found:
                first, count = self._found[what]
                number = single if count == 1 else many.format(count)
                self._report(Diagnostic(code, f"{number} {text.format(first)}", help=way_out))

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


class Held:
    """An evaluator, and the facts that its windows hold; while it is `silent` nothing is solved."""

    def __init__(self, evaluator: AnswerEvaluator) -> None:
        self.silent = False
        self._evaluator = evaluator
        self._kept: deque[tuple[int, Sequence[Batch]]] = deque()

    @property
    def dictionary(self) -> Dictionary:
        return self._evaluator.dictionary

    def add(self, position: int, batches: Sequence[Batch]) -> None:
        self._kept.append((position, batches))
        self._evaluator.add(position, batches)

    def answer(self, first: int, last: int) -> Answered:
        while self._kept and self._kept[0][0] < first:
            self._kept.popleft()
        return Answered(()) if self.silent else self._evaluator.answer(first, last)

    def close(self) -> None:
        self._evaluator.close()

    def words(self) -> Iterator[NDArray[np.int64]]:
        """The words of the facts that are kept."""
        for _, batches in self._kept:
            for batch in batches:
                yield from (np.asarray(words, dtype=np.int64).reshape(-1) for words in batch.rows.values())

    def save(self) -> bytes:
        """The facts, each batch with its position."""
        kept = ((position, batch) for position, batches in self._kept for batch in batches)
        return save_batches(kept, self.dictionary)

    def load(self, saved: bytes) -> None:
        """Gives a new evaluator the facts that another one had."""
        for position, batch in load_batches(saved, self.dictionary):
            self.add(position, [batch])


class HeldWindows:
    """Windows and what is in them: facts of streams, and facts that other parts of a plan derive.

    Where it `saves`, the facts that windows hold are kept, so that the state can be saved.
    """

    def __init__(self, windowed: Windowed, evaluator: Connected, saves: bool) -> None:
        self.windowed = windowed
        self._evaluator = evaluator
        self._held: Held | None = None
        if saves:
            self._held = windowed.evaluator = evaluator if isinstance(evaluator, Held) else Held(evaluator)
        self._derived = Heard()

    def silence(self, silent: bool) -> None:
        """From now on nothing is solved, or everything is."""
        if self._held is not None:
            self._held.silent = silent

    def advance(self, tick: int, first: int | None, updates: Updates) -> Iterator[Answer]:
        """Takes what comes at a tick; the answers of all windows that close up to it. `first` is that of the run."""
        windowed = self.windowed
        if windowed.first is None:
            windowed.first = tick if first is None else first
        if updates.held:
            if tick > windowed.first:
                # Windows that close before hold what held until now.
                yield from windowed.advance(tick - 1, ())
            self._hold(_joined(updates.held))
            windowed.refresh()
        yield from windowed.advance(tick, updates.events)

    def _hold(self, changes: list[Given]) -> None:
        begun, ended = Batch(), Batch()
        for change in changes:
            for batch, rows in ((begun, change.begun), (ended, change.ended)):
                if len(rows):
                    batch.rows[change.signature] = rows.reshape(-1)
        self._evaluator.hold(begun, ended)
        if self._held is not None:
            self._derived.change(("", 0, change) for change in changes)

    def words_in_use(self) -> NDArray[np.int64]:
        """The words of the facts that are kept, and of what the evaluator needs."""
        kept = () if self._held is None else self._held.words()
        return np.concatenate([self._evaluator.words_in_use(), *kept, *self._derived.words()])

    def snapshot(self) -> bytes:
        """How far the windows have come, and what they hold."""
        assert self._held is not None
        derived = self._derived.save(self.windowed.dictionary)
        return frame([encode(self.windowed.save(), {}), self._held.save(), derived])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken."""
        assert self._held is not None
        about, facts, derived = unframe(data)
        self.windowed.load(decode(about)[0])
        self._held.load(facts)
        self._derived.load(derived, self.windowed.dictionary)
        for batch in self._derived.events():
            self._evaluator.hold(batch, Batch())

    def close(self) -> None:
        """Nothing more will be asked."""
        self.windowed.close()


def _joined(changes: Sequence[Given]) -> list[Given]:
    """One change of each predicate; several buckets may give facts of the same one.

    >>> p, none = Predicate("p", 1), np.zeros((0, 1), dtype=np.int64)
    >>> (change,) = _joined([Given(p, False, np.array([[5]]), none), Given(p, False, np.array([[9]]), none)])
    >>> change.begun.tolist(), change.ended.tolist()
    ([[5], [9]], [])
    """
    by_name: dict[Predicate, list[Given]] = {}
    for change in changes:
        by_name.setdefault(change.signature, []).append(change)
    return [
        Given(
            name,
            False,
            np.concatenate([change.begun for change in group]),
            np.concatenate([change.ended for change in group]),
        )
        for name, group in by_name.items()
    ]


Solve = Callable[["AspProgram", Dictionary | None], Connected]
"""Makes the evaluator of a program; facts are coded with a dictionary, or with one of its own."""


class Growing(Held):
    """The evaluator of a program, until there is one with more inputs."""

    _evaluator: Connected

    def __init__(self, solve: Solve, program: "AspProgram", dictionary: Dictionary | None = None) -> None:
        super().__init__(solve(program, dictionary))
        self._solve = solve
        self._holding: dict[tuple[Predicate, tuple[int, ...]], None] = {}
        # Answers of earlier evaluators.
        self._unread: Unread = []

    def grow(self, program: "AspProgram") -> None:
        """Goes on with a program that has more inputs."""
        before = self._evaluator
        self._evaluator = self._solve(program, before.dictionary)
        self._unread = [*self.unread(), *before.unread()]
        before.close()
        facts = Batch()
        for signature, words in self._holding:
            facts.add(signature, [*words])
        self._evaluator.hold(facts, Batch())
        for position, batches in self._kept:
            self._evaluator.add(position, batches)

    def hold(self, begun: Batch, ended: Batch) -> None:
        for key in ended.in_order():
            self._holding.pop(key, None)
        self._holding.update(dict.fromkeys(begun.in_order()))
        self._evaluator.hold(begun, ended)

    def unread(self) -> Unread:
        return [answer for answer in self._unread if answer() is not None]

    def words_in_use(self) -> NDArray[np.int64]:
        rows = (words for batch in self._former() for words in batch.rows.values())
        former = (np.asarray(words, dtype=np.int64).reshape(-1) for words in rows)
        return np.concatenate([self._evaluator.words_in_use(), *self.words(), *former])

    def _former(self) -> list[Batch]:
        """The rows of answers of earlier evaluators that may still be read."""
        return [Batch(dict(facts.rows)) for answer in self._unread if (facts := answer()) is not None]
