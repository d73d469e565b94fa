"""Patterns that are split over buckets find what they find in one process, whichever buckets are lost."""

from dataclasses import replace

from hypothesis import event, given, note
from hypothesis import strategies as st

from buckets import LOSSES, Graphs, in_buckets, with_graphs
from random_cascades import NUMBERS
from random_patterns import NAMES, looking, patterns
from thalweg.answers.jsonl import lines
from thalweg.dataflow.context import Context, Settings
from thalweg.ir.patterns import Pattern
from thalweg.kinds.events import EventCascade
from thalweg.languages.cascade.event_definitions import CascadeProgram, ClassText, NamedEvent
from thalweg.languages.owl.axioms import Ontology, SubClassOf
from thalweg.languages.owl.dl.abstraction_program import compile_abstraction
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.planning.stage_patterns import stage_patterns
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.watermark import Watermark

LAST = 14
DELAY = 3
BACKGROUND = (("<0>", "<q>", "<1>"), ("<1>", "<q>", "<1>"), ("<1>", "<q>", "<2>"), ("<i1>", "<p>", "<0>"))
TERMS = ("<0>", "<1>", "<2>")


@st.composite
def definitions(draw: st.DrawFn) -> tuple[tuple[str, Pattern], ...]:
    """Up to three levels; in most patterns all names have a variable in common."""
    found = []
    for name, renamed in (("D", {}), ("E", {"B": "D"}), ("F", {"A": "E", "C": "D"}))[: draw(st.integers(1, 3))]:
        menu = draw(st.sampled_from((NUMBERS, NUMBERS[1:], NUMBERS[1:], NUMBERS[1:])))
        found.append((name, draw(looking(draw(patterns()), renamed, menu))))
    return tuple(found)


@st.composite
def arrivals(draw: st.DrawFn) -> list[Graphs]:
    """Graphs in an order in which none is late; an individual of each is in some of the classes."""
    found: list[tuple[int, Graphs]] = []
    for number in range(draw(st.integers(0, 8))):
        tick, individual = draw(st.integers(0, 9)), draw(st.sampled_from(("<i1>", "<i2>")))
        facts = [Fact(f"<{name}>", (individual,)) for name in draw(st.sets(st.sampled_from(NAMES), min_size=1))]
        facts += (Fact("<p>", (individual, one)) for one in sorted(draw(st.sets(st.sampled_from(TERMS)))))
        # Only events have it, and not all of them.
        facts += (Fact("<v>", (individual, str(one))) for one in sorted(draw(st.sets(st.integers(0, 2), max_size=1))))
        found.append((tick + draw(st.integers(0, DELAY)), (tick, [(f"<g{number}>", facts)])))
    return [graphs for _, graphs in sorted(found, key=lambda one: one[0])]


def cascade(named: tuple[tuple[str, Pattern], ...]) -> EventCascade:
    classes = [NamedEvent(name, ClassText(f"<{name}>")) for name in NAMES]
    program = CascadeProgram((*classes, *(NamedEvent(name, pattern) for name, pattern in named)))
    axioms = tuple(SubClassOf(f"<{name}>", "<Any>") for name in NAMES)
    known = compile_abstraction("random", Ontology(axioms), [(f"<{name}>", f"<{name}>") for name in NAMES])
    return EventCascade(program, replace(known, triples=BACKGROUND), frozenset(("A", *(name for name, _ in named))))


def alone(part: EventCascade, settings: Settings, stream: list[Graphs]) -> list[str]:
    """What is output in one process."""
    run = LocalRun(part, Context(settings, Clock(), lambda _: None))
    batches = with_graphs(stream, run.dictionary, Watermark(DELAY))
    found: list[str] = []
    for now in range(LAST + 1):
        given = [batch for tick, batch, _ in batches if tick == now]
        found += (line for answer in run.advance(now, given) for line in lines(answer))
    return found


@given(definitions(), arrivals(), st.integers(1, 4), st.sampled_from(LOSSES), st.integers(1, 3))
def test_split_patterns_find_the_same(
    named: tuple[tuple[str, Pattern], ...], stream: list[Graphs], size: int, loss: str, partitions: int
) -> None:
    note(stage_patterns(named))
    part, settings = cascade(named), Settings(first=0, last=LAST, delay=DELAY, emit="changes")
    batches = [stream[start : start + size] for start in range(0, len(stream), size)] or [[]]
    expected = alone(part, settings, stream)
    event(f"{sum(one.split for one in stage_patterns(named))} split, {'some' if '[' in str(expected) else 'none'}")
    assert in_buckets(part, settings, batches, loss, partitions, with_graphs) == expected
