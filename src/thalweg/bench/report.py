"""The report of a benchmark: tables on the console, the same rows as CSV, and its targets."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BenchmarkTarget:
    """A claim, the measured figure, and whether the figure supports the claim."""

    claim: str
    figure: str
    holds: bool


def at_most(what: str, figure: float, limit: float, unit: str) -> BenchmarkTarget:
    """A figure with an upper limit.

    >>> at_most("a gap", 0.5, 1, "s")
    BenchmarkTarget(claim='a gap, at most 1 s', figure='0.5 s', holds=True)
    """
    return BenchmarkTarget(f"{what}, at most {limit:,} {unit}", f"{figure:,.3g} {unit}", figure <= limit)


def at_least(claim: str, ratio: float, limit: float, digits: int = 1) -> BenchmarkTarget:
    """A ratio with a lower limit, which the claim states."""
    return BenchmarkTarget(claim, f"{ratio:,.{digits}f} ×", ratio >= limit)


def as_row(record: Any) -> Row:
    """A dataclass as column names and values."""
    return record if isinstance(record, Mapping) else asdict(record)


def as_table(title: str, records: Sequence[Any]) -> Table:
    """One line for each record; texts to the left, numbers to the right."""
    table, rows = Table(title=title), list(map(as_row, records))
    for column in rows[0] if rows else ():
        is_text = any(isinstance(row[column], str) for row in rows)
        table.add_column(column.replace("_", " "), justify="left" if is_text else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    return table


def _cell(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or "–"
    return f"{value:,.3g}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"


def verdict_table(targets: Iterable[BenchmarkTarget]) -> Table:
    """One line for each target."""
    table = Table("", "target", "found", title="targets")
    for target in targets:
        table.add_row("[green]✓[/]" if target.holds else "[red]✗[/]", target.claim, target.figure)
    return table


class BenchmarkReport:
    """The results of one benchmark: printed, and written to a folder of its name."""

    def __init__(self, out: Path, name: str) -> None:
        self.folder = out / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.console, self.stderr = Console(), Console(stderr=True)

    def log(self, text: str) -> None:
        """Prints what is being measured now."""
        self.stderr.log(text)

    def add(self, name: str, records: Sequence[Any], title: str = "") -> None:
        """Prints records and writes them as CSV; by default their docstring is the title."""
        about = " ".join((type(records[0]).__doc__ or "").split()) if records and not title else title
        self.show(f"{name}: {about[0].lower()}{about[1:]}" if about else name, records)
        self.write(name, records)

    def show(self, title: str, records: Sequence[Any]) -> None:
        self.console.print(as_table(title, records))

    def write(self, name: str, records: Sequence[Any]) -> None:
        """Writes `name.csv`; of no records there is nothing to write."""
        if not records:
            return
        with (self.folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(as_row(records[0]))
            for record in records:
                writer.writerow(int(value) if isinstance(value, bool) else value for value in as_row(record).values())

    def close(self, targets: Sequence[BenchmarkTarget]) -> None:
        """The verdict, and where everything is."""
        self.console.print(verdict_table(targets))
        rows = [{"target": target.claim, "found": target.figure, "holds": target.holds} for target in targets]
        self.write("verdict", rows)
        self.console.print(f"results are in {self.folder}")
