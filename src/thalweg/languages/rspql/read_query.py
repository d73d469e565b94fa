"""A query, from text: `clauses` takes out what SPARQL does not have, and the rest is read here.

pyoxigraph says whether it is SPARQL, and rdflib what it consists of. All that is wrong with clauses is found at once,
and of the rest the first mistake.
"""

from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Final, cast

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.languages.rspql.algebra import translate, unbound
from thalweg.languages.rspql.clauses import CLAUSE, FORMS, Clauses
from thalweg.languages.rspql.lexer import Edit, Edited, Token
from thalweg.languages.rspql.query import Form, Output, Query
from thalweg.solvers.sparql import Mistake, columns, template

# What is said of clauses that are not those of RSP-QL; others are edited away even where something is wrong with them.
_LEFT_IN: Final = ("E101", "E601")


def read_query(
    source: Source, tick_length: int = 1_000, graphs: frozenset[str] | None = None
) -> tuple[Query | None, list[Diagnostic]]:
    """The query of a text, None where it has none; and all that is wrong with it, for the `graphs` of a background.

    >>> text = "SELECT ?s FROM NAMED WINDOW <w> ON <s> [RANGE 10s, SLIDE 2s] { WINDOW <w> { ?s ?p ?o } }"
    >>> query, diagnostics = read_query(Source("q.rspql", text))
    >>> query.windows[0].range, query.columns, query.text
    (10, ('s',), 'SELECT ?s   { GRAPH <urn:thalweg:iri:w> { ?s ?p ?o } }')
    """
    clauses = Clauses(source, tick_length, graphs)
    query = _Rest(clauses).query() if clauses.read() else None
    return query, sorted(clauses.found, key=lambda diagnostic: diagnostic.span.start)


class _Rest:
    """Reads the part of a query that is SPARQL, after the clauses of RSP-QL."""

    def __init__(self, clauses: Clauses) -> None:
        self._clauses = clauses

    def query(self) -> Query | None:
        """The query, if the rest is SPARQL."""
        return self._sparql() if self._has_form() else None

    def _has_form(self) -> bool:
        first = self._clauses.tokens[0] if self._clauses.tokens else Token("end", "", 0)
        if self._clauses.form is None:
            self._clauses.complain("E101", "this is not a query", first, "write SELECT, CONSTRUCT or ASK")
        elif not self._clauses.form.says(*FORMS, "LOAD"):
            word = self._clauses.form.text.upper()
            message = f"`{word}` is not a continuous query: its answers are not rows, triples or a truth value"
            self._clauses.complain("E604", message, self._clauses.form, "write SELECT, CONSTRUCT or ASK")
        elif (
            self._clauses.form.says(*FORMS)
            and not self._clauses.windows
            and not any(diagnostic.severity == "error" for diagnostic in self._clauses.found)
        ):
            message = "the query has no window, so there is no tick at which it is evaluated"
            self._clauses.complain("E604", message, self._clauses.form, CLAUSE)
        return self._clauses.form is not None and self._clauses.form.says(*FORMS)

    def _sparql(self) -> Query | None:
        assert self._clauses.form is not None
        triples = self._construct(self._clauses.form) if self._clauses.form.says("CONSTRUCT") else ()
        if triples is None:
            return None
        edited = Edited(self._clauses.text, self._clauses.edits)
        rows = columns(edited.text)
        if isinstance(rows, Mistake):
            # A clause that could not be read, and was left in the text, may be why the rest is not SPARQL.
            if not any(diagnostic.code in _LEFT_IN for diagnostic in self._clauses.found):
                self._complain_about_sparql(rows, edited.original)
            return None
        algebra = translate(edited.text)
        self._check_filters(unbound(algebra))
        return Query(
            self._clauses.name or _stem(self._clauses.source.name),
            cast(Output, self._clauses.output),
            cast(Form, self._clauses.form.text.upper()),
            tuple(self._clauses.windows),
            self._in_order(rows),
            algebra,
            edited.text,
            self._clauses.source,
            Span(self._clauses.source, self._clauses.form.start, len(self._clauses.text.rstrip())),
            tuple(self._clauses.default) if self._clauses.default or self._clauses.named else None,
            tuple(self._clauses.named) if self._clauses.default or self._clauses.named else None,
            triples,
        )

    def _construct(self, form: Token) -> tuple[tuple[str, str, str], ...] | None:
        """The template, and a SELECT in its place."""
        braces = self._clauses.body if self._clauses.body is not None else (form.end, form.end)
        inside = [token for token in self._clauses.tokens if braces[0] <= token.start < braces[1]]
        names = tuple(dict.fromkeys(token.text[1:] for token in inside if token.kind == "variable"))
        within = [edit for edit in self._clauses.edits if braces[0] <= edit.start < braces[1]]
        written = Edited(self._clauses.text[braces[0] : braces[1]], [_moved(edit, braces[0]) for edit in within])
        before = Edited(
            self._clauses.text[: self._clauses.prologue],
            [edit for edit in self._clauses.edits if edit.end <= self._clauses.prologue],
        )
        triples = template(before.text, written.text, names)
        if isinstance(triples, Mistake):
            self._complain_about_sparql(triples, lambda offset: braces[0] + written.original(offset))
            return None
        # Blank nodes are new for every row, copies included, and a limit counts copies, too.
        copies = any(term.startswith("_:") for triple in triples for term in triple)
        distinct = "" if copies or any(token.says("LIMIT", "OFFSET") for token in self._clauses.tokens) else "DISTINCT "
        select = f"SELECT {distinct}{' '.join(f'?{name}' for name in names) or '(1 AS ?any)'} "
        between = [token for token in self._clauses.tokens if form.end <= token.start < braces[0]]
        # `CONSTRUCT WHERE { … }` has its pattern as its template, which stays.
        end = form.end if any(token.says("FROM", "WHERE") for token in between) else braces[1]
        self._clauses.edits = [edit for edit in self._clauses.edits if not form.start <= edit.start < end]
        self._clauses.edits.append(Edit(form.start, end, select))
        return tuple(triples)

    def _in_order(self, rows: tuple[str, ...]) -> tuple[str, ...]:
        """The columns as they are written; those of `SELECT *` as they occur first."""
        place = self._clauses.tokens.index(cast(Token, self._clauses.form)) + 1
        star = any(token.text == "*" for token in self._clauses.tokens[place : place + 3])
        if not star or self._clauses.tokens[place].text == "(":
            return rows
        written = dict.fromkeys(token.text[1:] for token in self._clauses.tokens if token.kind == "variable")
        return tuple(name for name in written if name in rows)

    def _check_filters(self, names: Iterator[str]) -> None:
        for name in names:
            uses = [token for token in self._clauses.tokens if token.kind == "variable" and token.text[1:] == name]
            token = uses[-1] if uses else cast(Token, self._clauses.form)
            message = f"nothing binds `?{name}` where this filter looks at it: its value is always an error"
            self._clauses.complain(
                "W607", message, token, f"use `?{name}` in a pattern of the same group, or in an OPTIONAL"
            )

    def _complain_about_sparql(self, mistake: Mistake, original: Callable[[int], int]) -> None:
        if mistake.function:
            calls = [
                token
                for token in self._clauses.tokens
                if self._clauses.names.iri(token.text) == f"<{mistake.function}>"
            ]
            token = calls[0] if calls else cast(Token, self._clauses.form)
            self._clauses.complain("E213", f"`{token.text}` is not a function", token, "use one of SPARQL's functions")
            return
        place = original(mistake.offset)
        token = next(
            (token for token in self._clauses.tokens if token.end > place),
            Token("end", "", len(self._clauses.text.rstrip())),
        )
        near = f"at `{token.text}`" if token.text else "at the end"
        sentence = mistake.sentence[:1].lower() + mistake.sentence[1:]
        help_ = "the rest of the query must be SPARQL 1.1: is a bracket, a full stop or a keyword missing before this?"
        self._clauses.complain("E101", f"syntax error {near}{f': {sentence}' if sentence else ''}", token, help_)


def _moved(edit: Edit, by: int) -> Edit:
    return Edit(edit.start - by, edit.end - by, edit.text)


def _stem(name: str) -> str:
    return PurePath(name).stem
