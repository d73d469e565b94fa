"""Workers stay in the memory of a process between batches, and the processes of a machine work for each other.

Spark hands the next batch of a bucket to any of a machine's Python processes. The one that gets it is often not the one
with the engine; then it sends the batch there, which costs less than to build the engine anew. What a ticket names is a
worker as it was after one batch: where and under which name it is kept. The state store has the ticket, so a batch that
is tried again never meets a worker that is ahead of it.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from secrets import token_hex
from threading import Thread
from typing import Any, Final, Protocol

from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import Parcel, frame, unframe

# A process keeps the workers that it used last; those of a bucket that moved elsewhere are let go.
_MOST_WORKERS: Final = 64
_HERE: Final = "127.0.0.1"


class Member(Protocol):
    """Whoever does the work of a bucket."""

    @property
    def job(self) -> Job:
        """What it works for."""

    def process(self, payloads: Iterable[bytes], /) -> list[Parcel]:
        """Takes in a batch's parcels; gives those that go out."""

    def replay(self, payloads: Iterable[bytes], /) -> None:
        """Takes in a batch's parcels again."""

    def save(self) -> bytes:
        """All that has been taken in and still matters."""

    def load(self, saved: bytes, /) -> None:
        """Goes on where another one was."""


Start = Callable[[Any, int, int], Member]
"""Makes the member for a job, a stage and a bucket."""


@dataclass(frozen=True, slots=True)
class Task:
    """The parcels of a batch for the worker of a bucket; `saving`: what it then knows is wanted, too."""

    bucket: str
    ticket: str
    payloads: list[bytes]
    saving: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a task, and the ticket for the next; `saved` is empty where it was not wanted."""

    ticket: str
    parcels: list[Parcel]
    saved: bytes


class Keeper:
    """The workers of one process."""

    def __init__(self) -> None:
        self._workers: OrderedDict[str, tuple[str, Member]] = OrderedDict()
        self._key = token_hex(16)

    def begin(self, worker: Member, task: Task) -> Done:
        """Has a worker of this process do a task, and keeps it."""
        parcels = worker.process(task.payloads)
        saved = worker.save() if task.saving else b""
        ticket = f"{self._port}/{self._key}/{token_hex(16)}"
        self._workers[task.bucket] = ticket, worker
        if len(self._workers) > max(_MOST_WORKERS, len(worker.job.stages) * len(worker.job.labels)):
            self._workers.popitem(last=False)
        return Done(ticket, parcels, saved)

    def resume(self, task: Task) -> Done | None:
        """Has the worker of the ticket do a task, here or in the process that keeps it; none where nobody has it."""
        done = self._resume_here(task)
        if done is not None or not task.ticket:
            return done
        port, key, _ = task.ticket.split("/")
        if key == self._key:
            return None
        try:
            with Client((_HERE, int(port)), authkey=key.encode()) as asked:
                asked.send_bytes(_written(task))
                return _read_done(asked.recv_bytes())
        except (OSError, EOFError, AuthenticationError):
            return None

    def _resume_here(self, task: Task) -> Done | None:
        # Taken out while it works: an attempt that fails leaves no half-fed worker behind.
        ticket, worker = self._workers.pop(task.bucket, ("", None))
        return self.begin(worker, task) if worker is not None and ticket == task.ticket else None

    def forget(self) -> None:
        """Lets all workers go."""
        self._workers.clear()

    @cached_property
    def _port(self) -> int:
        """Where others ask for this process's workers; it listens from now on."""
        listener = Listener((_HERE, 0), authkey=self._key.encode())
        _aside(partial(self._listen, listener))
        return int(listener.address[1])

    def _listen(self, listener: Listener) -> None:
        while True:
            try:
                asking = listener.accept()
            except (OSError, EOFError, AuthenticationError):
                continue
            _aside(partial(self._serve, asking))

    def _serve(self, asking: Connection) -> None:
        # Who gets no answer builds a worker, and meets by itself whatever went wrong here.
        with asking, suppress(Exception):
            done = self._resume_here(_read_task(asking.recv_bytes()))
            if done is not None:
                asking.send_bytes(_written_done(done))


def _aside(work: Callable[[], None]) -> None:
    Thread(target=work, daemon=True).start()


def _written(task: Task) -> bytes:
    return frame([json.dumps([task.bucket, task.ticket, task.saving]).encode(), *task.payloads])


def _read_task(data: bytes) -> Task:
    about, *payloads = unframe(data)
    bucket, ticket, saving = json.loads(about)
    return Task(bucket, ticket, payloads, saving)


def _written_done(done: Done) -> bytes:
    about = [done.ticket, [(each.stage, each.bucket) for each in done.parcels]]
    return frame([json.dumps(about).encode(), done.saved, *(each.payload for each in done.parcels)])


def _read_done(data: bytes) -> Done:
    about, saved, *payloads = unframe(data)
    ticket, addresses = json.loads(about)
    parcels = [Parcel(stage, bucket, payload) for (stage, bucket), payload in zip(addresses, payloads, strict=True)]
    return Done(ticket, parcels, saved)


KEEPER: Final = Keeper()
"""That of this process."""
