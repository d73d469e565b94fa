"""Rules in the shape of CityBench's queries: engine and clingo agree, and say what the benchmark's own data says."""

import gzip
import json
import re
from pathlib import Path

import pytest

from thalweg import run
from thalweg.bench.citybench import PER_ROUND, QUERIES, SCENARIOS, rules, second
from thalweg.bench.window_evaluators import ENGINE, EVALUATORS, WHOLE, blocks, measure
from thalweg.model.rdf import fact_of

DATA = Path(__file__).parents[4] / "shared" / "data" / "citybench"
SPACE = "http://www.insight-centre.org/dataset/SampleEventService#"


@pytest.mark.parametrize("query", QUERIES)
def test_engine_and_clingo_agree(query: str) -> None:
    evaluators = [EVALUATORS[by](SCENARIOS[query]) for by in (WHOLE, ENGINE)]
    for tick in range(5):
        for each in evaluators:
            each.add(blocks(second(tick, 1), tick))
        ticks = min(tick + 1, 3)
        assert {each.answer() for each in evaluators} == {ticks ** len(QUERIES[query])}


def test_what_is_measured() -> None:
    found = measure(ENGINE, SCENARIOS["Q1"], 2 * PER_ROUND, 6)
    assert (found.answers, found.windows) == (36, 4)
    assert found.worst_s >= found.median_s > 0


@pytest.mark.skipif(not DATA.exists(), reason="the data of CityBench is not here")
@pytest.mark.parametrize("solver", ["engine", "clingo"])
def test_the_first_query_on_real_data(tmp_path: Path, solver: str) -> None:
    expected = json.loads((DATA / "expected_Q1_Q5avg.json").read_text())["Q1"]
    asked = [("CongestionLevel", "AarhusTrafficData182955"), ("CongestionLevel", "AarhusTrafficData158505")]
    (tmp_path / "q1.lp").write_text(rules(asked, SPACE))
    slide, start = expected["slide_ms"], expected["t0"]
    events = [json.loads(line) for line in gzip.decompress((DATA / "stream.jsonl.gz").read_bytes()).splitlines()]
    stream = [((event["ts"] - start) // slide, facts(event["ntriples"])) for event in events]
    asking = {"window": expected["window_ms"] // slide, "slide": 1, "solver": solver, "workers": 0}
    answers = run(tmp_path / "q1.lp", stream, background=DATA / "static.nt", start=0, **asking)
    found = {answer.t: set(map(str, answer.sets[0])) for answer in answers}  # type: ignore[union-attr]
    for window in expected["windows"]:
        closing = (window["close"] - start) // slide - 1
        if closing in found:
            rows = {(row[0], row[1]) for row in window["rows"]}
            assert {tuple(re.findall("<[^>]*>", fact)[:2]) for fact in found[closing]} == rows
    assert len(found) >= len(expected["windows"]) - 3


def facts(text: str) -> list[str]:
    """N-Triples as facts."""
    triples = (re.match(r"(\S+) (\S+) (.*) \.$", line) for line in text.splitlines())
    return [str(fact_of(*triple.groups())) for triple in triples if triple]
