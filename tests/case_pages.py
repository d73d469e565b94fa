"""The pages of `tests/cases`: case by case, and all cases as one program."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from renamed_predicates import counts_facts, renamed
from thalweg.diagnostics import Source
from thalweg.ir.merge import merge
from thalweg.testing import Case, read_page
from thalweg.testing.strategies import Scenario

PAGES = {page.stem: page for page in sorted((Path(__file__).parent / "cases").glob("*.md"))}


def cases_of(page: str) -> list[Case]:
    path = PAGES[page]
    return read_page(Source(path.name, path.read_text(encoding="utf-8")))


@cache
def merged_cases() -> Scenario:
    """All cases but those in which windows count the input's facts; `c3_p` is `p` of the fourth of them.

    It lasts from the first tick of any case to the last of any.
    """
    cases = [case for page in PAGES for case in cases_of(page) if not counts_facts(case.program)]
    assert len(cases) > 4 * len(PAGES)
    return merged(cases)


def merged(cases: Sequence[Case | Scenario]) -> Scenario:
    """Cases as one program, in which each has predicates of its own."""
    programs = [renamed(case.program, f"c{number}") for number, case in enumerate(cases)]
    events = [event for number, case in enumerate(cases) for event in renamed(tuple(case.events), f"c{number}")]
    ordered = tuple(sorted(events, key=lambda event: event.tick))
    return Scenario(merge(programs), ordered, min(case.first for case in cases), max(case.last for case in cases))
