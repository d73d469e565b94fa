"""Triples about the schema on a stream, where rules were made for the schema as it was: reported, not passed over."""

from collections.abc import Callable

from thalweg.diagnostics import Diagnostic
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.vocabulary import is_schema_class, is_schema_predicate, short


class SchemaWatch:
    """Reports each word of the vocabulary once; and, where another way to read takes schemas, which.

    >>> found = []
    >>> watch = SchemaWatch(found.append)
    >>> below, other = Predicate("<http://www.w3.org/2000/01/rdf-schema#subClassOf>", 2), Predicate("<p>", 2)
    >>> for _ in range(2):
    ...     watch.look(Batch({below: [4, 8], other: [4, 8]}))
    >>> [one.message for one in found]
    ['a stream has `rdfs:subClassOf` triples, which are about the schema: they are ignored']
    """

    def __init__(self, report: Callable[[Diagnostic], None], may_stream: bool = True) -> None:
        self._report = report
        self._help = "move these triples to the ontology" + (", or run with `--schema-stream`" if may_stream else "")
        self._seen: set[Predicate] = set()

    def look(self, batch: Batch) -> None:
        """Looks at what a batch is about."""
        for signature in batch.rows.keys() - self._seen:
            self._seen.add(signature)
            name, arity = signature.name, signature.arity
            if (arity == 2 and is_schema_predicate(name)) or (arity == 1 and is_schema_class(name)):
                message = f"a stream has `{short(name)}` triples, which are about the schema: they are ignored"
                self._report(Diagnostic("W303", message, help=self._help))
