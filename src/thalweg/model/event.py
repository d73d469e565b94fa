"""Events, and their coded form."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, repeat

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate


@dataclass(frozen=True, slots=True)
class Event:
    """What a stream delivers at once: facts at one tick.

    >>> Event(36, (Fact("a", ("x1", "y")),)).tick
    36
    """

    tick: int
    facts: tuple[Fact, ...]
    stream: str | None = None


Rows = dict[Predicate, list[int] | NDArray[np.int64]]


@dataclass(slots=True)
class Batch:
    """The facts of one tick on one stream as words (see `number`), ready for the engine.

    `rows` has the words of each signature's facts, one fact after the other; `order` has the signature of each fact in
    the order of arrival. Only tuple windows look at the order: a batch of arrays may leave it out. `graphs` has the
    name of each graph that the facts came in, empty where it has none, and how many of the facts it has, in this order;
    it is empty where a stream has no graphs. `arrived` is the number of rows or messages that the facts came in; None
    where each fact came by itself.
    """

    rows: Rows = field(default_factory=dict)
    order: list[Predicate] = field(default_factory=list)
    stream: str | None = None
    graphs: list[tuple[str, int]] = field(default_factory=list)
    arrived: int | None = field(default=None, compare=False, repr=False)

    def add(self, signature: Predicate, words: list[int]) -> None:
        """Appends one fact."""
        row = self.rows.setdefault(signature, [])
        assert isinstance(row, list)
        row.extend(words)
        self.order.append(signature)

    @property
    def rows_arrived(self) -> int:
        """How many rows, messages or graphs its facts came in; where they came by themselves, how many facts it has.

        >>> p = Predicate("p", 1)
        >>> Batch({p: [5, 9]}, [p, p]).rows_arrived, Batch({p: [5, 9]}, arrived=1).rows_arrived
        (2, 1)
        """
        return self.size if self.arrived is None and not self.graphs else self.arrived or len(self.graphs)

    @property
    def size(self) -> int:
        """How many facts it has."""
        return len(self.order) or sum(len(words) // max(1, name.arity) for name, words in self.rows.items())

    def in_order(self) -> Iterator[tuple[Predicate, tuple[int, ...]]]:
        """Signature and words of each fact, in the order of arrival where it is known.

        >>> p, q = Predicate("p", 1), Predicate("q", 0)
        >>> list(Batch({p: [5, 9], q: []}, [p, q, p]).in_order())
        [('p/1', (5,)), ('q/0', ()), ('p/1', (9,))]
        """
        flat = {signature: _facts(signature, words) for signature, words in self.rows.items()}
        if not self.order:
            return (
                (signature, words)
                for signature, facts in flat.items()
                for words in (facts if signature.arity else ((),))
            )
        following = {signature: iter(facts).__next__ for signature, facts in flat.items()}
        return ((signature, following[signature]()) for signature in self.order)

    def events(self) -> Iterator[tuple[str, list[tuple[Predicate, tuple[int, ...]]]]]:
        """The facts graph by graph, with the name of each; a batch without graphs is one without a name.

        >>> p = Predicate("p", 1)
        >>> list(Batch({p: [5, 9, 13]}, [p, p, p], graphs=[("<g>", 2), ("<h>", 1)]).events())
        [('<g>', [('p/1', (5,)), ('p/1', (9,))]), ('<h>', [('p/1', (13,))])]
        """
        facts = self.in_order()
        if not self.graphs:
            yield "", list(facts)
        for name, count in self.graphs:
            yield name, list(islice(facts, count))

    def facts(self, words: Dictionary) -> Iterator[Fact]:
        """The facts, in the order of arrival where it is known.

        >>> words, batch = Dictionary(), Batch()
        >>> batch.add(Predicate("a", 1), [words.code("x")]); batch.add(Predicate("b", 0), [])
        >>> [str(fact) for fact in batch.facts(words)]
        ['a(x)', 'b']
        """
        return (words.fact(signature.name, codes) for signature, codes in self.in_order())


def _facts(signature: Predicate, words: list[int] | NDArray[np.int64]) -> Iterable[tuple[int, ...]]:
    """The words of each fact of a signature; one without arguments is a fact each time."""
    if signature.arity == 0:
        return repeat(())
    flat = words if isinstance(words, list) else words.reshape(-1).tolist()
    return zip(*[iter(flat)] * signature.arity, strict=True)
