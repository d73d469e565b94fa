"""Pages that are wrong say so, and where."""

import pytest

from thalweg.diagnostics import RejectedError, Source
from thalweg.testing import by_semantics, check, read_page
from thalweg.testing.timeline import PageError

PROGRAM = "## Title\n\n    q(X) :- p(X) in [1].\n\n"


def cases(*rows: str) -> list:  # type: ignore[type-arg]
    return read_page(Source("page.md", PROGRAM + "\n".join(["| t | in | out |", "|---|----|-----|", *rows])))


def test_a_page_without_tables_has_no_cases() -> None:
    assert read_page(Source("page.md", "# Only\n\nprose\n")) == []


def test_a_table_needs_a_program() -> None:
    with pytest.raises(PageError, match=r"page.md:\d+: `Title` has a table but no program"):
        read_page(Source("page.md", "## Title\n| t | in | out |\n| 0 | p | |\n"))


@pytest.mark.parametrize(
    "row", ["| x | | |", "| 0 | p(a) |", "| 0 | | q(a) |", "| 0 | p(X) | |", "| 0 | p(a) in [3] | |"]
)
def test_a_row_that_cannot_be_read_says_where(row: str) -> None:
    with pytest.raises(PageError, match=r"page\.md:7"):
        cases(row)


def test_a_cell_that_is_no_fact_is_a_diagnostic() -> None:
    with pytest.raises(RejectedError, match=r"page\.md:7"):
        cases("| 0 | p(a | |")


def test_time_goes_forward() -> None:
    with pytest.raises(PageError, match=r"page.md:8: each row is later"):
        cases("| 3 | p(a) | + q(a) |", "| 3 | | |")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["| 0 | p(a) | |"], "at 0 the page says nothing; the evaluator says + q(a)"),
        (["| 0 | p(a) | + q(b) |"], "at 0 the page says + q(b); the evaluator says + q(a)"),
        (["| 0 | p(a) | + q(a) |", "| 5 | | |"], "at 2 the page says nothing; the evaluator says - q(a)"),
        (
            ["| 0 | p(a) | + q(a) |", "| 1 | | - q(a) |", "| 2 | | |"],
            "at 1 the page says - q(a); the evaluator says nothing",
        ),
    ],
)
def test_a_page_that_is_wrong_is_told_where(rows: list[str], told: str) -> None:
    [case] = cases(*rows)
    with pytest.raises(AssertionError) as failure:
        check(case, by_semantics)
    assert told in str(failure.value)


def test_streams_and_order_are_kept() -> None:
    [case] = cases("| 0 | p(a) from s, p(b) from s, p(c), p(d) from s | |")
    assert [(event.stream, [str(fact) for fact in event.facts]) for event in case.events] == [
        ("s", ["p(a)", "p(b)"]),
        (None, ["p(c)"]),
        ("s", ["p(d)"]),
    ]


def test_signs_in_arguments_and_strings_are_no_changes() -> None:
    [case] = cases('| 0 | p(-3), p("x, + y - z") | + q(-3), + q("x, + y - z") |')
    assert case.changes[0].begin == {"q(-3)", 'q("x, + y - z")'}
    check(case, by_semantics)
