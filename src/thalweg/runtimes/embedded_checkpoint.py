"""A run in this process that can be resumed: its whole state in one file, replaced every few seconds.

    state    how long the outputs are, whether the run is over, and the state of the runtime

The first one is taken before anything is read: a run that has begun has a state, and where there is none an output that
exists is not this run's. After a crash the outputs are cut to the lengths that the state says, the input is read on
from its position, and the answers that were cut off come again: a file has every answer once.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Final

from thalweg.answers.table import ParquetParts
from thalweg.connectors.transport import Sink
from thalweg.diagnostics import Diagnostic
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.sealed import Format, seal, unseal
from thalweg.runtimes.checkpoint_folder import (
    Claim,
    complete,
    ended_at,
    locked,
    need_manifest,
    read_sealed,
    replace_file,
)
from thalweg.runtimes.continued_output import continued, need_no_output, settled
from thalweg.runtimes.stored_path import CheckpointPath

FORMAT: Final = Format(9, oldest=8)
"""The number changes when what a checkpoint holds does. From 8 on, a version reads what the one before has saved."""

EVERY: Final = 3.0
"""Seconds from one checkpoint to the next."""

STATE: Final = "state"

# A checkpoint that takes long is taken less often: at most this share of the time goes into it.
_SHARE: Final = 0.1


class EmbeddedCheckpoint:
    """The checkpoint folder of a run, held from `with` to its end.

    `every` is the number of seconds between two checkpoints, by a `clock` that never goes back.
    """

    def __init__(
        self, folder: CheckpointPath, claim: Claim, every: float | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self.folder = folder
        self._claim = claim
        self._every = EVERY if every is None else every
        self._clock = clock
        self._stack = ExitStack()
        self._need_folder: Callable[[], None] = lambda: None
        self._due = 0.0
        self._sinks: dict[str, Sink | ParquetParts] = {}
        self._lengths: Mapping[str, int] = {}
        self.state: bytes | None = None
        """What the runtime has to load; None at the beginning of a run."""
        self.over: Diagnostic | None = None
        """Says that the run is over, where it is."""

    def __enter__(self) -> "EmbeddedCheckpoint":
        """Holds the folder and reads it; `RejectedError` where it is not this run's, or the run ended with an error."""
        with ExitStack() as stack:
            self._need_folder = stack.enter_context(locked(self.folder))
            self._claim.check(self.folder)
            if (self.folder / STATE).exists():
                need_manifest(self.folder)
                self._read()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _read(self) -> None:
        header, self.state = read_state(self.folder)
        if header["malformed"] is not None:
            raise ended_at(self.folder, header["malformed"])
        self._lengths = header["lengths"]
        self.over = complete(self.folder) if header["over"] else None

    def claim(self) -> None:
        """Makes the folder this run's own, when nothing stands against the run any more."""
        self._claim.make(self.folder)
        self._due = self._clock() + self._every

    def open(self, name: str, path: str | None) -> Sink | ParquetParts:
        """Opens an output of the run under a name; a file goes on where the last checkpoint saw it.

        A `table` is a folder of Parquet files, one for each checkpoint that had rows.
        """
        if self.state is None:
            need_no_output(path)
        length = self._lengths.get(name, 0)
        self._sinks[name] = sink = (
            ParquetParts(Path(path or ""), length) if name == "table" else continued(path, length)
        )
        return sink

    @property
    def is_due(self) -> bool:
        return self._clock() >= self._due

    def pause(self) -> float:
        return max(0.0, self._due - self._clock())

    def save(self, state: Callable[[], bytes]) -> None:
        """Takes a checkpoint: everything that was answered so far stays, and what comes is answered from here on."""
        began = self._clock()
        self._write(state(), over=False)
        ended = self._clock()
        self._due = ended + max(self._every, (ended - began) / _SHARE)

    def finish(self, malformed: Diagnostic | None) -> None:
        """The run is over, at the end of its streams or at a malformed line."""
        self._write(b"", over=True, malformed=None if malformed is None else malformed.render())

    def _write(self, state: bytes, **about: Any) -> None:
        self._need_folder()
        lengths = {name: settled(sink) for name, sink in self._sinks.items()}
        header = encode({"malformed": None, **about, "lengths": lengths}, {})
        replace_file(self.folder / STATE, seal(frame([header, state]), FORMAT))


def read_state(folder: CheckpointPath) -> tuple[dict[str, Any], bytes]:
    """What the state file says of the run, and the state of its runtime; `RejectedError` where it is damaged.

    The file is replaced as a whole and read at once, so this needs no lock.
    """
    about, state = unframe(read_sealed(folder / STATE, FORMAT, unseal))
    return decode(about)[0], state
