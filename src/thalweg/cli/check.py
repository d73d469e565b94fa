"""The verb `check`."""

import json

import typer

from thalweg.cli import options
from thalweg.cli.deployed_command import GivenSources
from thalweg.cli.errors import complaining, outcome, usage


def check(
    context: typer.Context,
    programs: options.Programs,
    background: options.Background = None,
    map_: options.Map = None,
    tick: options.Tick = "1s",
    profile: options.Profile = None,
    inputs: options.Inputs = None,
    as_: options.As = "entailment",
    classes: options.Classes = None,
    show: options.Show = None,
    prefix: options.Prefix = None,
    verbose: options.Verbose = False,
    format: options.AsTextOrData = "text",
) -> None:
    """Parse and analyse programs, and report all problems, without running anything."""
    from thalweg import api

    with outcome():
        with usage():
            prefixes = api.given_prefixes(prefix or ())
        kinds: api.KindKeywords = {
            "profile": profile,
            "as_": as_,
            "inputs": inputs,
            "prefix": prefixes,
            "classes": classes,
        }
        sources = GivenSources.of(context, None, background, map_)
        facts = sources.background
        request = api.ask(programs, iter(()), facts, api.Timing(tick), kinds, show=show, mappings=sources.mappings)
        part, diagnostics = api.analyse(
            programs, facts, tick, request.ontology, inputs=request.inputs, show=request.shown, mapped=request.mapped
        )
        diagnostics = api.examine(part, diagnostics)
        if format == "json":
            print(json.dumps([diagnostic.as_data() for diagnostic in diagnostics], ensure_ascii=False, indent=2))
        else:
            tell = complaining(request.prefixes, verbose)
            for diagnostic in diagnostics:
                tell(diagnostic)
            if not diagnostics:
                print(f"no problems found ({part.size})")
        if any(diagnostic.severity == "error" for diagnostic in diagnostics):
            raise typer.Exit(1)
