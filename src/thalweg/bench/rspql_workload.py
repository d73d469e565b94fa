"""A query with a filter and two joins over observations, by rules and by SPARQL per window, measured by its triples.

    ?o :by ?s . ?o :value ?v . ?o :room ?r FILTER(?v > 90)

Each tick brings new observations of three triples; one in ten satisfies the filter. Triples are handed over as readers
do it, as arrays of words, and what is measured is the processor's time from there to the rows that are new and gone.
The store is given triples as text and asked for all rows: once with what enters and leaves, once loaded anew for every
window.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from time import process_time
from typing import Final

import numpy as np

from thalweg.diagnostics import Source
from thalweg.languages.rspql.lower import lower
from thalweg.languages.rspql.lowered import LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.languages.rspql.read_query import read_query
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate, interned
from thalweg.parts.queries.compiled import CompiledQuery
from thalweg.solvers.sparql import SparqlStore

BASE: Final = "http://example.org/"
SENSORS: Final = 500
ROOMS: Final = 40
_PREDICATES: Final = tuple(f"<{BASE}{name}>" for name in ("by", "value", "room"))
_SIGNATURES: Final = tuple(interned(name, 2) for name in _PREDICATES)

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of processor time for a triple, and how many rows began in the measured ticks."""

    microseconds: float
    rows: int


def hot_rooms(window: int) -> Query:
    """The query over a window of some ticks that slides by one.

    >>> hot_rooms(60).windows[0].range
    60
    """
    text = f"""PREFIX : <{BASE}>
        REGISTER ISTREAM :hot AS SELECT ?s ?v ?r FROM NAMED WINDOW :w ON STREAM :s [RANGE {window}, SLIDE 1]
        WHERE {{ WINDOW :w {{ ?o :by ?s . ?o :value ?v . ?o :room ?r FILTER(?v > 90) }} }}"""
    query, found = read_query(Source("hot.rspql", text))
    assert query is not None, found
    return query


def observations(rate: int) -> Iterator[list[Triple]]:
    """The triples of one tick after the other.

    >>> len(next(observations(4_000)))
    3999
    """
    random, tick = Random(1), 0
    while True:
        found = []
        for number in range(rate // 3):
            values = (
                f"<{BASE}s{random.randrange(SENSORS)}>",
                str(random.randrange(100)),
                f"<{BASE}r{random.randrange(ROOMS)}>",
            )
            found += [(f"<{BASE}o{tick}_{number}>", *pair) for pair in zip(_PREDICATES, values, strict=True)]
        yield found
        tick += 1


def by_rules(window: int, rate: int, ticks: int) -> Cost:
    """The cost with rules, over some ticks after the window is full; terms that are gone are given back."""
    query = hot_rooms(window)
    lowered = lower(query)
    assert isinstance(lowered, LoweredQuery)
    compiled = CompiledQuery(query, lowered)
    compiled.begin(0)
    seconds, rows = 0.0, 0
    for tick, triples in zip(range(window + ticks), observations(rate), strict=False):
        batch = _coded(triples, compiled, query.windows[0].stream)
        begin = process_time()
        compiled.add(tick, [batch])
        found = compiled.evaluate(tick).begin if tick >= window - 1 else []
        if compiled.dictionary.wants_collection:
            compiled.collect(())
        if tick >= window:
            seconds, rows = seconds + process_time() - begin, rows + len(found)
    return Cost(seconds / ticks / (rate // 3 * 3) * 1e6, rows)


def _coded(triples: Sequence[Triple], compiled: CompiledQuery, stream: str) -> Batch:
    code = compiled.dictionary.code
    rows: dict[Predicate, list[int]] = {signature: [] for signature in _SIGNATURES}
    for subject, predicate, thing in triples:
        rows[interned(predicate, 2)] += (code(subject), code(thing))
    return Batch({signature: np.array(words, dtype=np.int64) for signature, words in rows.items()}, stream=stream)


def by_store(window: int, rate: int, ticks: int) -> Cost:
    """The cost where triples are added to a store and removed, and the query is asked again."""
    return _asked(window, rate, ticks, _slide)


def by_reloading(window: int, rate: int, ticks: int) -> Cost:
    """The cost where every window is loaded into a store of its own."""
    return _asked(window, rate, ticks, _reload)


Change = Callable[[SparqlStore, list[list[Triple]], int, str], SparqlStore]


def _asked(window: int, rate: int, ticks: int, change: Change) -> Cost:
    query, store, held = hot_rooms(window), SparqlStore(), list[list[Triple]]()
    graph = query.windows[0].name
    seconds, rows = 0.0, 0
    for tick, triples in zip(range(window + ticks), observations(rate), strict=False):
        held.append(triples)
        if tick < window and change is _reload:
            continue
        begin = process_time()
        store = change(store, held, window, graph)
        found = store.ask(query.text) if tick >= window else []
        if tick >= window:
            seconds, rows = seconds + process_time() - begin, rows + len(found)
    return Cost(seconds / ticks / (rate // 3 * 3) * 1e6, rows)


def _slide(store: SparqlStore, held: list[list[Triple]], window: int, graph: str) -> SparqlStore:
    store.extend(held[-1], graph)
    if len(held) > window:
        for triple in held.pop(0):
            store.remove(triple, graph)
    return store


def _reload(store: SparqlStore, held: list[list[Triple]], window: int, graph: str) -> SparqlStore:
    del held[:-window]
    fresh = SparqlStore()
    fresh.extend((triple for triples in held for triple in triples), graph)
    return fresh
