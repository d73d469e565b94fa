"""The verb `explain`."""

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thalweg.cli.errors import (
    complain,
    need_ontologies,
    outcome,
    refuse,
    signatures_of,
    usage,
)
from thalweg.cli.options import (
    As,
    Background,
    Bolts,
    Inputs,
    Literals,
    Profile,
    Programs,
    SchemaStream,
    Tick,
    Topology,
    Window,
    Witnesses,
)

if TYPE_CHECKING:
    from thalweg.explain.decomposition import ExplainedAnswerSets
    from thalweg.explain.plan import Explanation
    from thalweg.explain.topology import ExplainedTopology
    from thalweg.explain.wired_parts import ExplainedParts


def explain(
    programs: Programs,
    background: Background = None,
    tick: Tick = "1s",
    profile: Profile = "rl",
    window: Window = "0",
    schema_stream: SchemaStream = False,
    literals: Literals = False,
    witnesses: Witnesses = False,
    inputs: Inputs = None,
    decomposition: Annotated[
        Literal["sound", "paper"],
        typer.Option(
            help="For `.lp`: sound communities, or the published ones, with a warning where they change answers."
        ),
    ] = "sound",
    as_: As = "entailment",
    topology: Topology = None,
    bolts: Bolts = None,
    format: Annotated[
        Literal["text", "json", "svg"], typer.Option(help="As text for people, as data, or as a drawing.")
    ] = "text",
    runtime: Annotated[
        Literal["embedded", "spark"], typer.Option(help="`spark` also shows stages, keys and what cannot be split.")
    ] = "embedded",
    partitions: Annotated[int, typer.Option(metavar="N", min=1, help="Buckets of a stage on Spark.")] = 2,
) -> None:
    """Show the plan: strata, windows, shared memories, join orders, and how it is split over partitions."""
    from thalweg import api

    with outcome():
        from thalweg.explain.plan import explain as explain_program

        with usage():
            api.Timing(tick, delay=window).ticks()
            reading = api.Reading(
                profile, window, schema_stream, literals, witnesses, as_, topology, bolts, spread=runtime == "spark"
            )
            names = signatures_of(inputs, programs)
        need_ontologies(programs, as_)
        solved = [api.kind_of(one) == "answer sets" for one in programs]
        mixed = any(solved) and not all(solved)
        if mixed and runtime == "spark":
            refuse("rules and answer set programs can run together only with `--runtime embedded`")
        if decomposition == "paper" and not any(solved):
            refuse("`--decomposition` is only for answer set programs (`.lp`)")
        spread = partitions if runtime == "spark" else None
        plan: Explanation | ExplainedAnswerSets | ExplainedParts | ExplainedTopology
        if mixed:
            plan = api.explain_mixed(programs, background or (), tick, reading, names, complain)
        elif any(solved):
            published = decomposition == "paper"
            plan = api.explain_answer_sets(programs, background or (), names, published, complain, tick, spread)
            complain(*plan.warnings)
        elif as_ == "consistency":
            plan = api.explain_checks(programs, background or (), tick, reading, spread, complain)
        else:
            program = api.load(*programs, background=background or (), tick=tick, reading=reading, report=complain)
            plan = explain_program(program, spread)
        if format == "json":
            print(json.dumps(plan.as_data(), ensure_ascii=False, indent=2))
        else:
            print(plan.as_svg() if format == "svg" else plan.as_text())
