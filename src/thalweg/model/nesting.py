"""How deeply expressions and documents are nested, counted before a parser follows them down: some parsers crash.

    ((((1))))       four levels                 1 + 1 + 1 + 1       three: each sum is an operand of the next
    f(1,1) + 1      one level, behind the bracket

Brackets that are closed, and operators in front of a comma, no longer count.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MOST_NESTED: Final = 200
"""The most levels that may be open at once."""

TOO_DEEP: Final = f"this is nested more than {MOST_NESTED} levels deep"
WAY_OUT: Final = "name a part of it, and use the name here"

_STOPS: Final = frozenset({",", ";", ":-", "."})
_OPERATORS: Final = frozenset({*"+-*/\\|&?^~", "**", "..", "mod"})
_MEANS: Final = {"open": "(", "close": ")"}
# Strings, IRIs and comments are matched whole, so that nothing is counted in there.
_STRING: Final = r'"(?:[^"\\\n]|\\.)*"|<[^<>\s"]*>'
_BRACKETS: Final = r"(?P<open>[(\[{])|(?P<close>[)\]}])"
_PROGRAM: Final = re.compile(rf"{_STRING}|{_BRACKETS}|:-|\*\*|\.\.|(?<!\.)\.(?!\.)|[,;+*/\\|&?^~-]", re.DOTALL)


class Nesting:
    """Counts the levels that are open, token by token.

    >>> nesting = Nesting()
    >>> [nesting.take(token) for token in ("f", "(", "1", "+", "1", "+", "1", ",", ")")]
    [0, 1, 1, 2, 2, 3, 3, 1, 0]
    """

    def __init__(self) -> None:
        # For each open bracket how many operators stand in it since the last comma; outside of brackets as well.
        self._operators = [0]
        self._levels = 0

    def take(self, token: str) -> int:
        """How many levels are open behind a token."""
        if token in _OPERATORS:
            self._operators[-1] += 1
            self._levels += 1
        elif token in _STOPS:
            self._levels -= self._operators[-1]
            self._operators[-1] = 0
        elif token in ("(", "[", "{"):
            self._operators.append(0)
            self._levels += 1
        elif token in (")", "]", "}") and len(self._operators) > 1:
            self._levels -= 1 + self._operators.pop()
        return self._levels


def too_deep(text: str) -> int | None:
    """Where an answer set program without comments is nested too deeply for the first time.

    >>> too_deep("p(" * 10 + ")" * 10), too_deep("p(" * 1_000)
    (None, 401)
    """
    nesting = Nesting()
    for token in _PROGRAM.finditer(text):
        if nesting.take(_MEANS.get(token.lastgroup or "") or token.group()) > MOST_NESTED:
            return token.start()
    return None


@dataclass(frozen=True, slots=True)
class _Levels:
    """What opens and closes levels in documents of a format, and the most of them that may be open at once.

    A document in which the `signs` that open levels are fewer than that needs no closer look.
    """

    tokens: re.Pattern[bytes]
    signs: tuple[bytes, ...]
    most: int = MOST_NESTED


# What is not closed reaches to the end, so that nothing is looked at twice.
_JSON: Final = _Levels(re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|(?P<open>[{\[])|(?P<close>[}\]])', re.DOTALL), (b"{", b"["))
# Lists are often written as elements in elements, so more levels are common there; each takes time in proportion to
# its depth.
_XML: Final = _Levels(
    re.compile(
        rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<!|(?P<close></)"
        rb"""|<(?:[^"'<>]++|"[^"<]*+"|'[^'<]*+')*+(?<=/)>|(?P<open><)""",
        re.DOTALL,
    ),
    (b"<",),
    2_000,
)
# Triples inside of triples are refused, but not before the parser has read them.
_TURTLE: Final = _Levels(
    re.compile(
        rb'"""(?:[^"\\]++|\\.|"(?!""))*+"""|"(?:[^"\\\n\r]++|\\.)*+"'
        rb"|'''(?:[^'\\]++|\\.|'(?!''))*+'''|'(?:[^'\\\n\r]++|\\.)*+'"
        rb"|<[^<>\x00-\x20\x22{}|^`]*+>|#[^\n\r]*+|(?P<open><<)|(?P<close>>>)",
        re.DOTALL,
    ),
    (b"<<",),
)
_DOCUMENTS: Final[Mapping[str, _Levels]] = {
    "jsonld": _JSON,
    "rdfxml": _XML,
    **dict.fromkeys(("turtle", "trig", "ntriples", "nquads"), _TURTLE),
}


class DeepDocumentError(ValueError):
    """A document is nested more deeply than its parser can follow; `offset` is the byte at which it is too much."""

    def __init__(self, most: int, offset: int) -> None:
        super().__init__(f"this is nested more than {most:,} levels deep")
        self.offset = offset


def check_document(data: bytes, format: str) -> None:
    """Raises `DeepDocumentError` where a document of RDF is nested too deeply for its parser.

    >>> check_document(b'{"a": "[[[["}' * 1_000, "jsonld")
    >>> check_document(b"[" * 1_000, "jsonld")
    Traceback (most recent call last):
    thalweg.model.nesting.DeepDocumentError: this is nested more than 200 levels deep
    """
    levels = _DOCUMENTS[format]
    if sum(map(data.count, levels.signs)) <= levels.most:
        return
    open_ = 0
    for token in levels.tokens.finditer(data):
        match token.lastgroup:
            case "open":
                open_ += 1
                if open_ > levels.most:
                    raise DeepDocumentError(levels.most, token.start())
            case "close":
                open_ = max(0, open_ - 1)
