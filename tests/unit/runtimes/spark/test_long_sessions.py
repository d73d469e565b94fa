"""What a driver and its tasks keep while a session goes on, and what they refuse before it begins."""

import pickle
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from task_runs import TaskRun
from thalweg.answers.answer_columns import FactColumns
from thalweg.connectors.lake import LakeOutput
from thalweg.dataflow.plan import Plan
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.predicate import Predicate
from thalweg.model.time import TimeFormat
from thalweg.runtimes.spark import driver_log, shipped_job
from thalweg.runtimes.spark import run as running
from thalweg.runtimes.spark.answer_frame import AnswerFrame
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.lake_sink import LakeSink
from thalweg.runtimes.spark.partition_count import LastBatch
from thalweg.runtimes.spark.shipped_job import ShippedJob, sealed

DIGEST = {
    "events": 1,
    "facts": 1,
    "stopped": False,
    "malformed": [],
    "far": [0, ""],
    "notation": [False, True, False],
    "tally": {},
}


def test_the_terms_that_the_driver_shows_do_not_add_up(tmp_path: Path) -> None:
    file = tmp_path / "a.facts"
    file.write_text("a(x) at 1.\n")
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [file])
    sizes = []
    for number in range(100_000):
        came = [["a", "a/1", [f"x{number}"]]]
        run.feed.hear([{**DIGEST, "place": [0, number, 0], "high": number, "came": came}])
        sizes.append(len(run.feed._words))
    run.delivery.close()
    assert max(sizes) < 70_000


def test_a_session_forgets_the_oldest_logs_of_queries_that_do_not_run() -> None:
    queries = driver_log._Queries()
    metrics = SimpleNamespace(asDict=dict)
    queries.add(driver_log.DriverLog(name="runs"))
    queries.progress(SimpleNamespace(runId="7", observedMetrics={"runs": metrics}))
    for number in range(driver_log._MOST_LOGS + 10):
        queries.add(driver_log.DriverLog(name=f"q{number}"))
    assert len(queries._logs) == driver_log._MOST_LOGS
    assert "runs" in queries._logs
    assert f"q{driver_log._MOST_LOGS + 9}" in queries._logs
    queries.terminated("7")


def test_a_task_looks_for_its_job_once() -> None:
    shipped = pickle.loads(pickle.dumps(ShippedJob(sealed(Job(Plan(()), width=4)))))
    with patch.object(shipped_job, "_opened", wraps=shipped_job._opened) as opened:
        assert shipped.job is shipped.job
        assert shipped.job.width == 4
    assert opened.call_count == 1


@pytest.mark.parametrize("text", ["", "v1\n", "v1\n{}", 'v1\n{"conf":{"spark.sql.shuffle.partitions":'])
def test_a_log_of_offsets_that_was_cut_is_damaged(text: str) -> None:
    with pytest.raises(RejectedError, match=r"E408\]: the file `offsets/3` of Spark's checkpoint is damaged"):
        LastBatch.of({3: text}, [])


def test_a_batch_is_not_settled_if_the_checkpoint_was_lost_while_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "a.facts"
    file.write_text("a(x) at 1.\n")
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [file])
    asked = []

    def need_folder() -> None:
        asked.append(run.out.stat().st_size)
        if asked[-1]:
            raise RejectedError([Diagnostic("E408", "another run has taken the checkpoint")])

    before = (tmp_path / "ledger").read_bytes()
    run.delivery.need_folder = need_folder
    with pytest.raises(RejectedError, match="another run has taken"):
        deque(iter(run.plan, False))
    run.delivery.close()
    assert len(asked) > 1
    assert (tmp_path / "ledger").read_bytes() == before


def test_answers_with_a_column_that_folders_name_are_refused() -> None:
    frame = AnswerFrame(FactColumns("changes", ("batch",)), TimeFormat(), Predicate("jam", 1), {"batch": "string"})
    sink = LakeSink(LakeOutput("s3a://lake/a.parquet", "parquet", "s3a://lake/a.parquet"), frame, 1000)
    with pytest.raises(RejectedError, match=r"E402\]: answers have a column `batch`, which `s3a:"):
        sink.begin(None)  # type: ignore[arg-type]


def test_a_run_that_was_killed_when_it_was_over_says_again_at_which_line_it_ended(tmp_path: Path) -> None:
    file = tmp_path / "a.facts"
    file.write_text("a(x) at 1.\na(x at 2.\n")
    run = TaskRun(tmp_path, "seen(X) :- a(X).", [file])
    while run.plan():
        continue
    run.delivery.close()
    assert run.is_over
    with pytest.raises(RejectedError, match=r"E301\]: the run of checkpoint .* ended with this error: "):
        running._over(tmp_path, run.reported.append)
    assert run.reported == []
