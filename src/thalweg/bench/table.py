"""The results of a benchmark as tables: for eyes, and as CSV."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from thalweg.bench import interleaved
from thalweg.bench.measure import Result

COLUMNS = (
    "workload",
    "window",
    "facts/tick",
    "µs/fact",
    "c",
    "in c",
    "bytes/fact",
    "live",
    "clingo",
    "×",
    "naive",
    "×",
)


@dataclass(frozen=True, slots=True)
class Target:
    """What must be shown, what was found, and whether that is enough."""

    claim: str
    found: str
    holds: bool


def results_table(results: Sequence[Result]) -> Table:
    """One line for each point."""
    table = Table(title="µs per fact, steady state; `c` is a dictionary in CPython over the same pairs")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "workload" else "right")
    for result in results:
        table.add_row(*_cells(result))
    return table


def _cells(result: Result) -> list[str]:
    point, at_least = result.point, "≥ " if result.naive_is_bound else ""
    return [
        point.workload.name, str(point.window), f"{point.rate:,}", f"{result.engine:.3f}", f"{result.c:.3f}",
        f"{result.in_c:.2f}", f"{result.bytes_per_fact:.0f}", f"{result.live:,}",
        _number(result.clingo), _ratio(result.clingo, result.engine),
        _number(result.naive, at_least), _ratio(result.naive, result.engine, at_least),
    ]  # fmt: skip


def _number(value: float | None, before: str = "") -> str:
    return "–" if value is None else f"{before}{value:,.0f}"


def _ratio(value: float | None, engine: float, before: str = "") -> str:
    return "–" if value is None else f"{before}{value / engine:,.0f}"


def verdict_table(targets: Iterable[Target]) -> Table:
    """One line for each target."""
    table = Table(title="what must be shown")
    for column in ("", "target", "found"):
        table.add_column(column)
    for target in targets:
        table.add_row("[green]✓[/]" if target.holds else "[red]✗[/]", target.claim, target.found)
    return table


CONTEST = (
    "cores, parts",
    "program",
    "engine",
    "rows/s",
    "s a batch",
    "of nothing",
    "told a row",
    "last / first",
    "MB in store",
)


def contest_table(results: Sequence[interleaved.Result]) -> Table:
    """One line for each contender; `last / first` compares the cost of a row in the last and the first third."""
    title = "steady state; `nothing` and `echo`: the same pipeline with an idle engine"
    table = Table(title=title, box=SIMPLE, padding=(0, 1, 0, 0))
    for column in CONTEST:
        table.add_column(column, justify="left" if column in ("program", "engine") else "right")
    for result in results:
        table.add_row(*_contest_cells(result, _beside(result, results)), end_section=_ends_heat(result, results))
    return table


def _beside(result: interleaved.Result, results: Sequence[interleaved.Result]) -> interleaved.Result | None:
    """The idle engine of the same heat."""
    return next(
        (each for each in results if each.heat is result.heat and each.contender.name == interleaved.SILENT), None
    )


def _ends_heat(result: interleaved.Result, results: Sequence[interleaved.Result]) -> bool:
    return [each for each in results if each.heat is result.heat][-1] is result


def _contest_cells(result: interleaved.Result, idle: interleaved.Result | None) -> list[str]:
    return [
        f"{result.heat.cores}, {result.contender.partitions}", result.heat.stream.name, result.contender.name,
        f"{result.rate:,.0f}", f"{result.latency:.2f}", "–" if idle is None else f"{result.share_of(idle):.0%}",
        f"{result.answers:.2f}", f"{result.growth:.2f}", f"{result.samples[-1].state_bytes / 1e6:,.1f}",
    ]  # fmt: skip


def write_results(results: Sequence[Result], path: Path) -> None:
    """The measurements, one line for each point; an empty cell where nothing was measured."""
    rows = [
        (
            result.point.workload.name, result.point.window, result.point.rate, result.engine, result.c, result.in_c,
            result.bytes_per_fact, result.live, result.clingo, result.naive, int(result.naive_is_bound),
        )
        for result in results
    ]  # fmt: skip
    header = (
        "workload",
        "window",
        "rate",
        "engine_us",
        "c_us",
        "in_c",
        "bytes_per_fact",
        "live",
        "clingo_us",
        "naive_us",
    )
    _write(path, (*header, "naive_is_lower_bound"), rows)


def write_contest(results: Sequence[interleaved.Result], path: Path) -> None:
    """The contenders, one line each."""
    rows = [
        (
            result.heat.about, result.heat.cores, result.heat.stream.name, result.contender.partitions,
            result.contender.name, result.heat.rows, len(result.steady), result.rate, result.latency, result.slowest,
            None if (idle := _beside(result, results)) is None else result.share_of(idle),
            result.answers, result.growth, max(result.held.values(), default=None),
        )
        for result in results
    ]  # fmt: skip
    header = (
        "about", "cores", "program", "partitions", "engine", "rows_a_batch", "batches", "rows_per_s", "latency_s",
        "slowest_s", "of_nothing", "answers_per_row", "last_to_first", "state_bytes",
    )  # fmt: skip
    _write(path, header, rows)


def write_batches(results: Sequence[interleaved.Result], path: Path) -> None:
    """Every batch, those of warming up too; the bytes held where they were looked up."""
    rows = [
        (
            result.heat.about, result.heat.cores, result.heat.stream.name, result.contender.partitions,
            result.contender.name, batch, sample.rows, sample.seconds, sample.answers, sample.state_rows,
            sample.state_bytes, result.held.get(batch),
        )
        for result in results
        for batch, sample in enumerate(result.samples)
    ]  # fmt: skip
    header = (
        "about", "cores", "program", "partitions", "engine", "batch", "rows", "seconds", "answers", "state_records",
        "store_bytes", "state_bytes",
    )  # fmt: skip
    _write(path, header, rows)


def write_verdict(targets: Sequence[Target], path: Path) -> None:
    _write(path, ("target", "found", "holds"), [(target.claim, target.found, int(target.holds)) for target in targets])


def records_table(name: str, records: Sequence[Any]) -> Table:
    """Dataclasses of one kind, one line each; what the kind says of itself is the title."""
    about = " ".join((type(records[0]).__doc__ or "").split())
    table = Table(title=f"{name}: {about[0].lower()}{about[1:]}")
    for column in fields(records[0]):
        table.add_column(column.name.replace("_", " "), justify="left" if column.type in (str, "str") else "right")
    for record in records:
        table.add_row(*map(_cell, astuple(record)))
    return table


def _cell(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or "–"
    return f"{value:,.3g}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"


def write_records(records: Sequence[Any], path: Path) -> None:
    """The same as CSV; of no records there is nothing to write."""
    if records:
        _write(path, [column.name for column in fields(records[0])], map(astuple, records))


def write_samples(samples: Sequence[tuple[int, int]], path: Path) -> None:
    _write(path, ("facts", "bytes_resident"), samples)


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
