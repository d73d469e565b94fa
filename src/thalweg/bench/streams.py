"""What is measured on Spark: programs, and streams of numbers for them, recorded as one Parquet file for each batch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from thalweg.bench.workload import DIAMOND, JOIN, Values, fresh_pairs, meeting_pairs

WINDOW: Final = 80
RATE: Final = 800
"""Facts a tick."""

COLUMNS: Final = "a long, b long, t long"
_CARS, _ROADS, _WAY = 1_000_000, 300, 3


@dataclass(frozen=True, slots=True)
class Stream:
    """A program, and pairs for the one predicate that it reads, tick after tick."""

    name: str
    predicate: str
    rules: str
    pairs: Callable[[], Iterator[Values]]


def _sightings() -> Iterator[Values]:
    """Any of a million cars on any of the roads."""
    random = np.random.default_rng(RATE)
    while True:
        yield np.column_stack((random.integers(0, _CARS, RATE), random.integers(0, _ROADS, RATE)))


def _ways() -> str:
    """Roads in short one-way chains: 0 → 1 → 2, 3 → 4 → 5, …"""
    return " ".join(f"next({road},{road + 1})." for road in range(_ROADS) if (road + 1) % _WAY)


ONE: Final = Stream("diamond", "p", DIAMOND.rules(WINDOW), lambda: fresh_pairs(WINDOW, RATE))
# Pairs that meet a partner in one of four windows: an answer for each, that it began or that it ended.
KEYED: Final = Stream(
    "join",
    "p",
    f"q(A,B,C) :- p(A,B) in [{WINDOW}], p(B,C) in [{WINDOW}].",
    lambda: meeting_pairs(4 * WINDOW + 3, RATE),
)
# Four answers for each pair, and they do not say where they met, so that they have to be merged.
DENSE: Final = Stream("dense join", "p", JOIN.rules(WINDOW), lambda: meeting_pairs(WINDOW, RATE))
CHAIN: Final = Stream(
    "closure", "seen", f"at(C,R) :- seen(C,R) in [20]. at(C,S) :- at(C,R), next(R,S). {_ways()}", _sightings
)


def record(stream: Stream, folder: Path, files: int, rows: int) -> list[Path]:
    """Writes a stream to files of so many rows each; no tick is in two of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    assert rows % RATE == 0, "a file holds whole ticks"
    pairs, ticks = stream.pairs(), rows // RATE
    found = []
    for number in range(files):
        values = np.concatenate(list(islice(pairs, ticks)))
        time = np.repeat(np.arange(number * ticks, (number + 1) * ticks), RATE)
        found.append(folder / f"{number:04}.parquet")
        pq.write_table(pa.table({"a": values[:, 0], "b": values[:, 1], "t": time}), found[-1])
    return found
