"""Loading in two steps is loading together, or it is refused; it never means something else without a word."""

from itertools import permutations
from pathlib import Path

import pytest

from thalweg import api
from thalweg.diagnostics import RejectedError

DOCUMENTS = {
    "jam.lars": "jam(X) :- <http://a/p>(X,V) in [2], V < 20.\n",
    "calm.lars": "calm(X) :- <http://a/C>(X) in [1], not jam(X). <http://a/q>(X,3) :- jam(X).\n",
    "known.lars": "<http://a/C>(<http://a/z>). jam(<http://a/z>).\n",
    "classes.ttl": "@prefix : <http://a/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    ":C rdfs:subClassOf :D . :p rdfs:domain :C . :i a :C .\n",
    "values.ttl": "@prefix : <http://a/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . :p rdfs:range xsd:byte . :i :p 7 .\n",
    "same.ttl": "@prefix : <http://a/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    ":r a owl:FunctionalProperty . :i :r :j . :D owl:disjointWith :E .\n",
}
STREAM = [
    (1, ["<http://a/p>(<http://a/i>,300)", "<http://a/r>(<http://a/i>,<http://a/k>)"]),
    (2, ["<http://a/p>(<http://a/j>,7)", "<http://a/C>(<http://a/k>)"]),
    (3, ["<http://a/E>(<http://a/j>)"]),
]


@pytest.mark.filterwarnings("ignore::thalweg.ThalwegWarning")
@pytest.mark.parametrize("profile", ["rdfs", "pd", "rl", "ql"])
def test_two_steps_are_one(profile: str, tmp_path: Path) -> None:
    options, refused = {"profile": profile, "window": 1}, dict[tuple[str, str], set[str]]()
    for name, text in DOCUMENTS.items():
        (tmp_path / name).write_text(text)

    def fitting(*names: str) -> dict[str, object]:
        return options if any(name.endswith(".ttl") for name in names) else {}

    for one, other in permutations(DOCUMENTS, 2):
        together = api.load(tmp_path / one, tmp_path / other, **fitting(one, other))
        try:
            first = api.load(tmp_path / one, **fitting(one))
            apart = api.load(first, tmp_path / other, **fitting(other))
        except RejectedError as error:
            refused[one, other] = {found.code for found in error.diagnostics if found.severity == "error"}
            continue
        assert list(map(str, api.run(apart, stream=STREAM))) == list(map(str, api.run(together, stream=STREAM))), (
            one,
            other,
        )
    assert all(codes == {"E411"} for codes in refused.values())
    # Rules first is what people do.
    assert not [pair for pair in refused if pair[0].endswith(".lars")]
    assert {pair for pair in permutations(DOCUMENTS, 2) if {name[-3:] for name in pair} == {"ttl"}} <= refused.keys()


def test_a_program_and_more_background_is_fine(tmp_path: Path) -> None:
    (tmp_path / "classes.ttl").write_text(DOCUMENTS["classes.ttl"])
    more = "<http://a/C>(<http://a/z>)."
    apart = api.load(api.load(tmp_path / "classes.ttl"), background=more)
    together = api.load(tmp_path / "classes.ttl", background=more)
    assert list(map(str, api.run(apart, stream=STREAM))) == list(map(str, api.run(together, stream=STREAM)))


def test_a_document_of_rdf_is_compiled_with_its_ontology(tmp_path: Path) -> None:
    for name in ("classes.ttl", "values.ttl"):
        (tmp_path / name).write_text(DOCUMENTS[name])
    with pytest.raises(RejectedError, match="E411"):
        api.load(api.load(tmp_path / "classes.ttl"), background=tmp_path / "values.ttl")
