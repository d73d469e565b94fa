"""The stages of a program that is spread over buckets, in terms of its rules.

    slow(R) :- speed(S,V) in [15], on(S,R).     stage 0, keyed by S, gets `speed/2` and `on/2` by their first argument
    jam(R)  :- slow(R), not light(R).           stage 1, keyed by R, gets `slow/1` of stage 0, whose parts are merged

Several sensors may find a road slow, each in its bucket; so `slow/1` comes in parts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thalweg.explain.document import Breaks, Paragraph, Section, chained, lines
from thalweg.explain.plan_stage import PlanStage
from thalweg.explain.quantity import count
from thalweg.ir.nodes import Program, Variable
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate
from thalweg.planning.locality import AtomUse, uses
from thalweg.planning.partition import Route, Stage, partition

POSITIVE, NEGATED, AGGREGATED = "positive", "negated", "aggregated"


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
class RuleStage:
    """What is evaluated together when the work is spread: rules (by number) and their keys, and what they read.

    Those `concurrent` with it are evaluated at the same time, for none needs anything of another.
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
    concurrent: tuple[int, ...]

    @property
    def key(self) -> list[str]:
        """The variables that its rules are keyed by; where none has a key, those that stand for arguments."""
        arguments = [f"X{arrival.argument - 1}" for arrival in self.arrivals if arrival.argument is not None]
        return list(dict.fromkeys([key for _, key in self.rules if key is not None] or arguments))

    @property
    def broadcast(self) -> list[Predicate]:
        """What every bucket gets all of."""
        return [arrival.signature for arrival in self.arrivals if self.split and arrival.argument is None]


def plan_stages(stages: Iterable[RuleStage], texts: Sequence[str]) -> tuple[PlanStage, ...]:
    """The stages of rules as those of a document; `texts` has those of all rules."""
    return tuple(_plan_stage(stage, texts) for stage in stages)


def _plan_stage(stage: RuleStage, texts: Sequence[str]) -> PlanStage:
    details = {
        "keys": [key for _, key in stage.rules],
        "inputs": [
            {"signature": arrival.signature, "argument": arrival.argument, "kind": arrival.kind}
            for arrival in stage.arrivals
            if arrival.stage is None
        ],
        "broadcast": stage.broadcast,
        "shuffles": [
            {
                "signature": arrival.signature,
                "argument": arrival.argument,
                "from": arrival.stage,
                "merged": arrival.merged,
            }
            for arrival in stage.arrivals
            if arrival.stage is not None
        ],
        "tells": stage.outputs,
        "counts_everything": stage.counts_everything,
    }
    key = tuple(stage.key) if stage.split else None
    rules = tuple(texts[number - 1] for number, _ in stage.rules)
    return PlanStage(rules, key, stage.partitions, stage.why, details=details, concurrent=stage.concurrent)


# As text ------------------------------------------------------------------------------------------------------------


def rule_stage_section(stages: Iterable[RuleStage]) -> Section:
    """The section about the stages of rules: their keys, and what comes into them from where."""
    return Section("STAGES", tuple(paragraph for stage in stages for paragraph in _rule_stage(stage)))


def spark_section(*sentences: str) -> Section:
    """The section about what runs where on Spark, of programs that are more than rules."""
    return Section("on Spark", lines(*(f"  {sentence}" for sentence in sentences)))


def listed_stages(stages: Iterable[PlanStage]) -> Iterator[str]:
    """Sentences about stages by number: how many partitions each has, why, and its statements with their keys.

    >>> list(listed_stages([PlanStage(("<A>",), ("x",), 2, "it has a key", {"<A>": "x"})]))
    ['stage 0 in 2 partitions: it has a key', '  <A> by ?x']
    """
    for number, stage in enumerate(stages):
        yield f"stage {number} in {count(stage.partitions, 'partition')}: {stage.why}"
        keys = stage.keys or {}
        yield from (f"  {name} by ?{keys[name]}" if name in keys else f"  {name}" for name in stage.statements)


def _rule_stage(stage: RuleStage) -> Iterator[Paragraph]:
    buckets = count(stage.partitions, "bucket") + (f", because {stage.why}" if stage.why else "")
    yield Paragraph(buckets, f"{stage.number:>3}  ", "       ", Breaks.WORDS)
    concurrent = [f"stage {number}" for number in stage.concurrent]
    yield from labelled("beside", [", ".join(concurrent)] if concurrent else [])
    rules = (f"{number}{'' if key is None else f' by {key}'}" for number, key in stage.rules)
    yield from labelled("rules", [chained(rules, ", ")] if stage.rules else [])
    reads = [f"{arrival.signature}{_arrives(stage, arrival)}" for arrival in stage.arrivals]
    yield from labelled("reads", reads + ["all other facts, to count them"] * stage.counts_everything)
    yield from labelled("output", [", ".join(stage.outputs)] if stage.outputs else [])


def labelled(label: str, entries: Iterable[str]) -> Iterator[Paragraph]:
    """Entries below each other, the first of them beside a label."""
    start = f"     {label:<7}"
    for entry in entries:
        yield Paragraph(entry, start, " " * 14, Breaks.WORDS)
        start = " " * 12


def _arrives(stage: RuleStage, arrival: Arrival) -> str:
    """How facts come into a stage, to be put behind their signature."""
    place = f" by argument {arrival.argument}" if arrival.argument else " to every bucket" if stage.split else ""
    return (
        f"{'' if arrival.stage is None else f' of stage {arrival.stage}'}{place}{', merged' if arrival.merged else ''}"
    )


# From a program -----------------------------------------------------------------------------------------------------


def explain_stages(program: Program, partitions: int) -> Iterator[RuleStage]:
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
        yield RuleStage(
            number=stage.number,
            partitions=partitions if stage.split else 1,
            split=stage.split,
            rules=tuple((number, key and show(Variable(key))) for number, key in zip(rules, stage.keys, strict=True)),
            arrivals=tuple(dict.fromkeys(_arrival(route, static, stages) for route in _expected(stage, program))),
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
            concurrent=tuple(other.number for other in level_of[stage.number] if other is not stage),
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
