"""The items of a generation, and what its checkpoint says besides the state of the run.

    {"items": where the log is read on, "lines": how many lines there were, "holding": what they said to hold,
     "subscriptions": …, "late": the latest lines about late facts}

So after a crash everything is as it was when the checkpoint was taken; lines that came later are cut off, and come
again.
"""

from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Any, Protocol

from thalweg.model.arrow import decode, unframe
from thalweg.model.event import Batch
from thalweg.runtimes.intake import Item
from thalweg.service.logged_items import LoggedItems


class Kept(Protocol):
    """What is kept with each checkpoint."""

    def save(self) -> dict[str, Any]:
        """It as JSON; what it is about stays from then on."""

    def load(self, saved: dict[str, Any]) -> None:
        """Goes back to where it was saved."""

    def settled(self) -> None:
        """A checkpoint has it."""


class GenerationItems:
    """Items that are read from the log; their position has all that goes into a checkpoint.

    A thread that reads must not be stopped in the middle, because the log is everybody's; one that evaluates may be.
    """

    def __init__(self, items: LoggedItems, kept: Kept) -> None:
        self._items = items
        self._kept = kept
        self._entry = Lock()
        self._is_reading = False
        self.is_given_up = False
        """Nothing is saved any more."""

    def __iter__(self) -> Iterator[Item]:
        items = iter(self._items)
        while True:
            with self._entry:
                self._is_reading = True
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self._is_reading = False
            yield item

    def unless_reading(self, stop: Callable[[], object]) -> None:
        """Calls a function that stops the thread, unless it reads."""
        with self._entry:
            if not self._is_reading:
                stop()

    def position(self) -> dict[str, Any] | None:
        position = None if self.is_given_up else self._items.position()
        return None if position is None else {"items": position, **self._kept.save()}

    def seek(self, position: dict[str, Any]) -> None:
        self._items.seek(position["items"])
        self._kept.load(position)

    def acknowledge(self) -> None:
        self._items.acknowledge()
        self._kept.settled()

    def wake(self, pause: Callable[[], float | None]) -> None:
        self._items.wake(pause)

    def hold(self) -> None:
        self._items.hold()

    def waiting(self) -> Iterable[Batch]:
        return self._items.waiting()

    @property
    def seq(self) -> int:
        return self._items.seq

    @property
    def is_at_head(self) -> bool:
        return self._items.is_at_head

    def due(self) -> float | None:
        return self._items.due()

    @property
    def repeats(self) -> bool:
        return self._items.repeats

    @property
    def holds(self) -> bool:
        return self._items.holds

    @property
    def groups(self) -> int:
        return self._items.groups

    @property
    def group(self) -> int | None:
        return self._items.group

    @property
    def resting(self) -> frozenset[int]:
        return self._items.resting

    @property
    def ended(self) -> frozenset[int]:
        return self._items.ended


def position_of(state: bytes) -> dict[str, Any]:
    """The position that the saved state of a run has."""
    about, *_ = unframe(state)
    header, _ = decode(about)
    position: dict[str, Any] = header["position"]
    return position
