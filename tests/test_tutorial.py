"""What the tutorial about the city shows is what the commands print, and what it quotes is in the files."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.cli import app

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial" / "from-sensors-to-decisions.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
QUOTED = [text for kind, text in BLOCKS if not kind]
SHOWN = "".join(text for kind, text in BLOCKS if kind == "console")
COMMANDS = re.findall(r"^\$ (thalweg (?:.*\\\n)*.*)\n((?:[^$].*\n)*)", SHOWN, re.MULTILINE)


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the first command writes."""
    folder = tmp_path_factory.mktemp("tutorial") / "city"
    assert CliRunner().invoke(app, ["demo", "--files", str(folder)]).exit_code == 0
    return folder


def test_the_page_begins_with_the_files() -> None:
    assert COMMANDS[0][0] == "thalweg demo --files city"


def cases(*, on_spark: bool) -> list[object]:
    """All other commands, those that run on Spark or those that do not."""
    return [
        pytest.param(command, shown, id=str(number))
        for number, (command, shown) in enumerate(COMMANDS[1:], 1)
        if ("--runtime spark" in command) == on_spark
    ]


@pytest.mark.parametrize(("command", "shown"), cases(on_spark=False))
def test_a_command_prints_what_is_shown(city: Path, command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_command(city, command, shown, monkeypatch)


@pytest.mark.spark
@pytest.mark.usefixtures("in_session")
@pytest.mark.parametrize(("command", "shown"), cases(on_spark=True))
def test_a_command_on_spark_prints_what_is_shown(
    city: Path, command: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_command(city, command, shown, monkeypatch)


def check_command(city: Path, command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`…` stands for anything within a line, and alone on a line for any lines; it is shown as on a terminal."""
    monkeypatch.chdir(city)
    arguments = shlex.split(command.replace("\\\n", " "))[1:]
    result = CliRunner().invoke(app, [*arguments, "--format", "text"])
    assert result.exit_code == 0, result.stderr
    pattern = "".join(r"(?:.*\n)*" if line == "…" else f"{_pattern(line)}\n" for line in shown.splitlines())
    assert re.fullmatch(pattern, result.stdout), result.stdout


def _pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.split("…")))


def test_what_the_page_quotes_is_in_the_files(city: Path) -> None:
    """An observation is quoted with short names, and every other line as it is."""
    files = [path for path in city.iterdir() if path.suffix != ".nq"]
    lines = {line.strip() for path in files for line in path.read_text(encoding="utf-8").splitlines()}
    quoted = [line.strip() for block in QUOTED for line in block.splitlines() if line.strip()]
    assert [line for line in quoted if line not in lines] == [line for line in quoted if line.startswith(":traffic")]
    for short in (line for line in quoted if line.startswith(":traffic")):
        assert _written(short) in (city / "traffic.nq").read_text(encoding="utf-8").splitlines()


def _written(line: str) -> str:
    """A line with its names written out."""
    spaces = {
        "": "http://example.org/city#",
        "prov": "http://www.w3.org/ns/prov#",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    }
    return re.sub(r'(?<![\w"])(\w*):(\w+)(?=[ ^]|$)', lambda name: f"<{spaces[name[1]]}{name[2]}>", line)
