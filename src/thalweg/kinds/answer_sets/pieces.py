"""The pieces of an answer set program as operators solve them, and what these tell the operator that combines them.

The facts of a piece go to one bucket, or by a key to as many as there are partitions. Terms that are one symbol to
clingo go to the same bucket.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from thalweg.dataflow.exchange import GATHER, Exchange, Hash, Words, spelled_hashes
from thalweg.kinds.answer_sets.windowed import mentioned_names
from thalweg.languages.asp.frame import Frame
from thalweg.languages.asp.terms import Names
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.records import record
from thalweg.planning.input_dependency import Piece, analyse
from thalweg.planning.keys import Keys, located

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram


@dataclass(frozen=True, slots=True)
class Symbols:
    """Terms are equal if they are one symbol to clingo, under the prefixes of a program.

    >>> words, names = Dictionary(), Symbols((("ex", "http://ex/"),))
    >>> import numpy as np
    >>> one, two = names.hashes(np.array([words.code("ex_x"), words.code("<http://ex/x>")]), words)
    >>> bool(one == two)
    True
    """

    prefixes: tuple[tuple[str, str], ...] = ()

    def hashes(self, column: Words, words: Dictionary) -> Words:
        return spelled_hashes(column, words, _names(self.prefixes).as_symbol_text)


@lru_cache(maxsize=16)
def _names(prefixes: tuple[tuple[str, str], ...]) -> Names:
    return Names(dict(prefixes))


@dataclass(frozen=True, slots=True)
class SplitPiece:
    """A piece and the number of its `buckets`; where there are several, facts go by the `keys` of their predicates."""

    piece: Piece
    keys: Keys
    buckets: int

    def exchange(self, predicate: Predicate, names: Names) -> Exchange | None:
        """How facts of a predicate go to the buckets; None where the piece does not read them."""
        inputs = names.known_as(predicate)
        if inputs.isdisjoint(self.piece.inputs):
            return None
        if self.buckets == 1 or not predicate.arity:
            return GATHER
        # Facts without a key may go anywhere.
        column = next((self.keys[name] for name in sorted(inputs) if name in self.keys), 0)
        return self.by(column, names)

    def derives(self, predicate: Predicate, program: "AspProgram") -> bool:
        """Whether the piece derives facts of a predicate."""
        heads = {head for number in self.piece.rules for head in program.outlines[number].heads}
        return not mentioned_names(program).known_as(predicate).isdisjoint(heads)

    @staticmethod
    def by(column: int, names: Names) -> Hash:
        """By one argument: terms that are one symbol to clingo go to the same bucket."""
        return Hash(column, Symbols(tuple(sorted(names.prefixes.items()))))


def place_of(predicate: Predicate, program: "AspProgram", located: Iterable[tuple[Predicate, int]]) -> int | None:
    """The argument that locates answers of a predicate under each name that the program has for it."""
    places = dict(located)
    arguments = {places.get(name) for name in mentioned_names(program).known_as(predicate) & program.shown}
    return arguments.pop() if len(arguments) == 1 else None


def located_heads(program: "AspProgram", pieces: Sequence[SplitPiece]) -> dict[Predicate, int]:
    """The derived predicates whose facts are in the bucket of one of their arguments, with that argument.

    Only where no answer of one bucket can take back what another one derives: each has one answer, and always has.
    """
    dependency = analyse(program.outlines, program.inputs)
    if not dependency.deterministic or any(outline.kind != "rule" for outline in program.outlines):
        return {}
    carried = frozenset(name for name, inputs in dependency.reaching.items() if inputs)
    places: dict[Predicate, frozenset[int]] = {}
    for split in pieces:
        own = [program.outlines[number] for number in split.piece.rules]
        known = located(own, carried, split.piece.inputs, split.keys) if split.buckets > 1 else {}
        for head in {head for outline in own for head in outline.heads}:
            places[head] = places.get(head, known.get(head, frozenset())) & known.get(head, frozenset())
    return {name: min(arguments) for name, arguments in places.items() if arguments}


def split_pieces(program: "AspProgram", frame: Frame, partitions: int) -> Iterator[SplitPiece]:
    """The pieces of a program and their buckets; where windows count facts, each piece sees all of them in one."""
    partitions = 1 if frame.tuples else partitions
    dependency = analyse(program.outlines, program.inputs)
    name = program.names.type_name
    typed = None if name is None else Predicate(name, 2)
    for piece in dependency.pieces or (Piece((), (), 0),):
        keys = dependency.keys(piece) if dependency.parts else None
        # The class of a fact `C(s)` is not an argument that it could be sent by.
        split = keys is not None and piece.inputs and partitions > 1 and not (typed and keys.get(typed))
        yield SplitPiece(piece, dict(keys) if split and keys else {}, partitions if split else 1)


@record
@dataclass(frozen=True, slots=True)
class PieceAnswer:
    """A bucket's answer for the window with a `number`, which closes at `t`.

    Where it is `repeated`, so many windows from there on have the same answer: none of them has facts of the bucket.
    """

    piece: int
    bucket: int
    number: int
    t: int
    start: int
    sets: tuple[tuple[str, ...], ...]
    complete: bool
    overtime: bool
    facts: int
    seconds: float
    repeated: int = 0

    @property
    def end(self) -> int:
        """The number behind its last window."""
        return self.number + max(1, self.repeated)


@record
@dataclass(frozen=True, slots=True)
class PieceWarning:
    """What is wrong with the facts of a bucket; it is reported where all pieces are combined, once for each code."""

    code: str
    message: str
    help: str
