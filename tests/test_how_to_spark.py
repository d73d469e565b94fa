"""What the page about Spark shows is what Spark does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "spark.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`(\w+\.(?:lars|facts))`:\n\n```\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.findall(r"^\$ thalweg (run .*)\n((?:\{.*\n)+)", PAGE, re.MULTILINE)
PROGRAMS = re.findall(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def printed(folder: Path, *arguments: str) -> str:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def test_there_is_something_to_try() -> None:
    assert sorted(FILES) == ["readings.facts", "slow.lars"]
    assert (len(COMMANDS), len(PROGRAMS)) == (1, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_a_command_prints_what_is_shown(command: str, shown: str, tmp_path: Path) -> None:
    assert printed(tmp_path, "-m", "thalweg", *command.split()) == shown


@pytest.mark.slow
@pytest.mark.parametrize(("program", "shown"), PROGRAMS)
def test_a_program_prints_what_is_shown(program: str, shown: str, tmp_path: Path) -> None:
    assert printed(tmp_path, "-c", program).strip() == shown.strip()
