"""The verb `demo`."""

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from thalweg.cli.errors import announce_compilation, complain, missing, outcome

if TYPE_CHECKING:
    from thalweg.runtimes.spark.early_session import EarlySession

# As many as `run` takes by default on two cores.
PARTITIONS: Final = 2
# Its programs are of every kind.
_NEEDED: Final = ("clingo", "pyhornedowl", "rdflib")
_ON_SPARK: Final = ("pyspark", "pandas")


def _is_there(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def _early_session() -> "EarlySession | None":
    """The session of the demo, which is being opened; None where something of Spark is not installed."""
    from thalweg.runtimes.spark.early_session import EarlyOptions, EarlySession

    options = EarlyOptions(short=True, partitions=PARTITIONS)
    return EarlySession(options) if options.suffice(()) else None


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
    files: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the programs and the data to this folder, and run nothing: to try them by hand.",
        ),
    ] = None,
) -> None:
    """Run half an hour of a city, from its sensors to its traffic lights, on Spark; the data is included."""
    with outcome(), ExitStack() as stack:
        from rich.console import Console

        early = _early_session() if runtime == "spark" and files is None else None
        if early is not None:
            stack.enter_context(early)
        from thalweg import demo

        if files is not None:
            demo.leave_files(Console(), files)
            return
        if absent := [name for name in (*_NEEDED, *(_ON_SPARK if runtime == "spark" else ())) if not _is_there(name)]:
            complain(missing(absent, "demo"))
            raise typer.Exit(1)
        announce_compilation()
        demo.main(Console(), out, runtime, early=early)
