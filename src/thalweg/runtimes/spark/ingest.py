"""Turns facts into what the stages take: triples where rules read triples, and facts about terms.

An engine that stands alone does this for itself; here it must be done before facts go to buckets by their arguments.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from thalweg.ir.annotate_terms import about
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.triples import TRIPLES, as_triples
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import Words


@dataclass(frozen=True, slots=True)
class CodedFacts:
    """Facts of one signature on one stream: a row of words and a tick each, and their places among all that came."""

    signature: Predicate
    stream: str | None
    ticks: Words
    rows: Words
    places: Words


def admitted(arrivals: Iterable[CodedFacts], job: Job, words: Dictionary) -> Iterator[CodedFacts]:
    """The facts as the stages take them, each followed by what they want to know about its terms."""
    names = {brought: name for name, brought in job.renamed.items()}
    for group in arrivals:
        facts = _triples(group, words) if job.brings_triples else group
        yield replace(facts, signature=names.get(facts.signature, facts.signature))
        if job.supplied:
            yield from _about_terms(facts, job, words)


def _triples(arrivals: CodedFacts, words: Dictionary) -> CodedFacts:
    """Facts of one or two arguments as triples; with no or more arguments they stay as they are."""
    rows = as_triples(Batch({arrivals.signature: arrivals.rows.reshape(-1)}), words).rows.get(TRIPLES)
    if rows is None:
        return arrivals
    return replace(arrivals, signature=TRIPLES, rows=np.asarray(rows, dtype=np.int64).reshape(-1, 3))


def _about_terms(arrivals: CodedFacts, job: Job, words: Dictionary) -> Iterator[CodedFacts]:
    """What is known of subjects and objects, at the ticks at which they came, at the place of the first of them."""
    by_signature: dict[Predicate, tuple[list[int], list[list[int]], list[int]]] = {}
    for word, tick, place in _occurrences(arrivals):
        for fact in about([words.spell(word)], job.plan.program.annotations):
            if fact.signature in job.supplied:
                ticks, rows, places = by_signature.setdefault(fact.signature, ([], [], []))
                ticks.append(tick)
                rows.append([words.code(term) for term in fact.terms])
                places.append(place)
    for signature, columns in by_signature.items():
        yield CodedFacts(signature, arrivals.stream, *(np.array(column, dtype=np.int64) for column in columns))


def _occurrences(arrivals: CodedFacts) -> Iterator[tuple[int, int, int]]:
    """Each term at each of its ticks once, with the least place: whatever of it was not late is not late."""
    if not arrivals.rows.shape[1]:
        return
    order = np.argsort(np.tile(arrivals.places, 2), kind="stable")
    terms = np.concatenate((arrivals.rows[:, 0], arrivals.rows[:, -1]))[order]
    ticks, places = (np.tile(column, 2)[order] for column in (arrivals.ticks, arrivals.places))
    _, first = np.unique(np.stack((terms, ticks), axis=1), axis=0, return_index=True)
    yield from zip(terms[first].tolist(), ticks[first].tolist(), places[first].tolist(), strict=True)
