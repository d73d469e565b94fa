"""Workers stay in the memory of a process between batches, and the processes of a machine work for each other.

Spark hands the next batch of a bucket to any of a machine's Python processes. The one that gets it is often not the one
with the engine; then it sends the batch there, which costs less than to build the engine anew. What a ticket names is a
worker as it was after one batch: where and under which name it is kept. The state store has the ticket, so a batch that
is tried again never meets a worker that is ahead of it. Before a task is sent, both processes prove to each other that
they know the ticket's key; a connection on which that fails, or takes too long, is closed.

Several threads of a process use its cache at once: those of Spark's tasks, and one for each process that asks. What is
kept changes under a lock; the work itself is done outside of it, by the thread that took the worker out.
"""

import hmac
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from secrets import token_bytes, token_hex
from socket import create_connection, create_server, gethostname, socket
from threading import Lock, Thread
from typing import Final

from thalweg.model.arrow import frame, unframe
from thalweg.runtimes.spark.wire import FAILURE, Parcel
from thalweg.runtimes.spark.worker import Worker

_LOG: Final = logging.getLogger("thalweg.spark")
# A process keeps the workers that it used last; those of a bucket that moved elsewhere are let go.
_MOST_WORKERS: Final = 64
_HERE: Final = "127.0.0.1"
# Seconds for a greeting; what the work takes is another matter.
_PATIENCE: Final = 3.0
_WAITING: Final = 128
_PROOF: Final = 32


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """The parcels of a batch for the worker of a bucket; `saving`: what it then knows is wanted, too."""

    bucket: str
    ticket: str
    payloads: list[bytes]
    saving: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a task, and the ticket for the next; `saved` is empty where it was neither wanted nor needed."""

    ticket: str
    parcels: list[Parcel]
    saved: bytes

    @property
    def failed(self) -> bool:
        """Whether the worker could not go on; then nothing of it is kept or saved."""
        return any(parcel.fragment == FAILURE for parcel in self.parcels)


class WorkerCache:
    """The workers of one process."""

    def __init__(self) -> None:
        self._workers: OrderedDict[str, tuple[str, Worker]] = OrderedDict()
        # Chosen with the port: a process that is forked before that has a key of its own.
        self._key = ""
        self._port = 0
        self._lock = Lock()

    def begin(self, worker: Worker, task: WorkerTask) -> Done:
        """Has a worker of this process do a task, and keeps it."""
        parcels = worker.process(task.payloads)
        if (done := Done("", parcels, b"")).failed:
            return done
        saved = worker.save() if task.saving or worker.must_save else b""
        ticket = f"{gethostname()}/{self._open_port()}/{self._key}/{token_hex(16)}"
        if worker.job.bounded:
            # There is no other batch.
            return Done(ticket, parcels, saved)
        most = max(_MOST_WORKERS, len(worker.job.fragments) * len(worker.job.labels))
        with self._lock:
            self._workers[task.bucket] = ticket, worker
            if len(self._workers) > most:
                self._workers.popitem(last=False)
        return Done(ticket, parcels, saved)

    def resume(self, task: WorkerTask) -> Done | None:
        """Has the worker of the ticket do a task, here or in the process that keeps it; None where it is gone."""
        done = self._resume_here(task)
        if done is not None or not task.ticket:
            return done
        host, port, key, _ = task.ticket.split("/")
        if key == self._key or host != gethostname():
            return None
        try:
            with create_connection((_HERE, int(port)), _PATIENCE) as connection:
                _greet(connection, key, b"guest", b"host")
                _send(connection, _written(task))
                return _read_done(_receive(connection))
        except OSError:
            return None

    def _resume_here(self, task: WorkerTask) -> Done | None:
        # Taken out while it works: an attempt that fails leaves no half-fed worker behind.
        with self._lock:
            ticket, worker = self._workers.pop(task.bucket, ("", None))
        return self.begin(worker, task) if worker is not None and ticket == task.ticket else None

    def forget(self) -> None:
        """Lets all workers go."""
        with self._lock:
            self._workers.clear()

    def _open_port(self) -> int:
        """The port at which other processes ask for this process's workers; it is opened by the first call."""
        with self._lock:
            if not self._port:
                door = create_server((_HERE, 0), backlog=_WAITING)
                self._key, self._port = token_hex(16), int(door.getsockname()[1])
                _aside(lambda: self._listen(door))
            return self._port

    def _listen(self, door: socket) -> None:
        while True:
            guest, _ = door.accept()
            _aside(partial(self._serve, guest))

    def _serve(self, guest: socket) -> None:
        # A process that gets no answer builds a worker, and meets what went wrong here by itself.
        with guest, suppress(OSError):
            guest.settimeout(_PATIENCE)
            _greet(guest, self._key, b"host", b"guest")
            try:
                done = self._resume_here(_read_task(_receive(guest)))
            except OSError:
                raise
            except Exception:
                _LOG.exception("a batch for another process failed; that process repeats it")
                return
            if done is not None:
                _send(guest, _written_done(done))


def _aside(work: Callable[[], None]) -> None:
    Thread(target=work, daemon=True).start()


def _greet(other: socket, key: str, mine: bytes, its: bytes) -> None:
    """Both show that they know a key, which neither sends; then they have as much time as they need."""
    nonce = token_bytes(_PROOF)
    other.sendall(nonce)
    other.sendall(_proof(key, mine, _exactly(other, _PROOF)))
    if not hmac.compare_digest(_exactly(other, _PROOF), _proof(key, its, nonce)):
        raise ConnectionError("the other process does not know the key")
    other.settimeout(None)


def _proof(key: str, role: bytes, nonce: bytes) -> bytes:
    return hmac.digest(key.encode(), role + nonce, "sha256")


def _send(other: socket, data: bytes) -> None:
    other.sendall(len(data).to_bytes(8, "little"))
    other.sendall(data)


def _receive(other: socket) -> bytes:
    return _exactly(other, int.from_bytes(_exactly(other, 8), "little"))


def _exactly(other: socket, size: int) -> bytes:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = other.recv_into(view)
        if not count:
            raise ConnectionError("the other process has ended")
        view = view[count:]
    return bytes(data)


def _written(task: WorkerTask) -> bytes:
    return frame([json.dumps([task.bucket, task.ticket, task.saving]).encode(), *task.payloads])


def _read_task(data: bytes) -> WorkerTask:
    about, *payloads = unframe(data)
    bucket, ticket, saving = json.loads(about)
    return WorkerTask(bucket, ticket, payloads, saving)


def _written_done(done: Done) -> bytes:
    about = [done.ticket, [(parcel.fragment, parcel.bucket) for parcel in done.parcels]]
    return frame([json.dumps(about).encode(), done.saved, *(parcel.payload for parcel in done.parcels)])


def _read_done(data: bytes) -> Done:
    about, saved, *payloads = unframe(data)
    ticket, addresses = json.loads(about)
    pairs = zip(addresses, payloads, strict=True)
    parcels = [Parcel(fragment, bucket, payload) for (fragment, bucket), payload in pairs]
    return Done(ticket, parcels, saved)


WORKERS: Final = WorkerCache()
"""The workers of this process."""
