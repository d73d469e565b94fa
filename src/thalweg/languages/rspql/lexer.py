"""A query in tokens, each with its place, and a text that was edited token by token and still knows its places.

Only what must be found is distinguished: keywords, names, variables, brackets. The rest of the grammar is SPARQL's, and
a matter for its parsers.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_LOCAL: Final = r"(?:[\w:]|%[0-9A-Fa-f]{2}|\\.)(?:[\w:.·-]|%[0-9A-Fa-f]{2}|\\.)*(?<!(?<!\\)\.)"
_TOKEN: Final = re.compile(
    rf"""(?P<space>\s+|\#[^\n\r]*)
    |(?P<iri><[^\x00-\x20<>"{{}}|^`\\]*>)
    |(?P<string>\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
    |(?P<blank>_:\w[\w.·-]*(?<!\.))
    |(?P<name>(?:[^\W\d_](?:[\w.·-]{{0,250}}(?<!\.))?)?:(?:{_LOCAL})?)
    |(?P<variable>[?$]\w+)
    |(?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign>\^\^|&&|\|\||[<>!]=|.)""",
    re.VERBOSE | re.DOTALL,
)

_PAIRS: Final = {"{": "}", "(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a query; `kind` is iri, string, blank, name, variable, language, number, word or sign."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def says(self, *words: str) -> bool:
        """Whether it is one of some keywords, in any case."""
        return self.kind == "word" and self.text.upper() in words


def tokens(text: str) -> list[Token]:
    """The tokens of a query, without blanks and comments.

    >>> [(token.kind, token.text) for token in tokens("WINDOW :w { ?s <p> 3 } # done")][:5]
    [('word', 'WINDOW'), ('name', ':w'), ('sign', '{'), ('variable', '?s'), ('iri', '<p>')]
    """
    matches = (match for match in _TOKEN.finditer(text) if match.lastgroup != "space")
    return [Token(match.lastgroup or "", match[0], match.start()) for match in matches]


def closing(lexemes: Sequence[Token], opening: int) -> int | None:
    """The place of the bracket that closes another one; None where it is missing.

    >>> closing(tokens("{ a { b } } c"), 0)
    5
    """
    shut = _PAIRS[lexemes[opening].text]
    depth = 0
    for place in range(opening, len(lexemes)):
        if lexemes[place].kind == "sign":
            depth += (lexemes[place].text == lexemes[opening].text) - (lexemes[place].text == shut)
            if depth == 0:
                return place
    return None


@dataclass(frozen=True, slots=True)
class Edit:
    """A text in the place of what stands between two offsets."""

    start: int
    end: int
    text: str


class Edited:
    """A text after edits, which do not overlap; `original` leads back.

    >>> edited = Edited("WINDOW :w {}", [Edit(0, 6, "GRAPH"), Edit(7, 7, "<x> ")])
    >>> edited.text, edited.original(edited.text.index(":w"))
    ('GRAPH <x> :w {}', 7)
    """

    def __init__(self, text: str, edits: Iterable[Edit]) -> None:
        self._starts: list[int] = []
        self._places: list[tuple[int, bool]] = []
        self.text = "".join(self._pieces(text, sorted(edits, key=lambda edit: (edit.start, edit.end))))

    def _pieces(self, text: str, edits: Iterable[Edit]) -> Iterator[str]:
        length, place = 0, 0
        for edit in (*edits, Edit(len(text), len(text), "")):
            for piece, start, kept in ((text[place : edit.start], place, True), (edit.text, edit.start, False)):
                self._starts.append(length)
                self._places.append((start, kept))
                length += len(piece)
                yield piece
            place = edit.end

    def original(self, offset: int) -> int:
        """Where an offset of the edited text was written; within what an edit brought, where that stands."""
        piece = bisect_right(self._starts, offset) - 1
        start, kept = self._places[piece]
        return start + (offset - self._starts[piece]) * kept
