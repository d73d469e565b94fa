"""A text of events, token by token: what every construct is read with, and what is said where it cannot be."""

from typing import Final

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.languages.cascade.event_definitions import SyntaxProblem
from thalweg.languages.rspql.lexer import Token, closing, tokens
from thalweg.languages.rspql.names import WELL_KNOWN, DeclaredNames, unknown_prefix
from thalweg.model.rdf import named

# Class expressions use these without a declaration.
_BUILT_IN: Final = ("xsd", "owl", "rdf", "rdfs")


class TokenReader:
    """The tokens of a text, and how far they have been read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokens(source.text)
        self.at = 0
        self.names = DeclaredNames()
        for prefix in _BUILT_IN:
            self.names.declare(prefix, f"<{WELL_KNOWN[prefix]}>")
        self.found: list[Diagnostic] = []

    @property
    def now(self) -> Token:
        """The next token, an empty one at the end."""
        return self.ahead(0)

    def ahead(self, count: int) -> Token:
        """A token behind the next one."""
        place = self.at + count
        return self.tokens[place] if place < len(self.tokens) else Token("end", "", len(self.source.text.rstrip()))

    def take(self) -> Token:
        """The next token, which has then been read."""
        token = self.now
        self.at += 1
        return token

    def takes(self, *words: str) -> Token | None:
        """The next token if it is one of some keywords or signs."""
        return self.take() if self.now.says(*words) or self.now.text in words else None

    def expect(self, text: str, help: str) -> Token:
        """The next token, which must be a keyword or a sign."""
        return self.takes(text) or self.fail(f"expected `{text}`, found {shown(self.now)}", help)

    def span(self, start: Token, end: Token | None = None) -> Span:
        """From the beginning of a token to its end, or to that of another."""
        return Span(self.source, start.start, max(start.start + 1, (end or start).end))

    def report(self, code: str, message: str, start: Token, help: str, end: Token | None = None) -> None:
        """Notes what is wrong, and reading goes on."""
        self.found.append(Diagnostic(code, message, self.span(start, end), help))

    def fail(self, message: str, help: str) -> Token:
        """Raises `SyntaxProblem` with a diagnostic at the next token."""
        raise SyntaxProblem(Diagnostic("E101", message, self.span(self.now), help))

    def iri(self, what: str, help: str) -> str:
        """The term of a name or an IRI; what has an unknown prefix is reported and stands for itself."""
        if self.now.kind not in ("name", "iri"):
            self.fail(f"expected {what}, found {shown(self.now)}", help)
        return self.resolved(self.take())

    def resolved(self, token: Token) -> str:
        """The term that a token stands for."""
        iri = self.names.iri(token.text)
        if iri is None:
            message, way_out = unknown_prefix(token.text)
            self.report("E103", message, token, way_out)
            return f"<{token.text}>"
        return named(iri)

    def group(self, help: str) -> list[Token]:
        """The tokens inside of the bracket that is next, which have then been read."""
        end = closing(self.tokens, self.at)
        if end is None:
            self.fail(f"`{self.now.text}` is never closed", help)
        assert end is not None
        inside = self.tokens[self.at + 1 : end]
        self.at = end + 1
        return inside


def written(span: Span) -> str:
    """A piece of text as it was written.

    >>> written(Span(Source("x.tw", "MATCH :A"), 6, 8))
    ':A'
    """
    return span.source.text[span.start : span.end]


def shown(token: Token) -> str:
    """A token as a message names it.

    >>> shown(Token("word", "SEQ", 0)), shown(Token("end", "", 9))
    ('`SEQ`', 'the end of the text')
    """
    return f"`{token.text}`" if token.text else "the end of the text"
