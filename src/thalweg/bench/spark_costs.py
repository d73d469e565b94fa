"""What a fact costs on Spark: the CPU time of the driver's Python, of Java and of workers, by source and program.

The same join over facts, CSV, Parquet, JSON Lines and messages of Kafka says what sources cost; a query, a cascade of
events and the six programs of the demo say what programs cost. Starting Spark takes longer than a small stream, so
each figure is the difference between two runs of different sizes, divided by that of their facts.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import uuid4

import numpy as np

from thalweg.bench import event_city
from thalweg.bench.command import COMMAND
from thalweg.bench.interleaved import RATE, WINDOW, workplace
from thalweg.bench.spark_processes import CommandRun, measured_run
from thalweg.bench.workload import KEYED
from thalweg.connectors.kafka import KafkaSink
from thalweg.demo import write_files
from thalweg.demo.smart_city import MINUTES, SEED, SENSORS, observed_at, quads

ON_SPARK: Final = ("--runtime", "spark", "--master", "local[2]", "--partitions", "2")
BROKER: Final = "THALWEG_KAFKA"
"""The variable that names a broker of Kafka, as in 127.0.0.1:9092."""

_ROADS: Final = 20_000
_CITY_ROADS: Final = 200
_QUERY: Final = """PREFIX : <http://ex/>
REGISTER ISTREAM :pairs AS SELECT ?r ?v ?w FROM NAMED WINDOW :w ON STREAM :readings [RANGE 10s, SLIDE 5s]
WHERE { WINDOW :w { ?r :speed ?v . ?r :load ?w FILTER(?v > 20) } }
"""
_MAPPING: Final = "p(a,b) at t"

RunPair = tuple[CommandRun, CommandRun]
"""The same command on Spark, and in one process."""


@dataclass(frozen=True, slots=True)
class MeasuredStream:
    """A program over a stream that can have any size; `write` returns the words of the command."""

    program: str
    source: str
    write: Callable[[Path, int], Sequence[str]]
    sizes: tuple[int, int]
    facts_each: int = 1

    @property
    def facts(self) -> int:
        """By how many the two runs differ."""
        return (self.sizes[1] - self.sizes[0]) * self.facts_each

    def __str__(self) -> str:
        return f"{self.program} over {self.source}: {self.sizes[0]:,} and {self.sizes[1]:,}"


@dataclass(frozen=True, slots=True)
class CostOfFact:
    """CPU time for each further fact (event, observation) on Spark, by process, and of all in one process."""

    program: str
    source: str
    facts: int
    driver_us: float
    java_us: float
    workers_us: float
    spark_us: float
    embedded_us: float
    start_s: float


def streams(quick: bool) -> list[MeasuredStream]:
    """What is measured: a quick run has fewer sources, and messages of Kafka are read where a broker is named."""
    many, some, few, evenings = (
        ((100_000, 400_000), (40_000, 160_000), (4_000, 16_000), (1, 4))
        if quick
        else ((500_000, 5_000_000), (200_000, 1_000_000), (20_000, 100_000), (2, 12))
    )
    sources = {"facts": _facts, "Parquet": _parquet}
    if not quick:
        sources |= {"CSV": _csv, "JSON Lines": _json_lines}
    if os.environ.get(BROKER):
        sources["Kafka JSON"] = _kafka
    return [
        *(MeasuredStream("join", name, write, many) for name, write in sources.items()),
        MeasuredStream("query", "facts", _query, some),
        MeasuredStream("cascade", "N-Quads", _cascade, few),
        MeasuredStream("city", "N-Quads", _city, evenings, facts_each=observed_at(60 * MINUTES)),
    ]


def costs(planned: Iterable[MeasuredStream], log: Callable[[str], None]) -> Iterator[CostOfFact]:
    """Runs everything twice on Spark, and twice in one process."""
    for stream in planned:
        log(str(stream))
        with workplace() as folder:
            yield measure(stream, Path(folder))


def measure(stream: MeasuredStream, folder: Path) -> CostOfFact:
    """The marginal cost of a stream's facts."""
    runs: list[RunPair] = []
    for number, size in enumerate(stream.sizes):
        place = folder / str(number)
        place.mkdir()
        words = [
            *COMMAND,
            *stream.write(place, size),
            "--emit",
            "changes",
            "--out",
            str(place / "out.jsonl"),
            "--quiet",
        ]
        # On Spark first: a consumer of Kafka reads a topic anew in every run.
        runs.append((measured_run([*words, *ON_SPARK]), measured_run(words)))
    return cost_of(stream, *runs)


def cost_of(stream: MeasuredStream, small: RunPair, large: RunPair) -> CostOfFact:
    """What runs over two sizes, on Spark and in one process, say of a fact by which they differ."""
    each = (large[0].cpu - small[0].cpu).per(stream.facts)
    alone = (large[1].cpu - small[1].cpu).per(stream.facts)
    start = small[0].cpu.total - each.total * stream.sizes[0] * stream.facts_each / 1e6
    return CostOfFact(
        stream.program,
        stream.source,
        stream.facts,
        each.driver,
        each.java,
        each.workers,
        each.total,
        alone.total,
        start,
    )


# Streams --------------------------------------------------------------------------------------------------------------


def _pairs(facts: int) -> Iterator[tuple[int, Any]]:
    """The pairs of the join, tick by tick."""
    return enumerate(islice(KEYED.values(WINDOW, RATE), facts // RATE))


def _columns(facts: int) -> dict[str, Any]:
    ticks = [*_pairs(facts)]
    values = np.concatenate([pairs for _, pairs in ticks])
    return {"a": values[:, 0], "b": values[:, 1], "t": np.repeat([tick for tick, _ in ticks], RATE)}


def _join(folder: Path) -> str:
    return _write(folder / "join.lars", [KEYED.rules(WINDOW)])


def _facts(folder: Path, facts: int) -> list[str]:
    lines = (f"p({a},{b}) at {tick}.\n" for tick, pairs in _pairs(facts) for a, b in pairs.tolist())
    return [_join(folder), "--stream", _write(folder / "p.facts", lines)]


def _csv(folder: Path, facts: int) -> list[str]:
    import pyarrow as pa
    import pyarrow.csv as csv

    csv.write_csv(pa.table(_columns(facts)), folder / "p.csv")
    return [_join(folder), "--stream", str(folder / "p.csv"), "--map", _MAPPING]


def _parquet(folder: Path, facts: int) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(_columns(facts)), folder / "p.parquet", row_group_size=100_000)
    return [_join(folder), "--stream", str(folder / "p.parquet"), "--map", _MAPPING]


def _messages(facts: int) -> Iterator[str]:
    return (json.dumps({"a": a, "b": b, "t": tick}) for tick, pairs in _pairs(facts) for a, b in pairs.tolist())


def _json_lines(folder: Path, facts: int) -> list[str]:
    stream = _write(folder / "p.jsonl", (f"{message}\n" for message in _messages(facts)))
    return [_join(folder), "--stream", stream, "--map", _MAPPING]


def _kafka(folder: Path, facts: int) -> list[str]:
    """A new topic, which the broker makes; all messages go to one partition, so that they keep their order."""
    topic = f"kafka://{os.environ[BROKER]}/thalweg-bench-{uuid4().hex}"
    sink = KafkaSink(topic)
    sink.publish(message.encode() for message in _messages(facts))
    sink.flush()
    sink.close()
    return [_join(folder), "--stream", f"{topic}?until=end", "--map", _MAPPING]


def _query(folder: Path, facts: int) -> list[str]:
    random = Random(facts)
    lines = (
        f"<http://ex/{random.choice(('speed', 'load'))}>(<http://ex/r{random.randrange(_ROADS)}>,"
        f"{random.randrange(60)}) at {number // RATE}.\n"
        for number in range(facts)
    )
    return [_write(folder / "pairs.rspql", [_QUERY]), "--stream", _write(folder / "readings.facts", lines)]


def _cascade(folder: Path, events: int) -> list[str]:
    ontology, background = event_city.write_city(folder, _CITY_ROADS)
    program = _write(folder / "city.tw", [event_city.program()])
    stream = event_city.write_stream(folder, events, _CITY_ROADS)
    return [program, str(ontology), "--background", str(background), "--stream", str(stream)]


def _city(folder: Path, evenings: int) -> list[str]:
    """The city of the demo, whose evening comes again and again, with other observations."""
    known, programs, files = write_files(folder)
    words = [*map(str, programs), "--background", str(known)]
    for sensors, file in zip(SENSORS, files, strict=True):
        lines = (
            f"{later(line, number, sensors.stream)}\n"
            for number in range(evenings)
            for line in quads(sensors, SEED + number)
        )
        words += ["--stream", _write(file, lines)]
    return words


def later(line: str, evening: int, stream: str) -> str:
    """A line of an evening's observations as one of a later evening, with names of its own.

    >>> line = '<http://ex/city#air1> <http://ex/at> "2026-11-14T17:30:00Z" .'
    >>> later(line, 1, "air")
    '<http://ex/city#aire1_1> <http://ex/at> "2026-11-14T18:00:00Z" .'
    """

    def moved(match: re.Match[str]) -> str:
        moment = datetime.fromisoformat(match[0]) + timedelta(minutes=evening * MINUTES)
        return f"{moment:%Y-%m-%dT%H:%M:%SZ}"

    renamed = line.replace(f"#{stream}", f"#{stream}e{evening}_")
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", moved, renamed)


def _write(path: Path, lines: Iterable[str]) -> str:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    return str(path)
