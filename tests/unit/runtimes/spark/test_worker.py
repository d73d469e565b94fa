"""A bucket has a memory budget of its own; what it sheds is known to later stages, and survives a restart."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark import SparkFiles

from buckets import engine_of, rule_job
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.shipped_job import ShippedJob, sealed
from thalweg.runtimes.spark.wire import DOUBTS, HELD, OUT, Content, Parcel, unwrap, warning_of
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.spark.worker_cache import WorkerCache, WorkerTask
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived

# Two stages: `q` is keyed by Y, and negated by X.
RULES = "q(X) :- e(X,Y) in [50], f(Y) in [50]. a(X) :- r(X) in [90], not q(X)."
JOB = rule_job(api.load(RULES), Settings(emit="changes", memory=900_000), partitions=1)


def parcels(job: Job, tick: int, facts: list[Fact], ended: bool = False) -> list[Parcel]:
    packer = Packer(job, 0, (0,))
    return list(packer.pack(arrived([Event(tick, tuple(facts))], packer.words, Watermark()), ended))


def payloads(post: list[Parcel], stage: int) -> list[bytes]:
    return [each.payload for each in post if each.fragment == stage]


def many(tick: int) -> list[Fact]:
    return [Fact("e", (f"x{tick}_{number}", f"y{tick}_{number}")) for number in range(4_000)]


def test_later_stages_hear_what_is_missing():
    workers = [Worker(JOB, number, 0) for number in range(len(JOB.fragments))]
    assert len(workers) == 2
    told: list[tuple[int, int, str]] = []
    missing: list[tuple[str, int, int]] = []
    doubts: list[Content] = []
    for tick in range(0, 80, 2):
        post = parcels(JOB, tick, [*(many(tick) if 4 <= tick < 12 else ()), Fact("r", (f"z{tick}",))])
        for number, worker in enumerate(workers):
            post += worker.process(payloads(post, number))
        contents = [unwrap(payload) for payload in payloads(post, OUT)]
        doubts += [found for found in map(unwrap, payloads(post, 1)) if found.kind == DOUBTS]
        for content in contents:
            lists = content.lists
            told += zip(lists["ticks"].tolist(), lists["ended"].tolist(), lists["facts"].to_pylist(), strict=True)
            missing += content.header.get("missing", ())
    first, last = [tick for found in doubts for tick, _ in found.header["turns"]]
    assert {name for name, _, _ in missing} == {"e/2"}
    assert (first, last) == (min(since for _, since, _ in missing), max(until for _, _, until in missing) + 1)
    # What had begun became unknown when it was not known any more, and began again when it was.
    assert (first, 2, "a(z0)") in told
    assert (last, 0, "a(z0)") in told
    assert not [fact for tick, what, fact in told if what == 0 and first <= tick < last]
    assert not engine_of(workers[1]).partial


def test_what_cannot_be_compared_is_sent_once():
    job = rule_job(api.load("a(X) :- e(X,Y), Y > 5."), Settings(emit="changes"), partitions=1)
    worker = Worker(job, 0, 0)
    sent = [
        content.header.get("warnings", [])
        for tick in range(4)
        for content in map(
            unwrap, payloads(worker.process(payloads(parcels(job, tick, [Fact("e", ("x", "y"))]), 0)), OUT)
        )
    ]
    (text,) = (text for texts in sent for text in texts)
    found = warning_of(text)
    assert found.message == "`Y > 5` compared `y`, a text, with `5`, a number: between different kinds it is false"
    assert found.span.source.text == "a(X) :- e(X,Y), Y > 5."


def test_a_batch_in_which_facts_are_shed_is_saved_and_not_replayed():
    cache = WorkerCache()
    job = replace(JOB, name="budget")
    worker, done, saved = Worker(job, 0, 0), None, []
    for tick in range(6):
        task = WorkerTask("budget/0/0", done.ticket if done else "", payloads(parcels(job, tick, many(tick)), 0), False)
        done = cache.resume(task) or cache.begin(worker, task)
        saved.append(done.saved)
    assert any(saved)
    assert not all(saved)
    again = Worker(job, 0, 0)
    again.load(next(data for data in reversed(saved) if data))
    assert engine_of(again).lacking
    assert engine_of(again).memory == 900_000


def test_nothing_is_shed_while_a_batch_is_replayed():
    worker = Worker(JOB, 0, 0)
    for tick in range(6):
        worker.replay(payloads(parcels(JOB, tick, many(tick)), 0))
    assert not engine_of(worker).partial
    worker.process(payloads(parcels(JOB, 6, many(6)), 0))
    worker.process(payloads(parcels(JOB, 7, many(7)), 0))
    assert engine_of(worker).shed


@pytest.mark.parametrize(("partitions", "number"), [(1, "4 conclusions"), (2, "at least 4 conclusions")])
def test_conclusions_in_the_future_are_sent_at_the_end(partitions: int, number: str) -> None:
    job = rule_job(api.load("a(X) at 9 :- e(X,Y)."), Settings(emit="changes"), partitions=partitions)
    worker = Worker(job, 0, 0)
    sent = [
        content.header.get("warnings", [])
        for tick in range(4)
        for content in map(
            unwrap,
            payloads(worker.process(payloads(parcels(job, tick, [Fact("e", ("x", "y"))], ended=tick == 3), 0)), OUT),
        )
    ]
    (text,) = (text for texts in sent for text in texts)
    assert warning_of(text).code == "W208"
    assert warning_of(text).message.startswith(number)


def test_changes_of_many_predicates_come_to_a_bucket_in_one_parcel() -> None:
    names = [f"q{number}" for number in range(20)]
    rules = "".join(f"{name}(X) :- e(X,Y) in [50], f(Y). a(X) :- r(X), not {name}(X). " for name in names)
    job = rule_job(api.load(rules), Settings(emit="changes"), partitions=2)
    sent: list[Parcel] = []
    post = parcels(job, 0, [Fact("f", ("y",)), *(Fact("e", (f"x{number}", "y")) for number in range(50))], ended=True)
    for bucket in job.buckets(0):
        sent += Worker(job, 0, bucket).process(
            [each.payload for each in post if (each.fragment, each.bucket) == (0, bucket)]
        )
    held = [each for each in sent if each.fragment >= 0 and unwrap(each.payload).kind == HELD]
    # All that has the key `y` is in one bucket, and what follows from it goes to both buckets of the next stage.
    assert [(each.fragment, each.bucket) for each in held] == [(1, 0), (1, 1)]
    runs = [unwrap(each.payload).header["runs"] for each in held]
    assert [len(of_bucket) for of_bucket in runs] == [len(names), len(names)]
    assert sum(count for of_bucket in runs for *_, count in of_bucket) == 50 * len(names)


def test_buckets_without_facts_get_the_same_bytes() -> None:
    job = rule_job(api.load("a(X) :- e(X,Y)."), Settings(emit="changes"), partitions=16)
    post = parcels(job, 3, [Fact("e", ("x", "y"))])
    assert [each.bucket for each in post] == list(range(16))
    beats = [each for each in post if not len(unwrap(each.payload).lists["ticks"])]
    assert len(beats) == 15
    assert len({each.payload for each in beats}) == 1
    assert all(unwrap(each.payload).lists["seen"].tolist() == [3] for each in post)


def test_a_job_travels_as_data_and_its_name_with_each_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = sealed(JOB)
    (tmp_path / "a.job").write_bytes(content)
    # Where Spark puts the files of a session.
    monkeypatch.setattr(SparkFiles, "get", lambda name: str(tmp_path / name))
    sent = pickle.dumps(ShippedJob("a.job", JOB))
    assert len(sent) < 200
    arrived_job = pickle.loads(sent).job
    assert arrived_job.fingerprint == JOB.fingerprint
    assert arrived_job is not JOB
    assert pickle.loads(sent).job is arrived_job
    with pytest.raises(TypeError, match="as data"):
        pickle.dumps(JOB)
