"""Definitions that are added to a part while it runs, and the part with them, as a run is opened that goes on later."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeGuard

from thalweg.diagnostics import Source
from thalweg.kinds.mixed import Mixed
from thalweg.kinds.part import Part
from thalweg.kinds.units import halves


class GrowingPart(Protocol):
    """A part, or a member of one, to which definitions can be added while it runs."""

    def names_in_use(self) -> frozenset[str]:
        """The names that a definition cannot have."""

    def name_of(self, local: str, sources: Iterable[Source]) -> str:
        """The name of a definition by its local name; `RejectedError` where the `sources` have no default prefix."""

    def read_definition(self, local: str, text: str, sources: Iterable[Source]) -> Any:
        """The definition that a text stands for; `RejectedError` with all that is wrong with it.

        The `sources` are those of the program, which declare its prefixes.
        """

    def with_added(self, definitions: Sequence[tuple[Any, int | None]]) -> Any:
        """The same with definitions, each with its first tick; None where that is the first of the run."""


def _is_growing(part: object) -> TypeGuard[GrowingPart]:
    return hasattr(type(part), "with_added")


def growing_part(part: Part) -> GrowingPart | None:
    """The part, or the member of it, to which definitions can be added; None where there is none."""
    return next(filter(_is_growing, (part, *halves(part)[1])), None)


def grown(part: Part, definitions: Sequence[tuple[Any, int | None]]) -> Part:
    """A part with definitions that were added, each with its first tick."""
    if not definitions:
        return part
    if isinstance(part, Mixed):
        return replace(part, members=tuple(_with_added(member, definitions) for member in part.members))
    grown_part: Part = _with_added(part, definitions)
    return grown_part


def _with_added(part: Any, definitions: Sequence[tuple[Any, int | None]]) -> Any:
    return part.with_added(definitions) if _is_growing(part) else part
