"""Recordings in which consecutive statements of one time are one event, wherever a block of the file ends.

36 <a> <p> <b> .     end of a block
36 <a> <q> <c> .     one event with the line before: the last one of a block waits for the next
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from thalweg.connectors.batches import Item
from thalweg.connectors.lines import State
from thalweg.connectors.readers import Ahead, Reader, format_of
from thalweg.diagnostics import Diagnostic
from thalweg.model.arrow import as_plain, of_plain
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Rows
from thalweg.model.predicate import Predicate
from thalweg.model.saved_batches import batch_columns, batches_of

WHOLE: Final = frozenset({"facts", "triples", "json", "csv", "parquet"})
"""The formats in which consecutive statements of one time, or rows, are one event."""

_HELD: Final = "held"
# Facts that are worth keeping with the position in a file; with more of them, reading begins at an earlier one.
_MOST_SAVED: Final = 10_000


def whole_events(reader: Reader, name: str, words: Dictionary) -> Reader:
    """The reader of a recording that gives its events whole; its facts are coded with `words`."""
    return WholeEvents(reader, words) if format_of(name) in WHOLE else reader


class WholeEvents:
    """A reader whose last event of a block waits: that of the next one is joined to it if it has the same time.

    >>> from thalweg.connectors.readers import open_ordered
    >>> from thalweg.model.time import Clock
    >>> words = Dictionary()
    >>> reader = whole_events(open_ordered("in.facts", "in", words, Clock()), "in.facts", words)
    >>> items = [*reader.feed(b"p at 3.\\nq at 4.\\n"), *reader.feed(b"p at 4.\\n"), *reader.finish()]
    >>> [(tick, batch.order) for tick, batch in items]
    [(3, ['p/0']), (4, ['q/0', 'p/0'])]
    """

    def __init__(self, reader: Reader, words: Dictionary) -> None:
        self._reader = reader
        self._words = words
        self._held: list[tuple[int, Batch]] = []

    def feed(self, block: bytes) -> Iterator[Item]:
        return self._delayed(self._reader.feed(block))

    def finish(self) -> Iterator[Item]:
        yield from self._delayed(self._reader.finish())
        yield from self._released()

    def save(self) -> State | None:
        saved = self._reader.save()
        if saved is None or not self._held:
            return saved
        if sum(batch.size for _, batch in self._held) > _MOST_SAVED:
            return None
        return {**saved, _HELD: as_plain(*batch_columns(self._held, self._words))}

    def load(self, saved: State) -> None:
        self._reader.load(saved)
        self._held = [*batches_of(*of_plain(saved[_HELD]), self._words)] if _HELD in saved else []

    def waiting(self) -> Iterator[Batch]:
        yield from (batch for _, batch in self._held)
        if isinstance(self._reader, Ahead):
            yield from self._reader.waiting()

    def _delayed(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items one later, the first of them joined to what waits if it goes on with it."""
        is_first = True
        for item in items:
            if isinstance(item, Diagnostic):
                yield from self._released()
                yield item
            elif is_first and self._held and _go_on(item, self._held[0]):
                self._held.append(item)
            else:
                # It is coded, so it waits while what is before it is taken.
                before, self._held = self._held, [item]
                if before:
                    yield _joined(before)
            is_first = False

    def _released(self) -> Iterator[Item]:
        held, self._held = self._held, []
        if held:
            yield _joined(held)


def _go_on(later: tuple[int, Batch], earlier: tuple[int, Batch]) -> bool:
    """Whether facts are of the same event as those before them; a graph is an event by itself."""
    (tick, batch), (before, first) = later, earlier
    return tick == before and batch.stream == first.stream and not (batch.graphs or first.graphs)


def _joined(parts: list[tuple[int, Batch]]) -> tuple[int, Batch]:
    """The parts of an event as one batch."""
    if len(parts) == 1:
        return parts[0]
    tick, first = parts[0]
    batches = [batch for _, batch in parts]
    columns: dict[Predicate, list[list[int] | np.ndarray[tuple[int], np.dtype[np.int64]]]] = {}
    for batch in batches:
        for predicate, words in batch.rows.items():
            columns.setdefault(predicate, []).append(words)
    rows: Rows = {predicate: np.concatenate([*map(_words, words)]).tolist() for predicate, words in columns.items()}
    order = [predicate for batch in batches for predicate in batch.order or [name for name, _ in batch.in_order()]]
    came_in_rows = any(batch.arrived is not None for batch in batches)
    arrived = sum(batch.rows_arrived for batch in batches) if came_in_rows else None
    return tick, Batch(rows, order, first.stream, arrived=arrived)


def _words(
    words: "list[int] | np.ndarray[tuple[int], np.dtype[np.int64]]",
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.asarray(words, dtype=np.int64).reshape(-1)
