"""The settings of a session: those that a run cannot do without, those that make it fast, and those of users.

What users set always counts. Where a session is open already, only what answers and recovery depend on is set in it.
"""

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

import thalweg
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.runtimes.spark.available_now import WRAPPED
from thalweg.runtimes.spark.java import cache_directory
from thalweg.runtimes.spark.packages import fetched_packages, format_settings
from thalweg.runtimes.spark.query_settings import EXECUTION, NO_DATA, QUERY_SETTINGS, STREAMING

LOCAL: Final = "local[*]"
# How long a master may take to answer.
ANSWER: Final = 5.0
# Spark gives up at the first failure on one machine: a process may be lost there, too. As often as on a cluster.
ATTEMPTS: Final = 4
# The name of the folder into which an archive is unpacked.
UNPACKED: Final = "environment"

SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
PYTHON: Final = "spark.pyspark.python"

# For checkpoints on a local disk; the manager that Spark would choose asks the shell about every file.
LOCAL_DISK: Final = {
    f"{STREAMING}.checkpointFileManagerClass": f"{EXECUTION}.checkpointing.FileSystemBasedCheckpointFileManager",
}
# A session on this machine only: no other machine has to find it, and its name need not be looked up.
LOOPBACK: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    # Workers are forked from a process that has imported what they need. On a cluster Spark's own says more where an
    # executor has no Thalweg.
    "spark.python.daemon.module": "thalweg.runtimes.spark.worker_daemon",
}
# What queries of a run need; it can be set while a session is open.
NEEDED: Final = {
    **QUERY_SETTINGS,
    # Partitions have state: none may be merged away.
    "spark.sql.adaptive.enabled": "false",
    # Operators with state never have short tracebacks. If others did, they would have processes of their own.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Heartbeats carry the time; a batch without data would do nothing.
    NO_DATA: "false",
    WRAPPED: "true",
}
# What a context needs; it can be set before it is there.
STARTED: Final = {
    # Functions carry a job with Spark Connect only. A large one would be broadcast, and the process that starts an
    # operator does not get what is broadcast.
    "spark.broadcast.UDFCompressionThreshold": str(1 << 30),
    "spark.python.unix.domain.socket.enabled": "true",
    # The live engine stays in its worker from batch to batch.
    "spark.python.worker.reuse": "true",
}
TUNED: Final = {
    **STARTED,
    **NEEDED,
    "spark.app.name": "thalweg",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # What is kept of finished batches must not grow with the run.
    f"{STREAMING}.numRecentProgressUpdates": "20",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
}
# Lists that users and a run both add to.
_ADDED: Final = {
    "spark.jars": ",",
    "spark.jars.packages": ",",
    "spark.jars.excludes": ",",
    "spark.sql.extensions": ",",
    "spark.archives": ",",
    "spark.driver.extraJavaOptions": " ",
}


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What users say of the session of a run: a master, settings, jars, and an archive with a Python environment.

    `formats` are those that a run reads or writes and Spark does not bring (see `packages`).
    """

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    jars: tuple[str, ...] = ()
    archive: str | None = None
    formats: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The master, by default this machine."""
        return self.conf.get("spark.master") or self.master or LOCAL

    @property
    def settings(self) -> dict[str, str]:
        """The options as settings of Spark.

        >>> SessionOptions("yarn", {"spark.jars": "a.jar"}, ("b.jar",), "env.tar.gz").settings
        {'spark.jars': 'b.jar,a.jar', 'spark.archives': 'env.tar.gz#environment'}
        """
        own = {"spark.jars": ",".join(self.jars), "spark.archives": self._archive}
        return combined({**{key: value for key, value in own.items() if value}, **self._packages}, self.conf)

    @property
    def _packages(self) -> dict[str, str]:
        # Users who name jars have chosen their own.
        stated = bool(self.jars) or any(key in self.conf for key in ("spark.jars", "spark.jars.packages"))
        fetched = {} if stated else fetched_packages(self.formats, version("pyspark"))
        return {**format_settings(self.formats), **fetched}

    @property
    def _archive(self) -> str:
        return "" if self.archive is None else self.archive if "#" in self.archive else f"{self.archive}#{UNPACKED}"

    @property
    def unpacked_python(self) -> str | None:
        """The Python of the archive, as executors see it.

        >>> SessionOptions("yarn", archive="city.tar.gz#city").unpacked_python
        './city/bin/python'
        """
        return f"./{self._archive.rpartition('#')[2]}/bin/python" if self.archive else None

    def check(self) -> None:
        """`RejectedError` where options do not go together, `FailedError` where a master does not answer."""
        check_master(self.place)
        if self.archive is not None and is_local(self.place):
            message = f"`--archive` ships an environment to other machines, and `{self.place}` is this one"
            raise RejectedError([Diagnostic("E403", message, help="leave it out, or name a cluster with `--master`")])


def read_settings(texts: Iterable[str]) -> dict[str, str]:
    """Settings as they are typed; `ValueError` where one is written in another way.

    >>> read_settings(["spark.executor.memory=4g", "spark.ui.enabled=false"])
    {'spark.executor.memory': '4g', 'spark.ui.enabled': 'false'}
    """
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip().startswith("spark."):
            raise ValueError(f"`{text}` is not a setting of Spark: write `--conf spark.executor.memory=4g`")
        settings[key.strip()] = value.strip()
    return settings


def combined(own: Mapping[str, str], users: Mapping[str, str]) -> dict[str, str]:
    """Settings of both; those of users count, and lists have the entries of both.

    >>> combined({"spark.jars": "a.jar", "spark.ui.enabled": "false"}, {"spark.jars": "b.jar"})
    {'spark.jars': 'a.jar,b.jar', 'spark.ui.enabled': 'false'}
    """
    lists = {
        key: f"{own[key]}{separator}{users[key]}" for key, separator in _ADDED.items() if own.get(key) and key in users
    }
    return {**own, **users, **lists}


def settings(options: SessionOptions, partitions: int, verbose: bool = False) -> dict[str, str]:
    """Everything that is set for a session of our own.

    >>> settings(SessionOptions("local[2]", {"spark.ui.enabled": "true"}), 4)["spark.sql.shuffle.partitions"]
    '4'
    """
    own = {
        **TUNED,
        **(LOOPBACK | LOCAL_DISK if is_local(options.place) else {}),
        SHUFFLE_PARTITIONS: str(partitions),
        "spark.ui.enabled": str(verbose).lower(),
        "spark.sql.warehouse.dir": f"file:{cache_directory() / 'warehouse'}",
        **_python_path(options),
    }
    return {**combined(own, options.settings), "spark.master": patient(options.place)}


def submitted_settings(options: SessionOptions, partitions: int, theirs: Mapping[str, str]) -> dict[str, str]:
    """What is set for a session in a Java that was started with settings of its own, which count before ours."""
    own = {**STARTED, **NEEDED, SHUFFLE_PARTITIONS: str(partitions), **_python_path(options)}
    master = {} if options.master is None else {"spark.master": patient(options.master)}
    return combined({key: value for key, value in own.items() if key not in theirs}, options.settings) | master


def _python_path(options: SessionOptions) -> dict[str, str]:
    """Where executors on machines with the same folders find this package; an archive has its own."""
    return {} if options.archive else {"spark.executorEnv.PYTHONPATH": str(Path(thalweg.__file__).parents[1])}


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


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER):
            return True
    except (OSError, ValueError):
        return False
