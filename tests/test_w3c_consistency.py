"""The W3C's tests of OWL 2 for consistency, by rules and models alone: what is decided is right."""

from pathlib import Path

import pytest

from thalweg.bench.conformance import CONSISTENT, INCONSISTENT, Test, find_tests
from thalweg.connectors.ontology_documents import read_triples
from thalweg.kinds.classes.contradiction import is_consistent
from thalweg.kinds.classes.ladder import Ladder
from thalweg.languages.owl import structure
from thalweg.languages.owl.dl.abstraction_program import compile_abstraction

DATA = Path(__file__).parents[2] / "shared" / "data" / "owl2"
TESTS = [test for test in find_tests(DATA) if test.kind in (CONSISTENT, INCONSISTENT)] if DATA.is_dir() else []
# A list of its RDF has no end, so an axiom is reported as incomplete.
UNREAD = {"New-Feature-Rational-002"}


def decided(test: Test) -> bool | None:
    ontology = structure.read(read_triples(test.premise))
    return is_consistent(Ladder(compile_abstraction(test.name, ontology), "none"))[0]


@pytest.mark.slow
@pytest.mark.skipif(not TESTS, reason="needs the tests of the W3C")
def test_what_is_decided_without_a_reasoner_is_right() -> None:
    found = {test: decided(test) for test in TESTS if test.name not in UNREAD}
    assert not [test.name for test, answer in found.items() if answer not in (None, test.kind == CONSISTENT)]
    assert sum(answer is not None for answer in found.values()) >= 160
