"""Paths of checkpoints on other file systems: `s3://lake/runs/city`, with what a `Path` of this machine has.

A checkpoint is a few small files that are replaced as a whole. Object stores do that by themselves. Elsewhere a file
is written under another name first, and the old one must be deleted before the new one gets its name:

    state.writing       is being written, and is never read
    state.unfinished    has been written as a whole; read where there is no `state`, because a run was killed
    state
"""

import errno
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal
from urllib.parse import unquote, urlsplit

from thalweg.connectors.storage import is_stored, open_filesystem, read_errors, reason_of
from thalweg.diagnostics import without_secrets

_WRITING: Final = ".writing"
_UNFINISHED: Final = ".unfinished"
# Here a file appears, or is replaced, when it is closed.
_ATOMIC: Final = ("s3", "s3a", "s3n", "gs", "gcs")


@dataclass(frozen=True, slots=True)
class StoredPath:
    """A file or folder that a URI names; `place` is where it is in its file system.

    >>> StoredPath("s3a://lake/runs?region=eu-west-1", None, "lake/runs") / "state"
    StoredPath(uri='s3a://lake/runs/state?region=eu-west-1', place='lake/runs/state')
    """

    uri: str
    filesystem: Any = field(repr=False, compare=False)
    place: str

    def taken_apart(self) -> tuple[str, str]:
        return self.uri, self.place

    @classmethod
    def put_together(cls, uri: str, place: str) -> "StoredPath":
        """The path in another process, which opens the file system if it uses it."""
        return cls(uri, _OpenedOnUse(uri), place)

    def __truediv__(self, name: str) -> "StoredPath":
        address, mark, options = self.uri.partition("?")
        uri = f"{posixpath.join(address, name)}{mark}{options}"
        return StoredPath(uri, self.filesystem, posixpath.join(self.place, name))

    def __str__(self) -> str:
        return without_secrets(self.uri.partition("?")[0])

    @property
    def name(self) -> str:
        return posixpath.basename(self.place)

    @property
    def parent(self) -> "StoredPath":
        address, mark, options = self.uri.partition("?")
        return StoredPath(
            f"{posixpath.dirname(address)}{mark}{options}", self.filesystem, posixpath.dirname(self.place)
        )

    def absolute(self) -> "StoredPath":
        """It is."""
        return self

    def exists(self) -> bool:
        """Whether there is such a file or folder."""
        return any(map(self._is_there, self._names))

    def iterdir(self) -> "Iterator[StoredPath]":
        """What a folder contains."""
        from pyarrow.fs import FileSelector

        with _as_os_errors():
            entries = self.filesystem.get_file_info(FileSelector(self.place))
        return (self / posixpath.basename(entry.path) for entry in entries)

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """A file, opened for reading, some of it at a time."""
        with _as_os_errors():
            file: BinaryIO = BufferedReader(self.filesystem.open_input_stream(self._present))
        return file

    def read_bytes(self) -> bytes:
        """The content of a file; `OSError` where it cannot be read."""
        try:
            return self._read()
        except FileNotFoundError:
            # It may have been replaced between the look and the reading.
            return self._read()

    def read_text(self, encoding: str = "utf-8") -> str:
        """The same as text."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, content: bytes) -> None:
        """Writes a file so that it has either its old content or all of the new one; `OSError` where it cannot."""
        with _as_os_errors():
            if self._is_atomic:
                self._write(self.place, content)
                return
            self.filesystem.create_dir(posixpath.dirname(self.place), recursive=True)
            writing, unfinished = self.place + _WRITING, self.place + _UNFINISHED
            self._write(writing, content)
            if self._is_there(unfinished) and not self._is_there(self.place):
                # The only copy, from when a run was killed.
                self.filesystem.move(unfinished, self.place)
            self._move(writing, unfinished)
            self._move(unfinished, self.place)

    def unlink(self, missing_ok: bool = True) -> None:
        """Removes a file, if there is one, and what is left of writing it."""
        with _as_os_errors():
            if not self._is_atomic:
                self._delete(self.place + _WRITING)
                self._delete(self.place + _UNFINISHED)
            self._delete(self.place)

    @property
    def _is_atomic(self) -> bool:
        return self.uri.partition("://")[0] in _ATOMIC

    @property
    def _names(self) -> tuple[str, ...]:
        """Where to look for a file, in turn: one that is just being replaced goes from the second name to the first."""
        return (self.place,) if self._is_atomic else (self.place, self.place + _UNFINISHED, self.place)

    @property
    def _present(self) -> str:
        """The name that a file has now."""
        return next(filter(self._is_there, self._names), self.place)

    def _read(self) -> bytes:
        with _as_os_errors(), self.filesystem.open_input_stream(self._present) as file:
            content: bytes = file.read()
        return content

    def _move(self, place: str, target: str) -> None:
        self._delete(target)
        self.filesystem.move(place, target)

    def _delete(self, place: str) -> None:
        if self._is_there(place):
            self.filesystem.delete_file(place)

    def _write(self, place: str, content: bytes) -> None:
        with self.filesystem.open_output_stream(place) as file:
            file.write(content)

    def _is_there(self, place: str) -> bool:
        from pyarrow.fs import FileType

        with _as_os_errors():
            return bool(self.filesystem.get_file_info(place).type != FileType.NotFound)


@dataclass
class _OpenedOnUse:
    """The file system that a URI names, opened when something is asked of it: most tasks never do."""

    uri: str

    @cached_property
    def _filesystem(self) -> Any:
        return open_filesystem(self.uri)[0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._filesystem, name)


CheckpointPath = Path | StoredPath
"""Where a checkpoint is: on this machine, or on another file system."""


def checkpoint_path(name: str) -> CheckpointPath:
    """The path that a name stands for; `RejectedError` where it is on a file system that cannot be opened.

    >>> checkpoint_path("state"), checkpoint_path("file:///data/my%20runs")
    (PosixPath('state'), PosixPath('/data/my runs'))
    """
    if not is_stored(name):
        return Path(name)
    if name.startswith("file://"):
        return Path(unquote(urlsplit(name).path))
    filesystem, place = open_filesystem(name)
    return StoredPath(name, filesystem, place.rstrip("/"))


class _as_os_errors:  # noqa: N801
    """What pyarrow raises, as an `OSError` with a sentence."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, read_errors()) and getattr(error, "strerror", None) is None:
            raise OSError(errno.EIO, reason_of(error)) from error
