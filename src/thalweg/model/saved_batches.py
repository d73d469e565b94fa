"""Batches with their ticks as bytes: what waits, or what windows hold, when the state of a run is saved."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.model.arrow import Lists, decode, encode, read_words, terms_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate


def save_batches(batches: Iterable[tuple[int, Batch]], words: Dictionary) -> bytes:
    """Ticks, or other numbers, and batches; also the order of facts within a batch, where it is known."""
    return encode(*batch_columns(batches, words))


def batch_columns(batches: Iterable[tuple[int, Batch]], words: Dictionary) -> tuple[dict[str, Any], Lists]:
    """The same as a header and columns."""
    entries = list(batches)
    rows = [
        (signature, np.asarray(row, dtype=np.int64).reshape(-1))
        for _, batch in entries
        for signature, row in batch.rows.items()
    ]
    signatures, streams, names = _Numbers(), _Numbers(), _Numbers()
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *(row for _, row in rows)])
    lists = {
        "ticks": _column(tick for tick, _ in entries),
        "streams": _column(streams[batch.stream] for _, batch in entries),
        "sizes": _column(len(batch.rows) for _, batch in entries),
        "facts": _column(len(batch.order) for _, batch in entries),
        "arrived": _column(-1 if batch.arrived is None else batch.arrived for _, batch in entries),
        "order": _column(signatures[signature] for _, batch in entries for signature in batch.order),
        "signatures": _column(signatures[signature] for signature, _ in rows),
        "lengths": _column(len(row) for _, row in rows),
        "graphs": _column(len(batch.graphs) for _, batch in entries),
        "graph_names": _column(names[name] for _, batch in entries for name, _ in batch.graphs),
        "graph_sizes": _column(count for _, batch in entries for _, count in batch.graphs),
        "words": flat,
        **terms_of(flat, words),
    }
    return {"streams": list(streams), "signatures": list(signatures), "names": list(names)}, lists


def load_batches(data: bytes, words: Dictionary) -> Iterator[tuple[int, Batch]]:
    """The batches that `save_batches` was given, in the words of another dictionary.

    >>> there, here = Dictionary(), Dictionary()
    >>> batch = Batch(stream="in", graphs=[("<g>", 2)])
    >>> batch.add(Predicate("p", 1), [there.code("a")]); batch.add(Predicate("q", 0), [])
    >>> [(tick, loaded)] = load_batches(save_batches([(7, batch)], there), here)
    >>> tick, loaded.stream, loaded.graphs, [str(fact) for fact in loaded.facts(here)]
    (7, 'in', [('<g>', 2)], ['p(a)', 'q'])
    """
    return batches_of(*decode(data), words)


def batches_of(header: Mapping[str, Any], lists: Lists, words: Dictionary) -> Iterator[tuple[int, Batch]]:
    """Batches that are a header and columns, with their ticks."""
    signatures = [Predicate.read(text) for text in header["signatures"]]
    rows = zip(
        (signatures[number] for number in lists["signatures"].tolist()),
        _parts(read_words(lists, words), lists["lengths"].tolist()),
        strict=True,
    )
    orders = _parts(lists["order"], lists["facts"].tolist())
    columns = (lists[name].tolist() for name in ("ticks", "streams", "sizes", "graphs", "arrived"))
    named = zip(lists["graph_names"].tolist(), lists["graph_sizes"].tolist(), strict=True)
    for tick, stream, size, count, arrived, order in zip(*columns, orders, strict=True):
        own = {signature: row.tolist() for signature, row in islice(rows, size)}
        graphs = [(header["names"][name], length) for name, length in islice(named, count)]
        in_order = [signatures[number] for number in order.tolist()]
        rows_arrived = None if arrived < 0 else arrived
        yield tick, Batch(own, in_order, header["streams"][stream], graphs, rows_arrived)


class _Numbers(dict[Any, int]):
    """Numbers for values, in the order in which they are first asked for."""

    def __missing__(self, value: Any) -> int:
        self[value] = number = len(self)
        return number


def _column(numbers: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(numbers, dtype=np.int64)


def _parts(words: NDArray[np.int64], lengths: Sequence[int]) -> Iterator[NDArray[np.int64]]:
    """Consecutive parts of given lengths."""
    place = 0
    for length in lengths:
        yield words[place : place + length]
        place += length
