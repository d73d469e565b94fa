"""The service: a folder with a log, streams and programs, and the threads that go with them; nothing of HTTP.

DIR/service.json     which version of Thalweg uses the folder
DIR/lock             held while a service does
DIR/log/  DIR/streams/  DIR/programs/
DIR/output/          how far the outputs of deployments are
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from threading import Event, Lock, Thread
from typing import IO, TYPE_CHECKING, Any, Final

from thalweg import api
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.checkpoint_folder import replace_file
from thalweg.service.beats import Beats
from thalweg.service.deployed import DeployedProgram
from thalweg.service.door import MediaTypeError
from thalweg.service.generation import SharedParts
from thalweg.service.log import DiskFullError, Log, LogBusyError, LogRecord, Retention
from thalweg.service.playground import Playground
from thalweg.service.programs import Programs
from thalweg.service.refused import RefusedError, refusal
from thalweg.service.served_deployment import ServedDeployment
from thalweg.service.streams import LoggedStreams

if TYPE_CHECKING:
    from thalweg.solvers.pool import SolverPool, Solvers

_FORMAT: Final = 1
_MANIFEST: Final = "service.json"
_SAVE: Final = 5.0
"""Seconds between two looks at statistics that have to be written down."""
_TRIED: Final = "q(X) :- p(X) in [1], not r(X)."


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """For how long, and in how many bytes, the log and the answers are kept; how large one body may be."""

    retain_seconds: float = 24 * 3600.0
    retain_bytes: int = 10 * 1_000_000_000
    max_body: int = 16 << 20


DEFAULTS: Final = ServiceOptions()


class Service:
    """Everything that lives as long as the process does."""

    def __init__(self, folder: Path, options: ServiceOptions = DEFAULTS) -> None:
        """Takes the folder, or makes it; `RejectedError` (E408) where another service uses it, or it is not ours."""
        self.folder = folder
        self.options = options
        self._lock = _taken(folder)
        self.log = Log(folder / "log", Retention(options.retain_seconds, options.retain_bytes))
        self.streams = LoggedStreams(folder / "streams", self.log)
        self._pool: SolverPool | None = None
        self._pool_lock = Lock()
        self.parts = SharedParts(self.log, self.streams, self._solvers, self._retention)
        self.programs = Programs(folder / "programs", self.parts)
        self.playground = Playground()
        self._deployed: list[DeployedProgram] = []
        self._beats = Beats(self.log, self.programs.due)
        self.is_warm = Event()
        """Kernels are compiled."""
        self._is_closed = Event()

    def start(self) -> None:
        """Starts the programs and what keeps time in the log. Returns at once; `ready` says when all is as before."""
        Thread(target=self._warm, name="compiles kernels", daemon=True).start()
        self.programs.start()
        self._beats.start()
        Thread(target=self._save, name="saves statistics", daemon=True).start()

    def deploy(self, served: ServedDeployment, report: Callable[[Diagnostic], None] = lambda wrong: None) -> None:
        """Registers what a deployment has, and brings in its streams; `report` gets what is wrong on the way.

        `RejectedError` where something is wrong with it; then nothing of it is at work.
        """
        deployed = DeployedProgram(served, self.streams, self.programs, self.folder / "output", report)
        self._deployed.append(deployed)
        deployed.start()

    def ready(self) -> tuple[bool, list[str]]:
        """Whether all programs have caught up; else why not: `["compiling", "program jam: catching up 62 %"]`."""
        because = [] if self.is_warm.is_set() else ["compiling"]
        for program in self.programs:
            generation = program.current
            if generation.state == "catching-up":
                because.append(f"program {program.name}: catching up {int(100 * generation.progress)} %")
        return not because, because

    def post(self, stream: str, media: str, body: bytes, *, skip: bool, key: str | None) -> Future[dict[str, Any]]:
        """Takes facts of a stream; the future has the answer once they are on disk.

        `RefusedError`: 404 no such stream, 415 media type, 400 bad lines, 429 too much waits, 507 the disk is full.
        """
        answer: Future[dict[str, Any]] = Future()
        with _as_refused(stream):
            taken = self.streams.post(stream, media, body, skip=skip, key=key)
        # A client that goes away cancels nothing: what was taken is written.
        answer.set_running_or_notify_cancel()

        def durable(record: Future[LogRecord]) -> None:
            error = record.exception()
            if error is None:
                answer.set_result(record.result().answer())
            else:
                answer.set_exception(_refused(error, stream))

        taken.add_done_callback(durable)
        return answer

    def close(self, seconds: float = 9.0) -> None:
        """Ends all threads within a time; programs are saved as far as it allows."""
        self._is_closed.set()
        until = time.monotonic() + seconds
        for deployed in self._deployed:
            deployed.close_pumps()
        self._beats.close()
        self.playground.close()
        self.programs.close(until - time.monotonic())
        for deployed in self._deployed:
            deployed.close_output()
        if self._pool is not None:
            self._pool.close()
        self.streams.save()
        self.log.close()
        self._lock.close()

    def _solvers(self) -> "Solvers":
        """A share of the processes of clingo, which all programs use; they are made when the first one needs them."""
        from thalweg.solvers.pool import SolverPool

        with self._pool_lock:
            self._pool = self._pool or SolverPool(os.cpu_count() or 1)
            return self._pool.share()

    def _retention(self) -> tuple[float, int]:
        """Before which instant answers may go, and beyond how many bytes; all programs share these."""
        share = self.options.retain_bytes // max(1, len(self.programs))
        return time.time() - self.options.retain_seconds, share

    def _warm(self) -> None:
        """Evaluates something small, so that kernels are compiled before somebody waits for them.

        Loads what the first checkpoint needs, too: half a second, which the program's answers would wait for.
        """
        import pyarrow.compute  # noqa: F401

        list(api.run(_TRIED, stream=[(1, "p(a)")], end=3, report=lambda warning: None))
        self.is_warm.set()

    def _save(self) -> None:
        while not self._is_closed.wait(_SAVE):
            self.streams.save()


def _taken(folder: Path) -> IO[str]:
    """The lock of a folder, which is ours while it is open; `RejectedError` (E408) where it cannot be had."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _need_ours(folder)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise RejectedError([Diagnostic("E401", f"cannot use `{folder}`: {error.strerror}")]) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        message = f"another service is using `{folder}`"
        raise RejectedError([Diagnostic("E408", message, help="name another folder with `--data`")]) from None
    replace_file(folder / _MANIFEST, json.dumps({"format": _FORMAT, "version": version("thalweg")}).encode())
    return lock


def _need_ours(folder: Path) -> None:
    """`RejectedError` where a folder has other files, or a later version has used it."""
    manifest = folder / _MANIFEST
    if manifest.exists():
        about = json.loads(manifest.read_bytes())
        if about.get("format") != _FORMAT:
            message = f"`{folder}` is the folder of a service of Thalweg {about.get('version')}"
            raise RejectedError([Diagnostic("E408", message, help="use that version, or another folder")])
    elif any(not path.name.startswith(("lock", _MANIFEST)) for path in folder.iterdir()):
        message = f"`{folder}` is not the folder of a service: it has other files"
        raise RejectedError([Diagnostic("E408", message, help="name a new folder with `--data`")])


@contextmanager
def _as_refused(stream: str) -> Iterator[None]:
    """Errors of facts that are not taken, as they are answered."""
    try:
        yield
    except (RejectedError, LookupError, MediaTypeError, LogBusyError, DiskFullError) as error:
        raise _refused(error, stream) from None


def _refused(error: BaseException, stream: str) -> BaseException:
    """What a request is answered with, where facts of a stream could not be taken."""
    match error:
        case RefusedError():
            return error
        case RejectedError():
            return RefusedError(400, error.diagnostics)
        case LookupError():
            return refusal(404, f"there is no stream `{stream}`", f"make it: `PUT /v1/streams/{stream}`")
        case MediaTypeError():
            return refusal(415, str(error))
        case LogBusyError():
            message, way_out = "too much waits to be written to the disk", "send it again in a second"
            return refusal(429, message, way_out, {"Retry-After": "1"})
        case DiskFullError():
            return refusal(507, f"the log cannot be written: {error}", "make room on the disk of `--data`")
    return error
