"""Explanations for people: they print as text with the times of their run, also in a notebook."""

from typing import Any, Protocol

from thalweg.model.time import TimeFormat


class Explanation(Protocol):
    """A text that knows how ticks are written."""

    @property
    def times(self) -> TimeFormat: ...

    def render(self, *, times: TimeFormat) -> str:
        """The lines that a person reads."""

    def __str__(self) -> str:
        return self.render(times=self.times)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython and notebooks show."""
        printer.text(str(self))
