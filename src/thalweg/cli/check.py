"""The verb `check`."""

import json

import typer

from thalweg.cli.deployed_command import CommandSources
from thalweg.cli.errors import complaining, outcome, usage
from thalweg.cli.parameters import Programs, Values, with_options


@with_options("check")
def check(context: typer.Context, programs: Programs, values: Values) -> None:
    """Parse and analyse programs, and report all problems, without running anything."""
    from thalweg import api

    with outcome():
        with usage():
            prefixes = api.given_prefixes(values["prefix"] or ())
        sources = CommandSources.of(context, values)
        options = api.RunOptions.of({**api.keywords_of("check", values), "prefix": prefixes, "map": sources.mappings})
        resolved = api.resolve_options(programs, iter(()), sources.background, options)
        part, problems = api.analyse_resolved(programs, sources.background, resolved)
        problems = api.examine(part, problems)
        if values["format"] == "json":
            print(json.dumps([problem.as_data() for problem in problems], ensure_ascii=False, indent=2))
        else:
            report = complaining(resolved.prefixes, values["verbose"])
            for problem in problems:
                report(problem)
            if not problems:
                print(f"no problems found ({part.size})")
        if any(problem.severity == "error" for problem in problems):
            raise typer.Exit(1)
