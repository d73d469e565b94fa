"""What a program of the service reads: the records of its streams, in the order of the log.

The counterpart of `runtimes.inputs.Streams`. Its clocks are the arrivals of records: the machine's clock, how long a
stream has been silent and how long a doubtful time has waited are all functions of the log. So the same items come
again after a crash, however records are read and whenever a program is asked something in between. What is known about
time changes between two records, and nowhere else; a None that could make a difference has its place in the log.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thalweg.connectors.interrupt import Interrupt
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock
from thalweg.runtimes.intake import Item
from thalweg.runtimes.plausible_times import TimeLimits
from thalweg.service.log import Log, LogRecord
from thalweg.service.streams import LoggedStreams


class LoggedItems:
    """The items of a program that reads some streams behind a record; a group a stream, in the order of the names.

    Time follows arrivals where it goes `by_wall`; a stream that is silent for `idle` seconds holds nothing back. None
    comes first of all, before each wait, whenever a request waits (`asked`) and now and then, always between two
    records. `subscribed` gets records of subscriptions, when everything before them has been answered.
    """

    def __init__(
        self,
        log: Log,
        streams: LoggedStreams,
        names: Sequence[str],
        words: Dictionary,
        clock: Clock,
        *,
        interrupt: Interrupt,
        by_wall: bool = False,
        idle: float | None = None,
        delay: int = 0,
        limits: TimeLimits | None = None,
        after: int = 0,
        pause: Callable[[], float | None] = lambda: None,
        asked: Callable[[], bool] = lambda: False,
        subscribed: Callable[[LogRecord], None] = lambda record: None,
    ) -> None:
        """`after` is the number of the record behind which it begins; `seek` overrides it."""

    seq: int
    """The last record that was taken wholly."""
    groups: int
    group: int | None
    resting: frozenset[int]
    ended: frozenset[int]

    def __iter__(self) -> Iterator[Item]:
        """It ends between two records when the `interrupt` has been asked; `Log.wake` has it look."""
        raise NotImplementedError

    @property
    def is_at_head(self) -> bool:
        """Whether every durable record has been taken."""
        raise NotImplementedError

    def due(self) -> float | None:
        """Seconds until time matters although nothing comes, 0 where that is now; None where it does not.

        None also while there are records to be taken. May be called from any thread.
        """
        raise NotImplementedError

    def wake(self, pause: Callable[[], float | None]) -> None:
        """Has waits end no later than after a pause, too."""

    def hold(self) -> None:
        """Records stay in the log; nothing is acknowledged."""

    def acknowledge(self) -> None:
        """Records stay in the log; the service says to the log what it keeps for a program."""

    @property
    def repeats(self) -> bool:
        return True

    @property
    def holds(self) -> bool:
        """Whether rows wait to be decided."""
        raise NotImplementedError

    def waiting(self) -> Iterable[Batch]:
        raise NotImplementedError

    def position(self) -> dict[str, Any] | None:
        """Behind the records that were taken, as JSON; None within a record, and while rows wait to be decided."""
        raise NotImplementedError

    def seek(self, position: dict[str, Any]) -> None:
        """Goes on behind a position, before the first item is taken."""
