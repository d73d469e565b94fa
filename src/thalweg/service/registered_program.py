"""A program of the service: the generation that answers, and the next one while it catches up.

A body that differs from the one before becomes the next generation, on a thread of its own. The one before answers
until the next has caught up; then whoever follows the program gets to know of the switch.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from thalweg.service.generation import Generation
from thalweg.service.subscriptions import ProgramSubscriptions

RestartFrom = Literal["checkpoint", "earliest", "now"]


class RegisteredProgram:
    """A name under which generations follow each other. All of it may be used from any thread."""

    name: str
    current: Generation
    """The generation that answers."""
    next: Generation | None
    """The one that will, while it catches up."""
    body: Mapping[str, Any]
    """What was PUT last, with all defaults."""
    subscriptions: ProgramSubscriptions
    """Definitions of events that come and go while it runs."""

    @property
    def generation(self) -> int:
        """The number of the generation that was PUT last, which is the ETag."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """The object of `GET /v1/programs/{p}`."""
        raise NotImplementedError

    def snapshot(self) -> tuple[str, dict[str, Any]]:
        """The id of the last line, and at the same instant `{"t": …, "facts": [{"fact","since","until"}]}`."""
        raise NotImplementedError

    def subscribe(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Calls a function whenever there are more lines, time has passed (`current.t`) or `current` is another one.

        It is called on a program's thread and must return at once: compare `current.number`, `current.lines.last` and
        `current.t` with what you have sent. Returns how to stop that.
        """
        raise NotImplementedError

    def restart(self, origin: RestartFrom) -> None:
        """Goes on from the last checkpoint, or begins a generation from the log's beginning or its end."""
        raise NotImplementedError

    def plan(self) -> dict[str, Any]:
        """The plan that runs, as `explain --format json` has it, with `"counts"` by the id of a box."""
        raise NotImplementedError

    def plan_svg(self) -> str:
        """The same, drawn as `explain --format svg` draws it."""
        raise NotImplementedError
