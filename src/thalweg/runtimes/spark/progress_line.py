"""How a long run on Spark is doing: one line on a terminal's standard error, and nothing anywhere else.

What it shows is read from the progress that Spark reports after each batch.
"""

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from rich.live import Live

Progress = Mapping[str, Any]

PATIENCE: Final = 2.0
PAUSE: Final = 0.5


class ProgressLine(AbstractContextManager["ProgressLine"]):
    """Shows itself when a run has lasted long enough to wonder, unless the answers go to the same terminal."""

    def __init__(self, query: "StreamingQuery", answers_on_terminal: bool) -> None:
        self._query = query
        self._silent = answers_on_terminal or not sys.stderr.isatty()
        self._begun = monotonic()
        self._due = self._begun + PATIENCE
        self._shown: Live | None = None

    def beat(self, watermark: int | None = None, facts: int = 0, behind: int = 0) -> None:
        """Called often; does something now and then. `facts` have been read, and ticks are `behind` what was read."""
        if self._silent or (moment := monotonic()) < self._due:
            return
        self._due = moment + PAUSE
        if (progress := self._query.lastProgress) is not None:
            self._shown = self._shown or self._show()
            rate = facts / (moment - self._begun)
            self._shown.update(line(progress, watermark, rate, behind), refresh=True)

    def close(self) -> None:
        """Takes the line away."""
        if self._shown:
            self._shown.stop()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _show(self) -> "Live":
        from rich.console import Console
        from rich.live import Live

        # What others print goes where they sent it: the answers may be on their way into a file.
        shown = Live(
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        shown.start()
        return shown


def line(progress: Progress, watermark: int | None = None, rate: float = 0.0, behind: int = 0) -> str:
    """The progress of a query as one line of text.

    >>> line({"batchId": 5, "durationMs": {"triggerExecution": 728}}, watermark=41, rate=1374.2, behind=3)
    'batch 5 · 1,374 rows/s · watermark 41 · state 0 rows, 0 bytes · lag 3 ticks, 0.7 s a batch'
    """
    from rich.filesize import decimal

    parts = [f"batch {progress['batchId']}", f"{rate:,.0f} rows/s"]
    if watermark is not None:
        parts.append(f"watermark {watermark}")
    parts.append(f"state {state_rows(progress):,} rows, {decimal(state_bytes(progress))}")
    return " · ".join([*parts, f"lag {behind} ticks, {seconds(progress):.1f} s a batch"])


def state_rows(progress: Progress) -> int:
    """How many records all state stores hold.

    >>> state_rows({"stateOperators": [{"numRowsTotal": 14}, {"numRowsTotal": 2}]})
    16
    """
    return sum(operator["numRowsTotal"] for operator in progress.get("stateOperators", ()))


def state_bytes(progress: Progress) -> int:
    """How many bytes all state stores take, in memory and in the files of RocksDB.

    >>> state_bytes({"stateOperators": [{"memoryUsedBytes": 100, "customMetrics": {"rocksdbSstFileSize": 20}}]})
    120
    """
    return sum(
        operator["memoryUsedBytes"] + operator.get("customMetrics", {}).get("rocksdbSstFileSize", 0)
        for operator in progress.get("stateOperators", ())
    )


def seconds(progress: Progress) -> float:
    """From when a batch takes its rows to when their answers are delivered.

    >>> seconds({"durationMs": {"triggerExecution": 728}})
    0.728
    """
    return float(progress.get("durationMs", {}).get("triggerExecution", 0)) / 1_000
