"""The tests of the W3C for N-Triples, N-Quads, Turtle and TriG, where they are at hand.

pyoxigraph passes all of them at the moment; one that it should ever fail is to be written down in `FAILS`, by name.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox
import pytest

from thalweg.model.rdf import RdfSyntaxError, read_graph

DATA = Path(__file__).parents[2] / "shared" / "data" / "w3c"
FORMATS = {"rdf-n-triples": "ntriples", "rdf-n-quads": "nquads", "rdf-turtle": "turtle", "rdf-trig": "trig"}
COUNTED = {"rdf-n-triples": 70, "rdf-n-quads": 87, "rdf-turtle": 313, "rdf-trig": 356}
FAILS: frozenset[str] = frozenset()

MANIFEST = "<http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


class Case(NamedTuple):
    """One test: which file to read, whether that must fail, and what comes out, if that is said."""

    folder: str
    kind: str
    action: str
    result: str | None
    base: str

    @property
    def name(self) -> str:
        return f"{self.folder}/{self.action}"


def cases(folder: str) -> Iterator[Case]:
    path = DATA / folder / "manifest.ttl"
    if not path.exists():
        return
    said: dict[str, dict[str, str]] = {}
    for subject, predicate, object, _ in read_graph(path.read_bytes(), "turtle", base="manifest.ttl"):
        said.setdefault(subject, {})[predicate] = object
    base = said["<manifest.ttl>"].get(f"{MANIFEST}assumedTestBase>", "<http://example.org/>")
    for one in said.values():
        if f"{MANIFEST}action>" in one:
            action, result = one[f"{MANIFEST}action>"][1:-1], one.get(f"{MANIFEST}result>")
            yield Case(folder, one[TYPE], action, result and result[1:-1], base[1:-1] + action)


CASES = [case for folder in FORMATS for case in cases(folder)]


def statements(data: bytes, format: str, base: str) -> ox.Dataset:
    """The statements of a document, read by us; blank nodes renamed so that equal graphs are equal."""
    quads = read_graph(data, format, base=base)
    dataset = ox.Dataset(ox.Quad(node(s), node(p), node(o), node(graph)) for s, p, o, graph in quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def node(term: str | None) -> ox.NamedNode | ox.BlankNode | ox.Literal | ox.DefaultGraph:
    """A term for the other library, which knows when two graphs are equal; a literal is told by its spelling."""
    if term is None:
        return ox.DefaultGraph()
    if term.startswith("<"):
        return ox.NamedNode(term[1:-1])
    return ox.BlankNode(term[2:]) if term.startswith("_:") else ox.Literal(term)


@pytest.mark.skipif(not CASES, reason="the tests of the W3C are not here")
def test_all_of_them_are_found():
    assert {folder: sum(case.folder == folder for case in CASES) for folder in FORMATS} == COUNTED


@pytest.mark.parametrize("case", CASES or [None], ids=lambda case: case.name if case else "absent")
def test_the_standard(case: Case | None) -> None:
    if case is None:
        pytest.skip("the tests of the W3C are not here")
    assert passes(case) == (case.name not in FAILS)


def passes(case: Case) -> bool:
    data, format = (DATA / case.folder / case.action).read_bytes(), FORMATS[case.folder]
    try:
        found = statements(data, format, case.base)
    except RdfSyntaxError as wrong:
        return "Negative" in case.kind and wrong.line >= 1 and wrong.column >= 1
    if case.result is None:
        return "Positive" in case.kind
    return found == statements((DATA / case.folder / case.result).read_bytes(), "nquads", case.base)
