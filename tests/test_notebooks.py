"""The notebooks run from top to bottom: their cells are executed here as they stand, one after the other."""

import ast
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NAMES = ["sensors-with-pandas", "ontology-over-rdf"]
ON_SPARK = "spark"


def cells(name: str) -> list[str]:
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def execute(code: str, names: dict[str, object]) -> object:
    """Runs a cell; the value of its last line, as a notebook shows it."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def execute_all(name: str) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for code in cells(name):
        shown = execute(code, names)
        for form in ("_repr_html_", "_repr_svg_"):
            if hasattr(shown, form):
                assert getattr(shown, form)()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name: str) -> None:
    execute_all(name)


@pytest.mark.spark
@pytest.mark.usefixtures("in_session")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_about_spark_runs() -> None:
    execute_all(ON_SPARK)


def test_all_are_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*NAMES, ON_SPARK}
