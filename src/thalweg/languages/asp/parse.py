"""Clingo's parser reads a program; what it complains about gets our places, numbers and words."""

import re
from collections.abc import Iterator
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.languages.asp.places import Places
from thalweg.solvers.clingo import MOST_ARGUMENTS
from thalweg.solvers.clingo import parse as parse_statements

_MESSAGE: Final = re.compile(
    r"(?P<file>[^\n]*?):(?P<line>[0-9]+):(?P<column>[0-9]+)(?:-(?:(?P<last>[0-9]+):)?(?P<end>[0-9]+))?: "
    r"(?P<kind>error|note|info|warning): (?P<text>.*?)(?=\n[^\n]*?:[0-9]+:[0-9]+[^\n]*?: note: |\Z)",
    re.DOTALL,
)
_UNSAFE: Final = re.compile(r"'(?P<name>.*)' is unsafe")


def parse(text: str, source: Source) -> tuple[list[Any], list[Diagnostic]]:
    """The statements of a program as clingo's parser reads them, and what it complains about.

    The text may have been prepared: its places are those of the source.

    >>> [diagnostic.message for diagnostic in parse("a(X) :- p.", Source("x.lp", "a(X) :- p."))[1]]
    ['variable `X` is not bound by a positive atom']
    """
    parsed = parse_statements(text)
    places = Places(source)
    wrong = [_too_wide(node, places) for node in parsed.wide]
    return parsed.nodes, wrong + [
        diagnostic for message in parsed.messages for diagnostic in _complaints(message, places)
    ]


def _too_wide(node: Any, places: Places) -> Diagnostic:
    message = f"clingo rejects the program: a predicate has {MOST_ARGUMENTS:,} arguments at most"
    return Diagnostic("E501", message, places.of(node), help=_REJECTED)


def _complaints(message: str, places: Places) -> Iterator[Diagnostic]:
    """Clingo's messages at our place and in our form."""
    messages = list(_MESSAGE.finditer(message))
    unsafe = [match for match in messages if match["kind"] == "note" and _UNSAFE.match(match["text"])]
    for match in unsafe:
        name = match["text"].split("'")[1]
        what = "the variable `_`" if name.startswith("#Anon") else f"variable `{name}`"
        help = f"use it in an atom that is neither negated nor compared, for example `known({name})`"
        yield Diagnostic("E203", f"{what} is not bound by a positive atom", _span(match, places), help)
    errors = [match for match in messages if match["kind"] == "error"]
    if not unsafe and errors:
        text = " ".join(errors[0]["text"].split())
        notes = tuple(" ".join(match["text"].split()) for match in messages if match["kind"] == "note")
        yield _complaint(text, errors[0], notes, places)
    if not messages and message.strip():
        yield Diagnostic("E501", f"clingo rejects the program: {' '.join(message.split())}", help=_REJECTED)


def _complaint(text: str, place: re.Match[str], notes: tuple[str, ...], places: Places) -> Diagnostic:
    if text.startswith("syntax error"):
        detail = text.removeprefix("syntax error, ")
        return Diagnostic("E101", f"syntax error: {detail}", _span(place, places), help=_SYNTAX, notes=notes)
    return Diagnostic("E501", f"clingo rejects the program: {text}", _span(place, places), help=_REJECTED, notes=notes)


_SYNTAX: Final = "this is not a statement of clingo's language; is a bracket or a full stop missing before it?"
_REJECTED: Final = "change the program so that clingo accepts it: `clingo --mode=gringo program.lp` says the same"


def _span(place: re.Match[str], places: Places) -> Span:
    line, column = int(place["line"]), int(place["column"])
    return places.span(place["file"], (line, column), (int(place["last"] or line), int(place["end"] or column + 1)))
