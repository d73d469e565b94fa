"""A worker that cannot go on says why: as data, after the answers of the ticks before."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from buckets import rule_job, worker_with
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, Source, Span
from thalweg.engine import Delta
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.runtimes.spark.bucket_answers import FAILED, OVER, opened
from thalweg.runtimes.spark.delivery import Delivery
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.processor import LevelProcessor
from thalweg.runtimes.spark.shipped_job import ShippedJob
from thalweg.runtimes.spark.wire import FAILURE, error_of, failure, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.spark.worker_cache import WORKERS, WorkerCache, WorkerTask
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived

PROGRAM = "q(X) :- p(X) in [1]."
LAST_GOOD = 3
ERROR = FailedError(Diagnostic("E407", "there is no room for more rows", help="give it more"))


class Exhausted(Engine):
    """An engine that can do nothing after a tick."""

    def advance(self, to: int, *rest: Any, **more: Any) -> list[Delta]:
        if to > LAST_GOOD:
            raise ERROR
        return super().advance(to, *rest, **more)


def exhausted(job: Job, stage: int, bucket: int) -> Worker:
    return worker_with(Exhausted, job, stage, bucket)


def job_of(emit: str) -> Job:
    return replace(rule_job(api.load(PROGRAM), Settings(emit=emit, last=8), partitions=1), name=emit)


def payloads(job: Job, ticks: Sequence[int], ended: bool = True) -> list[bytes]:
    packer = Packer(job, 0, (0,))
    events = [Event(tick, (Fact("p", (f"x{tick}",)),)) for tick in ticks]
    return [parcel.payload for parcel in packer.pack(arrived(events, packer.words, Watermark()), ended)]


@pytest.mark.parametrize("emit", ["changes", "intervals", "snapshot"])
def test_what_comes_before_is_delivered_and_the_rest_when_the_run_is_resumed(tmp_path, emit):
    job = job_of(emit)
    given = payloads(job, [1, 2, 3, 4, 6])

    def rows(worker: Worker) -> pa.Table:
        parcels = worker.process(given)
        return pa.Table.from_batches([batch for parcel in parcels for batch in opened(parcel.payload, emit)])

    def delivery(name: str) -> Delivery:
        return Delivery(tmp_path / f"{name}.json", str(tmp_path / name), None, emit)

    undisturbed = delivery("undisturbed")
    undisturbed.deliver(0, rows(Worker(job, 0, 0)))
    failing = delivery("failing")
    with pytest.raises(FailedError, match="no room for more rows"):
        failing.deliver(0, rows(exhausted(job, 0, 0)))
    assert str(failing.error) == str(ERROR)
    failing.close()
    whole, part = ((tmp_path / name).read_text() for name in ("undisturbed", "failing"))
    assert whole.startswith(part)
    assert "x1" in part
    assert "x4" not in part
    # Again, as long as it cannot go on; nothing is delivered twice.
    again = delivery("failing")
    with pytest.raises(FailedError, match="no room for more rows"):
        again.deliver(0, rows(exhausted(job, 0, 0)))
    again.close()
    assert (tmp_path / "failing").read_text() == part
    resumed = delivery("failing")
    assert not resumed.done.over
    resumed.deliver(0, rows(Worker(job, 0, 0)))
    assert resumed.done.over
    assert (tmp_path / "failing").read_text() == whole


def test_of_several_workers_the_first_that_failed_ends_the_answers(tmp_path):
    def failed(reached: int, message: str) -> dict[str, Any]:
        content = unwrap(failure(0, FailedError(Diagnostic("E407", message)), reached).payload)
        return {"kind": FAILED, "t": reached, "until": None, "stream": "", "fact": content.header["error"]}

    def begun(tick: int) -> dict[str, Any]:
        return {"kind": "begin", "t": tick, "until": None, "stream": None, "fact": f"q({tick})"}

    over = {"kind": OVER, "t": 9, "until": 0, "stream": None, "fact": ""}
    delivery = Delivery(tmp_path / "ledger.json", str(tmp_path / "out"), None, "changes")
    rows = [failed(5, "the later one"), failed(2, "the earlier one"), begun(2), begun(3), over]
    with pytest.raises(FailedError, match="the earlier one"):
        delivery.deliver(0, pa.Table.from_pylist(rows))
    delivery.close()
    assert (tmp_path / "out").read_text() == '{"t":2,"begin":["q(2)"],"end":[]}\n'


@pytest.mark.parametrize("in_another_process", [False, True])
def test_nothing_is_kept_of_a_worker_that_failed(in_another_process):
    job = job_of("changes")
    one = WorkerCache()
    begun = one.begin(exhausted(job, 0, 0), WorkerTask("b", "", payloads(job, [1, 3], ended=False), saving=False))
    asked = WorkerCache() if in_another_process else one
    done = asked.resume(WorkerTask("b", begun.ticket, payloads(job, [6], ended=False), saving=True))
    assert done is not None
    assert done.failed
    assert done.saved == b""
    assert done.parcels[-1].fragment == FAILURE
    assert one.resume(WorkerTask("b", done.ticket, [], saving=False)) is None


def test_the_store_stays_as_it_was_before_the_batch(monkeypatch):
    job = job_of("changes")
    label = job.labels[0]
    monkeypatch.setattr("thalweg.runtimes.spark.worker.Worker", exhausted)
    tester = TwsTester(LevelProcessor(ShippedJob("here", job), [0]))

    def take(ticks: Sequence[int]) -> list[Row]:
        post = [Row(bucket=label, fragment=0, payload=each) for each in payloads(job, ticks, ended=False)]
        return list(tester.test(label, post))

    take([1, 3])
    before = tester.peekValueState("about0", label)
    assert take([6])[-1].fragment == FAILURE
    assert tester.peekValueState("about0", label) == before
    # The worker is gone, so it is rebuilt, and gives up again.
    WORKERS.forget()
    assert take([6])[-1].fragment == FAILURE


def test_a_worker_that_cannot_be_rebuilt_says_so(monkeypatch):
    job = job_of("changes")
    label = job.labels[0]
    makers = iter([Worker, exhausted])
    monkeypatch.setattr("thalweg.runtimes.spark.worker.Worker", lambda *about: next(makers)(*about))
    tester = TwsTester(LevelProcessor(ShippedJob("here", job), [0]))
    post = [Row(bucket=label, fragment=0, payload=each) for each in payloads(job, [1, 6], ended=False)]
    assert FAILURE not in {row.fragment for row in tester.test(label, post)}
    WORKERS.forget()
    (told,) = tester.test(label, post)
    assert told.fragment == FAILURE


@pytest.mark.parametrize("kind", [FailedError, RejectedError])
def test_diagnostics_come_back_as_they_were(kind):
    source = Source("rules.lars", "a.\nn(X+1) :- n(X).\n", first_line=3)
    found = Diagnostic("E407", "it counts for ever", Span(source, 3, 9), "say how far", ("a note",))
    error = RejectedError([found, found]) if kind is RejectedError else FailedError(found)
    back = error_of(unwrap(failure(0, error, 4).payload).header["error"])
    assert type(back) is kind
    assert str(back) == str(error)
    assert "rules.lars:4:1" in str(back)
    assert "^^^^^^" in str(back)
