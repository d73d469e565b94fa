"""What languages compiled becomes one part.

    Program        rules, all of which are one part
    Checked        rules whose conclusions are clashes
    AspProgram     answer sets; with rules around it, a cascade

A new kind of part has its line here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.model.fact import Fact
from thalweg.parts.answer_sets.solve_options import SolveOptions
from thalweg.parts.part import Part
from thalweg.parts.rule_part import Rules
from thalweg.planning.passes import check

if TYPE_CHECKING:
    from thalweg.languages.owl.checking import Checked
    from thalweg.parts.cascade import Cascade


def compose(
    compiled: Sequence[object], background: tuple[Fact, ...] = (), options: SolveOptions = SolveOptions()
) -> tuple[Part, list[Diagnostic]]:
    """One part, and what is wrong with it as a whole; answer set programs know the background besides."""
    programs = [one for one in compiled if isinstance(one, Program)]
    if len(programs) == len(compiled):
        # Rules alone do not wait for the compilers of other languages to be imported.
        return _rules_part(programs)
    from thalweg.languages.asp.program import AspProgram
    from thalweg.languages.owl.checking import Checked
    from thalweg.parts.answer_sets import AnswerSets
    from thalweg.parts.cascade import Cascade

    checked = next((one for one in compiled if isinstance(one, Checked)), None)
    programs += [] if checked is None else [checked.program]
    solved = next((AnswerSets(one, background, options) for one in compiled if isinstance(one, AspProgram)), None)
    if solved is not None and not programs:
        return solved, []
    rules, found = _rules_part(programs, checked)
    if solved is None:
        return rules, found
    cascade = Cascade(rules, solved)
    return cascade, [*_several_answers(options), *found, *_loops(cascade, found)]


def _rules_part(programs: Sequence[Program], checked: "Checked | None" = None) -> tuple[Rules, list[Diagnostic]]:
    found: list[Diagnostic] = []
    try:
        program = merge(programs)
    except Rejected as error:
        program = programs[0]
        found += error.diagnostics
    # A part that could not be read takes no circle away: what is found in the rest stands.
    found += check(program)
    if program.hints.justification is None:
        return Rules(program), found
    from thalweg.parts.consistency import Checks

    return Checks(program, checked), found


def _several_answers(options: SolveOptions) -> list[Diagnostic]:
    message = "`--models all` gives several answers, and rules can read only one: use first, brave or cautious"
    return [Diagnostic("E403", message)] if options.models == "all" else []


def _loops(cascade: "Cascade", found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    if any(one.severity == "error" for one in found):
        return ()
    try:
        cascade.wiring  # noqa: B018
    except Rejected as error:
        return error.diagnostics
    return ()
