"""One piece of an answer set program in a bucket: its windows are solved, and their answers sent to be combined.

All buckets of all pieces close the same windows and number them alike. Only where a program is solved when something
changes, each bucket answers when its own content does.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import HeldKey, Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic
from thalweg.engine import Given
from thalweg.kinds.answer_sets import AnswerSets
from thalweg.kinds.answer_sets.answers_operator import LastAnswer
from thalweg.kinds.answer_sets.pieces import PieceAnswer, PieceWarning, SplitPiece, place_of
from thalweg.kinds.answer_sets.solve_options import evaluator
from thalweg.kinds.answer_sets.solving import pool_of
from thalweg.kinds.answer_sets.windowed import Answered, HeldWindows, ProgramInputs, Windowed, mentioned_names
from thalweg.languages.asp.frame import Frame
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.explain.plan_stage import PlanStage
    from thalweg.languages.asp.terms import Names

_INPUTS, _STRAYS = 0, 1
"""The routes: facts that the piece reads, and facts that no piece reads although the program mentions them."""


@dataclass(frozen=True)
class SolveSpec(OpSpec):
    """The piece with a `number` of a program; `on_change`, only windows that differ from the last one are answered.

    Other parts of a plan derive some of its inputs (`derived`). Where it is `shared`, two spellings of a term count as
    two facts, as they do to these parts. Of the predicates that are `located` at an argument, others read the answers
    of each bucket.
    """

    part: AnswerSets
    frame: Frame
    split: SplitPiece
    number: int
    derived: tuple[Predicate, ...]
    shared: bool
    on_change: bool
    counts_everything: bool
    located: tuple[tuple[Predicate, int], ...] = ()
    shares: ClassVar[bool] = False

    def width(self, partitions: int) -> int:
        return self.split.buckets

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        exchange = self.split.exchange(signature, self.part.program.names)
        if exchange is not None:
            return ((_INPUTS, exchange),)
        # The first piece reports them.
        is_stray = self._names.known_as(signature) and not self.part.program.reads(signature)
        return ((_STRAYS, GATHER),) if self.number == 0 and is_stray else ()

    @cached_property
    def _names(self) -> "Names":
        return mentioned_names(self.part.program)

    def held_routes(self, key: HeldKey) -> Iterable[tuple[Predicate, Exchange]]:
        exchange = self.split.exchange(key[0], self.part.program.names)
        return () if exchange is None else ((key[0], exchange),)

    def gives(self, key: HeldKey) -> bool:
        is_derived = not key[1] and self.split.derives(key[0], self.part.program)
        return is_derived and place_of(key[0], self.part.program, self.located) is not None

    def location(self, key: HeldKey) -> Exchange | None:
        place = place_of(key[0], self.part.program, self.located) if self.gives(key) else None
        return None if place is None else self.split.by(place, self.part.program.names)

    def placement(self, partitions: int) -> "PlanStage | None":
        stages = self.part.explain(partitions).stages
        return None if stages is None else stages[self.number]

    def background(self, share: Share) -> tuple[Fact, ...]:
        """The background of a bucket: what goes there of the facts that the piece reads."""
        return tuple(self._backgrounds.get(share.bucket - share.buckets[0], ()))

    @cached_property
    def _backgrounds(self) -> dict[int, list[Fact]]:
        """The background of all buckets, made once: many of them may be in one process."""
        words = Dictionary()
        by_bucket: dict[int, list[Fact]] = {}
        alike: dict[Predicate, list[Fact]] = {}
        for fact in self.part.background:
            alike.setdefault(fact.signature, []).append(fact)
        for signature, facts in alike.items():
            exchange = self.split.exchange(signature, self.part.program.names)
            if exchange is not None:
                codes = [words.code(term) for fact in facts for term in fact.terms]
                rows = np.array(codes, dtype=np.int64).reshape(len(facts), -1)
                where = exchange.buckets_of(rows, words, range(self.split.buckets))
                assert where is not None
                for bucket, fact in zip(where.tolist(), facts, strict=True):
                    by_bucket.setdefault(bucket, []).append(fact)
        return by_bucket

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "SolveOperator":
        return SolveOperator(self, context, dictionary, share)


class SolveOperator(Operator):
    """Answers the windows of a bucket. While a batch is repeated nothing is solved: its answers have been handed on."""

    format = StateFormat("answer set piece", 3)

    def __init__(self, spec: SolveSpec, context: Context, dictionary: Dictionary, share: Share) -> None:
        part, piece = spec.part, spec.split.piece
        program = part.program.part(piece.rules, piece.inputs)
        background, pool = spec.background(share), pool_of(context)
        solver = evaluator(program, part.options, spec.frame, background, pool, dictionary, spec.derived, spec.shared)
        windowed = Windowed(
            solver,
            ProgramInputs(program),
            spec.frame,
            context.settings.first,
            listen=self._answered,
            interrupt=context.interrupt,
            repeats=self._repeated,
            on_change=spec.on_change,
        )
        self._windows = HeldWindows(windowed, solver, saves=True)
        self._inputs = ProgramInputs(part.program, self._warn, dictionary)
        self._report = context.report
        self._piece, self._bucket = spec.number, share.bucket
        self._counts_facts = spec.frame.tuples
        self._number = 0
        self._records: list[PieceAnswer] = []
        self._warnings: list[PieceWarning] = []
        # What is wrong with answers is reported where they are combined.
        self._answers = LastAnswer(dictionary, lambda warning: None) if spec.located else None

    @property
    def is_settled(self) -> bool:
        return self._windows.windowed.has_closed

    @property
    def counts_facts(self) -> bool:
        return self._counts_facts

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        self._windows.silence(self.quiet and self._answers is None)
        for batch in updates.events:
            self._inputs.only(batch)
        for _ in self._windows.advance(tick, self.first, updates):
            yield from self._outputs()
        yield from self._outputs()
        if self._warnings:
            warnings, self._warnings = self._warnings, []
            yield Output(tick, records=warnings)

    def finish(self) -> Iterator[Output]:
        """The window of a stream that was too short for any."""
        self._windows.silence(self.quiet and self._answers is None)
        windowed = self._windows.windowed
        for _ in windowed.finish():
            yield from self._outputs(windowed.now or 0)

    def _outputs(self, least: int = 0) -> Iterator[Output]:
        records, self._records = self._records, []
        return (Output(max(answer.t, least), None, self._turn(answer), records=(answer,)) for answer in records)

    def _turn(self, answer: PieceAnswer) -> Sequence[Given]:
        """What begins and ends with an answer, where others read it."""
        if self._answers is None:
            return ()
        self._answers.see(Answer("answer sets", answer.t, answer.sets, answer.start))
        return self._answers.turn(None)

    def _answered(self, solution: Answer, answered: Answered) -> None:
        self._give(solution, answered, 0)

    def _repeated(self, solution: Answer, answered: Answered, count: int) -> None:
        """Other buckets may have facts where this one has none: they decide which of these windows are answered."""
        self._give(solution, answered, count)

    def _give(self, solution: Answer, answered: Answered, repeated: int) -> None:
        answer = PieceAnswer(
            self._piece,
            self._bucket,
            self._number,
            solution.t,
            solution.start,
            tuple(map(tuple, answered.sets)),
            answered.complete,
            answered.overtime,
            sum(share.facts for share in answered.shares),
            answered.seconds,
            repeated,
        )
        self._number = answer.end
        self._records.append(answer)

    def _warn(self, warning: Diagnostic) -> None:
        """Reports a predicate of which only this bucket gets facts; what others may see, too, is reported once."""
        if warning.code == "W506":
            self._report(warning)
        else:
            self._warnings.append(PieceWarning(warning.code, warning.message, warning.help))

    # State ----------------------------------------------------------------------------------------------------------

    def words_in_use(self) -> Words:
        return self._windows.words_in_use()

    def save(self) -> bytes:
        about = {"number": self._number, "strays": self._inputs.save()}
        answer = b"" if self._answers is None else self._answers.save()
        return frame([encode(about, {}), self._windows.snapshot(), answer])

    def load(self, data: bytes) -> None:
        about, windows, answer = unframe(data)
        header, _ = decode(about)
        self._number = header["number"]
        self._inputs.load(header["strays"])
        self._windows.resume(windows)
        if self._answers is not None:
            self._answers.load(answer)

    def close(self) -> None:
        self._windows.close()
