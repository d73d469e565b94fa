"""What a program means, slow and obviously right. Every other evaluator answers to this file.

At tick `t` the model is a set of pairs (fact, tick): the input up to `t`, and what the rules derive *at t*. What was
derived at an earlier tick is in it only where its predicate is recorded, at the tick at which it was derived. The rules
are applied stratum by stratum until nothing new comes; the output is what they derived for `t` itself.

Three decisions where the page is silent: a hopping window whose hop lies before `t1` has no ticks, so only background
holds in it; a head whose time lies outside the timeline `[t1, t]` derives nothing; an event is a set, so the same fact
twice at one tick (of one stream) is one fact, at the place of the first.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from math import floor

from thalweg.ir.binding import binders
from thalweg.ir.dependency import is_past, strata
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Call,
    Comparison,
    Constant,
    Equality,
    Expression,
    Formula,
    InWindow,
    KeyedWindow,
    Literal,
    Not,
    Now,
    Operation,
    PastWindow,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    Window,
    global_names,
    is_anonymous,
    names,
)
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.functions import are_comparable, call, holds
from thalweg.model.number import (
    DIVIDE,
    NO_VALUE,
    OPERATORS,
    calculate,
    mantissa,
    order,
    ratio,
    read_number,
    root_of_ratio,
    scale,
    shortest,
    show_number,
    total,
)
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_literal, is_number
from thalweg.model.time import Calendar
from thalweg.model.values import number_of

Binding = dict[str, str]
Pair = tuple[tuple[str, ...], int]
Arrivals = list[tuple[Fact, int, str | None]]
Pairs = dict[Predicate, set[Pair]]
UTC_SECONDS = Calendar()
_ORDERS = ("<", "<=", ">", ">=")
Mixed = Callable[[Comparison, str, str], None]
"""Takes what `<` and its like could not compare, because it was of different kinds."""


@dataclass(slots=True)
class Timeline:
    """The input up to a tick, what has been derived at it, and what was recorded at the ticks before."""

    first: int
    now: int
    arrivals: Arrivals
    background: dict[Predicate, set[tuple[str, ...]]] = field(default_factory=dict)
    derived: Pairs = field(default_factory=dict)
    recorded: Pairs = field(default_factory=dict)
    calendar: Calendar = UTC_SECONDS
    mixed: Mixed | None = None

    def input(self, stream: str | None) -> list[tuple[Fact, int]]:
        """The facts of one stream, or of all, in the order of arrival; a fact counts once a tick."""
        return list(dict.fromkeys((fact, tick) for fact, tick, name in self.arrivals if stream in (None, name)))

    def view(self, window: Window | None, signature: Predicate, stream: str | None) -> tuple[range, set[Pair]]:
        """The ticks of a window, and the pairs of one predicate inside them."""
        facts = self.input(stream)
        end = self.now
        start = self.first
        match window:
            case TimeWindow(size, None):
                start = max(self.first, end - size)
            case TimeWindow(size, step) if step is not None:
                end = end // step * step
                start = max(self.first, end - size)
            case PastWindow(size):
                start = max(self.first, end - size)
                end -= 1
            case TupleWindow(size, of):
                counted = [(fact, tick) for fact, tick in facts if of in (None, fact.signature)]
                facts = counted[-size:]
                start = facts[0][1] if len(counted) > size else self.first
            case KeyedWindow(size, by):
                facts = _last_by_key(facts, signature, size, by)
        ticks = range(start, end + 1)
        pairs = {(fact.terms, tick) for fact, tick in facts if fact.signature == signature}
        if stream is None and not isinstance(window, TupleWindow | KeyedWindow):
            pairs |= self.derived.get(signature, set()) | self.recorded.get(signature, set())
        return ticks, {(args, tick) for args, tick in pairs if tick in ticks}

    def remember(self, program: Program) -> Pairs:
        """The facts that later ticks can read as recorded."""
        return {
            predicate: self.recorded.get(predicate, set()) | self.derived.get(predicate, set())
            for predicate in program.recorded
        }


def _last_by_key(
    facts: list[tuple[Fact, int]], signature: Predicate, size: int, by: tuple[int, ...]
) -> list[tuple[Fact, int]]:
    """The last facts of a predicate for each combination of some of its arguments."""
    groups: dict[tuple[str, ...], list[tuple[Fact, int]]] = {}
    for fact, tick in facts:
        if fact.signature == signature:
            groups.setdefault(tuple(fact.terms[column] for column in by), []).append((fact, tick))
    return [arrival for group in groups.values() for arrival in group[-size:]]


def answers(
    program: Program,
    events: Iterable[Event],
    first: int | None = None,
    last: int | None = None,
    calendar: Calendar = UTC_SECONDS,
    mixed: Mixed | None = None,
) -> Iterator[tuple[int, frozenset[Fact]]]:
    """The output at every tick from `first` to `last`; `mixed` takes what could not be compared.

    >>> from thalweg.ir.nodes import Atom
    >>> rule = Rule(Atom("q"), (InWindow(Atom("p"), TimeWindow(1)),))
    >>> [(t, sorted(map(str, out))) for t, out in answers(Program((rule,)), [Event(3, (Fact("p"),))], last=5)]
    [(3, ['q']), (4, ['q']), (5, [])]
    """
    arrived = sorted(events, key=lambda event: event.tick)
    if not arrived and (first is None or last is None):
        return
    start = arrived[0].tick if first is None else first
    end = max(start, arrived[-1].tick) if last is None else last
    recorded: Pairs = {}
    for tick in range(start, end + 1):
        seen = [
            (fact, event.tick, event.stream) for event in arrived if start <= event.tick <= tick for fact in event.facts
        ]
        timeline = _evaluate(program, Timeline(start, tick, seen, recorded=recorded, calendar=calendar, mixed=mixed))
        recorded = timeline.remember(program)
        yield tick, _output(program, timeline)


def output(program: Program, first: int, now: int, arrivals: Arrivals) -> frozenset[Fact]:
    """The intensional facts that hold at tick `now`."""
    return _output(program, evaluate(program, first, now, arrivals))


def _output(program: Program, timeline: Timeline) -> frozenset[Fact]:
    derived = timeline.derived
    outputs = program.interface.outputs
    shown = [name for name in derived if (name.file is None if outputs is None else name in outputs)]
    facts = (
        Fact(predicate.name, args) for predicate in shown for args, tick in derived[predicate] if tick == timeline.now
    )
    return frozenset(facts if program.equality is None else _output_of(facts, program.equality, derived))


def evaluate(program: Program, first: int, now: int, arrivals: Arrivals) -> Timeline:
    """The least model at tick `now`; what was recorded before is found by evaluating the ticks before."""
    recorded: Pairs = {}
    if program.recorded:
        for tick in range(first, now):
            seen = [arrival for arrival in arrivals if arrival[1] <= tick]
            recorded = _evaluate(program, Timeline(first, tick, seen, recorded=recorded)).remember(program)
    return _evaluate(program, Timeline(first, now, arrivals, recorded=recorded))


def _evaluate(program: Program, start: Timeline) -> Timeline:
    """The least model, evaluated again with more links until rules find no new equal pairs."""
    if program.equality is None:
        return _model(program, start)
    edges: set[tuple[str, ...]] = set()
    while True:
        timeline = _model(program, start, _links(edges))
        derived_edges = _edges(program.equality, timeline)
        if derived_edges <= edges:
            return timeline
        # What was equal is so for good, though a rule may not see it again once both have one name.
        edges |= derived_edges


def _edges(equality: Equality, timeline: Timeline) -> set[tuple[str, ...]]:
    """The pairs of equal individuals; of many with the same key, as many pairs as connect all of them."""

    def holding(signature: Predicate | None) -> list[tuple[str, ...]]:
        pairs = timeline.derived.get(signature, ()) if signature is not None else ()
        return sorted(args for args, tick in pairs if tick == timeline.now)

    alike = pairwise(holding(equality.same_keys))
    return {*holding(equality.same_pairs), *((a[-1], b[-1]) for a, b in alike if a[:-1] == b[:-1])}


def _links(edges: Iterable[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """A pair for each member of a class of equal individuals but the least: the member, and the least one."""
    classes: dict[str, set[str]] = {}
    for first, second in edges:
        members = classes.get(first, {first}) | classes.get(second, {second})
        classes |= dict.fromkeys(members, members)
    return {(member, min(members)) for member, members in classes.items() if member != min(members)}


def _output_of(facts: Iterable[Fact], equality: Equality, derived: dict[Predicate, set[Pair]]) -> Iterator[Fact]:
    """The facts without those about individuals that another one represents."""
    hidden = {args[0] for args, _ in derived.get(equality.representative, ())}
    for fact in facts:
        kept = frozenset() if fact.predicate[0] in "<_" else equality.names
        if fact.signature == equality.representative or hidden.isdisjoint(set(fact.terms) - kept):
            yield fact


def _model(program: Program, start: Timeline, links: Iterable[tuple[str, ...]] = ()) -> Timeline:
    """The least model over a timeline of input facts, stratum by stratum."""
    background: dict[Predicate, set[tuple[str, ...]]] = {}
    for fact in program.background:
        background.setdefault(fact.signature, set()).add(fact.terms)
    timeline = replace(start, background=background, derived={})
    if program.equality is not None:
        timeline.derived[program.equality.representative] = {(args, timeline.now) for args in links}
    level = strata(program)
    assert level is not None, "an unstratified program has no meaning here"
    for stratum in sorted(set(level.values())):
        rules = [rule for rule in program.rules if level[rule.head.signature] == stratum]
        while sum(_apply(rule, timeline) for rule in rules):
            pass
    return timeline


def _apply(rule: Rule, timeline: Timeline) -> int:
    """Adds what a rule derives now to the timeline; returns the number of new facts."""
    facts = timeline.derived.setdefault(rule.head.signature, set())
    before = len(facts)
    for binding in list(solve(rule, rule.body, {}, timeline)):
        args = tuple(value(arg, binding, timeline.calendar) for arg in rule.head.args)
        tick = str(timeline.now) if rule.time is None else value(rule.time, binding, timeline.calendar)
        if None in args or tick is None or not tick.lstrip("-").isdigit():
            continue
        if timeline.first <= int(tick) <= timeline.now:
            facts.add((args, int(tick)))  # type: ignore[arg-type]
    return len(facts) - before


def solve(rule: Rule, body: tuple[Literal, ...], binding: Binding, timeline: Timeline) -> Iterator[Binding]:
    """Every way to satisfy a body, starting from a binding."""
    yield from _solve(rule, body, binders(rule, body, frozenset(binding)), binding, timeline)


def _solve(
    rule: Rule, body: tuple[Literal, ...], binds: dict[int, str], binding: Binding, timeline: Timeline
) -> Iterator[Binding]:
    if not body:
        yield binding
        return
    chosen = next(literal for literal in body if _ready(rule, literal, binds, binding))
    remaining = tuple(literal for literal in body if literal is not chosen)
    for extended in _satisfy(rule, chosen, binding, timeline):
        yield from _solve(rule, remaining, binds, extended, timeline)


def _ready(rule: Rule, literal: Literal, binds: dict[int, str], binding: Binding) -> bool:
    """Whether a literal can be decided: positive formulas always, the others when what they need is bound."""
    bound = binding.keys()
    match literal:
        case Not(formula):
            return all(name in bound or is_anonymous(name) for name in names(formula))
        case Comparison(_, left, right):
            return names(left, right) - {binds.get(id(literal), "")} <= bound
        case Aggregate():
            return global_names(rule, literal) - {literal.result.name} <= bound
    return True


def _satisfy(rule: Rule, literal: Literal, binding: Binding, timeline: Timeline) -> Iterator[Binding]:
    match literal:
        case Not(formula):
            if next(matches(formula, binding, timeline), None) is None:
                yield binding
        case Comparison("is", left, right):
            if (first := value(left, binding, timeline.calendar)) is not None and right in _kinds(first):
                yield binding
        case Comparison(operator, left, right):
            first, second = (value(side, binding, timeline.calendar) for side in (left, right))
            if isinstance(left, Variable) and first is None and second is not None:
                yield binding | {left.name: second}
            elif isinstance(right, Variable) and second is None and first is not None:
                yield binding | {right.name: first}
            elif first is not None and second is not None:
                if timeline.mixed is not None and operator in _ORDERS and not are_comparable(first, second):
                    timeline.mixed(literal, first, second)
                if holds(operator.removeprefix("not "), first, second) != operator.startswith("not "):
                    yield binding
        case Aggregate(result, function, terms, body, share):
            outer = {name: term for name, term in binding.items() if name != result.name}
            inside = solve(rule, body, outer, timeline)
            rows = ([value(term, inner, timeline.calendar) for term in terms] for inner in inside)
            distinct = {tuple(term for term in row if term) for row in rows if None not in row}
            aggregated = aggregate(function, distinct, share)
            if aggregated is not None and (result.name not in binding or holds("=", binding[result.name], aggregated)):
                yield {result.name: aggregated} | binding
        case _:
            yield from matches(literal, binding, timeline)


def matches(formula: Formula, binding: Binding, timeline: Timeline) -> Iterator[Binding]:
    """Every way in which a formula holds now that agrees with a binding."""
    signature = formula.atom.signature
    timeless = formula.stream is None and not is_past(formula)
    always_true = timeline.background.get(signature, set()) if timeless else set()
    match formula:
        case Now():
            ticks, pairs = timeline.view(None, signature, formula.stream)
            rows = always_true | {args for args, tick in pairs if tick == timeline.now}
        case InWindow(window=window):
            ticks, pairs = timeline.view(window, signature, formula.stream)
            rows = {args for args, _ in pairs} | always_true
        case Always(window=window):
            ticks, pairs = timeline.view(window, signature, formula.stream)
            candidates = {args for args, _ in pairs}
            rows = {args for args in candidates if all((args, tick) in pairs for tick in ticks)} | always_true
        case At(window=window, time=time):
            ticks, pairs = timeline.view(window, signature, formula.stream)
            pairs |= {(args, tick) for args in always_true for tick in ticks}
            for args, tick in pairs:
                yield from _unify((*formula.atom.args, time), (*args, str(tick)), binding)
            return
    for args in rows:
        yield from _unify(formula.atom.args, args, binding)


def _unify(patterns: tuple[Expression, ...], terms: tuple[str, ...], binding: Binding) -> Iterator[Binding]:
    extended = dict(binding)
    for pattern, term in zip(patterns, terms, strict=True):
        expected = (
            extended.setdefault(pattern.name, term) if isinstance(pattern, Variable) else value(pattern, extended)
        )
        if expected != term:
            return
    yield extended


def value(expression: Expression, binding: Binding, calendar: Calendar = UTC_SECONDS) -> str | None:
    """The term that an expression stands for, or None where it has no value."""
    match expression:
        case Variable(name):
            return binding.get(name)
        case Constant(term):
            return term
        case Operation(operator, left, right):
            first, second = value(left, binding, calendar), value(right, binding, calendar)
            if first is None or second is None:
                return None
            result = calculate(OPERATORS[operator], _word(first), _word(second))
            return None if result == NO_VALUE else show_number(result)
        case Call(function, args):
            values = [value(arg, binding, calendar) for arg in args]
            terms = tuple(term for term in values if term is not None)
            return call(function, terms, calendar) if len(terms) == len(args) else None


def _word(term: str) -> int:
    word = number_of(term)
    return NO_VALUE if word is None else word


def _kinds(term: str) -> tuple[Constant, Constant]:
    is_integer = is_number(term) and term.lstrip("-").isdigit() and -(2**31) <= int(term) < 2**31
    return Constant("literal" if is_literal(term) else "resource"), Constant("integer" if is_integer else "non_integer")


def aggregate(function: str, tuples: set[tuple[str, ...]], share: str | None = None) -> str | None:
    """The value of an aggregate over distinct tuples: nothing has no least, greatest or average value.

    >>> aggregate("avg", {("1", "a"), ("2", "b")}), aggregate("quantile", {("1",), ("2",), ("4",)}, "0.75")
    ('1.5', '3')
    """
    if function == "count":
        return str(len(tuples))
    words = [word for row in tuples if (word := number_of(row[0])) is not None]
    if function == "sum":
        result = total(words)
    elif not words:
        return None
    elif function == "avg":
        result = calculate(DIVIDE, total(words), read_number(str(len(words))) or NO_VALUE)
    elif function == "stddev":
        result = _deviation(sorted(map(_exact, words)))
    elif function in ("median", "quantile"):
        result = _quantile(sorted(map(_exact, words)), Fraction(share or "0.5"))
    else:
        result = words[0]
        for word in words[1:]:
            sign = order(word, result)
            if (sign < 0) if function == "min" else (sign > 0):
                result = word
        result = shortest(result)
    return None if result == NO_VALUE else show_number(result)


def _exact(word: int) -> Fraction:
    return Fraction(mantissa(word), 10 ** scale(word))


def _deviation(values: list[Fraction]) -> int:
    """The standard deviation of a sample, which has at least two values: the root of its exact variance."""
    if len(values) < 2:
        return NO_VALUE
    mean = sum(values, Fraction()) / len(values)
    variance = sum(((value - mean) ** 2 for value in values), Fraction()) / (len(values) - 1)
    return root_of_ratio(variance.numerator, variance.denominator)


def _quantile(values: list[Fraction], share: Fraction) -> int:
    """The value below which a share of the sorted values lies, on the line between its two neighbours."""
    place = share * (len(values) - 1)
    below = floor(place)
    above = min(below + 1, len(values) - 1)
    exact = values[below] + (place - below) * (values[above] - values[below])
    return ratio(exact.numerator, exact.denominator)
