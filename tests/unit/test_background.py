"""Documents of RDF as background."""

import gzip
from pathlib import Path

import pytest

from thalweg.api import sources
from thalweg.diagnostics import Diagnostic

TURTLE = "@prefix : <http://ex.org/> .\n:a :next :b ; :length 2.5 .\n:a a :Road . :a :next :b .\n_:x :next [] ."


def read_background(document):
    found: list[Diagnostic] = []
    return list(sources.read_background(document, 1_000, found)), found


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_facts_of_turtle_each_once(here):
    (here / "roads.ttl").write_text(TURTLE)
    facts, found = read_background("roads.ttl")
    assert found == []
    assert [str(fact) for fact in facts] == [
        "<http://ex.org/next>(<http://ex.org/a>,<http://ex.org/b>)",
        "<http://ex.org/length>(<http://ex.org/a>,2.5)",
        "<http://ex.org/Road>(<http://ex.org/a>)",
        "<http://ex.org/next>(_:roads_2e_ttl_0_x,_:roads_2e_ttl_0__20_0)",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.nt", "<http://a> <http://b> <http://c> ."),
        ("a.nq", "<http://a> <http://b> <http://c> <http://g> ."),
        ("a.trig", "<http://g> { <http://a> <http://b> <http://c> }"),
        ("a.jsonld", '{"@id": "http://a", "http://b": {"@id": "http://c"}}'),
        ("a.owl", "<http://a> <http://b> <http://c> ."),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_also_packed(here, name, text, packed):
    path = here / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    facts, found = read_background(path)
    assert (list(map(str, facts)), found) == (["<http://b>(<http://a>,<http://c>)"], [])


def test_the_document_itself_is_called_after_its_file(here):
    (here / "my roads.ttl").write_text("<> <#by> <me> .")
    facts, _ = read_background(Path("my roads.ttl"))
    assert [str(fact) for fact in facts] == ["<my%20roads.ttl#by>(<my%20roads.ttl>,<me>)"]


@pytest.mark.parametrize(
    ("name", "text", "code", "part"),
    [
        ("a.ttl", TURTLE + "\n:a :b x .", "E101", "x is not a valid RDF object"),
        ("a.nt", "<a> <b> <c> .", "E101", "absolute"),
        ("a.ofn", "Ontology(", "E101", ""),
        ("a.txt", "", "E402", "`a.txt`"),
    ],
)
def test_what_cannot_be_read_is_told(here, name, text, code, part):
    (here / name).write_text(text)
    facts, (found,) = read_background(Path(name))
    assert facts == []
    assert found.code == code
    assert part in found.message


def test_a_mistake_has_its_place(here):
    (here / "a.ttl").write_text(TURTLE + "\n:a :b x .")
    _, (found,) = read_background("a.ttl")
    assert found.render().splitlines()[1:4] == ["  a.ttl:5:7", "  5 | :a :b x .", "    |       ^"]


def test_a_file_that_is_not_there_is_told():
    facts, (found,) = read_background("nowhere.ttl")
    assert (facts, found.code) == ([], "E401")
