"""A query that rdflib cannot read has no algebra; a mistake of our own is not taken for one."""

import pytest
from rdflib.plugins.sparql import algebra as rdflib_algebra
from rdflib.plugins.sparql import parser as rdflib_parser

from thalweg.diagnostics import RejectedError, Source
from thalweg.kinds.queries.why_row import read_row
from thalweg.languages.rspql import algebra
from thalweg.languages.rspql.read_query import read_query
from thalweg.model.prefixes import Prefixes

TEXT = "SELECT ?s FROM NAMED WINDOW <w> ON <s> [RANGE 10, SLIDE 2] { WINDOW <w> { ?s ?p ?o FILTER(?v > 3) } }"
SPARQL = "SELECT ?s { ?s ?p ?o }"


def raising(error: BaseException):
    def call(*_: object):
        raise error

    return call


@pytest.mark.parametrize("error", [Exception("Denkfehler!"), AttributeError(), KeyError("p"), RecursionError()])
def test_whatever_rdflib_raises_means_that_it_cannot_read_the_query(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rdflib_algebra, "translateQuery", raising(error))
    assert algebra.translate(SPARQL) is None


def test_what_pyparsing_raises_does_as_well() -> None:
    assert algebra.translate("SELECT ?s {") is None


def test_a_wrong_call_of_rdflib_is_a_mistake_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a release that changes the signature: else every query would lose its plan without a word."""
    monkeypatch.setattr(rdflib_parser, "parseQuery", lambda text, dialect: text)
    with pytest.raises(TypeError, match="dialect"):
        algebra.translate(SPARQL)


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt()])
def test_lack_of_memory_and_a_signal_say_nothing_about_the_query(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rdflib_algebra, "translateQuery", raising(error))
    with pytest.raises(type(error)):
        algebra.translate(SPARQL)


@pytest.mark.parametrize("part", ["_unbound", "_visible", "_missing"])
def test_a_mistake_in_the_walk_over_the_algebra_is_not_a_diagnostic(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algebra, part, raising(AttributeError("ours")))
    with pytest.raises(AttributeError, match="ours"):
        read_query(Source("q.rspql", TEXT))


@pytest.mark.parametrize("text", ['{"s": 3}', '{"s": null}', '{"s": ["a"]}', '{"s": }', "{}", "s", "s="])
def test_what_is_not_a_row_is_refused(text: str) -> None:
    query, _ = read_query(Source("q.rspql", TEXT))
    assert query is not None
    with pytest.raises(RejectedError, match="is not a row"):
        read_row(text, query, Prefixes())


def test_a_mistake_while_a_row_is_read_is_not_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    query, _ = read_query(Source("q.rspql", TEXT))
    assert query is not None
    with pytest.raises(AttributeError):
        read_row("s=<http://ex.org/a>", query, None)  # type: ignore[arg-type]
