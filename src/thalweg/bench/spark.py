"""The Spark runtime beside what it could cost at least, and beside what Spark offers itself.

◇, a join and a closure over ids from Parquet, on one core and on two. Beside each the same pipeline with an engine
that does nothing: its conclusions are none, or its input again. Beside the join Spark's own join of two streams. All of
it in one run and in turns; times differ from machine to machine, and the verdict is about ratios.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from thalweg.bench.interleaved import ECHO, ENGINE, SILENT, SPARK, Contender, Heat, Result, compete, engines, session
from thalweg.bench.plot import draw_along, draw_partitions, draw_throughput
from thalweg.bench.streams import CHAIN, DENSE, KEYED, ONE, RATE, WINDOW, Stream
from thalweg.bench.table import Target, contest_table, verdict_table, write_batches, write_contest, write_verdict
from thalweg.runtimes.rule_engine import RuleEngine

_ENOUGH: Final = 0.6
_FLAT: Final = 1.25
_BOUNDED: Final = 1.5
_CORES: Final = 2


def heats(quick: bool) -> list[Heat]:
    """What is measured, those on the same number of cores together."""
    rows = 80_000 if quick else 400_000
    own = Contender(SPARK, None, _CORES, most=10 if quick else 60)
    main = [
        Heat("engines", _CORES, ONE, engines(_CORES), 4 if quick else 8, rows),
        Heat("engines", _CORES, DENSE, (*engines(_CORES), own), 8 if quick else 17, rows),
        Heat("engines", _CORES, KEYED, engines(_CORES), 5 if quick else 11, rows),
        Heat("engines", _CORES, CHAIN, engines(_CORES), 4 if quick else 8, rows),
        Heat("partitions", _CORES, DENSE, _spread((1, 4) if quick else (1, 2, 4, 8)), 4 if quick else 7, rows),
    ]
    streams = (DENSE,) if quick else (ONE, KEYED, DENSE, CHAIN)
    single = [Heat("engines", 1, stream, engines(1), 4 if quick else 5, rows) for stream in streams]
    if not quick:
        # On one core Spark's own join is waited for with fewer rows.
        pair = Contender(ENGINE, RuleEngine, 1), Contender(SPARK, None, 1, most=40)
        single.append(Heat("spark", 1, DENSE, pair, 4, 80_000))
    return [*single, *main]


def _spread(partitions: Iterable[int]) -> tuple[Contender, ...]:
    return tuple(Contender(ENGINE, RuleEngine, number) for number in partitions)


def main(out: Path, quick: bool = False) -> None:
    """Measures, prints the tables, and writes CSV files and pictures to the folder `spark` of `out`."""
    folder, console = out / "spark", Console()
    folder.mkdir(parents=True, exist_ok=True)
    results = list(_measured(heats(quick)))
    targets = verdict(results)
    console.print(contest_table(results))
    console.print(verdict_table(targets))
    write_contest(results, folder / "results.csv")
    write_batches(results, folder / "batches.csv")
    write_verdict(targets, folder / "verdict.csv")
    draw_throughput(results, folder)
    draw_partitions(results, folder)
    draw_along(_heat(results, DENSE), folder)
    console.print(f"tables and pictures are in {folder}")


def _measured(planned: list[Heat]) -> Iterator[Result]:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("measuring", total=len(planned))
        for cores, some in groupby(planned, key=lambda heat: heat.cores):
            progress.console.log(f"a session on {cores} {'core' if cores == 1 else 'cores'}")
            with session(cores) as spark:
                for heat in some:
                    names = ", ".join(f"{each.name}/{each.partitions}" for each in heat.contenders)
                    progress.console.log(f"{heat.stream.name}: {names}; {heat.batches} × {heat.rows:,} rows")
                    yield from compete(spark, heat)
                    progress.advance(task)


def verdict(results: list[Result]) -> list[Target]:
    """The engine against the targets, as ratios within one run."""
    dense = {result.contender.name: result for result in _heat(results, DENSE)}
    targets = [
        *(_share(results, stream, other) for stream in (KEYED, DENSE) for other in (SILENT, ECHO)),
        _faster(dense[ENGINE], dense[SPARK]),
    ]
    single = {result.contender.name: result for result in results if result.heat.about == "spark"}
    if single:
        targets.append(_faster(single[ENGINE], single[SPARK]))
    return [*targets, _flat(dense[ENGINE], dense[SILENT]), _bounded(dense[ENGINE])]


def _heat(results: list[Result], stream: Stream) -> list[Result]:
    """Those that ran beside each other on a stream, on all cores."""
    return [
        result
        for result in results
        if (result.heat.about, result.heat.cores, result.heat.stream) == ("engines", _CORES, stream)
    ]


def _share(results: list[Result], stream: Stream, other: str) -> Target:
    beside = {result.contender.name: result for result in _heat(results, stream)}
    share = beside[ENGINE].share_of(beside[other])
    what = "concludes nothing" if other == SILENT else "echoes its input"
    claim = f"{_name(beside[ENGINE])}: at least {_ENOUGH:.0%} of the pipeline whose engine {what}"
    return Target(claim, f"{share:.0%}", share >= _ENOUGH)


def _faster(mine: Result, own: Result) -> Target:
    ratio = mine.share_of(own)
    return Target(f"{_name(mine)}: faster than Spark's own join of two streams", f"{ratio:.1f} ×", ratio > 1)


def _flat(mine: Result, idle: Result) -> Target:
    """A machine that slows down slows both; what counts is what the engine adds to that."""
    claim = f"{_name(mine)}: cost per row in the last third at most {_FLAT} × that in the first"
    found = f"{mine.growth:.2f} ×, of doing nothing {idle.growth:.2f} ×"
    return Target(claim, found, mine.growth <= _FLAT * max(1, idle.growth))


def _bounded(mine: Result) -> Target:
    claim = f"{_name(mine)}: state in the store in the last third at most {_BOUNDED} × that in the first"
    per_fact = max(mine.held.values()) / (RATE * (WINDOW + 1))
    found = f"{mine.held_growth:.2f} ×, {per_fact:.0f} bytes for each fact in the window"
    return Target(claim, found, mine.held_growth <= _BOUNDED)


def _name(result: Result) -> str:
    cores = "1 core" if result.heat.cores == 1 else f"{result.heat.cores} cores"
    return f"{result.heat.stream.name}, {cores}"
