"""Random cascades as users write them: a text of events, an ontology, a background, and streams of named graphs."""

import re
from collections import abc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from pattern_meaning import found_above
from random_patterns import MENU, NAMES, looking, patterns
from thalweg.answers.event_answers import AbstractLine, ComplexLine
from thalweg.ir.pattern_semantics import Instance, TripleTerms
from thalweg.ir.pattern_text import show_pattern
from thalweg.ir.patterns import Absent, Both, Occurs, Pattern, Sequence, Triple
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.model.rdf import GENERATED_AT, RDF_TYPE, XSD

LAST = 14
SPACE = "http://e/"
TERMS = ("<0>", "<1>", "<2>")
BACKGROUND = (("<0>", "<q>", "<1>"), ("<1>", "<q>", "<1>"), ("<1>", "<q>", "<2>"), ("<i1>", "<p>", "<0>"))
# Of an event with `r` it is entailed that it has `p`, and of one that is special that it is an A.
ONTOLOGY = f"""Prefix(:=<{SPACE}>)
Ontology(SubClassOf(:Special :A) SubClassOf(:B :Any) SubClassOf(:C :Any) SubObjectPropertyOf(:r :p)
  Declaration(DataProperty(:v)))"""
NUMBERS = (*MENU, (Triple("?e", "<v>", "?x"),), (Triple("?e", "<v>", "?n"), Triple("?e", "<p>", "?x")))


@dataclass(frozen=True, slots=True)
class Arrival:
    """A graph of a stream, about one individual; it comes when another one of the tick `seen` might."""

    tick: int
    seen: int
    graph: str
    individual: str
    classes: tuple[str, ...]
    triples: tuple[TripleTerms, ...]

    @property
    def quads(self) -> str:
        """The graph as N-Quads."""
        types = ((self.individual, RDF_TYPE, f"<{name}>") for name in self.classes)
        time = f'{self.graph} {GENERATED_AT} "{self.tick}"^^<{XSD}integer> .\n'
        return time + "".join(
            f"{subject} {predicate} {_literal(thing)} {self.graph} .\n"
            for subject, predicate, thing in (*types, *self.triples)
        )

    @property
    def facts(self) -> list[str]:
        """What it says, as a late event is written."""
        types = (f"<{name}>({self.individual})" for name in self.classes)
        told = (f"{predicate}({subject},{thing})" for subject, predicate, thing in self.triples)
        return [absolute(fact) for fact in (*types, *told)]


def _literal(term: str) -> str:
    return f'"{term}"^^<{XSD}integer>' if term.isdigit() else term


def absolute(text: str) -> str:
    """A text in which short names are IRIs."""
    return re.sub(r"<(?:urn:thalweg:iri:)?(\w+)>", rf"<{SPACE}\1>", text)


# Random patterns seldom match, so these are among them: they wait for an event, or for the time in which none comes.
LIKELY = (
    Sequence((Occurs("A", 0), Occurs("B", 1))),
    Sequence((Occurs("A", 0), Absent(Occurs("B", 1)), Occurs("C", 2))),
    Sequence((Occurs("C", 0), Absent(Occurs("A", 1)))),
    Both((Occurs("A", 0), Occurs("C", 1))),
)


@st.composite
def definitions(draw: st.DrawFn) -> tuple[tuple[str, Pattern], ...]:
    """Up to three levels of patterns."""
    levels: tuple[tuple[str, dict[str, str]], ...] = (("D", {}), ("E", {"B": "D"}), ("F", {"A": "E", "C": "D"}))
    likely = st.builds(Pattern, st.sampled_from(LIKELY), st.sampled_from(("EVERY", "FIRST")), st.integers(3, 6))
    return tuple(
        (name, draw(looking(draw(st.one_of(patterns(), likely)), renamed, draw(st.sampled_from((NUMBERS, ((),)))))))
        for name, renamed in levels[: draw(st.integers(1, 3))]
    )


@st.composite
def arrivals(draw: st.DrawFn, held: abc.Sequence[int]) -> list[Arrival]:
    """Graphs in the order in which they come, each held up by one of these numbers of ticks."""
    found = []
    for number in range(draw(st.sampled_from((0, 3, 5, 6, 7, 8, 9)))):
        tick, individual = draw(st.integers(0, 9)), draw(st.sampled_from(("<i1>", "<i2>")))
        classes = draw(st.sets(st.sampled_from((*NAMES, "Special")), min_size=1))
        triples = [
            (individual, draw(st.sampled_from(("<p>", "<p>", "<r>"))), one)
            for one in sorted(draw(st.sets(st.sampled_from(TERMS), max_size=2)))
        ]
        triples += [(individual, "<v>", str(one)) for one in sorted(draw(st.sets(st.integers(0, 2), max_size=1)))]
        seen = tick + draw(st.sampled_from(held))
        found.append(Arrival(tick, seen, f"<g{number}>", individual, tuple(sorted(classes)), tuple(triples)))
    return sorted(found, key=lambda one: one.seen)


def text_of(named: abc.Sequence[tuple[str, Pattern]]) -> str:
    """Definitions as a `.tw`."""
    classes = [f"NAMED EVENT <{name}> AS <{name}>" for name in NAMES]
    return absolute("\n".join([*classes, *(_definition(*one) for one in named)]))


def _definition(name: str, pattern: Pattern) -> str:
    return f"NAMED EVENT <{name}> {{ {definition_text(pattern)} }}"


def definition_text(pattern: Pattern) -> str:
    """What is said of an event that is a pattern."""
    shown = re.sub(r"\b([A-FX-Z])\b", r"<\1>", show_pattern(pattern)).replace(" ticks)", " s)").replace(" tick)", " s)")
    clauses = " ".join(
        f"EVENT <{one.event}> {{ "
        + " . ".join(f"{triple.subject} {triple.predicate} {triple.object}" for triple in one.triples)
        + "".join(f" FILTER{condition.text}" for condition in one.filters)
        + " }"
        for one in pattern.clauses
        if one.triples
    )
    return f"MATCH {shown} {f'IF {{ {clauses} }}' if clauses else ''}"


def write_case(
    folder: Path, named: abc.Sequence[tuple[str, Pattern]], streams: abc.Sequence[Iterable[Arrival]]
) -> list[str]:
    """The files of a case; the words of a command line that runs it up to the last tick, and outputs all but two."""
    known = "".join(f"{subject} {predicate} {thing} .\n" for subject, predicate, thing in BACKGROUND)
    files = {"case.tw": text_of(named), "case.ofn": ONTOLOGY, "known.nt": absolute(known)}
    quads = {f"s{number}.nq": absolute("".join(one.quads for one in some)) for number, some in enumerate(streams)}
    for name, text in (files | quads).items():
        (folder / name).write_text(text)
    words = [str(folder / "case.tw"), str(folder / "case.ofn"), "--background", str(folder / "known.nt")]
    words += (word for name in quads for word in ("--stream", str(folder / name)))
    words += (word for name in ("A", *(name for name, _ in named)) for word in ("--event", f"<{SPACE}{name}>"))
    return [*words, "--to", str(LAST)]


def meant(program: CascadeProgram, came: abc.Sequence[Arrival]) -> list[str]:
    """The lines that a case has by the semantics, whichever way its events come."""
    names = {f"<{SPACE}{name}>" for name in NAMES}
    events: dict[str, list[Instance]] = {name: [] for name in names}
    lines: list[AbstractLine | ComplexLine] = []
    for one in came:
        triples = tuple(_entailed(one.triples))
        for name in {"A" if name == "Special" else name for name in one.classes}:
            about = absolute(f"<{name}>"), one.tick, one.tick, absolute(one.individual), absolute(one.graph)
            events[about[0]].append(Instance(*about, triples=triples))
        if {"A", "Special"} & {*one.classes}:
            lines.append(AbstractLine(one.tick, f"<{SPACE}A>", absolute(one.individual), absolute(one.graph)))
    for definition in program.events:
        pattern = definition.definition
        if isinstance(pattern, Pattern):
            found, events[definition.name] = found_above(
                definition.name, pattern, events, set(_entailed(BACKGROUND)), LAST
            )
            lines += (
                ComplexLine(one.end, Instance(definition.name, one.start, one.end, events=one.events), one.bindings)
                for one in found
            )
    return [str(line) for line in sorted(lines, key=lambda line: (line.t, str(line)))]


def _entailed(triples: Iterable[TripleTerms]) -> Iterator[TripleTerms]:
    for subject, predicate, thing in triples:
        yield absolute(subject), absolute(predicate), absolute(thing)
        if predicate == "<r>":
            yield absolute(subject), absolute("<p>"), absolute(thing)
