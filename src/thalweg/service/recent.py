"""The latest of what is numbered without gaps, in memory, within a number of bytes."""

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """A ring of values by their numbers. One thread at a time changes it; any may look.

    >>> recent = Recent(8)
    >>> for number, text in enumerate(("one", "two", "three"), 1):
    ...     recent.add(number, text, len(text))
    >>> recent.run(1, 3, 100), recent.run(2, 3, 100), recent.run(2, 3, 1)
    ([], ['two', 'three'], ['two'])
    """

    def __init__(self, most: int) -> None:
        """Keeps values of so many bytes at most, but always the last one."""
        self._most = most
        self._bytes = 0
        self._values: dict[int, tuple[T, int]] = {}
        self._numbers: deque[int] = deque()

    def add(self, number: int, value: T, size: int) -> None:
        """Takes the next value; the oldest ones leave, where it has become too much."""
        self._values[number] = value, size
        self._numbers.append(number)
        self._bytes += size
        while self._bytes > self._most and len(self._numbers) > 1:
            self._leave()

    def _leave(self) -> None:
        _, size = self._values.pop(self._numbers.popleft())
        self._bytes -= size

    def drop_before(self, number: int) -> None:
        """Leaves out values before a number."""
        while self._numbers and self._numbers[0] < number:
            self._leave()

    def drop_after(self, number: int) -> None:
        """Leaves out values behind a number."""
        while self._numbers and self._numbers[-1] > number:
            _, size = self._values.pop(self._numbers.pop())
            self._bytes -= size

    def run(self, first: int, last: int, most: int) -> list[T]:
        """The values from a number to another: none if the first has left, else about so many bytes of them."""
        values: list[T] = []
        for number in range(first, last + 1):
            entry = self._values.get(number)
            if entry is None or most <= 0:
                break
            values.append(entry[0])
            most -= entry[1]
        return values
