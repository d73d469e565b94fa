"""A worker goes on where it is kept, in this process or in another; and nobody gets one that is ahead or behind."""

from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from socket import create_connection, create_server, gethostname, socket
from threading import Barrier, BrokenBarrierError, Thread
from threading import Event as Signal

import pytest

from buckets import rule_job
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.runtimes.spark import worker_cache
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.wire import unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.spark.worker_cache import Done, WorkerCache, WorkerTask
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived

JOB = rule_job(api.load("q(X) :- p(X) in [3]."), Settings(emit="changes"), partitions=1)


def payloads(*events: Event) -> list[bytes]:
    packer = Packer(JOB, 0, (0,))
    return [parcel.payload for parcel in packer.pack(arrived(events, packer.words, Watermark()))]


def task(ticket: str, tick: int, saving: bool = False) -> WorkerTask:
    return WorkerTask("run/0/0", ticket, payloads(Event(tick, (Fact("p", (f"x{tick}",)),))), saving)


def told(done: Done | None) -> list[tuple[int, str]]:
    assert done is not None
    lists = [unwrap(parcel.payload).lists for parcel in done.parcels]
    return [pair for each in lists for pair in zip(each["ticks"].tolist(), each["facts"].to_pylist(), strict=True)]


def begin(cache: WorkerCache, ticks: Iterable[int] = (1, 2)) -> Done:
    worker = Worker(JOB, 0, 0)
    *before, last = ticks
    for tick in before:
        worker.process(task("", tick).payloads)
    return cache.begin(worker, task("", last))


def test_a_process_that_is_forked_has_a_key_of_its_own() -> None:
    cache = WorkerCache()
    forked = copy(cache)
    (_, _, key, _), (_, _, other, _) = (begin(each).ticket.split("/") for each in (cache, forked))
    assert key != other


@pytest.mark.parametrize("saving", [False, True])
def test_another_process_is_asked(saving: bool) -> None:
    one, other = WorkerCache(), WorkerCache()
    alone = WorkerCache()
    here = alone.resume(task(begin(alone).ticket, 3, saving))
    there = other.resume(task(begin(one).ticket, 3, saving))
    assert here is not None
    assert there is not None
    assert told(here) == told(there) != []
    assert here.saved == there.saved
    assert bool(there.saved) is saving
    assert told(other.resume(task(there.ticket, 9))) == told(alone.resume(task(here.ticket, 9))) != []


def test_who_is_gone_is_not_asked() -> None:
    ticket = _of_another_process()
    assert WorkerCache().resume(task(ticket, 3)) is None


def _of_another_process() -> str:
    """The ticket of a process that is over."""
    mine, its = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_keep, args=(its,))
    process.start()
    ticket = str(mine.recv())
    process.join()
    return ticket


def _keep(its: Connection) -> None:
    its.send(begin(WorkerCache()).ticket)


def test_a_ticket_is_good_for_one_batch() -> None:
    """An attempt that is repeated finds nobody, because the worker is ahead."""
    one, other = WorkerCache(), WorkerCache()
    first = begin(one)
    done = one.resume(task(first.ticket, 3))
    assert done is not None
    assert other.resume(task(first.ticket, 3)) is None


def test_nobody_works_for_those_who_have_the_wrong_key() -> None:
    one, other = WorkerCache(), WorkerCache()
    done = begin(one)
    host, port, _, name = done.ticket.split("/")
    assert other.resume(task(f"{host}/{port}/{'0' * 32}/{name}", 4)) is None
    # Nor have they done any harm.
    assert other.resume(task(done.ticket, 4)) is not None


@pytest.mark.parametrize("says", [b"", b"hello", b"x" * 64])
def test_a_stranger_at_the_port_is_not_the_one(says: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that waits, one that speaks another language, and one that pretends."""
    monkeypatch.setattr(worker_cache, "_PATIENCE", 0.2)
    with create_server(("127.0.0.1", 0)) as door:
        visits: list[socket] = []

        def welcome() -> None:
            visits.append(door.accept()[0])
            visits[0].sendall(says)

        host = Thread(target=welcome)
        host.start()
        ticket = f"{gethostname()}/{door.getsockname()[1]}/{'0' * 32}/1"
        assert WorkerCache().resume(task(ticket, 3)) is None
        host.join()
        visits[0].close()


def test_a_silent_visitor_keeps_nobody_waiting() -> None:
    one = WorkerCache()
    ticket = begin(one).ticket
    with create_connection(("127.0.0.1", int(ticket.split("/")[1]))):
        assert WorkerCache().resume(task(ticket, 3)) is not None


def test_many_ask_at_once() -> None:
    one = WorkerCache()
    many = [replace(task("", 2), bucket=f"run/0/{number}") for number in range(12)]
    tickets = [one.begin(Worker(JOB, 0, 0), each).ticket for each in many]
    tasks = [replace(task(ticket, 3), bucket=each.bucket) for ticket, each in zip(tickets, many, strict=True)]
    with ThreadPoolExecutor(len(tasks)) as askers:
        assert all(askers.map(lambda each: WorkerCache().resume(each), tasks))


def test_a_job_with_one_batch_leaves_nothing_behind() -> None:
    one, job = WorkerCache(), replace(JOB, bounded=True)
    done = one.begin(Worker(job, 0, 0), task("", 1))
    assert one.resume(task(done.ticket, 2)) is None


def test_what_goes_wrong_elsewhere_is_met_here_and_logged_there(caplog: pytest.LogCaptureFixture) -> None:
    one, other = WorkerCache(), WorkerCache()
    broken = replace(task(begin(one).ticket, 3), payloads=[b"no parcel"])
    assert other.resume(broken) is None
    (record,) = caplog.records
    assert record.name == "thalweg.spark"
    assert record.exc_info is not None


class Interrupted(OrderedDict[str, object]):
    """Workers that are counted slowly: another thread gets all the time that it needs between count and removal."""

    def __init__(self, workers: OrderedDict[str, object]) -> None:
        super().__init__(workers)
        self.counted, self.emptied = Signal(), Signal()

    def __len__(self) -> int:
        length = super().__len__()
        self.counted.set()
        # Behind a lock the other thread cannot empty it now, and this wait runs out.
        self.emptied.wait(0.3)
        return length


def test_threads_do_not_empty_the_cache_while_it_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lock there is nothing left to remove, and the batch fails."""
    monkeypatch.setattr(worker_cache, "_MOST_WORKERS", 1)
    cache = WorkerCache()
    begin(cache)
    workers = Interrupted(cache._workers)  # type: ignore[arg-type]
    monkeypatch.setattr(cache, "_workers", workers)

    def forget() -> None:
        workers.counted.wait()
        cache.forget()
        workers.emptied.set()

    with ThreadPoolExecutor(1) as other:
        emptied = other.submit(forget)
        second = replace(task("", 1), bucket="run/0/1")
        done = cache.begin(Worker(JOB, 0, 0), second)
        emptied.result()
    assert done.ticket
    assert cache.resume(replace(second, ticket=done.ticket)) is None


def test_threads_that_come_first_open_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    count, together, meeting = 6, Barrier(6), Barrier(2)
    opened = []

    def open_server(*place: object, **options: object) -> socket:
        opened.append(place)
        # Without a lock a second thread comes here meanwhile.
        with suppress(BrokenBarrierError):
            meeting.wait(0.3)
        return create_server(("127.0.0.1", 0))

    monkeypatch.setattr(worker_cache, "create_server", open_server)
    cache = WorkerCache()

    def ticket(number: int) -> str:
        first = replace(task("", 2), bucket=f"run/0/{number}")
        worker = Worker(JOB, 0, 0)
        together.wait()
        return cache.begin(worker, first).ticket

    with ThreadPoolExecutor(count) as threads:
        ports = {text.split("/")[1] for text in threads.map(ticket, range(count))}
    assert len(opened) == len(ports) == 1


def test_a_worker_is_taken_out_by_one_of_many_threads() -> None:
    """Attempts at the same batch, all at once: one goes on, and the next ticket is good."""
    count, together = 8, Barrier(8)
    cache = WorkerCache()
    again = task(begin(cache).ticket, 3)

    def resume(_: int) -> Done | None:
        together.wait()
        return cache.resume(again)

    with ThreadPoolExecutor(count) as threads:
        done = [result for result in threads.map(resume, range(count)) if result is not None]
    assert len(done) == 1
