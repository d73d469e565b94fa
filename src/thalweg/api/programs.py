"""One program from many, with its background, and all that is wrong with it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thalweg.api.reading import Reading
from thalweg.api.sources import (
    Background,
    Text,
    kind_of,
    name_of,
    read_background,
    read_program,
    several,
    triples_of,
)
from thalweg.api.timing import Timing
from thalweg.diagnostics import Diagnostic, Rejected, warn
from thalweg.ir.merge import TOGETHER, merge
from thalweg.ir.nodes import Program, TermAnnotations
from thalweg.model.time import milliseconds
from thalweg.model.triples import TRIPLES
from thalweg.planning.choose_topology import USUAL, Choice, lay_out, moved
from thalweg.planning.passes import check
from thalweg.planning.topology import Taxonomy as Known

if TYPE_CHECKING:
    from thalweg.languages.owl.checking import Checked
    from thalweg.languages.owl.consistency_rules import Bolt
    from thalweg.languages.owl.negative import Taxonomy


def load(
    *programs: Program | Text,
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    report: Callable[[Diagnostic], None] = warn,
) -> Program:
    """One program from many, with its background; raises `Rejected` with all that is wrong, reports the warnings.

    >>> load("q(X) :- p(X) in [3].").derived
    frozenset({'q/1'})
    """
    program, found = analyse(programs, background, tick, reading)
    settle(found, report)
    return program


def settle(found: list[Diagnostic], report: Callable[[Diagnostic], None]) -> None:
    """Raises `Rejected` with all that was found if some of it is an error, and else reports it."""
    if any(one.severity == "error" for one in found):
        raise Rejected(found)
    for warning in found:
        report(warning)


def analyse(
    programs: Iterable[Program | Text],
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    beside: Sequence[Program] = (),
) -> tuple[Program, list[Diagnostic]]:
    """The program as far as it can be read, and every diagnostic; `beside` are other parts of the same plan."""
    found: list[Diagnostic] = []
    length = milliseconds(tick)
    programs, facts = several(programs), several(background)
    ontologies = [name for name in programs if kind_of(name) == "ontology"]
    parts = [read_program(program, length, found) for program in programs if program not in ontologies]
    # What a document says about classes and properties matters to an ontology, whichever option brings it.
    documents = [*ontologies, *(name for name in facts if ontologies and kind_of(name) == "ontology")]
    parts += [read_background(name, length, found) for name in facts if name not in documents]
    if not ontologies and reading.task == "consistency":
        found.append(Diagnostic("E403", "there is no ontology to check"))
    if ontologies:
        parts.append(_read_ontology(documents, Timing(tick), reading, [*parts, *beside], found))
    found += _apart(programs, facts, parts)
    try:
        program = merge(parts)
    except Rejected as error:
        program = parts[0]
        found += error.diagnostics
    # A part that could not be read takes no circle away: what is found in the rest stands.
    found += check(program)
    sources = list(dict.fromkeys(one.span.source for one in found))
    return program, sorted(found, key=lambda one: (sources.index(one.span.source), one.span.start))


def _apart(
    programs: Sequence[Program | Text], facts: Sequence[object], parts: Sequence[Program]
) -> Iterator[Diagnostic]:
    """Refuses what would mean something else than loading all in one call.

    An ontology is compiled for the schema, the data and the rules that it is loaded with.
    """
    compiled = [one for one in programs if isinstance(one, Program) and _is_compiled(one)]
    if not compiled:
        return
    documents = [str(one) for one in (*programs, *facts) if kind_of(one) == "ontology"]
    if documents or len(compiled) > 1:
        other = f"`{documents[0]}`" if documents else "the next one"
        yield Diagnostic("E411", f"an ontology was compiled without {other}", help=TOGETHER)
    elif sum(bool(part.rules) for part in parts) > 1 and not _takes_rules(compiled[0]):
        yield Diagnostic("E411", "an ontology was compiled without the rules beside it", help=TOGETHER)


def _is_compiled(program: Program) -> bool:
    return (
        program.hints.static_schema
        or program.hints.justification is not None
        or program.annotations != TermAnnotations()
    )


def _takes_rules(program: Program) -> bool:
    """Whether a compiled ontology is the same whatever rules are beside it.

    With rules beside it every equal thing keeps all that is said of it, and triples become facts that they can read.
    """
    return program.equality is None and program.hints.justification is None and TRIPLES not in program.derived


def _read_ontology(
    documents: list[Text], timing: Timing, reading: Reading, others: Sequence[Program], found: list[Diagnostic]
) -> Program:
    from thalweg.languages.owl import compiling
    from thalweg.languages.owl.program import Options

    if reading.task == "consistency":
        if any(part.rules for part in others):
            found.append(Diagnostic("E403", "`--as consistency` checks ontologies only: leave the rules out"))
        checked, _ = check_ontology(documents, timing, reading, found)
        return checked.program
    triples = triples_of(documents, found)
    window = replace(timing, delay=reading.window).ticks()[2]
    options = Options(reading.literals, reading.witnesses)
    name = ", ".join(map(name_of, documents))
    program, warnings = compiling.compile(name, triples, reading.profile, window, reading.schema, options, others)
    found += warnings
    return program


def check_ontology(
    documents: list[Text], timing: Timing, reading: Reading, found: list[Diagnostic]
) -> "tuple[Checked, Choice]":
    """The checks of an ontology, and the topology by which they are made."""
    from thalweg.languages.owl.checking import checked as check_axioms

    chosen: list[Choice] = []

    def bolts(known: "Taxonomy") -> "Sequence[Bolt] | None":
        how = (reading.topology or "auto", reading.bolts, reading.frequencies, moved() if reading.spread else USUAL)
        chosen.append(lay_out(Known(*known), *how))
        return chosen[-1].topology

    window = replace(timing, delay=reading.window).ticks()[2]
    name = ", ".join(map(name_of, documents))
    checked = check_axioms(name, triples_of(documents, found), window, bolts)
    found += (*checked.warnings, *_fewer_bolts(reading, chosen[-1]))
    return checked, chosen[-1]


def _fewer_bolts(reading: Reading, chosen: Choice) -> Iterator[Diagnostic]:
    count = len(chosen.topology or ())
    if reading.topology == "ltm" and reading.bolts is not None and count < reading.bolts:
        message = f"`--bolts {reading.bolts}`: the disjoint classes form only {count} groups, so {count} bolts are used"
        yield Diagnostic("W413", message, help=f"use `--bolts {count}`, or leave it out for the cheapest number")
