"""Ontologies of any size, and instances that do not explode."""

from collections import Counter
from pathlib import Path

import pytest

from thalweg.bench.subjects import KNOWN, about, generated_subject, instances, universities, well_known
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.owl.program import specialised
from thalweg.model.vocabulary import OWL, RDFS, TYPE

OBJECT, KIND = f"<{OWL}ObjectProperty>", f"<{OWL}Class>"


def test_ontologies_grow_with_their_classes() -> None:
    small, large = generated_subject(100), generated_subject(1_000)
    assert 9 < len(large.schema) / len(small.schema) < 11
    kinds = Counter(p for _, p, _ in small.schema)
    assert min(kinds[f"<{space}{name}>"] for space, name in ((RDFS, "domain"), (OWL, "inverseOf"))) > 0
    assert kinds[f"<{OWL}someValuesFrom>"] > 5


def test_instances_are_as_many_as_asked_for_and_the_same_again() -> None:
    subject = generated_subject(20)
    found = subject.data(777)
    assert len(set(found)) == 777
    assert found == subject.data(777)
    assert found[:300] == subject.data(300)


def test_a_property_leads_to_one_and_from_one() -> None:
    found = [triple for triple in generated_subject(40).data(3_000) if triple[1] != TYPE]
    assert max(Counter((s, p) for s, p, _ in found).values()) == 1
    assert max(Counter((p, o) for _, p, o in found).values()) == 1


def test_a_value_that_everyone_has_is_left_alone() -> None:
    schema = [("<p>", TYPE, OBJECT), ("<q>", TYPE, OBJECT), ("<C>", TYPE, KIND)]
    schema += [("_:r", f"<{OWL}onProperty>", "<q>"), ("_:r", f"<{OWL}hasValue>", "<v>")]
    assert {p for _, p, _ in instances(schema, 50)} == {TYPE, "<p>"}


@pytest.mark.parametrize("profile", ["rdfs", "pd", "rl"])
def test_what_follows_grows_with_the_data(profile: str) -> None:
    subject = generated_subject(40)
    sizes = []
    for number in (1_000, 4_000):
        engine = Engine(specialised("x", [*subject.schema, *subject.data(number)], profile), first=0)
        engine.advance(0)
        sizes.append(len(engine.output_rows()))
    assert 3 < sizes[1] / sizes[0] < 5


def test_data_of_a_document_are_left_out() -> None:
    subject = about("x", [("<C>", TYPE, KIND), ("<a>", TYPE, "<C>")])
    assert subject.schema == (("<C>", TYPE, KIND),)


def test_without_published_ontologies_ours_takes_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    assert well_known() == []
    assert universities().name == "university"
    assert len(universities().data(100)) == 100


def test_published_ontologies_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "coror").mkdir()
    (tmp_path / "coror" / "koala.nt").write_text(f"<http://x/C> {TYPE} {KIND} .\n<http://x/p> {TYPE} {OBJECT} .\n")
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    assert "koala" in KNOWN
    assert [(each.name, len(each.data(10))) for each in well_known()] == [("koala", 10)]
