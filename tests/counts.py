"""Counts of the source: what there is once, and what there is once for every kind and runtime.

    python tests/counts.py [--names] [TREE]

The code is read and not imported, so that any tree can be counted.
"""

import argparse
import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

VAGUE: Final = frozenset(
    {
        *("one", "found", "each", "known", "some", "given", "asked", "made", "held", "said", "told", "others", "rest"),
        *(
            "whole",
            "such",
            "thing",
            "things",
            "besides",
            "beside",
            "whatever",
            "which",
            "who",
            "both",
            "those",
            "these",
        ),
    }
)
SAVES: Final = ("snapshot", "save", "state")
WORKER: Final = frozenset({"process", "replay", "save", "load"})
MANY: Final = 12
"""More parameters than these are many."""

Classes = dict[str, list[tuple[Path, ast.ClassDef]]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def classes_of(trees: dict[Path, ast.Module]) -> Classes:
    """The classes of all modules, by their names."""
    classes: Classes = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append((path, node))
    return classes


def methods(node: ast.ClassDef) -> dict[str, Function]:
    """The methods that a class defines."""
    return {member.name: member for member in node.body if isinstance(member, Function)}


def bases(node: ast.ClassDef) -> Iterator[str]:
    """The names of what a class is derived from."""
    for base in node.bases:
        base = base.value if isinstance(base, ast.Subscript) else base
        yield base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def ancestry(node: ast.ClassDef, classes: Classes) -> Iterator[ast.ClassDef]:
    """A class, and all those that it is derived from, by their names."""
    waiting, seen = [node], set[str]()
    while waiting:
        current = waiting.pop()
        yield current
        for base in bases(current):
            if base not in seen:
                seen.add(base)
                waiting += (parent for _, parent in classes.get(base, ()))


def is_protocol(node: ast.ClassDef) -> bool:
    """Whether a class only says what others offer."""
    return "Protocol" in bases(node)


def saves(function: Function | None) -> bool:
    """Whether a method gives bytes or a state."""
    returned = ast.unparse(function.returns) if function is not None and function.returns is not None else ""
    return "bytes" in returned or "State" in returned


def named(classes: Iterable[tuple[Path, ast.ClassDef]], source: Path) -> list[str]:
    """Classes with their files, in order."""
    return sorted(f"{path.relative_to(source)}: {node.name}" for path, node in classes)


def identifiers(trees: Iterable[ast.Module]) -> Iterator[str]:
    """All names that are used, and all parameters."""
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg


def vague_share(trees: Iterable[ast.Module]) -> str:
    """The share of vague words among names."""
    names = [name.strip("_") for name in identifiers(trees)]
    vague = sum(name in VAGUE for name in names)
    return f"{100 * vague / max(1, len(names)):.2f} % ({vague:,} of {len(names):,})"


def parameters(function: Function) -> int:
    """How many parameters a function has."""
    arguments = function.args
    extra = (arguments.vararg is not None) + (arguments.kwarg is not None)
    return len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs) + extra


def imports(tree: ast.Module, *modules: str) -> bool:
    """Whether a module imports one of some modules, at the top or inside."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name in modules for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            return True
    return False


def counts(source: Path) -> Iterator[tuple[str, str, list[str]]]:
    """What is counted, how much it is, and what is meant."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    classes = classes_of(trees)
    every = [(path, node) for entries in classes.values() for path, node in entries]
    real = [(path, node) for path, node in every if not is_protocol(node)]

    yield "lines of src", f"{sum(text.count(chr(10)) for text in texts.values()):,} in {len(texts)} files", []
    advancing = named(((path, node) for path, node in real if "advance" in methods(node)), source)
    yield "classes with `advance`", str(len(advancing)), advancing
    saving = [(path, node) for path, node in real if any(saves(methods(node).get(name)) for name in SAVES)]
    yield "classes that save state", str(len(saving)), named(saving, source)
    jobs = [
        (path, node)
        for path, node in real
        if node.name != "Job" and "Job" in {parent.name for parent in ancestry(node, classes)} - {node.name}
    ]
    yield "subclasses of Job", str(len(jobs)), named(jobs, source)
    workers = [
        (path, node)
        for path, node in real
        if {name for parent in ancestry(node, classes) if not is_protocol(parent) for name in methods(parent)} >= WORKER
    ]
    yield "workers of buckets", str(len(workers)), named(workers, source)
    for module in ("pickle", "base64"):
        importing = [
            str(path.relative_to(source))
            for path, tree in trees.items()
            if imports(tree, module) and path.relative_to(source).parts[0] != "solvers"
        ]
        yield f"files outside solvers that import {module}", str(len(importing)), importing
    yield "share of vague names", vague_share(trees.values()), []
    packages = sorted({path.relative_to(source).parts[0] for path in trees if path.parent != source})
    shares = {
        package: vague_share(tree for path, tree in trees.items() if path.relative_to(source).parts[0] == package)
        for package in packages
    }
    yield "  of these in packages", "", [f"{package}: {share}" for package, share in shares.items()]
    top = Counter(node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef))
    twice = sorted(name for name, number in top.items() if number > 1 and not name.startswith("_"))
    yield "public class names that occur twice or more", str(len(twice)), twice
    functions = [
        (parameters(node), f"{path.relative_to(source)}: {node.name}")
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    ]
    wide = sorted((entry for entry in functions if entry[0] > MANY), reverse=True)
    about = f"{len(wide)}, the most is {max(functions)[0]}"
    yield f"functions with more than {MANY} parameters", about, [f"{number}  {name}" for number, name in wide]


def main() -> None:
    """Prints the counts, and with `--names` what is meant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("--names", action="store_true", help="name what is counted, too")
    words = parser.parse_args()
    for about, number, names in counts(words.tree.absolute() / "src" / "thalweg"):
        print(f"{about:46} {number}".rstrip())
        for name in names if words.names or not number else ():
            print(f"    {name}")


if __name__ == "__main__":
    main()
