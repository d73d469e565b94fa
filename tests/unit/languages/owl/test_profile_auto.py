"""`--profile auto` leaves equality out where no stream can bring it, and answers as RL."""

import gzip
from pathlib import Path

import pytest

from thalweg import api
from thalweg.api.mentioned_vocabulary import mention_owl
from thalweg.diagnostics import RejectedError, Source
from thalweg.languages.owl.program import specialised
from thalweg.model.predicate import Predicate
from thalweg.model.vocabulary import SAME_AS

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ZOO = """
@prefix : <http://zoo.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Lion rdfs:subClassOf :Cat . :Cat rdfs:subClassOf :Animal . :feeds rdfs:domain :Keeper .
"""
SIGHTINGS = f"""1 <http://zoo.org/leo> {TYPE} <http://zoo.org/Lion> .
2 <http://zoo.org/ann> <http://zoo.org/feeds> <http://zoo.org/leo> .
"""
EQUAL = "2 <http://zoo.org/leo> <http://www.w3.org/2002/07/owl#sameAs> <http://zoo.org/king> .\n"


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    (tmp_path / "zoo.ttl").write_text(ZOO)
    return tmp_path / "zoo.ttl"


def answers(zoo: Path, stream: Path, profile: str, *background: Source) -> list[str]:
    options = {"profile": profile, "window": 3, "emit": "snapshot", "end": 6}
    return list(map(str, api.run([zoo], stream=stream, background=background, **options)))


def resolved(zoo: Path, stream: object) -> api.ResolvedOptions:
    return api.resolve_options([zoo], stream, (), api.RunOptions(kinds={"profile": "auto"}))


def has_equality(zoo: Path, stream: object, *background: Source) -> bool:
    part = api.load_resolved([zoo], background, resolved(zoo, stream))
    return part.rules_alone.equality is not None


@pytest.mark.parametrize("name", ["s.tnt", "s.tnt.gz"])
def test_streams_without_a_word_of_owl_need_no_equality(zoo: Path, name: str) -> None:
    stream = zoo.with_name(name)
    stream.write_bytes(gzip.compress(SIGHTINGS.encode()) if name.endswith(".gz") else SIGHTINGS.encode())
    assert not has_equality(zoo, [stream])
    assert answers(zoo, stream, "auto") == answers(zoo, stream, "rl") != []


def test_where_a_stream_says_what_is_equal_it_is_followed(zoo: Path) -> None:
    stream = zoo.with_name("s.tnt")
    stream.write_text(SIGHTINGS + EQUAL)
    assert has_equality(zoo, [stream])
    found = answers(zoo, stream, "auto")
    assert found == answers(zoo, stream, "rl")
    assert any("owl#sameAs" in line for line in found)


def test_equal_things_of_the_background_are_followed(zoo: Path) -> None:
    stream = zoo.with_name("s.tnt")
    stream.write_text(SIGHTINGS)
    same = Source("same.nt", EQUAL.removeprefix("2 "))
    assert answers(zoo, stream, "auto", same) == answers(zoo, stream, "rl", same) != answers(zoo, stream, "rl")
    fact = Source("same.facts", "<http://www.w3.org/2002/07/owl#sameAs>(<http://zoo.org/leo>,<http://zoo.org/king>).")
    assert answers(zoo, stream, "auto", fact) == answers(zoo, stream, "rl", fact)


def test_an_ontology_that_finds_equal_things_keeps_its_rules() -> None:
    functional = [("<p>", TYPE, "<http://www.w3.org/2002/07/owl#FunctionalProperty>")]
    program = specialised("x.ttl", functional, "rl", 5, owl_facts=False)
    assert program.equality is not None
    assert program.equality.representative == Predicate(SAME_AS, 2)


def test_what_is_live_may_bring_anything(zoo: Path) -> None:
    assert has_equality(zoo, ["tcp://127.0.0.1:9"])
    assert has_equality(zoo, iter(()))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.facts", "@prefix o: <http://www.w3.org/2002/07/owl> . p(a) at 1."),
        ("s.facts", "@PREFIX o: <http://www.w3.org/2002/07/ow> . p(a) at 1."),
        ("s.nq", r"<a> <http://www.w3.org/2002/07/owl\u0023sameAs> <b> <g> ."),
        ("s.tnt", "1 <a> <http://www.w3.org/2002/07/owl#differentFrom> <b> ."),
        ("s.jsonl", '{"t": 1, "facts": ["p(a)"]}'),
        ("s.csv", "t,s,p,o\n1,<a>,<p>,<b>\n"),
    ],
)
def test_what_could_spell_a_word_of_owl_counts_as_one(name: str, text: str) -> None:
    assert mention_owl([Source(name, text)])


def test_a_word_that_two_blocks_share_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.api.mentioned_vocabulary.FILE_BLOCK", 64)
    stream = tmp_path / "s.tnt"
    for offset in range(64):
        stream.write_text(" " * offset + EQUAL)
        assert mention_owl([stream])
    stream.write_text(SIGHTINGS * 9)
    assert not mention_owl([stream])


def test_events_are_not_classified_by_it(tmp_path: Path) -> None:
    cascade = tmp_path / "c.tw"
    cascade.write_text("PREFIX : <http://zoo.org/>\nNAMED EVENT :L AS :Lion\n")
    with pytest.raises(RejectedError, match="auto"):
        api.resolve_options([cascade], (), (), api.RunOptions(kinds={"profile": "auto"}))
