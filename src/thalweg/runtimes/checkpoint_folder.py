"""A checkpoint folder: one run at a time uses it, and it belongs to one program with its options.

program.json    the program as people read it, a fingerprint of all that the state depends on, the options, and which
                version of Thalweg made it
lock            held while a run uses the folder; on another file system there is a lease (see `lease`)
"""

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from thalweg.connectors.lines import SKIP
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.arrow import DamagedError
from thalweg.model.sealed import Format, OtherFormatError, seal_json, unseal_json
from thalweg.runtimes.lease import leased
from thalweg.runtimes.stored_path import CheckpointPath, StoredPath

MANIFEST: Final = "program.json"
_NO_FORMAT: Final = Format(0, 0)

T = TypeVar("T")
F = TypeVar("F", Format, Format | None)

_AGAIN: Final = "to run it again, name a new folder"


class FolderCheck(Protocol):
    """Raises `RejectedError` if another run has taken a checkpoint folder."""

    def __call__(self, is_saving: bool = True) -> None:
        """With `is_saving`, checks on the disk as well; without, only what this process has noticed."""


@contextmanager
def locked(folder: CheckpointPath) -> Iterator[FolderCheck]:
    """Keeps a checkpoint folder from two runs at once; however a run ends, the folder is free again.

    Yields a check to call before each save.
    """
    if isinstance(folder, StoredPath):
        with ExitStack() as stack:
            try:
                lease = stack.enter_context(leased(folder))
            except OSError as error:
                raise _unusable(folder, error) from None
            yield lease.check
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("w")
    except OSError as error:
        raise _unusable(folder, error) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RejectedError([Diagnostic("E408", f"another run is using the checkpoint `{folder}`")]) from None
        # A lock is not lost while its file is open.
        yield lambda is_saving=True: None


def _unusable(folder: CheckpointPath, error: OSError) -> RejectedError:
    return RejectedError([Diagnostic("E401", f"cannot use `{folder}` for checkpoints: {error.strerror}")])


@dataclass(frozen=True, slots=True)
class Claim:
    """What a checkpoint belongs to: a program, its fingerprint, and options that must not change on the way.

    `format` is that in which the runtime saves its state.
    """

    program: str
    fingerprint: str
    options: Mapping[str, object] = field(default_factory=dict)
    format: Format = _NO_FORMAT

    def check(self, folder: CheckpointPath) -> None:
        """Refuses a folder that belongs to another program, or to a run with other options."""
        other = self.other_program(folder)
        if other is not None:
            raise other
        self.check_options(folder)

    def other_program(self, folder: CheckpointPath, begins: bool = False) -> RejectedError | None:
        """The error for a folder that belongs to another program, or to this one with other settings.

        The run `begins` with a changed program where the user wants that.
        """
        manifest = self._manifest(folder)
        if manifest is None:
            return None
        if manifest["program"] != self.program:
            return refused(f"the checkpoint `{folder}` belongs to another program", begins)
        if manifest["fingerprint"] != self.fingerprint:
            return refused(f"the checkpoint `{folder}` belongs to the same program with other settings")
        return None

    def check_options(self, folder: CheckpointPath, may_differ: Collection[str] = ()) -> None:
        """Refuses a folder that belongs to a run with other options."""
        manifest = self._manifest(folder)
        if manifest is None:
            return
        for option, value in self.options.items():
            if option not in may_differ and manifest["options"].get(option) != value:
                raise refused(f"the checkpoint `{folder}` belongs to a run with another `{option}`")

    def _manifest(self, folder: CheckpointPath) -> dict[str, Any] | None:
        manifest = folder / MANIFEST
        return read_sealed(manifest, self.format, unseal_json) if manifest.exists() else None

    def make(self, folder: CheckpointPath, anew: bool = False) -> None:
        """Makes a folder that belongs to no run this run's own; `anew`, also one that belongs to another."""
        manifest = folder / MANIFEST
        if anew or not manifest.exists():
            data = {"fingerprint": self.fingerprint, "program": self.program, "options": dict(self.options)}
            replace_file(manifest, seal_json(data, self.format))


def read_sealed(file: CheckpointPath, format: F, unsealed: Callable[[bytes, F], T]) -> T:
    """What a file of a checkpoint holds; `RejectedError` where it is damaged, or of another version of Thalweg."""
    try:
        data = file.read_bytes()
    except OSError as error:
        message = f"cannot read `{file}` of the checkpoint: {error.strerror}"
        raise RejectedError([Diagnostic("E401", message)]) from None
    try:
        return unsealed(data, format)
    except OtherFormatError as error:
        way_out = "finish the run with that version, or name a new folder and another output"
        raise RejectedError([Diagnostic("E408", f"the checkpoint `{file.parent}` {error}", help=way_out)]) from None
    except DamagedError:
        if file.name == MANIFEST and _is_before_checksums(data):
            message = f"the checkpoint `{file.parent}` {OtherFormatError('an earlier Thalweg', format)}"
            raise RejectedError([Diagnostic("E408", message, help="name a new folder and another output")]) from None
        raise damaged(file) from None


def _is_before_checksums(manifest: bytes) -> bool:
    """Whether a manifest is of a version that wrote no checksum."""
    try:
        return set(json.loads(manifest)) == {"fingerprint", "program", "options"}
    except (ValueError, TypeError, RecursionError):
        return False


def need_manifest(folder: CheckpointPath) -> None:
    """Refuses a folder with a state that could be any program's."""
    if not (folder / MANIFEST).exists():
        raise damaged(folder / MANIFEST)


def damaged(file: CheckpointPath) -> RejectedError:
    """The error for a file of a checkpoint that is not what was written to it."""
    way_out = "restore the folder from a copy; or start again with a new folder and another output"
    return RejectedError([Diagnostic("E408", f"`{file}` of the checkpoint is damaged", help=way_out)])


def refused(message: str, begins: bool = False) -> RejectedError:
    """The error for a checkpoint that cannot be used; where a changed program `begins`, the user may choose that."""
    other = ", go on with the changed one (`--on-change begin`)" if begins else ""
    help_ = f"resume it with the program and options that it was made with{other}, or name a new folder"
    return RejectedError([Diagnostic("E408", message, help=help_)])


def complete(folder: CheckpointPath) -> Diagnostic:
    """The warning that a run has nothing left to do."""
    return Diagnostic("W416", f"the run of checkpoint `{folder}` is complete: there is nothing to do", help=_AGAIN)


def ended_at(folder: CheckpointPath, malformed: str) -> RejectedError:
    """The error for a run that is over because it came to a malformed line, whose diagnostic was written then."""
    first = malformed.splitlines()[0].partition(": ")[2]
    way_out = f"correct it, or leave it out with {SKIP}, and run with a new checkpoint folder"
    message = f"the run of checkpoint `{folder}` ended with this error: {first}"
    return RejectedError([Diagnostic("E301", message, help=way_out)])


def replace_file(path: CheckpointPath, content: bytes) -> None:
    """Writes a file so that it has either its old content or all of the new one, also after a power failure."""
    if isinstance(path, StoredPath):
        path.write_bytes(content)
        return
    unfinished = path.with_name(f"{path.name}.unfinished")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
