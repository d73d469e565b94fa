"""The page `docs/reference/conformance.md`: what `thalweg bench conformance` found, as Markdown."""

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Final

from thalweg.bench.report import Row

_HEADER: Final = """\
# Conformance

Results of the W3C's tests. `make conformance` runs them again and rewrites this page; the tests themselves are not part
of Thalweg (`THALWEG_DATA` names the folder that has them). Versions: {versions}.
"""
_PACKAGES: Final = ("pyoxigraph", "rdflib")

_OWL: Final = """
## OWL 2

The approved tests of OWL 2, by the rules of OWL 2 RL. A conclusion is tested by adding its negation and looking for a
contradiction. Finding none counts only where the rules are complete, which is in OWL 2 RL; elsewhere such a test is
*not supported*. A test may have several profiles.

{counts}
Not passed, in one of the profiles:

{noted}"""

_SPARQL: Final = """
## SPARQL 1.1 queries

Each test is run on pyoxigraph as it is, for comparison, and as a continuous query: the data arrive as one event in the
only window of a stream, `WINDOW` stands around the query's pattern, and named graphs are background. All queries are
evaluated by *SPARQL per window*, and those that are *compiled* by *rules* as well. Answers are compared as bags of
rows, or as sets of triples, up to the names of blank nodes; numbers and booleans by datatype and value, to 15 digits of
decimals and 12 of floating-point numbers. A window's rows have no order, so `ORDER BY` counts for pyoxigraph only.

{counts}
Not passed:

{failures}
Not compiled to rules, because of:

{reasons}"""


def page(
    owl: Sequence[Row], noted: Sequence[Row], sparql: Sequence[Row], failed: Sequence[Row], why: Sequence[Row]
) -> str:
    """The whole page, from the counts and failures of both."""
    versions = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    return (
        _HEADER.format(versions=versions)
        + _OWL.format(counts=as_markdown(owl), noted=as_markdown(noted))
        + _SPARQL.format(counts=as_markdown(sparql), failures=as_markdown(failed), reasons=as_markdown(why))
    )


def as_markdown(rows: Sequence[Row]) -> str:
    """A table; `None.` if there are no rows.

    >>> print(as_markdown([{"test": "one", "passed": 3}]), end="")
    | test | passed |
    |---|---|
    | one | 3 |
    """
    if not rows:
        return "None.\n"
    header, rule = _line(rows[0]), "|---" * len(rows[0]) + "|\n"
    return header + rule + "".join(_line(row.values()) for row in rows)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |\n"
