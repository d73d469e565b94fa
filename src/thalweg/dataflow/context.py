"""How a run goes, and what an operator knows of the run that it is opened in."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic
from thalweg.languages.options import SplitName
from thalweg.model.time import Calendar, Clock

if TYPE_CHECKING:
    # It imports clingo, which is optional.
    from thalweg.solvers.pool import Solvers

DAY: Final = 24 * 60 * 60 * 1_000
"""The milliseconds of a day."""


_ALWAYS_SHOWN: Final = frozenset({"first", "last", "delay", "emit", "on_error", "memory", "max_ahead"})


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """How to run; times are in ticks. An engine must have been made with the same first tick and memory budget.

    Fingerprints of checkpoints are made of what is shown. A field that a version adds is shown where it is not the
    default, so that the checkpoints of the version before stay valid.
    """

    first: int | None = None
    last: int | None = None
    delay: int = 0
    emit: str = "changes"
    on_error: Literal["stop", "skip"] = "stop"
    memory: int | None = None
    calendar: Calendar = field(default_factory=Calendar, repr=False)
    with_until: bool = field(default=False, repr=False)
    """Whether it is wanted until when what begins, and what holds at the end, is guaranteed."""
    max_ahead: int = DAY
    """How far beyond the last one a timestamp may be, in milliseconds (see `plausible_times`)."""

    def __repr__(self) -> str:
        values = [(name, getattr(self, name.name)) for name in fields(self) if name.repr]
        shown = [(name.name, value) for name, value in values if name.name in _ALWAYS_SHOWN or value != name.default]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown)})"


@dataclass(frozen=True, slots=True)
class Context:
    """The run that operators are opened in; `listen` is called with each window's answer and what it took.

    `saves`: the state of the operators will be saved on the way. `streams` are the names of those that the run was
    opened with; `names_streams` finds out whether these may bring others under names of their own. A run that
    `explains` will be asked why; one with `progress` reports at the end how far those rules got that concluded nothing.
    `run` tells runs apart whose operators meet in one process; `in_columns`: answers of rules are wanted as rows of
    words (`operator.FactRows`). On Spark operators are `split` where it pays, or wherever that is exact. The `solvers`
    are used by several runs.
    """

    settings: Settings
    clock: Clock
    report: Callable[[Diagnostic], None]
    interrupt: Interrupt = field(default_factory=Interrupt)
    listen: Callable[[Any, Any], None] = lambda solution, answered: None
    saves: bool = False
    streams: tuple[str, ...] = ()
    names_streams: Callable[[], bool] = lambda: True
    explains: bool = False
    progress: bool = False
    run: str = ""
    in_columns: bool = False
    split: SplitName = "auto"
    solvers: "Solvers | None" = None
