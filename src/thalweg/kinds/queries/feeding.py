"""Facts of a stream as what a query's rules read.

A fact is handed to the rules when a window that shows it closes, once, with the tick until which windows show it: what
leaves a window is found by the engine. Batches are arrays of words by predicate, so nothing is done fact by fact.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from thalweg.kinds.queries.sparql_expressions import Asking, Words
from thalweg.kinds.queries.stored_words import StoredWords
from thalweg.languages.rspql.lowered import Input
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import OWN, RDF_TYPE

_TYPES: Final = Predicate(RDF_TYPE, 2)


def facts_for(needed: Input, batch: Batch, dictionary: Dictionary, stored: StoredWords, asking: Asking) -> Words:
    """The rows of one input: what it takes of a batch, if its subject is a resource and its conditions hold.

    >>> words = Dictionary()
    >>> batch = Batch({Predicate("<p>", 2): [words.code(term) for term in ("<a>", "1", "<b>", "2", '"x"', "3")]})
    >>> needed = Input(Predicate("'w0 <p>", 2), 0, Predicate("<p>", 2))
    >>> facts_for(needed, batch, words, StoredWords(words), Asking(words)).tolist()
    [[0, 5], [8, 9]]
    """
    rows = _taken(needed, batch, dictionary)
    subjects = rows[:, 0] & 7 == 0
    rows = stored.of(rows if subjects.all() else rows[subjects])
    for column, condition in needed.conditions:
        if len(rows):
            rows = rows[asking.holds(condition, rows[:, column : column + 1])]
    return rows


def _taken(needed: Input, batch: Batch, dictionary: Dictionary) -> Words:
    if isinstance(needed.takes, Predicate):
        return _rows(batch, needed.takes)
    if needed.takes == "types":
        classes = [signature for signature in batch.rows if signature.arity == 1]
        parts = [_with(_rows(batch, name), _word(name, dictionary)) for name in classes]
        return _joined([*parts, _rows(batch, _TYPES)], 2)
    parts = []
    for signature in batch.rows:
        rows = _rows(batch, signature)
        if signature.arity == 1:
            parts.append(_with(_with(rows, dictionary.code(RDF_TYPE)), _word(signature, dictionary)))
        elif signature.arity == 2:
            parts.append(_with(rows, _word(signature, dictionary))[:, [0, 2, 1]])
    return _joined(parts, 3)


def _rows(batch: Batch, signature: Predicate) -> Words:
    words = batch.rows.get(signature, ())
    return np.asarray(words, dtype=np.int64).reshape(-1, signature.arity)


def _word(signature: Predicate, dictionary: Dictionary) -> int:
    """The word of a predicate as an IRI."""
    return dictionary.code(signature.name if signature.name[0] == "<" else f"{OWN}{signature.name}>")


def _with(rows: Words, word: int) -> Words:
    return np.column_stack((rows, np.full(len(rows), word, dtype=np.int64)))


def _joined(parts: Sequence[Words], width: int) -> Words:
    return np.concatenate([np.zeros((0, width), dtype=np.int64), *parts])


def lasting(parts: Iterable[tuple[Words, int]], width: int) -> Words:
    """Rows with their last tick as another column."""
    dated = [_with(rows, until) for rows, until in parts if len(rows)]
    return dated[0] if len(dated) == 1 else _joined(dated, width + 1)


def needed_of(batch: Batch, inputs: Sequence[Input]) -> Batch:
    """What of a batch some inputs take, to be kept until a window closes."""
    if any(not isinstance(needed.takes, Predicate) for needed in inputs):
        kept = {name: rows for name, rows in batch.rows.items() if name.arity in (1, 2)}
    else:
        kept = {needed.takes: batch.rows[needed.takes] for needed in inputs if needed.takes in batch.rows}  # type: ignore[index,misc]
    return Batch(kept, stream=batch.stream)


def no_triples(batch: Batch, dictionary: Dictionary) -> Iterator[Fact]:
    """Facts that are not triples: by the number of their arguments, or by their subject.

    >>> words = Dictionary()
    >>> batch = Batch({Predicate("p", 2): [words.code("<a>"), 5, 9, 5], Predicate("go", 0): []})
    >>> [str(fact) for fact in no_triples(batch, words)]
    ['p(2,1)', 'go']
    """
    for signature in batch.rows:
        rows = np.asarray(batch.rows[signature], dtype=np.int64).reshape(-1, signature.arity or 1)
        if signature.arity in (1, 2):
            rows = rows[rows[:, 0] & 7 != 0]
        elif not signature.arity:
            yield Fact(signature.name)
        for row in rows[:1].tolist():
            yield dictionary.fact(signature.name, row)
