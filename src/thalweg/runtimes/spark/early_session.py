"""A session that is opened while programs are read and compiled: Java takes as long for its start as they do.

    import, read, compile      │ then the query, by the session
    start Java, open a session │ start the process that forks workers

Only a session in a Java of our own on this machine is opened early, where nothing that is read or written needs a
package of Spark. What does not come to a query, because a program is rejected, leaves no process behind.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from thalweg.connectors.lake import is_lake
from thalweg.runtimes.spark import shutdown
from thalweg.runtimes.spark.partition_count import usual_partitions
from thalweg.runtimes.spark.session import (
    can_start_java,
    java_may_be_gone,
    kill_processes,
    open_session,
    stop_session,
)
from thalweg.runtimes.spark.session_settings import LOCAL, SHUFFLE_PARTITIONS, is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class EarlyOptions:
    """What is known of a session before anything is read."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    jars: tuple[str, ...] = ()
    archive: str | None = None
    verbose: bool = False
    short: bool = False
    partitions: int | None = None

    @property
    def _settings(self) -> dict[str, str]:
        return {"spark.master": self.master or LOCAL, **self.conf}

    def suffice(self, sources: Iterable[str]) -> bool:
        """Whether a session can be opened for a run with these sources and sinks, before they are looked at.

        >>> EarlyOptions("spark://host:7077").suffice(["readings.csv"])
        False
        """
        named = [*sources]
        is_here = is_local(self._settings["spark.master"]) and can_start_java()
        return is_here and not any(is_lake(name) or name.startswith("kafka:") for name in named)

    def open(self) -> "SparkSession":
        return open_session(
            self.master,
            self.partitions or usual_partitions(self._settings),
            verbose=self.verbose,
            jars=self.jars,
            conf=self.conf,
            archive=self.archive,
            short=self.short,
        )


class EarlySession(AbstractContextManager["EarlySession"]):
    """A session that a thread opens; at the end of a `with` one that was not taken is stopped."""

    def __init__(self, options: EarlyOptions) -> None:
        # Modules of Spark import each other: two threads must not do so at the same time.
        import pyspark.sql  # noqa: F401

        self._options = options
        self._session: Future[SparkSession] = Future()
        self._over = Event()
        self._is_taken = False
        Thread(target=self._open, name="early session", daemon=True).start()

    def _open(self) -> None:
        try:
            session = self._options.open()
        except BaseException as error:
            self._session.set_exception(error)
        else:
            self._session.set_result(session)
            _fork_workers(session)
        finally:
            self._over.set()

    def take(self, partitions: int) -> "SparkSession":
        """The session, when it is open, for a run with some partitions; what went wrong with it is raised here."""
        self._is_taken = True
        session = self._session.result()
        if SHUFFLE_PARTITIONS not in self._options.conf:
            session.conf.set(SHUFFLE_PARTITIONS, partitions)
        return session

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._is_taken:
            return
        # After a signal the end has a limit; a program that was rejected keeps its exit code.
        gone = monotonic() + shutdown.GONE if kind is KeyboardInterrupt else float("inf")
        # Again and again: the thread may be about to start another process.
        while not self._over.wait(_PAUSE):
            kill_processes()
            if monotonic() > gone:
                shutdown.leave_by_force()
        if self._session.exception() is None:
            with java_may_be_gone("stopping a session that was not needed"):
                stop_session(self._session.result())


def _fork_workers(session: "SparkSession") -> None:
    """Has Spark start the process that forks workers, and a first one of these."""
    with java_may_be_gone("starting workers"):
        session.range(0, 1, 1, 1).mapInArrow(partial(_unchanged), "id long").collect()


def _unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    return batches
