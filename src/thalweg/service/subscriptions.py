"""ProgramSubscriptions: definitions of events that are added to a program while it runs, and taken from it.

    PUT …/subscriptions/jam      MATCH EVERY :High SEQ :Low WITHIN (10 m)

is `NAMED EVENT :jam { MATCH … }` from the next tick on. Each change is a record of the log, so a replay meets it at the
same place; the checkpoint of a generation says which there are.

    ProgramSubscriptions      of a program, for any thread: writes the record, waits until it is taken
    ActiveSubscriptions       of a generation, on its thread: takes the records, and changes the run
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from thalweg.kinds.part import Part
from thalweg.runtimes.local import LocalRun

if TYPE_CHECKING:
    from thalweg.service.log import Log, LogRecord
    from thalweg.service.program_text import ProgramText
    from thalweg.service.registered_program import RegisteredProgram

WAIT: Final = 10.0
"""Seconds that a request waits until its record is taken."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription under its local name, and its first tick; None where it began with the run."""

    name: str
    text: str
    first: int | None = None


class ActiveSubscriptions:
    """The subscriptions of a generation, which its thread adds to its run and takes from it.

    Where a generation is opened:

        active = ActiveSubscriptions(text, part, body)
        active.load(saved)                           # what `save` gave, where there is a checkpoint
        run = …LocalRun or jobs.start(active.part)…
        LoggedItems(…, subscribed=lambda record: active.take(record, run))

    Items say None before they call `subscribed`: what was decided up to the record has been evaluated by then.
    """

    part: Part
    """The part with all subscriptions; the run is opened with it."""

    def __init__(self, text: "ProgramText", part: Part, body: str) -> None:
        """Those of a program, of which there are none yet; `body` tells records apart that were for another body."""
        self.part = part

    def take(self, record: "LogRecord", run: LocalRun) -> None:
        """Changes a run as a record says; a record for another program, or for another body of it, changes nothing."""
        raise NotImplementedError

    def all(self) -> Sequence[Subscription]:
        """Those that are active, in the order in which they came; may be called from any thread."""
        return ()

    def save(self) -> list[Any]:
        """They as JSON, for the position of a checkpoint."""
        return []

    def load(self, saved: Sequence[Any]) -> None:
        """Makes those active that were saved."""
        assert not saved


class ProgramSubscriptions:
    """The subscriptions of a program. Its methods wait: call them from a thread that may.

    Changes of one program come one after the other.
    """

    def __init__(self, program: "RegisteredProgram", log: "Log", body: Callable[[], str]) -> None:
        self._program = program

    def put(self, name: str, text: str, seconds: float = WAIT) -> tuple[dict[str, Any], bool]:
        """Adds a definition; `{"from": TICK}` and whether it is new: 201, or 200 where it has been there.

        `RefusedError`: 400 with all that is wrong with the text, or where the program has no events; 409 where the name
        is in use, or the program has failed; 503 where the program has not come to the record within so many seconds:
        then it will, and the same request again says when.
        """
        raise NotImplementedError

    def delete(self, name: str, seconds: float = WAIT) -> None:
        """Takes one away; `RefusedError`: 404 there is none, 409 another definition uses it, 503 as above."""
        raise NotImplementedError

    def describe(self) -> list[Mapping[str, Any]]:
        """All of them, `{"name", "text", "from"}`, for the object of the program."""
        return []
