"""Opening and ending a Spark session of our own: tuned for reasoning, quiet, and gone when it is done.

Everything that Java and the Python workers say goes to a log file: the Java process is started with its output
redirected, so nothing has to be configured away. A session that was there before, in somebody's own job, is never
touched.
"""

import atexit
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import thalweg
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.runtimes.spark.java import cache_directory, find_java
from thalweg.runtimes.spark.query_settings import EXECUTION, NO_DATA, QUERY_SETTINGS, STREAMING
from thalweg.runtimes.spark.startup import SHORT, ClassArchive, linked_home

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

# Spark gives up at the first failure on one machine unless it is told not to: a process may be lost there, too.
LOCAL: Final = "local[*]"
LOGS_KEPT: Final = 10
# How long Java may take to end by itself, and how long a master to answer.
PATIENCE: Final = 20.0
ANSWER: Final = 5.0
# How often a task is tried: as often as on a cluster.
ATTEMPTS: Final = 4

LOG: Final = logging.getLogger("thalweg.spark")
# In the environment of Java and of all processes that it starts: a process that lost its parent is still found.
MARK: Final = "THALWEG_SPARK"
_MINE: Final = token_hex(16)

# The archive that the Java of each session reads, or lists classes for.
_ARCHIVES: Final[WeakKeyDictionary["SparkSession", ClassArchive]] = WeakKeyDictionary()

# For checkpoints on a local disk; the manager that Spark would choose asks the shell about every file.
LOCAL_DISK: Final = {
    f"{STREAMING}.checkpointFileManagerClass": f"{EXECUTION}.checkpointing.FileSystemBasedCheckpointFileManager",
}
# A session on this machine only: no other machine has to find it, and its name need not be looked up.
LOOPBACK: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
}
TUNED: Final = {
    **QUERY_SETTINGS,
    "spark.app.name": "thalweg",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # A bucket is a partition: none may be merged away.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A job that is larger would be broadcast, and the process that starts an operator does not get what is broadcast.
    "spark.broadcast.UDFCompressionThreshold": str(1 << 30),
    "spark.python.unix.domain.socket.enabled": "true",
    # The live engine stays in its worker from batch to batch.
    "spark.python.worker.reuse": "true",
    # Heartbeats carry the time; a batch without data would do nothing.
    NO_DATA: "false",
    # What is kept of finished batches must not grow with the run.
    f"{STREAMING}.numRecentProgressUpdates": "20",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
}


def open_session(
    master: str | None,
    partitions: int,
    *,
    verbose: bool = False,
    jars: Sequence[str] = (),
    conf: Mapping[str, str] | None = None,
    short: bool = False,
) -> "SparkSession":
    """Starts Java and a session; `conf` has the last word. A `short` session is not worth optimising.

    >>> open_session("nonsense", 2)
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E403]: `nonsense` is not the address of a Spark master
      help: write `local[2]` for this machine, or `spark://host:7077`
    """
    place = master or LOCAL
    check_master(place)
    need_spark()
    java, home = find_java(), _spark_home(place)
    archive = ClassArchive.of(java, home)
    chosen = settings(place, partitions, verbose)
    chosen["spark.driver.extraJavaOptions"] = f"{SHORT if short else ''} {archive.options if archive else ''}"
    if jars:
        chosen["spark.jars"] = ",".join(jars)
    if not is_local(place):
        # On another machine this home does not exist; that serves as well, because all it has to do is lack the zip.
        chosen["spark.executorEnv.SPARK_HOME"] = str(home)
    session = _start(chosen | dict(conf or {}), verbose, JAVA_HOME=str(java.home), SPARK_HOME=str(home))
    if archive is not None:
        _ARCHIVES[session] = archive
    # Java would notice by itself that we are gone, but only after us.
    atexit.register(stop_session, session)
    return session


def stop_session(session: "SparkSession") -> None:
    """Ends a session and its Java; no process is left. Ending it twice does no harm."""
    from pyspark import SparkContext

    atexit.unregister(stop_session)
    if (gateway := SparkContext._gateway) is not None:
        archive, class_path = _ARCHIVES.get(session), ""
        with _limited(gateway):
            with java_may_be_gone("reading the class path"):
                class_path = gateway.jvm.System.getProperty("java.class.path")
            with java_may_be_gone("stopping the session"):
                session.stop()
        _end(gateway)
        if archive is not None and class_path:
            archive.make(class_path)


def kill_processes() -> None:
    """Kills every process of Spark that this process has started, and those that they have started."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    processes = set(_marked()) if Path("/proc/self/environ").exists() else set()
    # Elsewhere Java's own end has to be enough: the others notice it.
    if gateway is not None and gateway.proc is not None and gateway.proc.poll() is None:
        processes.add(gateway.proc.pid)
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _marked() -> Iterator[int]:
    mark = f"{MARK}={_MINE}".encode()
    for entry in Path("/proc").iterdir():
        # It may be gone, or another user's.
        with suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                yield int(entry.name)


def settings(master: str, partitions: int, verbose: bool = False) -> dict[str, str]:
    """Everything that is set for a session.

    >>> settings("local[2]", 4)["spark.sql.shuffle.partitions"]
    '4'
    """
    root = str(Path(thalweg.__file__).parents[1])
    return {
        **TUNED,
        **(LOOPBACK | LOCAL_DISK if is_local(master) else {}),
        "spark.master": patient(master),
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.ui.enabled": str(verbose).lower(),
        "spark.sql.warehouse.dir": f"file:{cache_directory() / 'warehouse'}",
        "spark.executorEnv.PYTHONPATH": root,
    }


def _spark_home(master: str) -> Path:
    from pyspark.find_spark_home import _find_spark_home

    home = Path(_find_spark_home())
    # On YARN and Kubernetes, Spark takes the zip from its home and sends it to the executors.
    return linked_home(home) if is_local(master) or master.startswith(("spark://", "local-cluster")) else home


def is_local(master: str) -> bool:
    """Whether a master is this process.

    >>> is_local("local[2]"), is_local("spark://localhost:7077")
    (True, False)
    """
    return re.fullmatch(r"local(\[[^]]*\])?", master) is not None


def patient(master: str) -> str:
    """A master that tries a task again; on this machine Spark would give up at the first worker that is lost.

    >>> patient("local"), patient("local[2]"), patient("local[2,1]"), patient("spark://host:7077")
    ('local[1,4]', 'local[2,4]', 'local[2,1]', 'spark://host:7077')
    """
    threads = re.fullmatch(r"local(?:\[([^],]*)\])?", master)
    return master if threads is None else f"local[{threads[1] or 1},{ATTEMPTS}]"


def check_master(master: str) -> None:
    """Refuses an invalid address, and a master that does not answer: Spark itself would try for a minute."""
    if master.startswith("spark://"):
        if not any(_answers(address) for address in master.removeprefix("spark://").split(",")):
            message = f"no response from a Spark master at `{master}`"
            raise FailedError(Diagnostic("E404", message, help="check the address, and that the master is running"))
    elif not re.match(r"local$|local(-cluster)?\[|yarn$|k8s://", master):
        way_out = "write `local[2]` for this machine, or `spark://host:7077`"
        raise RejectedError([Diagnostic("E403", f"`{master}` is not the address of a Spark master", help=way_out)])


def need_spark() -> None:
    """Refuses to go on where Spark is not installed."""
    absent = [name for name in ("pyspark", "pandas", "google.protobuf") if not _installed(name)]
    if absent:
        message = f"the Spark runtime is not installed: there is no {', no '.join(absent)}"
        raise RejectedError([Diagnostic("E406", message, help="install it with `pip install 'thalweg[spark]'`")])


@cache
def log_file() -> Path:
    """Where Java and the workers of this process write what they have to say; a few old ones are kept."""
    place = cache_directory() / "logs"
    place.mkdir(parents=True, exist_ok=True)
    for old in sorted(place.glob("spark-*.log"))[: -LOGS_KEPT + 1]:
        old.unlink(missing_ok=True)
    return place / f"spark-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"


def log_error(doing: str) -> None:
    """Writes the error that is being handled to the log, where it must not change how a run ends."""
    with log_file().open("a", encoding="utf-8") as log:
        print(f"thalweg: an error while {doing}", traceback.format_exc(), sep="\n", file=log)


def java_errors() -> tuple[type[Exception], ...]:
    """What a call of Java raises where it fails there, or where Java has ended."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException, OSError


@contextmanager
def java_may_be_gone(doing: str) -> Iterator[None]:
    """Ignores that Java fails or has ended while a run is; any other error is logged, and the end goes on."""
    try:
        yield
    except java_errors():
        pass
    except Exception:
        log_error(doing)


def _start(chosen: dict[str, str], verbose: bool, **places: str) -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        way_out = "pass its data to `thalweg.spark.reason`, or stop it first"
        raise RejectedError([Diagnostic("E403", "a Spark session is already open in this process", help=way_out)])
    conf = SparkConf(loadDefaults=False)
    for key, value in chosen.items():
        conf.set(key, value)
    with _own_signals(), _environment(PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable):
        gateway = SparkContext._gateway or _launch(conf, verbose, places)
        try:
            # A Java that was just launched has the settings.
            context = SparkContext(conf=conf if SparkContext._gateway else None, gateway=gateway)
            # It hears that Java is gone, and would print how it heard of it.
            context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
            return SparkSession.builder.getOrCreate()
        except Exception as error:
            # What went wrong is asked of Java, so before it ends.
            failure = _failed(error)
            _end(gateway)
            raise failure from error
        except BaseException:
            _end(gateway)
            raise


def _launch(conf: "SparkConf", verbose: bool, places: dict[str, str]) -> Any:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    # The process that only puts the command together ends at once.
    environment = {MARK: _MINE, **places, "SPARK_LAUNCHER_OPTS": SHORT}
    if not verbose:
        for name in _TALKERS:
            logging.getLogger(name).addFilter(_TO_LOG)
    with _environment(**environment), log_file().open("ab") as log:
        start = log.tell()
        try:
            return launch_gateway(conf, {} if verbose else {"stdout": log, "stderr": log})
        except PySparkRuntimeError as error:
            raise _failed(error, _complaint(start)) from error


class _ToLog(logging.Filter):
    """What py4j says at length when Java is gone goes to the log; it uses the root logger, too."""

    def filter(self, record: logging.LogRecord) -> bool:
        if "py4j" not in record.pathname:
            return True
        with log_file().open("a", encoding="utf-8") as log:
            print(logging.Formatter().format(record), file=log)
        return False


_TO_LOG: Final = _ToLog()
_TALKERS: Final = (None, "py4j.clientserver", "py4j.java_gateway")


def _end(gateway: Any) -> None:
    """Ends the Java process behind a gateway, politely at first."""
    from pyspark import SparkContext

    SparkContext._gateway = SparkContext._jvm = None
    with java_may_be_gone("closing the gateway"):
        gateway.shutdown()
    if (process := gateway.proc) is None:
        return
    # Java ends when its standard input does.
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        LOG.warning("Java did not end within %g s, and was killed", PATIENCE)
        process.kill()
        process.wait()


@contextmanager
def _limited(gateway: Any) -> Iterator[None]:
    """A Java that no longer answers is ended, so that nobody waits for it for ever."""
    timer = threading.Timer(PATIENCE, gateway.proc.kill if gateway.proc else lambda: None)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Spark takes Ctrl-C for itself; it is given back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Variables that a process is started with; they are not left behind."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER):
            return True
    except (OSError, ValueError):
        return False


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _failed(error: Exception, complaint: str = "") -> FailedError:
    java = getattr(error, "java_exception", None)
    reason = complaint or (java.getMessage() if java is not None else None) or str(error)
    help_ = f"the log is `{log_file()}`; `--verbose` shows it"
    return FailedError(Diagnostic("E407", f"Spark did not start: {reason.strip().splitlines()[0]}", help=help_))


def _complaint(start: int) -> str:
    """The first reason that the log names behind a place."""
    text = log_file().read_bytes()[start:].decode(errors="replace")
    match = re.search(r"(?:Exception|Error)\b[^:\n]*: (.+)", text)
    return match.group(1) if match else ""
