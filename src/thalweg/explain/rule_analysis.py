"""What the engine will do with a program: its plan, in terms of the rules that it was made from.

    slow(R) :- speed(S,V) in [15], on(S,R).     reads the memories `speed/2 in [15]` and `on/2 in [0]`;
                                                a new row of one is joined with the rows of the other

`analyse_rules` looks at a plan and changes nothing; `plan.py` makes a document of what it returns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from thalweg.diagnostics import NOWHERE, Diagnostic, Span
from thalweg.explain.origins import Origin, Origins
from thalweg.explain.stages import AGGREGATED, NEGATED, POSITIVE, RuleStage, explain_stages
from thalweg.explain.wording import PlanWording
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import (
    Aggregate,
    At,
    Comparison,
    Constant,
    Formula,
    Not,
    Program,
    Rule,
    global_names,
    names,
)
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.planning.horizons import horizons
from thalweg.planning.normalise import simpler
from thalweg.planning.passes import plan
from thalweg.planning.rule_plan import PlanRule, RelationAtom, RulePlan
from thalweg.planning.stratify import ended_early


@dataclass(frozen=True, slots=True)
class Reading:
    """A formula of a rule, the memory that answers it (by number), and how the rule uses the answer."""

    rule: int
    memory: int
    formula: str
    role: str


@dataclass(frozen=True, slots=True)
class ExplainedJoin:
    """What a rule looks up, in order, when a row of its formula `start` comes, or goes."""

    start: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplainedRule:
    """A rule as it is written, and how it is evaluated."""

    number: int
    text: str
    head: Predicate
    stratum: int
    joins: tuple[ExplainedJoin, ...]
    aggregates: tuple[str, ...]
    span: Span

    @property
    def place(self) -> str:
        if self.span is NOWHERE:
            return ""
        return f"{self.span.source.name}:{self.span.source.position(self.span.start)[0]}"


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """A relation of the plan.

    `kept` counts ticks, `fed_for` those of the rows that are fed; `taken_back` says what may end a row before that.
    """

    number: int
    name: str
    kinds: tuple[str, ...]
    stratum: int
    kept: int
    fed_for: int | None
    taken_back: tuple[str, ...]
    origins: tuple[Origin, ...]
    copied_from: tuple[str, ...]
    derives: Predicate | None


@dataclass(frozen=True, slots=True)
class TupleWindowUse:
    """A tuple window: what it counts, and the signatures whose rows it keeps; where it is `by_key`, for each key."""

    window: str
    stream: str | None
    keeps: tuple[Predicate, ...]
    by_key: bool = False


@dataclass(frozen=True)
class RuleAnalysis:
    """What a plan of rules does. Without stages everything is evaluated in one place."""

    strata: list[list[Predicate]]
    rules: tuple[ExplainedRule, ...]
    memories: tuple[MemoryUse, ...]
    readings: tuple[Reading, ...]
    tuple_windows: tuple[TupleWindowUse, ...]
    every_tick: tuple[tuple[str, tuple[str, ...]], ...]
    warnings: tuple[Diagnostic, ...]
    stages: tuple[RuleStage, ...] | None = None

    @cached_property
    def readers(self) -> dict[int, list[Reading]]:
        """The readings of each memory."""
        readers: dict[int, list[Reading]] = {memory.number: [] for memory in self.memories}
        for reading in self.readings:
            readers[reading.memory].append(reading)
        return readers

    @property
    def answering(self) -> list[MemoryUse]:
        """The memories that answer atoms of the program."""
        return [memory for memory in self.memories if self.readers[memory.number]]

    @property
    def shared(self) -> list[MemoryUse]:
        return [memory for memory in self.memories if len(self.readers[memory.number]) > 1]

    @cached_property
    def reading_rules(self) -> dict[int, list[int]]:
        """The rules that read each memory, in the order of the program."""
        return {memory: sorted({reading.rule for reading in readings}) for memory, readings in self.readers.items()}

    def sharing(self, reading: Reading) -> list[int]:
        """The other rules that a memory is shared with."""
        return [rule for rule in self.reading_rules[reading.memory] if rule != reading.rule]

    @property
    def texts(self) -> Iterator[str]:
        """Everything that is spelled with terms of the program."""
        yield from (signature for stratum in self.strata for signature in stratum)
        yield from (memory.name for memory in self.memories)
        yield from (rule.text for rule in self.rules)
        yield from (text for rule in self.rules for join in rule.joins for text in (join.start, *join.steps))

    def reads(self, rule: ExplainedRule) -> list[Reading]:
        return self._by_rule.get(rule.number, [])

    @cached_property
    def _by_rule(self) -> dict[int, list[Reading]]:
        readings: dict[int, list[Reading]] = {}
        for reading in self.readings:
            readings.setdefault(reading.rule, []).append(reading)
        return readings


def analyse_rules(program: Program, partitions: int | None = None) -> RuleAnalysis:
    """What the plan of a program does; with the stages in which it is spread over a number of partitions.

    >>> from thalweg.ir.nodes import Atom, InWindow, TimeWindow
    >>> rule = Rule(Atom("a"), (InWindow(Atom("p"), TimeWindow(9)),))
    >>> [(memory.name, memory.kinds, memory.kept) for memory in analyse_rules(Program((rule,))).memories]
    [('p/0 in [9]', ('fed',), 9), ('a/0 derived', ('derived',), 9)]
    """
    analysis = _Analyser(program).analysis()
    if partitions is None:
        return analysis
    return replace(analysis, stages=tuple(explain_stages(program, partitions)))


class _Analyser:
    def __init__(self, program: Program) -> None:
        self.program = program
        # Rules that input is fused for are shown as they were written.
        self.plan = plan(replace(program, hints=replace(program.hints, input_copies=frozenset())))
        self.words = PlanWording(self.plan)
        self.stratum_of = {name: level for level, names in enumerate(self.words.strata) for name in names}
        self.parts = list(_parts(program, self.plan))

    def analysis(self) -> RuleAnalysis:
        readings = tuple(reading for number in range(len(self.parts)) for reading in self.readings(number))
        return RuleAnalysis(
            strata=self.words.strata,
            rules=tuple(map(self.rule, range(len(self.parts)))),
            memories=tuple(self.memories()),
            readings=readings,
            tuple_windows=(
                *(TupleWindowUse(show(feed.window), feed.stream, tuple(feed.relations)) for feed in self.plan.tuples),
                *(TupleWindowUse(show(feed.window), feed.stream, (feed.signature,), True) for feed in self.plan.keyed),
            ),
            every_tick=tuple(self.every_tick()),
            warnings=tuple(self.warnings()),
        )

    # Rules ----------------------------------------------------------------------------------------------------------

    def rule(self, number: int) -> ExplainedRule:
        rule, head = self.program.rules[number], self.program.rules[number].head.signature
        return ExplainedRule(
            number=number + 1,
            text=_as_written(rule),
            head=head,
            stratum=self.stratum_of[head],
            joins=tuple(dict.fromkeys(join for part in self.parts[number] for join in self.joins(part))),
            aggregates=tuple(_grouped(rule, literal) for literal in rule.body if isinstance(literal, Aggregate)),
            span=rule.span,
        )

    def readings(self, number: int) -> list[Reading]:
        """The formulas of one rule with their memories; a formula that the plan repeats counts once."""
        rule, parts = self.program.rules[number], self.parts[number]
        aggregates = tuple(literal for literal in rule.body if isinstance(literal, Aggregate))
        inside = [_key(formula) for formula, _ in formulas(aggregates)]
        readings = []
        for part in sorted(parts, key=lambda part: self.role(part, parts) != POSITIVE):
            role = self.role(part, parts)
            for literal, atom in _literals(part):
                formula = literal.formula if isinstance(literal, Not) else literal
                if self.words.invents(atom.relation) or (role == AGGREGATED and _key(formula) not in inside):
                    continue
                used = NEGATED if role == POSITIVE and isinstance(literal, Not) else role
                readings.append(Reading(number + 1, atom.relation.number, self.words.say(formula), used))
        return list(dict.fromkeys(readings))

    def role(self, part: PlanRule, parts: tuple[PlanRule, ...]) -> str:
        """How a part's formulas take part in the rule: the plan moves some into rules of their own."""
        if not self.words.invents(part.head.relation):
            return POSITIVE
        if self.words.is_elements(part.head.relation):
            return AGGREGATED
        users = [user for user in parts if any(atom.relation == part.head.relation for atom in user.negative)]
        if not users:
            return POSITIVE
        return NEGATED if all(self.role(user, parts) == POSITIVE for user in users) else AGGREGATED

    def joins(self, part: PlanRule) -> Iterator[ExplainedJoin]:
        """One for each formula whose rows can set the part going, as the engine runs it; alone it joins nothing."""
        wording = {id(atom): self.words.say(literal) for literal, atom in _literals(part)}
        positive = names(*(arg for atom in part.positive for arg in atom.args))
        for join in part.joins:
            start, bound = join.start, names(*join.start.args) & positive
            steps = []
            for step in join.steps:
                if isinstance(step, Comparison):
                    steps.append(show(step))
                    bound |= names(step.left, step.right)
                elif step is not start and id(step) in wording:
                    steps.append(_looked_up(step, wording[id(step)], bound))
                    bound |= names(*step.args)
            if steps:
                yield ExplainedJoin(wording.get(id(start), "the start of time"), tuple(steps))

    # Memories -------------------------------------------------------------------------------------------------------

    def memories(self) -> Iterator[MemoryUse]:
        kept, early = horizons(self.plan), ended_early(self.plan)
        origins = Origins(self.plan, self.words)
        feeds = [feed for group in self.plan.feeds.values() for feed in group]
        fed = {feed.relation.number: feed.size for feed in feeds if feed.target is None}
        fed |= {feed.target.number: 0 for feed in feeds if feed.target is not None}
        for relation in self.plan.relations:
            number = relation.number
            yield MemoryUse(
                number=number,
                name=self.words.name(relation),
                kinds=tuple(origins.kinds[number]),
                stratum=self.plan.strata[number],
                kept=kept[number],
                fed_for=fed.get(number),
                taken_back=tuple(sorted(cause for cause, ended in early.items() if number in ended)),
                origins=origins.of(relation),
                copied_from=tuple(dict.fromkeys(map(self.words.name, origins.before(relation)))),
                derives=origins.derives(relation),
            )

    def every_tick(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """What makes the engine look at every tick, and the memories for which it does."""
        ticking = [*self.plan.clocks.values(), *self.plan.beats.values()]
        ticking += [feed.ticks for feed in self.plan.tuples if feed.ticks is not None]
        for clock in ticking:
            users = (rule.head.relation for rule in self.plan.rules if clock in [a.relation for a in rule.positive])
            yield self.words.name(clock), tuple(dict.fromkeys(map(self.words.name, users)))

    def warnings(self) -> Iterator[Diagnostic]:
        """W201, from what the plan keeps: whatever the reason, it grows as long as the stream does."""
        for (signature, stream), feeds in self.plan.feeds.items():
            if any(feed.size >= FOREVER for feed in feeds):
                yield Diagnostic(
                    "W201",
                    f"all facts of `{signature}` must be kept for ever",
                    self.unbounded(signature, stream),
                    help="limit how far back the time may be, as in `in [1 hour]`",
                )

    def unbounded(self, signature: Predicate, stream: str | None) -> Span:
        """Where a formula asks for all ticks of a signature."""
        spans = (
            formula.span
            for parts in self.parts
            for part in parts
            for literal, _ in _literals(part)
            for formula in (literal.formula if isinstance(literal, Not) else literal,)
            if isinstance(formula, At) and formula.window is None
            if (formula.atom.signature, formula.stream) == (signature, stream)
        )
        return next(spans, NOWHERE)


def _parts(program: Program, plan: RulePlan) -> Iterator[tuple[PlanRule, ...]]:
    """The rules of the plan that each rule of the program became."""
    planned = (rule for rule in plan.rules if rule.origin is not None)
    for rule in program.rules:
        yield tuple(next(planned) for _ in simpler((rule,))[0])


def _literals(part: PlanRule) -> Iterator[tuple[Formula | Not, RelationAtom]]:
    """The formulas of a part with the atoms that they became."""
    assert part.origin is not None
    body = [literal for literal in part.origin.body if not isinstance(literal, Comparison | Aggregate)]
    positive: list[Formula | Not] = [literal for literal in body if not isinstance(literal, Not)]
    # A part without positive formulas starts from a relation that always holds, which is not in the program.
    yield from zip(positive, part.positive, strict=False)
    yield from zip((literal for literal in body if isinstance(literal, Not)), part.negative, strict=True)


def _key(formula: Formula) -> tuple[object, ...]:
    """A formula without its window, which the plan may narrow."""
    return type(formula), formula.atom, formula.stream, getattr(formula, "time", None)


def _looked_up(atom: RelationAtom, words: str, bound: frozenset[str]) -> str:
    """An atom in a join; one of which nothing is known yet is gone through row by row."""
    keyed = any(isinstance(arg, Constant) or names(arg) & bound for arg in atom.args)
    return words if keyed or not atom.args else f"every {words}"


def _as_written(rule: Rule) -> str:
    """The rule's own text; printed anew where it has lines, because comments may stand between them."""
    written = rule.span.source.text[rule.span.start : rule.span.end]
    return show(rule) if rule.span is NOWHERE or "\n" in written else " ".join(written.split())


def _grouped(rule: Rule, aggregate: Aggregate) -> str:
    keys = sorted(global_names(rule, aggregate) - {aggregate.result.name})
    return f"{show(aggregate)}{' by ' if keys else ''}{', '.join(keys)}"
