"""A text of events becomes definitions, with all that is wrong with it.

    NAMED EVENT :High AS :HighTraffic             a class
    NAMED EVENT :Jam { MATCH EVERY :A SEQ :B }    a pattern
    FROM NAMED WINDOW … WHERE { … }               a selection, kept as text
    INCLUDE "shared.tw"                           another file, beside this one

A definition that cannot be read becomes a diagnostic, and reading goes on with the next one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.ir.patterns import Pattern
from thalweg.languages.cascade.check_selection import check_selection
from thalweg.languages.cascade.event_definitions import ClassText, NamedEvent, Selection, SyntaxProblem
from thalweg.languages.cascade.read_pattern import MATCH, PatternReader
from thalweg.languages.cascade.token_reader import TokenReader, shown
from thalweg.languages.owl.dl.class_syntax import first_mistake
from thalweg.languages.owl.expressions import THING
from thalweg.languages.rspql.lexer import Edit, Edited, Token
from thalweg.languages.rspql.names import DeclaredNames

if TYPE_CHECKING:
    from thalweg.languages.rspql.query import Query

_EVENT: Final = (
    "write `NAMED EVENT :High AS :HighTraffic` or `NAMED EVENT :Jam { MATCH EVERY :A SEQ :B WITHIN (10 m) }`"
)
_DEFINITION: Final = "write `AS :HighTraffic` or `MATCH EVERY :A SEQ :B WITHIN (10 m)`"
_PREFIX: Final = "write `PREFIX ex: <http://example.org/>`"
_INCLUDE: Final = 'write `INCLUDE "shared.tw"`'


def read_events(
    source: Source, tick_length: int = 1_000, graphs: frozenset[str] | None = None
) -> tuple[list[NamedEvent], list[Selection], list[Diagnostic]]:
    """The events that a text defines, its selections, and all that is wrong with it, for the `graphs` of a background.

    >>> events, _, diagnostics = read_events(Source("x.tw", "PREFIX : <http://ex.org/> NAMED EVENT :A AS :B and :C"))
    >>> events[0].name, events[0].definition.text, diagnostics
    ('<http://ex.org/A>', '<http://ex.org/B> and <http://ex.org/C>', [])
    """
    reading = _Reading(source, tick_length, graphs)
    reading.all()
    return reading.events, reading.selections, _each_prefix_once(reading.text.found)


def declared_names(source: Source) -> DeclaredNames:
    """The prefixes that a text declares.

    >>> declared_names(Source("x.tw", "PREFIX : <http://ex.org/> NAMED EVENT :A AS :B")).iri(":Jam")
    '<http://ex.org/Jam>'
    """
    reading = _Reading(source, 1_000, None)
    reading.all()
    return reading.text.names


def read_definition(
    source: Source, name: str, names: DeclaredNames, tick_length: int = 1_000
) -> tuple[NamedEvent | None, list[Diagnostic]]:
    """What a text without `NAMED EVENT` defines an event of a name to be, with all that is wrong with it.

    >>> names = declared_names(Source("x.tw", "PREFIX : <http://ex.org/>"))
    >>> event, _ = read_definition(Source("jam", "MATCH EVERY :A SEQ :B"), "<http://ex.org/Jam>", names)
    >>> event.name, sorted(event.uses)
    ('<http://ex.org/Jam>', ['<http://ex.org/A>', '<http://ex.org/B>'])
    """
    reading = _Reading(source, tick_length, None)
    reading.text.names = names
    try:
        reading.definition(name)
    except SyntaxProblem as problem:
        reading.text.found.append(problem.found)
    return next(iter(reading.events), None), _each_prefix_once(reading.text.found)


def _each_prefix_once(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """All that is wrong, in its order; a prefix that is not declared is one mistake, wherever it is used."""
    ordered = sorted(diagnostics, key=lambda diagnostic: diagnostic.span.start)
    first = {diagnostic.message: diagnostic for diagnostic in reversed(ordered) if diagnostic.code == "E103"}
    return [
        diagnostic for diagnostic in ordered if diagnostic.code != "E103" or diagnostic is first[diagnostic.message]
    ]


def included_files(source: Source) -> list[tuple[str, Span]]:
    """The files that a text includes, and where.

    >>> [name for name, _ in included_files(Source("x.tw", 'INCLUDE "a.tw" NAMED EVENT :B AS :C'))]
    ['a.tw']
    """
    text = TokenReader(source)
    pairs = zip(text.tokens, text.tokens[1:], strict=False)
    return [
        (name.text[1:-1], text.span(name)) for word, name in pairs if word.says("INCLUDE") and name.kind == "string"
    ]


class _Reading:
    """What has been read of a text."""

    def __init__(self, source: Source, tick_length: int, graphs: frozenset[str] | None) -> None:
        self.text = TokenReader(source)
        self.events: list[NamedEvent] = []
        self.selections: list[Selection] = []
        self._tick_length = tick_length
        self._graphs = graphs
        self._prologue: list[Edit] = []

    def all(self) -> None:
        text = self.text
        while text.now.kind != "end":
            start = text.at
            try:
                self._statement()
            except SyntaxProblem as problem:
                text.found.append(problem.found)
                text.at = max(text.at, start + 1)
                self._skip()

    def _skip(self) -> None:
        """Goes to the next token that begins a statement, within brackets too: one may be missing."""
        text = self.text
        while text.now.kind != "end" and not self._begins():
            text.at += 1

    def _begins(self) -> bool:
        now = self.text.now
        if now.says("NAMED"):
            return self.text.ahead(1).says("EVENT")
        return now.says("PREFIX", "BASE", "INCLUDE", "WHERE") or (now.says("FROM") and self.text.ahead(1).says("NAMED"))

    def _statement(self) -> None:
        text = self.text
        start = text.now
        if text.takes("PREFIX"):
            self._prefix()
        elif start.text.lower() == "@prefix":
            text.report("E101", f"unknown word `{start.text}`", start, f"{_PREFIX}, without `@` and full stop")
            text.take()
            self._prefix()
            text.takes(".")
        elif text.takes("BASE"):
            if text.now.kind != "iri":
                text.fail(f"expected an IRI, found {shown(text.now)}", "write `BASE <http://example.org/>`")
            text.names.rebase(text.take().text)
        elif text.takes("INCLUDE"):
            if text.now.kind != "string":
                text.fail(f"expected the name of a file, found {shown(text.now)}", _INCLUDE)
            text.take()
        elif text.takes("NAMED"):
            self._event()
        elif text.now.says("FROM", "WHERE"):
            self._selection()
            return
        else:
            is_comment = text.now.text in ("/", "%", "-")
            help_ = "a comment begins with `#`" if is_comment else _EVENT
            text.fail(f"expected `NAMED EVENT` or `PREFIX`, found {shown(text.now)}", help_)
        if start.says("PREFIX", "BASE"):
            self._prologue.append(Edit(start.start, text.tokens[text.at - 1].end, ""))

    def _prefix(self) -> None:
        text = self.text
        if text.now.kind != "name" or not text.now.text.endswith(":"):
            text.fail(f"expected a prefix, found {shown(text.now)}", _PREFIX)
        prefix = text.take()
        if text.now.kind != "iri":
            # What has this prefix is not another mistake.
            text.names.declare(prefix.text, "<http://example.org/>")
            text.fail(f"expected an IRI in `<` and `>`, found {shown(text.now)}", _PREFIX)
        text.names.declare(prefix.text, text.take().text)

    def _event(self) -> None:
        text = self.text
        text.expect("EVENT", _EVENT)
        place = text.now
        name = text.iri("the name of an event", _EVENT)
        braced = text.takes("{")
        definition = self._definition(bool(braced), _EVENT)
        if braced:
            text.expect("}", "close the definition with `}`")
        self.events.append(NamedEvent(name, definition, text.span(place)))

    def definition(self, name: str) -> None:
        """Reads a definition that is the whole text."""
        text = self.text
        place = text.now
        definition = self._definition(False, _DEFINITION)
        if text.now.kind != "end":
            text.fail(f"expected the end of the definition, found {shown(text.now)}", _DEFINITION)
        self.events.append(NamedEvent(name, definition, text.span(place)))

    def _definition(self, braced: bool, help: str) -> ClassText | Pattern:
        text = self.text
        if text.takes("AS"):
            return self._class(braced)
        if text.now.says("MATCH"):
            pattern = PatternReader(text, self._tick_length).read()
            if text.now.text != "}" and text.now.kind != "end" and not self._begins():
                parts = "`SEQ`, `AND`, `OR`, `WITHIN`, `IF`"
                text.fail(f"expected {parts} or the end of the pattern, found {shown(text.now)}", MATCH)
            return pattern
        text.fail(f"expected `AS` or `MATCH`, found {shown(text.now)}", help)
        raise AssertionError

    def _class(self, braced: bool) -> ClassText:
        """A class expression: all up to the next statement, or to the brace that closes the definition.

        The next statement ends it within brackets, too: one may be missing.
        """
        text = self.text
        first, depth = text.at, 0
        while text.now.kind != "end":
            sign = text.now.text
            if self._begins() or (depth == 0 and braced and sign == "}"):
                break
            depth += (sign in ("(", "[", "{")) - (sign in (")", "]", "}"))
            text.at += 1
        written = text.tokens[first : text.at]
        if not written:
            text.fail(
                f"expected a class, found {shown(text.now)}",
                "write a class as in `AS :Observation and (:value some :High)`",
            )
        before = len(text.found)
        if (wrong := first_mistake(written)) is not None:
            place = Span(text.source, wrong.start, wrong.end)
            text.found.append(Diagnostic("E101", wrong.message, place, wrong.help))
        read, places = _joined(text, written)
        if len(text.found) > before:
            # The ontology is not asked for it: that would be another error for the same mistake.
            read = THING
        return ClassText(read, text.span(written[0], written[-1]), places)

    def _selection(self) -> None:
        """A selection up to the brace that closes it; what is wrong with it is what is wrong with it as a query."""
        text = self.text
        start = text.now
        while text.now.text != "{":
            if text.now.kind == "end" or (text.at > 0 and text.now.says("NAMED") and text.ahead(1).says("EVENT")):
                text.fail(f"expected `WHERE {{`, found {shown(text.now)}", "write `WHERE { … }` behind the windows")
            text.take()
        text.group("close the selection with `}`")
        end = text.tokens[text.at - 1].end
        query = self._query(start.start, end)
        span = Span(text.source, start.start, end)
        self.selections.append(Selection(text.source.text[start.start : end], query, span))
        if query is not None:
            text.found += check_selection(query, span)

    def _query(self, start: int, end: int) -> "Query | None":
        """A selection as a query for all its variables."""
        # What reads queries is an optional package.
        from thalweg.languages.rspql.read_query import read_query

        written = self.text.source.text
        kept = [*self._prologue, Edit(start, end, "")]
        edits, place = [Edit(start, start, "SELECT * ")], 0
        for piece in (*sorted(kept, key=lambda edit: edit.start), Edit(len(written), len(written), "")):
            blank = "".join("\n" if character == "\n" else " " for character in written[place : piece.start])
            edits.append(Edit(place, piece.start, blank))
            place = piece.end
        # Blanks go before what is inserted at the same place.
        edited = Edited(written, [edit for edit in edits if edit.start != edit.end or edit.text])

        def written_at(span: Span) -> Span:
            first, last = edited.original(span.start), edited.original(max(span.start, span.end - 1))
            return Span(self.text.source, first, last + 1)

        query, diagnostics = read_query(Source(self.text.source.name, edited.text), self._tick_length, self._graphs)
        self.text.found += (replace(diagnostic, span=written_at(diagnostic.span)) for diagnostic in diagnostics)
        if query is None:
            return None
        windows = tuple(replace(window, span=written_at(window.span)) for window in query.windows)
        return replace(query, windows=windows)


def _joined(text: TokenReader, tokens: list[Token]) -> tuple[str, dict[int, Span]]:
    """What tokens say, names written as IRIs, blanks as they were; and where what begins at an offset was written."""
    joined, places, end = "", dict[int, Span](), tokens[0].start
    for token in tokens:
        joined += " " if token.start > end else ""
        places[len(joined)] = text.span(token)
        joined += text.resolved(token) if token.kind == "name" else token.text
        end = token.end
    return joined, places
