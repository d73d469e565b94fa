"""The demo: half an hour of a city, from what its sensors measure to settings for its traffic lights.

    traffic.nq parking.nq weather.nq air.nq    observations, each a graph, from a seeded generator (`smart_city`)
    particles.rspql                            a query: the mean of the last minutes, by district
    city.ofn, map.ttl                          what the words mean (OWL 2 DL), and what is known of the city
    events.tw                                  patterns of observations, and patterns of patterns
    control.lars                               rules with memory: when a state begins, and when it ends
    lights.lp, settings.lars                   answer sets: which road gets the long green phase; what to keep of it

All of it is one plan, in one process or on Spark, where it has two partitions.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final, Literal

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.table import Table

from thalweg import api
from thalweg.connectors.interrupt import Interrupt
from thalweg.demo.city_log import CityLog, layer_of, minutes
from thalweg.demo.live_view import KINDS, LiveView, chart
from thalweg.demo.smart_city import MINUTES, SENSORS, background, observed_at, statements, write
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.explain.timeline_svg import draw_timeline
from thalweg.runtimes.spark.shutdown import leaving_in_time

if TYPE_CHECKING:
    from thalweg.api import Part
    from thalweg.runtimes.spark.early_session import EarlySession

PROGRAMS: Final = {
    "particles.rspql": "a continuous query: the mean of five minutes, by district",
    "city.ofn": "an ontology in OWL 2 DL: what an observation is",
    "events.tw": "patterns of events, and patterns of patterns",
    "control.lars": "rules with memory: from when until when",
    "lights.lp": "answer sets: which road of a junction gets the long green phase",
    "settings.lars": "rules that remember what was proposed",
}
# In how many seconds the half hour is replayed; on Spark the first batch takes some, and more batches are to be seen.
SECONDS: Final = {"embedded": 4.0, "spark": 8.0}
# As many as `run` takes by default.
PARTITIONS: Final = 2
PICTURE: Final = "timeline.svg"
ANSWERS: Final = "answers.jsonl"

Runtime = Literal["spark", "embedded"]


def write_files(folder: Path) -> tuple[Path, list[Path], list[Path]]:
    """Writes programs and data to a folder; returns background, programs and streams."""
    folder.mkdir(parents=True, exist_ok=True)
    shipped = files("thalweg.demo").joinpath("programs")
    programs = [folder / name for name in PROGRAMS]
    for program in programs:
        program.write_text(shipped.joinpath(program.name).read_text(encoding="utf-8"), encoding="utf-8")
    background_file, streams = write(folder)
    return background_file, programs, streams


def leave_files(console: Console, folder: Path) -> None:
    """Writes programs and data to a folder, and says how to run them."""
    try:
        background_file, programs, streams = write_files(folder)
    except OSError as error:
        raise FailedError(Diagnostic("E401", f"`{folder}` cannot be written: {error.strerror}")) from error
    lines = [
        f"cd {folder}",
        f"thalweg run {' '.join(path.name for path in programs)} --background {background_file.name} \\",
        f"  {' '.join(f'--stream {path.name}' for path in streams)}",
    ]
    console.print("\n".join(lines), highlight=False, soft_wrap=True)


def main(
    console: Console,
    out: Path | None = None,
    runtime: Runtime = "spark",
    paced: bool = True,
    early: "EarlySession | None" = None,
) -> None:
    """Runs the city; live on a terminal, line by line elsewhere. The timeline is drawn to a file.

    The half hour is replayed at the pace of `SECONDS`, or as fast as possible. Without `out` the picture is in a new
    temporary folder, so that nothing is left in the current one. The session of Spark may be being opened already.
    """
    folder = Path(mkdtemp(prefix="thalweg-demo-"))
    out = out or folder / PICTURE
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        message = f"`{out}` cannot be written: {'it is a folder' if out.is_dir() else 'its folder is not writable'}"
        raise RejectedError([Diagnostic("E401", message, help="name another file with `--out`")])
    begun = time.monotonic()
    background_file, programs, streams = write_files(folder)
    console.print(Panel(_overview(), title="the programs"))
    answers, interrupt = folder / ANSWERS, Interrupt()
    run: Callable[..., int | None] = partial(_on_spark, early) if runtime == "spark" else _embedded
    with interrupt.listen(), leaving_in_time(interrupt), LiveView(console, answers) as view:
        part = api.load_part(programs, [background_file])
        batches = run(part, _replayed(streams, SECONDS[runtime]) if paced else streams, answers, interrupt)
    try:
        out.write_text(draw_timeline(chart(view.log)), encoding="utf-8")
    except OSError as error:
        raise FailedError(Diagnostic("E401", f"`{out}` cannot be written: {error.strerror}")) from error
    console.print(Panel(view.timeline(), title="the timeline"))
    console.print(Panel(_summary(view.log, time.monotonic() - begun, batches, out, answers), title="summary"))


def _replayed(streams: list[Path], seconds: float) -> list[api.Text]:
    return [f"replay://{stream}?factor={60 * MINUTES / seconds}" for stream in streams]


def _embedded(part: "Part", streams: list[api.Text], answers: Path, interrupt: Interrupt) -> int | None:
    from thalweg.answers.answer_formats import AnswerFormat

    timing = api.Timing()
    lines = AnswerFormat(times=timing.format).formatter()
    with (
        answers.open("w", encoding="utf-8") as file,
        api.start(part, streams, api.RunOptions(timing), interrupt=interrupt) as job,
    ):
        for piece in job.pieces():
            if piece is not None:
                file.writelines(lines(piece))
            file.flush()
    return None


def _on_spark(
    early: "EarlySession | None", part: "Part", streams: list[api.Text], answers: Path, interrupt: Interrupt
) -> int | None:
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.spark.run import SparkTarget

    target = SparkTarget(short=True, early=early)
    options = api.RunOptions(api.Timing())
    return api.run_on_spark(part, streams, options, target, PARTITIONS, out=str(answers), interrupt=interrupt).batches


def _overview() -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, about in PROGRAMS.items():
        table.add_row(name, about)
    return table


def _summary(log: CityLog, took: float, batches: int | None, out: Path, answers: Path) -> RenderableType:
    """Figures of the whole run, layer by layer."""
    table = Table.grid(padding=(0, 2))
    counts = log.counts
    kinds = ", ".join(sensors.stream for sensors in SENSORS)
    table.add_row("observations", f"{observed_at(log.second):,} of {kinds}, in {minutes(log.second + 1)} of the city")
    table.add_row("background", f"{statements(background()):,} statements")
    table.add_row("query", f"{counts['means']} evaluations")
    table.add_row("ontology", f"contradicted by {counts['contradictions']} of the observations")
    for layer in ("patterns", "rules", "lights"):
        table.add_row(layer, ", ".join(f"{counts[name]} {name}" for name in KINDS if layer_of(name) == layer))
    table.add_row("answer sets", f"{counts['answer sets']}")
    table.add_row("time", f"{took:.1f} s with start-up" + (f", {batches} batches on Spark" if batches else ""))
    table.add_row("picture", str(out))
    table.add_row("answers", str(answers))
    return table
