"""Load a program, run it somewhere, ask why. The command line and Python users go through the same functions.

A program is a path, LARS text, or a `Program`. A stream is a path, `-`, a URI, text, or any iterable of events: `Event`
values or pairs `(tick, facts)`. Which strings are paths, and which are text: `sources`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from thalweg.api.jobs import Job, open_checkpoint, run_on_spark, run_to, start
from thalweg.api.loading import EVERYTHING, analyse, examine, load, load_part
from thalweg.api.naming import fact_of, predicates_of, prefixes_of
from thalweg.api.sources import Background, On, Text, as_list, language_of_program, named, on_command_line
from thalweg.api.timing import Timing
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.diagnostics import Diagnostic, Source, warn
from thalweg.ir.nodes import Program
from thalweg.languages.compile_options import PROFILES, TASKS, OntologyOptions
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import Prefixes, given_prefixes
from thalweg.parts.answer_sets.solve_options import SolveOptions
from thalweg.parts.compose import compose
from thalweg.parts.part import Explained, Part

if TYPE_CHECKING:
    from thalweg.engine.absence import Absence
    from thalweg.engine.proof import Proof
    from thalweg.parts.queries.why_row import RowProof
    from thalweg.runtimes.emit import Answer

__all__ = [
    "EVERYTHING",
    "PROFILES",
    "TASKS",
    "Background",
    "Job",
    "On",
    "OntologyOptions",
    "Part",
    "Prefixes",
    "SolveOptions",
    "Tally",
    "Text",
    "Timing",
    "analyse",
    "check",
    "default_timing",
    "examine",
    "explain",
    "fact_of",
    "given_prefixes",
    "language_of_program",
    "load",
    "load_part",
    "mapped_by",
    "on_command_line",
    "open_checkpoint",
    "predicates_of",
    "prefixes_of",
    "read_mappings",
    "run",
    "run_on_spark",
    "run_to",
    "start",
    "why",
    "why_not",
    "why_row",
    "with_frequencies",
]


def run(
    program: Program | Text | Sequence[Program | Text],
    on: On = (),
    *,
    background: Background = (),
    emit: Literal["changes", "snapshot", "intervals"] = "changes",
    first: int | str | None = None,
    last: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    late: Callable[[str], None] | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    ontology: OntologyOptions = OntologyOptions(),
    solving: SolveOptions = SolveOptions(),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] = warn,
    memory: int | None = None,
    show: str | Iterable[str] | None = None,
    map: str | Iterable[str] = (),
) -> "Iterator[Answer]":
    """Answers as they follow: `Change`, `Snapshot` or `Interval` values, which print as lines of JSON.

    Several programs of different kinds are parts of one plan. Answer set programs (`.lp`) answer window by window,
    with `Solution` values. What deserves a warning goes to `report`, and is given as a `ThalwegWarning` without one.
    `show` names the predicates that are output, as in `"jam/1, ex:Camera/1"`; it overrides `#show`. `map` says what
    facts the rows of tables and the messages of devices are: `"speed(sensor, v) at ts"`, one or several.

    >>> for answer in run("q(X) :- p(X) in [1].", on=[(3, "p(a)")], last=5):
    ...     print(answer)
    {"t":3,"begin":["q(a)"],"end":[]}
    {"t":5,"begin":[],"end":["q(a)"]}
    """
    programs: list[Program | Text] = as_list(program)
    timing, ontology = default_timing(programs, on, Timing(tick, first, last, delay), ontology)
    ontology = with_frequencies(ontology, on, timing)
    mapped = mapped_by(map, programs, background)
    part = load_part(programs, background, tick, ontology, solving, inputs, report, show, mapped)
    with start(part, on, timing, emit, on_error, memory, late, report, mapped=mapped) as job:
        for piece in job.pieces():
            if piece is not None:
                yield from piece.answers()


def check(
    *programs: Program | Text,
    background: Background = (),
    tick: str = "1s",
    ontology: OntologyOptions = OntologyOptions(),
    inputs: Sequence[str] = (),
) -> list[Diagnostic]:
    """All that is wrong with a program, and what deserves a warning.

    >>> [found.code for found in check("q(X,Y) :- p(X).")]
    ['E203']
    """
    return examine(*analyse(programs, background, tick, ontology, inputs=inputs))


def explain(
    *programs: Program | Text,
    background: Background = (),
    tick: str = "1s",
    ontology: OntologyOptions = OntologyOptions(),
    inputs: Sequence[str] = (),
    partitions: int | None = None,
    published: bool = False,
    report: Callable[[Diagnostic], None] = warn,
) -> Explained:
    """How programs are evaluated: a plan with `as_text`, `as_data` and `as_svg`; on Spark where there are partitions.

    `published` shows answer set programs with the communities of the paper.
    """
    part = load_part(programs, background, tick, ontology, inputs=inputs, report=report)
    plan = part.explain(partitions, published)
    for warning in plan.warnings if published else ():
        report(warning)
    return plan


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
    ontology: OntologyOptions = OntologyOptions(),
    report: Callable[[Diagnostic], None] = warn,
    prefixes: Mapping[str, str] | None = None,
    map: str | Iterable[str] = (),
) -> "Proof | None":
    """The derivation of a fact at a tick; None where it does not hold.

    The fact may be written with the prefixes that the program declares, and with those that are given.

    >>> print(why("q(X) :- p(X) in [1].", "q(a)", at=4, on=[(3, "p(a)")]).render().split()[0])
    q(a)
    """
    asked = fact_of(fact, prefixes_of([program], prefixes)) if isinstance(fact, str) else fact
    mapped = mapped_by(map, [program], background, prefixes)
    whole = load_part([program], background, tick, ontology, report=report, show=EVERYTHING, mapped=mapped).rules
    engine = run_to(compose([whole])[0], on, Timing(tick, first, at, delay), report, mapped=mapped)
    return None if engine.now is None else engine.why(asked)


def why_row(
    program: Text,
    row: str,
    at: int | str,
    on: On = (),
    *,
    background: Background = (),
    first: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    report: Callable[[Diagnostic], None] = warn,
    prefixes: Mapping[str, str] | None = None,
) -> "RowProof | None":
    """What a row of a continuous query rests on, at the last evaluation up to a tick; None where it is not there.

    The row is an object of JSON as answers have it, or pairs such as `?s=ex:a ?n=3`; not all columns need be given. Of
    a CONSTRUCT a fact is asked for.

    >>> query = "SELECT ?s FROM NAMED WINDOW <w> ON <in> [RANGE 3, SLIDE 1] { WINDOW <w> { ?s <urn:thalweg:p> ?o } }"
    >>> why_row(Source("q.rspql", query), "?s=<http://a>", at=4, on=[(2, "p(<http://a>,1)"), (3, "p(<b>,1)")]).until
    4
    """
    part = load_part([program], background, tick, report=report)
    continuous = run_to(part, on, Timing(tick, first, at, delay), report)
    proof: RowProof | None = continuous.why(row, prefixes_of([program], prefixes))
    return proof


def why_not(
    program: Program | Text,
    fact: str | Fact,
    at: int | str,
    on: On = (),
    *,
    background: Background = (),
    first: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    ontology: OntologyOptions = OntologyOptions(),
    report: Callable[[Diagnostic], None] = warn,
    prefixes: Mapping[str, str] | None = None,
    map: str | Iterable[str] = (),
) -> "Absence | None":
    """How far each rule got that could derive a fact at a tick; None where the fact holds.

    >>> absent = why_not("slow(S) :- speed(S,V), V < 20.", "slow(a)", at=4, on=[(4, "speed(a,30)")])
    >>> absent.rules[0].attempts[0].reason
    '`30 < 20` is false'
    """
    asked = fact_of(fact, prefixes_of([program], prefixes)) if isinstance(fact, str) else fact
    mapped = mapped_by(map, [program], background, prefixes)
    whole = load_part([program], background, tick, ontology, report=report, show=EVERYTHING, mapped=mapped).rules
    came: set[Predicate] = set()
    timing = Timing(tick, first, at, delay)
    engine = run_to(compose([whole])[0], on, timing, report, look=lambda batch: came.update(batch.rows), mapped=mapped)
    absence: Absence | None = engine.why_not(asked, came)
    return absence


def mapped_by(
    map: str | Iterable[str], programs: Iterable[Any], background: Any = (), prefixes: Mapping[str, str] | None = None
) -> Tally | None:
    """What the mappings of a run will have found, from their texts; None where there are none.

    Names in them may have the prefixes that programs and background declare, and those that are given.

    >>> mapped_by(["ex:speed(sensor, v) at ts"], ["@prefix ex: <http://example.org/> ."]).mappings[0].predicate
    '<http://example.org/speed>/2'
    """
    texts = [map] if isinstance(map, str) else list(map)
    declared = prefixes_of([*programs, *as_list(background)], prefixes) if texts else None
    return None if declared is None else Tally(read_mappings(texts, declared))


def default_timing(
    programs: Iterable[Program | Text], on: On | None, timing: Timing, ontology: OntologyOptions
) -> tuple[Timing, OntologyOptions]:
    """How to run: without a stream, all that follows from an ontology is output at tick 0, also about its schema."""
    nothing = on is None or (isinstance(on, list | tuple) and not on)
    if not nothing or not any(language_of_program(one).specialised for one in programs):
        return timing, ontology
    first = 0 if timing.first is None else timing.first
    timing = replace(timing, first=first, last=first if timing.last is None else timing.last)
    return timing, replace(ontology, schema=ontology.profile not in ("ql", "dl") and not ontology.checks)


def with_frequencies(ontology: OntologyOptions, on: On | None, timing: Timing) -> OntologyOptions:
    """How to read ontologies: where it helps, with the frequencies of classes and properties in recorded streams."""
    names = named(() if on is None else on) or []
    recorded = all(isinstance(one, Source) or (isinstance(one, Path) and one.is_file()) for one in names)
    if not (ontology.wants_frequencies and names and recorded):
        return ontology
    from thalweg.parts.consistency.frequencies import frequencies

    return replace(ontology, frequencies=frequencies(names, timing.clock) or None)
