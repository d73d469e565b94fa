"""The verb `explain`."""

import json
from typing import Annotated, Literal

import typer

from thalweg.cli import options
from thalweg.cli.deployed_command import GivenSources
from thalweg.cli.errors import complaining, outcome, refuse, usage
from thalweg.diagnostics import VISIBLE


def explain(
    context: typer.Context,
    programs: options.Programs,
    background: options.Background = None,
    map_: options.Map = None,
    tick: options.Tick = "1s",
    profile: options.Profile = None,
    window: options.Window = None,
    schema_stream: options.SchemaStream = False,
    literals: options.Literals = False,
    witnesses: options.Witnesses = False,
    inputs: options.Inputs = None,
    decomposition: Annotated[
        Literal["sound", "paper"],
        typer.Option(
            help="For `.lp`: sound communities, or the published ones, with a warning where they change answers."
        ),
    ] = "sound",
    as_: options.As = "entailment",
    topology: options.Topology = None,
    bolts: options.Bolts = None,
    classes: options.Classes = None,
    prefix: options.Prefix = None,
    verbose: options.Verbose = False,
    format: Annotated[
        Literal["text", "json", "svg", "rspql"],
        typer.Option(
            help="As text for people, as data, as a drawing; or, with `--as abstraction`, the filter of events that "
            "follows from the classes asked for, as a continuous query."
        ),
    ] = "text",
    runtime: Annotated[
        Literal["embedded", "spark"], typer.Option(help="`spark` also shows stages, keys and what cannot be split.")
    ] = "embedded",
    partitions: Annotated[int, typer.Option(metavar="N", min=1, help="Buckets of a stage on Spark.")] = 2,
) -> None:
    """Show the plan: strata, windows, shared memories, join orders, and how it is split over partitions."""
    from thalweg import api

    with outcome() as ending:
        sources = GivenSources.of(context, None, background, map_)
        with usage():
            given = api.given_prefixes(prefix or ())
            ending.prefixes = prefixes = api.prefixes_of([*programs, *sources.background], given)
        if decomposition == "paper" and "--decomposition" not in api.understood(programs):
            refuse("`--decomposition` is only for answer set programs (`.lp`)")
        plan = api.explain(
            *programs,
            background=sources.background,
            map=sources.mappings,
            tick=tick,
            partitions=partitions if runtime == "spark" else None,
            decomposition=decomposition,
            report=complaining(prefixes, verbose),
            profile=profile,
            window=window,
            schema_stream=schema_stream,
            literals=literals,
            witnesses=witnesses,
            as_=as_,
            topology=topology,
            bolts=bolts,
            classes=classes,
            prefix=given,
            inputs=inputs,
        )
        if format == "rspql":
            if as_ != "abstraction":
                refuse("`--format rspql` needs `--as abstraction`")
            print(plan.as_rspql())
        elif format == "json":
            print(json.dumps(plan.as_data(), ensure_ascii=False, indent=2))
        else:
            print(plan.as_svg() if format == "svg" else plan.as_text(prefixes).translate(VISIBLE))
