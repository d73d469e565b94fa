"""A checkpoint folder: one run at a time uses it, and it belongs to one program with its options.

program.json    the program as people read it, a fingerprint of all that the state depends on, and the options
lock            held while a run uses the folder
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError

MANIFEST: Final = "program.json"

_AGAIN: Final = "to run it again, name a new folder"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keeps a checkpoint folder from two runs at once; however a run ends, the folder is free again."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("w")
    except OSError as error:
        raise RejectedError([Diagnostic("E401", f"cannot use `{folder}` for checkpoints: {error.strerror}")]) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RejectedError([Diagnostic("E408", f"another run is using the checkpoint `{folder}`")]) from None
        yield


@dataclass(frozen=True, slots=True)
class Claim:
    """What a checkpoint belongs to: a program, its fingerprint, and options that must not change on the way."""

    program: str
    fingerprint: str
    options: Mapping[str, object] = field(default_factory=dict)

    def check(self, folder: Path) -> None:
        """Refuses a folder that belongs to another program, or to a run with other options."""
        manifest = folder / MANIFEST
        if not manifest.exists():
            return
        try:
            known = json.loads(manifest.read_text(encoding="utf-8"))
            fingerprint, program, given = known["fingerprint"], known["program"], known["options"]
        except (ValueError, KeyError, TypeError):
            raise refused(f"`{folder}` is not a checkpoint: its `{MANIFEST}` cannot be read") from None
        if program != self.program:
            raise refused(f"the checkpoint `{folder}` belongs to another program")
        if fingerprint != self.fingerprint:
            raise refused(f"the checkpoint `{folder}` belongs to the same program with other settings")
        for option, value in self.options.items():
            if given.get(option) != value:
                raise refused(f"the checkpoint `{folder}` belongs to a run with another `{option}`")

    def make(self, folder: Path) -> None:
        """Makes a folder that belongs to no run this run's own."""
        manifest = folder / MANIFEST
        if not manifest.exists():
            data = {"fingerprint": self.fingerprint, "program": self.program, "options": dict(self.options)}
            replace_file(manifest, json.dumps(data).encode())


def refused(message: str) -> RejectedError:
    """The error for a checkpoint that cannot be used."""
    help_ = "resume it with the program and options that it was made with, or name a new folder"
    return RejectedError([Diagnostic("E408", message, help=help_)])


def complete(folder: Path) -> Diagnostic:
    """The warning that a run has nothing left to do."""
    return Diagnostic("W416", f"the run of checkpoint `{folder}` is complete: there is nothing to do", help=_AGAIN)


def ended_at(folder: Path, malformed: str) -> RejectedError:
    """The error for a run that is over because it came to a malformed line, whose diagnostic was written then."""
    first = malformed.splitlines()[0].partition(": ")[2]
    way_out = "correct it and run with a new checkpoint folder"
    message = f"the run of checkpoint `{folder}` ended with this error: {first}"
    return RejectedError([Diagnostic("E301", message, help=way_out)])


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file so that it has either its old content or all of the new one, also after a power failure."""
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
