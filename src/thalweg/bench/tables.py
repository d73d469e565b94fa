"""Tables in, answers out: readings as CSV, Parquet and JSON through a mapping, beside polars over the same file.

Five hundred devices send a reading a second. Both sides run in this process, one after the other and in turn, on one
thread; what counts is the least processor time of several runs, from the file to the answers on disk. Kernels are
compiled, and files are in the memory of the system, before anything is measured.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, Final, NamedTuple

from thalweg.answers.answer_formats import formatter
from thalweg.api import RunOptions, Timing, load_part, start
from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, at_most
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.diagnostics import Diagnostic, RejectedError

DEVICES: Final = 500
READINGS: Final = 400_000
WINDOW: Final = 60
LIMIT: Final = 27
MAPPING: Final = "temp(device, temp) at ts"
THRESHOLD: Final = f"hot(D,V) :- temp(D,V), V > {LIMIT}."
_KNOWN: Final = " ".join(f"device(d{number})." for number in range(DEVICES))
AVERAGE: Final = f"mean(D,A) :- device(D), A = avg{{V,T : temp(D,V) at T in [{WINDOW} sec]}}. {_KNOWN}"
_RUNS: Final = 5


@dataclass(frozen=True, slots=True)
class Throughput:
    """Readings a second of processor time, from a file through a mapping to answers on disk."""

    source: str
    program: str
    readings: int
    answers: int
    seconds: float
    readings_per_second: float


@dataclass(frozen=True, slots=True)
class PolarsComparison:
    """Processor time over the same CSV file, with rows written on both sides."""

    task: str
    thalweg_seconds: float
    polars_seconds: float
    times: float


class _Files(NamedTuple):
    csv: Path
    parquet: Path
    json: Path


def main(out: Path, quick: bool) -> None:
    """Runs the benchmark and writes tables."""
    # Read when polars is imported.
    os.environ["POLARS_MAX_THREADS"] = "1"
    polars = _polars()
    report = BenchmarkReport(out, "tables")
    readings, runs = (READINGS // 20, 2) if quick else (READINGS, _RUNS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_readings(folder, readings)
        throughputs = [_throughput(source, files, readings, folder, runs, report) for source in _Files._fields]
        average = _beside("sliding average", AVERAGE, lambda: _rolled(polars, files.csv, folder), files, folder, runs)
        threshold = _beside("threshold", THRESHOLD, lambda: _filtered(polars, files.csv, folder), files, folder, runs)
    report.add("throughput", throughputs)
    report.add("beside_polars", [threshold, average])
    rates = {throughput.source: throughput.readings_per_second for throughput in throughputs}
    report.close(
        [
            *(_at_least(f"{source}: readings a second", rates[source], 250_000) for source in ("csv", "parquet")),
            _at_least("json: objects a second", rates["json"], 100_000),
            at_most("threshold: time, of what polars takes", threshold.times, 10, "×"),
            at_most("sliding average: time, of what polars takes", average.times, 8, "×"),
        ]
    )


def _at_least(what: str, figure: float, limit: float) -> BenchmarkTarget:
    return BenchmarkTarget(f"{what}, at least {limit:,}", f"{figure:,.0f}", figure >= limit)


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        help = "install thalweg[bench], as in `pip install 'thalweg[bench]'`"
        raise RejectedError([Diagnostic("E406", "polars is not installed", help=help)]) from None
    return polars


def write_readings(folder: Path, readings: int) -> _Files:
    """The same readings in three formats."""
    import pyarrow as pa
    from pyarrow import parquet

    draw, begin = Random(7), datetime(2026, 11, 15, 8, tzinfo=UTC)
    rows = [
        (f"d{n % DEVICES}", round(draw.gauss(21, 3), 2), begin + timedelta(seconds=n // DEVICES))
        for n in range(readings)
    ]
    stamps = [when.isoformat().replace("+00:00", "Z") for _, _, when in rows]
    files = _Files(folder / "readings.csv", folder / "readings.parquet", folder / "readings.jsonl")
    with files.csv.open("w") as csv, files.json.open("w") as json:
        csv.write("device,temp,ts\n")
        for (device, temp, _), ts in zip(rows, stamps, strict=True):
            csv.write(f"{device},{temp},{ts}\n")
            json.write(f'{{"device": "{device}", "temp": {temp}, "ts": "{ts}"}}\n')
    columns = dict(zip(("device", "temp", "ts"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), files.parquet)
    return files


def reason(program: str, stream: Path, out: Path) -> int:
    """Runs a program over a mapped file as `thalweg run` does; how many lines of answers there are."""
    mapped, timing, lines = Tally(read_mappings(MAPPING)), Timing(), 0
    part = load_part([program], mapped=mapped)
    with start(part, stream, RunOptions(timing, mapped=mapped)) as job, out.open("wb") as file:
        write = formatter("jsonl", timing.format)
        for piece in job.pieces():
            for text in write(piece) if piece is not None else ():
                file.write(text.encode())
                lines += 1
    return lines


def _seconds(work: Callable[[], object]) -> float:
    begin = process_time()
    work()
    return process_time() - begin


def _throughput(
    source: str, files: _Files, readings: int, folder: Path, runs: int, report: BenchmarkReport
) -> Throughput:
    report.log(f"reading {source}")
    stream, out = getattr(files, source), folder / "answers.jsonl"
    answers = reason(THRESHOLD, stream, out)
    seconds = min(_seconds(lambda: reason(THRESHOLD, stream, out)) for _ in range(runs))
    return Throughput(source, "threshold", readings, answers, seconds, readings / seconds)


def _beside(
    task: str, program: str, polars: Callable[[], object], files: _Files, folder: Path, runs: int
) -> PolarsComparison:
    """Both sides in turn, so that what disturbs the machine disturbs both."""
    out = folder / "answers.jsonl"
    reason(program, files.csv, out)
    polars()
    ours, theirs = zip(*_in_turn(lambda: reason(program, files.csv, out), polars, runs), strict=True)
    return PolarsComparison(task, min(ours), min(theirs), min(ours) / min(theirs))


def _in_turn(first: Callable[[], object], second: Callable[[], object], runs: int) -> Iterator[tuple[float, float]]:
    for _ in range(runs):
        yield _seconds(first), _seconds(second)


def _filtered(polars: Any, stream: Path, folder: Path) -> None:
    rows = polars.scan_csv(stream).filter(polars.col("temp") > LIMIT)
    rows.sink_csv(folder / "filtered.csv")


def _rolled(polars: Any, stream: Path, folder: Path) -> None:
    """The average over the window and the tick itself, as a window of rules has it."""
    table = polars.scan_csv(stream, try_parse_dates=True).set_sorted("ts")
    means = table.rolling("ts", period=f"{WINDOW + 1}s", group_by="device").agg(polars.col("temp").mean())
    means.collect().write_csv(folder / "means.csv")
