"""A query answered by rules: facts are fed as windows close, the engine says what changed, and rows are counted.

An evaluation costs what has changed since the one before, not what the windows hold. A fact is handed to the rules when
a window that shows it closes, once, with the tick until which windows show it: what leaves a window is found by the
engine. Batches are arrays of words by predicate, so nothing is done fact by fact; terms are as SPARQL's store keeps
them (`stored_terms`), each brought to it once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import Delta, Given
from thalweg.kinds.queries.evaluator import QueryEvaluator, Rows
from thalweg.kinds.queries.per_window import Report, Triples
from thalweg.kinds.queries.query_rows import RowCounter, Sieves, Solutions, answered, net, no_rows, solutions_of
from thalweg.kinds.queries.query_stages import stages_of
from thalweg.kinds.queries.sparql_expressions import Asking, Words
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages.rspql.closings import Closings, closings_of
from thalweg.languages.rspql.lowered import Input, LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.languages.rspql.stored_terms import stored
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import OWN, RDF_TYPE
from thalweg.model.rdf import named as rdf_name
from thalweg.model.saved_batches import load_batches, save_batches
from thalweg.model.time import FOREVER
from thalweg.solvers.sparql import is_known

_NOTHING: Final = Dataset()
Changes = dict[Predicate, tuple[Words, Words]]
_TYPES: Final = Predicate(RDF_TYPE, 2)

_UNSEEN: Final = -1
_NONE: Final = -2
_PLAIN: Final = re.compile(r"<[a-z]+:/?/?[\w./#~-]+>")
"""IRIs that need no closer look."""


class CompiledQuery(QueryEvaluator):
    """One query at work, as rules."""

    def __init__(
        self,
        query: Query,
        lowered: LoweredQuery,
        background: Dataset = _NOTHING,
        dictionary: Dictionary | None = None,
        report: Report = lambda diagnostic: None,
    ) -> None:
        """`report` takes a warning about facts that are no triples."""
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self._query = query
        self._lowered = lowered
        self._background = background
        self._asking = Asking(self.dictionary)
        self._known = StoredWords(self.dictionary)
        self._stages = stages_of(lowered)
        self._engines = [RuleEngine(stage.program, dictionary=self.dictionary) for stage in self._stages]
        self._sieves = Sieves(lowered.sieves, self.dictionary, self._asking)
        self._rows = RowCounter(lowered, self.dictionary, self._asking)
        self._windows = [
            WaitingFacts([needed for needed in lowered.inputs if needed.graph == number])
            for number in range(len(query.windows))
        ]
        self._constants = [self.dictionary.code(term) for answer in lowered.answers for _, term in answer.constants]
        self._first = 0
        self._strays = StrayFacts(self.dictionary, report)

    def begin(self, first: int) -> None:
        self._first = first
        for window, described in zip(self._windows, self._query.windows, strict=True):
            window.closings = closings_of(described, first)

    def add(self, tick: int, batches: Sequence[Batch]) -> None:
        self._strays.look(batches)
        for window, described in zip(self._windows, self._query.windows, strict=True):
            for batch in batches:
                if batch.stream == described.stream:
                    window.add(tick, batch)

    def evaluate(self, tick: int) -> Rows:
        return self._rows.change(*self._changed(tick))

    def _changed(self, tick: int) -> tuple[list[Solutions], list[Solutions]]:
        """The solutions that begin and end."""
        fed = {needed.signature: rows for needed, rows in self._fed(tick) if len(rows)}
        changes: Changes = {}
        for stage, engine in zip(self._stages, self._engines, strict=True):
            nothing = np.zeros((0, 0), dtype=np.int64)
            arriving = [
                Given(name, False, fed[name], nothing) for needed in stage.inputs if (name := needed.signature) in fed
            ]
            arriving += [Given(name, False, *changes[name]) for name in stage.imports if name in changes]
            deltas = engine.advance(tick, (), arriving)
            for name in stage.outputs:
                changes[name] = _of_relation(engine, name, deltas)
            for sieve in stage.sieves:
                changes |= self._sieves.passed(sieve, changes)
        return answered(self._lowered.answers, changes, self.dictionary, self._asking)

    # What is fed ----------------------------------------------------------------------------------------------------

    def _fed(self, tick: int) -> Iterator[tuple[Input, Words]]:
        for window in self._windows:
            entering = window.entering(tick)
            for needed in window.inputs:
                parts = ((self._facts(needed, batch), until) for until, batch in entering)
                yield needed, lasting(parts, needed.signature.arity)
        if self._engines[0].now is None:
            for needed in self._lowered.inputs:
                if not isinstance(needed.graph, int):
                    rows = self._facts(needed, self._coded(graph_of(self._query, self._background, needed.graph)))
                    yield needed, lasting([(rows, FOREVER)], needed.signature.arity)

    def _facts(self, needed: Input, batch: Batch) -> Words:
        return facts_for(needed, batch, self.dictionary, self._known, self._asking)

    def _coded(self, facts: Iterable[Fact]) -> Batch:
        batch = Batch()
        for fact in facts:
            batch.add(fact.signature, [self.dictionary.code(term) for term in fact.terms])
        return batch

    # Memory and state -----------------------------------------------------------------------------------------------

    def words_in_use(self) -> NDArray[np.int64]:
        waiting = [
            np.asarray(words, dtype=np.int64).reshape(-1)
            for window in self._windows
            for _, batch in window.waiting
            for words in batch.rows.values()
        ]
        engines = [engine.words_in_use() for engine in self._engines]
        constants = np.array(self._constants, dtype=np.int64)
        return np.concatenate([*engines, self._rows.words_in_use(), self._sieves.words(), constants, *waiting])

    def snapshot(self) -> bytes:
        waiting = [save_batches(window.waiting, self.dictionary) for window in self._windows]
        engines = [b"" if engine.now is None else engine.snapshot() for engine in self._engines]
        return frame([encode({"first": self._first}, {}), *waiting, *engines])

    def resume(self, data: bytes) -> None:
        header, *parts = unframe(data)
        self.begin(decode(header)[0]["first"])
        for window, saved in zip(self._windows, parts, strict=False):
            window.waiting = list(load_batches(saved, self.dictionary))
        for engine, saved in zip(self._engines, parts[len(self._windows) :], strict=True):
            if saved:
                engine.resume(saved)
        if self._engines[0].now is not None:
            # What was found before is counted, and not output again.
            standing = {name: rows for engine in self._engines for name, rows in engine.listing().rows.items()}
            self._sieves.resume(standing)
            solutions = solutions_of(self._lowered.answers, standing, self.dictionary, self._asking)
            self._rows.changed(solutions, [])


def graph_of(query: Query, background: Dataset, name: str | None) -> Iterable[Fact]:
    """The facts of a graph of the background; the default graph may be several."""
    named = {rdf_name(graph): facts for graph, facts in background.named}
    if name is not None:
        is_seen = query.named is None or name in map(rdf_name, query.named)
        return named.get(name, ()) if is_seen else ()
    if query.default is None:
        return background.default
    return (fact for graph in query.default for fact in named.get(rdf_name(graph), ()))


class WaitingFacts:
    """The facts of one window that wait for it to close."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self.inputs = inputs
        self.closings: Closings | None = None
        self.waiting: list[tuple[int, Batch]] = []

    def add(self, tick: int, batch: Batch) -> None:
        assert self.closings is not None
        needed = needed_of(batch, self.inputs)
        if needed.rows and self.closings.shows(tick) is not None:
            self.waiting.append((tick, needed))

    def entering(self, now: int) -> list[tuple[int, Batch]]:
        """What enters as windows close up to now, with the last tick at which it is shown."""
        assert self.closings is not None
        closed = self.closings.latest(now)
        if closed is None:
            return []
        entering: list[tuple[int, Batch]] = []
        staying = []
        for tick, batch in self.waiting:
            if tick > closed:
                staying.append((tick, batch))
            elif (until := (self.closings.gone(tick) or 0) - 1) >= now:
                entering.append((until, batch))
        self.waiting = staying
        return entering


def _of_relation(engine: RuleEngine, name: Predicate, deltas: Sequence[Delta]) -> tuple[Words, Words]:
    """The rows of a predicate that began and ended."""
    relation = engine.plan.outputs[name]
    parts = [delta.columns(relation)[:2] for delta in deltas]
    if len(parts) == 1:
        return parts[0]
    return net(
        np.concatenate([no_rows(name), *(begun for begun, _ in parts)]),
        np.concatenate([no_rows(name), *(ended for _, ended in parts)]),
    )


# What is fed ----------------------------------------------------------------------------------------------------------


class StoredWords:
    """The words that a query's rules see instead of those of a dictionary."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._collections = dictionary.collections
        self._table: Words = np.full(64, _UNSEEN, dtype=np.int64)

    def of(self, rows: Words) -> Words:
        """The rows with other words for some; without those in which RDF does not know a term.

        >>> words = Dictionary()
        >>> rows = np.array([[words.code("<http://ex.org/a>"), words.code("2.50")], [words.code("<http://[/>"), 5]])
        >>> [words.spell(word) for row in StoredWords(words).of(rows).tolist() for word in row]
        ['<http://ex.org/a>', '2.5']
        """
        if not rows.size:
            return rows
        stored = self._found(rows)
        missing = stored == _UNSEEN
        if missing.any():
            for word in np.unique(rows[missing]).tolist():
                entry = self._stored(word)
                self._make_room()
                self._table[word >> 2] = entry
            stored = self._found(rows)
        # Decimals with a zero at the end, unless it is all that stands behind the point.
        long = (stored & 3 == 2) & ((stored >> 8) % 10 == 0) & ((stored >> 2 & 63) > 1)
        if long.any():
            stored[long] = [self._coded(word) for word in stored[long].tolist()]
        unknown = stored == _NONE
        return stored[~unknown.any(axis=1)] if unknown.any() else stored

    def _found(self, rows: Words) -> Words:
        if self._collections != self._dictionary.collections:
            self._collections = self._dictionary.collections
            self._table[:] = _UNSEEN
        self._make_room()
        entries = rows & 3 == 0
        stored: Words = np.where(entries, self._table[np.where(entries, rows >> 2, 0)], rows)
        return stored

    def _make_room(self) -> None:
        lacking = len(self._dictionary.values) - len(self._table)
        if lacking > 0:
            self._table = np.concatenate((self._table, np.full(lacking, _UNSEEN, dtype=np.int64)))

    def _stored(self, word: int) -> int:
        term = self._dictionary.spell(word)
        if term[0] == "<" and not _PLAIN.fullmatch(term) and not is_known(term):
            return _NONE
        return self._coded(word) if term[0] == '"' and term[-1] == ">" else word

    def _coded(self, word: int) -> int:
        return self._dictionary.code(stored(self._dictionary.spell(word)))


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


class StrayFacts:
    """Reports the first fact that is not a triple."""

    def __init__(self, dictionary: Dictionary, report: Report) -> None:
        self._dictionary = dictionary
        self._triples = Triples(report)
        self.is_reported = False

    def look(self, batches: Iterable[Batch]) -> None:
        """Looks at what comes, until there is such a fact."""
        if not self.is_reported:
            facts = (fact for batch in batches for fact in no_triples(batch, self._dictionary))
            self.is_reported = any(not list(self._triples.of((fact,))) for fact in facts)


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
