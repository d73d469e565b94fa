"""Load a program, run it somewhere, ask why. The command line and Python users go through the same functions.

A program is a path, LARS text, or a `Program`. A stream is a path, `-`, a URI, text, or any iterable of events: `Event`
values or pairs `(tick, facts)`. Which strings are paths, and which are text: `sources`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from thalweg.api.explaining import explain_answer_sets, explain_checks, explain_mixed
from thalweg.api.jobs import Job, run_on_spark, run_to, start
from thalweg.api.parts import Parts, analyse_parts, load_parts
from thalweg.api.programs import load
from thalweg.api.reading import PROFILES, TASKS, Reading
from thalweg.api.sources import Background, On, Text, kind_of, named, on_command_line, several
from thalweg.api.timing import Timing
from thalweg.diagnostics import Diagnostic, Rejected, Source, warn
from thalweg.ir.nodes import Program
from thalweg.languages.lars.facts import read_fact
from thalweg.model.fact import Fact
from thalweg.parts.answer_sets.solve_options import SolveOptions

if TYPE_CHECKING:
    from thalweg.engine import Proof
    from thalweg.runtimes.emit import Answer

__all__ = [
    "PROFILES",
    "TASKS",
    "Background",
    "Job",
    "On",
    "Parts",
    "Reading",
    "SolveOptions",
    "Text",
    "Timing",
    "alone",
    "analyse_parts",
    "check",
    "explain_answer_sets",
    "explain_checks",
    "explain_mixed",
    "kind_of",
    "load",
    "load_parts",
    "measured",
    "on_command_line",
    "run",
    "run_on_spark",
    "run_to",
    "start",
    "why",
]


def run(
    program: Program | Text | Sequence[Program | Text],
    on: On = (),
    *,
    background: Background = (),
    emit: Literal["snapshot", "changes", "intervals"] = "snapshot",
    first: int | str | None = None,
    last: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    late: Callable[[str], None] | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    reading: Reading = Reading(),
    asking: SolveOptions = SolveOptions(),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] = warn,
    memory: int | None = None,
) -> "Iterator[Answer]":
    """Answers as they follow: `Snapshot`, `Change` or `Interval` values, which print as lines of JSON.

    Several programs of different kinds are parts of one plan. Answer set programs (`.lp`) answer window by window,
    with `Solution` values. What deserves a warning goes to `report`, and is given as a `ThalwegWarning` without one.

    >>> for answer in run("q(X) :- p(X) in [1].", on=[(3, "p(a)")], last=5):
    ...     print(answer)
    {"t":3,"facts":["q(a)"]}
    {"t":4,"facts":["q(a)"]}
    {"t":5,"facts":[]}
    """
    programs: list[Program | Text] = several(program)
    timing, reading = alone(programs, on, Timing(tick, first, last, delay), reading)
    if all(kind_of(one) == "answer sets" for one in programs) and emit != "snapshot":
        raise Rejected([Diagnostic("E403", "`emit` cannot be used with answer set programs (`.lp`): leave it out")])
    reading = measured(reading, on, timing)
    parts = load_parts(programs, background, tick, reading, asking, inputs, report)
    if parts.answer_sets is not None and memory is not None:
        raise Rejected([Diagnostic("E403", "`memory` cannot be used with answer set programs (`.lp`): leave it out")])
    with start(parts, on, timing, emit, on_error, memory, late, report) as job:
        for piece in job.pieces():
            if piece is not None:
                yield from piece.answers()


def check(
    *programs: Program | Text,
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    inputs: Sequence[str] = (),
) -> list[Diagnostic]:
    """All that is wrong with a program, and what deserves a warning.

    >>> [found.code for found in check("q(X,Y) :- p(X).")]
    ['E203']
    """
    return analyse_parts(programs, background, tick, reading, inputs=inputs)[1]


def why(
    program: Program | Text,
    fact: str | Fact,
    at: int | str,
    on: On = (),
    *,
    background: Background = (),
    first: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    reading: Reading = Reading(),
    report: Callable[[Diagnostic], None] = warn,
) -> "Proof | None":
    """The derivation of a fact at a tick; None where it does not hold.

    >>> print(why("q(X) :- p(X) in [1].", "q(a)", at=4, on=[(3, "p(a)")]).render().split()[0])
    q(a)
    """
    known = load(program, background=background, tick=tick, reading=reading, report=report)
    engine = run_to(Parts(known), on, Timing(tick, first, at, delay), report)
    return None if engine.now is None else engine.why(read_fact(fact) if isinstance(fact, str) else fact)


def alone(
    programs: Iterable[Program | Text], on: On | None, timing: "Timing", reading: Reading
) -> "tuple[Timing, Reading]":
    """How to run: of an ontology without a stream all that follows is told, at tick 0, about its schema as well."""
    nothing = on is None or (isinstance(on, list | tuple) and not on)
    if not nothing or "ontology" not in map(kind_of, programs):
        return timing, reading
    first = 0 if timing.first is None else timing.first
    timing = replace(timing, first=first, last=first if timing.last is None else timing.last)
    return timing, replace(reading, schema=reading.profile != "ql" and reading.task == "entailment")


def measured(reading: Reading, on: On | None, timing: "Timing") -> Reading:
    """How to read: where it matters, with what recorded streams are about."""
    names = named(on or ()) or []
    asks = reading.task == "consistency" and reading.topology in (None, "auto") and reading.frequencies is None
    recorded = all(isinstance(one, Source) or (isinstance(one, Path) and one.is_file()) for one in names)
    if not (asks and names and recorded):
        return reading
    from thalweg.runtimes.consistency.frequencies import frequencies

    found = frequencies(names, timing.clock)
    return replace(reading, frequencies=found or None)
