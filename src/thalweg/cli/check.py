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
            given = api.given_prefixes(prefix or ())
        kinds: api.KindKeywords = {
            "profile": profile,
            "as_": as_,
            "inputs": inputs,
            "prefix": given,
            "classes": classes,
        }
        sources = GivenSources.of(context, None, background, map_)
        facts = sources.background
        asked = api.ask(programs, iter(()), facts, api.Timing(tick), kinds, show=show, mappings=sources.mappings)
        part, found = api.analyse(
            programs, facts, tick, asked.ontology, inputs=asked.inputs, show=asked.shown, mapped=asked.mapped
        )
        found = api.examine(part, found)
        if format == "json":
            print(json.dumps([one.as_data() for one in found], ensure_ascii=False, indent=2))
        else:
            tell = complaining(asked.prefixes, verbose)
            for one in found:
                tell(one)
            if not found:
                print(f"no problems found ({part.size})")
        if any(one.severity == "error" for one in found):
            raise typer.Exit(1)
