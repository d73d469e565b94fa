"""What a value stands for: a file, a text or a URI. Text from outside is never taken for a path."""

from pathlib import Path

import pytest

import thalweg
from thalweg import RejectedError, Source, api
from thalweg.api.sources import classify, language_of_program, named, on_command_line

LONG = "a" * 1_000_000
TEXTS = [
    "",
    "q",
    "p(a)",
    "q :- p.",
    "/etc/passwd",
    "../../etc/passwd",
    "x.lars y",
    " x.lars",
    "x.lars ",
    "x.lars\n",
    "x\n.lars",
    "x\u00a0y.lars",
    "x\0.lars",
    "x\x1b.lars",
    "\u2028x.facts",
    "x.txt",
    "x.lars.gz.gz",
    ".gz",
    "lars",
    "readings/",
    "C:\\x.lars\\",
    "file:/etc/passwd",
    "http:// x",
    "://x",
    LONG,
]
PATHS = ["x.lars", "/etc/x.lars", "../x.lp", "x.LARS", "x.ttl", "x.facts.gz", "x.csv", "a:-b.lars", ".lars", "x#?.nq"]
URIS = ["mqtt://broker/cars", "replay://x.facts?speed=2", "http://example.org/x.lars", "-"]


@pytest.mark.parametrize("text", TEXTS)
def test_other_strings_are_text(text: str) -> None:
    assert classify(text) == Source("<text>", text)


@pytest.mark.parametrize("text", PATHS)
def test_one_line_without_blanks_and_with_a_known_ending_is_a_path(text: str) -> None:
    assert classify(text) == Path(text)


@pytest.mark.parametrize("text", URIS)
def test_uris_and_the_standard_input_stay(text: str) -> None:
    assert classify(text) is text


def test_paths_and_sources_are_what_they_say() -> None:
    for thing in (Path("q :- p."), Path("x"), Source("x.lars", "/etc/passwd")):
        assert classify(thing) is thing


@pytest.mark.parametrize("text", TEXTS)
def test_no_file_is_read_for_a_text(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("q", "x.txt", "lars", "p(a)", "x.lars"):
        (tmp_path / name).write_text("secret(1).")
    for found in (thalweg.check(text), thalweg.check("q :- r.", background=text)):
        assert "secret" not in "".join(one.render() for one in found)
        assert all(one.code.startswith("E1") or one.code == "E403" for one in found)
    assert language_of_program(text).name == "lars"


def test_a_text_that_is_a_stream_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p at 1").write_text("p at 7.")
    assert [answer.t for answer in thalweg.run("q :- p.", stream="p at 1.")] == [1]
    with pytest.raises(RejectedError, match="E301"):
        list(thalweg.run("q :- p.", stream="p at 1"))
    with pytest.raises(RejectedError, match="E301"):
        list(thalweg.run("q :- p.", stream="/etc/passwd"))


@pytest.mark.parametrize("name", ["nowhere.lars", "nowhere.ttl", f"{LONG}.lars", f"{LONG}.ttl"])
def test_a_path_that_does_not_exist_is_an_error(name: str) -> None:
    assert [one.code for one in thalweg.check(name)] == ["E401"]
    assert [one.code for one in thalweg.check(Path(name))] == ["E401"]
    assert [one.code for one in thalweg.check("q :- p.", background=name)] == ["E401"]


def test_a_path_that_no_file_can_have_is_an_error() -> None:
    for thing in ("x\0.lars", "x\0.ttl", "x\0.lp"):
        assert [one.code for one in thalweg.check(Path(thing))] == ["E401"]
    with pytest.raises(RejectedError, match="E401"):
        list(thalweg.run("q :- p.", stream=Path("x\0.facts")))


@pytest.mark.parametrize("uri", URIS[:3])
def test_programs_and_backgrounds_are_not_read_from_uris(uri: str) -> None:
    assert [one.code for one in thalweg.check(uri)] == ["E402"]
    assert [one.code for one in thalweg.check("q :- p.", background=uri)] == ["E402"]


def test_a_source_is_read_as_its_name_says() -> None:
    rules = Source("mine.lars", "q(X) :- p(X).")
    facts = Source("in.jsonl", '{"t": 3, "facts": ["p(a)"]}')
    assert [str(answer) for answer in thalweg.run(rules, stream=facts)] == ['{"t":3,"begin":["q(a)"],"end":[]}']
    assert [one.render().splitlines()[1] for one in thalweg.check(Source("mine.lars", "q("))] == ["  mine.lars:1:3"]
    roads = Source("roads.ttl", "<http://a/r> <http://a/p> 3 .")
    (fact,) = thalweg.load("q :- <http://a/p>(X,Y).", background=roads).background
    assert str(fact) == "<http://a/p>(<http://a/r>,3)"
    assert thalweg.load(Source("o.ttl", "<A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <B> .")).rules


def test_a_source_with_another_ending_is_text_like_any_other() -> None:
    assert thalweg.load(Source("request 7", "q :- p.")).derived == {"q/0"}
    assert [one.code for one in thalweg.check(Source("x.csv", "q :- p."))] == ["E402"]
    assert [answer.t for answer in thalweg.run("q :- p.", stream=Source("request 7", "p at 1."))] == [1]
    with pytest.raises(RejectedError, match="E402"):
        list(thalweg.run("q :- p.", stream=Source("x.ttl", "<a> <p> <b> .")))


def test_an_answer_set_program_may_be_a_source_and_include_nothing() -> None:
    pytest.importorskip("clingo")
    program = Source("mine.lp", "q(X) :- p(X), not r(X).")
    (answer,) = thalweg.run(program, stream="p(a) at 1.")
    assert str(answer) == '{"t":1,"window":[1,1],"answers":[["q(a)"]]}'
    (found,) = thalweg.check(Source("mine.lp", 'q :- p. #include "x.lp".'))
    assert (found.code, found.as_data()["column"]) == ("E511", 19)


def test_streams_may_be_several() -> None:
    assert named(["x.facts", "p at 1.", "mqtt://b/t"]) == [Path("x.facts"), Source("<text>", "p at 1."), "mqtt://b/t"]
    assert named([(3, "p")]) is None
    assert named([]) == []


def test_the_command_line_means_files_and_uris() -> None:
    assert [on_command_line(word) for word in ("q :- p.", "x.lars y", "-", "mqtt://b/t")] == [
        Path("q :- p."),
        Path("x.lars y"),
        "-",
        "mqtt://b/t",
    ]


def test_half_a_character_is_refused_wherever_it_stands() -> None:
    pytest.importorskip("clingo")
    with pytest.raises(RejectedError, match="E301"):
        list(thalweg.run("q(X) :- p(X).", stream='p("\ud800") at 1.'))
    assert [one.code for one in thalweg.check(Source("x.ttl", '<a> <p> "\ud800" .'))] == ["E101"]
    assert "E101" in [one.code for one in thalweg.check(Source("x.lp", 'q("\ud800").'))]


@pytest.mark.parametrize("background", ["delta:/lake/limits", "table:limits"])
def test_a_table_that_only_a_command_reads_is_not_said_to_need_what_is_there(background: str) -> None:
    for rejected in (
        lambda: thalweg.run("q :- p.", stream=[(1, "p")], background=background, runtime="spark"),
        lambda: api.explain("q :- p.", background=background, partitions=2),
    ):
        with pytest.raises(RejectedError, match=r"E402\]: only `thalweg run --runtime spark` reads `") as raised:
            rejected()
        assert "toArrow()" in str(raised.value)
