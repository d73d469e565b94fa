"""Bodies of requests: all that is wrong with one is said at once, and nothing in it is a path."""

from pathlib import Path
from typing import Any

import pytest

from services import ANSWER_SETS, EVENTS, ONTOLOGY, RULES, body
from thalweg.service.program_text import MOST_STREAMS, MOST_TEXT, ProgramText
from thalweg.service.refused import RefusedError


def refused(about: object) -> RefusedError:
    with pytest.raises(RefusedError) as error:
        ProgramText.read(about).compiled()
    return error.value


def messages(about: object) -> list[str]:
    return [diagnostic.message for diagnostic in refused(about).diagnostics]


@pytest.mark.parametrize("about", [None, [], "jam", 3, {}, {"sources": []}, {"sources": {"jam.lars": RULES}}])
def test_what_is_no_program_is_refused(about: object) -> None:
    assert refused(about).status == 400


def test_all_that_is_wrong_is_said_at_once() -> None:
    about = body({"x.toml": ""}, options={"tik": "1s", "clock": "sun", "kind": "spark", "bolts": 0})
    about |= {"from": "tomorrow", "memory": "much", "streams": ["../x"], "sorces": []}
    said = "\n".join(messages(about))
    for word in ("x.toml", "tik", "sun", "kind", "bolts", "tomorrow", "much", "../x", "sorces"):
        assert word in said
    assert len(messages(about)) == 9


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("x.toml", 'program = ["secret.lars"]', "E511"),
        ("a.lp", '#include "secret.lp". a.', "E511"),
        ("a.lp", "#script (python) print(1) #end. a.", "E501"),
        ("a.lars", '#include "secret.lars".', "E102"),
        ("secret.facts", "", "E402"),
    ],
)
def test_no_file_is_opened(name: str, text: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for secret in ("secret.lars", "secret.lp", "secret.facts"):
        (tmp_path / secret).write_text("hidden(treasure).")
    error = refused(body({name: text}))
    assert error.diagnostics[0].code == code
    assert "treasure" not in str(error)


def test_what_an_ontology_imports_is_not_opened(tmp_path: Path) -> None:
    other = tmp_path / "other.ttl"
    other.write_text(ONTOLOGY.replace(":Seen", ":Imported"))
    importing = ONTOLOGY + f"<http://ex.org/> a owl:Ontology ; owl:imports <{other.as_uri()}> ."
    compiled = ProgramText.read(body({"seen.ttl": importing})).compiled()
    assert "W409" in {warning.code for warning in compiled.warnings}
    assert "Imported" not in str(compiled.part)


@pytest.mark.parametrize(
    ("sources", "options"),
    [
        ({"a.lars": RULES}, {"tick": "10s", "delay": "20s", "idle": "5s", "zone": "Europe/Rome", "times": "iso"}),
        ({"a.lars": RULES}, {"clock": "wall", "show": ["jam/1"], "emit": "snapshot", "prefix": {"ex": "http://e/"}}),
        ({"a.lp": ANSWER_SETS}, {"window": "3s", "slide": "1s", "models": "all", "solve_limit": "2s"}),
        ({"a.ttl": ONTOLOGY}, {"profile": "rdfs", "keep": "1 min"}),
        ({"a.ttl": ONTOLOGY}, {"as": "consistency", "window": 5}),
        ({"a.ttl": ONTOLOGY}, {"as": "abstraction", "profile": "dl", "individuals": "all", "reasoner": "none"}),
        ({"a.tw": EVENTS, "a.ttl": ONTOLOGY}, {"event": [":Twice"], "reasoner": "none"}),
    ],
)
def test_options_are_those_of_a_deployment(sources: dict[str, str], options: dict[str, Any]) -> None:
    text = ProgramText.read(body(sources, options=options))
    assert text.compiled().part.size
    assert ProgramText.read(text.as_data()) == text
    assert text.fingerprint != ProgramText.read(body(sources)).fingerprint


def test_an_option_that_does_not_fit_is_refused() -> None:
    assert messages(body({"a.lars": RULES}, options={"models": "all"})) == [
        "`models` is only for answer set programs (`.lp`)"
    ]
    assert "soon" in messages(body({"a.lars": RULES}, options={"tick": "soon"}))[0]


def test_memory_is_a_budget_where_it_can_be_kept_and_a_limit_elsewhere() -> None:
    budgets = [
        ProgramText.read(body(sources, memory="64MB")).compiled().options.memory
        for sources in (
            {"a.lars": RULES},
            {"a.ttl": ONTOLOGY},
            {"a.lp": ANSWER_SETS},
            {"a.lp": ANSWER_SETS, "b.lars": RULES},
        )
    ]
    assert budgets == [64 << 20, 64 << 20, None, None]
    assert ProgramText.read(body({"a.lars": RULES}, options={"memory": "32M"})).memory == 32 << 20


def test_a_program_may_read_many_streams() -> None:
    streams = [f"s{number}" for number in range(MOST_STREAMS + 1)]
    assert len(ProgramText.read(body({"a.lars": RULES}, streams=streams[1:])).streams) == MOST_STREAMS
    assert messages(body({"a.lars": RULES}, streams=streams)) == ["`streams` has 1,001 names, and may have 1,000"]


def test_sources_may_have_a_megabyte() -> None:
    assert ProgramText.read(body({"a.lars": "%" * MOST_TEXT})).sources
    assert refused(body({"a.lars": "%" * MOST_TEXT, "b.lars": "%"})).status == 413


def test_equal_programs_have_equal_data() -> None:
    about = body({"a.lars": RULES}, options={"tick": "2s", "delay": "4s"})
    stated = about | {"options": {"delay": "4s", "tick": "2s"}, "from": "now", "memory": "256MB", "background": []}
    assert ProgramText.read(about).as_data() == ProgramText.read(stated).as_data()
