"""Every page of `tests/cases`, on everything that can answer a program."""

from pathlib import Path

import pytest

from thalweg.diagnostics import Source
from thalweg.testing import Case, by_engine, by_runtime, by_semantics, check, read_page
from thalweg.testing.evaluators import Evaluator

PAGES = sorted((Path(__file__).parent / "cases").glob("*.md"))
CASES = [
    pytest.param(case, id=f"{page.stem}: {case.title}")
    for page in PAGES
    for case in read_page(Source(f"tests/cases/{page.name}", page.read_text(encoding="utf-8")))
]
EVALUATORS = [
    pytest.param(by_semantics, id="semantics"),
    pytest.param(by_engine, id="engine"),
    pytest.param(by_runtime, id="embedded"),
]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("case", CASES)
def test_case(case: Case, evaluator: Evaluator) -> None:
    check(case, evaluator)


def test_no_page_is_empty() -> None:
    for page in PAGES:
        assert read_page(Source(page.name, page.read_text(encoding="utf-8"))), page
