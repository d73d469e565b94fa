"""How a continuous query is evaluated: its windows, when they close, and what runs where, for people to read."""

from collections.abc import Iterator
from dataclasses import dataclass

from thalweg.explain.diagram import Band, Diagram, DiagramBuilder
from thalweg.explain.document import PlanDocument, Section, lines
from thalweg.explain.plan_stage import PlanStage
from thalweg.explain.quantity import count
from thalweg.explain.stages import spark_section
from thalweg.languages.rspql.names import local_name
from thalweg.languages.rspql.query import Query, StreamWindow

_OUTPUTS = {
    "RSTREAM": "all rows at every evaluation",
    "ISTREAM": "the rows that are new at an evaluation",
    "DSTREAM": "the rows that are gone at an evaluation",
}


@dataclass(frozen=True, slots=True)
class Placement:
    """What evaluates a query: the `rules` that it was compiled to; else SPARQL per window, with the reasons.

    `remarks` are sentences about what is done with what rules read and find.
    """

    rules: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuerySpread:
    """How a query is spread over partitions of Spark: its `joins`, stage by stage, or why it is not.

    Each stage has rules and the variables of a key; one without a key is evaluated where rows are counted.
    """

    partitions: int
    joins: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    reason: str = ""

    @property
    def sentence(self) -> str:
        """What runs where, in words."""
        if not self.joins:
            return f"in one partition of {self.partitions}, because {self.reason}"
        keys = [", ".join(f"?{name}" for name in key) for _, key in self.joins if key]
        partitions = count(self.partitions, "partition")
        return f"joins are split by {', then by '.join(keys)} over {partitions}; rows are counted in one"

    def stages(self, rules: tuple[str, ...]) -> tuple[PlanStage, ...]:
        """The stages: joins, and what becomes of their rows."""
        if not self.joins:
            return (PlanStage(rules, None, 1, self.reason),)
        split = (PlanStage(texts, key, self.partitions) for texts, key in self.joins if key)
        together = tuple(text for texts, key in self.joins if not key for text in texts)
        return *split, PlanStage(together, None, 1, "rows are counted together")


def explain_query(query: Query, placement: Placement, spread: QuerySpread | None = None) -> PlanDocument:
    """How a query is evaluated; on Spark where it is spread.

    >>> from thalweg.diagnostics import Source
    >>> from thalweg.languages.rspql.read_query import read_query
    >>> text = "ASK FROM NAMED WINDOW <w> ON <s> [RANGE 10, SLIDE 2] { WINDOW <w> { ?s ?p ?o } }"
    >>> print(explain_query(read_query(Source("q.rspql", text))[0], Placement()).as_text().splitlines()[3])
      w on the stream s: 10 ticks, closes at t1+9, t1+11, … (every 2 ticks)
    """
    stages = None if spread is None else spread.stages(placement.rules)
    sections = (
        Section("", lines(_summary(query))),
        Section("windows (t1 is the first tick of the run)", lines(*_window_lines(query))),
        Section(
            "evaluated",
            lines(
                "  at every tick at which a window closes; a window that has not closed yet is empty",
                f"  {_seen(query)}",
            ),
        ),
        Section("evaluated by", lines(*_evaluator_lines(placement))),
        *([] if spread is None else [spark_section(spread.sentence)]),
    )
    return PlanDocument(sections, _data(query, placement), _diagram(query, placement, stages or ()), stages)


def _summary(query: Query) -> str:
    rows = f" with {count(len(query.columns), 'column')}" if query.form == "SELECT" else ""
    return f"{query.form}{rows} over {count(len(query.windows), 'window')}; {query.output}: {_OUTPUTS[query.output]}"


def _window_lines(query: Query) -> Iterator[str]:
    for window in query.windows:
        yield f"  {local_name(window.name)} on the stream {local_name(window.stream)}: {_closing(window)}"
        yield f"    shows the {count(window.range, 'tick')} up to its close, until it closes again"


def _evaluator_lines(placement: Placement) -> Iterator[str]:
    if placement.rules:
        yield f"  the incremental engine, as {count(len(placement.rules), 'rule')}:"
        yield from (f"    {rule}" for rule in placement.rules)
        yield from (f"  {sentence}" for sentence in placement.remarks)
    else:
        yield "  SPARQL per window (pyoxigraph): triples are added and removed, and the query is asked again"
    yield from (f"    because {reason}" for reason in placement.reasons)


def _data(query: Query, placement: Placement) -> dict[str, object]:
    return {
        "name": query.name,
        "form": query.form,
        "output": query.output,
        "columns": query.columns,
        "windows": list(map(_window_data, query.windows)),
        "evaluated_by": "engine" if placement.rules else "pyoxigraph",
        "because": placement.reasons,
        "rules": placement.rules,
        "besides": placement.remarks,
        "sparql": query.text,
    }


def _diagram(query: Query, placement: Placement, stages: tuple[PlanStage, ...]) -> Diagram:
    """Streams fill windows, and the query makes rows of these and of the background."""
    builder = DiagramBuilder([Band("streams"), Band("windows"), Band("query", tuple(enumerate(stages)))])
    by = "as rules" if placement.rules else "SPARQL per window"
    builder.statement("query", f"{query.output} of a {query.form}", f"{by}, at every close of a window", 2)
    for window in query.windows:
        stream = builder.source(f"stream {window.stream}", "stream", local_name(window.stream), 0)
        length = (f"{window.range} ticks, every {window.slide}",)
        node = builder.source(f"window {window.name}", "memory", local_name(window.name), 1, length, _closing(window))
        builder.edge(stream, node)
        builder.edge(node, "query")
    builder.edge(builder.source("background", "background", "background", 1), "query")
    builder.edge("query", builder.source("rows", "derived", ", ".join(query.columns) or query.form.lower(), 2))
    return builder.diagram()


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
