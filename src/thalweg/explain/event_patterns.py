"""A cascade of events for people to read: its layers, how classes are decided, what patterns keep, and for how long."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.explain.drawing import Drawing
from thalweg.explain.event_classes import ExplainedAbstraction
from thalweg.explain.plan_text import OF_OWL, briefly, count
from thalweg.explain.stages import NEGATED, POSITIVE, band_label
from thalweg.explain.wired_parts import Statement
from thalweg.ir.pattern_semantics import has_open_not, nots
from thalweg.ir.pattern_text import show_clause, show_pattern
from thalweg.ir.patterns import Both, Either, Operand, Pattern, Sequence, occurrences
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.languages.owl.axioms import Ontology
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, compile_abstraction
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.planning.split_pattern import split_variable
from thalweg.planning.stage_patterns import stage_patterns

_RULES: Final = "rules alone"
_MODELS: Final = "rules where all guards hold; else a search for models; else the reasoner"


@dataclass(frozen=True, slots=True)
class ExplainedClass:
    """An event that is a class: how many axioms can matter to it, and what decides it."""

    event: str
    text: str
    axioms: int
    decided_by: str

    def as_data(self) -> dict[str, object]:
        return {"event": self.event, "class": self.text, "axioms": self.axioms, "decided_by": self.decided_by}


@dataclass(frozen=True, slots=True)
class ExplainedPattern:
    """An event that is a pattern, and its layer: classes are in layer 0, and what uses only those in layer 1."""

    event: str
    pattern: Pattern
    layer: int

    @property
    def waits(self) -> bool:
        """Whether matches wait until their time is over, because of an open `NOT`."""
        return has_open_not(self.pattern.operand, frozenset(one.place for one in occurrences(self.pattern.operand)))

    @property
    def keeps(self) -> tuple[str, ...]:
        """The events that are kept until others come, or until the time of a match is over."""
        absent = {one.event for each in nots(self.pattern.operand) for one in occurrences(each.operand)}
        waiting = {one.event for one in occurrences(self.pattern.operand)} if self.waits else set()
        return tuple(sorted(_kept(self.pattern.operand) | absent | waiting))

    @property
    def ticks(self) -> int | None:
        """For how many ticks they are kept; None where nothing bounds it."""
        within = self.pattern.within
        return within if within is None or not self.waits else 2 * within

    @property
    def split(self) -> tuple[str | None, str]:
        """The variable by which it can be split, and why, or why there is none."""
        variable = split_variable(self.pattern)
        if variable is not None:
            return variable, "all its events agree on it"
        if self.pattern.modifier is None:
            return None, "it is matched once in all"
        return None, "there is no variable on which all its events agree"

    def as_data(self) -> dict[str, object]:
        pattern = self.pattern
        variable, why = self.split
        return {
            "event": self.event,
            "layer": self.layer,
            "pattern": show_pattern(pattern),
            "uses": sorted({one.event for one in occurrences(pattern.operand)}),
            "clauses": {one.event: show_clause(one) for one in pattern.clauses if one.triples or one.filters},
            "joins": sorted(pattern.shared),
            "keeps": list(self.keeps),
            "ticks": self.ticks if self.keeps else 0,
            "output": "when its time is over" if self.waits else "with its last event",
            "split_by": variable,
            "why": why,
        }

    def lines(self) -> Iterator[str]:
        """What is said of it under its pattern."""
        pattern = self.pattern
        for one in pattern.clauses:
            if one.triples or one.filters:
                yield f"looks up  {one.event}: {show_clause(one)}"
        if pattern.shared:
            yield f"joins     by {', '.join(f'?{name}' for name in sorted(pattern.shared))}"
        if not self.keeps:
            yield "keeps     nothing"
        elif self.ticks is None:
            yield f"keeps     {', '.join(self.keeps)} until they are matched: nothing bounds it"
        else:
            twice = ", twice its bound, because matches wait" if self.waits else ""
            yield f"keeps     {', '.join(self.keeps)} for {count(self.ticks, 'tick')}{twice}"
        yield f"output    {self.as_data()['output']}"
        variable, why = self.split
        yield f"split     {'in no way' if variable is None else f'by ?{variable}'}: {why}"


def _kept(operand: Operand) -> set[str]:
    """The events that are kept until the last ones of a pattern come."""
    match operand:
        case Sequence(operands):
            positive = [one for one in operands if list(occurrences(one, under_not=False))]
            before = (one.event for each in positive[:-1] for one in occurrences(each, under_not=False))
            return {*before, *_kept(positive[-1])}
        case Both():
            return {one.event for one in occurrences(operand, under_not=False)}
        case Either(operands):
            return {name for one in operands for name in _kept(one)}
    return set()


@dataclass(frozen=True, slots=True)
class EventStage:
    """Events that are found together on Spark, the variables that patterns are split by, and why."""

    events: tuple[str, ...]
    keys: Mapping[str, str]
    partitions: int
    why: str

    @property
    def key(self) -> list[str] | None:
        """What decides about the partition; None where there is one."""
        return sorted(set(self.keys.values())) or (["event"] if self.partitions > 1 else None)

    def as_data(self) -> dict[str, object]:
        return {
            "rules": list(self.events),
            "key": self.key,
            "keys": dict(self.keys),
            "partitions": self.partitions,
            "why": self.why,
        }


@dataclass(frozen=True)
class ExplainedCascade:
    """Definitions of events, explained; on Spark where there are `partitions`."""

    program: CascadeProgram
    abstraction: AbstractionProgram | None
    output: frozenset[str]
    partitions: int | None = None

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        # What nothing bounds is warned of where the text is read.
        return ()

    @cached_property
    def classes(self) -> tuple[ExplainedClass, ...]:
        known = self.abstraction
        if known is None:
            return tuple(
                ExplainedClass(name, one.text, 0, "conclusions of rules") for name, one in self.program.classes
            )
        axioms = Ontology(known.axioms)
        found = []
        for (name, one), asked in zip(self.program.classes, known.asked, strict=True):
            alone = compile_abstraction("", axioms, [(name, asked.name)])
            form = alone.form
            by = _RULES if form.is_horn else _MODELS
            if form.unsupported:
                by = f"the reasoner, because of {' and '.join(sorted(set(form.unsupported)))}"
            found.append(ExplainedClass(name, one.text, len(alone.axioms), by))
        return tuple(found)

    @cached_property
    def patterns(self) -> tuple[ExplainedPattern, ...]:
        layers: dict[str, int] = {}
        found = []
        for one in self.program.events:
            layers[one.name] = layer = 1 + max((layers.get(name, 0) for name in one.uses), default=-1)
            if isinstance(one.definition, Pattern):
                found.append(ExplainedPattern(one.name, one.definition, layer))
        return tuple(sorted(found, key=lambda each: each.layer))

    def as_data(self) -> dict[str, object]:
        """The same for programs to read."""
        data: dict[str, object] = {
            "output": sorted(self.output),
            "selection": [one.text for one in self.program.selections],
            "classes": [one.as_data() for one in self.classes],
            "patterns": [one.as_data() for one in self.patterns],
        }
        if self.abstraction is not None:
            data["abstraction"] = ExplainedAbstraction(self.abstraction).as_data()
        if self.partitions is not None:
            data["stages"] = [stage.as_data() for stage in self.stages(self.partitions)]
        return data

    def stages(self, partitions: int) -> tuple[EventStage, ...]:
        """How it is split over the partitions of Spark."""
        if self.program.selections:
            together = tuple(one.name for one in self.program.events)
            return (EventStage(together, {}, 1, "a selection sees many events at once"),)
        classes = EventStage(
            tuple(one.event for one in self.classes), {}, partitions, "events are classified in turn, one at a time"
        )
        known = [(one.event, one.pattern) for one in self.patterns]
        later = (
            EventStage(
                one.names,
                one.keys,
                partitions if one.split else 1,
                "all events of a match agree on its key" if one.split else "there is nothing to split by",
            )
            for one in stage_patterns(known)
        )
        return classes, *later

    def as_text(self, prefixes: Prefixes = NO_PREFIXES) -> str:
        """The same for people."""
        return prefixes.shorten("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        layers = max((one.layer for one in self.patterns), default=0)
        made = [count(len(self.classes), "class", "classes"), count(len(self.patterns), "pattern")]
        over = f" in {count(layers, 'layer')}" if layers else ""
        yield f"{count(len(self.program.events), 'event')}: {made[0]}, {made[1]}{over}"
        yield f"output    {', '.join(sorted(self.output))}"
        for one in self.program.selections:
            yield f"selection {' '.join(one.text.split())}"
        if self.abstraction is not None:
            yield ""
            yield "classes, of one event at a time"
            for each in self.classes:
                yield f"  {each.event} AS {each.text}"
                yield f"    decided by  {each.decided_by}; {count(each.axioms, 'axiom')} can matter"
        for layer in range(1, layers + 1):
            yield ""
            yield f"patterns, layer {layer}"
            for pattern in self.patterns:
                if pattern.layer == layer:
                    yield f"  {pattern.event}  {show_pattern(pattern.pattern)}"
                    yield from (f"    {line}" for line in pattern.lines())

        if self.partitions is not None:
            yield ""
            yield "on Spark"
            for number, stage in enumerate(self.stages(self.partitions)):
                yield f"  stage {number} in {count(stage.partitions, 'partition')}: {stage.why}"
                for event in stage.events:
                    yield f"    {event}{f' by ?{stage.keys[event]}' if event in stage.keys else ''}"

    def as_svg(self) -> str:
        """Streams at the left, then classes, then the patterns layer by layer."""
        texts = [*(one.text for one in self.classes), *(show_pattern(one.pattern) for one in self.patterns)]
        names = [one.name for one in self.program.events]
        drawing = Drawing(
            ["streams", *self._bands()], {"positive": "reads", "negated": "NOT"}, briefly([*texts, *names], OF_OWL)
        )
        place = {one.event: one.layer + 1 for one in self.patterns} | {one.event: 1 for one in self.classes}
        for each in self.classes:
            drawing.rule(f"class {each.event}", "class", each.text, 1)
            drawing.arrow(drawing.thing("stream", "stream", "events of the stream", 0), f"class {each.event}")
            drawing.arrow(f"class {each.event}", drawing.thing(each.event, "derived", each.event, 1))
        for pattern in self.patterns:
            self._draw(drawing, pattern, place)
        return drawing.svg()

    def _bands(self) -> Iterator[str]:
        """Classes, and each layer of patterns; on Spark with their stages."""
        yield self._band("classes", {one.event for one in self.classes})
        for layer in range(1, 1 + max((one.layer for one in self.patterns), default=0)):
            yield self._band(f"patterns, layer {layer}", {one.event for one in self.patterns if one.layer == layer})

    def _band(self, title: str, events: set[str]) -> str:
        return band_label(title, [(n, one.as_data()) for n, one in self._placed if not events.isdisjoint(one.events)])

    @cached_property
    def _placed(self) -> list[tuple[int, EventStage]]:
        return [] if self.partitions is None else list(enumerate(self.stages(self.partitions)))

    def _title(self, one: ExplainedPattern) -> str:
        """On Spark a pattern that can be split runs in one partition where others of its stage cannot."""
        for number, stage in self._placed:
            if one.event in stage.events:
                return f"pattern · stage {number}{f' by ?{stage.keys[one.event]}' if one.event in stage.keys else ''}"
        variable, _ = one.split
        return "pattern" if variable is None else f"pattern, split by ?{variable}"

    def _draw(self, drawing: Drawing, one: ExplainedPattern, place: Mapping[str, int]) -> None:
        band, box = one.layer + 1, f"pattern {one.event}"
        drawing.rule(box, self._title(one), show_pattern(one.pattern), band)
        absent = {each.event for under in nots(one.pattern.operand) for each in occurrences(under.operand)}
        for name in dict.fromkeys(each.event for each in occurrences(one.pattern.operand)):
            kind = "derived" if name in place else "stream"
            source = drawing.thing(name, kind, name, place.get(name, 0))
            drawing.arrow(source, box, "negated" if name in absent else "positive")
        drawing.arrow(box, drawing.thing(one.event, "derived", one.event, band))

    def statements(self) -> Iterator[Statement]:
        """The definitions, as parts of a drawing that has more than events."""
        for one in self.classes:
            yield Statement(one.text, (Predicate(one.event, 1),), (), "class")
        for pattern in self.patterns:
            operand = pattern.pattern.operand
            absent = {each.event for under in nots(operand) for each in occurrences(under.operand)}
            names = dict.fromkeys(each.event for each in occurrences(operand))
            needs = ((Predicate(name, 1), NEGATED if name in absent else POSITIVE) for name in names)
            text = f"{pattern.event}: {show_pattern(pattern.pattern)}"
            bound = sorted({name for clause in pattern.pattern.clauses for name in clause.variables})
            heads = (Predicate(f"{pattern.event[:-1]}_{name}>", 2) for name in bound)
            yield Statement(text, (Predicate(pattern.event, 1), *heads), tuple(needs), "pattern")
