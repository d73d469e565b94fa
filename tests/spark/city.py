"""A city whose sensors tell of slow traffic: a program with two stages, and a stream long enough to be disturbed."""

import json
from pathlib import Path
from random import Random

from spark.processes import thalweg
from thalweg.runtimes.stored_path import CheckpointPath

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
# Classes in all buckets, two levels of patterns that are split by the road, and one that is in one bucket.
CASCADE = """
PREFIX : <http://ex/>
NAMED EVENT :Slow AS :Reading and (:speed some xsd:integer[< 20])
NAMED EVENT :Fast AS :Reading and (:speed some xsd:integer[> 60])
NAMED EVENT :Braking { MATCH EVERY :Fast SEQ :Slow WITHIN (5 s)
  IF { EVENT :Fast { ?f :by ?s . ?s :on ?road } EVENT :Slow { ?o :by ?t . ?t :on ?road } } }
NAMED EVENT :Jam { MATCH EVERY :Braking SEQ NOT :Fast WITHIN (9 s)
  IF { EVENT :Braking { ?o :by ?s . ?s :on ?road } EVENT :Fast { ?f :by ?t . ?t :on ?road } } }
NAMED EVENT :Worse { MATCH LAST :Jam SEQ :Jam WITHIN (22 s) }
"""
# Rules that are split by the observation, pieces of an answer set program, and classes; all meet in one bucket.
MIXED = {
    "program.tw": CASCADE,
    "rules.lars": """
@prefix : <http://ex/> .
slow(S)  :- :speed(O,V) in [5], :by(O,S) in [5], V < 20.
jam(R)   :- :Jam_road(E,R) in [9], not calm(R).
calm(R)  :- first(S), :on(S,R), not slow(S).
meet(S)  :- slow(S), seen(S) in [4], not first(S).
""",
    "choice.lp": """
#prefix ex: <http://ex/>.
fast(O) :- ex_speed(O,V), V > 70.
seen(S) :- ex_by(O,S), not ex_by(O,ex_s1).
first(ex_s2) :- ex_by(O,ex_s2).
#show seen/1. #show first/1. #show fast/1.
""",
}
ONTOLOGY = """
Prefix(:=<http://ex/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(Declaration(DataProperty(:speed)) DisjointClasses(:Reading :Sensor) ObjectPropertyRange(:by :Sensor))
"""
SENSORS, ROADS, FACTS_A_TICK, DELAY = 120, 40, 20, 3
XSD = "http://www.w3.org/2001/XMLSchema#"
# Facts of a batch: about six ticks.
SEGMENT = 125
# A name that must not be taken for the value of a column.
CHECKPOINT = "run=1 checkpoint"


def batches(folder: Path) -> int:
    """How many have been delivered."""
    return delivered(folder / CHECKPOINT)


def delivered(checkpoint: CheckpointPath) -> int:
    """How many batches of a checkpoint have been delivered."""
    ledger = checkpoint / "delivered.json"
    return int(json.loads(ledger.read_text())["batch"]) + 1 if ledger.exists() else 0


def late_facts(file: Path) -> list[tuple[int, int, str]]:
    found = map(json.loads, file.read_text().splitlines())
    return sorted((line["t"], line["watermark"], fact) for line in found for fact in line["facts"])


def write_city(folder: Path, ticks: int, program: str | dict[str, str] = PROGRAM) -> None:
    """A program, or several, its background, and readings: many out of order, a few of them late."""
    kinds = {ANSWER_SETS: "program.lp", CASCADE: "program.tw"}
    programs = {kinds.get(program, "program.lars"): program} if isinstance(program, str) else program
    for name, text in programs.items():
        (folder / name).write_text(text)
    random = Random(1)
    if "program.tw" in programs:
        (folder / "city.ofn").write_text(ONTOLOGY)
        (folder / "city.nt").write_text(
            "".join(triple(f"s{each}", "on", f"r{each % ROADS}") for each in range(SENSORS))
        )
        events = (event(random, number, number * 4 // FACTS_A_TICK) for number in range(ticks * FACTS_A_TICK // 4))
        (folder / "readings.nq").write_text("".join(events))
        return
    (folder / "city.facts").write_text("\n".join(f"on(s{each},r{each % ROADS})." for each in range(SENSORS)))
    readings = [reading(random, tick) for tick in range(ticks) for _ in range(FACTS_A_TICK)]
    (folder / "readings.facts").write_text("\n".join(readings))


def behind(random: Random) -> int:
    return DELAY + 2 if random.random() < 0.002 else random.choice((0, 0, 0, 0, 1, 2, 3))


def reading(random: Random, tick: int) -> str:
    when = max(0, tick - behind(random))
    if random.random() < 0.1:
        return f"light(r{random.randrange(ROADS)},{random.randrange(9)}) at {when}."
    return f"speed(s{random.randrange(SENSORS)},{random.randrange(80)}) at {when}."


def event(random: Random, number: int, tick: int) -> str:
    """A graph with its time; a few contradict the ontology."""
    one, graph = f"o{number}", f"<http://ex/g{number}>"
    when = f'"{max(0, tick - behind(random))}"^^<{XSD}integer>'
    by = one if random.random() < 0.01 else f"s{random.randrange(SENSORS)}"
    return (
        f"{graph} <http://www.w3.org/ns/prov#generatedAtTime> {when} .\n"
        f"<http://ex/{one}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Reading> {graph} .\n"
        f'<http://ex/{one}> <http://ex/speed> "{random.randrange(80)}"^^<{XSD}integer> {graph} .\n'
        f"{triple(one, 'by', by, graph)}"
    )


def cut_events(file: Path, events: int = 200) -> None:
    """Puts the events of a file into files of a folder: what is not cut into blocks is read file by file."""
    lines = file.read_text().splitlines(keepends=True)
    file.unlink()
    file.mkdir()
    # An event has four lines.
    for number, start in enumerate(range(0, len(lines), 4 * events)):
        (file / f"{number:03}.nq").write_text("".join(lines[start : start + 4 * events]))


def triple(one: str, name: str, other: str, graph: str = "") -> str:
    return f"<http://ex/{one}> <http://ex/{name}> <http://ex/{other}> {graph} .\n"


def run_words(folder: Path, name: str, *options: str | Path) -> list[str | Path]:
    """What follows `thalweg run` to answer the stream into files of this name."""
    return [*city_words(folder), "--stream", readings_of(folder), *result_words(folder, name), *options]


def city_words(folder: Path) -> list[str | Path]:
    """The programs, the background and how to run them: all but the stream, and where the answers go."""
    background: Path = folder / "city.facts"
    programs, told = [folder / "program.lars"], ("--emit", "changes")
    if (folder / "program.lp").exists():
        programs, told = [folder / "program.lp"], ("--window", "5", "--slide", "3", "--models", "all")
    elif (folder / "program.tw").exists():
        programs, told = [folder / "program.tw", folder / "city.ofn"], ("--event", ":Jam", "--event", ":Worse")
        background = folder / "city.nt"
    if (folder / "choice.lp").exists():
        programs += [folder / "rules.lars", folder / "choice.lp"]
        told = ("--window", "4", "--slide", "3")
    return [*programs, "--background", background, *told, "--delay", str(DELAY)]


def readings_of(folder: Path) -> Path:
    """The stream of a city."""
    return folder / ("readings.nq" if (folder / "program.tw").exists() else "readings.facts")


def result_words(folder: Path, name: str) -> tuple[str | Path, ...]:
    """Where answers and late facts go."""
    return ("--out", folder / f"{name}.jsonl", "--late", folder / f"{name}.late.jsonl")


def spark_words(folder: Path, master: str, *options: str | Path) -> list[str | Path]:
    """The same on Spark, with a checkpoint."""
    place = ("--runtime", "spark", "--master", master, "--checkpoint", folder / CHECKPOINT)
    return run_words(folder, "spark", *place, *options)


def spark_line(folder: Path, master: str, *options: str | Path, waiting: int = 32) -> list[str]:
    """The command line of a process that does it, in small batches."""
    return thalweg("run", *spark_words(folder, master, *options), segment=SEGMENT, waiting=waiting)


def assert_same(folder: Path) -> None:
    assert_same_answers(folder)
    assert late_facts(folder / "spark.late.jsonl") == late_facts(folder / "embedded.late.jsonl") != []


def assert_same_answers(folder: Path) -> None:
    spark, embedded = (sorted((folder / f"{name}.jsonl").read_text().splitlines()) for name in ("spark", "embedded"))
    assert embedded
    assert spark == embedded
