"""Timestamped N-Triples: `36 <s> <p> <o> .`, a tick or an `xsd:dateTime` and a triple on each line.

Most lines hold IRIs and literals without escapes; one regular expression takes them apart. Blank nodes and escapes
take a closer look, and so does a line with a mistake, which costs that line only. (A parser of RDF is not faster, for
each of its terms is an object that must be taken apart again, and it gives up at the first mistake.)
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from thalweg.connectors.batches import Stated, moment, triple
from thalweg.connectors.lines import LineError, LineReader, wrong_line
from thalweg.diagnostics import Diagnostic
from thalweg.model.rdf import BLANK, IRI, LITERAL, PLAIN_IRI, PLAIN_LITERAL, XSD, term

Parts = Mapping[str, str]

# What a statement is made of, in the words of a message, and how it is written.
SUBJECT: Final = {"a subject, an IRI `<…>` or a blank node `_:b`": f"{IRI}|{BLANK}"}
PREDICATE: Final = {"a predicate, an IRI `<…>`": IRI}
OBJECT: Final = {"an object, an IRI `<…>`, a blank node `_:b` or a literal": f"{IRI}|{BLANK}|{LITERAL}"}
END: Final = {"a full stop": r"\.", "the end of the line": r"(?:#.*)?\Z"}
BLANK_LINE: Final = re.compile(r"[ \t\r]*(?:#.*)?\Z")

_TIME: Final = {"a tick or a timestamp": rf'[0-9][0-9A-Z:.+-]*|"[^"\\]*"(?:\^\^<{XSD}(?:dateTime|integer)>)?'}
_PARTS: Final[Parts] = {**_TIME, **SUBJECT, **PREDICATE, **OBJECT, **END}
_SIMPLE: Final = re.compile(rf"([0-9][0-9A-Z:.+-]*) ({PLAIN_IRI}) ({PLAIN_IRI}) ({PLAIN_IRI}|{PLAIN_LITERAL}) ?\.\r?\Z")
_GAP: Final = r"[ \t\r]*"
_SHAPE: Final = "a line looks like `36 <s> <p> <o> .`"


class TripleReader(LineReader):
    """Reads timestamped N-Triples.

    >>> from thalweg.model.dictionary import Dictionary
    >>> from thalweg.model.time import Clock
    >>> reader = TripleReader(Dictionary(), "in.tnt", "in", Clock(), "in")
    >>> text = "36 <a> <p> <b> .\\n36 <a> <q> <b> .\\n1970-01-01T00:00:37Z <a> <p> <c> .\\n"
    >>> [(tick, batch.order) for tick, batch in reader.feed(text.encode())]
    [(36, ['<p>/2', '<q>/2']), (37, ['<p>/2'])]
    """

    def _statements(self, lines: list[str]) -> Iterator[Stated | Diagnostic]:
        simple, stream = _SIMPLE.match, self._stream
        tick, written = -1, ""
        for line in lines:
            self._line += 1
            match = simple(line)
            if match is not None and match[1] == written:
                yield triple(tick, stream, match[2], match[3], match[4])
            elif not BLANK_LINE.match(line):
                try:
                    time, subject, predicate, object = match.groups() if match else self._closely(line)
                    tick, written = moment(time, self._clock), time
                    yield triple(tick, stream, subject, predicate, object)
                except ValueError as error:
                    yield wrong_line(self._name, self._line, line, error, _SHAPE)

    def _closely(self, line: str) -> list[str]:
        time, *terms = take_apart(line, _PARTS)
        return [time[1 : time.rindex('"')] if time[0] == '"' else time, *spell(line, terms[:3], self._scope)]


def take_apart(line: str, parts: Parts) -> list[str]:
    """The parts of a line, with blanks between them or not; `LineError` where one of them is missing.

    >>> take_apart("<s><p> <o>.", {**SUBJECT, **PREDICATE, **OBJECT, **END})
    ['<s>', '<p>', '<o>', '.', '']
    """
    match = _whole(tuple(parts.values())).match(line)
    if match is None:
        raise _missing(line, parts)
    return list(match.groups())


def spell(line: str, texts: list[str], scope: str) -> list[str]:
    """The terms of some parts of a line."""
    terms = []
    for text in texts:
        try:
            terms.append(term(text, scope))
        except ValueError as error:
            raise LineError(str(error), line.index(text)) from None
    return terms


@cache
def _whole(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("".join(f"{_GAP}({part})" for part in parts))


def _missing(line: str, parts: Parts) -> LineError:
    """The first part that is not where it should be."""
    position = 0
    for expected, written in parts.items():
        match = re.compile(f"{_GAP}(?:{written})").match(line, position)
        if match is None:
            return LineError(f"expected {expected}, found {_next_word(line, position)}", _next_place(line, position))
        position = match.end()
    raise AssertionError("all parts are there")


def _next_place(line: str, position: int) -> int:
    return len(line) - len(line[position:].lstrip(" \t\r"))


def _next_word(line: str, position: int) -> str:
    word = re.match(r'[\w<"]\S{0,30}|\S', line[_next_place(line, position) :])
    return f"`{word.group()}`" if word else "the end of the line"
