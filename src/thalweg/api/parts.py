"""What one run evaluates: rules, an answer set program, or both as the parts of one plan."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.api.answer_sets import load_answer_sets
from thalweg.api.programs import analyse, settle
from thalweg.api.reading import Reading
from thalweg.api.sources import Background, Text, kind_of, several
from thalweg.api.timing import Timing
from thalweg.diagnostics import Diagnostic, Rejected, warn
from thalweg.ir.nodes import Program
from thalweg.model.fact import Fact
from thalweg.parts.answer_sets.solve_options import SolveOptions

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram
    from thalweg.planning.wire_parts import Wiring


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a plan, wired by predicate; `background` is what the answer set program knows."""

    rules: Program | None = None
    answer_sets: "AspProgram | None" = None
    background: tuple[Fact, ...] = ()
    asking: SolveOptions = SolveOptions()

    @property
    def is_mixed(self) -> bool:
        return self.rules is not None and self.answer_sets is not None

    def wiring(self) -> "Wiring":
        """How rules stand around the answer set program; `Rejected` where it would read what rests on its answers."""
        from thalweg.planning.wire_parts import wire

        assert self.rules is not None
        assert self.answer_sets is not None
        return wire(self.rules, self.answer_sets.reads, self.answer_sets.writes)


def load_parts(
    programs: Sequence[Program | Text],
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    asking: SolveOptions = SolveOptions(),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] = warn,
) -> Parts:
    """The parts of programs of any kinds; raises `Rejected` with all that is wrong, reports the warnings."""
    parts, found = analyse_parts(programs, background, tick, reading, asking, inputs)
    settle(found, report)
    return parts


def analyse_parts(
    programs: Iterable[Program | Text],
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    asking: SolveOptions = SolveOptions(),
    inputs: Sequence[str] = (),
) -> tuple[Parts, list[Diagnostic]]:
    """The parts as far as they can be read, and every diagnostic."""
    named, found = several(programs), list[Diagnostic]()
    solved = [one for one in named if kind_of(one) == "answer sets"]
    others = [one for one in named if kind_of(one) != "answer sets"]
    if not solved:
        rules, found = analyse(others, background, tick, reading)
        return Parts(rules), found
    try:
        program, facts = load_answer_sets(solved, background, inputs, found.append, Timing(tick).clock)
    except Rejected as error:
        return Parts(), [*error.diagnostics, *(analyse(others, background, tick, reading)[1] if others else ())]
    if not others:
        return Parts(None, program, tuple(facts), asking), found
    if reading.task == "consistency":
        found.append(Diagnostic("E403", "`--as consistency` checks ontologies only: leave the other programs out"))
    if asking.models == "all":
        message = "`--models all` gives several answers, and rules can read only one: use first, brave or cautious"
        found.append(Diagnostic("E403", message))
    rules, wrong = analyse(others, background, tick, reading, beside=(program.readers(),))
    parts = Parts(rules, program, tuple(facts), asking)
    found += wrong
    if not any(one.severity == "error" for one in wrong):
        try:
            parts.wiring()
        except Rejected as error:
            found += error.diagnostics
    return parts, found
