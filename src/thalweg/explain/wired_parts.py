"""A plan of several kinds of program as a document: its parts, how they are wired, and each part explained."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final

from thalweg.explain.diagram import Band, DiagramBuilder
from thalweg.explain.document import Paragraph, PlanDocument, Section, lines
from thalweg.explain.plan_stage import PlanStage
from thalweg.explain.rule_plan import explain
from thalweg.explain.short_names import OF_OWL
from thalweg.explain.stages import AGGREGATED, NEGATED, POSITIVE
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Aggregate, Literal, Not, Program
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate, with_files
from thalweg.planning.wire_parts import Layer, Station, Wiring, written

_RULES: Final = "rules"
_CLASS: Final = "class"

_TOGETHER: Final = "parts of several kinds are evaluated one after the other at each tick"
_COSTS: Final = "what others give, and one more shuffle would cost more than it saves; `--split always` splits"
ONE_KEY: Final = "a loop through `before` has one key"

# Keys of other plans that are found at the top as well.
_REPEATED: Final = ("dependency", "inputs", "communities")


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule or statement as it is written, what it derives, and what it reads, each with its role."""

    text: str
    heads: tuple[Predicate, ...]
    needs: tuple[tuple[Predicate, str], ...]
    title: str = "rule"


@dataclass(frozen=True, slots=True)
class ExplainedMember:
    """A part that is more than rules: its kind in words, what it reads and outputs, and what it does.

    It reads predicates, or `streams`; others hear it as the stream called `name`. What it answers besides predicates is
    said in words.
    """

    kind: str
    name: str
    inputs: tuple[Predicate, ...]
    outputs: tuple[Predicate, ...]
    statements: tuple[Statement, ...]
    explanation: PlanDocument
    streams: tuple[str, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class PlanPart:
    """One part of a plan: what it reads, and from which part (0 is the streams and the background); what it outputs.

    What it `hears` are whole streams; what it answers besides predicates is said in words.
    """

    kind: str
    reads: tuple[tuple[Predicate, int], ...]
    outputs: tuple[Predicate, ...]
    statements: tuple[Statement, ...]
    explanation: PlanDocument
    hears: tuple[tuple[str, int], ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class PlacedParts:
    """A fragment of a plan on Spark: the parts that are evaluated in it, and how it is split.

    There is no stage where operators that are not split share a partition.
    """

    places: tuple[int, ...]
    stage: PlanStage | None = None


def explain_parts(
    wiring: Wiring,
    members: Sequence[ExplainedMember],
    partitions: int | None = None,
    placed: Iterable[PlacedParts] = (),
    splittable: Collection[int] = (),
    unkeyed: Mapping[frozenset[int], str] = MappingProxyType({}),
) -> PlanDocument:
    """How rules and parts that are more than rules are evaluated together; on Spark `placed` in fragments.

    The `splittable` places are those that `--split always` splits; `unkeyed` has the loops that no key splits, and why.
    """
    parts = tuple(_explained(place, wiring, members) for place in wiring.places)
    placement = None if partitions is None else _Placement(parts, wiring, partitions, [*placed], splittable, unkeyed)
    return PlanDocument(
        sections=tuple(_sections(parts, placement)),
        data=_data(parts),
        diagram=_Drawing(parts, placement).builder.diagram(),
        stages=None if placement is None else placement.stages,
        warnings=tuple(warning for part in parts for warning in part.explanation.warnings),
    )


@dataclass(frozen=True)
class _Placement:
    """Which parts run in which fragments of the plan on Spark; these are its stages."""

    parts: tuple[PlanPart, ...]
    wiring: Wiring
    partitions: int
    placed: Sequence[PlacedParts]
    splittable: Collection[int]
    unkeyed: Mapping[frozenset[int], str]

    @cached_property
    def stages(self) -> tuple[PlanStage, ...]:
        """One for each fragment, in the order in which they are evaluated."""
        return tuple(
            self._together(number, fragment.places) if fragment.stage is None else fragment.stage
            for number, fragment in enumerate(self.placed)
        )

    def _together(self, number: int, places: Iterable[int]) -> PlanStage:
        """The stage of operators that share a partition."""
        texts = tuple(
            statement.text
            for place in places
            for statement in self.parts[place].statements
            if self.stage_of(place, statement) == number
        )
        return PlanStage(texts, None, 1, self._why(number))

    def _why(self, number: int) -> str:
        """Why each of the parts of a fragment is not split."""
        if self.partitions == 1:
            return _TOGETHER
        fragment = self.placed[number]
        split = [place for place in fragment.places if self._is_split_before(number, place)]
        loops = [loop for loop in self.wiring.loops if not loop.isdisjoint({*fragment.places} - {*split})]
        looping = frozenset[int]().union(*loops)
        apart = [place for place in fragment.places if place not in looping and place not in split]
        reading = [place for place in apart if place in self.splittable]
        whole = [place for place in apart if place not in self.splittable]
        reasons = [self._why_loop(loop) for loop in loops]
        if reading:
            verb, them = ("reads", "it") if len(reading) == 1 else ("read", "them")
            reasons.append(f"{_numbered(reading)} {verb} {_COSTS} {them}")
        if whole:
            reasons.append(f"no key splits {_numbered(whole)}")
        if split:
            reasons.append(f"what the buckets of {_numbered(split)} give is put together")
        return "; ".join(reasons)

    def _why_loop(self, loop: frozenset[int]) -> str:
        names = f"{_numbered(sorted(loop))} are a loop through `before`"
        obstacle = next((why for places, why in self.unkeyed.items() if not loop.isdisjoint(places)), None)
        if obstacle is not None:
            return f"{names} that no key splits, as {obstacle}"
        return f"{names} that reads {_COSTS} it"

    def stage_of(self, place: int, statement: Statement) -> int:
        """The number of the stage in which a statement of a part is evaluated."""
        # Stages of events have names, those of rules and answer sets have texts.
        names = {statement.text, *(head.name for head in statement.heads)}
        own = self.stages_of(place)
        for number in own:
            stage = self.placed[number].stage
            if stage is not None and not names.isdisjoint(stage.statements):
                return number
        return own[-1]

    def stages_of(self, place: int) -> list[int]:
        """The numbers of the stages in which a part is evaluated."""
        return [number for number, fragment in enumerate(self.placed) if place in fragment.places]

    def sentences(self) -> Iterator[str]:
        """What runs where."""
        for place in range(len(self.parts)):
            own = [self.placed[number].stage for number in self.stages_of(place)]
            extents = [stage.extent for stage in own if stage is not None]
            if extents:
                yield f"on Spark part {place + 1} is split: {', '.join(extents)}"
        for number, fragment in enumerate(self.placed):
            names = ", ".join(str(place + 1) for place in fragment.places)
            if fragment.stage is None and self._follows_buckets(number):
                yield f"on Spark what the buckets of part {names} give is put together in one partition"
            elif fragment.stage is not None and len(fragment.places) > 1:
                yield f"on Spark parts {names} share their partitions: {ONE_KEY}"
            elif fragment.stage is None:
                parts = f"part {names} is" if len(fragment.places) == 1 else f"parts {names} are"
                yield f"on Spark {parts} together in one partition: {self.stages[number].why}"

    def _follows_buckets(self, number: int) -> bool:
        """Whether a fragment only puts together what the buckets of one part give."""
        places = self.placed[number].places
        return len(places) == 1 and self._is_split_before(number, places[0])

    def _is_split_before(self, number: int, place: int) -> bool:
        """Whether a part is split in a stage before another one."""
        return any(self.placed[earlier].stage is not None for earlier in self.stages_of(place) if earlier < number)

    def bands(self) -> Iterator[tuple[tuple[int, PlanStage], ...]]:
        """The stages of each part, with their numbers; why parts are together is said where they first are."""
        shown: set[int] = set()
        for place in range(len(self.parts)):
            numbers, stages = self.stages_of(place), self.stages
            yield tuple((n, replace(stages[n], why="") if n in shown else stages[n]) for n in numbers)
            shown.update(numbers)


def _numbered(places: Sequence[int]) -> str:
    """Parts by their numbers.

    >>> _numbered([3]), _numbered([0, 1, 4])
    ('part 4', 'parts 1, 2 and 5')
    """
    numbers = [str(place + 1) for place in places]
    return f"part {numbers[0]}" if len(numbers) == 1 else f"parts {', '.join(numbers[:-1])} and {numbers[-1]}"


# As data and text ---------------------------------------------------------------------------------------------------


def _data(parts: Sequence[PlanPart]) -> dict[str, object]:
    """The data of all parts; keys of rules, and of answer sets, are repeated at the top."""
    data: dict[str, object] = {}
    strata: list[object] = []
    for part in parts:
        own = part.explanation.data
        levels = own.get("strata")
        strata += levels if isinstance(levels, list) else []
        data |= {key: own[key] for key in _REPEATED if key in own}
    return data | {"strata": strata, "parts": list(map(_part_data, parts))}


def _part_data(part: PlanPart) -> dict[str, object]:
    return {
        "kind": part.kind,
        "reads": [{"predicate": name, "from": source} for name, source in part.reads],
        "streams": [{"stream": name, "from": source} for name, source in part.hears],
        "outputs": part.outputs,
        "plan": part.explanation,
    }


def _sections(parts: Sequence[PlanPart], placement: _Placement | None) -> Iterator[Section]:
    """The order of the parts, what each reads and outputs, and then the plan of each."""
    sentences = () if placement is None else placement.sentences()
    yield Section("", lines(f"{len(parts)} parts, evaluated in this order at each tick", *sentences))
    for number, part in enumerate(parts, 1):
        yield Section(f"{number}  {part.kind}", tuple(_wires(part)))
    for number, part in enumerate(parts, 1):
        yield Section(f"part {number}: {part.kind}")
        yield Section("", (part.explanation,))


def _wires(part: PlanPart) -> Iterator[Paragraph]:
    for name, source in part.reads:
        yield Paragraph(f"     reads {with_files(name)} from {f'part {source}' if source else 'streams or background'}")
    for stream, source in part.hears:
        heard = f"     reads the stream {stream}" + (f" from part {source}" if source else "")
        yield Paragraph(heard, shortened=False)
    outputs = ", ".join(part.outputs)
    yield Paragraph(f"     outputs {outputs or part.answers or 'nothing'}", shortened=bool(outputs))


# From the wiring ----------------------------------------------------------------------------------------------------


def _explained(place: Layer | Station, wiring: Wiring, members: Sequence[ExplainedMember]) -> PlanPart:
    """A part; those that come before it are known by their places."""
    makers = {number: members[other.part] for number, other in enumerate(wiring.places) if isinstance(other, Station)}
    events = {name: number + 1 for number in place.events for name in makers[number].outputs}
    linked = {link.name: link.source + 1 for link in place.links if link.stream is None}
    if isinstance(place, Station):
        member = members[place.part]
        reads = {name: events.get(name, 0) for name in member.inputs} | linked
        heard = {link.stream: link.source + 1 for link in place.links if link.stream is not None}
        heard |= {
            makers[number].name: number + 1
            for number in (*place.events, *place.hears)
            if makers[number].name in member.streams
        }
        hears = {(name, 0) for name in member.streams if name not in heard} | set(heard.items())
        return PlanPart(
            member.kind,
            tuple(sorted(reads.items())),
            member.outputs,
            member.statements,
            member.explanation,
            tuple(sorted(hears)),
            member.answers,
        )
    past = {written(link.name): link.source + 1 for link in place.delayed}
    imports = place.program.interface.imports | {(name, False) for name in past}
    interface = replace(place.program.interface, exports=frozenset(), imports=imports)
    program = replace(place.program, rules=place.rules, interface=interface)
    sources = events | linked | past
    needed = tuple((name, sources.get(name, 0)) for name in sorted(_needed(program) - program.derived))
    return PlanPart(_RULES, needed, _outputs(program), _statements(program), explain(program))


def _outputs(program: Program) -> tuple[Predicate, ...]:
    return tuple(sorted(program.outputs))


def _statements(program: Program) -> tuple[Statement, ...]:
    return tuple(
        Statement(
            show(rule),
            (rule.head.signature,),
            tuple(_needs(rule.body)),
        )
        for rule in program.rules
    )


def _needs(body: tuple[Literal, ...]) -> Iterator[tuple[Predicate, str]]:
    """What a body reads, and how."""
    for literal in body:
        role = AGGREGATED if isinstance(literal, Aggregate) else NEGATED if isinstance(literal, Not) else POSITIVE
        yield from ((formula.atom.signature, role) for formula, _ in formulas((literal,)))


def _needed(program: Program) -> set[Predicate]:
    return {formula.atom.signature for rule in program.rules for formula, _ in formulas(rule.body)}


# As a diagram -------------------------------------------------------------------------------------------------------


class _Drawing:
    """Streams at the left, then a band for each part, with its rules and what they derive."""

    def __init__(self, parts: Sequence[PlanPart], placement: _Placement | None) -> None:
        self.parts = parts
        self.placement = placement
        texts = [statement.text for part in parts for statement in part.statements]
        names = [name for part in parts for name in (*part.outputs, *(read for read, _ in part.reads))]
        bands = [Band("streams and background"), *self.bands()]
        self.builder = DiagramBuilder(bands, names=[*texts, *names], prefixes=OF_OWL)
        self._read = {name for part in parts for name, _ in part.reads}
        for band, part in enumerate(parts, 1):
            for number, statement in enumerate(part.statements, 1):
                self.statement(band, number, statement, dict(part.reads))
            if any(statement.title == _CLASS for statement in part.statements):
                self.events(band, part)
            elif part.hears:
                self.listener(band, part)

    def bands(self) -> Iterator[Band]:
        """The kind of each part, and on Spark its stages."""
        stages = [()] * len(self.parts) if self.placement is None else self.placement.bands()
        for number, (part, placed) in enumerate(zip(self.parts, stages, strict=True), 1):
            yield Band(f"{number}  {part.kind}", placed)

    def events(self, band: int, part: PlanPart) -> None:
        """What the classes of a part are about: events of the streams, and those that another part makes."""
        outputs = {stream: self.parts[source - 1].outputs for stream, source in part.hears if source}
        event = self.builder.source(f"events {band}", "stream", "events of the stream", band if outputs else 0)
        for number, statement in enumerate(part.statements, 1):
            if statement.title == _CLASS:
                self.builder.edge(event, f"rule {number} in {band}")
        for stream, source in part.hears:
            for name in outputs.get(stream, ()):
                self.builder.edge(self.builder.source(f"{source} {name}", "derived", name, source), event)

    def listener(self, band: int, part: PlanPart) -> None:
        """A part that reads streams, as one node; the summary of its plan says what it is."""
        node = self.builder.statement(f"part {band}", part.kind, part.explanation.summary, band)
        for stream, source in part.hears:
            outputs = self.parts[source - 1].outputs if source else ()
            for name in outputs:
                self.builder.edge(self.builder.source(f"{source} {name}", "derived", name, source), node)
            if not outputs:
                self.builder.edge(self.builder.source(f"stream {stream}", "stream", stream, source), node)
        for answer in part.outputs or ((part.answers,) if part.answers else ()):
            self.builder.edge(node, self.builder.source(f"{band} {answer}", "derived", answer, band))

    def statement(self, band: int, number: int, statement: Statement, outside: Mapping[Predicate, int]) -> None:
        """A statement of a part, with what it reads and derives."""
        title = f"{statement.title} {number}" if statement.title == "rule" else statement.title
        if self.placement is not None and len(self.placement.stages_of(band - 1)) > 1:
            title += f" · stage {self.placement.stage_of(band - 1, statement)}"
        node = self.builder.statement(f"rule {number} in {band}", title, statement.text, band, recursive=True)
        # What an event binds is drawn where something reads it.
        bound = (head for head in statement.heads[1:] if head in self._read or statement.title == "rule")
        for head in (*statement.heads[:1], *bound):
            self.builder.edge(node, self.builder.source(f"{band} {head}", "derived", head, band))
        for need, role in statement.needs:
            source = outside.get(need, band)
            kind = "derived" if source else "stream"
            self.builder.edge(self.builder.source(f"{source} {need}", kind, need, source), node, role)
