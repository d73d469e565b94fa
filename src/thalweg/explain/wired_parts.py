"""A plan of several kinds of program, for people to read: its parts, how they are wired, and each part explained."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol

from thalweg.diagnostics import Diagnostic
from thalweg.explain.drawing import Drawing
from thalweg.explain.plan import explain
from thalweg.explain.plan_text import OF_OWL, briefly
from thalweg.explain.stages import AGGREGATED, NEGATED, POSITIVE, StageData, band_label, width
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Aggregate, Literal, Not, Program
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate, with_files
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.planning.wire_parts import BEFORE, Layer, Station, Wiring

_RULES: Final = "rules"
_CLASS: Final = "class"

_TOGETHER: Final = "parts of several kinds are evaluated one after the other at each tick"
_MEETING: Final = "parts that need each other's results are evaluated one after the other at each tick"

# Keys of other plans that are found at the top as well.
_REPEATED: Final = ("dependency", "inputs", "communities")


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule or statement as it is written, what it derives, and what it reads, each with its role."""

    text: str
    heads: tuple[Predicate, ...]
    needs: tuple[tuple[Predicate, str], ...]
    title: str = "rule"


class Explained(Protocol):
    """How one part of a plan is evaluated."""

    @property
    def warnings(self) -> tuple[Diagnostic, ...]: ...
    def as_text(self, prefixes: Prefixes = NO_PREFIXES) -> str: ...
    def as_data(self) -> dict[str, object]: ...


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
    explanation: Explained
    streams: tuple[str, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a plan: what it reads, and from which part (0 is the streams and the background); what it outputs.

    What it `hears` are whole streams; what it answers besides predicates is said in words.
    """

    kind: str
    reads: tuple[tuple[Predicate, int], ...]
    outputs: tuple[Predicate, ...]
    statements: tuple[Statement, ...]
    explanation: Explained
    hears: tuple[tuple[str, int], ...] = ()
    answers: str = ""


@dataclass(frozen=True)
class ExplainedParts:
    """Parts in the order in which they are evaluated at each tick.

    On Spark, where there are `partitions`, they meet in one; those of `split`, by their places, have done their work,
    or a part of it, in stages before.
    """

    parts: tuple[Part, ...]
    partitions: int | None = None
    split: Mapping[int, Sequence[StageData]] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(one for part in self.parts for one in part.explanation.warnings)

    def as_data(self) -> dict[str, object]:
        """The same for programs to read; keys of rules, and of answer sets, are repeated at the top."""
        data: dict[str, object] = {}
        strata: list[object] = []
        for part in self.parts:
            own = part.explanation.as_data()
            found = own.get("strata")
            strata += found if isinstance(found, list) else []
            data |= {key: own[key] for key in _REPEATED if key in own}
        data |= {"strata": strata, "parts": list(map(self._part_data, self.parts))}
        if self.partitions is not None:
            data["stages"] = self.stages
        return data

    @cached_property
    def stages(self) -> list[StageData]:
        """Those of parts that are split, then the one where all parts meet."""
        split = [stage for stages in self.split.values() for stage in stages]
        here = enumerate(self.parts)
        rest = [one.text for n, part in here for one in part.statements if self.stage_of(n, one) == len(split)]
        return [*split, {"rules": rest, "key": None, "partitions": 1, "why": _MEETING if split else _TOGETHER}]

    def own_stages(self, place: int) -> range:
        """The numbers of the stages that a part has before all parts meet."""
        sizes = {number: len(stages) for number, stages in self.split.items()}
        first = sum(size for number, size in sizes.items() if number < place)
        return range(first, first + sizes.get(place, 0))

    def stage_of(self, place: int, statement: Statement) -> int:
        """The number of the stage in which a statement of a part is evaluated."""
        # Stages of events have names, those of rules and answer sets have texts.
        names = {statement.text, *(head.name for head in statement.heads)}
        for number, stage in zip(self.own_stages(place), self.split.get(place, ()), strict=True):
            if not names.isdisjoint(stage["rules"]):  # type: ignore[arg-type]
                return number
        return sum(map(len, self.split.values()))

    def stages_of(self, place: int) -> list[int]:
        """The numbers of the stages in which a part is evaluated; one without statements ends where all parts meet."""
        part = self.parts[place]
        meeting = [] if part.statements else [len(self.stages) - 1]
        return sorted({*self.own_stages(place), *meeting, *(self.stage_of(place, one) for one in part.statements)})

    @staticmethod
    def _part_data(part: Part) -> dict[str, object]:
        return {
            "kind": part.kind,
            "reads": [{"predicate": name, "from": source} for name, source in part.reads],
            "streams": [{"stream": name, "from": source} for name, source in part.hears],
            "outputs": list(part.outputs),
            "plan": part.explanation.as_data(),
        }

    def as_text(self, prefixes: Prefixes = NO_PREFIXES) -> str:
        return "\n".join(self._lines(prefixes))

    def _lines(self, prefixes: Prefixes) -> Iterator[str]:
        yield f"{len(self.parts)} parts, evaluated in this order at each tick"
        if self.partitions is not None and not self.split:
            yield f"on Spark in one partition of {self.partitions}: {_TOGETHER}"
        for number, stages in self.split.items() if self.partitions is not None else ():
            yield f"on Spark part {number + 1} begins in stages of its own: {', '.join(map(width, stages))}"
        if self.partitions is not None and self.split:
            yield f"on Spark all parts meet in one partition: {_MEETING}"
        for number, part in enumerate(self.parts, 1):
            yield ""
            yield f"{number}  {part.kind}"
            short = prefixes.shorten
            reads = ((short(with_files(name)), self._source(source)) for name, source in part.reads)
            yield from (f"     reads {name} from {source}" for name, source in reads)
            for name, source in part.hears:
                yield f"     reads the stream {name}" + (f" from part {source}" if source else "")
            yield f"     outputs {short(', '.join(part.outputs)) or part.answers or 'nothing'}"
        for number, part in enumerate(self.parts, 1):
            yield ""
            yield f"part {number}: {part.kind}"
            yield ""
            yield part.explanation.as_text(prefixes)

    def _source(self, number: int) -> str:
        return f"part {number}" if number else "streams or background"

    def as_svg(self) -> str:
        return _Parts(self).svg()


def explain_parts(
    wiring: Wiring,
    members: Sequence[ExplainedMember],
    partitions: int | None = None,
    split: Mapping[int, Sequence[StageData]] | None = None,
) -> ExplainedParts:
    """How rules and parts that are more than rules are evaluated together; `split` has stages by places."""
    parts = tuple(_explained(place, wiring, members) for place in wiring.places)
    return ExplainedParts(parts, partitions, split or {})


def _explained(place: Layer | Station, wiring: Wiring, members: Sequence[ExplainedMember]) -> Part:
    """A part; those that come before it are known by their places."""
    made = {one: members[other.part] for one, other in enumerate(wiring.places) if isinstance(other, Station)}
    events = {name: one + 1 for one in place.events for name in made[one].outputs}
    linked = {link.name: link.source + 1 for link in place.links if link.stream is None}
    if isinstance(place, Station):
        member = members[place.part]
        reads = {name: events.get(name, 0) for name in member.inputs} | linked
        heard = {link.stream: link.source + 1 for link in place.links if link.stream is not None}
        heard |= {made[one].name: one + 1 for one in (*place.events, *place.hears) if made[one].name in member.streams}
        hears = {(name, 0) for name in member.streams if name not in heard} | set(heard.items())
        return Part(
            member.kind,
            tuple(sorted(reads.items())),
            member.outputs,
            member.statements,
            member.explanation,
            tuple(sorted(hears)),
            member.answers,
        )
    past = {_written(link.name): link.source + 1 for link in place.delayed}
    imports = place.program.interface.imports | {(name, False) for name in past}
    interface = replace(place.program.interface, exports=frozenset(), imports=imports)
    program = replace(place.program, rules=place.rules, interface=interface)
    sources = events | linked | past
    needed = tuple((name, sources.get(name, 0)) for name in sorted(_needed(program) - program.derived))
    return Part(_RULES, needed, _outputs(program), _statements(program), explain(program))


def _written(name: Predicate) -> Predicate:
    return name.renamed(name.name.removeprefix(BEFORE))


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


class _Parts(Drawing):
    """Streams at the left, then a band for each part, with its rules and what they derive."""

    def __init__(self, plan: ExplainedParts) -> None:
        self.plan = plan
        texts = [one.text for part in plan.parts for one in part.statements]
        names = [name for part in plan.parts for name in (*part.outputs, *(one for one, _ in part.reads))]
        super().__init__(["streams and background", *self.labels()], brief=briefly([*texts, *names], OF_OWL))
        self._read = {name for part in plan.parts for name, _ in part.reads}
        for band, part in enumerate(plan.parts, 1):
            for number, statement in enumerate(part.statements, 1):
                self.statement(band, number, statement, dict(part.reads))
            if any(one.title == _CLASS for one in part.statements):
                self.events(band, part, plan.parts)
            elif part.hears:
                self.whole(band, part, plan.parts)

    def labels(self) -> Iterator[str]:
        """The kind of each part, and on Spark its stages; why all parts meet is said where they first do."""
        said: set[int] = set()
        for place, part in enumerate(self.plan.parts):
            found = self.plan.stages_of(place) if self.plan.partitions is not None else []
            stages = [(n, {**self.plan.stages[n], "why": ""} if n in said else self.plan.stages[n]) for n in found]
            yield band_label(f"{place + 1}  {part.kind}", stages)
            said.update(found)

    def events(self, band: int, part: Part, parts: Sequence[Part]) -> None:
        """What the classes of a part are about: events of the streams, and those that another part makes."""
        made = {stream: parts[source - 1].outputs for stream, source in part.hears if source}
        event = self.thing(f"events {band}", "stream", "events of the stream", band if made else 0)
        for number, statement in enumerate(part.statements, 1):
            if statement.title == _CLASS:
                self.arrow(event, f"rule {number} in {band}")
        for stream, source in part.hears:
            for one in made.get(stream, ()):
                self.arrow(self.thing(f"{source} {one}", "derived", one, source), event)

    def whole(self, band: int, part: Part, parts: Sequence[Part]) -> None:
        """A part that reads streams, as one box; the first line of its explanation says what it is."""
        name = f"part {band}"
        self.rule(name, part.kind, part.explanation.as_text().partition("\n")[0], band)
        for stream, source in part.hears:
            heard = parts[source - 1].outputs if source else ()
            for one in heard:
                self.arrow(self.thing(f"{source} {one}", "derived", one, source), name)
            if not heard:
                self.arrow(self.thing(f"stream {stream}", "stream", stream, source), name)
        for made in part.outputs or ((part.answers,) if part.answers else ()):
            self.arrow(name, self.thing(f"{band} {made}", "derived", made, band))

    def statement(self, band: int, number: int, one: Statement, outside: Mapping[Predicate, int]) -> None:
        name = f"rule {number} in {band}"
        title = f"{one.title} {number}" if one.title == "rule" else one.title
        if self.plan.partitions is not None and len(self.plan.stages_of(band - 1)) > 1:
            title += f" · stage {self.plan.stage_of(band - 1, one)}"
        self.rule(name, title, one.text, band)
        # What an event binds is drawn where something reads it.
        for head in (*one.heads[:1], *(head for head in one.heads[1:] if head in self._read or one.title == "rule")):
            self.arrow(name, self.thing(f"{band} {head}", "derived", head, band))
        for need, role in one.needs:
            source = outside.get(need, band)
            self.arrow(self.thing(f"{source} {need}", "derived" if source else "stream", need, source), name, role)
