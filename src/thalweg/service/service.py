"""The service: a folder with a log, streams and programs, and the threads that go with them; nothing of HTTP."""

from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thalweg.service.programs import Programs

if TYPE_CHECKING:
    from thalweg.service.log import Log
    from thalweg.service.playground import Playground
    from thalweg.service.streams import LoggedStreams


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """For how long, and in how many bytes, the log and the answers are kept; how large one body may be."""

    retain_seconds: float = 24 * 3600.0
    retain_bytes: int = 10 * 1_000_000_000
    max_body: int = 16 << 20


DEFAULTS: Final = ServiceOptions()


class Service:
    """Everything that lives as long as the process does."""

    log: "Log"
    streams: "LoggedStreams"
    programs: Programs
    playground: "Playground"

    def __init__(self, folder: Path, options: ServiceOptions = DEFAULTS) -> None:
        """Takes the folder, or makes it; `RejectedError` (E408) where another service uses it, or it is not ours."""
        raise NotImplementedError

    def start(self) -> None:
        """Starts the programs and what keeps time in the log. Returns at once; `ready` says when all is as before."""
        raise NotImplementedError

    def ready(self) -> tuple[bool, list[str]]:
        """Whether all programs have caught up; else why not: `["compiling", "program jam: catching up 62 %"]`."""
        raise NotImplementedError

    def post(self, stream: str, media: str, body: bytes, *, skip: bool, key: str | None) -> Future[dict[str, Any]]:
        """Takes facts of a stream; the future has the answer once they are on disk.

        `RefusedError`: 404 no such stream, 415 media type, 400 bad lines, 429 too much waits, 507 the disk is full.
        """
        raise NotImplementedError

    def close(self, seconds: float = 9.0) -> None:
        """Ends all threads within a time; programs are saved as far as it allows."""
        raise NotImplementedError
