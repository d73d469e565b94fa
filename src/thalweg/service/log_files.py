"""The files of the service's log: one behind the other, all but the newest closed.

    log-<seq>-<arrival>    records from a number on; the arrival is that of the record before
    index-<seq>            where the records of a closed file begin, and which idempotency keys they have

An index only saves reading the file again: where it is missing or damaged it is made anew.
"""

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import Final

from thalweg.dataflow.state import StateFormat
from thalweg.model import arrow
from thalweg.model.arrow import DamagedError
from thalweg.model.sealed import Format, OtherFormatError, seal, unseal
from thalweg.runtimes.checkpoint_folder import replace_file
from thalweg.service.frame_file import FrameFile
from thalweg.service.log_record import LogRecord, read_head, read_place, read_record

FORMAT: Final = StateFormat("log")
"""The form of the files of records."""

_INDEX: Final = Format(1, 1)
_NAME: Final = re.compile(r"log-(\d{20})-(\d{13,20})")


class LogSegment:
    """A file of the log, with the keys that its records have."""

    def __init__(self, folder: Path, first: int, before: int) -> None:
        """Opens the file that begins with a number, or makes it; `before` is the arrival of the record before."""
        self.first = first
        self.file = FrameFile(folder / f"log-{first:020}-{before:013}", FORMAT)
        self.begun: int | None = None
        """The arrival of its first record."""
        self.arrived = before
        """The arrival of its last record, or of the one before the file."""
        self._index = folder / f"index-{first:020}"
        # Keys are known by numbers that stand for them, each with a record: so that days of them fit into memory.
        self._keys: dict[int, int] = {}
        self._closed_keys = array("Q"), array("Q")

    @property
    def last(self) -> int:
        return self.first + self.file.count - 1

    def open_newest(self) -> int:
        """Reads the file and cuts off what is not whole; the number of bytes that were cut off."""
        tail = self.file.scan(self._seen)
        if tail:
            self.file.cut_tail()
        return tail

    def open_closed(self) -> None:
        """Reads the index, or the file where it has none; `RejectedError` where not all of it is whole."""
        try:
            self._load(self._index.read_bytes())
        except (OSError, DamagedError, OtherFormatError):
            if self.file.scan(self._seen):
                raise self.file.damaged(self.file.size) from None
            self.close()

    def _seen(self, ordinal: int, payload: memoryview) -> None:
        seq, arrived = read_place(payload)
        if seq != self.first + ordinal:
            raise self.file.damaged(self.file.size)
        kind, stream, _, about = read_head(payload)
        self._note(seq, arrived, stream, about.get("key") if kind == "facts" else None)

    def _note(self, seq: int, arrived: int, stream: str, key: str | None) -> None:
        if self.begun is None:
            self.begun = arrived
        self.arrived = arrived
        if key is not None:
            self._keys.setdefault(_key_number(stream, key), seq)

    def append(self, records: Iterable[LogRecord], frames: Sequence[bytes]) -> None:
        """Writes records, which are on disk when it returns; all of them, or none and `OSError`."""
        self.file.append(frames, sync=True)
        for record in records:
            self._note(record.seq, record.arrived, record.stream, record.key)

    def candidate(self, number: int) -> int | None:
        """The record whose key has a number, where there is one."""
        # In this order, because another thread may be closing the file.
        seq = self._keys.get(number)
        if seq is None:
            numbers, records = self._closed_keys
            place = bisect_left(numbers, number)
            seq = records[place] if numbers[place : place + 1] == array("Q", [number]) else None
        return seq

    def close(self) -> None:
        """Nothing more is written to it."""
        self.file.close()
        numbers = sorted(self._keys)
        self._closed_keys = array("Q", numbers), array("Q", [self._keys[number] for number in numbers])
        self._keys = {}
        try:
            replace_file(self._index, seal(self._saved(), _INDEX))
        except OSError:
            return  # The file itself has it all.

    def _saved(self) -> bytes:
        about = {"count": self.file.count, "size": self.file.size, "begun": self.begun, "arrived": self.arrived}
        arrays = (column.tobytes() for column in (*self.file.marks, *self._closed_keys))
        return arrow.frame([json.dumps(about).encode(), *arrays])

    def _load(self, saved: bytes) -> None:
        about, *arrays = arrow.unframe(unseal(saved, _INDEX))
        known = json.loads(about)
        if known["size"] != self.file.path.stat().st_size:
            raise DamagedError("it is damaged")
        ordinals, offsets, numbers, records = (array("Q", bytes(column)) for column in arrays)
        self.file.trust(known["count"], (ordinals, offsets))
        self.begun, self.arrived, self._closed_keys = known["begun"], known["arrived"], (numbers, records)

    def remove(self) -> None:
        """Removes the file; nobody needs it any more."""
        with suppress(OSError):  # What stays is removed after the next start.
            self.file.path.unlink()
            self._index.unlink(missing_ok=True)


class LogFiles:
    """All files of the log. One thread at a time changes them; any may read."""

    def __init__(self, folder: Path) -> None:
        """Opens the files in a folder, which is made where it is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        for unfinished in folder.glob("*.unfinished"):
            unfinished.unlink()
        places = sorted(filter(None, map(_place_of, folder.iterdir()))) or [(1, 0)]
        self._segments = tuple(LogSegment(folder, first, before) for first, before in places)
        for segment in self._segments[:-1]:
            segment.open_closed()
        self.cut_off = self.newest.open_newest()
        """How many bytes were cut off when they were opened."""
        for segment, following in zip(self._segments, self._segments[1:], strict=False):
            if following.first != segment.last + 1:
                raise segment.file.damaged(segment.file.size)

    @property
    def first(self) -> int:
        """The number of the oldest record."""
        return self._segments[0].first

    @property
    def newest(self) -> LogSegment:
        return self._segments[-1]

    @property
    def bytes(self) -> int:
        """The size of the files with records."""
        return sum(segment.file.size for segment in self._segments)

    def begin_file(self) -> None:
        """Closes the newest file and begins another one; `OSError` where it cannot be made."""
        newest = self.newest
        following = LogSegment(self._folder, newest.last + 1, newest.arrived)
        self._segments += (following,)
        newest.close()

    def droppable(self, before: int, needed: int, most: int) -> list[LogSegment]:
        """The oldest files, of records that arrived before an instant or are beyond so many bytes, none of them needed.

        `needed` is the number of the first record that is.
        """
        droppable = []
        size = self.bytes
        for segment in self._segments[:-1]:
            if segment.last >= needed or (segment.arrived >= before and size <= most):
                break
            droppable.append(segment)
            size -= segment.file.size
        return droppable

    def forget(self, count: int) -> None:
        """Leaves out the oldest files, which are to be removed."""
        self._segments = self._segments[count:]

    def read(self, seq: int, last: int, most: int) -> list[LogRecord]:
        """Records from a number on, up to another, of about so many bytes; `FileNotFoundError` if they are removed."""
        segments = self._segments
        segment = segments[bisect_right(segments, seq, key=attrgetter("first")) - 1]
        if not segment.first <= seq <= segment.last:
            raise FileNotFoundError(segment.file.path)
        return [read_record(payload) for payload in segment.file.read(seq - segment.first, last - seq + 1, most)]

    def candidates(self, stream: str, key: str) -> list[int]:
        """The records that may have an idempotency key of a stream, the newest first."""
        number = _key_number(stream, key)
        found = (segment.candidate(number) for segment in reversed(self._segments))
        return [seq for seq in found if seq is not None]

    def close(self) -> None:
        """Nothing more is written."""
        self.newest.file.close()


def _place_of(path: Path) -> tuple[int, int] | None:
    """The numbers in the name of a file: of its first record, and the arrival before; None where it is no such file."""
    name = _NAME.fullmatch(path.name)
    return None if name is None else (int(name[1]), int(name[2]))


def _key_number(stream: str, key: str) -> int:
    text = f"{stream}\n{key}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
