"""How tallies are evaluated, for people to read."""

from collections.abc import Sequence

from sixth_kind.tallies import Tally
from thalweg.explain.diagram import Band, DiagramBuilder
from thalweg.explain.document import PlanDocument, Section, lines
from thalweg.explain.plan_stage import PlanStage
from thalweg.explain.quantity import count
from thalweg.explain.stages import spark_section
from thalweg.explain.wired_parts import ExplainedMember, Statement


def explain(tallies: Sequence[Tally], stages: tuple[PlanStage, ...] | None) -> PlanDocument:
    """The tallies with their keys; on Spark where there are stages."""
    sections = [
        Section("", lines(f"{count(len(tallies), 'running count')}")),
        Section("counted", lines(*(f"  {tally.name} for each {tally.key}: {tally.text}" for tally in tallies))),
    ]
    if stages is not None:
        names = zip(tallies, stages, strict=True)
        sections.append(spark_section(*(f"{tally.name} is counted in {stage.extent}" for tally, stage in names)))
    builder = DiagramBuilder([Band("streams"), Band("tallies", tuple(enumerate(stages or ())))])
    for tally in tallies:
        node = builder.statement(tally.text, f"tally {tally.name}", tally.text, 1)
        for step in tally.steps:
            builder.edge(builder.source(f"read {step.signature}", "stream", step.signature, 0), node)
        builder.edge(node, builder.source(f"held {tally.signature}", "derived", tally.signature, 1))
    data = {"tallies": [{"name": tally.name, "key": tally.key, "text": tally.text} for tally in tallies]}
    return PlanDocument(tuple(sections), data, builder.diagram(), stages)


def explain_member(tallies: Sequence[Tally], name: str, document: PlanDocument) -> ExplainedMember:
    """The tallies as one part of a plan."""
    read = tuple(sorted({step.signature for tally in tallies for step in tally.steps}))
    statements = tuple(
        Statement(
            tally.text,
            (tally.signature,),
            tuple((step.signature, "positive") for step in tally.steps),
            "tally",
        )
        for tally in tallies
    )
    outputs = tuple(sorted(tally.signature for tally in tallies))
    return ExplainedMember("tallies", name, read, outputs, statements, document)
