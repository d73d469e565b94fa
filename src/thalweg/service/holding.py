"""What a program says to hold now, kept from its answers and not asked of its engine, which is busy."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from thalweg.answers.record import Answer


@dataclass(frozen=True, slots=True)
class HeldFact:
    """A fact with the first tick at which it holds, and the last one for which that is guaranteed, where it is."""

    fact: str
    since: int
    until: int | None = None


class Holding:
    """The facts that hold, in the order in which they began; of one thread, or under a lock."""

    def apply(self, answer: Answer) -> None:
        """Takes what an answer says: of changes what begins and ends; lines of events hold at no tick."""
        raise NotImplementedError

    def facts(self, now: int | None) -> Iterator[HeldFact]:
        """What holds; a guarantee that has run out at tick `now` is none."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def save(self) -> dict[str, Any]:
        """It as JSON."""
        raise NotImplementedError

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on where another was saved."""
        raise NotImplementedError
