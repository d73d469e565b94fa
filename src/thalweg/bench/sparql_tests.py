"""The W3C's tests of SPARQL 1.1 queries: which there are, and what pyoxigraph and Thalweg answer.

A manifest lists the tests of a group. Most have a query, data and the expected answer; some have a query that must be
rejected. As a continuous query the same test has its data arrive as one event, in the only window of a stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from thalweg.bench.oxigraph import SparqlAnswer, ask, read_answer, select, store

_MANIFEST: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QUERY: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
BASE: Final = "http://example.org/tests/"
"""Relative IRIs in queries and data are relative to this."""

EVALUATION: Final = "evaluation"
ACCEPTED: Final = "syntax, accepted"
REJECTED: Final = "syntax, rejected"
_KINDS: Final = {
    "QueryEvaluationTest": EVALUATION,
    "PositiveSyntaxTest11": ACCEPTED,
    "PositiveSyntaxTest": ACCEPTED,
    "NegativeSyntaxTest11": REJECTED,
    "NegativeSyntaxTest": REJECTED,
}
_LISTED: Final = f"""
    PREFIX mf: <{_MANIFEST}> PREFIX qt: <{_QUERY}>
    SELECT ?test ?kind ?query ?data ?graph ?result {{
        ?test a ?kind ; mf:action ?action .
        OPTIONAL {{ ?action qt:query ?asked }}
        BIND (COALESCE(?asked, ?action) AS ?query)
        OPTIONAL {{ {{ ?action qt:data ?data }} UNION {{ ?action qt:graphData ?graph }} }}
        OPTIONAL {{ ?test mf:result ?result }}
    }} ORDER BY ?test
"""


@dataclass(frozen=True, slots=True)
class SparqlTest:
    """A query, the documents that it is about, and its answer; without one it is a test of syntax."""

    group: str
    name: str
    kind: str
    query: Path
    data: tuple[Path, ...] = ()
    graphs: tuple[Path, ...] = ()
    result: Path | None = None

    @property
    def base(self) -> str:
        return f"{BASE}{self.group}/"

    @property
    def ordered(self) -> bool:
        """Whether the order of rows counts. The file of results has one in any case."""
        return "order by" in self.query.read_text(encoding="utf-8").lower()


def find_sparql_tests(folder: Path) -> list[SparqlTest]:
    """Every test of the groups in a folder, each a folder with a manifest."""
    return [test for path in sorted(folder.glob("*/manifest.ttl")) for test in _tests(path)]


def _tests(path: Path) -> Iterator[SparqlTest]:
    tests: dict[str, SparqlTest] = {}
    for row in select(path, _LISTED):
        kind = _KINDS.get(_local(row["kind"]))
        if kind is None:
            continue
        name, result = _local(row["test"]), _file(row["result"]) if "result" in row else None
        data, graphs = ((_file(row[key]),) if key in row else () for key in ("data", "graph"))
        before = tests.get(name, SparqlTest(path.parent.name, name, kind, _file(row["query"]), result=result))
        tests[name] = SparqlTest(
            before.group, name, kind, before.query, (*before.data, *data), (*before.graphs, *graphs), result
        )
    yield from tests.values()


def _local(node: Any) -> str:
    return str(node.value).rpartition("#")[2]


def _file(node: Any) -> Path:
    return Path(unquote(urlsplit(node.value).path))


def by_pyoxigraph(test: SparqlTest) -> SparqlAnswer:
    """The answer of pyoxigraph; `SyntaxError` if it does not take the query."""
    return ask(
        store(test.data, test.graphs, test.base), test.query.read_text(encoding="utf-8"), test.base, test.ordered
    )


def expected(test: SparqlTest) -> SparqlAnswer:
    assert test.result is not None
    return read_answer(test.result, test.base, test.ordered)
