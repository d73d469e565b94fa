"""Limits of time and memory for a process and all that it starts; it ends when it exceeds them.

    limit_this_process     inside: the system ends it after so many seconds of CPU, and gives it no more memory
    LimitedProcess         outside: looks at what the whole session takes, solvers and a virtual machine among them

Address space is not limited: Java and the compiler of kernels reserve far more of it than they use.
"""

import os
import resource
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Thread
from time import monotonic
from typing import Final

CPU_SECONDS: Final = 10
MEMORY: Final = 512 << 20
"""The bytes that a session may have in memory."""

_DATA: Final = 2 * MEMORY
"""What one process may allocate: part of it is never used."""
_WALL_SECONDS: Final = 60.0
_LOOK: Final = 0.1


def limit_this_process() -> None:
    """Bounds what this process, and each that it starts, may take."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA, _DATA))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # By itself Java takes a share of the machine, which is more than it gets where that is large.
    java = os.environ.get("JAVA_TOOL_OPTIONS", "")
    os.environ["JAVA_TOOL_OPTIONS"] = f"{java} -Xms16m -Xmx{MEMORY >> 21}m".lstrip()


class LimitedProcess:
    """A process in a session of its own, which is ended as a whole."""

    def __init__(self, command: Sequence[str]) -> None:
        # A file, and no pipe: processes that it has started would keep a pipe open.
        self._errors = TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
        )
        self._complaints = b""
        self._over = Event()
        self.excess: str | None = None
        """What it took too much of, where it was ended for that."""

    @property
    def returncode(self) -> int | None:
        """How it has ended; negative, the signal."""
        code: int | None = self._process.returncode
        return code

    def communicate(self, text: bytes) -> bytes:
        """Sends a text; what it has written, when it has ended."""
        watch = Thread(target=self._watch, name="playground limits", daemon=True)
        watch.start()
        try:
            written, _ = self._process.communicate(text)
            return written
        finally:
            self._over.set()
            watch.join()
            self._errors.seek(0)
            self._complaints = self._errors.read()
            self._errors.close()

    def errors(self) -> str:
        """What it had written to its standard error when it had ended."""
        return self._complaints.decode(errors="replace")

    def _watch(self) -> None:
        end = monotonic() + _WALL_SECONDS
        while not self._over.wait(_LOOK):
            use = SessionUse.of(self._process.pid)
            self.excess = use.excess() or (f"it took more than {_WALL_SECONDS:.0f} s" if monotonic() > end else None)
            if self.excess is not None:
                self.kill()
                return

    def kill(self) -> None:
        """Ends it now, and all that it has started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            # All of them have ended.
            return


@dataclass(frozen=True, slots=True)
class SessionUse:
    """What the processes of a session take: seconds of CPU, and bytes that are in memory."""

    cpu: float = 0.0
    memory: int = 0

    @classmethod
    def of(cls, session: int) -> "SessionUse":
        """That of the processes that live; nothing where the system does not say.

        >>> use = SessionUse.of(os.getsid(0))
        >>> use.cpu > 0, use.memory > 1_000_000
        (True, True)
        """
        used = list(_used_by(session))
        return cls(sum(use.cpu for use in used), sum(use.memory for use in used))

    def excess(self) -> str | None:
        """What is more than the limit; None where nothing is.

        >>> SessionUse(3.0, 1 << 30).excess(), SessionUse(3.0).excess()
        ('it took more than 512 MB of memory', None)
        """
        if self.cpu > CPU_SECONDS:
            return f"it took more than {CPU_SECONDS} s of CPU"
        return f"it took more than {MEMORY >> 20} MB of memory" if self.memory > MEMORY else None


def _used_by(session: int) -> Iterator[SessionUse]:
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of the command, in parentheses, may hold anything.
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            # Times of children that have ended are those of their parent.
            cpu = sum(map(int, fields[11:15])) / ticks
            yield SessionUse(cpu, int(fields[21]) * page)
