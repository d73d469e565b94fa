"""Commands in this process: on Spark they take the session that is open, where a test uses `in_session`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import Result
from typer.testing import CliRunner

from thalweg.cli import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def taken(session: "SparkSession") -> Iterator[None]:
    """Runs on Spark in this process take a session that is open, and leave it so."""
    from thalweg.runtimes.spark import run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "open_session", lambda *_, **__: session)
        patch.setattr(run, "stop_session", lambda _: None)
        yield


def invoke(*words: str | Path) -> Result:
    """`thalweg run`, however it ends, without a summary."""
    return CliRunner().invoke(app, ["run", *map(str, words), "--quiet"])


def run(*words: str | Path) -> Result:
    """`thalweg run`, which must end well, without a summary."""
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result
