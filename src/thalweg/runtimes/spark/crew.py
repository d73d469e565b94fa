"""Answer sets on Spark: the pieces and buckets of a window are tasks of a job, solved wherever there is room.

Windows are made here, where the streams come in and the answers go out, so that a window is answered once and in order,
whatever becomes of executors on the way: Spark tries a lost task again. A task holds all that is needed to solve it, so
executors keep nothing. There, too, clingo works in a process of its own, which is replaced when it has seen enough.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from thalweg.connectors.interrupt import Interrupted
from thalweg.diagnostics import Diagnostic, Failed
from thalweg.runtimes.spark.run import failure
from thalweg.runtimes.spark.session import need_spark, open_session, stop_session
from thalweg.solvers.clingo import Solved, Task
from thalweg.solvers.crew import Crew

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkCrew:
    """The executors of a Spark session of our own, which is opened with the first window."""

    def __init__(self, master: str | None, partitions: int, *, verbose: bool = False, jars: Sequence[str] = ()) -> None:
        need_spark()
        self._open = partial(open_session, master, partitions, verbose=verbose, jars=jars)
        self._session: SparkSession | None = None
        self._partitions = partitions

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        """What the tasks give, in their order."""
        if not tasks:
            return []
        if self._session is None:
            self._session = self._open()
        slices = min(len(tasks), self._partitions)
        try:
            found = self._session.sparkContext.parallelize(tasks, slices).map(_solve).collect()
        except Interrupted:
            raise
        except Exception as error:
            raise failure(error) from error
        for one in found:
            if isinstance(one, Diagnostic):
                raise Failed(one)
        return [one for one in found if isinstance(one, Solved)]

    def close(self) -> None:
        """Ends the session."""
        if self._session is not None:
            stop_session(self._session)


@cache
def _crew() -> Crew:
    """One process beside each worker; it ends with it."""
    return Crew(1)


def _solve(task: Task) -> Solved | Diagnostic:
    try:
        return _crew().solve([task])[0]
    except Failed as error:
        return error.diagnostic
