"""The answers of pieces become the answers of windows, in one bucket.

A window that every bucket has passed over is passed over; one that at least one bucket has answered is answered, with
what the others say of it: a bucket whose windows have no facts says one answer for many of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from operator import attrgetter
from time import perf_counter

from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Exchange
from thalweg.dataflow.operator import HeldKey, OpSpec, Output, Share, Updates
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic
from thalweg.kinds.answer_sets import AnswerSets
from thalweg.kinds.answer_sets.answers_operator import AnsweringOperator, listener
from thalweg.kinds.answer_sets.pieces import PieceAnswer, PieceWarning, place_of
from thalweg.kinds.answer_sets.windowed import Answered, PieceShare, TimeoutLog
from thalweg.kinds.member import Neighbours
from thalweg.languages.asp.frame import Frame
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json, of_json
from thalweg.solvers.clingo import Solved
from thalweg.solvers.combine import combine


@dataclass(frozen=True)
class CombineSpec(OpSpec):
    """Combines the answers of pieces, which have the `inputs`; `on_change`, each bucket answers when its own change.

    What is `located` in buckets is given there.
    """

    part: AnswerSets
    frame: Frame
    inputs: tuple[tuple[Predicate, ...], ...]
    neighbours: Neighbours | None
    on_change: bool
    reads_streams: bool = field(default=False, init=False)
    located: tuple[tuple[Predicate, int], ...] = ()

    def held_routes(self, key: HeldKey) -> Iterable[tuple[Predicate, Exchange]]:
        return ()

    def gives(self, key: HeldKey) -> bool:
        is_here = place_of(key[0], self.part.program, self.located) is None
        return not key[1] and is_here and self.part.program.writes(key[0])

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "CombineOperator":
        return CombineOperator(self, context, dictionary)


class CombineOperator(AnsweringOperator):
    """Combines the answers of all pieces, window by window."""

    format = StateFormat("combined answer sets")

    def __init__(self, spec: CombineSpec, context: Context, dictionary: Dictionary) -> None:
        neighbours = spec.neighbours
        super().__init__(dictionary, context, neighbours, None if neighbours is None else spec.part.selected)
        self._inputs = spec.inputs
        self._limit = spec.part.options.seconds
        self._slide = spec.frame.slide
        self._on_change = spec.on_change
        self._listen = listener(context)
        self._report = context.report
        self._timeouts = TimeoutLog(context.report)
        self._last: dict[tuple[int, int], PieceAnswer] = {}
        """The last answer of each piece and bucket."""
        self._next = 0
        """The number behind the last window that was answered."""
        self._closing: int | None = None
        """The tick at which the next window closes, where windows without facts may be passed over."""
        self._closed = False
        self._codes: set[str] = set()
        """The codes of the warnings that were reported."""

    @property
    def is_settled(self) -> bool:
        return self._closed

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        answers: list[PieceAnswer] = []
        for record in updates.records:
            if isinstance(record, PieceAnswer):
                answers.append(record)
            else:
                self._warn(record)
        for window in self._windows(answers):
            solution = self._solution(window)
            yield self._output(solution, max(solution.t, tick))

    def _warn(self, warning: PieceWarning) -> None:
        if warning.code not in self._codes:
            self._codes.add(warning.code)
            self._report(Diagnostic(warning.code, warning.message, help=warning.help))

    def _windows(self, answers: Iterable[PieceAnswer]) -> Iterator[list[PieceAnswer]]:
        """The answers of pieces for each window that is answered; the first of them is of that window."""
        by_window = attrgetter("t" if self._on_change else "number")
        for number, group in groupby(sorted(answers, key=by_window), key=by_window):
            fresh = list(group)
            if self._closing is None:
                self._closing = fresh[0].t
            self._last.update(((answer.piece, answer.bucket), answer) for answer in fresh)
            own = next((answer for answer in fresh if not answer.repeated), None)
            if own is not None:
                self._pass_over(own.number)
                self._next, self._closing, self._closed = own.number + 1, own.t + self._slide, True
                counts = (answer for answer in self._last.values() if self._on_change or answer.end > number)
                yield [own, *sorted((answer for answer in counts if answer is not own), key=_place)]

    def _pass_over(self, number: int) -> None:
        """Counts the windows before the one with a number: no bucket has answered them."""
        if number > self._next and not self._on_change:
            assert self._closing is not None
            self._timeouts.pass_over(self._closing, number - self._next)

    def _solution(self, window: Sequence[PieceAnswer]) -> Answer:
        until = None if self._limit is None else perf_counter() + self._limit
        answers = sorted(window, key=_place)
        solved = [Solved(answer.sets, answer.complete) for answer in answers]
        sets, complete = combine(solved, until)
        # Combining again may get further within the limit.
        self.must_save |= not complete and all(part.complete for part in solved)
        overtime = any(answer.overtime for answer in answers)
        answered = Answered(sets, complete, self._shares(answers, len(sets)), overtime)
        solution = Answer("answer sets", window[0].t, sets, window[0].start, incomplete=not complete)
        self._timeouts.take(solution, answered)
        self._listen(solution, answered)
        return solution

    def _shares(self, answers: Iterable[PieceAnswer], count: int) -> tuple[PieceShare, ...]:
        return tuple(
            PieceShare(
                self._inputs[number],
                sum(answer.facts for answer in buckets),
                sum(answer.seconds for answer in buckets),
                count if len(self._inputs) == 1 else prod(len(answer.sets) for answer in buckets),
            )
            for number, group in groupby(answers, key=attrgetter("piece"))
            for buckets in [list(group)]
        )

    def finish(self) -> Iterator[Output]:
        """Gives nothing more; reports which windows took too long, and how many were skipped."""
        self._pass_over(max((answer.end for answer in self._last.values()), default=0))
        self._timeouts.report()
        return iter(())

    # State ----------------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        self.must_save = False
        state = {
            "last": as_json(list(self._last.values())),
            "next": self._next,
            "closing": self._closing,
            "closed": self._closed,
            "codes": sorted(self._codes),
            "timeouts": self._timeouts.save(),
        }
        return frame([encode(state, {}), self._save_answer()])

    def load(self, data: bytes) -> None:
        about, holding = unframe(data)
        state, _ = decode(about)
        self._last = {(answer.piece, answer.bucket): answer for answer in of_json(state["last"])}
        self._next, self._closing, self._closed = state["next"], state["closing"], state["closed"]
        self._codes = {*state["codes"]}
        self._timeouts.load(state["timeouts"])
        self._load_answer(holding)


def _place(answer: PieceAnswer) -> tuple[int, int]:
    return answer.piece, answer.bucket
