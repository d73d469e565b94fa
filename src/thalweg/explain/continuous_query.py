"""How a continuous query is evaluated: its windows, when they close, and what runs where, for people to read."""

from collections.abc import Iterator
from dataclasses import dataclass

from thalweg.diagnostics import Diagnostic
from thalweg.explain.drawing import Drawing
from thalweg.explain.plan_text import count
from thalweg.explain.stages import band_label
from thalweg.languages.rspql.names import local_name
from thalweg.languages.rspql.query import Query, StreamWindow
from thalweg.model.prefixes import NO_PREFIXES, Prefixes

_OUTPUTS = {
    "RSTREAM": "all rows at every evaluation",
    "ISTREAM": "the rows that are new at an evaluation",
    "DSTREAM": "the rows that are gone at an evaluation",
}


@dataclass(frozen=True, slots=True)
class Placement:
    """What evaluates a query: the `rules` that it was compiled to; else SPARQL per window, with the reasons.

    `besides` are sentences about what is done with what rules read and find.
    """

    rules: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spread:
    """How a query is spread over partitions of Spark: by the variables of a key, or not for a reason."""

    partitions: int
    key: tuple[str, ...] = ()
    reason: str = ""

    def as_text(self) -> str:
        if self.key:
            names = ", ".join(f"?{name}" for name in self.key)
            return f"joins are split by {names} over {count(self.partitions, 'partition')}; rows are counted in one"
        return f"in one partition of {self.partitions}, because {self.reason}"

    def as_data(self, rules: tuple[str, ...]) -> list[dict[str, object]]:
        """The stages: joins, and what becomes of their rows."""
        if not self.key:
            return [{"rules": list(rules), "key": None, "partitions": 1, "why": self.reason}]
        joins = {"rules": list(rules), "key": list(self.key), "partitions": self.partitions}
        return [joins, {"rules": [], "key": None, "partitions": 1, "why": "rows are counted together"}]


@dataclass(frozen=True, slots=True)
class ExplainedQuery:
    """A query, explained.

    >>> from thalweg.diagnostics import Source
    >>> from thalweg.languages.rspql.read_query import read_query
    >>> text = "ASK FROM NAMED WINDOW <w> ON <s> [RANGE 10, SLIDE 2] { WINDOW <w> { ?s ?p ?o } }"
    >>> print(ExplainedQuery(read_query(Source("q.rspql", text))[0], Placement()).as_text().splitlines()[3])
      w on the stream s: 10 ticks, closes at t1+9, t1+11, … (every 2 ticks)
    """

    query: Query
    placement: Placement
    spread: Spread | None = None

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return ()

    def as_data(self) -> dict[str, object]:
        """The same for programs to read."""
        query = self.query
        return {
            "name": query.name,
            "form": query.form,
            "output": query.output,
            "columns": list(query.columns),
            "windows": list(map(_window_data, query.windows)),
            "evaluated_by": "engine" if self.placement.rules else "pyoxigraph",
            "because": list(self.placement.reasons),
            "rules": list(self.placement.rules),
            "besides": list(self.placement.besides),
            "sparql": query.text,
            **({} if self.spread is None else {"stages": self.spread.as_data(self.placement.rules)}),
        }

    def as_text(self, prefixes: Prefixes = NO_PREFIXES) -> str:
        return prefixes.shorten("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        query = self.query
        rows = f" with {count(len(query.columns), 'column')}" if query.form == "SELECT" else ""
        yield f"{query.form}{rows} over {count(len(query.windows), 'window')}; {query.output}: {_OUTPUTS[query.output]}"
        yield ""
        yield "windows (t1 is the first tick of the run)"
        for window in query.windows:
            yield f"  {local_name(window.name)} on the stream {local_name(window.stream)}: {_closing(window)}"
            yield f"    shows the {count(window.range, 'tick')} up to its close, until it closes again"
        yield ""
        yield "evaluated"
        yield "  at every tick at which a window closes; a window that has not closed yet is empty"
        yield f"  {_seen(query)}"
        yield ""
        yield "evaluated by"
        if self.placement.rules:
            yield f"  the incremental engine, as {count(len(self.placement.rules), 'rule')}:"
            yield from (f"    {rule}" for rule in self.placement.rules)
            yield from (f"  {sentence}" for sentence in self.placement.besides)
        else:
            yield "  SPARQL per window (pyoxigraph): triples are added and removed, and the query is asked again"
        yield from (f"    because {reason}" for reason in self.placement.reasons)
        if self.spread is not None:
            yield ""
            yield "on Spark"
            yield f"  {self.spread.as_text()}"

    def as_svg(self) -> str:
        query = self.query
        stages = [] if self.spread is None else self.spread.as_data(self.placement.rules)
        drawing = Drawing(["streams", "windows", band_label("query", enumerate(stages))])
        by = "as rules" if self.placement.rules else "SPARQL per window"
        drawing.rule("query", f"{query.output} of a {query.form}", f"{by}, at every close of a window", 2)
        for window in query.windows:
            stream = drawing.thing(f"stream {window.stream}", "stream", local_name(window.stream), 0)
            length = (f"{window.range} ticks, every {window.slide}",)
            box = drawing.thing(f"window {window.name}", "memory", local_name(window.name), 1, length, _closing(window))
            drawing.arrow(stream, box)
            drawing.arrow(box, "query")
        drawing.arrow(drawing.thing("background", "background", "background", 1), "query")
        drawing.arrow("query", drawing.thing("rows", "derived", ", ".join(query.columns) or query.form.lower(), 2))
        return drawing.svg()


def _closing(window: StreamWindow) -> str:
    every = f"every {count(window.slide, 'tick')}" if window.slide > 1 else "every tick"
    size = count(window.range, "tick")
    if window.aligned:
        return f"{size}, closes at the multiples of {window.slide} from t1+{window.range - 1} on ({every})"
    first = window.range - 1
    return f"{size}, closes at t1+{first}, t1+{first + window.slide}, … ({every})"


def _seen(query: Query) -> str:
    if query.default is None:
        return "outside of windows the query sees the background: its default graph, and its named graphs by GRAPH"
    default, named = ", ".join(query.default) or "nothing", ", ".join(query.named or ()) or "none"
    return f"outside of windows the query sees of the background: as default graph {default}, as named graphs {named}"


def _window_data(window: StreamWindow) -> dict[str, object]:
    return {
        "name": window.name,
        "stream": window.stream,
        "range": window.range,
        "slide": window.slide,
        "aligned": window.aligned,
        "closes": _closing(window).partition(", ")[2],
    }
