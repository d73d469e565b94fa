"""A run uses the session that is open, and leaves it as it was."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import thalweg
from spark.commands import invoke, run
from thalweg.diagnostics import RejectedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = "slow(S) :- speed(S,V) in [10 sec], V < 20."
STREAM = "speed(a,12) at 0.\nspeed(b,35) at 3.\nspeed(b,15) at 4.\n"
PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.fixture
def program(tmp_path: Path) -> list[str | Path]:
    (tmp_path / "slow.lars").write_text(RULES)
    (tmp_path / "readings.facts").write_text(STREAM)
    return [tmp_path / "slow.lars", "--stream", tmp_path / "readings.facts", "--to", "16"]


def test_a_run_uses_the_open_session_and_leaves_it_as_it_was(
    session: "SparkSession", program: list[str | Path]
) -> None:
    before = dict(session.conf.getAll)
    expected = run(*program).stdout
    conf = ("--conf", "spark.sql.session.timeZone=Asia/Tokyo")
    answers = run(*program, "--runtime", "spark", "--partitions", "3", *conf).stdout
    assert answers == expected != ""
    assert dict(session.conf.getAll) == before
    assert session.range(3).count() == 3


def test_python_uses_it_too(session: "SparkSession", program: list[str | Path]) -> None:
    rules, _, stream, *_ = program
    answers = thalweg.run(rules, [stream], end=16, runtime="spark", conf={"spark.sql.ansi.enabled": True})  # type: ignore[arg-type]
    assert [str(answer) for answer in answers] == [str(answer) for answer in thalweg.run(rules, [stream], end=16)]  # type: ignore[arg-type]
    assert session.range(3).count() == 3


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--conf", "spark.executor.memory=4g"),
        ("--master", "local[7]"),
        ("--jar", "connector.jar"),
        ("--archive", "environment.tar.gz"),
    ],
)
def test_what_an_open_session_cannot_have_is_refused(
    session: "SparkSession", program: list[str | Path], option: str, value: str
) -> None:
    before = dict(session.conf.getAll)
    result = invoke(*program, "--runtime", "spark", option, value)
    assert result.exit_code == 2
    shown = f"a Spark session is open in this process, and it cannot have `{option}` `{value}` any more"
    assert f"error[E403]: {shown}" in " ".join(result.output.split())
    assert dict(session.conf.getAll) == before


def test_its_own_master_may_be_named(session: "SparkSession", program: list[str | Path]) -> None:
    assert run(*program, "--runtime", "spark", "--master", "local[2]").stdout == run(*program).stdout


def test_a_setting_that_is_none_is_refused(program: list[str | Path]) -> None:
    result = invoke(*program, "--runtime", "spark", "--conf", "executor.memory=4g")
    assert result.exit_code == 2
    assert "`executor.memory=4g` is not a setting of Spark" in " ".join(result.output.split())
    with pytest.raises(RejectedError, match="is not a setting of Spark"):
        thalweg.run(RULES, [(1, "speed(a,1)")], runtime="spark", conf={"memory": 4})


def test_a_setting_that_spark_refuses_is_one_sentence(session: "SparkSession", program: list[str | Path]) -> None:
    result = invoke(*program, "--runtime", "spark", "--conf", f"{PARTITIONS}=many")
    assert result.exit_code == 3
    assert f"The value 'many' in the config \"{PARTITIONS}\" is invalid" in result.output
    assert "Traceback" not in result.output
