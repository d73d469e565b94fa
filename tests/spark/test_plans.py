"""Queries, and plans of several kinds, on Spark give what they give in one process."""

import json
from pathlib import Path
from random import Random

import pytest

from spark.commands import run
from thalweg import api
from thalweg.demo import write_files

pytestmark = pytest.mark.usefixtures("in_session")

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
CSRBENCH = Path(__file__).parents[3] / "shared" / "data" / "csrbench"
RULES = """
@prefix : <http://ex/> .
:slow(R)  :- :speed(R,V) in [2], V < 30.
:watch(R) :- :slow(R), :fast(R,V) in [5].
:move(R)  :- :speed(R,V) in [3], ex_go(R).
:calm(R)  :- :fast(R,V) from made in [4], not :slow(R).
"""
CHOICE = "#prefix ex: <http://ex/>. 1 { ex_go(R) : ex_slow(R) } 1 :- ex_slow(_). #show ex_go/1."
MADE = """PREFIX : <http://ex/>
REGISTER RSTREAM :made AS CONSTRUCT { ?r :fast ?v } FROM NAMED WINDOW :w ON STREAM :readings [RANGE 4s, SLIDE 3s]
WHERE { WINDOW :w { ?r :speed ?v . FILTER(?v > 20) } }"""
LATER = """PREFIX : <http://ex/>
SELECT ?r (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON STREAM :rules [RANGE 6s, SLIDE 2s]
WHERE { WINDOW :w { ?r a ?c } } GROUP BY ?r"""


def both(programs: list[Path], stream: Path, *options: str) -> tuple[list[str], list[str]]:
    """The lines that the command writes in one process, and on Spark."""
    found = []
    for runtime in ("embedded", "spark"):
        out = stream.with_name(f"{runtime}.jsonl")
        about = ("--stream", stream, "--out", out, "--runtime", runtime, *options)
        run(*programs, *about)
        found.append(out.read_text().splitlines())
    return found[0], found[1]


def test_a_plan_of_rules_queries_and_answer_sets(tmp_path: Path) -> None:
    random = Random(1)
    names = ("rules.lars", "choice.lp", "made.rspql", "later.rspql")
    for name, text in zip(names, (RULES, CHOICE, MADE, LATER), strict=True):
        (tmp_path / name).write_text(text)
    facts = (f"<http://ex/speed>(<http://ex/{random.choice('abc')}>,{random.randrange(60)})" for _ in range(60))
    (tmp_path / "readings.facts").write_text("".join(f"{fact} at {tick}.\n" for tick, fact in enumerate(facts)))
    alone, spread = both([tmp_path / name for name in names], tmp_path / "readings.facts", "--emit", "changes")
    assert spread == alone
    assert len(alone) > 100


def test_the_six_programs_of_the_demo_are_split(tmp_path: Path) -> None:
    known, programs, _ = write_files(tmp_path)
    part = api.load_part(programs, background=known, report=lambda _: None)
    assert [stage["partitions"] for stage in part.explain(2).as_data()["stages"]] == [2, 1]


@pytest.mark.slow
def test_the_six_programs_of_the_demo(tmp_path: Path) -> None:
    """Byte for byte; the tutorial's test runs them on Spark, too."""
    known, programs, streams = write_files(tmp_path)
    about = ["--background", known, *(word for stream in streams for word in ("--stream", stream))]
    for runtime in ("embedded", "spark"):
        run(*programs, *about, "--runtime", runtime, "--out", tmp_path / f"{runtime}.jsonl")
    alone, spread = ((tmp_path / f"{runtime}.jsonl").read_bytes() for runtime in ("embedded", "spark"))
    assert spread == alone
    assert len(alone.splitlines()) > 50


RAISED = "@prefix : <http://ex/> . slow(R) :- :speed(R,V) in [3], V < 30. calm(R) :- slow(R), not busy(R), not shut(R)."
PIECES = """#prefix ex: <http://ex/>.
busy(R) :- ex_load(R,N), N > 5, not ex_load(R,0).
shut(R) :- ex_closed(R), not ex_opened(R). 1 { pick(R) : ex_closed(R) } 1.
#show busy/1. #show shut/1. #show pick/1."""


def test_rules_and_pieces_that_are_split_beside_each_other(tmp_path: Path) -> None:
    random = Random(4)
    (tmp_path / "rules.lars").write_text(RAISED)
    (tmp_path / "pieces.lp").write_text(PIECES)
    with (tmp_path / "readings.facts").open("w") as file:
        for tick in sorted([*range(80)] * 5):
            road, number = f"<http://ex/r{random.randrange(7)}>", random.randrange(60)
            facts = f"speed>({road},{number})", f"load>({road},{number % 9})", f"closed>({road})", f"opened>({road})"
            file.write(f"<http://ex/{random.choice(facts)} at {tick}.\n")
    programs = [tmp_path / "rules.lars", tmp_path / "pieces.lp"]
    part = api.load_part(programs, report=lambda _: None)
    assert [stage["partitions"] for stage in part.explain(2).as_data()["stages"]] == [2, 2, 1, 1]
    alone, spread = both(programs, tmp_path / "readings.facts")
    assert spread == alone
    assert len(alone) > 100


SPLIT = """PREFIX : <http://ex/>
REGISTER ISTREAM :pairs AS SELECT ?r ?v ?w FROM NAMED WINDOW :w ON STREAM :readings [RANGE 5s, SLIDE 2s]
WHERE { WINDOW :w { ?r :speed ?v . ?r :load ?w FILTER(?v > 20) FILTER NOT EXISTS { ?r a :Closed } } }"""


def test_a_query_that_is_split(tmp_path: Path) -> None:
    random = Random(2)
    (tmp_path / "pairs.rspql").write_text(SPLIT)
    with (tmp_path / "readings.facts").open("w") as file:
        for tick in sorted([*range(60)] * 6):
            road = f"<http://ex/r{random.randrange(9)}>"
            facts = f"speed>({road},{random.randrange(60)})", f"load>({road},{tick})", f"Closed>({road})"
            file.write(f"<http://ex/{random.choices(facts, (5, 5, 1))[0]} at {tick}.\n")
    part = api.load_part([tmp_path / "pairs.rspql"], report=lambda _: None)
    assert len(part.explain(2).as_data()["stages"]) == 2
    alone, spread = both([tmp_path / "pairs.rspql"], tmp_path / "readings.facts")
    assert spread == alone
    assert len(alone) > 10


SITE = """Prefix(:=<http://ex/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  Declaration(DataProperty(:celsius)) DisjointClasses(:Reading :Room) ClassAssertion(:Room :r1)
  EquivalentClasses(:HotReading ObjectIntersectionOf(:Reading
    DataSomeValuesFrom(:celsius DatatypeRestriction(xsd:decimal xsd:minInclusive "20"^^xsd:integer))))
)"""
COOLING = """PREFIX : <http://ex/>
NAMED EVENT :Hot  AS :HotReading
NAMED EVENT :Cold AS :Reading and (:celsius some xsd:decimal[< 20])
NAMED EVENT :Cooling { MATCH EVERY :Hot SEQ :Cold WITHIN (10 s)
  IF { EVENT :Hot { ?h :in ?room } EVENT :Cold { ?c :in ?room } } }
NAMED EVENT :Stays { MATCH EVERY :Cooling SEQ NOT :Hot WITHIN (12 s)
  IF { EVENT :Cooling { ?x :in ?room } EVENT :Hot { ?h :in ?room } } }"""


def test_classes_of_events_and_patterns_over_them(tmp_path: Path) -> None:
    random = Random(3)
    (tmp_path / "site.ofn").write_text(SITE)
    (tmp_path / "cooling.tw").write_text(COOLING)
    with (tmp_path / "events.nq").open("w") as file:
        for number in range(200):
            graph, one = f"<http://ex/g{number}>", f"<http://ex/o{number}>"
            when = number // 3 + random.choice((0, 0, 0, 2))
            # Some contradict what is known: a room is not a reading.
            kind = random.choice(("<http://ex/r1>", one, one, one, one, one))
            file.write(f"{graph} <http://www.w3.org/ns/prov#generatedAtTime> {_integer(when)} .\n")
            file.write(f"{kind} <{RDF_TYPE}> <http://ex/Reading> {graph} .\n")
            file.write(f"{one} <http://ex/in> <http://ex/r{random.randrange(9)}> {graph} .\n")
            file.write(f"{one} <http://ex/celsius> {_integer(random.randrange(40))} {graph} .\n")
    programs = [tmp_path / "cooling.tw", tmp_path / "site.ofn"]
    alone, spread = both(programs, tmp_path / "events.nq", "--delay", "2", "--event", ":Stays", "--event", ":Cooling")
    assert spread == alone
    assert len(alone) > 50


def _integer(number: int) -> str:
    return f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>'


@pytest.mark.slow
@pytest.mark.skipif(not CSRBENCH.exists(), reason="CSRBench is not here")
def test_csrbench(tmp_path: Path) -> None:
    graphs = sorted((CSRBENCH / "data").glob("data_*.ttl"))
    lines = [json.dumps({"t": tick, "graph": graph.read_text()}) for tick, graph in enumerate(graphs)]
    (tmp_path / "datastream.jsonl").write_text("\n".join(lines))
    for name, known in json.loads((CSRBENCH / "expected_q1-3.json").read_text()).items():
        if name not in ("q1", "q2", "q3"):
            continue
        head, _, pattern = known["sparql"].partition("WHERE {")
        window = f"[RANGE {known['window'] // 1000}, SLIDE {known['slide'] // 1000}]"
        text = f"{head} FROM NAMED WINDOW <w> ON <datastream> {window} WHERE {{ WINDOW <w> {{ {pattern} }}"
        (tmp_path / f"{name}.rspql").write_text(text)
        alone, spread = both([tmp_path / f"{name}.rspql"], tmp_path / "datastream.jsonl", "--from", "0")
        assert spread == alone
        assert len(alone) > 1
