"""Queries, and plans of several kinds, on Spark give what they give in one process."""

import json
from pathlib import Path
from random import Random

import pytest

from spark.processes import run, thalweg
from thalweg import api

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
        assert run(thalweg("run", *programs, *about), stream.with_name("said.txt")) == 0
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
