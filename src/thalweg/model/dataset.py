"""Facts in graphs: what a background says, and where. Rules and ontologies do not ask where; queries do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thalweg.model.fact import Fact
from thalweg.model.rdf import as_resource


@dataclass(frozen=True, slots=True)
class Dataset:
    """A default graph, and named graphs by their terms.

    >>> Dataset.of([Fact("p", ("a",))], {"<g>": [Fact("q", ("a",))]}).named
    (('<g>', (Fact('q', ('a',)),)),)
    """

    default: tuple[Fact, ...] = ()
    named: tuple[tuple[str, tuple[Fact, ...]], ...] = ()

    @property
    def resources(self) -> frozenset[str]:
        """The names of the graphs, as queries write them."""
        return frozenset(as_resource(name) for name, _ in self.named)

    @classmethod
    def of(cls, default: Iterable[Fact], named: Mapping[str, Iterable[Fact]]) -> "Dataset":
        """A dataset of facts, each of which is once in its graph."""
        graphs = ((name, tuple(dict.fromkeys(facts))) for name, facts in named.items())
        return cls(tuple(dict.fromkeys(default)), tuple(graphs))
