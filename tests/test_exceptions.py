"""No error is hidden: what catches every exception raises one, hands on what it caught, or logs it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "thalweg"
EVERY = {"Exception", "BaseException"}
LOGS = {"exception", "error", "warning", "log_error", "print_exc"}


def test_no_error_is_hidden() -> None:
    hidden = {
        f"{path.relative_to(PACKAGE).as_posix()}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in hiding(path.read_text(encoding="utf-8"))
    }
    assert not hidden, "name the exceptions that are expected here, or log what was caught"


def hiding(code: str) -> Iterator[int]:
    """The lines at which code drops an exception of any kind."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(ast.Name("suppress") | ast.Attribute(attr="suppress"), args) if any(map(is_every, args)):
                yield node.lineno
            case ast.ExceptHandler(type=kind) if is_every(kind) and not _shows(node):
                yield node.lineno


def is_every(kind: ast.expr | None) -> bool:
    match kind:
        case None:
            return True
        case ast.Name(name):
            return name in EVERY
        case ast.Tuple(kinds):
            return any(map(is_every, kinds))
    return False


def _shows(handler: ast.ExceptHandler) -> bool:
    """Whether a handler raises, logs, or uses the exception that it caught."""
    for node in ast.walk(ast.Module(handler.body, [])):
        match node:
            case ast.Raise():
                return True
            case ast.Name(name, ast.Load()) if name == handler.name:
                return True
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name)) if name in LOGS:
                return True
    return False


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("with suppress(Exception):\n    stop()", [1]),
        ("with contextlib.suppress(OSError, Exception):\n    stop()", [1]),
        ("with suppress(OSError):\n    stop()", []),
        ("try:\n    stop()\nexcept Exception:\n    pass", [3]),
        ("try:\n    stop()\nexcept:\n    return", [3]),
        ("try:\n    stop()\nexcept (ValueError, Exception) as error:\n    return", [3]),
        ("try:\n    stop()\nexcept BaseException:\n    close()\n    raise", []),
        ("try:\n    stop()\nexcept Exception as error:\n    queue.put(error)", []),
        ("try:\n    stop()\nexcept Exception:\n    LOG.exception('it did not stop')", []),
        ("try:\n    stop()\nexcept OSError:\n    pass", []),
    ],
)
def test_code_that_hides_an_error_is_noticed(code: str, lines: list[int]) -> None:
    assert list(hiding(code)) == lines
