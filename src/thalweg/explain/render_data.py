"""A plan document as values of JSON."""

from collections.abc import Mapping
from typing import cast

from thalweg.diagnostics import Diagnostic
from thalweg.explain.diagram import Diagram
from thalweg.explain.document import PlanDocument
from thalweg.explain.plan_stage import PlanStage


def render_data(document: PlanDocument) -> dict[str, object]:
    """The data of a document; the stages of Spark come last, where there are any.

    >>> from thalweg.explain.diagram import Diagram
    >>> render_data(PlanDocument((), {"rules": ("a.",)}, Diagram((), {}, ()), (PlanStage(("a.",), None, 1),)))
    {'rules': ['a.'], 'stages': [{'rules': ['a.'], 'key': None, 'partitions': 1}]}
    """
    stages = {} if document.stages is None else {"stages": document.stages}
    return cast("dict[str, object]", _plain({**document.data, **stages}))


def boxes_as_data(diagram: Diagram) -> list[dict[str, object]]:
    """The boxes of a diagram, each with the id that it has in the drawing, and the ids of those that it leads to.

    >>> from thalweg.explain.diagram import DiagramBuilder
    >>> builder = DiagramBuilder(())
    >>> builder.edge(builder.source("stream p/1", "stream", "p/1", 0), builder.statement("rule 1", "rule 1", "q.", 1))
    >>> boxes_as_data(builder.diagram())[0]
    {'id': 'stream p/1', 'kind': 'stream', 'text': 'p/1', 'to': ['rule 1']}
    """
    leads_to: dict[str, dict[str, None]] = {name: {} for name in diagram.nodes}
    for arrow in diagram.edges:
        leads_to[arrow.start][arrow.end] = None
    return [
        {"id": name, "kind": node.kind, "text": node.hint, "to": [*leads_to[name]]}
        for name, node in diagram.nodes.items()
    ]


def _plain(value: object) -> object:
    """A value of a document as one of JSON."""
    match value:
        case PlanDocument():
            return render_data(value)
        case PlanStage():
            return _plain(_stage(value))
        case Diagnostic():
            return value.as_data()
        case Mapping():
            return {key: _plain(member) for key, member in value.items()}
        case list() | tuple():
            return [_plain(member) for member in value]
    return value


def _stage(stage: PlanStage) -> dict[str, object]:
    """The fields of a stage that say something."""
    return {
        "rules": stage.statements,
        "key": stage.key,
        **({} if stage.keys is None else {"keys": stage.keys}),
        "partitions": stage.partitions,
        **stage.details,
        **({} if stage.why is None else {"why": stage.why}),
        **({} if stage.concurrent is None else {"beside": stage.concurrent}),
    }
