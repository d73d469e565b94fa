"""An ontology on Spark gives what it gives in one process, however the answers are told and written."""

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from spark.plain_facts import plain
from spark.processes import run, thalweg
from thalweg import api
from thalweg.api.answer_values import Change, Snapshot
from thalweg.connectors.readers import open_reader
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.time import Clock
from thalweg.planning.partition import partition
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONTOLOGY = """
@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Student rdfs:subClassOf :Person . :Person owl:disjointWith :Course . :Course a owl:Class .
:teaches rdfs:domain :Teacher ; rdfs:range :Course ; owl:inverseOf :taughtBy .
:knows a owl:SymmetricProperty ; rdfs:subPropertyOf :near . :partOf a owl:TransitiveProperty .
:age a owl:FunctionalProperty ; rdfs:range xsd:integer .
:Busy owl:equivalentClass [ a owl:Restriction ; owl:onProperty :teaches ; owl:someValuesFrom :Course ] .
:room1 :partOf :floor1 . :floor1 :partOf :house .
"""
STREAM = """
1 <http://ex.org/bob> <http://ex.org/teaches> <http://ex.org/c1> .
1 <http://ex.org/bob> <http://ex.org/knows> <http://ex.org/eve> .
2 <http://ex.org/desk> <http://ex.org/partOf> <http://ex.org/room1> .
2 <http://ex.org/eve> <http://www.w3.org/2002/07/owl#sameAs> <http://ex.org/eva> .
3 <http://ex.org/eve> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/Student> .
4 <http://ex.org/bob> <http://ex.org/age> "41"^^<http://www.w3.org/2001/XMLSchema#integer> .
5 <http://ex.org/bob> <http://ex.org/age> "42"^^<http://www.w3.org/2001/XMLSchema#integer> .
5 <http://ex.org/eva> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/Course> .
7 <http://ex.org/Lamp> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://ex.org/Thing> .
7 <http://ex.org/lamp> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/Lamp> .
9 _:someone <http://ex.org/knows> <http://ex.org/bob> .
3 <http://ex.org/late> <http://ex.org/knows> <http://ex.org/bob> .
"""
WINDOW, LAST = 3, 14

Emit = Literal["snapshot", "changes"]


def write(folder: Path) -> tuple[Path, Path]:
    ontology, stream = folder / "city.ttl", folder / "city.tnt"
    ontology.write_text(ONTOLOGY)
    stream.write_text(STREAM.lstrip())
    return ontology, stream


@pytest.mark.slow
def test_the_command_writes_the_same_lines(tmp_path: Path) -> None:
    ontology, stream = write(tmp_path)
    files = {}
    for runtime in ("embedded", "spark"):
        out, late = tmp_path / f"{runtime}.nq", tmp_path / f"{runtime}.late"
        about = ("--stream", stream, "--profile", "rdfs", "--window", str(WINDOW), "--emit", "intervals")
        where = ("--runtime", runtime, *(("--partitions", "2") if runtime == "spark" else ()))
        line = thalweg(
            "run", ontology, *about, *where, "--to", str(LAST), "--format", "nquads", "--out", out, "--late", late
        )
        said = tmp_path / f"{runtime}.txt"
        assert run(line, said) == 0, said.read_text()
        files[runtime] = [sorted(file.read_bytes().splitlines()) for file in (out, late, said)]
    assert files["spark"] == files["embedded"]
    assert all(files["embedded"]), "there are answers, late facts, and a schema on the stream"


def test_rules_for_a_schema_and_rules_over_triples(session: "SparkSession", tmp_path: Path) -> None:
    """Both in one query, because each takes seconds; the command above tells intervals."""
    ontology, _ = write(tmp_path)
    options = {"profile": "rl", "window": WINDOW}
    program, schema = (
        api.load(ontology, **each, report=[].append) for each in (options, {**options, "schema_stream": True})
    )
    assert sum(stage.split for stage in partition(program).stages) > 1
    asked: list[tuple[Program, Emit]] = [(program, "snapshot"), (schema, "changes")]
    rows = [(str(fact), event.tick) for event in events() for fact in event.facts]
    facts = session.createDataFrame(rows, "fact string, t long").coalesce(1)
    found = reduce(lambda some, more: some.unionAll(more), (told(*each, facts, n) for n, each in enumerate(asked)))
    collected = [tuple(row) for row in found.collect()]
    for number, (each, emit) in enumerate(asked):
        assert sorted(text for place, text in collected if place == number) == embedded(each, emit) != [], emit


def events() -> list[Event]:
    """The stream without its last line: what is late on a stream is in time in a table."""
    words = Dictionary()
    reader = open_reader("city.tnt", None, words, Clock())
    lines = "\n".join(STREAM.strip().splitlines()[:-1])
    items = [*reader.feed(lines.encode()), *reader.finish()]
    return [Event(item[0], tuple(item[1].facts(words))) for item in items if isinstance(item, tuple)]


def told(program: Program, emit: Emit, facts: "DataFrame", number: int) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    answers = reason(program, facts, emit=emit, end=LAST, partitions=2)
    fact = F.concat("predicate", F.lit("("), F.array_join("args", ","), F.lit(")"))
    when = [name for name in answers.columns if name not in ("predicate", "args")]
    return answers.select(F.lit(number), F.concat_ws(" ", *when, fact))


def embedded(program: Program, emit: Emit) -> list[str]:
    found: list[str] = []
    for each in api.run(program, stream=events(), emit=emit, end=LAST, report=lambda _: None):
        match each:
            case Snapshot(tick, facts):
                found += [f"{tick} {plain(fact)}" for fact in facts]
            case Change(tick, begin, end):
                found += [f"{tick} {op} {plain(fact)}" for op, some in (("+", begin), ("-", end)) for fact in some]
    return sorted(found)
