"""What the buckets of a run share in a process: the background, closed once under the ontology."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Generic, TypeVar

from thalweg.kinds.classes.ladder import Ladder
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram

T = TypeVar("T")

# A process works for one run; a session that is used again may have a second one while the first is let go.
_MOST_RUNS: Final = 2


class OncePerRun(Generic[T]):
    """Values that all buckets of a run share in a process, made by the first that needs them.

    A run without a name shares nothing.

    >>> values = OncePerRun[list[int]]()
    >>> values.of("run", lambda: [1]) is values.of("run", lambda: [2])
    True
    """

    def __init__(self) -> None:
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def of(self, run: str, make: Callable[[], T]) -> T:
        """The value of a run."""
        if not run:
            return make()
        with self._lock:
            if run not in self._values:
                self._values[run] = make()
                if len(self._values) > _MOST_RUNS:
                    self._values.popitem(last=False)
            return self._values[run]


@dataclass(frozen=True)
class ClosedBackground:
    """What decides events, and the lock of the bucket that adds an event to it and takes it back.

    `hidden` has the places of classes that everything is in, where the classes were not chosen.
    """

    ladder: Ladder
    hidden: frozenset[int]
    lock: Lock = field(default_factory=Lock)


_CLOSED: Final = OncePerRun[ClosedBackground]()


def closed_background(run: str, program: AbstractionProgram) -> ClosedBackground:
    """The closed background of a run in this process; it was checked before that nothing contradicts."""

    def close() -> ClosedBackground:
        ladder = Ladder(program, program.reasoner)
        return ClosedBackground(ladder, frozenset() if program.chosen else ladder.held_by_everything())

    return _CLOSED.of(run, close)
