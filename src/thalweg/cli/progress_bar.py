"""How far a long run has come: one line on a terminal's standard error, and nothing anywhere else."""

import sys
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final

from thalweg.connectors.files import FileTransport, size_of
from thalweg.connectors.transport import Transport

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE: Final = 2.0
PAUSE: Final = 0.2


class Meter:
    """Shows itself when a run has lasted long enough to wonder, unless the answers go to the same terminal."""

    def __init__(self, transports: Sequence[Transport], answers_on_terminal: bool) -> None:
        self._files = [transport for transport in transports if isinstance(transport, FileTransport)]
        self._silent = not self._files or answers_on_terminal or not sys.stderr.isatty()
        self._due = monotonic() + PATIENCE
        self._bar: tuple[Progress, TaskID] | None = None

    def beat(self, tick: int | None) -> None:
        """Called often; does something now and then."""
        if self._silent or (moment := monotonic()) < self._due:
            return
        self._due = moment + PAUSE
        bar, task = self._bar = self._bar or self._show()
        bar.update(task, completed=sum(file.taken for file in self._files), description=f"tick {tick}")

    def _show(self) -> "tuple[Progress, TaskID]":
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        # How much a packed file holds is known only at its end.
        packed = any(file.path.suffix == ".gz" for file in self._files)
        total = None if packed else sum(size_of(file.path) for file in self._files)
        bar.start()
        return bar, bar.add_task("", total=total)

    def close(self) -> None:
        if self._bar:
            self._bar[0].stop()
