"""LUBM's queries over what follows from its data; the ontology and the data are not part of the project."""

import gzip
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, RdfFormat, Store, parse

from thalweg.api import load
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.rdf import triple_of

LUBM = Path(__file__).parents[2] / "shared" / "data" / "lubm"
ONTOLOGY = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"

pytestmark = pytest.mark.skipif(not LUBM.is_dir(), reason="the data of LUBM are not there")


@pytest.fixture(scope="module")
def closed() -> Store:
    """The data of department 0 with all that follows, by rules specialised to the ontology."""
    program = load(LUBM / "univ-bench.owl", background=LUBM / "dept0.nt.gz", profile="rl", report=[].append)
    engine = Engine(program, first=0)
    engine.advance(0)
    store = Store()
    store.extend(parse(gzip.decompress((LUBM / "dept0.nt.gz").read_bytes()), format=RdfFormat.N_TRIPLES))
    lines = (" ".join(triple_of(str(fact))) + " ." for fact in engine.facts())
    store.extend(parse("\n".join(lines).encode(), format=RdfFormat.N_TRIPLES))
    return store


@pytest.mark.parametrize("number", range(1, 15, 2))
def test_the_answers_of_a_query(closed: Store, number: int) -> None:
    query = (LUBM / "queries" / f"q{number:02}.rq").read_text()
    solutions = closed.query(query)
    header, *expected = (LUBM / "expected" / f"dept0_q{number:02}.tsv").read_text().splitlines()
    names = [name.lstrip("?") for name in header.split("\t")]
    found = sorted("\t".join(str(solution[name]) for name in names) for solution in solutions)  # type: ignore[union-attr]
    assert found == sorted(expected)


def test_every_research_assistant_is_an_employee(closed: Store) -> None:
    rdf_type = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    members = {
        name: {quad.subject for quad in closed.quads_for_pattern(None, rdf_type, NamedNode(f"{ONTOLOGY}{name}"))}
        for name in ("ResearchAssistant", "Employee")
    }
    assert members["ResearchAssistant"]
    assert members["ResearchAssistant"] <= members["Employee"]
