"""The stages of a program that is spread over buckets, in terms of its rules.

    slow(R) :- speed(S,V) in [15], on(S,R).     stage 0, keyed by S, gets `speed/2` and `on/2` by their first argument
    jam(R)  :- slow(R), not light(R).           stage 1, keyed by R, gets `slow/1` of stage 0, whose parts are merged

Several sensors may find a road slow, each in its bucket; so `slow/1` comes in parts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from thalweg.ir.nodes import Program, Variable
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate
from thalweg.planning.locality import AtomUse, uses
from thalweg.planning.partition import Route, Stage, partition

POSITIVE, NEGATED, AGGREGATED = "positive", "negated", "aggregated"

# As `explain --format json` has it: `key`, `partitions`, and mostly `why`.
StageData = Mapping[str, object]

_REASON: Final = 48


@dataclass(frozen=True, slots=True)
class Arrival:
    """How facts come into a stage: to the bucket of one argument (counted from 1), or to all; and where from.

    `name` distinguishes what a stage has of one signature; `kind` is stream, background or derived.
    """

    name: Predicate
    signature: Predicate
    argument: int | None
    kind: str
    stage: int | None = None
    merged: bool = False


@dataclass(frozen=True, slots=True)
class StageReading:
    """A rule of a stage, the name of what it reads there, what the program calls that, and how the rule uses it."""

    rule: int
    name: Predicate
    signature: Predicate
    role: str


@dataclass(frozen=True, slots=True)
class ExplainedStage:
    """What is evaluated together when the work is spread: rules (by number) and their keys, and what they read.

    Those `beside` it are evaluated at the same time, for none needs anything of another.
    """

    number: int
    partitions: int
    split: bool
    rules: tuple[tuple[int, str | None], ...]
    arrivals: tuple[Arrival, ...]
    readings: tuple[StageReading, ...]
    outputs: tuple[Predicate, ...]
    counts_everything: bool
    why: str
    beside: tuple[int, ...]

    @property
    def key(self) -> list[str]:
        """The variables that its rules are keyed by; where none has a key, those that stand for arguments."""
        arguments = [f"X{each.argument - 1}" for each in self.arrivals if each.argument is not None]
        return list(dict.fromkeys([key for _, key in self.rules if key is not None] or arguments))

    @property
    def broadcast(self) -> list[Predicate]:
        """What every bucket gets all of."""
        return [each.signature for each in self.arrivals if self.split and each.argument is None]

    def as_data(self, texts: Sequence[str]) -> dict[str, object]:
        """The same for programs to read; `texts` has those of all rules."""
        return {
            "rules": [texts[number - 1] for number, _ in self.rules],
            "key": self.key if self.split else None,
            "partitions": self.partitions,
            "keys": [key for _, key in self.rules],
            "inputs": [
                {"signature": each.signature, "argument": each.argument, "kind": each.kind}
                for each in self.arrivals
                if each.stage is None
            ],
            "broadcast": self.broadcast,
            "shuffles": [
                {"signature": each.signature, "argument": each.argument, "from": each.stage, "merged": each.merged}
                for each in self.arrivals
                if each.stage is not None
            ],
            "tells": list(self.outputs),
            "counts_everything": self.counts_everything,
            "why": self.why,
            "beside": list(self.beside),
        }


def width(stage: StageData) -> str:
    """How many partitions a stage has, and by what it is split.

    >>> width({"key": ["R"], "partitions": 2}), width({"key": None, "partitions": 1})
    ('2 partitions by R', '1 partition')
    """
    key, partitions = stage["key"], stage["partitions"]
    by = f" by {', '.join(key)}" if isinstance(key, list) and key else ""
    return f"{partitions} partition{'s' if partitions != 1 else ''}{by}"


def band_label(title: str, stages: Iterable[tuple[int, StageData]]) -> str:
    """The label of a band of a drawing: below its title the stages, by number, in which it runs; why, where in one.

    >>> print(band_label("1  rules", [(0, {"key": ["R"], "partitions": 2}), (1, {"key": None, "partitions": 1})]))
    1  rules
    stage 0 · 2 partitions by R
    stage 1 · 1 partition
    """
    lines = [title]
    for number, stage in stages:
        lines.append(f"stage {number} · {width(stage)}")
        if stage["partitions"] == 1 and stage.get("why"):
            lines += wrap(f"because {stage['why']}", _REASON, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines)


def explain_stages(program: Program, partitions: int) -> Iterator[ExplainedStage]:
    """The stages of a program, each that is split with a number of partitions.

    >>> from thalweg.ir.nodes import Atom, Now, Rule
    >>> x = Variable("X")
    >>> (stage,) = explain_stages(Program((Rule(Atom("a", (x,)), (Now(Atom("p", (x,))),)),)), 2)
    >>> stage.rules, [(arrival.signature, arrival.argument) for arrival in stage.arrivals]
    (((1, 'X'),), [('p/1', 1)])
    """
    numbers = {id(rule): number for number, rule in enumerate(program.rules, start=1)}
    static = frozenset(fact.signature for fact in program.background)
    partitioning = partition(program)
    stages = partitioning.stages
    level_of = {stage.number: level for level in partitioning.levels for stage in level}
    for stage in stages:
        rules = [numbers[id(rule)] for rule in stage.rules]
        yield ExplainedStage(
            number=stage.number,
            partitions=partitions if stage.split else 1,
            split=stage.split,
            rules=tuple((number, key and show(Variable(key))) for number, key in zip(rules, stage.keys, strict=True)),
            arrivals=tuple(dict.fromkeys(_arrival(each, static, stages) for each in _expected(stage, program))),
            readings=tuple(
                dict.fromkeys(
                    StageReading(number, name.signature, use.signature, _role(use))
                    for number, rule, renamed in zip(rules, stage.rules, stage.renamed, strict=True)
                    for use, name in zip(uses(rule.body), uses(renamed.body), strict=True)
                )
            ),
            outputs=tuple(output for _, output in stage.outputs),
            counts_everything=stage.counts_everything,
            why=stage.why,
            beside=tuple(each.number for each in level_of[stage.number] if each is not stage),
        )


def _expected(stage: Stage, program: Program) -> Iterator[Route]:
    """The routes of facts that are expected: streams may carry what rules derive, but mostly do not."""
    derived = stage.program.derived | {name for name, _ in stage.program.interface.imports}
    derived |= {stage.program.equality.representative} if stage.program.equality else set()
    for route in stage.routes:
        if route.stage is not None or route.signature in program.interface.inputs or route.called not in derived:
            yield route


def _arrival(route: Route, static: frozenset[Predicate], stages: Sequence[Stage]) -> Arrival:
    return Arrival(
        name=route.signature.renamed(route.name[:-1] if route.union else route.name),
        signature=route.signature,
        argument=None if route.key is None else route.key + 1,
        kind="derived" if route.stage is not None else "background" if route.signature in static else "stream",
        stage=route.stage,
        merged=route.stage is not None and route.signature in stages[route.stage].in_parts,
    )


def _role(use: AtomUse) -> str:
    return AGGREGATED if use.hidden else POSITIVE if use.positive else NEGATED
