"""Settings of a session: what users set counts, and everything is in its place."""

import sys
from pathlib import Path

import pytest

from thalweg.diagnostics import RejectedError, Source
from thalweg.languages.deployment.read_deployment import read_deployment
from thalweg.runtimes.spark.session import worker_python
from thalweg.runtimes.spark.session_settings import (
    NEEDED,
    SessionOptions,
    read_settings,
    settings,
    submitted_settings,
)

CLUSTER = "spark://host:7077"


def test_what_users_set_counts() -> None:
    conf = {"spark.sql.shuffle.partitions": "9", "spark.driver.memory": "8g", "spark.jars": "theirs.jar"}
    chosen = settings(SessionOptions("local[2]", conf, ("ours.jar",)), 4)
    assert (chosen["spark.sql.shuffle.partitions"], chosen["spark.driver.memory"]) == ("9", "8g")
    assert chosen["spark.jars"] == "ours.jar,theirs.jar"
    assert chosen["spark.master"] == "local[2,4]"


def test_the_master_may_be_a_setting() -> None:
    options = SessionOptions(conf={"spark.master": CLUSTER})
    assert options.place == CLUSTER
    assert "spark.driver.host" not in settings(options, 2)


def test_of_a_submitted_job_its_own_settings_count_before_ours() -> None:
    theirs = {"spark.master": CLUSTER, "spark.app.name": "jams", "spark.sql.adaptive.enabled": "true"}
    chosen = submitted_settings(SessionOptions(conf={"spark.executor.cores": "2"}), 4, theirs)
    assert chosen.keys() & theirs.keys() == set()
    assert NEEDED.keys() - theirs.keys() <= chosen.keys()
    assert chosen["spark.executor.cores"] == "2"
    assert submitted_settings(SessionOptions("yarn"), 4, theirs)["spark.master"] == "yarn"


def test_which_python_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    packed = SessionOptions(CLUSTER, archive="env.tar.gz")
    assert worker_python(SessionOptions(CLUSTER)) == sys.executable
    assert worker_python(packed) == "./environment/bin/python"
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    assert worker_python(packed) == "/opt/python"
    assert worker_python(packed, {"spark.pyspark.python": "/usr/submitted"}) == "/usr/submitted"
    stated = SessionOptions(CLUSTER, {"spark.pyspark.python": "/usr/stated"}, archive="env.tar.gz")
    assert worker_python(stated) == "/usr/stated"


def test_an_archive_brings_its_own_packages() -> None:
    assert "spark.executorEnv.PYTHONPATH" in settings(SessionOptions(CLUSTER), 2)
    chosen = settings(SessionOptions(CLUSTER, archive="env.tar.gz#city"), 2)
    assert chosen["spark.archives"] == "env.tar.gz#city"
    assert "spark.executorEnv.PYTHONPATH" not in chosen


def test_an_archive_is_for_other_machines() -> None:
    with pytest.raises(RejectedError, match="ships an environment to other machines"):
        SessionOptions("local[2]", archive="env.tar.gz").check()


def test_a_deployment_writes_settings_as_toml_does(tmp_path: Path) -> None:
    text = """
program = "a.lars"
[runtime]
archive = "env.tar.gz"
[runtime.conf]
spark.executor.memory = "4g"
spark.executor.cores = 2
"spark.ui.enabled" = true
"""
    options = read_deployment(Source(str(tmp_path / "city.toml"), text)).options
    assert options["archive"] == str(tmp_path / "env.tar.gz")
    conf = options["conf"]
    assert isinstance(conf, list)
    expected = {"spark.executor.memory": "4g", "spark.executor.cores": "2", "spark.ui.enabled": "true"}
    assert read_settings(conf) == expected


@pytest.mark.parametrize("text", ["spark.executor.memory", "memory=4g", "=4g"])
def test_what_is_no_setting(text: str) -> None:
    with pytest.raises(ValueError, match="is not a setting of Spark"):
        read_settings([text])


def test_packages_of_formats_come_along_unless_jars_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.runtimes.spark.session_settings.version", lambda _: "4.1.4")
    needed = SessionOptions(formats=("iceberg", "delta")).settings
    assert needed["spark.jars.packages"].count(",") == 1
    assert needed["spark.sql.extensions"].count("Extension") == 2
    own = SessionOptions(jars=("delta.jar",), formats=("delta",)).settings
    assert (own["spark.jars"], "spark.jars.packages" in own) == ("delta.jar", False)
    # Wherever its package is from, Delta has to be told to Spark.
    assert own["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"
    assert "spark.jars.packages" in SessionOptions(conf={"spark.jars.ivy": "/ivy"}, formats=("delta",)).settings


def test_a_format_without_a_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.runtimes.spark.session_settings.version", lambda _: "4.3.0")
    with pytest.raises(RejectedError, match="no package of delta for Spark"):
        settings(SessionOptions(formats=("delta",)), 2)
