"""The verbs.

Exit codes: 0 done · 1 the program or data was rejected (diagnostics on stderr, nothing half-written) · 2 wrong usage
· 3 it failed while running (what had been delivered stays delivered).

Only typer is imported up here: a verb imports what it needs, so that help comes at once.
"""

from typing import Annotated

import typer

from thalweg.cli.bench import BENCHMARKS, bench
from thalweg.cli.check import check
from thalweg.cli.demo import demo
from thalweg.cli.deployed_command import DeployedCommand
from thalweg.cli.explain import explain
from thalweg.cli.init import init
from thalweg.cli.run import run
from thalweg.cli.serve import serve
from thalweg.cli.status import status
from thalweg.cli.timeline import timeline
from thalweg.cli.why import why

__all__ = ["BENCHMARKS", "app", "main"]

app = typer.Typer(
    epilog="Try it: `thalweg demo`, or `thalweg run rules.lars --stream readings.facts`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command(cls=DeployedCommand, epilog="Example: `thalweg run slow.lars --stream readings.facts`")(run)
app.command(cls=DeployedCommand, epilog="Example: `thalweg check slow.lars`")(check)
app.command(cls=DeployedCommand, epilog="Example: `thalweg explain slow.lars --format svg > plan.svg`")(explain)
app.command(cls=DeployedCommand, epilog="Example: `thalweg why slow.lars 'slow(a)' --at 12 --stream readings.facts`")(
    why
)
app.command(epilog="Example: `thalweg serve --data here`")(serve)
app.command(epilog="Example: `thalweg status http://127.0.0.1:8642`")(status)
app.command(epilog="Example: `thalweg init readings.csv`")(init)
app.command(epilog="Example: `thalweg timeline answers.jsonl --out answers.html`")(timeline)
app.command(epilog="Example: `thalweg demo --out timeline.svg`")(demo)
app.command(epilog="Example: `thalweg bench laser --quick`")(bench)


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        print(f"thalweg {version('thalweg')}")
        raise typer.Exit


@app.callback()
def _thalweg(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A stream reasoner that knows until when each conclusion holds."""


def main() -> None:
    """The command `thalweg`."""
    app()
