"""The verb `bench`."""

from pathlib import Path
from typing import Annotated, Final

import typer

from thalweg.cli.errors import announce_compilation, outcome, refuse

BENCHMARKS: Final = (
    "laser",
    "spark",
    "coror",
    "consistency",
    "conformance",
    "streamrule",
    "rspql",
    "abstraction",
    "tables",
    "cascade",
    "serve",
)


def bench(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Which benchmark: `laser`, `spark`, `coror`, `consistency`, `conformance`, `streamrule`, `rspql`, "
            "`abstraction`, `tables`, `cascade` or `serve`.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the results go.")] = Path("bench-results"),
    quick: Annotated[bool, typer.Option("--quick", help="A short run, to check that it works.")] = False,
    soak: Annotated[
        bool, typer.Option("--soak", help="For `serve`: also ten minutes of a steady load, for memory and disk.")
    ] = False,
) -> None:
    """Run a published benchmark and write a table, a CSV file and a picture."""
    from importlib import import_module

    with outcome():
        if name not in BENCHMARKS:
            refuse(f"unknown benchmark `{name}`; choose one of {', '.join(BENCHMARKS)}")
        if soak and name != "serve":
            refuse("`--soak` goes with `serve`")
        announce_compilation()
        main = import_module(f"thalweg.bench.{name}").main
        if soak:
            main(out, quick, soak)
        else:
            main(out, quick)
