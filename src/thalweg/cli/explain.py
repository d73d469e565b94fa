"""The verb `explain`."""

import json
from typing import TYPE_CHECKING

import typer

from thalweg.cli.deployed_command import CommandSources
from thalweg.cli.errors import complaining, outcome, refuse, usage
from thalweg.cli.parameters import Programs, Values, with_options
from thalweg.diagnostics import VISIBLE

if TYPE_CHECKING:
    from thalweg.model.prefixes import Prefixes


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
        if values["checkpoint"] is not None:
            _show_change(context, programs, values, sources, prefixes)
            return
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


def _show_change(
    context: typer.Context,
    programs: Programs,
    values: Values,
    sources: CommandSources,
    prefixes: "Prefixes",
) -> None:
    """Prints what of a run would go on with these programs, and what would begin."""
    from thalweg import api
    from thalweg.api.deployed_names import deployed
    from thalweg.api.would_change import would_change
    from thalweg.kinds.change_reasons import change_data, change_text

    if values["format"] not in ("text", "json"):
        refuse("`--checkpoint` shows what goes on and what begins as text, or with `--format json`")
    keywords = api.keywords_of("explain", values)
    kinds = {name: value for name, value in keywords.items() if name in api.KindKeywords.__annotations__}
    change = would_change(
        programs,
        values["checkpoint"],
        complaining(prefixes, values["verbose"]),
        streams=() if context.obj is None else deployed(context.obj, "stream"),
        background=sources.background,
        map=sources.mappings,
        tick=keywords["tick"],
        kinds=kinds,
    )
    if values["format"] == "json":
        print(json.dumps(change_data(change), ensure_ascii=False, indent=2))
    else:
        print(prefixes.shorten(change_text(change)).translate(VISIBLE))
