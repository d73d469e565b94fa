"""A city whose sensors tell of slow traffic: a program with two stages, and a stream long enough to be disturbed."""

import json
from pathlib import Path
from random import Random

from spark.processes import thalweg

PROGRAM = """
slow(R)   :- speed(S,V) in [5], on(S,R), V < 20.
jam(R)    :- slow(R), not light(R,_) in [3].
dark(R,N) :- slow(R), N = count{L : light(R,L) in [40]}, N < 3.
"""
# Answered by the engine in two buckets, and by clingo in one.
ANSWER_SETS = """
slow(S) :- speed(S,V), V < 20, not speed(S,79).
dim(R)  :- light(R,L), L < 4, not light(R,8).
{ visit(R) : light(R,0) } 1.
:- visit(R), light(R,5).
"""
SENSORS, ROADS, FACTS_A_TICK, DELAY = 120, 40, 20, 3
# Sixteen segments are a batch: a hundred ticks.
SEGMENT = 125
# A name that must not be taken for the value of a column.
CHECKPOINT = "run=1 checkpoint"


def batches(folder: Path) -> int:
    """How many have been delivered."""
    ledger = folder / CHECKPOINT / "delivered.json"
    return int(json.loads(ledger.read_text())["batch"]) + 1 if ledger.exists() else 0


def late_facts(file: Path) -> list[tuple[int, int, str]]:
    found = map(json.loads, file.read_text().splitlines())
    return sorted((line["t"], line["watermark"], fact) for line in found for fact in line["facts"])


def write_city(folder: Path, ticks: int, program: str = PROGRAM) -> None:
    """A program, its background, and readings: many out of order, a few of them late."""
    (folder / f"program.{'lp' if program == ANSWER_SETS else 'lars'}").write_text(program)
    (folder / "city.facts").write_text("\n".join(f"on(s{each},r{each % ROADS})." for each in range(SENSORS)))
    random = Random(1)
    readings = [reading(random, tick) for tick in range(ticks) for _ in range(FACTS_A_TICK)]
    (folder / "readings.facts").write_text("\n".join(readings))


def reading(random: Random, tick: int) -> str:
    behind = DELAY + 2 if random.random() < 0.002 else random.choice((0, 0, 0, 0, 1, 2, 3))
    if random.random() < 0.1:
        return f"light(r{random.randrange(ROADS)},{random.randrange(9)}) at {max(0, tick - behind)}."
    return f"speed(s{random.randrange(SENSORS)},{random.randrange(80)}) at {max(0, tick - behind)}."


def run_line(folder: Path, name: str, *options: str | Path) -> list[str]:
    files = ("--stream", folder / "readings.facts", "--background", folder / "city.facts")
    out = ("--out", folder / f"{name}.jsonl", "--late", folder / f"{name}.late.jsonl")
    answer_sets = folder / "program.lp"
    if answer_sets.exists():
        program, told = answer_sets, ("--window", "5", "--slide", "3", "--models", "all")
    else:
        program, told = folder / "program.lars", ("--emit", "changes")
    return thalweg("run", program, *files, *told, "--delay", str(DELAY), *out, *options, segment=SEGMENT)


def spark_line(folder: Path, master: str, *options: str | Path) -> list[str]:
    place = ("--runtime", "spark", "--master", master, "--checkpoint", folder / CHECKPOINT)
    return run_line(folder, "spark", *place, *options)


def assert_same(folder: Path) -> None:
    spark, embedded = (sorted((folder / f"{name}.jsonl").read_text().splitlines()) for name in ("spark", "embedded"))
    assert embedded
    assert spark == embedded
    assert late_facts(folder / "spark.late.jsonl") == late_facts(folder / "embedded.late.jsonl") != []
