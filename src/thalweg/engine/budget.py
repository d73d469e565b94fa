"""How much memory a tick may take, and the error that is raised when that is not enough.

After each tick a budget is held by forgetting (`shed`). Inside a tick there is nothing to forget yet, so a tick
that does not fit ends the run: `n(X+1) :- n(X).` would fill any memory. Arrays are enlarged by Python, which asks here
before it does so; the kernels pay nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Diagnostic, FailedError
from thalweg.engine.layout import FIRING, NOW
from thalweg.engine.memory import ROOM, FullError, enlarge, enlarged_by
from thalweg.explain.wording import PlanWording
from thalweg.ir.nodes import Rule
from thalweg.model.machine import SHARE, allowed, free_memory, resident

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

_LEFT: Final = 0.05
_SMALL: Final = 1 << 26
_LEAST: Final = 1 << 22
"""A tick may always take this much: an engine that is empty has arrays, too."""


def make_room(engine: "PlanEngine", feeds: NDArray[np.int64]) -> None:
    """Enlarges the array that is full; raises `FailedError` where that takes more than there is."""
    try:
        if refused := _refusal(engine, enlarged_by(engine.table, engine.arrays), feeds):
            raise FailedError(refused)
        engine.arrays = enlarge(engine.table, engine.arrays)
    except FullError as full:
        what = "the engine cannot address more rows" if full.__cause__ is None else "the system has no more memory"
        raise FailedError(_used_up(engine, what, "distribute the work with `--runtime spark`")) from None


def _refusal(engine: "PlanEngine", added: int, feeds: NDArray[np.int64]) -> Diagnostic | None:
    """Why the bytes to be added are too many, if they are.

    A budget is for what stays; the facts that a tick brings, and what follows from them at once, come on top of it.
    """
    budget = engine.limit if engine.memory is None else engine.memory
    if budget is not None:
        fed = int(feeds[:, 5].sum()) * engine.arrays.stride * 8
        if engine.size + added > max(budget, _LEAST) + ROOM * fed:
            size = f"the memory budget of {_in_megabytes(budget)} is used up"
            return _used_up(engine, size, "allow more with `--memory` (in Python: `memory=`)")
    elif engine.size + added > _SMALL and _is_scarce(engine.size, added):
        size = f"the memory of this process ({_in_megabytes(allowed())}, of which it may take 80 %) is used up"
        return _used_up(engine, size, "use a machine with more memory")
    return None


def _is_scarce(allocated: int, added: int) -> bool:
    """Whether the bytes to be added would be too many: for this process, or because others have taken the machine's."""
    free, total = free_memory()
    return max(allocated, resident()) + added > SHARE * allowed() or added > free - _LEFT * total


def _used_up(engine: "PlanEngine", what: str, help_: str) -> Diagnostic:
    rule = _culprit(engine)
    message = f"tick {int(engine.arrays.scalars[NOW])} does not fit: {what}"
    if rule is None:
        return Diagnostic("E410", message, notes=tuple(_most_rows(engine)), help=help_)
    help_ = f"bound what the rule derives, for example with a comparison in its body; or {help_}"
    return Diagnostic("E410", message, rule.span, notes=tuple(_most_rows(engine)), help=help_)


def _culprit(engine: "PlanEngine") -> Rule | None:
    """The rule that was adding rows: the one that was fired last, or what it was made for."""
    fired = engine.table.variants.get(int(engine.arrays.scalars[FIRING]))
    if fired is None:
        return None
    if fired.origin is not None:
        return fired.origin
    heads = {fired.head.relation.number, *(atom.relation.number for atom in fired.positive)}
    return next((rule.origin for rule in engine.plan.rules if rule.head.relation.number in heads and rule.origin), None)


def _most_rows(engine: "PlanEngine") -> Iterator[str]:
    """A sentence about the relation that has the most rows."""
    relations = engine.arrays.relations
    counts = np.bincount(relations[relations >= 0], minlength=1)[: len(engine.plan.relations)]
    largest = int(counts.argmax())
    name = PlanWording(engine.plan).name(engine.plan.relations[largest]).removesuffix(" in [0]")
    yield f"{int(counts[largest]):,} of {int(counts.sum()):,} rows are of `{name}`"


def _in_megabytes(size: int) -> str:
    return f"{size >> 20:,} MB" if size >= 1 << 20 else f"{size:,} bytes"
