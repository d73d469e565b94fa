"""Every page of `tests/cases`, on everything that can answer a program."""

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from thalweg.diagnostics import Source
from thalweg.testing import Case, by_engine, by_runtime, by_semantics, check, read_page
from thalweg.testing.evaluators import Evaluator

HERE = Path(__file__).parent
PAGES = sorted((HERE / "cases").glob("*.md"))


def cases_of(pages: list[Path]) -> list[ParameterSet]:
    return [
        pytest.param(case, id=f"{page.stem}: {case.title}")
        for page in pages
        for case in read_page(Source(str(page.relative_to(HERE.parent)), page.read_text(encoding="utf-8")))
    ]


EVALUATORS = [
    pytest.param(by_semantics, id="semantics"),
    pytest.param(by_engine, id="engine"),
    pytest.param(by_runtime, id="embedded"),
]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("case", cases_of(PAGES))
def test_case(case: Case, evaluator: Evaluator) -> None:
    check(case, evaluator)


def test_no_page_is_empty() -> None:
    for page in PAGES:
        assert read_page(Source(page.name, page.read_text(encoding="utf-8"))), page
