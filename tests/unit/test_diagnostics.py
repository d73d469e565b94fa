"""How diagnostics read, and that the page about them is complete."""

import pickle
import re
from pathlib import Path

import pytest

from thalweg.diagnostics import CATALOGUE, Diagnostic, RejectedError, Source, Span
from thalweg.languages import cascade
from thalweg.languages.compile_options import Options
from thalweg.languages.lars import parse
from thalweg.planning.passes import check

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
        "end_line": 2,
        "end_column": 24,
        "help": "bind it",
    }


@pytest.mark.parametrize(
    ("start", "end", "place"),
    [
        (0, 7, (1, 1, 1, 8)),
        (5, 10, (1, 6, 2, 3)),
        (0, 8, (1, 1, 1, 9)),
        (len(TEXT) - 2, len(TEXT) - 2, (2, 35, 2, 36)),
    ],
    ids=["in a line", "over lines", "with the end of its line", "nothing"],
)
def test_data_says_where_the_place_ends(start: int, end: int, place: tuple[int, int, int, int]) -> None:
    data = at(start, end).as_data()
    assert (data["line"], data["column"], data["end_line"], data["end_column"]) == place


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


def test_long_lines_are_cut_around_the_place() -> None:
    text = "a" * 300 + "!" + "b" * 300
    _, place, shown, caret = Diagnostic("E101", "m", Span(Source("x", text), 300, 301)).render().splitlines()
    assert place == "  x:1:301"
    assert (len(shown), shown[caret.index("^")]) == (len("  1 | ") + 120, "!")
    assert shown.count("…") == 2
    whole = Diagnostic("E101", "m", Span(Source("x", text), 0, 601)).render().splitlines()
    assert {len(whole[2]), len(whole[3])} == {len("  1 | ") + 120}


def test_a_line_of_a_million_characters_is_shown_around_the_place() -> None:
    text = "a" * 1_000_000 + " mqtt://me:secret@broker/! " + "b" * 1_000_000
    place = text.index("!")
    _, _, shown, caret = Diagnostic("E101", "m", Span(Source("x", text), place, place + 1)).render().splitlines()
    assert shown[caret.index("^")] == "!"
    assert "mqtt://me:******@broker/! b" in shown
    assert (len(shown), shown.count("…")) == (len("  1 | ") + 120, 2)


def test_an_error_says_all_that_is_wrong_also_when_it_has_travelled() -> None:
    error = pickle.loads(pickle.dumps(RejectedError([at(0, 1), at(1, 2)])))
    assert [diagnostic.code for diagnostic in error.diagnostics] == ["E203", "E203"]
    assert str(error) == "\n\n".join(diagnostic.render() for diagnostic in error.diagnostics)


def test_a_text_may_start_further_down_a_file() -> None:
    assert "in.facts:41:2" in Diagnostic("E301", "m", Span(Source("in.facts", "abc", first_line=41), 1, 2)).render()


def test_a_rejection_carries_all() -> None:
    rejected = RejectedError([at(0, 1), at(8, 11)])
    assert [found.span.start for found in rejected.diagnostics] == [0, 8]
    assert str(rejected).count("error[E203]") == 2


def sections() -> dict[str, tuple[str, str]]:
    return {code: (title, text) for code, title, text in SECTION.findall(PAGE.read_text(encoding="utf-8"))}


def test_the_page_has_every_number_and_no_other() -> None:
    assert {code: title for code, (title, _) in sections().items()} == CATALOGUE


def test_every_number_that_is_used_is_in_the_catalogue() -> None:
    files = (PAGE.parents[1] / "src").rglob("*.py")
    used = {code for path in files for code in re.findall(r'"([EW][0-9]{3})"', path.read_text(encoding="utf-8"))}
    assert used - CATALOGUE.keys() == set()
    assert len(used) > 100


@pytest.mark.parametrize("code", CATALOGUE)
def test_the_page_shows_a_way_out(code: str) -> None:
    assert re.search(r"^\*\*Way out\.\*\* \S", sections()[code][1], re.MULTILINE)


# A program that is too large is too large for a page.
# One program is too large to be shown, what several files share is not in one, and some are known at the end of a run.
UNSHOWN = ("E209", "W208", "W216", "W217", "W218")


@pytest.mark.parametrize("code", [code for code in CATALOGUE if code[1] in "12" and code not in UNSHOWN])
def test_the_pages_programs_are_wrong_as_it_says_and_its_ways_out_are_not(code: str) -> None:
    wrong, right = re.findall(r"```\n(.*?)```", sections()[code][1], re.DOTALL)
    assert {found.code for found in diagnose(wrong)} == {code}
    assert [found.render() for found in diagnose(right)] == []


# What an ontology says is not on the page, nor what a stream brings, rules beside the events read, or a service runs.
@pytest.mark.parametrize(
    "code", [code for code in CATALOGUE if code[1] == "8" and code not in ("W811", "W813", "W814", "W816", "E817")]
)
def test_the_pages_events_are_wrong_as_it_says_and_its_ways_out_are_not(code: str) -> None:
    wrong, right = re.findall(r"```\n(.*?)```", sections()[code][1], re.DOTALL)
    assert {found.code for found in diagnose_events(wrong)} == {code}
    assert [found.render() for found in diagnose_events(right)] == []


def diagnose_events(text: str) -> list[Diagnostic]:
    known = "PREFIX : <http://example.org/> NAMED EVENT :A AS :C NAMED EVENT :B AS :D NAMED EVENT :N AS :E\n"
    program, found = cascade.compile([Source("page.tw", known + text)], Options())
    return [*found, *(one for _, one in program.undefined)]


def diagnose(text: str) -> list[Diagnostic]:
    program, found = parse(Source("page.lars", text))
    return found + check(program)


def test_control_characters_are_shown_and_keep_their_place() -> None:
    source = Source("x", "a\x1b[2Jb\rc\x9bd")
    lines = Diagnostic("E101", "found `\x1b`", Span(source, 6, 7)).render().splitlines()
    assert lines == ["error[E101]: found `␛`", "  x:1:7", "  1 | a␛[2Jb␍c\N{REPLACEMENT CHARACTER}d", "    |       ^"]
