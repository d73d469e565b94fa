"""What is read from a progress that Spark reported, and when it is shown."""

import io
import json
import re
import sys
from typing import Any

import pytest

from thalweg.runtimes.spark import progress_line
from thalweg.runtimes.spark.progress_line import ProgressLine, line, seconds, state_bytes, state_rows

# Of a stateful query over files, as PySpark 4.3 reported it; metrics that were 0 are left out.
RECORDED: dict[str, Any] = json.loads("""
{"id": "c27cac33-4499-43e8-b7c1-ae019d4163c4", "runId": "8eeb0511-a621-4487-8f5d-a25d8a494fbe", "name": null,
 "timestamp": "2026-11-16T00:56:48.716Z", "batchId": 5, "batchDuration": 728, "numInputRows": 100,
 "inputRowsPerSecond": 50.8, "processedRowsPerSecond": 137.4,
 "durationMs": {"addBatch": 501, "commitOffsets": 41, "getBatch": 33, "latestOffset": 49, "queryPlanning": 67,
                "triggerExecution": 728, "walCommit": 36},
 "stateOperators": [
   {"operatorName": "transformWithStateInPySparkExec", "numRowsTotal": 14, "numRowsUpdated": 4, "allUpdatesTimeMs": 463,
    "numRowsRemoved": 0, "allRemovalsTimeMs": 0, "commitTimeMs": 24, "memoryUsedBytes": 1057340,
    "numRowsDroppedByWatermark": 0, "numShufflePartitions": 2, "numStateStoreInstances": 2,
    "customMetrics": {
      "SnapshotLastUploaded.partition_0_default": 1, "SnapshotLastUploaded.partition_1_default": 1,
      "numMapStateVars": 2, "numValueStateVars": 2, "rocksdbBytesCopied": 1282, "rocksdbFilesCopied": 1,
      "rocksdbGetCount": 6, "rocksdbLoadLatencyMs": 62, "rocksdbNumExternalColumnFamilies": 6,
      "rocksdbPinnedBlocksMemoryUsage": 176, "rocksdbPutCount": 4, "rocksdbSstFileSize": 1282,
      "rocksdbTotalBytesRead": 68, "rocksdbTotalBytesWritten": 2312, "rocksdbZipFileBytesUncompressed": 16155}}],
 "sources": [
   {"description": "FileStreamSource[file:/in]", "startOffset": {"logOffset": 4}, "endOffset": {"logOffset": 5},
    "latestOffset": null, "numInputRows": 100, "inputRowsPerSecond": 50.8, "processedRowsPerSecond": 137.4}],
 "sink": {"description": "NoopTable", "numOutputRows": 2}}
""")


class Query:
    """Stands for a running query; counts how often it is asked."""

    def __init__(self, *reports: dict[str, Any] | None) -> None:
        self._reports = list(reports)
        self.asked = 0

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802
        self.asked += 1
        return self._reports[min(self.asked, len(self._reports)) - 1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def sit_at(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Called by the test itself: pytest puts its own standard error back between a fixture and its test."""
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    return terminal


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_line, "PATIENCE", 0)
    monkeypatch.setattr(progress_line, "PAUSE", 0)


def test_what_a_recorded_progress_says() -> None:
    assert state_rows(RECORDED) == 14
    assert state_bytes(RECORDED) == 1057340 + 1282
    assert seconds(RECORDED) == 0.728
    shown = "batch 5 · 137 rows/s · watermark 41 · state 14 rows, 1.1 MB · lag 3 ticks, 0.7 s a batch"
    assert line(RECORDED, 41, rate=137.4, behind=3) == shown


def test_several_stages_are_added_up() -> None:
    twice = RECORDED | {"stateOperators": RECORDED["stateOperators"] * 2}
    assert state_rows(twice) == 28
    assert state_bytes(twice) == 2 * state_bytes(RECORDED)


def test_a_batch_that_had_nothing_to_do() -> None:
    idle = {"batchId": 0, "processedRowsPerSecond": None}
    assert line(idle) == "batch 0 · 0 rows/s · state 0 rows, 0 bytes · lag 0 ticks, 0.0 s a batch"


@pytest.mark.usefixtures("at_once")
def test_a_terminal_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = sit_at(Terminal(), monkeypatch)
    with ProgressLine(Query(None, RECORDED), answers_on_terminal=False) as shown:  # type: ignore[arg-type]
        shown.beat(41)
        assert terminal.getvalue() == ""
        before = sys.stdout
        shown.beat(41)
        assert line(RECORDED, 41) in re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
        assert sys.stdout is before, "what goes to the standard output is nobody else's business"
    assert terminal.getvalue().endswith("\x1b[2K"), "the line is taken away at the end"


@pytest.mark.usefixtures("at_once")
def test_answers_on_the_same_terminal_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = sit_at(Terminal(), monkeypatch)
    query = Query(RECORDED)
    with ProgressLine(query, answers_on_terminal=True) as shown:  # type: ignore[arg-type]
        shown.beat(41)
    assert query.asked == 0
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("at_once")
def test_nothing_but_a_terminal_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sit_at(io.StringIO(), monkeypatch)
    query = Query(RECORDED)
    with ProgressLine(query, answers_on_terminal=False) as shown:  # type: ignore[arg-type]
        shown.beat(41)
    assert query.asked == 0


def test_a_short_run_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sit_at(Terminal(), monkeypatch)
    query = Query(RECORDED)
    with ProgressLine(query, answers_on_terminal=False) as shown:  # type: ignore[arg-type]
        shown.beat(41)
    assert query.asked == 0
