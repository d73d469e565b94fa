"""The verb `demo`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from thalweg.cli.errors import announce_compilation, outcome


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
