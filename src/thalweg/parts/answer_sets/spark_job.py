"""An answer set program made ready for many processes: pieces, or parts of pieces by key, are the buckets of one stage.

Each bucket evaluates one piece of the program on its own, over its own windows: so all that Spark's stages do for rules
(facts go where they are needed, what is decided is decided everywhere, lost processes are replaced) is done for answer
sets too. The facts of a piece go to one bucket, or by a key to as many as there are partitions. A second stage, which
has one bucket, combines the answers of pieces (`combined_windows`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final
from zlib import crc32

import numpy as np

from thalweg.ir.nodes import Program
from thalweg.languages.asp.frame import Frame
from thalweg.languages.asp.terms import Names
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.parts.answer_sets import AnswerSets
from thalweg.parts.part import Context
from thalweg.parts.spark_plan import PlanJob, plan_job
from thalweg.planning.input_dependency import Piece, analyse
from thalweg.planning.keys import Keys
from thalweg.planning.partition import Partitioning, Route, Stage
from thalweg.runtimes.spark.wire import UNKNOWN, Words

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram

_ANSWERS: Final = Predicate("'answers", 0)


@dataclass(frozen=True, slots=True)
class Spread:
    """A piece and its `buckets`, from `start` on; where there are several, facts go by their `keys`."""

    piece: Piece
    keys: Keys
    start: int
    buckets: int


@dataclass(frozen=True)
class AnswerSetJob(PlanJob):
    """What every process must know to answer windows; `on_change`, only those that differ from the one before."""

    frame: Frame = field(default_factory=Frame)
    spreads: tuple[Spread, ...] = ()
    on_change: bool = False

    @cached_property
    def plan(self) -> Partitioning:
        pieces = Stage(0, Program(), (), (), True, (), (), (), frozenset())
        combined = Route(_ANSWERS, _ANSWERS.name, None, stage=0)
        return Partitioning((pieces, Stage(1, Program(), (), (), False, (combined,), (), (), frozenset())))

    def buckets(self, stage: int) -> range:
        return range(1) if stage else range(sum(spread.buckets for spread in self.spreads))

    def keeps_events(self, stage: int) -> bool:
        return False

    @property
    def answer_sets(self) -> AnswerSets:
        """The program, and how it is solved."""
        assert isinstance(self.part, AnswerSets)
        return self.part

    @property
    def names(self) -> Names:
        return self.answer_sets.program.names

    @property
    def seconds(self) -> float | None:
        """How long a window may take."""
        return self.answer_sets.options.seconds

    def spread_of(self, bucket: int) -> Spread:
        """The piece that a bucket evaluates, and its other buckets."""
        return next(spread for spread in self.spreads if spread.start <= bucket < spread.start + spread.buckets)

    def routes(self, signature: Predicate) -> Iterator[tuple[int, int, int | None]]:
        """Pieces are the routes; the number of a piece is that of its route."""
        known = self.names.known_as(signature)
        for number in self._takers(signature):
            keys = self.spreads[number].keys
            yield 0, number, next((keys[name] for name in sorted(known) if name in keys), None)

    def _takers(self, signature: Predicate) -> list[int]:
        """The pieces that need facts of a signature; a window that counts facts counts all of them."""
        if self.frame.tuples:
            return list(range(len(self.spreads)))
        known = self.names.known_as(signature)
        return [number for number, spread in enumerate(self.spreads) if not known.isdisjoint(spread.piece.inputs)]

    def where(self, stage: int, route: int, key: int | None, rows: Words, words: Dictionary) -> Words | None:
        """Two terms that are one to clingo go to the same bucket; what has no key goes to any."""
        if route == UNKNOWN:
            return None
        spread = self.spreads[route]
        if spread.buckets == 1 or not rows.shape[1]:
            return np.full(len(rows), spread.start, dtype=np.int64)
        used, places = np.unique(rows[:, key or 0], return_inverse=True)
        symbols = map(self.names.as_symbol_text, map(words.spell, used.tolist()))
        buckets = np.array([crc32(symbol.encode()) % spread.buckets for symbol in symbols], dtype=np.int64)
        return spread.start + buckets[places]

    def is_first(self, signature: Predicate, stage: int, route: int, bucket: int) -> bool:
        takers = self._takers(signature)
        return route == takers[0] if takers else bucket == 0

    def share(self, bucket: int) -> list[Fact]:
        """The background of a bucket: what its piece takes as input."""
        return self._shares.get(bucket, [])

    @cached_property
    def _shares(self) -> dict[int, list[Fact]]:
        """The background of all buckets, found once: many of them may be in one process."""
        words = Dictionary()
        found: dict[int, list[Fact]] = {}
        alike: dict[Predicate, list[Fact]] = {}
        for fact in self.answer_sets.background:
            alike.setdefault(fact.signature, []).append(fact)
        for signature, facts in alike.items():
            codes = [words.code(term) for fact in facts for term in fact.terms]
            rows = np.array(codes, dtype=np.int64).reshape(len(facts), -1)
            for _, route, key in self.routes(signature):
                where = self.where(0, route, key, rows, words)
                assert where is not None
                for bucket, fact in zip(where.tolist(), facts, strict=True):
                    found.setdefault(bucket, []).append(fact)
        return found


def answer_set_job(part: AnswerSets, context: Context, partitions: int) -> AnswerSetJob:
    """An answer set program, taken apart for a number of partitions."""
    frame = part.frame(context)
    spreads = tuple(spread_pieces(part.program, frame, partitions))
    return plan_job(AnswerSetJob, part, context, partitions, frame=frame, spreads=spreads)


def spread_pieces(program: "AspProgram", frame: Frame, partitions: int) -> Iterator[Spread]:
    """The pieces of a program and their buckets; where windows count facts, each piece sees all of them."""
    partitions = 1 if frame.tuples else partitions
    found = analyse(program.outlines, program.inputs)
    name = program.names.type_name
    typed = None if name is None else Predicate(name, 2)
    start = 0
    for piece in found.pieces or (Piece((), (), 0),):
        keys = found.keys(piece) if found.parts else None
        # The class of a fact `C(s)` is not an argument that it could be sent by.
        split = keys is not None and piece.inputs and partitions > 1 and not (typed and keys.get(typed))
        buckets = partitions if split else 1
        yield Spread(piece, keys if split and keys else {}, start, buckets)
        start += buckets
