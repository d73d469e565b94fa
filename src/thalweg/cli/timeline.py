"""The verb `timeline`."""

import os
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from thalweg.cli.errors import outcome, usage
from thalweg.cli.parameters import typed
from thalweg.languages.options import option_named


def timeline(
    answers: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWERS",
            help="Answers that a run wrote: `.jsonl`, `.csv` (also `.gz`) or `.parquet`, as it emits them.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to draw: `.svg`, `.html` or `.png`; by default in the terminal."),
    ] = None,
    width: Annotated[int, typer.Option(metavar="N", min=320, max=8_000, help="Width of a `.svg` or `.png`.")] = 960,
    tick: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="How long a tick of the run lasted; by default the longest that fits all timestamps.",
        ),
    ] = None,
    prefix: Annotated[list[str] | None, typed(option_named("prefix"))] = None,
) -> None:
    """Draw answers as a timeline: facts as bands, the values of numeric facts as curves."""
    from thalweg import api
    from thalweg.explain.timeline_text import timeline_text
    from thalweg.runtimes.picture_files import check_picture, write_picture
    from thalweg.runtimes.recorded_answers import read_answers

    with outcome():
        with usage():
            prefixes = api.prefixes_of([], api.given_prefixes(prefix or ()))
            length = None if tick is None else api.Timing(tick).clock.tick_length
            if out is not None:
                check_picture(out)
        chart = read_answers(answers, length)
        if out is not None:
            write_picture(chart, out, width, prefixes.shorten)
            return
        coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(timeline_text(chart, get_terminal_size().columns, coloured, prefixes.shorten), end="")
