"""What answers a query: rules, or SPARQL per window. Both give the same rows.

An evaluator is taken through time. It is given facts as they come, with the streams that brought them, and is asked at
every tick at which some window of its query closes (`languages.rspql.closings`). It answers with what changed since it
was asked before:

    SELECT       a row has a term for each of `query.columns`, None where it is unbound; rows are a bag
    CONSTRUCT    the same: rows give the variables of the template, and `construct` makes the graph of them
    ASK          the one row `()` is there while the answer is true

A term in a row is spelled as RDF has it: `<http://example.org/a>`, `"text"`, `"chat"@fr`, `"1.5E0"^^<…#double>`,
`_:b0`, and integers and decimals as bare numbers. A text is in quotes, also where facts have a bare name; a predicate
without an IRI has one of our own, as `model.rdf` spells it: `<urn:thalweg:speed>`. A literal of a datatype that has a
canonical form is in this form, for streams and background as well: `2.50` is `2.5`, and `"01"^^xsd:int` is `1`
(`solvers.sparql.as_stored`).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.solvers.sparql import as_row as rdf_spelling

__all__ = ["QueryEvaluator", "Row", "Rows", "rdf_spelling"]

Row = tuple[str | None, ...]


class Rows(NamedTuple):
    """What changed between two evaluations: as bags, so a row may be there several times."""

    begin: list[Row]
    end: list[Row]


class QueryEvaluator(Protocol):
    """Answers one query. Ticks never decrease."""

    dictionary: Dictionary
    """The dictionary that codes facts that come in."""

    def begin(self, first: int) -> None:
        """The first tick of the run is known: windows count from it. Called once, before facts come."""

    def add(self, tick: int, batches: Sequence[Batch]) -> None:
        """Facts arrive; `batch.stream` is the `stream` of a window. Called before a tick is evaluated, or never."""

    def evaluate(self, tick: int) -> Rows:
        """The difference to the evaluation before; called at every tick at which a window closes, in order.

        Of evaluations in a row over windows that are all empty, some may be left out: their rows are the same.
        """

    def words_in_use(self) -> NDArray[np.int64]:
        """The words of the terms that are still needed, where the dictionary is shared with other parts."""

    def snapshot(self) -> bytes:
        """Its state, as bytes from which it can continue; it has begun."""

    def resume(self, data: bytes) -> None:
        """Brings a new one to where a snapshot was taken."""
