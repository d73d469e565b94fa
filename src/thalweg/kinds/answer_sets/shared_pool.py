"""Processes of clingo beside one of Spark's: all operators of the process share them."""

import atexit
import os
from collections.abc import Sequence
from functools import cache

from thalweg.dataflow.context import Context
from thalweg.kinds.answer_sets.solving import Solvers
from thalweg.solvers.clingo import Solved, Task
from thalweg.solvers.pool import SolverPool


class SharedPool:
    """Solves by processes that end with this one, not with an operator."""

    def __init__(self, pool: SolverPool) -> None:
        self._pool = pool

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        return self._pool.solve(tasks)

    def close(self) -> None:
        """Leaves the processes to the other operators."""


def pool_of(context: Context) -> Solvers | None:
    """The processes that operators of a run share; None where an operator has processes of its own."""
    return SharedPool(_solver_pool()) if context.in_columns else None


@cache
def _solver_pool() -> SolverPool:
    pool = SolverPool(os.cpu_count() or 1)
    atexit.register(pool.close)
    return pool
