"""What follows a run from outside: functions that are called while it goes on, and what they want to know."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.diagnostics import Diagnostic, warn
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch

if TYPE_CHECKING:
    from thalweg.answers.record import Answer

Report = Callable[[Diagnostic], None]


@dataclass(frozen=True, slots=True)
class Observer:
    """The functions that a run calls, each with one kind of what happens.

    `report` gets warnings, `late` lines about late facts, where these are kept, `look` every batch that comes in,
    `observe` with its tick and the dictionary of its words, too, `see` every block of answers that was delivered,
    `count` how many answers Spark has written by itself, `listen` the answer of each window of an answer set program
    and what it took; `ready` is called when nothing stands against the run any more. `with_until`, changes say until
    when what begins is guaranteed. With `progress` it is reported at the end how far those rules got that concluded
    nothing. A live run that `warns_live` does not wait for the end with other warnings.
    """

    report: Report = warn
    late: Callable[[str], None] | None = None
    look: Callable[[Batch], object] | None = None
    observe: Callable[[int, Batch, Dictionary], object] | None = None
    see: "Callable[[Answer], None]" = lambda block: None
    count: Callable[[int], None] = lambda answers: None
    listen: Callable[[Any, Any], None] = lambda solution, answered: None
    ready: Callable[[], None] = lambda: None
    with_until: bool = False
    progress: bool = False
    warns_live: bool = True
