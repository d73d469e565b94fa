"""The lines that a generation of a program has answered: on disk, numbered from 1, and the latest of them in memory.

    lines-00000000000000000001     a segment is named by the number of its first line, so a number finds its file
    lines-00000000000000009310

A checkpoint says how many lines there are (`settle`). After a crash what lies behind that is cut off (`cut`), and
comes again with the same numbers.
"""

import json
import struct
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Final

from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import RejectedError
from thalweg.service.frame_file import FrameFile, frame
from thalweg.service.log import DiskFullError
from thalweg.service.recent import Recent

FORMAT: Final = StateFormat("lines")
"""The form of the files of lines."""

_FILE: Final = 8 << 20
"""A file that has so many bytes is followed by another one."""
_SHARE: Final = 8
"""Of what may be kept a file has at most this part, but at least so many bytes."""
_SMALLEST: Final = 1 << 16
_RECENT: Final = 1 << 20
"""As many bytes of lines are kept in memory."""
_LINE: Final = 250
"""About as many bytes does a line need in memory besides its text."""
_CHUNK: Final = 1 << 18
"""About so many bytes are read at once."""

_NEVER: Final = 1 << 63
"""A number that no line has."""

_HEAD: Final = struct.Struct("<qI")
_NAME: Final = "lines-"


@dataclass(frozen=True, slots=True)
class Line:
    """A line as `thalweg run --format jsonl` writes it, without its end, and the tick that it is about.

    `until` has the facts that begin and are guaranteed until a tick, with that tick (not yet written as a time).
    """

    text: bytes
    t: int
    until: Mapping[str, int] = field(default_factory=dict)


def _framed(line: Line) -> bytes:
    until = json.dumps(line.until).encode() if line.until else b""
    return frame(_HEAD.pack(line.t, len(until)), until, line.text)


def _read_line(payload: memoryview) -> Line:
    t, length = _HEAD.unpack_from(payload)
    begin = _HEAD.size + length
    until = json.loads(bytes(payload[_HEAD.size : begin])) if length else {}
    return Line(bytes(payload[begin:]), t, until)


class LinesFile:
    """A file of lines, from a number on. Those that were finished before the process began are read when need be."""

    def __init__(self, folder: Path, first: int) -> None:
        """Opens the file that begins with a number, or makes it."""
        self.first = first
        self.file = FrameFile(folder / f"{_NAME}{first:020}", FORMAT)
        self._size = self.file.path.stat().st_size
        self._is_known = False
        self._lock = Lock()

    def known(self) -> FrameFile:
        """Its frames; what is not whole behind them is left out."""
        with self._lock:
            if not self._is_known:
                self.file.scan()
                self._is_known = True
        return self.file

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.first + self.known().count - 1

    @property
    def size(self) -> int:
        return self.file.size if self._is_known else self._size

    def open_newest(self) -> None:
        """Cuts off what is not whole, so that lines can be added."""
        self.known().cut_tail()

    def read(self, number: int, limit: int) -> list[Line]:
        """Up to `limit` lines from a number on; none where it is behind the last."""
        most = min(_CHUNK, limit * _LINE)
        return [_read_line(payload) for payload in self.known().read(number - self.first, limit, most)]

    def is_older(self, instant: float) -> bool:
        """Whether it was finished before an instant."""
        return self.file.path.stat().st_mtime < instant

    def remove(self) -> None:
        """Removes the file."""
        self.file.close()
        self.file.path.unlink(missing_ok=True)


class AnswerLines:
    """The lines of a generation. `add` is for one thread, the program's; everything else may be asked from any.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     lines = AnswerLines(Path(folder))
    ...     lines.add([Line(b'{"t":3,"begin":["jam(b)"],"end":[]}', 3, {"jam(b)": 13}), Line(b'{"t":14}', 14)])
    ...     lines.read(1, 10), lines.settle()
    ...     lines.close()
    ([(2, Line(text=b'{"t":14}', t=14, until={}))], 2)
    """

    last: int
    """The number of the last line; 0 before the first."""

    def __init__(self, folder: Path, file_size: int = _FILE) -> None:
        """Opens the lines in a folder, which is made where it is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._file_size = file_size
        numbers = sorted(int(path.name.removeprefix(_NAME)) for path in folder.glob(f"{_NAME}{'[0-9]' * 20}"))
        self._files = tuple(LinesFile(folder, first) for first in numbers or [1])
        self._newest.open_newest()
        self.last = self._newest.last
        self._recent: Recent[Line] = Recent(_RECENT)
        self._lock = Lock()
        self._cuts = 0
        self._listeners: tuple[Callable[[], None], ...] = ()

    @property
    def _newest(self) -> LinesFile:
        return self._files[-1]

    @property
    def first(self) -> int:
        """The number of the first line that is kept; one more than `last` where none is."""
        return self._files[0].first

    @property
    def bytes(self) -> int:
        """How much is kept on disk."""
        return sum(file.size for file in self._files)

    def add(self, lines: Sequence[Line]) -> None:
        """Takes lines; listeners are told when they can be read. `DiskFullError` where none of them can be written."""
        frames = [_framed(line) for line in lines]
        with self._lock:
            try:
                if self._newest.size >= self._file_size:
                    self._begin_file()
                self._newest.file.append(frames)
            except OSError as error:
                raise DiskFullError(f"cannot write `{self._newest.file.path}`: {error}") from None
            for number, line in enumerate(lines, self.last + 1):
                self._recent.add(number, line, len(line.text) + _LINE * (1 + len(line.until)))
            self.last += len(lines)
        for heard in self._listeners:
            heard()

    def _begin_file(self) -> None:
        # What is finished is never looked at again by `settle`.
        self._newest.file.sync()
        following = LinesFile(self._folder, self.last + 1)
        self._newest.file.close()
        following.open_newest()
        self._files += (following,)

    def read(self, after: int, limit: int, most: int = 1 << 62) -> list[tuple[int, Line]]:
        """Up to `limit` lines strictly behind a number, each with its own, of about so many bytes at most.

        Where the first of them is not `after + 1`, what lies between is no longer kept.
        """
        numbered: list[tuple[int, Line]] = []
        last = self.last
        while most > 0 and len(numbered) < limit and (number := max(after + 1, self.first)) <= last:
            end = min(last, number + limit - len(numbered) - 1)
            lines = self._recent.run(number, end, min(_CHUNK, most))
            if not lines:
                number, lines = self._read_file(number, end)
                if number > last:
                    break
            numbered += enumerate(lines, number)
            most -= sum(len(line.text) for line in lines)
            after = number + len(lines) - 1
        return numbered

    def _read_file(self, number: int, end: int) -> tuple[int, list[Line]]:
        """Lines up to a number from the file that has the first, and its number; else where the next file begins.

        Where none follows, because lines have been cut off just now, nothing is left to be read: `_NEVER`.
        """
        files = self._files
        place = bisect_right(files, number, key=attrgetter("first")) - 1
        # Where the file has been removed just now, the next one may have some.
        with suppress(FileNotFoundError):
            if place >= 0 and (lines := self._whole(files[place], number, end - number + 1)):
                return number, lines
        return (files[place + 1].first if place + 1 < len(files) else _NEVER), []

    def _whole(self, file: LinesFile, number: int, limit: int) -> list[Line]:
        """Lines of a file; what is cut off while they are read is no damage."""
        while True:
            cuts = self._cuts
            try:
                return file.read(number, limit)
            except RejectedError:
                with self._lock:
                    if cuts == self._cuts:
                        raise

    def listen(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Calls a function on the program's thread after each `add`; returns how to stop that."""

        def stop() -> None:
            with self._lock:
                self._listeners = tuple(listener for listener in self._listeners if listener is not heard)

        with self._lock:
            self._listeners += (heard,)
        return stop

    def settle(self) -> int:
        """Makes sure that all lines stay; the number of the last one. `DiskFullError` where the disk refuses."""
        with self._lock:
            try:
                self._newest.file.sync()
            except OSError as error:
                raise DiskFullError(f"cannot write `{self._newest.file.path}`: {error}") from None
            return self.last

    def cut(self, last: int) -> None:
        """Forgets every line behind a number: they will come again.

        Where lines up to that number have been lost, the next one has the number behind it all the same.
        """
        with self._lock:
            while self._files and (self._newest.first > last + 1 or self._is_lost(self._newest, last)):
                self._newest.remove()
                self._files = self._files[:-1]
            if self._files and self._newest.last >= last:
                self._newest.open_newest()
                self._newest.file.truncate(last - self._newest.first + 1)
            else:
                self._files += (LinesFile(self._folder, last + 1),)
                self._newest.open_newest()
            self._recent.drop_after(last)
            self.last = last
            self._cuts += 1

    @staticmethod
    def _is_lost(file: LinesFile, last: int) -> bool:
        """Whether a file has nothing, and is not the one that goes on behind a number."""
        return file.known().count == 0 and file.first != last + 1

    def drop_before(self, instant: float, most: int) -> None:
        """Removes segments that were finished before an instant (seconds since 1970), or are beyond so many bytes.

        Those to come have a share of these bytes, so that little is beyond them.
        """
        with self._lock:
            self._file_size = min(self._file_size, max(most // _SHARE, _SMALLEST))
            size = self.bytes
            while len(self._files) > 1 and (size > most or self._files[0].is_older(instant)):
                oldest, self._files = self._files[0], self._files[1:]
                size -= oldest.size
                oldest.remove()
            self._recent.drop_before(self.first)

    def close(self) -> None:
        """Nothing more is added."""
        with self._lock:
            self._newest.file.close()
