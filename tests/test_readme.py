"""What the README shows is what the commands print."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.cli import app

README = (Path(__file__).parent.parent / "README.md").read_text()
FILES = dict(re.findall(r"\(`([\w.]+)`\):\n\n```\n(.*?)```", README, re.DOTALL))
COMMANDS = re.findall(r"^\$ thalweg (.*)\n((?:[^$`\n].*\n)+)", README, re.MULTILINE)


def test_there_is_something_to_try():
    assert sorted(FILES) == ["jam.lars", "readings.facts"]
    assert [command.split()[0] for command, _ in COMMANDS] == ["run", "why"]


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_a_command_prints_what_is_shown(command, shown, tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, command.replace("'", "").split())
    assert result.exit_code == 0
    assert result.stdout == shown


def test_the_example_in_python_runs(tmp_path, monkeypatch, capsys):
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "thalweg.open" in one]
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert "12 () (Fact('jam', ('a',)), Fact('slow', ('a',)))" in capsys.readouterr().out


def test_the_plan_is_the_one_that_is_shown(tmp_path, monkeypatch):
    (tmp_path / "jam.lars").write_text(FILES["jam.lars"])
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["explain", "jam.lars", "--format", "svg"])
    shown = (Path(__file__).parent.parent / "docs" / "plan.svg").read_text()
    assert result.stdout == shown
