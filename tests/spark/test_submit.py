"""The command line on a cluster whose workers have nothing: submitted, and with its environment in an archive."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

import thalweg
from spark.standalone_cluster import cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc"),
]

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "cluster.md").read_text(encoding="utf-8")
SUBMITTED = re.findall(r"`submitted.py`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)[0]
ANSWERS = """\
{"t":0,"begin":["slow(a)"],"end":[]}
{"t":4,"begin":["slow(b)"],"end":[]}
{"t":11,"begin":[],"end":["slow(a)"]}
{"t":15,"begin":[],"end":["slow(b)"]}
"""
EXECUTORS = ("--conf", "spark.executor.memory=800m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the command is typed; workers have folders of their own."""
    place = tmp_path / "driver"
    place.mkdir()
    (place / "slow.lars").write_text("slow(S) :- speed(S,V) in [10 sec], V < 20.")
    (place / "readings.facts").write_text("speed(a,12) at 0.\nspeed(b,35) at 3.\nspeed(b,15) at 4.\n")
    (place / "submitted.py").write_text(SUBMITTED)
    return place


def words(shared: Path) -> list[str]:
    line = "run slow.lars --stream readings.facts --to 16 --runtime spark --quiet --out slow.jsonl"
    return [*line.split(), "--checkpoint", str(shared / "checkpoint")]


def run(line: list[str], folder: Path) -> None:
    from thalweg.runtimes.spark.java import find_java

    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {"SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": str(find_java().home), "PATH": tools}
    done = subprocess.run(
        line, cwd=folder, env=os.environ | variables, capture_output=True, text=True, errors="replace", timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "slow.jsonl").read_text() == ANSWERS


def test_the_command_line_is_submitted(folder: Path, tmp_path: Path) -> None:
    from pyspark.find_spark_home import _find_spark_home

    submit = str(Path(_find_spark_home(), "bin", "spark-submit"))
    with cluster(tmp_path) as there:
        run(["bash", submit, "--master", there.master, *EXECUTORS, "submitted.py", *words(tmp_path)], folder)


def test_an_archive_brings_the_environment(folder: Path, tmp_path: Path) -> None:
    """Links to what is installed here stand for a packed environment: Spark must unpack it, and start its Python."""
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    paths = sysconfig.get_path("purelib"), str(Path(thalweg.__file__).parents[1])
    (packages / "installed.pth").write_text("\n".join(paths))
    with tarfile.open(folder / "env.tar.gz", "w:gz") as archive:
        archive.add(environment, ".")
    with cluster(tmp_path) as there:
        line = [sys.executable, "-m", "thalweg", *words(tmp_path), "--master", there.master, *EXECUTORS]
        run([*line, "--archive", "env.tar.gz"], folder)
        unpacked = list(tmp_path.glob("*/app-*/*/environment/bin/python"))
    assert unpacked
