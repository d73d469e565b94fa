"""The page `docs/reference/conformance.md`: what `thalweg bench conformance` found, as Markdown."""

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Final

from thalweg.bench.dl_conformance import PUBLISHED
from thalweg.bench.report import Row

_HEADER: Final = """\
# Conformance

Results of the W3C's tests. `make conformance` runs them again and rewrites this page; the tests themselves are not part
of Thalweg (`THALWEG_DATA` names the folder that has them). Versions: {versions}.
"""
_PACKAGES: Final = ("pyoxigraph", "rdflib", "owlready2")

_OWL: Final = """
## OWL 2

The approved tests of OWL 2, by the rules of OWL 2 RL. A conclusion is tested by adding its negation and looking for a
contradiction. Finding none counts only where the rules are complete, which is in OWL 2 RL; elsewhere such a test is
*not supported*. A test may have several profiles.

{counts}
Not passed, in one of the profiles:

{noted}"""

_DL: Final = """
## OWL 2 DL

The tests of OWL 2 DL among them, under the direct semantics and whatever their profile, by what decides the classes of
events (`--profile dl`): rules, models that are searched for, and HermiT for the rest. A conclusion follows if ontology
and denial of the conclusion have no model. *Undecided* is what none of them decides; nothing is guessed.

{counts}
Not passed:

{failures}
Published for the approved tests of OWL 2 DL: {published}. The folder has {tests} tests of consistency and entailment
and lacks the others, so only the shares can be compared.
"""

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
    owl: Sequence[Row],
    noted: Sequence[Row],
    dl: Sequence[Row],
    undecided: Sequence[Row],
    sparql: Sequence[Row],
    failed: Sequence[Row],
    why: Sequence[Row],
) -> str:
    """The whole page, from the counts and failures of all three."""
    versions = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    return (
        _HEADER.format(versions=versions)
        + _OWL.format(counts=as_markdown(owl), noted=as_markdown(noted))
        + _DL.format(
            counts=as_markdown(dl), failures=as_markdown(undecided), published=PUBLISHED, tests=dl[-1]["tests"]
        )
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
