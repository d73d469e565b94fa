"""Commands in this process: on Spark they take the session that is open, where a test uses `in_session`."""

from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from thalweg.cli import app


def run(*words: str | Path) -> Result:
    """`thalweg run`, which must end well, without a summary."""
    result = CliRunner().invoke(app, ["run", *map(str, words), "--quiet"])
    assert result.exit_code == 0, result.output
    return result
