"""The engine uses parts of numba that numba does not promise to keep; they are named here, with the module in need.

A release of numba that changes one of them fails here by name, before kernels fail in ways that are hard to read.
"""

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.metadata import version
from inspect import signature
from pathlib import Path

import pytest
from numba import njit
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "thalweg"


@dataclass(frozen=True)
class PrivatePart:
    """A name of numba's own, and the module of ours that needs it."""

    module: str
    name: str
    user: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


PRIVATE = (
    PrivatePart("numba.core.caching", "IndexDataCacheFile", "engine/compiled.py"),
    PrivatePart("numba.core.caching", "IndexDataCacheFile._load_index", "engine/compiled.py"),
    PrivatePart("numba.core.cgutils", "create_struct_proxy", "engine/pointers.py"),
    PrivatePart("numba.core.cgutils", "get_or_insert_function", "engine/pointers.py"),
    PrivatePart("numba.core.base", "BaseContext.get_dummy_value", "engine/pointers.py"),
    PrivatePart("numba.core.cgutils", "_StructProxy._getvalue", "engine/pointers.py"),
)
CACHE = ("_cache_file", "_cache_path", "_impl.filename_base")
"""What `engine/compiled.py` reads and sets of the cache of a compiled function."""
BOUNDED = ("numba", "llvmlite")


@pytest.mark.parametrize("part", PRIVATE, ids=str)
def test_a_private_part_of_numba_is_where_the_engine_looks_for_it(part: PrivatePart) -> None:
    try:
        reduce(getattr, part.name.split("."), import_module(part.module))
    except (ImportError, AttributeError) as error:
        pytest.fail(f"numba {version('numba')} has no {part}, which thalweg/{part.user} needs: {error}")


def test_the_file_of_a_cache_is_opened_as_the_engine_does_it() -> None:
    cache_file = import_module("numba.core.caching").IndexDataCacheFile
    assert list(signature(cache_file).parameters) == ["cache_path", "filename_base", "source_stamp"], (
        "thalweg/engine/compiled.py passes these to IndexDataCacheFile"
    )


@pytest.mark.parametrize("name", CACHE)
def test_the_cache_of_a_compiled_function_has_what_the_engine_sets(name: str) -> None:
    compiled = njit(cache=True)(_probe)
    try:
        reduce(getattr, name.split("."), compiled._cache)
    except AttributeError as error:
        pytest.fail(
            f"the cache of numba {version('numba')} has no {name}, which thalweg/engine/compiled.py needs: {error}"
        )


def _probe(number: int) -> int:
    return number


def test_no_private_part_is_missing_from_the_list() -> None:
    """What is imported from below `numba.core`, and the names with an underscore in the module of the cache."""
    imported = {
        (f"{node.module}.{alias.name}", path.relative_to(SOURCE).as_posix())
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba.core")
        for alias in node.names
    }
    listed = {(str(part), part.user) for part in PRIVATE} | {(part.module, part.user) for part in PRIVATE}
    assert imported <= listed
    compiled = ast.parse((SOURCE / "engine" / "compiled.py").read_text(encoding="utf-8"))
    private = {
        node.attr for node in ast.walk(compiled) if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr)
    }
    named = {name for text in (*CACHE, *(part.name for part in PRIVATE)) for name in text.split(".")}
    assert private <= named | {"_cache"}


@pytest.mark.parametrize("package", BOUNDED)
def test_no_release_is_allowed_that_no_test_has_seen(package: str) -> None:
    """The bound is the next minor release after the one that is pinned, and installed."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    (allowed,) = (need.specifier for need in map(Requirement, needed) if need.name == package)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    (pinned,) = (line.split()[0].partition("==")[2] for line in lock if line.startswith(f"{package}=="))
    major, minor, *_ = pinned.split(".")
    assert pinned in allowed
    assert version(package) in allowed
    assert f"{major}.{int(minor) + 1}.0" not in allowed
