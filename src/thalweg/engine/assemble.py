"""A plan becomes the integer table that the kernels interpret.

Every rule has one variant for each row that it can be fired from: each positive atom, each negated atom, and, where
its head can be taken back, the head itself. A variant is the columns of that row, then steps (see `layout`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.layout import (
    ARITY,
    BIND,
    COLUMNS,
    COUNT_HOP,
    COUNT_TIME,
    COUNT_TUPLE,
    COUNTS_INTO,
    EQUALS,
    FLAGS,
    INDEX,
    INDEXES,
    IS_CONSUMED,
    IS_COUNTER,
    IS_LASTING,
    IS_OUTPUT,
    IS_WATCHED,
    LEVEL,
    LITERAL,
    NO_TERM,
    ON_COUNT,
    ON_GROWTH,
    ON_HEAD,
    ON_NEGATED,
    RECORD,
    REGISTER,
    SAME,
    SLOT_COLUMNS,
    SLOTS,
    STEP_ABSENT,
    STEP_CALCULATE,
    STEP_CALL,
    STEP_CLIP,
    STEP_EMIT,
    STEP_EXTEND,
    STEP_HOP,
    STEP_MOVE,
    STEP_PROBE,
    STEP_TEST,
    TABLE_BUCKET,
    TABLE_CHUNK,
    TABLE_HEAD,
    TABLE_LINKS,
    TABLE_RELATIONS,
    TABLE_SLOTS,
    TABLE_STEPS,
    TABLE_STRATA,
    TABLE_TAKEN_BACK,
    TABLE_TUPLES,
    TABLE_WAKE,
)
from thalweg.ir.nodes import (
    Call,
    Comparison,
    Constant,
    Expression,
    Operation,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    names,
)
from thalweg.model.functions import CONDITIONS, LOOKED_UP
from thalweg.model.number import AT_LEAST, COMPARISONS, EQUAL, LESS, NUMERIC_FUNCTIONS, OPERATORS, ZERO
from thalweg.planning.rule_plan import Count, JoinOrder, PlanRule, RelationAtom, RulePlan

Code = Callable[[str], int]
Fired = tuple[int, "_Variant", PlanRule]
"""The stratum, the steps and the rule of a variant."""

_MANY_INDEXES: Final = 64
"""From here on a look-up takes an index that there is; each index costs every row of the program a word."""

_STEPS: Final = 50_000
"""How many steps with rows of `_USUAL` words a kernel takes before it lets Python look around: some milliseconds."""
_USUAL: Final = 8


@dataclass(slots=True)
class KernelTable:
    """The integers, how many words a row has, and where the output is found by its columns (see `mentioning`).

    Where reasons are asked for, what streams bring is found that way, too, as far as rules have an index for it.
    `variants` has the rule of each place in the table that can be fired; `registers` and `lookups` are the most that
    one of them needs. `orders` has the comparisons by `<` and its like, where the terms stand that they cannot compare;
    `timed` the rules whose heads have a time, where those in the future are counted.
    """

    words: NDArray[np.int64]
    stride: int
    by_column: NDArray[np.int64]
    tuple_windows: int
    registers: int
    lookups: int
    variants: dict[int, PlanRule]
    orders: dict[int, Comparison]
    timed: dict[int, Rule]

    @property
    def tuple_starts(self) -> int:
        """Where among the scalars the first ticks of tuple windows stand."""
        return int(self.words[TABLE_TUPLES])

    @property
    def scalars(self) -> int:
        """How many scalars there are."""
        return self.tuple_starts + self.tuple_windows


@dataclass(slots=True)
class _Lists:
    """What is fired when a row of a relation grows, negates or must be derived again."""

    growth: list[Fired] = field(default_factory=list)
    negated: list[Fired] = field(default_factory=list)
    head: list[Fired] = field(default_factory=list)


def assemble(plan: RulePlan, code: Code) -> KernelTable:
    """The table of a plan; `code` gives the word of a term."""
    slots: list[list[tuple[int, ...]]] = [[tuple(range(relation.arity))] for relation in plan.relations]
    lists = [_Lists() for _ in plan.relations]
    static = _static(plan)
    for rule in plan.rules:
        if rule.head.relation.number in plan.views:
            continue
        level = plan.strata[rule.head.relation.number]
        positive, negative = rule.joins[: len(rule.positive)], rule.joins[len(rule.positive) :]
        # Background is there before anything else comes, so that a rule is set going by what comes.
        moving = [join for join in positive if plan.stored(join.start).relation.number not in static]
        for join in moving or positive:
            started = lists[plan.stored(join.start).relation.number]
            started.growth.append((level, _Variant(slots, code, plan, rule, join), rule))
        for join in negative:
            started = lists[plan.stored(join.start).relation.number]
            started.negated.append((level, _Variant(slots, code, plan, rule, join), rule))
        if plan.retractable[rule.head.relation.number]:
            assert rule.backwards is not None
            lists[rule.head.relation.number].head.append(
                (level, _Variant(slots, code, plan, rule, rule.backwards), rule)
            )
    by_column = [] if plan.representative is None else list(_columns_output(plan, slots))
    by_column += [] if plan.program.hints.justification is None else _columns_fed(plan, slots)
    return _lay_out(plan, slots, lists, np.array(by_column, dtype=np.int64).reshape(-1, 4))


def _columns_output(plan: RulePlan, slots: list[list[tuple[int, ...]]]) -> Iterator[tuple[int, int, int, int]]:
    """An index by each column of the output.

    Rules look for most by each of its arguments to replace it: if not among the conclusions themselves, then where
    conclusions and the facts of the streams are together.
    """
    copies: dict[int, list[int]] = {}
    for rule in plan.rules:
        if rule.origin is None and len(rule.positive) == 1:
            copies.setdefault(rule.positive[0].relation.number, []).append(rule.head.relation.number)
    for name, relation in plan.outputs.items():
        for column in range(relation.arity if name[0] in "<_" else 0):
            places = [relation.number, *copies.get(relation.number, ())]
            place = next((number for number in places if (column,) in slots[number]), relation.number)
            if (column,) not in slots[place]:
                slots[place].append((column,))
            yield relation.number, place, column, slots[place].index((column,))


def _columns_fed(plan: RulePlan, slots: list[list[tuple[int, ...]]]) -> Iterator[tuple[int, int, int, int]]:
    """The columns of what streams bring that have an index of their own."""
    for relation in {feed.relation for feeds in plan.feeds.values() for feed in feeds if feed.kind == "seen"}:
        for column in range(relation.arity):
            if (column,) in slots[relation.number]:
                yield relation.number, relation.number, column, slots[relation.number].index((column,))


def _static(plan: RulePlan) -> set[int]:
    """The relations whose rows are all there from the start."""
    derived = {rule.head.relation.number for rule in plan.rules}
    return {relation.number for relation, name in plan.background if name in plan.program.hints.static} - derived


def _lay_out(
    plan: RulePlan, slots: list[list[tuple[int, ...]]], lists: list[_Lists], by_column: NDArray[np.int64]
) -> KernelTable:
    relations = len(plan.relations)
    counters = {count.counter.number for count in plan.counts}
    runs = {feed.relation.number for feeds in plan.feeds.values() for feed in feeds if feed.kind == "run"}
    table = [0] * (TABLE_HEAD + (relations + 3) * RECORD)
    variants: dict[int, PlanRule] = {}
    orders: dict[int, Comparison] = {}
    timed: dict[int, Rule] = {}

    def place(words: list[int]) -> int:
        table.extend(words)
        return len(table) - len(words)

    def place_list(fired: list[Fired], *more: int) -> int:
        pairs: list[int] = []
        for level, variant, rule in fired:
            at = place(variant.words)
            variants[at] = rule
            orders.update((at + behind, comparison) for behind, comparison in variant.orders)
            if rule.timed and rule.origin is not None:
                timed[at + len(variant.words) - 1] = rule.origin
            pairs += (level, at)
        return place([len(fired), *pairs, *more])

    flags = _flags(plan, lists)
    count_places = {count.source.number: place(_count_words(count, plan)) for count in plan.counts}
    count_targets = {count.target.number: count_places[count.source.number] for count in plan.counts}
    for number, relation in enumerate(plan.relations):
        at = TABLE_HEAD + number * RECORD
        table[at + ARITY] = relation.arity
        table[at + SLOTS] = len(slots[number])
        table[at + LEVEL] = plan.strata[number]
        table[at + FLAGS] = flags[number]
        table[at + SLOT_COLUMNS] = place([place([len(columns), *columns]) for columns in slots[number]])
        table[at + ON_GROWTH] = place_list(lists[number].growth)
        table[at + ON_NEGATED] = place_list(lists[number].negated)
        table[at + ON_HEAD] = place_list(lists[number].head, count_targets.get(number, -1))
        table[at + ON_COUNT] = table[at + COUNTS_INTO] = count_places.get(number, -1)
    bucket, wake, chunk = (TABLE_HEAD + (relations + offset) * RECORD for offset in range(3))
    table[bucket + ARITY] = table[bucket + SLOTS] = table[wake + ARITY] = 1
    table[bucket + SLOT_COLUMNS] = place([place([1, 0])])
    empty = place([0, -1])
    for at in (bucket, wake, chunk):
        table[at + ON_GROWTH] = table[at + ON_NEGATED] = table[at + ON_HEAD] = empty
        table[at + ON_COUNT] = table[at + COUNTS_INTO] = -1
    taken_back = [0] * plan.depth
    for number, retractable in enumerate(plan.retractable):
        taken_back[plan.strata[number]] |= int(retractable)
    table[TABLE_RELATIONS] = relations
    table[TABLE_STRATA] = plan.depth
    table[TABLE_SLOTS] = max((len(indexes) for indexes in slots), default=1)
    table[TABLE_TAKEN_BACK] = place(taken_back)
    table[TABLE_BUCKET], table[TABLE_WAKE], table[TABLE_CHUNK] = range(relations, relations + 3)
    extra = counters | runs
    width = max(1, *(relation.arity + (relation.number in extra) for relation in plan.relations), 1)
    table[TABLE_LINKS] = COLUMNS + width
    table[TABLE_TUPLES] = INDEXES + INDEX * table[TABLE_SLOTS]
    stride = COLUMNS + width + table[TABLE_SLOTS]
    table[TABLE_STEPS] = 1 + _STEPS * _USUAL // stride
    fired = [variant for rules in lists for _, variant, _ in (*rules.growth, *rules.negated, *rules.head)]
    registers = max((len(variant.registers) for variant in fired), default=0)
    lookups = max((variant.lookups for variant in fired), default=0)
    words = np.array(table, dtype=np.int64)
    return KernelTable(words, stride, by_column, len(plan.tuples), registers, lookups, variants, orders, timed)


def _flags(plan: RulePlan, lists: list[_Lists]) -> list[int]:
    """The flags of each relation, which tell the kernels how to treat its rows."""
    followed = (relation for key, relation in plan.exports.items() if key not in plan.program.hints.irrevocable)
    lasting = [plan.exports[key] for key in plan.exports.keys() & plan.program.hints.irrevocable]
    lasting += [recording.source for recording in plan.recordings if recording.kind == "lasting"]
    lasting += [relation for relation in (plan.same_pairs, plan.same_keys) if relation is not None]
    flags = [0] * len(plan.relations)
    for flag, relations in (
        (IS_OUTPUT, (*plan.outputs.values(), *followed)),
        (IS_LASTING, lasting),
        (IS_WATCHED, (plan.view(grouping.elements).source for grouping in plan.groupings)),
        (IS_WATCHED, (recording.source for recording in plan.recordings if recording.kind in ("followed", "streak"))),
        (IS_CONSUMED, (count.source for count in plan.counts)),
        (IS_COUNTER, (count.counter for count in plan.counts)),
    ):
        for relation in relations:
            flags[relation.number] |= flag
    for number, fired in enumerate(lists):
        flags[number] |= (IS_WATCHED if fired.negated else 0) | (IS_CONSUMED if fired.growth else 0)
    return flags


def _count_words(count: Count, plan: RulePlan) -> list[int]:
    """(counter, source, target, stratum, kind, size, hop)."""
    shared = [count.counter.number, count.source.number, count.target.number, plan.strata[count.target.number]]
    match count.window:
        case TimeWindow(size, None):
            return [*shared, COUNT_TIME, size, 0]
        case TimeWindow(size, step):
            assert step is not None
            return [*shared, COUNT_HOP, size, step]
        case TupleWindow():
            return [*shared, COUNT_TUPLE, count.tuples, 0]
    raise AssertionError(f"`always` in {count.window} passed the checks")


class _Variant:
    """The steps of one variant, which find every answer of a rule in which a row of the join's start takes part.

    Registers are given out in the order in which variables are met.
    """

    def __init__(
        self, slots: list[list[tuple[int, ...]]], code: Code, plan: RulePlan, rule: PlanRule, join: JoinOrder
    ) -> None:
        self.slots = slots
        self.code = code
        self.stored = plan.stored
        self.registers: dict[str, int] = {}
        self.lookups = 0
        self.words: list[int] = []
        self.orders: list[tuple[int, Comparison]] = []
        bound = names(*(arg for atom in rule.positive for arg in atom.args))
        columns = [self.start_column(arg, bound) for arg in self.stored(join.start).args]
        self.words += [len(columns), *(word for column in columns for word in column)]
        clipped = rule.clip is not None and join.start is rule.positive[0]
        if clipped:
            self.clip(rule)
        self.join(rule, join, clip=rule.clip is not None and not clipped)

    def start_column(self, arg: Expression, bound: frozenset[str]) -> list[int]:
        """A variable that gets its value from an `=` must not get it from a row, where it may be spelled otherwise."""
        if isinstance(arg, Variable) and arg.name not in bound:
            return [BIND, self.fresh()]
        return self.column(arg)

    def join(self, rule: PlanRule, join: JoinOrder, clip: bool) -> None:
        named = names(*rule.head.args)
        complete = 0 if named <= self.registers.keys() else None
        for step in join.steps:
            if isinstance(step, Comparison):
                self.test(step, rule.binds.get(id(step)))
            elif any(step is atom for atom in rule.negative):
                self.absent(step)
            else:
                self.probe(step)
                self.lookups += 1
                if clip:
                    self.clip(rule)
                    clip = False
            if complete is None and named <= self.registers.keys():
                complete = self.lookups
        assert complete is not None
        operands = [word for arg in rule.head.args for word in self.operand(arg)]
        if rule.extension:
            self.words += [STEP_EXTEND, rule.extension]
        self.words += [STEP_EMIT, rule.head.relation.number, len(rule.head.args), int(rule.timed), complete, *operands]
        if rule.timed:
            self.words.append(0)

    def register(self, name: str) -> int:
        return self.registers.setdefault(name, len(self.registers))

    def fresh(self) -> int:
        return self.register(f"''{len(self.registers)}")

    def column(self, arg: Expression) -> list[int]:
        match arg:
            case Constant(term):
                return [EQUALS, self.code(term)]
            case Variable(name) if name in self.registers:
                return [SAME, self.registers[name]]
            case Variable(name):
                return [BIND, self.register(name)]
            case Operation() | Call():
                return [BIND, self.fresh()]

    def operand(self, expression: Expression) -> list[int]:
        """Where the value of an expression is found; writes the steps that compute it."""
        match expression:
            case Constant(term):
                return [LITERAL, self.code(term)]
            case Variable(name):
                return [REGISTER, self.registers[name]]
            case Operation(operator, left, right):
                return self.step(STEP_CALCULATE, OPERATORS[operator], self.operand(left), self.operand(right))
            case Call(function, args):
                return self.call(function, [self.operand(arg) for arg in args])

    def call(self, function: str, args: list[list[int]]) -> list[int]:
        """The steps of a call: one for each pair of arguments, of which `concat` may have many."""
        if function in NUMERIC_FUNCTIONS:
            return self.step(STEP_CALCULATE, NUMERIC_FUNCTIONS[function], *args, *([[LITERAL, ZERO]] * (2 - len(args))))
        if function == "concat" and len(args) == 1:
            function = "text"
        result, remaining = args[0], args[1:] or [[LITERAL, ZERO]]
        for arg in remaining:
            result = self.step(STEP_CALL, LOOKED_UP.index(function), result, arg)
        return result

    def step(self, code: int, operation: int, first: list[int], second: list[int]) -> list[int]:
        """A step that writes a new register; where that is found."""
        result = self.fresh()
        self.words += [code, result, operation, *first, *second]
        return [REGISTER, result]

    def test(self, test: Comparison, bound: str | None) -> None:
        if bound is not None:
            source = test.right if test.left == Variable(bound) else test.left
            operand = self.operand(source)
            self.words += [STEP_MOVE, self.register(bound), *operand]
            return
        left, right = self.operand(test.left), self.operand(test.right)
        condition = test.operator.removeprefix("not ")
        if condition in CONDITIONS:
            operand = self.call(condition, [left, right])
            truth = self.code("1" if condition == test.operator else "0")
            self.words += [STEP_TEST, EQUAL, *operand, LITERAL, truth, NO_TERM, NO_TERM]
            return
        self.words += [STEP_TEST, COMPARISONS[test.test], *left, *right, NO_TERM, NO_TERM]
        if LESS <= COMPARISONS[test.test] <= AT_LEAST:
            self.orders.append((len(self.words) - 2, test))

    def absent(self, premise: RelationAtom) -> None:
        atom = self.stored(premise)
        operands = [word for arg in atom.args for word in self.operand(arg)]
        self.words += [STEP_ABSENT, atom.relation.number, len(atom.args), *operands]

    def probe(self, premise: RelationAtom) -> None:
        atom = self.stored(premise)
        bound = tuple(
            column
            for column, arg in enumerate(atom.args)
            if isinstance(arg, Constant) or (isinstance(arg, Variable) and arg.name in self.registers)
        )
        index = self.index(atom.relation.number, bound)
        key = self.slots[atom.relation.number][index]
        keys = [word for column in key for word in self.operand(atom.args[column])]
        columns = [self.column(arg) for arg in atom.args]
        self.words += [STEP_PROBE, atom.relation.number, index, len(key), len(columns), *keys]
        self.words += [word for column in columns for word in column]

    def index(self, relation: int, columns: tuple[int, ...]) -> int:
        """The index to look rows up by: that of all known columns, or where there are too many the closest one."""
        indexes = self.slots[relation]
        if columns not in indexes and len(indexes) >= _MANY_INDEXES:
            columns = max(
                (candidate for candidate in indexes if set(candidate) <= set(columns)), key=len, default=columns[:1]
            )
        if columns not in indexes:
            indexes.append(columns)
        return indexes.index(columns)

    def clip(self, rule: PlanRule) -> None:
        assert rule.clip is not None
        window = rule.clip.window
        tick = rule.positive[0].args[-1]
        assert isinstance(tick, Variable)
        kind = STEP_CLIP if window.step is None else STEP_HOP
        self.words += [kind, self.registers[tick.name], window.size, window.step or rule.clip.delay]
