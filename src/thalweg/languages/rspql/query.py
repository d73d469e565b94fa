"""A continuous query, as it was read: its windows, its form, and SPARQL for what is evaluated over them.

    REGISTER ISTREAM :q AS                                     name "q", output "ISTREAM"
    SELECT ?s ?v                                               form "SELECT", columns ("s", "v")
    FROM NAMED WINDOW :w ON STREAM :s [RANGE 10s, SLIDE 2s]    a StreamWindow, which `text` has no more
    WHERE { WINDOW :w { ?s :value ?v } }                       `GRAPH :w { … }` in `text`

A CONSTRUCT is a SELECT of the variables of its `template`: each row makes the triples of the template. Blank nodes in
it are new for every row; without any, and without a limit, the rows are DISTINCT.

Of `text` and its `algebra` every window is a named graph with the window's name. `WINDOW ?w` has become a `GRAPH ?w`
beside `VALUES ?w` with the windows, and `GRAPH ?g` has a `FILTER` that leaves the windows out: so both mean, in a
dataset of windows and background graphs, what they say. `FROM` and `FROM NAMED` are not in `text` either: `default` and
`named` hold them.
"""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from thalweg.diagnostics import Source, Span
from thalweg.ir.nodes import Program
from thalweg.model.dataset import Dataset

Output = Literal["RSTREAM", "ISTREAM", "DSTREAM"]
Form = Literal["SELECT", "CONSTRUCT", "ASK"]


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window over a stream; `range` and `slide` are in ticks.

    `name` is an IRI in its brackets; `stream` is one too, or the local name that the query used. An `aligned` window
    closes at the multiples of its slide since the epoch.
    """

    name: str
    stream: str
    range: int
    slide: int
    aligned: bool = False
    span: Span = field(default=Span(Source("", ""), 0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Query:
    """One query; `columns` are the projected variables in their order: of a SELECT, or of a CONSTRUCT's template.

    The template has terms as RDF spells them (`parts.queries.evaluator`), variables as `?x`, and blank nodes.

    `algebra` is what rdflib's `translateQuery` makes of `text`. `default` and `named` are the background graphs of
    `FROM` and `FROM NAMED`; both are None where the query has neither, and sees the whole background.
    """

    name: str
    output: Output
    form: Form
    windows: tuple[StreamWindow, ...]
    columns: tuple[str, ...]
    algebra: Any = field(compare=False, repr=False)
    text: str
    source: Source = field(compare=False, repr=False)
    span: Span = field(compare=False, repr=False)
    default: tuple[str, ...] | None = None
    named: tuple[str, ...] | None = None
    template: tuple[tuple[str, str, str], ...] = ()

    def taken_apart(self) -> tuple[Any, ...]:
        """What the query can be made of in another process: all but the algebra of rdflib."""
        return tuple(getattr(self, attribute.name) for attribute in fields(self) if attribute.name != "algebra")

    @classmethod
    def put_together(cls, *parts: Any) -> "Query":
        """The query that was taken apart."""
        from thalweg.languages.rspql.algebra import translate

        names = (attribute.name for attribute in fields(cls) if attribute.name != "algebra")
        values = dict(zip(names, parts, strict=True))
        return cls(**values, algebra=translate(values["text"]))

    @property
    def widest(self) -> int:
        """The ticks of the widest window; 1 without any."""
        return max((window.range for window in self.windows), default=1)


@dataclass(frozen=True, slots=True)
class QueryProgram:
    """What the language makes of its texts: the queries of a run, and the background that they see."""

    queries: tuple[Query, ...]
    background: Dataset = Dataset()

    def readers(self) -> Program:
        """Rules that read what the queries do: they see every triple, so none is named."""
        return Program()
