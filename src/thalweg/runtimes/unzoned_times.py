"""Times without a zone where none is set: they are taken as UTC, and that is reported once."""

from collections.abc import Callable
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.model.time import Clock

_HELP: Final = (
    "set the zone with `--zone Europe/Berlin`, or with `--zone UTC` if that is meant; "
    "of one stream in a deployment, with `zone`, or in its mapping: `at ts in Europe/Berlin`"
)


def unzoned() -> Diagnostic:
    """The warning that times without a zone are taken as UTC."""
    return Diagnostic("W315", "times without a zone are taken as UTC", help=_HELP)


class UnzonedTimes:
    """Reports the first time without a zone that the readers of a run meet."""

    def __init__(self, clock: Clock, report: Callable[[Diagnostic], None]) -> None:
        self._notation = clock.notation
        self._report = report
        self._reported = False

    def see(self) -> None:
        """Reports what has been met by now, unless it was reported."""
        if self._notation.unzoned and not self._reported:
            self._reported = True
            self._report(unzoned())
