"""The history of a program: what held from when to when, made of the lines that are kept, as timelines draw it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.service.generation import Generation


def history(
    generation: "Generation",
    first: str | None = None,
    last: str | None = None,
    matches: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """What a timeline draws of a generation, from a time to another, which are ticks or timestamps.

    {"first", "last", "unit", "zone", "groups": [{"p", "rows": [[fact, [[start, end, open, guaranteed]]]], "curves"}]},
    and a "note" where something is left out. Facts are drawn that a function `matches`. `RefusedError` (400) where a
    time cannot be read. It reads many lines perhaps: call it from a thread that may wait.
    """
    raise NotImplementedError
