"""Clashes on Spark are those of one process, with the same reasons; bolts are stages that follow each other."""

from pathlib import Path

import pytest

from spark.processes import run, thalweg
from thalweg import api

ONTOLOGY = """
@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Student rdfs:subClassOf :Person . :Employee rdfs:subClassOf :Person .
:Faculty rdfs:subClassOf :Employee . :Admin rdfs:subClassOf :Employee .
:Person owl:disjointWith :Work . :Student owl:disjointWith :Employee . :Faculty owl:disjointWith :Admin .
:Student owl:disjointWith :Faculty .
:teaches rdfs:domain :Faculty ; rdfs:range :Work . :likes owl:propertyDisjointWith :fears .
:manages a owl:AsymmetricProperty .
"""
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def statements() -> str:
    """Thirty people, each in some classes at some ticks, and what relates them."""
    kinds = ("Student", "Faculty", "Admin", "Work", "Employee", "Person")
    lines = [
        f"{tick} <http://ex.org/p{tick * 7 % 30}> {_TYPE} <http://ex.org/{kinds[tick * step % 6]}> ."
        for tick in range(60)
        for step in (1, 2)
    ]
    for tick in range(0, 60, 3):
        one, other = f"<http://ex.org/p{tick % 30}>", f"<http://ex.org/p{tick % 5}>"
        verb = ("teaches", "likes", "fears", "manages")[tick // 3 % 4]
        lines += [f"{tick} {one} <http://ex.org/{verb}> {other} .", f"{tick} {other} <http://ex.org/{verb}> {one} ."]
        lines.append(f"{tick + 1} {one} <http://ex.org/fears> {other} .")
    return "\n".join(sorted(lines, key=lambda line: int(line.split()[0])))


@pytest.mark.slow
@pytest.mark.parametrize(("topology", "emit"), [("ltm", "snapshot"), ("auto", "changes")])
def test_spark_tells_the_same_clashes(topology: str, emit: str, tmp_path: Path) -> None:
    ontology, stream = tmp_path / "staff.ttl", tmp_path / "staff.tnt"
    ontology.write_text(ONTOLOGY)
    stream.write_text(statements())
    files = {}
    for runtime in ("embedded", "spark"):
        out = tmp_path / f"{runtime}.jsonl"
        how = ("--as", "consistency", "--topology", topology, "--window", "20", "--emit", emit, "--runtime", runtime)
        line = thalweg("run", ontology, *how, "--stream", stream, "--to", "90", "--out", out)
        assert run(line, tmp_path / "said.txt") == 0, (tmp_path / "said.txt").read_text()
        files[runtime] = out.read_text().splitlines()
    assert files["spark"] == files["embedded"]
    assert sum('"because"' in line for line in files["embedded"]) > 10
    assert any('"other"' in line for line in files["embedded"])


def test_bolts_are_stages(tmp_path: Path) -> None:
    ontology = tmp_path / "staff.ttl"
    ontology.write_text(ONTOLOGY)
    options = {"as_": "consistency", "topology": "ltm", "bolts": 3}
    stages = api.explain(ontology, **options, partitions=2).as_data()["stages"]
    assert isinstance(stages, list)
    assert len(stages) == 3
    assert [stage["partitions"] for stage in stages] == [2, 2, 2]
    assert [stage["tells"] for stage in stages] == [[], [], ["inconsistent/3"]]
