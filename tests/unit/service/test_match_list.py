"""Match lists: which facts, and which lines, pass."""

import pytest

from thalweg.model.prefixes import Prefixes
from thalweg.service.match_list import EVERYTHING, MatchList
from thalweg.service.refused import RefusedError

EX = Prefixes((("", "http://ex.org/"), ("ex", "http://ex.org/x#")))


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("jam/1", ["jam(a)"], ["jam(a,b)", "jam", "slow(a)"]),
        ("jam(*)", ["jam(a)", "jam(a,b)"], ["jam", "jams(a)"]),
        ("jam(a,*)", ["jam(a,b)", "jam(a,b,c)"], ["jam(a)", "jam(b,b)"]),
        ("jam(*,b)", ["jam(a,b)"], ["jam(a,c)", "jam(a,b,c)"]),
        ("jam(a)", ["jam(a)"], ["jam(b)", "jam(a,b)"]),
        ("go", ["go"], ["go(a)"]),
        ("go/0, jam(b)", ["go", "jam(b)"], ["jam(a)"]),
        ('at("b, (c",*)', ['at("b, (c",3)'], ['at("b",3)']),
        ('at("b")', ["at(b)"], ['at("b c")']),
        ("ex:on(*)", ["<http://ex.org/x#on>(<http://ex.org/a>)"], ["on(a)"]),
        ("<http://ex.org/x#on>(:a)", ["<http://ex.org/x#on>(<http://ex.org/a>)"], ["<http://ex.org/x#on>(a)"]),
        (":On/1", ["<http://ex.org/On>(a)"], ["<http://ex.org/On>(a,b)"]),
        (":Jam", ["whatever(a)"], []),
    ],
)
def test_a_list_wants_facts(text: str, wanted: list[str], unwanted: list[str]) -> None:
    match = MatchList.read(text, EX)
    assert [fact for fact in (*wanted, *unwanted) if match.wants(fact)] == wanted


@pytest.mark.parametrize("text", ["", "jam(a", "jam(", "jam)", "Jam(a)", "no:Jam", "jam(X)", "jam/1,,go", "a b"])
def test_what_is_not_a_list_is_refused(text: str) -> None:
    with pytest.raises(RefusedError) as refused:
        MatchList.read(text, EX)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("match", "line", "filtered"),
    [
        ("jam/1", '{"t":3,"begin":["jam(a)","go"],"end":["go"]}', '{"t":3,"begin":["jam(a)"],"end":[]}'),
        ("jam/1", '{"t":3,"begin":["jam(a)"],"end":[]}', '{"t":3,"begin":["jam(a)"],"end":[]}'),
        ("jam/1", '{"t":3,"begin":["go"],"end":["go"]}', None),
        ("go", '{"t":3,"begin":["jam(a)"],"end":[],"unknown":["go"]}', '{"t":3,"begin":[],"end":[],"unknown":["go"]}'),
        ("jam/1", '{"t":3,"facts":["jam(ü)","go"]}', '{"t":3,"facts":["jam(ü)"]}'),
        ("jam/1", '{"fact":"jam(a)","from":1,"until":2}', '{"fact":"jam(a)","from":1,"until":2}'),
        ("jam/1", '{"fact":"go","from":1,"until":2}', None),
        ("jam/1", '{"t":5,"event":"<http://ex.org/Jam>"}', '{"t":5,"event":"<http://ex.org/Jam>"}'),
        (":Jam", '{"t":5,"event":"<http://ex.org/Jam>"}', '{"t":5,"event":"<http://ex.org/Jam>"}'),
        (":Jam", '{"t":5,"event":"<http://ex.org/High>"}', None),
        (":Jam", '{"t":3,"begin":["go"],"end":[]}', '{"t":3,"begin":["go"],"end":[]}'),
        ("jam/1", '{"t":4,"window":[3,4],"answers":[["go"]]}', '{"t":4,"window":[3,4],"answers":[["go"]]}'),
    ],
)
def test_a_list_filters_lines(match: str, line: str, filtered: str | None) -> None:
    assert MatchList.read(match, EX).line(line.encode()) == (None if filtered is None else filtered.encode())


def test_an_empty_list_wants_everything() -> None:
    assert EVERYTHING.wants("jam(a)")
    assert EVERYTHING.line(b'{"t":3,"begin":["go"],"end":[]}') == b'{"t":3,"begin":["go"],"end":[]}'
