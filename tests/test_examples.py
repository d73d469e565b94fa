"""Every example gives the answers that it promises in its opening lines."""

import argparse
import shlex
from pathlib import Path

import pytest

from thalweg import api

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.lars"))


def promised(example: Path) -> tuple[list[str], list[str]]:
    """The command of an example, and the lines that it is said to print."""
    lines = [
        line.removeprefix("%   ")
        for line in example.read_text(encoding="utf-8").splitlines()
        if line.startswith("%   ")
    ]
    return shlex.split(lines[0]), lines[1:]


def parse(command: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("thalweg", choices=["thalweg"])
    parser.add_argument("run", choices=["run"])
    parser.add_argument("program")
    parser.add_argument("--stream")
    parser.add_argument("--emit", choices=["changes", "snapshot", "intervals"], default="changes")
    parser.add_argument("--from", dest="first")
    parser.add_argument("--to", dest="last")
    parser.add_argument("--delay", default=0)
    return parser.parse_args(command)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_keeps_its_promise(example: Path) -> None:
    command, expected = promised(example)
    asked = parse(command)
    assert asked.program == f"examples/{example.name}"
    answers = api.run(
        ROOT / asked.program,
        stream=ROOT / asked.stream,
        emit=asked.emit,
        start=asked.first,
        end=asked.last,
        delay=asked.delay,
    )
    assert list(map(str, answers)) == expected


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_needs_no_excuses(example: Path) -> None:
    assert api.check(example) == []


def test_every_stream_has_its_program() -> None:
    streams = [path for path in (ROOT / "examples").iterdir() if path.is_file() and path.suffix != ".lars"]
    assert {path.stem for path in streams} == {path.stem for path in EXAMPLES}
