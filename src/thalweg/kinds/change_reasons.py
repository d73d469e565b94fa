"""Why units of a changed program begin, in words.

jam(R) :- slow(R) in [9].       was [5]      `jam/1` has changed
alarm(R) :- jam(R).                          `alarm/1` reads `jam/1`, which begins
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from thalweg.model.predicate import without_files

if TYPE_CHECKING:
    from thalweg.kinds.units import ProgramChange, Units

NEW: Final = "is new"
CHANGED: Final = "has changed, or the background, mappings or streams that it reads"
_MOST_CAUSES: Final = 3


def reasons(old: "Units", new: "Units", begun: Sequence[str]) -> dict[str, str]:
    """Why units begin, by their names; they go on behind a name as a sentence does."""
    return {name: _reason(name, old, new, begun) for name in begun}


def _reason(name: str, old: "Units", new: "Units", begun: Sequence[str]) -> str:
    unit, before = new.by_name[name], old.by_name.get(name)
    if before is None:
        return NEW
    if unit.text == before.text:
        gone = [source for source in before.reads if source not in new.by_name]
        if gone:
            return f"has read {listed(gone)}, which {'are' if len(gone) > 1 else 'is'} gone"
        causes = [source for source in unit.reads if source in begun]
        if causes:
            return f"reads {listed(causes)}, which {'begin' if len(causes) > 1 else 'begins'}"
    return "had not begun" if unit.fingerprint == before.fingerprint else CHANGED


def listed(names: Sequence[str], most: int = _MOST_CAUSES) -> str:
    """Names of units as they stand in a sentence; some of many.

    >>> listed(["jam/1", "the query `made`"]), listed(["a/1", "b/1", "c/1"], 2)
    ('`jam/1`, the query `made`', '`a/1`, `b/1` and 1 more')
    """
    shown = [name if " " in name else f"`{name}`" for name in map(without_files, names[:most])]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def change_text(change: "ProgramChange") -> str:
    """What becomes of each unit, a line each."""
    rows = [
        *_rows("goes on", change.same),
        *_rows("begins", change.begun, change.reasons),
        *_rows("is gone", change.gone),
    ]
    return "\n".join(rows) or "there is nothing that could change"


def _rows(word: str, names: Iterable[str], reasons: Mapping[str, str] = {}) -> Iterable[str]:
    return (f"{word:8} {listed([name])}{_because(name, reasons)}" for name in names)


def _because(name: str, reasons: Mapping[str, str]) -> str:
    return f": {reasons[name]}" if name in reasons else ""


def change_data(change: "ProgramChange") -> dict[str, object]:
    """The same as data."""
    begins = [{"unit": without_files(name), "because": change.reasons.get(name, "")} for name in change.begun]
    return {
        "would": {
            "keeps": [*map(without_files, change.same)],
            "begins": begins,
            "ends": [*map(without_files, change.gone)],
        }
    }
