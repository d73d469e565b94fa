"""How terms are written, and the canonical spelling that each of them stands for.

    ex:road1        becomes   <http://example.org/road1>
    007             becomes   7
    "x"@EN          becomes   "x"@en
    "road1"         becomes   road1
    @2026-11-15     becomes   "2026-11-15"^^<http://www.w3.org/2001/XMLSchema#date>
    "3"^^<http://www.w3.org/2001/XMLSchema#integer>   becomes   3

Two terms are the same when they are spelled the same, so every way to write one must end in one spelling.
"""

import re
from collections.abc import Mapping
from typing import Final

from thalweg.model.number import LARGEST_INTEGER, read_number, show_number
from thalweg.model.term import BARE, NUMERIC, quote, unquote
from thalweg.model.values import moment_of

_NAME = r"[a-z][A-Za-z0-9_]*"
_IRI = r'<[^<>"{}|^`\\\s]+>'
_PREFIXED = r"(?:[a-z][A-Za-z0-9_-]*)?:[A-Za-z0-9_]+(?:-+[A-Za-z0-9_]+)*"
_STRING = rf'"(?:[^"\\\n]++|\\[nrt"\\])*+"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^(?:{_IRI}|{_PREFIXED}))?'
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_MOMENT = r"@[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"

PREDICATE: Final = re.compile(rf"{_PREFIXED}|{_NAME}|{_IRI}")
TERM: Final = re.compile(rf"{_PREFIXED}|{_NAME}|{_IRI}|{_STRING}|{_NUMBER}|_:[A-Za-z0-9_]+|{_MOMENT}")
# An atom without variables, on one line: its predicate, and its terms if there are any.
GROUND: Final = rf"({PREDICATE.pattern})(?:\([ \t]*((?:{TERM.pattern})(?:[ \t]*,[ \t]*(?:{TERM.pattern}))*)?[ \t]*\))?"

_XSD: Final = "<http://www.w3.org/2001/XMLSchema#"
# No number that has a word needs more characters or a larger exponent than this.
_LONGEST: Final = 200


class ReadingError(Exception):
    """Something that is written well but stands for nothing: an unknown prefix, a number out of range."""

    def __init__(self, code: str, message: str, way_out: str) -> None:
        super().__init__(message)
        self.code = code
        self.way_out = way_out


def canonical(text: str, prefixes: Mapping[str, str]) -> str:
    """The spelling of a term or predicate that matches `TERM`.

    >>> canonical("ex:a", {"ex": "http://example.org/"}), canonical("02.50", {}), canonical('"x"@EN', {})
    ('<http://example.org/a>', '2.50', '"x"@en')
    """
    first = text[0]
    if first == '"':
        return _literal(text, prefixes)
    if first == "<" or first == "_":
        return text
    if first.isdigit() or first == "-":
        return number(text)
    if first == "@":
        return _moment(text)
    return _resolved(text, prefixes) if ":" in text else text


def number(text: str) -> str:
    """The spelling of a number.

    >>> number("1.5e-3")
    '0.0015'
    """
    exponent = text.lower().partition("e")[2]
    fits = len(text) <= _LONGEST and len(exponent) <= 4 and abs(int(exponent or 0)) <= _LONGEST
    word = read_number(text) if fits else None
    if word is None:
        shown = text if len(text) <= 40 else text[:37] + "…"
        way_out = f"numbers range from -{LARGEST_INTEGER} to {LARGEST_INTEGER}"
        raise ReadingError("E104", f"number `{shown}` is out of range", way_out)
    return show_number(word)


def _moment(text: str) -> str:
    """The typed literal for a date or a time behind `@`."""
    term = f'"{text[1:]}"^^{_XSD}{"dateTime" if "T" in text else "date"}>'
    if moment_of(term) is None:
        raise ReadingError("E101", f"`{text}` is not a time", "write it as in `@2026-11-15T08:00:00Z`")
    return term


def _resolved(text: str, prefixes: Mapping[str, str]) -> str:
    prefix, _, local = text.partition(":")
    if prefix == "xsd" and prefix not in prefixes:
        return f"{_XSD}{local}>"
    if prefix not in prefixes:
        way_out = f"declare it first: `@prefix {prefix}: <http://example.org/> .`"
        raise ReadingError("E103", f"unknown prefix `{prefix}:`", way_out)
    return f"<{prefixes[prefix]}{local}>"


def _literal(text: str, prefixes: Mapping[str, str]) -> str:
    end = text.rindex('"') + 1
    body, tag = text[:end], text[end:]
    if "\\" in body or "\t" in body:
        body = quote(unquote(body))
    if not tag.startswith("^^"):
        return body + tag.lower() if tag else _bare(body)
    datatype = canonical(tag[2:], prefixes)
    if datatype == f"{_XSD}string>":
        return _bare(body)
    if datatype in (f"{_XSD}integer>", f"{_XSD}decimal>") and NUMERIC.match(body[1:-1]):
        return number(body[1:-1])
    return f"{body}^^{datatype}"


def _bare(text: str) -> str:
    """A text without quotes where it can be written without them."""
    return text[1:-1] if BARE.match(text[1:-1]) else text
