"""The verb `check`."""

import json

import typer

from thalweg.cli import options
from thalweg.cli.errors import (
    complaining,
    need_ontologies,
    outcome,
    profile_of_events,
    signatures_of,
    understood,
    usage,
)


def check(
    programs: options.Programs,
    background: options.Background = None,
    map_: options.Map = None,
    tick: options.Tick = "1s",
    profile: options.Profile = "rl",
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
            api.Timing(tick).clock  # noqa: B018
            profile = profile_of_events(understood(programs), profile)
            given = tuple(api.given_prefixes(prefix or ()).items())
            ontology = api.OntologyOptions(profile, task=as_, classes=classes, prefixes=given)
            names = signatures_of(inputs, programs)
            prefixes = api.prefixes_of([*programs, *(background or ())], api.given_prefixes(prefix or ()))
            shown = None if show is None else api.predicates_of(show, prefixes)
        need_ontologies(programs, as_)
        mapped = api.mapped_by(map_ or (), programs, background or (), api.given_prefixes(prefix or ()))
        part, found = api.analyse(programs, background or (), tick, ontology, inputs=names, show=shown, mapped=mapped)
        found = api.examine(part, found)
        if format == "json":
            print(json.dumps([one.as_data() for one in found], ensure_ascii=False, indent=2))
        else:
            tell = complaining(prefixes, verbose)
            for one in found:
                tell(one)
            if not found:
                print(f"no problems found ({part.size})")
        if any(one.severity == "error" for one in found):
            raise typer.Exit(1)
