"""Answer set programs from their files, with what they include and what is known beside them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thalweg.api.programs import settle
from thalweg.api.sources import Background, Text, kind_of, read_background, several
from thalweg.connectors.files import read_text
from thalweg.diagnostics import Diagnostic, Rejected, Source, warn
from thalweg.ir.nodes import Program
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import Clock
from thalweg.parts.answer_sets.solve_options import own_frame
from thalweg.planning.check import counts_for_ever

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram


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
    from thalweg.languages.asp.directives import contradictions, take_out
    from thalweg.languages.asp.reader import read_program

    if any(kind_of(one) != "answer sets" for one in programs):
        raise Rejected([Diagnostic("E403", "only answer set programs are accepted here: leave the other programs out")])
    found: list[Diagnostic] = []
    brought = tuple(map(Predicate.read, inputs))
    known = [read_background(name, 1_000, found) for name in several(background)]
    sources = _with_included(map(_begun, several(programs)), found)
    found += contradictions(map(take_out, sources))
    # Each is read on its own, so that whatever is wrong has its place; then they are one.
    found += (one for source in sources for one in read_program(source, brought)[1])
    whole = Source(", ".join(one.name for one in sources), "\n#program base.\n".join(one.text for one in sources))
    program, wrong = read_program(sources[0] if len(sources) == 1 else whole, brought)
    found += wrong if len(sources) > 1 and not found else ()
    if clock is not None and program.window is not None:
        try:
            own_frame(program.window, clock)
        except Rejected as error:
            found += error.diagnostics
    facts = [fact for one in known for fact in one.background]
    if facts and program.reckons:
        from thalweg.parts.answer_sets.numbers import in_facts

        found += in_facts(facts, replace(program.names, signatures=program.mentioned))
    if not found:
        found += (counts_for_ever(one.span) for one in program.obstacles if one.endless)
    settle(found, report)
    return program.knowing(facts), facts


@dataclass(frozen=True, slots=True)
class _File:
    """A part of a program, and the folder in which it may include others; None for a text, which is in none."""

    source: Source
    folder: Path | None

    def includes(self, file: str) -> Path:
        """Another file; `Rejected` where it lies outside of the folder, also by way of `..` or a link."""
        path = Path(self.source.name).parent / file
        try:
            if self.folder is not None and path.resolve().is_relative_to(self.folder):
                return path
        except (OSError, RuntimeError, ValueError):
            # A loop of links, or a name that no file can have.
            pass
        raise Rejected([Diagnostic("E511", f"`{file}` is not read: {self._outside}", help=_BESIDE)])

    @property
    def _outside(self) -> str:
        return (
            "a program given as text cannot include files"
            if self.folder is None
            else "it is outside the program's folder"
        )


_BESIDE: Final = "include files in the program's folder or below it; name others on the command line"


def _begun(program: Text) -> _File:
    if isinstance(program, Source):
        return _File(program, None)
    return _File(Source(str(program), read_text(Path(program))), Path(program).parent.resolve())


def _with_included(programs: Iterable[_File], wrong: list[Diagnostic]) -> list[Source]:
    """The sources and what they include, each once."""
    from thalweg.languages.asp.directives import take_out

    waiting = list(programs)
    found: dict[object, Source] = {_place(one): one.source for one in waiting}
    while waiting:
        file = waiting.pop(0)
        for name, span in take_out(file.source).includes:
            try:
                path = file.includes(name)
                if path.resolve() in found:
                    continue
                included = _File(Source(str(path), read_text(path)), file.folder)
            except Rejected as error:
                wrong += (replace(one, span=span) for one in error.diagnostics)
            else:
                found[_place(included)] = included.source
                waiting.append(included)
    return list(found.values())


def _place(file: _File) -> object:
    """What tells a file from others: where it lies; texts are told apart by what they are."""
    return file.source if file.folder is None else Path(file.source.name).resolve()
