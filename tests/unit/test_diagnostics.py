"""How diagnostics read, and that the page about them is complete."""

import re
from pathlib import Path

import pytest

from thalweg.diagnostics import CATALOGUE, Diagnostic, Rejected, Source, Span
from thalweg.languages.lars import parse
from thalweg.planning.check_safety import check_safety
from thalweg.planning.stratify import check_strata

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
SECTION = re.compile(r"^## ([EW][0-9]+) (.+)\n((?:(?!^## ).*\n?)*)", re.MULTILINE)

TEXT = "a :- b.\njam(S) :- not slow(S, T) in [60 s].\n"


def at(start: int, end: int, **more: object) -> Diagnostic:
    return Diagnostic("E203", "message", Span(Source("traffic.lars", TEXT), start, end), **more)  # type: ignore[arg-type]


def test_the_layout() -> None:
    where = TEXT.index("T)")
    assert at(where, where + 1, help="bind it", notes=("first", "second")).render() == "\n".join([
        "error[E203]: message",
        "  traffic.lars:2:23",
        "  2 | jam(S) :- not slow(S, T) in [60 s].",
        "    |                       ^",
        "  note: first",
        "  note: second",
        "  help: bind it",
    ])  # fmt: skip


def test_the_same_as_data() -> None:
    where = TEXT.index("T)")
    assert at(where, where + 1, help="bind it").as_data() == {
        "code": "E203",
        "severity": "error",
        "message": "message",
        "file": "traffic.lars",
        "line": 2,
        "column": 23,
        "help": "bind it",
    }


def test_without_a_place() -> None:
    assert Diagnostic("W201", "message").render() == "warning[W201]: message"
    assert Diagnostic("W201", "message", notes=("why",)).as_data() == {
        "code": "W201",
        "severity": "warning",
        "message": "message",
        "notes": ["why"],
    }


def test_carets_stay_on_their_line_and_under_their_characters() -> None:
    source = Source("x", "\tab\ncd")
    assert Diagnostic("E101", "m", Span(source, 1, 6)).render().splitlines()[2:] == ["  1 | \tab", "    | \t^^"]
    assert Diagnostic("E101", "m", Span(source, 6, 6)).render().splitlines()[1:] == ["  x:2:3", "  2 | cd", "    |   ^"]


def test_a_text_may_start_further_down_a_file() -> None:
    assert "in.facts:41:2" in Diagnostic("E301", "m", Span(Source("in.facts", "abc", first_line=41), 1, 2)).render()


def test_a_rejection_carries_all() -> None:
    rejected = Rejected([at(0, 1), at(8, 11)])
    assert [found.span.start for found in rejected.diagnostics] == [0, 8]
    assert str(rejected).count("error[E203]") == 2


def sections() -> dict[str, tuple[str, str]]:
    return {code: (title, text) for code, title, text in SECTION.findall(PAGE.read_text(encoding="utf-8"))}


def test_the_page_has_every_number_and_no_other() -> None:
    assert {code: title for code, (title, _) in sections().items()} == CATALOGUE


@pytest.mark.parametrize("code", CATALOGUE)
def test_the_page_shows_a_way_out(code: str) -> None:
    assert re.search(r"^\*\*Way out\.\*\* \S", sections()[code][1], re.MULTILINE)


@pytest.mark.parametrize("code", [code for code in CATALOGUE if code[1] in "12"])
def test_the_pages_programs_are_wrong_as_it_says_and_its_ways_out_are_not(code: str) -> None:
    wrong, right = re.findall(r"```\n(.*?)```", sections()[code][1], re.DOTALL)
    assert {found.code for found in diagnose(wrong)} == {code}
    assert [found.render() for found in diagnose(right)] == []


def diagnose(text: str) -> list[Diagnostic]:
    program, found = parse(Source("page.lars", text))
    return found + check_safety(program) + check_strata(program)


@pytest.mark.parametrize("place", [0, 5_000, 9_999])
def test_of_a_long_line_the_part_around_the_place_is_shown(place: int) -> None:
    line = "x" * place + "!" + "x" * (9_999 - place)
    _, where, written, caret = Diagnostic("E101", "m", Span(Source("a", line), place, place + 3)).render().splitlines()
    assert where == f"  a:1:{place + 1}"
    assert len(written) < 250
    assert written[caret.index("^")] == "!"
