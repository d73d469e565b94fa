"""A cascade of events as a document: its layers, how classes are decided, what patterns keep, and for how long."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from thalweg.explain.diagram import Band, Diagram, DiagramBuilder
from thalweg.explain.document import PlanDocument, Section, lines
from thalweg.explain.event_classes import class_data
from thalweg.explain.plan_stage import PlanStage
from thalweg.explain.quantity import count
from thalweg.explain.short_names import OF_OWL
from thalweg.explain.stages import NEGATED, POSITIVE, listed_stages, spark_section
from thalweg.explain.wired_parts import Statement
from thalweg.ir.pattern_semantics import has_open_not, nots
from thalweg.ir.pattern_text import show_clause, show_pattern
from thalweg.ir.patterns import Both, Either, Operand, Pattern, Sequence, occurrences
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.languages.owl.axioms import Ontology
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, compile_abstraction
from thalweg.model.predicate import Predicate
from thalweg.planning.split_pattern import split_variable
from thalweg.planning.stage_patterns import stage_patterns

_RULES: Final = "rules alone"
_MODELS: Final = "rules where all guards hold; else a search for models; else the reasoner"


def explain_events(
    program: CascadeProgram,
    abstraction: AbstractionProgram | None,
    output: frozenset[str],
    partitions: int | None = None,
) -> PlanDocument:
    """How events are found; on Spark where there are partitions."""
    cascade = _Cascade(program, abstraction, output)
    stages = None if partitions is None else cascade.stages(partitions)
    data: dict[str, object] = {
        "output": sorted(output),
        "selection": [selection.text for selection in program.selections],
        "classes": [event.data for event in cascade.classes],
        "patterns": [event.data for event in cascade.patterns],
        **({} if abstraction is None else {"abstraction": class_data(abstraction)}),
    }
    on_spark = [] if stages is None else [spark_section(*listed_stages(stages))]
    # What nothing bounds is warned of where the text is read.
    return PlanDocument((*cascade.sections(), *on_spark), data, _diagram(cascade, stages or ()), stages)


def event_statements(program: CascadeProgram) -> Iterator[Statement]:
    """The definitions of events, as parts of a diagram that has more than events."""
    for name, definition in program.classes:
        yield Statement(definition.text, (Predicate(name, 1),), (), "class")
    for event in _patterns(program):
        needs = ((Predicate(name, 1), role) for name, role in event.uses)
        text = f"{event.event}: {show_pattern(event.pattern)}"
        bound = sorted({name for clause in event.pattern.clauses for name in clause.variables})
        heads = (Predicate(f"{event.event[:-1]}_{name}>", 2) for name in bound)
        yield Statement(text, (Predicate(event.event, 1), *heads), tuple(needs), "pattern")


@dataclass(frozen=True, slots=True)
class EventClass:
    """An event that is a class: how many axioms can matter to it, and what decides it."""

    event: str
    text: str
    axioms: int
    decided_by: str

    @property
    def data(self) -> dict[str, object]:
        """Its entry in the data of a document."""
        return {"event": self.event, "class": self.text, "axioms": self.axioms, "decided_by": self.decided_by}


@dataclass(frozen=True, slots=True)
class EventPattern:
    """An event that is a pattern, and its layer: classes are in layer 0, and what uses only those in layer 1."""

    event: str
    pattern: Pattern
    layer: int

    @property
    def uses(self) -> list[tuple[str, str]]:
        """The events of the pattern, in its order, with their roles: those under `NOT` are negated."""
        operand = self.pattern.operand
        names = dict.fromkeys(occurrence.event for occurrence in occurrences(operand))
        return [(name, NEGATED if name in self.absent else POSITIVE) for name in names]

    @property
    def absent(self) -> set[str]:
        """The events under `NOT`."""
        operands = (negated.operand for negated in nots(self.pattern.operand))
        return {occurrence.event for operand in operands for occurrence in occurrences(operand)}

    @property
    def waits(self) -> bool:
        """Whether matches wait until their time is over, because of an open `NOT`."""
        operand = self.pattern.operand
        return has_open_not(operand, frozenset(occurrence.place for occurrence in occurrences(operand)))

    @property
    def keeps(self) -> tuple[str, ...]:
        """The events that are kept until others come, or until the time of a match is over."""
        waiting = {name for name, _ in self.uses} if self.waits else set()
        return tuple(sorted(_kept(self.pattern.operand) | self.absent | waiting))

    @property
    def ticks(self) -> int | None:
        """For how many ticks they are kept; None where nothing bounds it."""
        within = self.pattern.within
        return within if within is None or not self.waits else 2 * within

    @property
    def output(self) -> str:
        """When a match is output."""
        return "when its time is over" if self.waits else "with its last event"

    @property
    def split(self) -> tuple[str | None, str]:
        """The variable by which it can be split, and why, or why there is none."""
        variable = split_variable(self.pattern)
        if variable is not None:
            return variable, "all its events agree on it"
        if self.pattern.modifier is None:
            return None, "it is matched once in all"
        return None, "there is no variable on which all its events agree"

    @property
    def clauses(self) -> dict[str, str]:
        """What is looked up of its events."""
        clauses = self.pattern.clauses
        return {clause.event: show_clause(clause) for clause in clauses if clause.triples or clause.filters}

    @property
    def data(self) -> dict[str, object]:
        """Its entry in the data of a document."""
        variable, why = self.split
        return {
            "event": self.event,
            "layer": self.layer,
            "pattern": show_pattern(self.pattern),
            "uses": sorted(name for name, _ in self.uses),
            "clauses": self.clauses,
            "joins": sorted(self.pattern.shared),
            "keeps": self.keeps,
            "ticks": self.ticks if self.keeps else 0,
            "output": self.output,
            "split_by": variable,
            "why": why,
        }

    def lines(self) -> Iterator[str]:
        """What is said of it under its pattern."""
        for clause in self.pattern.clauses:
            if clause.triples or clause.filters:
                yield f"looks up  {clause.event}: {show_clause(clause)}"
        if self.pattern.shared:
            yield f"joins     by {', '.join(f'?{name}' for name in sorted(self.pattern.shared))}"
        if not self.keeps:
            yield "keeps     nothing"
        elif self.ticks is None:
            yield f"keeps     {', '.join(self.keeps)} until they are matched: nothing bounds it"
        else:
            twice = ", twice its bound, because matches wait" if self.waits else ""
            yield f"keeps     {', '.join(self.keeps)} for {count(self.ticks, 'tick')}{twice}"
        yield f"output    {self.output}"
        variable, why = self.split
        yield f"split     {'in no way' if variable is None else f'by ?{variable}'}: {why}"


def _kept(operand: Operand) -> set[str]:
    """The events that are kept until the last ones of a pattern come."""
    match operand:
        case Sequence(operands):
            positive = [member for member in operands if list(occurrences(member, under_not=False))]
            before = (event.event for member in positive[:-1] for event in occurrences(member, under_not=False))
            return {*before, *_kept(positive[-1])}
        case Both():
            return {occurrence.event for occurrence in occurrences(operand, under_not=False)}
        case Either(operands):
            return {name for member in operands for name in _kept(member)}
    return set()


def _patterns(program: CascadeProgram) -> tuple[EventPattern, ...]:
    """The events that are patterns, layer by layer."""
    layers: dict[str, int] = {}
    patterns = []
    for event in program.events:
        layers[event.name] = layer = 1 + max((layers.get(name, 0) for name in event.uses), default=-1)
        if isinstance(event.definition, Pattern):
            patterns.append(EventPattern(event.name, event.definition, layer))
    return tuple(sorted(patterns, key=lambda pattern: pattern.layer))


@dataclass(frozen=True)
class _Cascade:
    """Definitions of events, and what is found out about them."""

    program: CascadeProgram
    abstraction: AbstractionProgram | None
    output: frozenset[str]

    @cached_property
    def classes(self) -> tuple[EventClass, ...]:
        abstraction, definitions = self.abstraction, self.program.classes
        if abstraction is None:
            return tuple(EventClass(name, event.text, 0, "conclusions of rules") for name, event in definitions)
        axioms = Ontology(abstraction.axioms)
        classes = []
        for (name, event), wanted in zip(definitions, abstraction.asked, strict=True):
            alone = compile_abstraction("", axioms, [(name, wanted.name)])
            form = alone.form
            by = _RULES if form.is_horn else _MODELS
            if form.unsupported:
                by = f"the reasoner, because of {' and '.join(sorted(set(form.unsupported)))}"
            classes.append(EventClass(name, event.text, len(alone.axioms), by))
        return tuple(classes)

    @cached_property
    def patterns(self) -> tuple[EventPattern, ...]:
        return _patterns(self.program)

    @cached_property
    def layers(self) -> int:
        """How many layers of patterns there are."""
        return max((pattern.layer for pattern in self.patterns), default=0)

    def stages(self, partitions: int) -> tuple[PlanStage, ...]:
        """How it is split over the partitions of Spark."""
        if self.program.selections:
            together = tuple(event.name for event in self.program.events)
            return (_stage(together, {}, 1, "a selection sees many events at once"),)
        names = tuple(event.event for event in self.classes)
        classes = _stage(names, {}, partitions, "events are classified in turn, one at a time")
        matched = (
            _stage(
                stage.names,
                stage.keys,
                partitions if stage.split else 1,
                "all events of a match agree on its key" if stage.split else "there is nothing to split by",
            )
            for stage in stage_patterns([(event.event, event.pattern) for event in self.patterns])
        )
        return classes, *matched

    def sections(self) -> Iterator[Section]:
        """A summary, the classes, and the patterns layer by layer."""
        classes, patterns = count(len(self.classes), "class", "classes"), count(len(self.patterns), "pattern")
        over = f" in {count(self.layers, 'layer')}" if self.layers else ""
        yield Section(
            "",
            lines(
                f"{count(len(self.program.events), 'event')}: {classes}, {patterns}{over}",
                f"output    {', '.join(sorted(self.output))}",
                *(f"selection {' '.join(selection.text.split())}" for selection in self.program.selections),
            ),
        )
        if self.abstraction is not None:
            yield Section("classes, of one event at a time", lines(*self._class_lines()))
        for layer in range(1, self.layers + 1):
            yield Section(f"patterns, layer {layer}", lines(*self._pattern_lines(layer)))

    def _class_lines(self) -> Iterator[str]:
        for event in self.classes:
            yield f"  {event.event} AS {event.text}"
            yield f"    decided by  {event.decided_by}; {count(event.axioms, 'axiom')} can matter"

    def _pattern_lines(self, layer: int) -> Iterator[str]:
        for event in self.patterns:
            if event.layer == layer:
                yield f"  {event.event}  {show_pattern(event.pattern)}"
                yield from (f"    {line}" for line in event.lines())


def _stage(events: tuple[str, ...], keys: Mapping[str, str], partitions: int, why: str) -> PlanStage:
    """Events that are found together; what has no key of its own is split by events, where it is split."""
    key = tuple(sorted(set(keys.values()))) or (("event",) if partitions > 1 else None)
    return PlanStage(events, key, partitions, why, keys)


# As a diagram -------------------------------------------------------------------------------------------------------


def _diagram(cascade: _Cascade, stages: tuple[PlanStage, ...]) -> Diagram:
    """Streams at the left, then classes, then the patterns layer by layer."""
    texts = [event.text for event in cascade.classes]
    texts += [show_pattern(event.pattern) for event in cascade.patterns]
    texts += [event.name for event in cascade.program.events]
    legend = {"positive": "reads", "negated": "NOT"}
    builder = DiagramBuilder([Band("streams"), *_bands(cascade, stages)], legend, texts, OF_OWL)
    band_of = {event.event: event.layer + 1 for event in cascade.patterns}
    band_of |= {event.event: 1 for event in cascade.classes}
    for event in cascade.classes:
        node = builder.statement(f"class {event.event}", "class", event.text, 1)
        builder.edge(builder.source("stream", "stream", "events of the stream", 0), node)
        builder.edge(node, builder.source(event.event, "derived", event.event, 1))
    for pattern in cascade.patterns:
        _draw(builder, pattern, band_of, stages)
    return builder.diagram()


def _bands(cascade: _Cascade, stages: tuple[PlanStage, ...]) -> Iterator[Band]:
    """Classes, and each layer of patterns; on Spark with their stages."""
    yield _band("classes", {event.event for event in cascade.classes}, stages)
    for layer in range(1, 1 + cascade.layers):
        names = {event.event for event in cascade.patterns if event.layer == layer}
        yield _band(f"patterns, layer {layer}", names, stages)


def _band(title: str, events: set[str], stages: tuple[PlanStage, ...]) -> Band:
    shared = ((number, stage) for number, stage in enumerate(stages) if not events.isdisjoint(stage.statements))
    return Band(title, tuple(shared))


def _title(event: EventPattern, stages: tuple[PlanStage, ...]) -> str:
    """On Spark a pattern that can be split runs in one partition where others of its stage cannot."""
    for number, stage in enumerate(stages):
        if event.event in stage.statements:
            keys = stage.keys or {}
            return f"pattern · stage {number}{f' by ?{keys[event.event]}' if event.event in keys else ''}"
    variable, _ = event.split
    return "pattern" if variable is None else f"pattern, split by ?{variable}"


def _draw(
    builder: DiagramBuilder, event: EventPattern, band_of: Mapping[str, int], stages: tuple[PlanStage, ...]
) -> None:
    band = event.layer + 1
    node = builder.statement(f"pattern {event.event}", _title(event, stages), show_pattern(event.pattern), band)
    for name, role in event.uses:
        kind = "derived" if name in band_of else "stream"
        builder.edge(builder.source(name, kind, name, band_of.get(name, 0)), node, role)
    builder.edge(node, builder.source(event.event, "derived", event.event, band))
