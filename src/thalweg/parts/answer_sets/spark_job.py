"""An answer set program made ready for many processes: pieces, or parts of pieces by key, are the buckets of one stage.

Each bucket evaluates one piece of the program on its own, over its own windows: so all that Spark's stages do for rules
(facts go where they are needed, what is decided is decided everywhere, lost processes are replaced) is done for answer
sets too. The facts of a piece go to one bucket, or by a key to as many as there are partitions.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from thalweg.diagnostics import NOWHERE, Source
from thalweg.ir.nodes import Program
from thalweg.languages.asp.frame import Frame
from thalweg.languages.asp.terms import Names
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.parts.answer_sets.held import program_text
from thalweg.parts.answer_sets.solve_options import SolveOptions
from thalweg.planning.input_dependency import Piece, analyse
from thalweg.planning.keys import Keys
from thalweg.planning.partition import Partitioning, Stage
from thalweg.runtimes.embedded import Settings
from thalweg.runtimes.spark.job import FORMAT, Job
from thalweg.runtimes.spark.wire import UNKNOWN, Words

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram

WINDOWS = "windows"
"""How answer sets are output: neither as snapshots nor as changes."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A piece and its `buckets`, from `start` on; where there are several, facts go by their `keys`."""

    piece: Piece
    keys: Keys
    start: int
    buckets: int


@dataclass(frozen=True)
class AnswerSetJob(Job):
    """What every process must know to answer windows. clingo's syntax trees stay at home, so each reads the program."""

    source: Source = NOWHERE.source
    inputs: tuple[Predicate, ...] = ()
    background: tuple[Fact, ...] = ()
    names: Names = field(default_factory=Names)
    options: SolveOptions = SolveOptions()
    frame: Frame = field(default_factory=Frame)
    spreads: tuple[Spread, ...] = ()

    @cached_property
    def plan(self) -> Partitioning:
        return Partitioning((Stage(0, Program(), (), (), True, (), (), (), frozenset()),))

    def buckets(self, stage: int) -> range:
        return range(sum(spread.buckets for spread in self.spreads))

    @property
    def text(self) -> str:
        return program_text(self.source, self.inputs, self.background)

    @cached_property
    def fingerprint(self) -> str:
        asked = self.options, self.frame, self.spreads
        what = (
            FORMAT,
            self.text,
            sorted(self.names.prefixes.items()),
            asked,
            self.settings,
            self.partitions,
            self.groups,
        )
        return hashlib.sha256(repr(what).encode()).hexdigest()

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
        for fact in self.background:
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


def answer_set_job(
    program: "AspProgram",
    background: Iterable[Fact],
    options: SolveOptions,
    frame: Frame,
    settings: Settings,
    partitions: int,
    name: str = "",
) -> AnswerSetJob:
    """An answer set program, taken apart for a number of partitions."""
    return AnswerSetJob(
        Program(),
        replace(settings, emit=WINDOWS),
        partitions,
        name=name,
        source=program.source,
        inputs=program.inputs,
        background=tuple(background),
        names=program.names,
        options=options,
        frame=frame,
        spreads=tuple(_spreads(program, partitions if not frame.tuples else 1)),
    )


def _spreads(program: "AspProgram", partitions: int) -> Iterator[Spread]:
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
