"""The verb `explain`."""

import json

import typer

from thalweg.cli.deployed_command import CommandSources
from thalweg.cli.errors import complaining, outcome, refuse, usage
from thalweg.cli.parameters import Programs, Values, with_options
from thalweg.diagnostics import VISIBLE


@with_options("explain")
def explain(context: typer.Context, programs: Programs, values: Values) -> None:
    """Show the plan: strata, windows, shared memories, join orders, and how it is split over partitions."""
    from thalweg import api

    with outcome() as ending:
        sources = CommandSources.of(context, values)
        with usage():
            prefix = api.given_prefixes(values["prefix"] or ())
            ending.prefixes = prefixes = api.prefixes_of([*programs, *sources.background], prefix)
        if values["decomposition"] == "paper" and "--decomposition" not in api.understood(programs):
            refuse("`--decomposition` is only for answer set programs (`.lp`)")
        keywords = {
            **api.keywords_of("explain", values),
            "background": sources.background,
            "map": sources.mappings,
            "partitions": values["partitions"] if values["runtime"] == "spark" else None,
            "prefix": prefix,
        }
        plan = api.explain(*programs, **keywords, report=complaining(prefixes, values["verbose"]))
        format = values["format"]
        if format == "rspql":
            if values["as_"] != "abstraction":
                refuse("`--format rspql` needs `--as abstraction`")
            print(plan.as_rspql())
        elif format == "json":
            print(json.dumps(plan.as_data(), ensure_ascii=False, indent=2))
        else:
            print(plan.as_svg() if format == "svg" else plan.as_text(prefixes).translate(VISIBLE))
