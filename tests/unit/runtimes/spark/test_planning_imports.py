"""Processes that Spark starts for each query only to plan it import neither the engine nor its compiler."""

import subprocess
import sys

import pytest

HEAVY = ("numba", "pandas", "thalweg.engine", "thalweg.dataflow", "thalweg.kinds")
IMPORTED = "import sys, {module}\nprint(*(name for name in {heavy} if name in sys.modules))"


@pytest.mark.parametrize("module", ["batch_planner", "claim_source", "processor", "shipped_job", "start_source"])
def test_what_is_imported_to_plan(module: str) -> None:
    code = IMPORTED.format(module=f"thalweg.runtimes.spark.{module}", heavy=HEAVY)
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split() == []


def test_a_session_is_opened_early() -> None:
    code = IMPORTED.format(module="thalweg.runtimes.spark.early_session", heavy=HEAVY)
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split() == []


def test_what_forks_workers_has_what_they_need_and_one_thread() -> None:
    code = "import sys, threading, thalweg.runtimes.spark.worker_daemon\n"
    needed = ("pandas", "pyspark.worker", "thalweg.engine.engine", "thalweg.runtimes.spark.read_block")
    code += f"print(threading.active_count(), {{*{needed}}} <= sys.modules.keys())"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["1", "True"]


def test_reading_streams_needs_no_compiler() -> None:
    code = IMPORTED.format(module="thalweg.connectors.readers", heavy=HEAVY)
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split() == []
