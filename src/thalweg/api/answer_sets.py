"""Answer set programs from their files, with what they include and what is known beside them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.api.programs import settle
from thalweg.api.sources import Background, Text, is_answer_sets, read_background, several
from thalweg.connectors.files import read_text
from thalweg.diagnostics import Diagnostic, Rejected, Source, warn
from thalweg.ir.nodes import Program
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.runtimes.asking import own_frame

if TYPE_CHECKING:
    from thalweg.languages.asp import AspProgram


def load_answer_sets(
    programs: Sequence[Program | Text],
    background: Background = (),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] = warn,
    clock: Clock | None = None,
) -> "tuple[AspProgram, list[Fact]]":
    """An answer set program and its background; raises `Rejected` with all that is wrong, reports the warnings.

    With a clock the windows that the program brings are looked at, too.
    """
    from thalweg.languages.asp import contradictions, take_out
    from thalweg.solvers.programs import read_program

    if not all(map(is_answer_sets, programs)):
        raise Rejected([Diagnostic("E403", "answer set programs run on their own: leave the other programs out")])
    found: list[Diagnostic] = []
    known = [read_background(name, 1_000, found) for name in several(background)]
    sources = _with_included([Source(str(name), read_text(Path(str(name)))) for name in programs], found)
    found += contradictions(map(take_out, sources))
    # Each is read on its own, so that whatever is wrong has its place; then they are one.
    found += (one for source in sources for one in read_program(source, inputs)[1])
    whole = Source(", ".join(one.name for one in sources), "\n#program base.\n".join(one.text for one in sources))
    program, wrong = read_program(sources[0] if len(sources) == 1 else whole, inputs)
    found += wrong if len(sources) > 1 and not found else ()
    if clock is not None and program.window is not None:
        try:
            own_frame(program.window, clock)
        except Rejected as error:
            found += error.diagnostics
    facts = [fact for one in known for fact in one.background]
    if facts and program.reckons:
        from thalweg.runtimes.numbers import in_facts

        found += in_facts(facts, replace(program.names, signatures=program.mentioned))
    settle(found, report)
    return program.knowing(facts), facts


def _with_included(sources: Iterable[Source], wrong: list[Diagnostic]) -> list[Source]:
    """The sources and what they include, each once."""
    from thalweg.languages.asp import take_out

    found = {Path(one.name).resolve(): one for one in sources}
    waiting = list(found.values())
    while waiting:
        source = waiting.pop(0)
        for file, span in take_out(source).includes:
            path = Path(source.name).parent / file
            if path.resolve() in found:
                continue
            try:
                found[path.resolve()] = included = Source(str(path), read_text(path))
            except Rejected as error:
                wrong += (replace(one, span=span) for one in error.diagnostics)
            else:
                waiting.append(included)
    return list(found.values())
