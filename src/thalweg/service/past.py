"""Why something held at a tick that is over: the log is read again up to there, by a run that is thrown away.

It begins at the nearest checkpoint before the tick that is kept, else at the beginning of the log, and its answers go
nowhere.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from thalweg.service.generation import Generation
    from thalweg.service.service import Service

LIMIT: Final = 10.0
"""Seconds that a question may take."""


def why_then(
    service: "Service", generation: "Generation", text: str, at: str, seconds: float = LIMIT
) -> dict[str, Any]:
    """{"t": …, "proof": …} of a fact, an event or a row of a query at a tick, as `why --at … --format json` prints it.

    It waits for a thread that evaluates: call it from one that may wait. `RefusedError`: 400 where the fact or the time
    cannot be read, 404 where it did not hold (with `why_not`), 408 after so many seconds, 410 where the log does not
    reach back to the tick.
    """
    raise NotImplementedError


def why_now(generation: "Generation", text: str, seconds: float = LIMIT) -> dict[str, Any]:
    """The same at the last tick of a generation, on its own thread."""
    raise NotImplementedError
