"""A run in this process that can be resumed: its whole state in one file, replaced every few seconds.

    state         how long the outputs are, whether the run is over, which program it belongs to, and the state of the
                  runtime
    plan-<key>    the program, as far as a changed one must know it to go on (see `kept_program`)

The first one is taken before anything is read: a run that has begun has a state, and where there is none an output that
exists is not this run's. After a crash the outputs are cut to the lengths that the state says, the input is read on
from its position, and the answers that were cut off come again: a file has every answer once.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Final

from thalweg.answers.table import ParquetParts
from thalweg.connectors.transport import Sink
from thalweg.dataflow.context import Context
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.part import Part
from thalweg.kinds.units import AgedPlan
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.sealed import Format, seal, unseal
from thalweg.runtimes.checkpoint_folder import (
    Claim,
    complete,
    ended_at,
    locked,
    need_manifest,
    read_sealed,
    refused,
    replace_file,
)
from thalweg.runtimes.continued_output import continued, need_no_output, settled
from thalweg.runtimes.kept_program import Handover, KeptProgram, RunProgram, Source
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.stored_path import CheckpointPath

FORMAT: Final = Format(9, oldest=8)
"""The number changes when what a checkpoint holds does. From 8 on, a version reads what the one before has saved."""

_OF_PROGRAM: Final = ("--map", "--stream")
"""The options that are part of the program: predicates that read what they bring are changed with them."""

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
        self,
        folder: CheckpointPath,
        claim: Claim,
        every: float | None = None,
        clock: Callable[[], float] = monotonic,
        program: RunProgram | None = None,
    ) -> None:
        """The `program` of the run is what a changed one must know of it; without it none can go on."""
        self.folder = folder
        self._claim = claim
        self._program = program
        what = claim.fingerprint, *(claim.options.get(option) for option in _OF_PROGRAM)
        self._key = sha256(repr(what).encode()).hexdigest()[:32]
        self._saved_key: str | None = None
        self._kept: KeptProgram | None = None
        self._is_claimed = False
        self.is_changed = False
        """Whether the folder belongs to another program, which this one is to take over."""
        self.handover: Handover | None = None
        """How a changed program takes over, where one does."""
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
            self._check_program()
            self._stack = stack.pop_all()
        return self

    def _check_program(self) -> None:
        """Reads the folder; `RejectedError` where it is another program's, unless this one may take over."""
        begins = self._program is not None and self._program.begins
        other = self._claim.other_program(self.folder, begins=self._program is not None)
        if (self.folder / STATE).exists() and (other is None or self._program is not None):
            need_manifest(self.folder)
            self._saved_key = self._read()
        # The manifest of a changed program is written behind its first state, which therefore decides.
        is_own = self._saved_key == self._key
        self.is_changed = not is_own and (other is not None or self._saved_key is not None)
        if other is not None and not is_own and not begins:
            raise other
        self._claim.check_options(self.folder, _OF_PROGRAM if begins or is_own else ())
        if self.is_changed and not begins:
            raise refused(f"the checkpoint `{self.folder}` belongs to another program", begins=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _read(self) -> str | None:
        """Reads the state; the key of the program that it belongs to, where it is known."""
        header, self.state = read_state(self.folder)
        if header["malformed"] is not None:
            raise ended_at(self.folder, header["malformed"])
        self._lengths = header["lengths"]
        self.over = complete(self.folder) if header["over"] else None
        key: str | None = header.get("program")
        return key

    def plan(self, part: Part, context: Context, sources: Sequence[Source]) -> AgedPlan | None:
        """The plan of the run, and from which tick on each of its operators runs; None where the part's own will do.

        A changed program takes over here: `RejectedError` where it cannot.
        """
        program = self._program
        if program is None:
            return None
        earlier = read_kept(self.folder, self._saved_key)
        last = None if self.state is None else LocalRun.last_tick(self.state)
        if self.is_changed:
            if earlier is None:
                raise kept_nothing(self.folder)
            program.check_settings(earlier, f"the checkpoint `{self.folder}`")
        if earlier is None or last is None:
            self._kept = program.fresh(part, context, sources)
        elif self.is_changed:
            self._kept, self.handover = earlier.succeeded(part, context, program.units, last + 1, sources)
        else:
            self._kept = earlier.resumed(part, context, program.units)
        return self._kept.planned

    def claim(self) -> None:
        """Makes the folder this run's own, when nothing stands against the run any more."""
        self._claim.make(self.folder)
        # A file of the same name may be from when the program ran before, or began and was killed.
        if self._kept is not None and self._saved_key != self._key:
            replace_file(self.folder / plan_file(self._key), seal(self._kept.save(), FORMAT))
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

    def hurry(self) -> None:
        """A checkpoint is due at once."""
        self._due = self._clock()

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
        header = encode({"malformed": None, **about, "lengths": lengths, "program": self._key}, {})
        replace_file(self.folder / STATE, seal(frame([header, state]), FORMAT))
        if not self._is_claimed:
            self._is_claimed = True
            self._claim.make(self.folder, anew=self.is_changed)
            if self._saved_key not in (None, self._key):
                (self.folder / plan_file(self._saved_key)).unlink()


def plan_file(key: str | None) -> str:
    """The name of the file that has the program of a key."""
    return f"plan-{key}"


def read_kept(folder: CheckpointPath, key: str | None) -> KeptProgram | None:
    """What a checkpoint keeps of a program; None where a version of Thalweg made it that kept none."""
    return None if key is None else KeptProgram.load(read_sealed(folder / plan_file(key), FORMAT, unseal))


def kept_nothing(folder: CheckpointPath) -> RejectedError:
    """The error for a checkpoint without a program that a changed one could be compared with."""
    message = f"the checkpoint `{folder}` does not say what its program was: an earlier version of Thalweg made it"
    way_out = "resume it for a moment with the program that it was made with, then with the changed one"
    return RejectedError([Diagnostic("E408", message, help=way_out)])


def read_state(folder: CheckpointPath) -> tuple[dict[str, Any], bytes]:
    """What the state file says of the run, and the state of its runtime; `RejectedError` where it is damaged.

    The file is replaced as a whole and read at once, so this needs no lock.
    """
    about, state = unframe(read_sealed(folder / STATE, FORMAT, unseal))
    return decode(about)[0], state
