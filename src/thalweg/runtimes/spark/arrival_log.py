"""What live streams have brought, as it came: the driver writes it down, and tasks read it.

    inbox/0000000041.arrivals    {"arrivals": [[0, 1794729600250, 4096], …], "resting": [1], …}, then the bytes

A segment says which stream brought how many bytes when, and how far time had come by the machine's clock: so a batch
that is tried again has the same facts at the same times. It is there as a whole or not at all, and stays until a batch
behind it is committed: the last one says how far the streams have been received. On another file system than that of
this machine it is there when it has been uploaded.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from thalweg.model.sealed import seal, unseal
from thalweg.runtimes.checkpoint_folder import damaged, read_sealed, replace_file
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.stored_path import CheckpointPath

INBOX: Final = "inbox"
"""The folder of the segments in that of a run."""
_ENDING: Final = ".arrivals"
# What makes a line of facts depend on others.
_BINDING: Final = (b"/*", b"*/", b"prefix")

Arrival = tuple[int, int, int]
"""A group, the milliseconds since 1970 at which it brought something, and how many bytes."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What came together, and what is known of time behind it; groups are numbers.

    Those that have `begun` come by a connection that knows nothing of the one before; those that have `ended` bring
    nothing more, and with `is_cut` none does. Those that are `resting` hold no others back. `beats` are milliseconds
    of the machine's clock, the first and the last, where time goes by it. `counts` has how much there was of each
    group so far, and `positions` where to go on behind it, for transports that know such. `lines` has the groups whose
    lines seem to stand for themselves, and how many there are.
    """

    arrivals: tuple[Arrival, ...] = ()
    begun: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()
    resting: tuple[int, ...] = ()
    beats: tuple[int, ...] = ()
    is_cut: bool = False
    counts: tuple[tuple[int, int], ...] = ()
    positions: tuple[tuple[int, Any], ...] = ()
    lines: tuple[tuple[int, int], ...] = ()

    @classmethod
    def read(cls, line: bytes) -> "Segment":
        """The inverse of `text`.

        >>> segment = Segment(((0, 1_794_729_600_250, 7),), resting=(1,), beats=(1_794_729_600_000, 1_794_729_601_000))
        >>> Segment.read(segment.text) == segment
        True
        """
        about: dict[str, Any] = json.loads(line)
        rows = {name: tuple(map(tuple, about[name])) for name in ("arrivals", "counts", "positions", "lines")}
        numbers = {name: tuple(about[name]) for name in ("begun", "ended", "resting", "beats")}
        return cls(**(about | rows | numbers))

    @property
    def text(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def lines_in(blocks: Sequence[bytes]) -> int | None:
    """How many lines there are in blocks that follow each other; None where one may go on in another.

    >>> lines_in([b"p at 3.\\np at", b" 4.\\n"]), lines_in([b"p at 3.\\np at"]), lines_in([b"/* p at 3.\\n"])
    (2, None, None)
    """
    ended = b"".join([block[-2:] for block in blocks[-2:]]).endswith((b".\n", b"}\n"))
    if not ended or any(sign in block for block in blocks for sign in _BINDING):
        return None
    return sum(block.count(b"\n") for block in blocks)


class ArrivalLog:
    """The segments of a run, in its folder; one process adds to them.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = ArrivalLog(Path(folder))
    ...     number = log.add(Segment(((0, 1_000, 2), (1, 1_200, 1))), [b"ab", b"c"])
    ...     log.numbers(), [*log.of_group(1, [number])]
    ([0], [(1200, b'c')])
    """

    def __init__(self, folder: CheckpointPath) -> None:
        self._inbox = folder / INBOX
        self._heads: dict[int, Segment] = {}
        self._next: int | None = None

    def numbers(self) -> list[int]:
        """The numbers of the segments that there are, in order."""
        try:
            names = [file.name for file in self._inbox.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(int(name.removesuffix(_ENDING)) for name in names if name.endswith(_ENDING))

    @property
    def end(self) -> int:
        """The number behind the last segment."""
        return max(self.numbers(), default=-1) + 1

    def add(self, segment: Segment, blocks: Sequence[bytes]) -> int:
        """Writes a segment behind all others, all of it or nothing; gives its number."""
        if self._next is None:
            if isinstance(self._inbox, Path):
                self._inbox.mkdir(parents=True, exist_ok=True)
            self._next = self.end
        number = self._next
        replace_file(self._path(number), seal(b"".join([segment.text, b"\n", *blocks]), FORMAT))
        self._next = number + 1
        return number

    def head(self, number: int) -> Segment:
        """What a segment says of itself."""
        if number not in self._heads:
            with self._path(number).open("rb") as file:
                file.readline()
                self._heads[number] = Segment.read(file.readline())
        return self._heads[number]

    def of_group(self, group: int, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """What a group brought in some segments, each time with the milliseconds of its arrival."""
        for number in numbers:
            segment, content = self.read(number)
            start = 0
            for brought_by, moment, size in segment.arrivals:
                if brought_by == group:
                    yield moment, content[start : start + size]
                start += size

    def read(self, number: int) -> tuple[Segment, bytes]:
        """A segment and its bytes; `RejectedError` where it is damaged."""
        path = self._path(number)
        line, _, content = read_sealed(path, FORMAT, unseal).partition(b"\n")
        return Segment.read(line), content

    def check(self) -> None:
        """Refuses segments that are damaged, or of which some are missing between others."""
        numbers = self.numbers()
        for number in numbers:
            self.read(number)
        if numbers and numbers != [*range(numbers[0], numbers[-1] + 1)]:
            missing = min({*range(numbers[0], numbers[-1])} - {*numbers})
            raise damaged(self._path(missing))

    def forget(self, number: int) -> None:
        """Drops the segments before a number."""
        self._heads = {kept: head for kept, head in self._heads.items() if kept >= number}
        for old in self.numbers():
            if old < number:
                self._path(old).unlink(missing_ok=True)

    def _path(self, number: int) -> CheckpointPath:
        return self._inbox / f"{number:010}{_ENDING}"
