"""The Spark session of a run: one that is open, one in a Java that `spark-submit` started, or one of our own.

    a session is open            it is used, with the few settings that a run needs; they are put back, and it stays
    started by spark-submit      it is opened with the settings of that command, and ours where it has none
    neither                      Java is started, tuned for reasoning, quiet, and gone when the run is over

Everything that our Java and its Python workers say goes to a log file: it is started with its output redirected, so
nothing has to be configured away.
"""

import atexit
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, WeakSet

from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.runtimes.spark.java import cache_directory, find_java
from thalweg.runtimes.spark.session_settings import (
    NEEDED,
    PYTHON,
    SHUFFLE_PARTITIONS,
    SessionOptions,
    check_master,
    is_local,
    patient,
    settings,
    submitted_settings,
)
from thalweg.runtimes.spark.startup import SHORT, ClassArchive, linked_home

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

_PACKAGES: Final = ("pyspark", "pandas", "google.protobuf")
LOGS_KEPT: Final = 10
# How long Java may take to end by itself, and a cluster to start an executor.
PATIENCE: Final = 20.0
EXECUTORS: Final = 30.0

LOG: Final = logging.getLogger("thalweg.spark")
# In the environment of Java and of all processes that it starts: a process that lost its parent is still found.
MARK: Final = "THALWEG_SPARK"
_MINE: Final = token_hex(16)
# There where `spark-submit` has started this process.
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"

# The sessions whose Java was started here, with the archive that it reads, or lists classes for.
_OWN: Final[WeakKeyDictionary["SparkSession", ClassArchive | None]] = WeakKeyDictionary()
# Those that were opened here in a Java of somebody else.
_OPENED: Final[WeakSet["SparkSession"]] = WeakSet()
# Settings of sessions that were open, as they were before.
_BORROWED: Final[WeakKeyDictionary["SparkSession", dict[str, str | None]]] = WeakKeyDictionary()


def open_session(
    master: str | None,
    partitions: int,
    *,
    verbose: bool = False,
    jars: Sequence[str] = (),
    conf: Mapping[str, str] | None = None,
    archive: str | None = None,
    formats: Sequence[str] = (),
    short: bool = False,
) -> "SparkSession":
    """The session that is open in this process, or a new one; `conf` has the last word.

    A new one gets the packages of `formats`, unless jars are named. Where Java is started for it, a `short` session is
    not worth optimising.

    >>> open_session("nonsense", 2)
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E403]: `nonsense` is not the address of a Spark master
      help: write `local[2]` for this machine, or `spark://host:7077`
    """
    options = SessionOptions(master, conf or {}, tuple(jars), archive, tuple(formats))
    if master is not None:
        check_master(master)
    if (session := _open_already()) is not None:
        return _borrowed(session, options, partitions)
    if _SUBMITTED in os.environ:
        need_spark()
        return _submitted(options, partitions)
    options.check()
    need_spark()
    return _own(options, partitions, verbose, short)


def _own(options: SessionOptions, partitions: int, verbose: bool, short: bool) -> "SparkSession":
    """A session in a Java of our own."""
    java, home = find_java(), _spark_home(options.place)
    archive = ClassArchive.of(java, home)
    chosen = settings(options, partitions, verbose)
    python, users = worker_python(options), options.conf.get("spark.driver.extraJavaOptions", "")
    folder = _beside_python(python) if python == options.unpacked_python else None
    own = (SHORT if short else "", archive.options if archive else "", _seen_from_here(folder), users)
    chosen["spark.driver.extraJavaOptions"] = " ".join(filter(None, own))
    if not is_local(options.place):
        # On another machine this home does not exist; that serves as well, because all it has to do is lack the zip.
        chosen.setdefault("spark.executorEnv.SPARK_HOME", str(home))
    session = _start(chosen, verbose, python, folder, JAVA_HOME=str(java.home), SPARK_HOME=str(home))
    _OWN[session] = archive
    if not is_local(options.place):
        threading.Thread(target=_await_executors, args=(session, chosen), name="executors", daemon=True).start()
    # Java would notice by itself that we are gone, but only after us.
    atexit.register(stop_session, session)
    return session


def _await_executors(session: "SparkSession", chosen: Mapping[str, str]) -> None:
    """Warns where a cluster gives no executor: Spark would wait for one without a word."""
    time.sleep(EXECUTORS)
    with java_may_be_gone("counting executors"):
        # The driver is among them.
        if session in _OWN and session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:
            memory, cores = chosen.get("spark.executor.memory", "1g"), chosen.get("spark.executor.cores", "all")
            LOG.warning("%s", no_executor(memory, cores).render())


def no_executor(memory: str, cores: str) -> Diagnostic:
    """What to say where no executor has come.

    >>> no_executor("4g", "2").message
    'the cluster has not started an executor within 30 s, and the run waits for one: ...'
    """
    wish = f"{memory} of memory and {cores} cores"
    waited = f"the cluster has not started an executor within {EXECUTORS:g} s"
    message = f"{waited}, and the run waits for one: it asks for {wish}"
    help_ = "ask for what a worker has: `--conf spark.executor.memory=1g`, `--conf spark.executor.cores=1`"
    return Diagnostic("W407", message, help=help_)


def stop_session(session: "SparkSession") -> None:
    """Ends a session that was opened here, and its Java if that was started here: no process is left.

    One that was open before gets its settings back, and stays open. Ending a session twice does no harm.
    """
    if session in _BORROWED:
        _put_back(session)
    elif session in _OPENED:
        _OPENED.discard(session)
        with java_may_be_gone("stopping the session"):
            session.stop()
    elif session in _OWN:
        _stop_own(session)


def _stop_own(session: "SparkSession") -> None:
    from pyspark import SparkContext

    atexit.unregister(stop_session)
    archive, class_path = _OWN[session], ""
    if (gateway := SparkContext._gateway) is not None:
        with _limited(gateway):
            with java_may_be_gone("reading the class path"):
                class_path = gateway.jvm.System.getProperty("java.class.path")
            with java_may_be_gone("stopping the session"), warnings.catch_warnings():
                # Where Java was killed on purpose, PySpark would warn that it has crashed.
                warnings.simplefilter("ignore", RuntimeWarning)
                session.stop()
        _end(gateway)
        if archive is not None and class_path:
            archive.make(class_path)
    # While Java is being stopped it is still ours to kill.
    _OWN.pop(session, None)


def can_start_java() -> bool:
    """Whether a session that is opened now would be one in a Java of our own, with all that it needs installed."""
    if _SUBMITTED in os.environ or any(not _installed(name) for name in _PACKAGES):
        return False
    return "pyspark" not in sys.modules or _open_already() is None


# A session that is open ---------------------------------------------------------------------------------------------


def _open_already() -> "SparkSession | None":
    """The session that is open in this process; `RejectedError` where it is one of Spark Connect."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    if is_remote():
        message = "`run` reads streams and writes answers in this process, which a session of Spark Connect cannot"
        raise RejectedError([Diagnostic("E403", message, help="pass its DataFrames to `thalweg.spark.reason`")])
    return None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()


def running_settings() -> dict[str, str]:
    """The settings of the session that a run would use: an open one, or that of `spark-submit`; none for our own."""
    if "pyspark" in sys.modules:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._active_spark_context is not None:
            return dict(SparkSession.builder.getOrCreate().conf.getAll)
    if _SUBMITTED not in os.environ:
        return {}
    from pyspark import SparkConf

    try:
        return dict(SparkConf(_jvm=_submitted_gateway().jvm).getAll())
    except java_errors():
        # What is wrong with that Java is reported where the session is opened.
        return {"spark.master": "spark-submit"}


def _borrowed(session: "SparkSession", options: SessionOptions, partitions: int) -> "SparkSession":
    """An open session with the settings of a run; `RejectedError` where options ask for another session."""
    for option, value in _unchangeable(session, options):
        message = f"a Spark session is open in this process, and it cannot have `{option}` `{value}` any more"
        way_out = "set it where the session is opened, or stop the session first"
        raise RejectedError([Diagnostic("E403", message, help=way_out)])
    before: dict[str, str] = session.conf.getAll
    wanted = {**NEEDED, SHUFFLE_PARTITIONS: str(partitions), **options.conf}
    borrowed = _BORROWED.setdefault(session, {})
    borrowed |= {key: before.get(key) for key in wanted if key not in borrowed}
    for key, value in wanted.items():
        session.conf.set(key, value)
    return session


def _unchangeable(session: "SparkSession", options: SessionOptions) -> Iterator[tuple[str, str]]:
    """Options, with their values, that a session can only be opened with."""
    master = session.sparkContext.master
    if options.master is not None and master not in (options.master, patient(options.master)):
        yield "--master", options.master
    yield from (("--jar", jar) for jar in options.jars)
    if options.archive is not None:
        yield "--archive", options.archive
    for key, value in options.conf.items():
        if not session.conf.isModifiable(key):
            yield "--conf", f"{key}={value}"


def _put_back(session: "SparkSession") -> None:
    for key, value in _BORROWED.pop(session).items():
        with java_may_be_gone("putting settings back"):
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


# A Java that was started by spark-submit ----------------------------------------------------------------------------


def _submitted(options: SessionOptions, partitions: int) -> "SparkSession":
    """A session in the Java that started this process, with the settings that it was started with."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    with _own_signals():
        gateway = SparkContext._gateway or _submitted_gateway()
        theirs = SparkConf(_jvm=gateway.jvm)
        submitted = dict(theirs.getAll())
        for key, value in submitted_settings(options, partitions, submitted).items():
            theirs.set(key, value)
        try:
            with _environment(PYSPARK_PYTHON=worker_python(options, submitted)):
                SparkContext(conf=theirs, gateway=gateway)
            session = SparkSession.builder.getOrCreate()
        except Exception as error:
            raise _failed(error, help_="the log of `spark-submit` has more") from error
    _OPENED.add(session)
    return session


@cache
def _submitted_gateway() -> Any:
    """The way to the Java that started this process."""
    from pyspark.java_gateway import launch_gateway

    return launch_gateway()


# A Java of our own --------------------------------------------------------------------------------------------------


def worker_python(options: SessionOptions, submitted: Mapping[str, str] | None = None) -> str:
    """The Python of workers: what a setting names, else the variable PYSPARK_PYTHON, the archive's, or this one."""
    stated = options.conf.get(PYTHON) or (submitted or {}).get(PYTHON) or os.environ.get("PYSPARK_PYTHON")
    return stated or options.unpacked_python or sys.executable


def _beside_python(python: str) -> Path:
    """A folder in which the Python of an archive is this one.

    Executors start the Python that they have unpacked, and the driver's Java one of the same path for each stateful
    operator, although nothing is unpacked there.
    """
    folder = Path(tempfile.mkdtemp(prefix="thalweg-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = folder / python
    script.parent.mkdir(parents=True)
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return folder


def _seen_from_here(folder: Path | None) -> str:
    """The option of a Java that is started in another folder, with which paths are still those of this one."""
    return "" if folder is None else shlex.quote(f"-Duser.dir={Path.cwd()}")


def kill_processes() -> None:
    """Kills every process of Spark that this process has started, and those that they have started."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    processes = set(_marked()) if Path("/proc/self/environ").exists() else set()
    # Elsewhere Java's own end has to be enough: the others notice it.
    if _OWN and gateway is not None and gateway.proc is not None and gateway.proc.poll() is None:
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


def _spark_home(master: str) -> Path:
    from pyspark.find_spark_home import _find_spark_home

    home = Path(_find_spark_home())
    # On YARN and Kubernetes, Spark takes the zip from its home and sends it to the executors.
    return linked_home(home) if is_local(master) or master.startswith(("spark://", "local-cluster")) else home


def need_spark() -> None:
    """Refuses to go on where Spark is not installed."""
    absent = [name for name in _PACKAGES if not _installed(name)]
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


def log_hint() -> str:
    """Where to read on: in the log of our Java, or in that of a session that is not ours."""
    return f"the log is `{log_file()}`" if _OWN else "the log of Spark has more"


def log_error(doing: str) -> None:
    """Writes the error that is being handled to the log, where it must not change how a run ends."""
    with log_file().open("a", encoding="utf-8") as log:
        print(f"thalweg: an error while {doing}", traceback.format_exc(), sep="\n", file=log)


def java_errors() -> tuple[type[Exception], ...]:
    """What a call of Java raises where it fails there, or where Java has ended; Spark Connect has no Java here."""
    from pyspark.errors import PySparkException

    if find_spec("py4j") is None:
        return PySparkException, OSError
    from py4j.protocol import Py4JError

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


def _start(chosen: dict[str, str], verbose: bool, python: str, folder: Path | None, **places: str) -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    for key, value in chosen.items():
        conf.set(key, value)
    with _own_signals(), _environment(PYSPARK_PYTHON=python, PYSPARK_DRIVER_PYTHON=sys.executable):
        gateway = SparkContext._gateway or _launch(conf, verbose, folder, places)
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


def _launch(conf: "SparkConf", verbose: bool, folder: Path | None, places: dict[str, str]) -> Any:
    from pyspark.java_gateway import launch_gateway

    # The process that only puts the command together ends at once.
    environment = {MARK: _MINE, **places, "SPARK_LAUNCHER_OPTS": SHORT}
    if not verbose:
        for name in _TALKERS:
            logging.getLogger(name).addFilter(_TO_LOG)
    with _environment(**environment), log_file().open("ab") as log:
        start = log.tell()
        try:
            return launch_gateway(conf, {"cwd": folder, **({} if verbose else {"stdout": log, "stderr": log})})
        except BaseException as error:
            _end_launched(error)
            if isinstance(error, java_errors()):
                raise _failed(error, _complaint(start)) from error
            raise


def _end_launched(error: BaseException) -> None:
    """Ends a Java that PySpark has launched and not reached: it has left the process, and the pipe to it, to nobody."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        process = frame.f_locals.get("proc")
        if isinstance(process, subprocess.Popen):
            process.kill()
            process.communicate()


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


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _failed(error: Exception, complaint: str = "", help_: str = "") -> FailedError:
    java = getattr(error, "java_exception", None)
    reason = complaint or (java.getMessage() if java is not None else None) or str(error)
    help_ = help_ or f"the log is `{log_file()}`; `--verbose` shows it"
    return FailedError(Diagnostic("E407", f"Spark did not start: {reason.strip().splitlines()[0]}", help=help_))


def _complaint(start: int) -> str:
    """The first reason that the log names behind a place."""
    text = log_file().read_bytes()[start:].decode(errors="replace")
    match = re.search(r"(?:Exception|Error)\b[^:\n]*: (.+)", text)
    return match.group(1) if match else ""
