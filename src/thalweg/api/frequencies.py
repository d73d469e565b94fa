"""What a recorded stream is about: how frequent classes and properties are at its beginning."""

from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Final

from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Source
from thalweg.languages.owl.consistency_rules import concepts_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import Streams, open_all

# So many facts are looked at.
_ENOUGH: Final = 2_000


def frequencies(streams: Iterable[str | Path | Source | HeldTable], clock: Clock) -> dict[str, float]:
    """The share of each class, and of having a value by each property and being one, in the first facts of streams.

    >>> frequencies([Source("in.facts", "<A>(x) at 1. <A>(y) at 1. <r>(x,y) at 2.")], Clock())
    {'<A>': 0.5, "some'<r>": 0.25, "some_inverse'<r>": 0.25}
    """
    counts: dict[str, float] = {}
    transports = open_all(streams)
    try:
        items = Streams(transports, Dictionary(), clock, Interrupt())
        for item in takewhile(lambda _: sum(counts.values()) < _ENOUGH, items):
            if isinstance(item, tuple):
                _count(item[1], counts)
    finally:
        for transport in transports:
            transport.close()
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


def _count(batch: Batch, counts: dict[str, float]) -> None:
    for signature, words in batch.rows.items():
        for concept in concepts_of(signature):
            counts[concept] = counts.get(concept, 0) + len(words) / signature.arity
