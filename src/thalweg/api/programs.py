"""One program from many, with its background, and all that is wrong with it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thalweg.api.reading import Reading
from thalweg.api.sources import (
    Background,
    Text,
    is_ontology,
    name_of,
    read_background,
    read_program,
    several,
    triples_of,
)
from thalweg.api.timing import Timing
from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.ir.nodes import Door, Program
from thalweg.model.time import milliseconds
from thalweg.planning.check import check
from thalweg.planning.choose_topology import USUAL, Choice, lay_out, moved
from thalweg.planning.topology import Taxonomy as Known

if TYPE_CHECKING:
    from thalweg.languages.owl.checking import Checked
    from thalweg.languages.owl.consistency import Bolt
    from thalweg.languages.owl.negative import Taxonomy


def load(
    *programs: Program | Text,
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    report: Callable[[Diagnostic], None] = lambda found: None,
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
) -> tuple[Program, list[Diagnostic]]:
    """The program as far as it can be read, and every diagnostic."""
    found: list[Diagnostic] = []
    length = milliseconds(tick)
    programs, facts = several(programs), several(background)
    ontologies = [name for name in programs if is_ontology(name)]
    parts = [read_program(program, length, found) for program in programs if program not in ontologies]
    # What a document says about classes and properties matters to an ontology, whichever option brings it.
    documents = [*ontologies, *(name for name in facts if ontologies and is_ontology(name))]
    parts += [read_background(name, length, found) for name in facts if name not in documents]
    if not ontologies and reading.task == "consistency":
        found.append(Diagnostic("E403", "there is no ontology whose consistency could be checked"))
    if ontologies:
        parts.append(_read_ontology(documents, Timing(tick), reading, parts, found))
    program = united(parts)
    # A part that could not be read takes no circle away: what is found in the rest stands.
    found += check(program)
    sources = list(dict.fromkeys(one.span.source for one in found))
    return program, sorted(found, key=lambda one: (sources.index(one.span.source), one.span.start))


def united(parts: Sequence[Program]) -> Program:
    """One program from its parts: what one of them keeps to itself is not told."""
    told = None
    if any(part.told is not None for part in parts):
        told = frozenset(name for part in parts for name in (part.derived if part.told is None else part.told))
    return Program(
        tuple(rule for part in parts for rule in part.rules),
        tuple(fact for part in parts for fact in part.background),
        told=told,
        streamed=frozenset(name for part in parts for name in part.streamed),
        door=next((part.door for part in parts if part.door != Door()), Door()),
        fixed=any(part.fixed for part in parts),
        equality=next((part.equality for part in parts if part.equality is not None), None),
        gathered=frozenset(name for part in parts for name in part.gathered),
        static=frozenset(name for part in parts for name in part.static),
        pinned=frozenset(pin for part in parts for pin in part.pinned),
        reasons=next((part.reasons for part in parts if part.reasons is not None), None),
    )


def _read_ontology(
    documents: list[Text], timing: Timing, reading: Reading, others: Sequence[Program], found: list[Diagnostic]
) -> Program:
    from thalweg.languages import owl

    if reading.task == "consistency":
        if any(part.rules for part in others):
            found.append(Diagnostic("E403", "`--as consistency` checks an ontology, without rules beside it"))
        checked, _ = check_ontology(documents, timing, reading, found)
        return checked.program
    triples = triples_of(documents, found)
    window = replace(timing, delay=reading.window).ticks()[2]
    options = owl.Options(reading.literals, reading.witnesses)
    name = ", ".join(map(name_of, documents))
    program, warnings = owl.compile(name, triples, reading.profile, window, reading.schema, options, others)
    found += warnings
    return program


def check_ontology(
    documents: list[Text], timing: Timing, reading: Reading, found: list[Diagnostic]
) -> "tuple[Checked, Choice]":
    """The checks of an ontology, and the topology by which they are made."""
    from thalweg.languages import owl

    chosen: list[Choice] = []

    def bolts(known: "Taxonomy") -> "Sequence[Bolt] | None":
        how = (reading.topology or "auto", reading.bolts, reading.frequencies, moved() if reading.spread else USUAL)
        chosen.append(lay_out(Known(*known), *how))
        return chosen[-1].topology

    window = replace(timing, delay=reading.window).ticks()[2]
    name = ", ".join(map(name_of, documents))
    checked = owl.checked(name, triples_of(documents, found), window, bolts)
    found += (*checked.warnings, *_fewer_bolts(reading, chosen[-1]))
    return checked, chosen[-1]


def _fewer_bolts(reading: Reading, chosen: Choice) -> Iterator[Diagnostic]:
    count = len(chosen.topology or ())
    if reading.topology == "ltm" and reading.bolts is not None and count < reading.bolts:
        message = f"`--bolts {reading.bolts}`: the disjoint classes make {count} groups, so there are {count} bolts"
        yield Diagnostic("W413", message, help=f"ask for `--bolts {count}`, or leave it out for the cheapest number")
