"""What is wrong with a class expression in Manchester syntax, in plain words and at its place.

    :Reading and (:in somee :Room)        unknown word `somee`: did you mean `some`?

The parser of the expressions says what it would have accepted, and rarely where. This one reads the same grammar and
only looks for the first mistake; it accepts more than the parser does, which decides.

    class       conjunctions joined by `or`; these are parts joined by `and` (or `that`)
    part        [not] name | ( class ) | { values } | property restriction
    restriction some | only part; value thing; min | max | exactly number [part]; Self
    range       datatype [ facet value, … ]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from thalweg.languages.rspql.lexer import Token
from thalweg.model.nesting import WAY_OUT

_QUANTIFIERS: Final = ("SOME", "ONLY")
_COUNTS: Final = ("MIN", "MAX", "EXACTLY")
_JOINS: Final = ("AND", "OR", "THAT")
_KNOWN: Final = ("some", "only", "value", "min", "max", "exactly", "Self", "and", "or", "not", "that", "inverse")
_FACETS: Final = ("LENGTH", "MINLENGTH", "MAXLENGTH", "PATTERN", "LANGRANGE")
_COMPARISONS: Final = ("<", "<=", ">", ">=")
_DATATYPES: Final = ("integer", "decimal", "float", "double", "string", "boolean", "dateTime")
_SIGNS: Final = {"&": "and", "&&": "and", "|": "or", "||": "or", "!": "not", ",": "and", "¬": "not"}
_STRAY: Final = {
    **dict.fromkeys((".", ";"), "leave it out: nothing stands behind a class"),
    **dict.fromkeys(("/", "%"), "a comment begins with `#`"),
}
_CLASS: Final = "write a class, or an expression such as `:A and (:r some :B)`"
_RANGE: Final = "write a range as in `xsd:double[>= 0.5, < 1.0]`"


@dataclass(frozen=True, slots=True)
class ClassMistake:
    """The first thing that is wrong: from which offset to which, a sentence, and a way out."""

    start: int
    end: int
    message: str
    help: str


def first_mistake(tokens: Sequence[Token]) -> ClassMistake | None:
    """The first mistake of an expression in tokens; None where there is none that this grammar knows.

    >>> from thalweg.languages.rspql.lexer import tokens
    >>> first_mistake(tokens(":A and (:r some :B")).message
    '`(` is never closed'
    >>> first_mistake(tokens(":A and (:r some xsd:double[> 3.5])"))
    """
    reading = _Reading(tokens)
    try:
        reading.disjunction()
        if reading.now.kind != "end":
            reading.unexpected()
    except _FoundError as error:
        return error.mistake
    return None


# Of classes in classes: each takes four calls, of a thousand that Python allows.
_MOST_NESTED: Final = 100


class _FoundError(Exception):
    def __init__(self, mistake: ClassMistake) -> None:
        self.mistake = mistake


class _Reading:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def now(self) -> Token:
        return self._ahead(0)

    def _ahead(self, count: int) -> Token:
        place = self._at + count
        if place < len(self._tokens):
            return self._tokens[place]
        return Token("end", "", self._tokens[-1].end if self._tokens else 0)

    def _take(self) -> Token:
        token = self.now
        self._at += 1
        return token

    def _fail(self, message: str, help: str, token: Token | None = None) -> None:
        place = token or self.now
        raise _FoundError(ClassMistake(place.start, max(place.end, place.start + 1), message, help))

    def disjunction(self) -> None:
        """A class: what `and` and `or` join."""
        self._part()
        while self.now.says(*_JOINS):
            self._take()
            self._part()

    def _part(self) -> None:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            self._fail(f"this is nested more than {_MOST_NESTED} levels deep", WAY_OUT)
        while self.now.says("NOT"):
            self._take()
        self._single(self.now)
        self._depth -= 1

    def _single(self, token: Token) -> None:
        if token.text == "(":
            self._group()
        elif token.text == "{":
            self._values()
        elif token.says("INVERSE"):
            self._inverse()
            self._restriction(token)
        elif token.kind in ("name", "iri"):
            self._take()
            if self.now.text == "[":
                self._facets()
            elif _begins_restriction(self.now):
                self._restriction(token)
        else:
            self._no_part(token)

    def _no_part(self, token: Token) -> None:
        shown = f"`{token.text}`" if token.text else "the end"
        if token.kind == "word" and not token.says(*(word.upper() for word in _KNOWN)):
            prefix = "xsd" if token.text in _DATATYPES or self._ahead(1).text == "[" else ""
            self._fail(f"expected a class, found {shown}", f"names have a prefix: write `{prefix}:{token.text}`")
        self._fail(f"expected a class, found {shown}", _CLASS)

    def _group(self) -> None:
        opening = self._take()
        self.disjunction()
        if self.now.kind == "end":
            self._fail("`(` is never closed", "close it with `)`", opening)
        if self.now.text != ")":
            self.unexpected()
        self._take()

    def _values(self) -> None:
        """`{ :a, :b }`: individuals or literals."""
        opening = self._take()
        while self.now.text != "}":
            if self.now.kind == "end":
                self._fail("`{` is never closed", "close it with `}`", opening)
            self._take()
        self._take()

    def _inverse(self) -> None:
        self._take()
        bracket = self.now.text == "(" and self._take()
        if self.now.kind not in ("name", "iri"):
            self._fail(f"expected a property, found {_shown(self.now)}", "write it as in `inverse :r some :C`")
        self._take()
        if bracket:
            if self.now.text != ")":
                self._fail("`(` is never closed", "close it with `)`", bracket)
            self._take()

    def _restriction(self, of: Token) -> None:
        word = self._take()
        if word.says(*_QUANTIFIERS):
            self._part()
        elif word.says(*_COUNTS):
            if self.now.kind != "number" or not self.now.text.isdigit():
                message = f"expected a whole number behind `{word.text}`, found {_shown(self.now)}"
                self._fail(message, f"write it as in `{of.text} {word.text} 2 :C`")
            self._take()
            if self.now.kind in ("name", "iri") or self.now.text in ("(", "{") or self.now.says("NOT", "INVERSE"):
                self._part()
        elif word.says("VALUE"):
            self._value(f"write it as in `{of.text} value :a` or `{of.text} value 3`")
        elif not word.says("SELF"):
            self._at -= 1
            self.unexpected()

    def _value(self, help: str) -> None:
        """An individual or a literal."""
        if self.now.text in ("+", "-"):
            self._take()
        token = self.now
        if token.kind not in ("name", "iri", "number", "string", "blank") and not token.says("TRUE", "FALSE"):
            self._fail(f"expected a value, found {_shown(token)}", help)
        self._take()
        if self.now.kind == "language" or (token.kind == "number" and self.now.text in ("f", "F")):
            self._take()
        elif token.kind == "string" and self.now.text == "^^":
            self._at += 2

    def _facets(self) -> None:
        opening = self._take()
        while True:
            facet = self._take()
            if facet.kind == "iri":
                # `[<3,>1]` without blanks looks like an IRI: the parser reads it.
                while self.now.kind != "end" and self.now.text != "]":
                    self._take()
            elif facet.text in _COMPARISONS or facet.says(*_FACETS):
                self._value(_RANGE)
            else:
                self._at -= 1
                self._fail(f"expected a comparison such as `>=`, found {_shown(facet)}", _RANGE)
            end = self.now
            if end.kind == "end":
                self._fail("`[` is never closed", "close it with `]`", opening)
            if end.text not in ("]", ","):
                self._fail(f"expected `]`, found {_shown(end)}", _RANGE)
            if self._take().text == "]":
                return

    def unexpected(self) -> None:
        """Something stands where an expression could only go on with `and` or `or`, or end."""
        token, before = self.now, self._ahead(-1)
        if (way_out := _STRAY.get(token.text)) is not None:
            self._fail(f"expected `and`, `or` or the end, found `{token.text}`", way_out)
        if token.text == ")":
            self._fail("there is no `(` for this `)`", "leave it out")
        if token.text in _SIGNS:
            self._fail(f"`{token.text}` does not join classes", f"write `{_SIGNS[token.text]}`")
        if token.text in (*_COMPARISONS, "="):
            value = self._ahead(1).text or "3"
            facet = f"{before.text} some xsd:double[{token.text} {value}]"
            way_out = f"{before.text} value {value}" if token.text == "=" else facet
            self._fail(f"`{token.text}` compares values inside of a range only", f"write `{way_out}`")
        if token.kind == "word":
            close = get_close_matches(token.text, _KNOWN, 1)
            help_ = f"did you mean `{close[0]}`?" if close else f"the words are `{' '.join(_KNOWN)}`"
            self._fail(f"unknown word `{token.text}`", help_)
        if token.kind in ("name", "iri", "number") or token.text in ("(", "{"):
            what = "…" if token.text in ("(", "{") else token.text
            help_ = f"write `{before.text} some {what}` for a property, or join two classes with `and`"
            self._fail(f"a word is missing between `{before.text}` and `{token.text}`", help_)
        self._fail(f"expected `and`, `or` or the end, found {_shown(token)}", _CLASS)


def _begins_restriction(token: Token) -> bool:
    """Whether a word behind a name says that the name is a property; one that is misspelt says so, too."""
    return token.kind == "word" and not token.says(*_JOINS)


def _shown(token: Token) -> str:
    return f"`{token.text}`" if token.text else "the end"
