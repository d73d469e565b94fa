"""`thalweg.run(…, runtime="spark")` gives the values that a run in this process gives, of every kind of program."""

from pathlib import Path
from typing import Any

import pytest

import thalweg

pytestmark = [
    pytest.mark.usefixtures("in_session"),
    pytest.mark.filterwarnings("ignore::thalweg.diagnostics.ThalwegWarning"),
]

ONTOLOGY = """Prefix(:=<http://ex.org/>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>)
Ontology(<http://ex.org/o> Declaration(Class(:Hot)) Declaration(Class(:Cold)) DisjointClasses(:Hot :Cold))"""
EVENTS = """PREFIX : <http://ex.org/>
NAMED EVENT :Heat AS :Hot
NAMED EVENT :Chill AS :Cold
NAMED EVENT :Change { MATCH EVERY :Heat SEQ :Chill WITHIN (10 s) }
"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TRIPLES = "".join(
    f"{tick} <http://ex.org/{who}> {TYPE} <http://ex.org/{what}> .\n"
    for tick, who, what in ((5, "x", "Hot"), (5, "x", "Cold"), (6, "y", "Hot"), (8, "z", "Cold"), (2, "w", "Hot"))
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("pyhornedowl")
    (tmp_path / "o.ofn").write_text(ONTOLOGY)
    (tmp_path / "e.tw").write_text(EVENTS)
    (tmp_path / "in.tnt").write_text(TRIPLES)
    return tmp_path


def both(programs: list[Path], stream: Path, **options: Any) -> list[tuple[list[Any], list[str], Any]]:
    """Values, late lines and the table of a run, in this process and on Spark."""
    found = []
    for runtime in ("embedded", "spark"):
        late: list[str] = []
        answers = thalweg.run(programs, stream=stream, runtime=runtime, late=late.append, **options).collect()
        found.append((list(answers), sorted(late), answers.to_arrow()))
    return found


@pytest.mark.parametrize(
    ("background", "starts"), [pytest.param((), (), marks=pytest.mark.slow), ("known.ttl", (6,))], ids=["none", "known"]
)
def test_events_without_an_ontology(folder: Path, background: str | tuple[()], starts: tuple[int, ...]) -> None:
    (folder / "known.ttl").write_text("<http://ex.org/y> a <http://ex.org/Known> .")
    (folder / "e.tw").write_text(EVENTS.replace("AS :Hot", "AS :Hot and :Known"))
    ours, theirs = both([folder / "e.tw"], folder / "in.tnt", background=folder / background if background else ())
    assert ours == theirs
    assert [event.start for event in ours[0]] == list(starts)


def test_clashes_are_values(folder: Path) -> None:
    alone, spread = both([folder / "o.ofn"], folder / "in.tnt", as_="consistency", window=0)
    assert spread[:2] == alone[:2]
    assert spread[2].equals(alone[2])
    assert [clash.individual for clash in spread[0][0].begin] == [thalweg.IRI("http://ex.org/x")]
    assert len(spread[1]) == 1, "the last line is late"


def test_events_are_values(folder: Path) -> None:
    alone, spread = both([folder / "e.tw", folder / "o.ofn"], folder / "in.tnt", event=[":Change"])
    assert spread[:2] == alone[:2]
    assert spread[2].equals(alone[2])
    (change,) = (one for one in spread[0] if getattr(one, "event", None) == thalweg.IRI("http://ex.org/Change"))
    assert (change.start, change.end) == (6, 8)
