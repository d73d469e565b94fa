"""A file of frames: what was written and synced is read again, and what a crash has left half written is cut off.

    thalweg log 1          a line of text: what the file holds, and the version of its form
    length checksum …      a frame: eight bytes, and a payload

Frames have ordinals from 0 on. Where each of some frames begins is known (`_offsets`), so that any is found at once.
"""

import mmap
import os
import re
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final
from zlib import crc32

from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.checkpoint_folder import replace_file

_FRAME: Final = struct.Struct("<II")
_SPACING: Final = 1 << 16
"""At most so many bytes of frames are passed over before the one that is looked for."""

_HEADER: Final = re.compile(rb"thalweg ([a-z ]+) (\d+)\n")
_LONGEST_HEADER: Final = 64


def frame(*parts: bytes) -> bytes:
    """A payload, which is given in parts, as it stands in a file.

    >>> len(frame(b"body", b"tail"))
    16
    """
    checksum = 0
    for part in parts:
        checksum = crc32(part, checksum)
    return b"".join((_FRAME.pack(sum(map(len, parts)), checksum), *parts))


def _payload_at(data: memoryview, offset: int) -> memoryview | None:
    """The payload of the frame that begins there; None where there is no whole one."""
    begin = offset + _FRAME.size
    if begin > len(data):
        return None
    length, checksum = _FRAME.unpack_from(data, offset)
    payload = data[begin : begin + length]
    # A file system may leave zeros behind: they are no frame, although their checksum is right.
    return payload if 0 < length == len(payload) and crc32(payload) == checksum else None


class FrameFile:
    """A file of frames. One thread at a time writes to it; any may read what was written."""

    def __init__(self, path: Path, format: StateFormat) -> None:
        """Opens a file that exists, whose frames are not yet known (`scan`, `trust`), or makes an empty one."""
        self.path = path
        self._header = f"thalweg {format.name} {format.version}\n".encode()
        self._descriptor: int | None = None
        self._is_longer = False
        self.count = 0
        """The number of its frames."""
        self.size = len(self._header)
        """The number of bytes up to the end of the last frame."""
        self._ordinals = array("Q")
        self._offsets = array("Q")
        if self._begins_torn():
            replace_file(path, self._header)

    def _begins_torn(self) -> bool:
        """Whether there is no whole header; `RejectedError` where there is another one."""
        try:
            with self.path.open("rb") as file:
                head = file.read(_LONGEST_HEADER)
        except FileNotFoundError:
            return True
        if head.startswith(self._header):
            return False
        if self._header.startswith(head):
            return True
        raise self._other(head)

    def _other(self, head: bytes) -> RejectedError:
        written, own = _HEADER.match(head), _HEADER.match(self._header)
        if written is None or own is None:
            return self.damaged(0)
        name, version = (text.decode() for text in written.groups())
        own_name, own_version = (text.decode() for text in own.groups())
        expected = own_version if name == own_name else f"version {own_version} of a `{own_name}`"
        message = f"`{self.path}` has version {version} of a `{name}`, and this version of Thalweg reads {expected}"
        way_out = "name a new folder, or go on with the version of Thalweg that wrote it"
        return RejectedError([Diagnostic("E421", message, help=way_out)])

    def damaged(self, offset: int) -> RejectedError:
        """The error for a file that is not what was written to it."""
        message = f"`{self.path}` is damaged at byte {offset}"
        return RejectedError([Diagnostic("E408", message, help="restore the folder from a copy, or name a new one")])

    def scan(self, seen: Callable[[int, memoryview], None] = lambda ordinal, payload: None) -> int:
        """Finds the whole frames, which are `seen` in their order; the number of bytes behind the last of them."""
        with (
            self.path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            memoryview(data) as view,
        ):
            while (payload := _payload_at(view, self.size)) is not None:
                with payload:
                    length = _FRAME.size + len(payload)
                    seen(self.count, payload)
                self._grow(length)
            return len(view) - self.size

    def trust(self, count: int, marks: "tuple[array[int], array[int]]") -> None:
        """Takes from elsewhere what `scan` would find: the number of frames, and `marks`."""
        self.count, self.size = count, self.path.stat().st_size
        self._ordinals, self._offsets = marks

    @property
    def marks(self) -> "tuple[array[int], array[int]]":
        """The ordinals of some frames, and where they begin."""
        return self._ordinals, self._offsets

    def _grow(self, length: int) -> None:
        if not self._offsets or self.size - self._offsets[-1] >= _SPACING:
            self._ordinals.append(self.count)
            self._offsets.append(self.size)
        # In this order, because another thread may be reading: what is counted is there.
        self.size += length
        self.count += 1

    def append(self, frames: Sequence[bytes], sync: bool = False) -> None:
        """Writes frames behind the last one: all of them, or none and `OSError`; they last when they are synced."""
        if self._is_longer:
            self.cut_tail()
        try:
            _write(self._opened(), b"".join(frames), self.size)
            if sync:
                self.sync()
        except OSError:
            self._is_longer = True
            with suppress(OSError):  # The next `append` tries it again.
                self.cut_tail()
            raise
        for written in frames:
            self._grow(len(written))

    def sync(self) -> None:
        """Returns when everything is on disk."""
        os.fdatasync(self._opened())

    def truncate(self, count: int) -> None:
        """Keeps so many frames, and cuts off those behind them."""
        if count < self.count:
            offset = self._offset(count)
            kept = bisect_left(self._ordinals, count)
            del self._ordinals[kept:], self._offsets[kept:]
            self.count, self.size, self._is_longer = count, offset, True
            self.cut_tail()

    def cut_tail(self) -> None:
        """Cuts off what stands behind the last frame."""
        os.ftruncate(self._opened(), self.size)
        os.fsync(self._opened())
        self._is_longer = False

    def _opened(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR)
        return self._descriptor

    def close(self) -> None:
        """Nothing more is written; it can still be read."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def read(self, ordinal: int, limit: int, most: int) -> list[memoryview]:
        """Up to `limit` payloads from an ordinal on: at least one where there is one, about so many bytes of them."""
        count, size = min(self.count, ordinal + limit), self.size
        if ordinal >= count:
            return []
        at, offset = self._mark_before(ordinal)
        with self.path.open("rb") as file:
            while True:
                data = os.pread(file.fileno(), min(size - offset, _SPACING + most), offset)
                payloads = list(islice(_payloads(memoryview(data)), ordinal - at, count - at))
                if payloads:
                    return payloads
                if offset + len(data) >= size or len(data) < _SPACING:
                    raise self.damaged(offset)
                # One that is longer than what was asked for.
                most = 4 * (most + _SPACING)

    def _mark_before(self, ordinal: int) -> tuple[int, int]:
        """A frame at or before an ordinal, and where it begins."""
        place = bisect_right(self._ordinals, ordinal) - 1
        return self._ordinals[place], self._offsets[place]

    def _offset(self, ordinal: int) -> int:
        """Where a frame begins."""
        at, offset = self._mark_before(ordinal)
        with self.path.open("rb") as file:
            for _ in range(ordinal - at):
                length, _ = _FRAME.unpack(os.pread(file.fileno(), _FRAME.size, offset))
                offset += _FRAME.size + length
        return offset


def _payloads(data: memoryview) -> Iterator[memoryview]:
    """The payloads of the whole frames that follow each other."""
    offset = 0
    while (payload := _payload_at(data, offset)) is not None:
        yield payload
        offset += _FRAME.size + len(payload)


def _write(descriptor: int, data: bytes, offset: int) -> None:
    """Writes all of it, however many calls that takes."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
