"""Answer set programs, read by clingo's own parser, become outlines, and rules where they are stratified.

    a(X) :- p(X), not q(X).      with inputs p/1 and q/1, over windows of three ticks, becomes

    a(X) :- p(X) in [2], not q(X) in [2].

The statements that the parser hands over are known by their types, so that nothing here but `parse` needs clingo.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.languages.options import flags_for
from thalweg.languages.registry import Language, Options
from thalweg.model.time import Clock

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram


def compile(sources: Sequence[Source], options: Options) -> "tuple[AspProgram, list[Diagnostic]]":
    """Compiles all texts, as far as they can be read, to one program with the background; with every diagnostic."""
    from thalweg.languages.asp.directives import contradictions, take_out
    from thalweg.languages.asp.frame import own_frame
    from thalweg.languages.asp.numbers import in_facts
    from thalweg.languages.asp.reader import read_program
    from thalweg.planning.check_endless import counts_for_ever

    diagnostics = list(contradictions(map(take_out, sources)))
    # Each is read on its own, so that whatever is wrong has its place; then they are one.
    diagnostics += (diagnostic for source in sources for diagnostic in read_program(source, options.inputs)[1])
    joined = Source(
        ", ".join(source.name for source in sources), "\n#program base.\n".join(source.text for source in sources)
    )
    program, wrong = read_program(sources[0] if len(sources) == 1 else joined, options.inputs)
    diagnostics += wrong if len(sources) > 1 and not diagnostics else ()
    if program.window is not None:
        try:
            own_frame(program.window, Clock(options.tick_length))
        except RejectedError as error:
            diagnostics += error.diagnostics
    if options.background and program.reckons:
        diagnostics += in_facts(options.background, replace(program.names, signatures=program.mentioned))
    if not diagnostics:
        diagnostics += (counts_for_ever(obstacle.span) for obstacle in program.obstacles if obstacle.endless)
    return program.taking(options.mapped).knowing(options.background), diagnostics


def includes(source: Source) -> Sequence[tuple[str, Span]]:
    """The files that a text includes."""
    from thalweg.languages.asp.directives import take_out

    return take_out(source).includes


LANGUAGE: Final = Language(
    "asp",
    (".lp",),
    compile,
    understands=flags_for("answer sets"),
    includes=includes,
    title="answer set programs (`.lp`)",
)
