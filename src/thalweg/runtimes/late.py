"""Late facts are never silently lost: they go to the late channel, or are counted and reported at the end.

    {"t":36,"watermark":40,"stream":"readings","facts":["a(x1,y)"]}

is what the late channel holds: the event, and where the watermark stood when it came.
"""

import json
from collections.abc import Callable, Iterator
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Late:
    """Counts late facts, remembers the first, and hands each batch of them on as a line of JSON."""

    def __init__(self, words: Dictionary, write: Callable[[str], None] | None = None) -> None:
        self.count = 0
        self._words = words
        self._write = write
        self._first = ""

    def add(self, tick: int, batch: Batch, watermark: int) -> None:
        found = [str(fact) for fact in facts(batch, self._words)]
        if found and not self.count:
            self._first = first_late(found[0], tick, watermark)
        self.count += len(found)
        if self._write:
            self._write(_encode({"t": tick, "watermark": watermark, "stream": batch.stream, "facts": found}) + "\n")

    def summary(self) -> Diagnostic | None:
        """What to tell at the end when nobody listens to the late channel."""
        return None if self._write else summary(self.count, self._first)


def first_late(fact: str, tick: int, watermark: int) -> str:
    """How the first late fact is told of."""
    return f"`{fact} at {tick}` came when the watermark was {watermark}"


def summary(count: int, first: str) -> Diagnostic | None:
    """What to tell of late facts at the end of a run; nothing where there were none."""
    if not count:
        return None
    number = "1 fact was" if count == 1 else f"{count} facts were"
    return Diagnostic(
        "W302",
        f"{number} late and took no part: {first}",
        help="allow for disorder with `--delay`, or keep late facts with `--late FILE`",
    )


def facts(batch: Batch, words: Dictionary) -> Iterator[Fact]:
    """The facts of a batch, in the order of arrival where the batch knows it.

    >>> from thalweg.model.predicate import Predicate
    >>> words, batch = Dictionary(), Batch()
    >>> batch.add(Predicate("a", 1), [words.code("x")]); batch.add(Predicate("b", 0), [])
    >>> [str(fact) for fact in facts(batch, words)]
    ['a(x)', 'b']
    """
    for signature, codes in batch.in_order():
        yield words.fact(signature.name, codes)
