"""A model of a cluster: what figures of one machine say of many. Nothing of it was measured on a cluster.

A batch begins every ten seconds. It takes what it takes once, and then its facts: those pass through the driver's
Python one after the other, and through Java and workers on all cores of all executors at once. Left out are the
network, facts whose keys are not spread evenly, and a driver with so many tasks that handing them out takes long.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thalweg.bench.spark_batches import BatchCost
from thalweg.bench.spark_costs import CostOfFact

EXECUTORS: Final = (1, 2, 5, 10, 20, 50, 100)
CORES: Final = 4
_EVERY: Final = 10.0


@dataclass(frozen=True, slots=True)
class ModelledCluster:
    """A model, not a measurement: facts a second that executors of four cores would keep up with."""

    program: str
    source: str
    executors: int
    batch_s: float
    facts_per_s: float
    limit: str


def modelled(cost: CostOfFact, batch: float) -> list[ModelledCluster]:
    """Facts a second by the number of executors, where a batch takes some seconds whatever it brings.

    >>> cost = CostOfFact("join", "Parquet", 1, driver_us=0.1, java_us=3.0, workers_us=3.0, spark_us=6.1,
    ...                   embedded_us=4.0, start_s=9.0)
    >>> [(one.executors, round(one.facts_per_s), one.limit) for one in modelled(cost, batch=1.0)][::3]
    [(1, 600000, 'executors'), (10, 6000000, 'executors'), (100, 9000000, 'driver')]
    """
    found = []
    for executors in EXECUTORS:
        shared = (cost.java_us + cost.workers_us) / (executors * CORES)
        slowest = max(cost.driver_us, shared)
        rate = (1 - batch / _EVERY) * 1e6 / slowest
        limit = "executors" if shared >= cost.driver_us else "driver"
        found.append(ModelledCluster(cost.program, cost.source, executors, batch, rate, limit))
    return found


def batch_seconds(measured: Sequence[BatchCost]) -> float:
    """What a batch takes before its facts: what it costs once, and for one bucket, which each core has.

    >>> shapes = [BatchCost(2, n, 1, 0.0, 0.0, 0.0, 0.5 + 0.1 * n, 0.0, 1.0) for n in (2, 8)]
    >>> round(batch_seconds(shapes), 3)
    0.6
    """
    each, once = np.polyfit([cost.buckets for cost in measured], [cost.batch_s for cost in measured], 1)
    return float(max(0.0, once) + max(0.0, each))
