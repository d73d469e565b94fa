"""The clauses of a query that SPARQL does not have, token by token: names, windows, and what looks at them.

    REGISTER ISTREAM :q AS            edited away
    FROM NAMED WINDOW :w ON … […]     edited away, and read
    WINDOW :w { … }                   GRAPH :w { … }
    WINDOW ?w { … }                   { VALUES ?w { :w } GRAPH ?w { … } }
    GRAPH ?g { … }                    { GRAPH ?g { … } FILTER(?g NOT IN (:w)) }

Edits know their places, so that every place in the SPARQL that is left leads back to the text that the user wrote.
"""

from dataclasses import dataclass, field
from typing import Final

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.languages.lars.terms import ReadingError
from thalweg.languages.rspql.dialects import c_sparql_register, c_sparql_stream, cqels_stream, is_name
from thalweg.languages.rspql.lexer import Edit, Token, closing, tokens
from thalweg.languages.rspql.names import DeclaredNames, unknown_prefix
from thalweg.languages.rspql.query import StreamWindow
from thalweg.languages.rspql.query_size import TOO_LONG, too_deep, too_long
from thalweg.languages.rspql.window_clause import SHAPE, read_extent
from thalweg.model.nesting import TOO_DEEP

FORMS: Final = ("SELECT", "CONSTRUCT", "ASK")
CLAUSE: Final = "write `FROM NAMED WINDOW :w ON STREAM :s [RANGE 10s, SLIDE 2s]`"

_OUTPUTS: Final = ("RSTREAM", "ISTREAM", "DSTREAM")
_CHANGING: Final = ("NOW", "RAND", "UUID", "STRUUID", "BNODE")
_LOAD: Final = "`LOAD` is not supported: no file is opened for a query, and nothing is fetched"
_AS_BACKGROUND: Final = "give what it would ask for as `--background`"
_UPDATES: Final = ("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP")


@dataclass(frozen=True, slots=True)
class GraphUse:
    """A pattern that looks at a graph: `WINDOW :w { … }`, `GRAPH ?g { … }`."""

    keyword: Token
    target: Token
    end: int | None


@dataclass
class Clauses:
    """What has been read of a query so far; `written` has the names of windows as the user knows them.

    `graphs` are those of the background, where they are known.
    """

    source: Source
    tick_length: int
    graphs: frozenset[str] | None = None
    names: DeclaredNames = field(default_factory=DeclaredNames)
    found: list[Diagnostic] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    windows: list[StreamWindow] = field(default_factory=list)
    uses: list[GraphUse] = field(default_factory=list)
    default: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    name: str = ""
    output: str = "RSTREAM"
    form: Token | None = None
    body: tuple[int, int] | None = None
    prologue: int = 0

    def __post_init__(self) -> None:
        self.text = self.source.text
        self.tokens = tokens(self.text)
        self._at = 0
        self._unknown: set[str] = set()

    # Walking over tokens -------------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> Token:
        place = self._at + ahead
        return self.tokens[place] if place < len(self.tokens) else Token("end", "", len(self.text))

    def _next(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _takes(self, *words: str) -> bool:
        """Whether a keyword comes next, which is passed."""
        if self._peek().says(*words):
            self._at += 1
            return True
        return False

    def complain(self, code: str, message: str, token: Token, help: str, end: int | None = None) -> None:
        """Notes what is wrong at a token, or from there to an offset."""
        self.found.append(Diagnostic(code, message, Span(self.source, token.start, end or token.end), help))

    def _remove(self, first: Token, end: int) -> None:
        self.edits.append(Edit(first.start, end, " "))

    @property
    def _behind(self) -> int:
        """The offset behind the last token that was passed."""
        return self.tokens[min(self._at, len(self.tokens)) - 1].end

    # Clauses ---------------------------------------------------------------------------------------------------------

    def read(self) -> bool:
        """Reads all clauses; whether brackets match, so that the rest may be SPARQL."""
        if self._is_too_large() or self._is_unbalanced():
            return False
        while self._at < len(self.tokens):
            self._clause()
        self._use_windows()
        return True

    def _is_too_large(self) -> bool:
        """Whether parsers would crash, or not come to an end."""
        if (token := too_deep(self.tokens)) is not None:
            self.complain("E302", TOO_DEEP, token, "split the query, or write it with fewer brackets")
        elif (token := too_long(self.tokens)) is not None:
            self.complain("E302", TOO_LONG, token, "split the query; what is only data can stand in `VALUES`")
        return token is not None

    def _is_unbalanced(self) -> bool:
        """Whether brackets do not match."""
        open_: list[Token] = []
        pairs = {"}": "{", ")": "(", "]": "["}
        for token in self.tokens:
            if token.kind != "sign":
                continue
            if token.text in pairs.values():
                open_.append(token)
            elif token.text in pairs:
                if not open_:
                    self.complain("E101", f"`{token.text}` closes nothing", token, "is a bracket before it missing?")
                    return True
                if open_[-1].text != pairs[token.text]:
                    break
                open_.pop()
        if open_:
            self.complain("E101", f"`{open_[-1].text}` is never closed", open_[-1], "close it where its part ends")
        return bool(open_)

    def _clause(self) -> None:
        token = self._next()
        if token.says("PREFIX") and self._peek().kind == "name" and self._peek(1).kind == "iri":
            self._prefix(self._next(), self._next())
        elif token.says("BASE") and self._peek().kind == "iri":
            # It stays, for `IRI("a")`.
            self._absolute(self._peek())
            self.names.rebase(self._next().text)
        elif token.says("REGISTER") and self.form is None:
            self._register(token)
        elif token.says(*FORMS, "DESCRIBE", *_UPDATES) and self.form is None:
            self._query_form(token)
        elif token.says("FROM"):
            self._from(token)
        elif token.says("WINDOW", "GRAPH") and self._peek().kind in ("iri", "name", "variable"):
            self._graph(token, self._next())
        elif token.says("STREAM") and self._peek().kind in ("iri", "name", "variable"):
            self._cqels(token)
        elif token.text == "{" and self.form is not None and self.body is None:
            self.body = (token.start, self.tokens[closing(self.tokens, self._at - 1) or 0].end)
        else:
            self._term(token)

    def _prefix(self, name: Token, iri: Token) -> None:
        self.names.declare(name.text, iri.text)
        self._absolute(iri)
        self.prologue = iri.end

    def _term(self, token: Token) -> None:
        """Names must be declared, and functions must have one value."""
        if token.kind == "iri":
            self._absolute(token)
        elif token.kind == "name":
            self._resolved(token)
        elif token.says(*_CHANGING) and self._peek().text == "(":
            message = f"`{token.text.upper()}()` has another value at every evaluation: answers cannot be reproduced"
            self.complain("W609", message, token, "leave it out where the same stream must give the same answers")
        elif token.says("LOAD") and self._peek().kind in ("iri", "name", "word"):
            self.complain("E604", _LOAD, token, _AS_BACKGROUND)
        elif token.says("SERVICE"):
            message = "`SERVICE` is not supported: a query sees its windows and the background only"
            self.complain("E604", message, token, _AS_BACKGROUND)
            self.edits.append(
                Edit(token.start, self._next().end if self._peek().says("SILENT") else token.end, "GRAPH")
            )

    def _absolute(self, token: Token) -> None:
        iri = self.names.iri(token.text)
        if iri is not None and iri != token.text:
            self.edits.append(Edit(token.start, token.end, iri))

    def _resolved(self, token: Token) -> str | None:
        """The IRI of a token; a prefix that is unknown is reported once."""
        iri = self.names.iri(token.text)
        if iri is None and (prefix := token.text.partition(":")[0]) not in self._unknown:
            self._unknown.add(prefix)
            message, way_out = unknown_prefix(token.text)
            self.complain("E103", message, token, way_out, token.start + len(prefix) + 1)
            # So that the rest can be looked at.
            self.edits.append(Edit(0, 0, f"PREFIX {prefix}: <urn:thalweg:unknown> "))
        return iri

    def _register(self, register: Token) -> None:
        kind = self._peek()
        if kind.says(*_OUTPUTS, "STREAM", "QUERY"):
            self._at += 1
            self.output = kind.text.upper() if kind.says(*_OUTPUTS) else "RSTREAM"
        name = self._next()
        if name.kind not in ("iri", "name", "word") or name.says("AS"):
            self.complain("E101", "`REGISTER` needs a name", name, "write `REGISTER RSTREAM <name> AS` before SELECT")
        elif kind.says("QUERY"):
            span = Span(self.source, register.start, name.end)
            self.found.append(c_sparql_register(name.text if is_name(name.text) else f"<{name.text}>", span))
            if self._takes("COMPUTED"):
                # `EVERY 1s`, which is the slide of a window.
                while self._peek().kind in ("word", "number") and not self._peek().says("AS", *FORMS):
                    self._at += 1
        elif name.kind == "word":
            self.name = name.text
        else:
            self.name = self._resolved(name) or ""
        if not self._takes("AS"):
            self.complain("E101", "`AS` is missing here", self._peek(), "write `REGISTER RSTREAM <name> AS`")
        self._remove(register, self._behind)

    def _query_form(self, token: Token) -> None:
        self.form = token
        if token.says("LOAD"):
            self.complain("E604", _LOAD, token, _AS_BACKGROUND)
        if self._peek().says(*_OUTPUTS):
            self.output = self._peek().text.upper()
            self._remove(self._peek(), self._next().end)

    # Windows ---------------------------------------------------------------------------------------------------------

    def _from(self, token: Token) -> None:
        if self._peek().says("STREAM"):
            self._at += 1
            stream = self._next()
            inside = self._brackets()
            span = Span(self.source, token.start, self._behind)
            self.found.append(c_sparql_stream(stream, inside or [], self.text, span))
            self._remove(token, self._behind)
            return
        is_named = self._takes("NAMED")
        if is_named and self._takes("WINDOW"):
            self._window(token)
        elif self._peek().kind in ("iri", "name"):
            name = self._next()
            graph = self._resolved(name)
            (self.named if is_named else self.default).append(graph or "")
            self._look_for_graph(name, graph)
        else:
            self.complain("E101", "`FROM` needs a graph or a window", self._peek(), CLAUSE)
        self._remove(token, self._behind)

    def _look_for_graph(self, name: Token, graph: str | None) -> None:
        if self.graphs is not None and graph is not None and graph not in self.graphs:
            message = (
                f"`{name.text}` is not a graph of the background: no file is opened for it, and nothing is fetched"
            )
            help_ = (
                "name the file with `--background` and leave `FROM` out; "
                "a graph for `FROM` needs a format that names graphs, such as TriG"
            )
            self.complain("W611", message, name, help_)

    def _window(self, token: Token) -> None:
        name = self._next()
        is_on = self._takes("ON")
        self._takes("STREAM")
        stream = self._next() if self._peek().kind in ("iri", "name", "word") and is_on else None
        inside = self._brackets()
        aligned = self._takes("ALIGN")
        if name.kind not in ("iri", "name"):
            self.complain("E101", "a window needs an IRI as its name", name, CLAUSE)
        elif stream is None or inside is None:
            self.broken.add(self._resolved(name) or "")
            lacks, help_ = ("stream", CLAUSE) if stream is None else ("length", SHAPE)
            self.complain("E101", f"window `{name.text}` has no {lacks}", name, help_)
        else:
            self._declare(token, name, stream, inside, aligned)

    def _declare(self, token: Token, name: Token, stream: Token, inside: list[Token], aligned: bool) -> None:
        iri = self._resolved(name)
        source = stream.text if stream.kind == "word" else self._resolved(stream)
        span = Span(self.source, token.start, self._behind)
        try:
            size, slide, also = read_extent(inside, self.text, self.tick_length)
        except ReadingError as error:
            first = inside[0] if inside else name
            self.complain(error.code, str(error), first, error.way_out, self._behind - 1)
            # The name is declared all the same: its uses are in order.
            size, slide, also = 1, 1, False
        if iri is not None and any(window.name == iri for window in self.windows):
            self.complain("E603", f"window `{name.text}` is declared twice", name, "give one of them another name")
        elif iri is not None:
            self.written[iri] = name.text
            self.windows.append(StreamWindow(iri, source or "", size, slide, aligned or also, span))

    def _brackets(self) -> list[Token] | None:
        """The tokens between square brackets, which are passed; None where there are none."""
        if self._peek().text != "[":
            return None
        start, end = self._at + 1, closing(self.tokens, self._at)
        assert end is not None
        self._at = end + 1
        return self.tokens[start:end]

    def _cqels(self, token: Token) -> None:
        stream = self._next()
        inside = self._brackets()
        self.found.append(cqels_stream(stream, inside or [], self.text, Span(self.source, token.start, self._behind)))
        self.edits.append(Edit(token.start, self._behind, "GRAPH <urn:thalweg:stream>"))

    def _graph(self, keyword: Token, target: Token) -> None:
        end = closing(self.tokens, self._at) if self._peek().text == "{" else None
        self.uses.append(GraphUse(keyword, target, None if end is None else self.tokens[end].end))
        if target.kind != "variable":
            self._term(target)

    def _use_windows(self) -> None:
        """`WINDOW` becomes `GRAPH`; where variables stand for graphs, windows and others are kept apart."""
        by_name = {window.name: window for window in self.windows}
        unused = dict(by_name)
        listed = " ".join(by_name)
        for use in self.uses:
            is_window = use.keyword.says("WINDOW")
            if use.target.kind == "variable" and use.end is not None:
                if is_window:
                    unused.clear()
                    before, after = f"{{ VALUES {use.target.text} {{ {listed} }} GRAPH", " }"
                else:
                    before, after = "{ GRAPH", f" FILTER({use.target.text} NOT IN ({', '.join(by_name)})) }}"
                if is_window or by_name:
                    self.edits.append(Edit(use.keyword.start, use.keyword.end, before))
                    self.edits.append(Edit(use.end, use.end, after))
                continue
            if is_window:
                self.edits.append(Edit(use.keyword.start, use.keyword.end, "GRAPH"))
            iri = None if use.target.kind == "variable" else self.names.iri(use.target.text)
            if iri is not None and is_window != (iri in by_name) and iri not in self.broken:
                self._complain_about_graph(use, is_window)
            unused.pop(iri or "", None)
        for window in unused.values():
            message = "this window is never used: no pattern of the query looks at it"
            name = self.written[window.name]
            help_ = f"write `WINDOW {name} {{ … }}` around the patterns that it is for, or leave it out"
            self.found.append(Diagnostic("W605", message, window.span, help_))

    def _complain_about_graph(self, use: GraphUse, is_window: bool) -> None:
        name = use.target.text
        if is_window:
            clause = f"FROM NAMED WINDOW {name} ON STREAM :s [RANGE 10s, SLIDE 2s]"
            self.complain("E603", f"window `{name}` is not declared", use.target, f"declare it: `{clause}`")
        else:
            self.complain("E603", f"`{name}` is a window, not a graph", use.keyword, f"write `WINDOW {name}`")
