"""The verbs that show what Thalweg can do: `demo` and `bench`."""

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from thalweg.cli.ending import announce_compilation, outcome, refuse

BENCHMARKS: Final = ("laser", "spark", "coror", "consistency", "conformance", "streamrule")


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where the picture of the timeline goes, as SVG; a temporary file by default."
        ),
    ] = None,
    runtime: Annotated[
        Literal["spark", "embedded"], typer.Option(help="Run on Apache Spark on this machine, or in this process.")
    ] = "spark",
) -> None:
    """Run half an hour of a city's traffic on Spark, in about a minute; the data is included."""
    with outcome():
        from rich.console import Console

        from thalweg.demo import main as show

        announce_compilation()
        show(Console(), out, runtime)


def bench(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Which benchmark: `laser`, `spark`, `coror`, `consistency`, `conformance` or `streamrule`.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the results go.")] = Path("bench-results"),
    quick: Annotated[bool, typer.Option("--quick", help="A short run, to check that it works.")] = False,
) -> None:
    """Run a published benchmark and write a table, a CSV file and a picture."""
    from importlib import import_module

    with outcome():
        if name not in BENCHMARKS:
            refuse(f"unknown benchmark `{name}`; choose one of {', '.join(BENCHMARKS)}")
        announce_compilation()
        import_module(f"thalweg.bench.{name}").main(out, quick)
