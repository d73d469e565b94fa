"""A plan of several kinds of program, for people to read: its parts, how they are wired, and each part explained."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.explain.answer_sets import ExplainedAnswerSets
from thalweg.explain.draw import LEGEND, LONGEST, Arrow, Box, Drawing, in_lines
from thalweg.explain.plan import Explanation, explain
from thalweg.explain.stages import AGGREGATED, NEGATED, POSITIVE
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Program
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate
from thalweg.planning.wire_parts import Touches, Wiring

_BELOW, _SOLVED, _ABOVE = "rules below", "answer sets", "rules above"
_ROLES: Final = {"positive": POSITIVE, "negative": NEGATED, "aggregate": AGGREGATED}


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule or statement as it is written, what it derives, and what it reads, each with its role."""

    text: str
    heads: tuple[Predicate, ...]
    needs: tuple[tuple[Predicate, str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a plan: what it reads, and from which part (0 is the streams and the background); what it outputs."""

    kind: str
    reads: tuple[tuple[Predicate, int], ...]
    outputs: tuple[Predicate, ...]
    statements: tuple[Statement, ...]
    explanation: Explanation | ExplainedAnswerSets


@dataclass(frozen=True)
class ExplainedParts:
    """Parts in the order in which they are evaluated at each tick."""

    parts: tuple[Part, ...]

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(one for part in self.parts for one in part.explanation.warnings)

    def as_data(self) -> dict[str, object]:
        """The same for programs to read; what is said of rules, and of answer sets, is said here, too."""
        data: dict[str, object] = {}
        strata: list[object] = []
        for part in self.parts:
            own = part.explanation.as_data()
            found = own.get("strata")
            strata += found if isinstance(found, list) else []
            if isinstance(part.explanation, ExplainedAnswerSets):
                data |= {key: own[key] for key in ("dependency", "inputs", "communities")}
        return data | {"strata": strata, "parts": list(map(self._part_data, self.parts))}

    @staticmethod
    def _part_data(part: Part) -> dict[str, object]:
        return {
            "kind": part.kind,
            "reads": [{"predicate": name, "from": source} for name, source in part.reads],
            "outputs": list(part.outputs),
            "plan": part.explanation.as_data(),
        }

    def as_text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{len(self.parts)} parts, evaluated in this order at each tick"
        for number, part in enumerate(self.parts, 1):
            yield ""
            yield f"{number}  {part.kind}"
            yield from (f"     reads {name} from {self._source(source)}" for name, source in part.reads)
            yield f"     outputs {', '.join(part.outputs) or 'nothing'}"
        for number, part in enumerate(self.parts, 1):
            yield ""
            yield f"part {number}: {part.kind}"
            yield ""
            yield part.explanation.as_text()

    def _source(self, number: int) -> str:
        return f"part {number}" if number else "streams or background"

    def as_svg(self) -> str:
        return _Picture(self).svg()


def explain_parts(wiring: Wiring, solved: ExplainedAnswerSets, writes: Touches) -> ExplainedParts:
    """How rules and an answer set program are evaluated together."""
    own = {name for name, _ in wiring.reads}
    rules = tuple(rule for rule in wiring.below.rules if rule.head.signature not in own)
    below = replace(wiring.below, rules=rules, exports=frozenset())
    parts = []
    if rules:
        needed = tuple((name, 0) for name in sorted(_needed(below) - below.derived))
        parts.append(Part(_BELOW, needed, _outputs(below), _statements(below), explain(below)))
    inputs = [name for _, name in wiring.reads]
    streamed = [name for name in solved.dependency.inputs if name not in inputs]
    outputs = tuple(sorted({head for one in solved.dependency.outlines for head in one.heads}))
    read = (*((name, 1) for name in inputs), *((name, 0) for name in streamed))
    number = len(parts) + 1
    statements = tuple(
        Statement(one.written, one.heads, tuple((need.predicate, _ROLES[need.how]) for need in one.body))
        for one in solved.dependency.outlines
    )
    parts.append(Part(_SOLVED, read, outputs, statements, solved))
    if wiring.above.rules:
        above = wiring.above
        needed = tuple(
            (name, number if writes(name) else int(name in below.derived))
            for name in sorted(_needed(above) - above.derived)
        )
        parts.append(Part(_ABOVE, needed, _outputs(above), _statements(above), explain(above)))
    return ExplainedParts(tuple(parts))


def _outputs(program: Program) -> tuple[Predicate, ...]:
    return tuple(sorted(program.derived if program.outputs is None else program.outputs))


def _statements(program: Program) -> tuple[Statement, ...]:
    return tuple(
        Statement(
            show(rule),
            (rule.head.signature,),
            tuple(
                (formula.atom.signature, NEGATED if settled else POSITIVE) for formula, settled in formulas(rule.body)
            ),
        )
        for rule in program.rules
    )


def _needed(program: Program) -> set[Predicate]:
    return {formula.atom.signature for rule in program.rules for formula, _ in formulas(rule.body)}


class _Picture:
    """Streams at the left, then a band for each part, with its rules and what they derive."""

    def __init__(self, plan: ExplainedParts) -> None:
        self.bands = ["streams and background", *(f"{n}  {part.kind}" for n, part in enumerate(plan.parts, 1))]
        self.boxes: dict[str, Box] = {}
        self.arrows: dict[Arrow, None] = {}
        for band, part in enumerate(plan.parts, 1):
            self.outside = dict(part.reads)
            for number, statement in enumerate(part.statements, 1):
                self.statement(band, number, statement)

    def statement(self, band: int, number: int, one: Statement) -> None:
        name = f"rule {number} in {band}"
        self.boxes[name] = Box("rule", (f"rule {number}",), in_lines(one.text, LONGEST), one.text, band)
        for head in one.heads:
            self.boxes.setdefault(f"{band} {head}", Box("derived", in_lines(head), (), head, band))
            self.arrows[Arrow(name, f"{band} {head}")] = None
        for need, role in one.needs:
            source = f"{self.outside.get(need, band)} {need}"
            kind = "stream" if source.startswith("0 ") else "derived"
            self.boxes.setdefault(source, Box(kind, in_lines(need), (), need, self.outside.get(need, band)))
            self.arrows[Arrow(source, name, role)] = None

    def svg(self) -> str:
        return Drawing(self.boxes, list(self.arrows), self.bands, LEGEND).svg()
