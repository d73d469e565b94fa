"""CSRBench and CityBench: the queries of both, with the answers that are known, where their data is at hand."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from thalweg import run
from thalweg.cli import app
from thalweg.model.rdf import term

DATA = Path(__file__).parents[2] / "shared" / "data"
CSRBENCH = DATA / "csrbench"
CITYBENCH = DATA / "citybench"

needs_csrbench = pytest.mark.skipif(not CSRBENCH.exists(), reason="CSRBench is not here")
needs_citybench = pytest.mark.skipif(not CITYBENCH.exists(), reason="CityBench is not here")


def continuous(sparql: str, stream: str, size: int, slide: int) -> str:
    """A query of one window, from what is asked of each window."""
    head, _, pattern = sparql.partition("WHERE {")
    clause = f"FROM NAMED WINDOW <w> ON <{stream}> [RANGE {size}, SLIDE {slide}]"
    return f"{head} {clause} WHERE {{ WINDOW <w> {{ {pattern} }}"


def plain(term: str) -> str | float:
    """A term as CSRBench has it: IRIs without brackets, numbers by their values."""
    return term[1:-1] if term[0] == "<" else float(term.strip('"').partition('"')[0])


@needs_csrbench
@pytest.mark.parametrize("name", ["q1", "q2", "q3"])
def test_csrbench(name: str, tmp_path: Path) -> None:
    expected = json.loads((CSRBENCH / "expected_q1-3.json").read_text())[name]
    graphs = sorted((CSRBENCH / "data").glob("data_*.ttl"))
    lines = [json.dumps({"t": tick, "graph": graph.read_text()}) for tick, graph in enumerate(graphs)]
    (tmp_path / "datastream.jsonl").write_text("\n".join(lines))
    size, slide = expected["window"] // 1000, expected["slide"] // 1000
    stream = "http://localhost:12345/CSRBenchDataStream/datastream#1"
    (tmp_path / f"{name}.rspql").write_text(continuous(expected["sparql"], stream, size, slide))
    options = [str(tmp_path / f"{name}.rspql"), "--stream", str(tmp_path / "datastream.jsonl"), "--from", "0"]
    result = CliRunner().invoke(app, ["run", *options])
    assert result.exit_code == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    full = [window for window in expected["windows"] if window["close"] <= 1000 * len(graphs)]
    assert [one["window"] for one in answers] == [[w["open"] // 1000, w["close"] // 1000 - 1] for w in full]
    for answer, window in zip(answers, full, strict=True):
        rows = [{name: plain(term) for name, term in row.items()} for row in answer["bindings"]]
        known = [{name: float(v) if name == "value" else v for name, v in row.items()} for row in window["rows"]]
        assert counted(rows) == counted(known)


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


SERVICE = "http://www.insight-centre.org/dataset/SampleEventService#"
WINDOWS = {
    "Q1": (("{ ?obId1", "WINDOW s:w1 { ?obId1"), ("{ ?obId2", "WINDOW s:w2 { ?obId2")),
    "Q5avg": (("?o ssn:observedProperty", "WINDOW s:w1 { ?o ssn:observedProperty"),),
}
STREAMS = {"Q1": ("AarhusTrafficData182955", "AarhusTrafficData158505"), "Q5avg": ("AarhusTrafficData158505",)}


@needs_citybench
@pytest.mark.parametrize("name", ["Q1", "Q5avg"])
def test_citybench(name: str, tmp_path: Path) -> None:
    expected = json.loads((CITYBENCH / "expected_Q1_Q5avg.json").read_text())[name]
    with gzip.open(CITYBENCH / "stream.jsonl.gz", "rt") as file:
        events = [json.loads(line) for line in file]
    lines = [{"t": one["ts"] // 1000, "stream": one["stream"], "graph": one["ntriples"]} for one in events]
    (tmp_path / "city.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "query.rspql").write_text(city_query(name, expected))
    first, last = expected["t0"] // 1000, expected["windows"][-1]["close"] // 1000 - 1
    answers = list(
        run(
            tmp_path / "query.rspql",
            stream=tmp_path / "city.jsonl",
            background=CITYBENCH / "static.nt",
            start=first,
            end=last,
        )
    )
    assert [one.t for one in answers] == [window["close"] // 1000 - 1 for window in expected["windows"]]
    for answer, window in zip(answers, expected["windows"], strict=True):
        found = [tuple(row[name] for name in expected["vars"]) for row in json.loads(str(answer))["bindings"]]
        assert Counter(found) == Counter(tuple(map(term, row)) for row in window["rows"])


def city_query(name: str, expected: dict[str, Any]) -> str:
    """The query with its windows: each of the patterns about observations looks at the stream of its sensor."""
    text = expected["query"]
    for before, after in WINDOWS[name]:
        text = text.replace(before, after)
    size, slide = expected["window_ms"] // 1000, expected["slide_ms"] // 1000
    clauses = [
        f"FROM NAMED WINDOW s:w{number} ON STREAM s:{stream} [RANGE {size}s, SLIDE {slide}s]"
        for number, stream in enumerate(STREAMS[name], 1)
    ]
    return text.replace("WHERE", f"{' '.join(clauses)} WHERE") + " }" * (name == "Q5avg")
