"""The lines that a generation of a program has answered: on disk, numbered from 1, and the latest of them in memory.

    lines-00000000000000000001     a segment is named by the number of its first line, so a number finds its file
    lines-00000000000000009310

A checkpoint says how many lines there are (`settle`). After a crash what lies behind that is cut off (`cut`), and
comes again with the same numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Line:
    """A line as `thalweg run --format jsonl` writes it, without its end, and the tick that it is about.

    `until` has the facts that begin and are guaranteed until a tick, with that tick (not yet written as a time).
    """

    text: bytes
    t: int
    until: Mapping[str, int] = field(default_factory=dict)


class AnswerLines:
    """The lines of a generation. `add` is for one thread, the program's; everything else may be asked from any."""

    first: int
    """The number of the first line that is kept; one more than `last` where none is."""
    last: int
    """The number of the last line; 0 before the first."""
    bytes: int
    """How much is kept on disk."""

    def __init__(self, folder: Path) -> None:
        """Opens the lines in a folder, which is made where it is missing."""
        raise NotImplementedError

    def add(self, lines: Sequence[Line]) -> None:
        """Takes lines; listeners are told when they can be read."""
        raise NotImplementedError

    def read(self, after: int, limit: int) -> list[tuple[int, Line]]:
        """Up to `limit` lines strictly behind a number, each with its own.

        Where the first of them is not `after + 1`, what lies between is no longer kept.
        """
        raise NotImplementedError

    def listen(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Calls a function on the program's thread after each `add`; returns how to stop that."""
        raise NotImplementedError

    def settle(self) -> int:
        """Makes sure that all lines stay; the number of the last one."""
        raise NotImplementedError

    def cut(self, last: int) -> None:
        """Forgets every line behind a number: they will come again."""
        raise NotImplementedError

    def drop_before(self, instant: float, most: int) -> None:
        """Removes segments that were finished before an instant (seconds since 1970), or are beyond so many bytes."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing more is added."""
        raise NotImplementedError
