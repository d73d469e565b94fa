"""From text to trees, one statement after the other.

A statement that cannot be read becomes a diagnostic, and reading goes on behind the dot that ends it: one mistake does
not hide the next. Facts in plain spelling, of which a program may have thousands, never see the parser.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from lark import Lark, Token, Tree, UnexpectedInput, UnexpectedToken
from lark.lexer import LexerState, LineCounter
from lark.utils import TextSlice

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.languages.lars.terms import GROUND, TERM
from thalweg.model.nesting import MOST_NESTED, TOO_DEEP, WAY_OUT, Nesting

Statement = Tree[Token]

BLANK: Final = re.compile(r"(?:\s+|%[^\n]*|//[^\n]*|/\*(?s:.*?)\*/)*")
_PLAIN: Final = re.compile(rf"{GROUND}[ \t]*\.")
_DIRECTIVE: Final = re.compile(r"@prefix\b|#record\b|#show\b|#local\b")
# What may hide a dot; a dot inside a line, without a space behind it, is more likely part of a name or number.
_NEXT_END: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|%[^\n]*|//[^\n]*|/\*(?s:.*?)\*/|\.(?=\s|\Z|%|/)')

# What stands before a key of a window, as in `[1 # by D, E]`.
_BEFORE_KEY: Final = re.compile(r"#\s*by\s*(?:\s[A-Z_]\w*\s*,\s*)*\Z")


class Plain(NamedTuple):
    """A fact such as `car(1).`, recognised without the parser; its terms as they are written."""

    predicate: str
    terms: list[str]
    start: int
    end: int


class Read(NamedTuple):
    """What came of one statement, and where the next one starts."""

    tree: Statement | None
    problem: Diagnostic | None
    end: int


@cache
def _lark() -> Lark:
    """The parser. Its tables are kept where Python keeps its own compiled files: building them takes 80 ms."""
    grammar = files("thalweg.languages.lars").joinpath("grammar.lark").read_text(encoding="utf-8")
    tables = Path(__file__).parent / "__pycache__" / "grammar.lark.tables"
    with suppress(OSError):
        tables.parent.mkdir(exist_ok=True)
    return Lark(
        grammar, parser="lalr", start="statement", propagate_positions=True, maybe_placeholders=False, cache=str(tables)
    )


def statements(source: Source) -> Iterator[Statement | Plain | Diagnostic]:
    """Everything that a text states, in its order.

    >>> [type(statement).__name__ for statement in statements(Source("x.lars", "car(1). p(X :- q. r :- s."))]
    ['Plain', 'Diagnostic', 'Tree']
    """
    text = source.text
    position = _skip(text, 0)
    while position < len(text):
        plain = _PLAIN.match(text, position)
        if plain:
            terms = [term.group() for term in TERM.finditer(plain[2] or "")]
            yield Plain(plain[1], terms, position, plain.end())
            position = _skip(text, plain.end())
            continue
        tree, problem, end = read_statement(source, position)
        if problem:
            yield problem
        if tree:
            yield tree
        position = _skip(text, end)


def _skip(text: str, position: int) -> int:
    blank = BLANK.match(text, position)
    assert blank is not None
    return blank.end()


def read_statement(source: Source, position: int) -> Read:
    """The statement that starts at a position."""
    text = source.text
    if text[position] in "@#" and not _DIRECTIVE.match(text, position):
        return Read(None, _unknown_directive(source, position), _next_statement(text, position))
    parser: Any = _lark().parse_interactive()
    # Places are counted in characters: the lines before a statement are not counted for each anew.
    lines = LineCounter("\n")  # type: ignore[no-untyped-call]
    lines.char_pos = position
    parser.lexer_thread.state = LexerState(TextSlice(text, position, len(text)), lines)
    before = position
    nesting = Nesting()
    try:
        for token in parser.lexer_thread.lex(parser.parser_state):
            if nesting.take(token) > MOST_NESTED:
                span = Span(source, token.start_pos, token.end_pos)
                return Read(None, Diagnostic("E302", TOO_DEEP, span, WAY_OUT), _next_statement(text, token.start_pos))
            parser.feed_token(token)
            before = token.end_pos
            if token.type == "_END":
                return Read(parser.feed_eof(token), None, before)
        place, unexpected = len(text.rstrip()), ""
    except UnexpectedInput as error:
        place = error.pos_in_stream or 0
        unexpected = _found(text, place, error)
    accepted = parser.accepts()
    if "_END" in accepted and _starts_line(text, place):
        return _forgotten_end(source, parser, before, place)
    start = place == position
    if accepted in ({"SLASH"}, {"VARIABLE"}) and _BEFORE_KEY.search(text, position, place):
        help_ = "name variables of the atom, as in `temp(D,V) in [1 # by D], D = a`"
        problem = Diagnostic("E212", "`by` takes variables", Span(source, place, place + len(unexpected)), help_)
        return Read(None, problem, _next_statement(text, place))
    problem = Diagnostic(
        "E101",
        f"expected {_expectation(accepted)}, found {f'`{unexpected}`' if unexpected else 'the end of the text'}",
        Span(source, place, place + len(unexpected)),
        help=_way_out(text, place, unexpected, accepted, start),
    )
    return Read(None, problem, len(text) if text.startswith("/*", place) else _next_statement(text, place))


def _found(text: str, place: int, error: UnexpectedInput) -> str:
    """What stands at the place of an error: a word of the language where there is one, or else a character."""
    if text.startswith(":-", place):
        return ":-"
    return str(error.token) if isinstance(error, UnexpectedToken) else text[place]


def _next_statement(text: str, position: int) -> int:
    ends = (match.end() for match in _NEXT_END.finditer(text, position) if match.group() == ".")
    return next(ends, len(text))


def _starts_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip() or position == len(text.rstrip())


def _forgotten_end(source: Source, parser: Any, before: int, place: int) -> Read:
    """A statement that only lacks its dot is understood all the same, so that the next one is not lost with it."""
    problem = Diagnostic(
        "E101",
        "expected `.` at the end of the statement",
        Span(source, before, before + 1),
        help="write `.` here, or `,` if the rule continues",
    )
    end = Token("_END", ".", start_pos=before, end_pos=before)
    parser.feed_token(end)
    return Read(parser.feed_eof(end), problem, place)


def _unknown_directive(source: Source, position: int) -> Diagnostic:
    directive = re.compile(r"[@#][A-Za-z]*").match(source.text, position)
    assert directive is not None
    return Diagnostic(
        "E102",
        f"unknown directive `{directive.group()}`",
        Span(source, position, directive.end()),
        help="the directives are `@prefix ex: <http://example.org/> .`, `#record p/1.`, `#show p/1.` and `#local p/1.`",
    )


_TERMS: Final = {"VARIABLE", "NAME", "NUMBER", "STRING", "IRI", "PREFIXED", "BLANK", "MOMENT", "MINUS", "LPAR"}
_SPELLING: Final = {
    "RPAR": "`)`", "COMMA": "`,`", "_END": "`.`", "_IF": "`:-`", "RSQB": "`]`", "RBRACE": "`}`", "COLON": "`:`",
    "LBRACE": "`{`", "COMPARE": "a comparison such as `<`", "_AT": "`at`", "_IN": "`in`",
    "LSQB": "a window such as `[10]`", "NAMESPACE": "a prefix such as `ex:`", "IRI": "an IRI such as `<http://example.org/>`",
    "NUMBER": "a number", "NAME": "a unit such as `sec`", "HASH": "`#`", "_STEP": "`step`", "_BEFORE": "`before`",
}  # fmt: skip


def _expectation(accepted: set[str]) -> str:
    """What could have stood there, in words; the three most likely."""
    likely = []
    if "VARIABLE" in accepted:
        likely.append("an atom or a comparison" if "FUNCTION" in accepted else "a term")
        accepted = accepted - _TERMS
    elif {"NAME", "PREFIXED"} <= accepted:
        likely.append("a predicate" if "PREFIX" in accepted or "LPAR" not in accepted else "a name")
        accepted = accepted - _TERMS
    likely += [word for name, word in _SPELLING.items() if name in accepted]
    likely = likely or ["`/`"]
    return " or ".join(([", ".join(likely[:2])] if len(likely) > 2 else likely[:1]) + likely[1:3][-1:])


def _way_out(text: str, place: int, unexpected: str, accepted: set[str], start: bool) -> str:
    """The help that fits the mistakes that people make."""
    if text.startswith("/*", place):
        return "close the comment with `*/`"
    if unexpected.startswith('"') and "STRING" in accepted:
        return 'close the string with `"` on its line; inside it write `\\"` for a quote and `\\\\` for a backslash'
    if unexpected == ":-" and start:
        return "a constraint has no head; it belongs in an answer set program (`.lp`)"
    if unexpected in ("|", ";"):
        return "alternatives belong in an answer set program (`.lp`)"
    if unexpected[:1].isupper() and "VARIABLE" not in accepted and "NAME" in accepted:
        return f"a predicate starts with a lower-case letter: `{unexpected[0].lower()}{unexpected[1:]}`"
    if "COLON" in accepted:
        return "write an aggregate as in `N = count{X : p(X,Y)}`"
    if {"COMMA", "_END"} <= accepted:
        return "put `,` between the parts of a rule and `.` at its end"
    if start:
        return "a statement is a fact `p(a).`, a rule `head :- body.` or `@prefix ex: <http://example.org/> .`"
    return "write it as in `head(X) :- p(X,Y) in [10 sec], not q(X), Y < 20.`"
