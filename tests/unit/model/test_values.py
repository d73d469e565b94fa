"""What terms are worth."""

import pytest

from thalweg.model.number import show_number
from thalweg.model.rdf import XSD
from thalweg.model.values import any_text, moment_of, number_of, text_of, value_of


def typed(text: str, datatype: str) -> str:
    return f'"{text}"^^<{XSD}{datatype}>'


@pytest.mark.parametrize(
    ("term", "number"),
    [
        ("31.50", "31.50"),
        (typed("31.50", "double"), "31.5"),
        (typed("3.15E1", "double"), "31.5"),
        (typed("0.1", "float"), "0.1"),
        (typed("1e-400", "double"), "0"),
        (typed("31", "unsignedByte"), "31"),
        (typed("+031", "long"), "31"),
    ],
)
def test_numbers(term: str, number: str) -> None:
    word = number_of(term)
    assert word is not None
    assert show_number(word) == number


@pytest.mark.parametrize(
    "term",
    [
        typed("NaN", "double"),
        typed("-INF", "float"),
        typed("300", "byte"),
        typed("1e300", "double"),
        typed("12", "duration"),
        typed("9" * 5000, "unsignedLong"),
        '"12"',
        '"12"@en',
        "x12",
        "<http://e.org/12>",
        "_:b12",
    ],
)
def test_what_is_not_a_number(term: str) -> None:
    assert number_of(term) is None


@pytest.mark.parametrize(
    ("term", "seconds"),
    [
        (typed("1970-01-01T00:00:01Z", "dateTime"), 1),
        (typed("1970-01-01T00:00:01", "dateTime"), 1),
        (typed("1970-01-01T01:00:01+01:00", "dateTimeStamp"), 1),
        (typed("1969-12-31T24:00:00Z", "dateTime"), 0),
        (typed("1970-01-02", "date"), 86_400),
        (typed("1970-01-02+01:00", "date"), 82_800),
        (typed("1970-02-30", "date"), None),
        (typed("1970-01-01", "dateTime"), None),
        (typed("-0044-03-15T00:00:00Z", "dateTime"), None),
        ("1970", None),
    ],
)
def test_times(term: str, seconds: int | None) -> None:
    assert moment_of(term) == (None if seconds is None else seconds * 1_000_000)


def test_texts() -> None:
    assert [text_of(term) for term in ("a1", '"a\\nb"', '"a"@en', "7", "<a>")] == ["a1", "a\nb", None, None, None]
    assert [any_text(term) for term in ("a1", '"a\\nb"', '"a"@en', "7", "<a>", typed("1", "byte"), "_:b")] == [
        "a1", "a\nb", "a", "7", "a", "1", "_:b",
    ]  # fmt: skip


def test_other_terms_have_no_value() -> None:
    assert [value_of(term) for term in ("<http://e.org/a>", "_:b0", '"a"@en', typed("true", "boolean"))] == [None] * 4
