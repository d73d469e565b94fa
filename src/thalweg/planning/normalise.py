"""Rules in the few shapes that the engine knows.

n(R,N) :- road(R), N = count{C : at(C,R) in [5]}.      becomes     '1(R,C) :- at(C,R) in [5].
                                                                   '1v(R,N) is the count of '1, grouped by R
                                                                   n(R,N) :- road(R), '1v(R,N).
                                                                   '1s(R) :- '1(R,_).
                                                                   n(R,N) :- road(R), not '1s(R), N = 0.

a(X) :- p(X), not q(X,_) in [3].                       becomes     '1(X) :- q(X,_) in [3].
                                                                   a(X) :- p(X), not '1(X).

c(X) :- p(X) at U in [9], q(X) at U.                   becomes     c(X) :- p(X) at U in [9], q(X) at U in [9].
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from thalweg.ir.binding import binders, bound_by_formulas
from thalweg.ir.nodes import (
    Aggregate,
    At,
    Atom,
    Comparison,
    Constant,
    Formula,
    Literal,
    Not,
    Now,
    PastWindow,
    Rule,
    TimeWindow,
    Variable,
    global_names,
    is_anonymous,
    names,
    variables,
)
from thalweg.model.predicate import Predicate
from thalweg.planning.rule_plan import AggregateGroup, RulePlan


def normalise(plan: RulePlan) -> RulePlan:
    """The plan with the rules of its program in simpler shapes, and the aggregates that they need."""
    rules, groups = simpler(plan.program.rules)
    return replace(plan, normalised=rules, groups=groups)


def simpler(rules: Iterable[Rule]) -> tuple[tuple[Rule, ...], tuple[AggregateGroup, ...]]:
    """The same rules in simpler shapes, and the aggregates that they need."""
    groups: list[AggregateGroup] = []
    split = [simple for rule in rules for simple in _split_aggregates(rule, groups)]
    projected = [simple for number, rule in enumerate(split) for simple in _project_negation(rule, f"'n{number}")]
    return tuple(bound_times(rule) for rule in projected), tuple(groups)


def _split_aggregates(rule: Rule, groups: list[AggregateGroup]) -> Iterator[Rule]:
    aggregate = _next_aggregate(rule)
    if aggregate is None:
        yield rule
        return
    name = f"'a{len(groups)}"
    binding, remaining = _bind_by_atoms(rule, aggregate, f"'b{len(groups)}")
    yield from binding
    keys = tuple(Variable(key) for key in sorted(global_names(rule, aggregate) - {aggregate.result.name}))
    width = len(keys)
    elements, value = Predicate(name, width + len(aggregate.terms)), Predicate(f"{name}v", width + 1)
    groups.append(AggregateGroup(elements, value, aggregate.function, width, aggregate.share))
    bound = bound_by_formulas(aggregate.body) >= {key.name for key in keys}
    inner = aggregate.body if bound else (*_binding(remaining, binders(rule, (*remaining, aggregate))), *aggregate.body)
    yield from _split_aggregates(Rule(Atom(name, (*keys, *aggregate.terms)), inner, span=rule.span), groups)
    yield from _split_aggregates(replace(rule, body=_with_value(aggregate, name, keys, remaining)), groups)
    if aggregate.function in ("count", "sum"):
        # Not "no value": a sum that is too large for a number has none either, and is not 0.
        anything = tuple(Variable(f"_'{number}") for number in range(len(aggregate.terms)))
        nothing = Not(Now(Atom(name, (*keys, *anything))), span=aggregate.span)
        zero = Comparison("=", aggregate.result, Constant("0"), span=aggregate.span)
        yield from _split_aggregates(replace(rule, body=(zero, *remaining, nothing)), groups)


def _next_aggregate(rule: Rule) -> Aggregate | None:
    """The first aggregate whose groups need no value of another one."""
    aggregates = [literal for literal in rule.body if isinstance(literal, Aggregate)]
    if len(aggregates) < 2:
        return aggregates[0] if aggregates else None
    bound = names(*_binding(rule.body, binders(rule, rule.body)))
    return next(
        (aggregate for aggregate in aggregates if global_names(rule, aggregate) - {aggregate.result.name} <= bound),
        aggregates[0],
    )


def _bind_by_atoms(rule: Rule, aggregate: Aggregate, name: str) -> tuple[list[Rule], tuple[Literal, ...]]:
    """The rest of a rule with an aggregate, such that formulas bind its groups; and a rule for that where `=` does.

    Inside the aggregate a group is a spelling. The atom of its value would make a comparison by value of the `=`.

    g(N) :- V = 1, N = count{X : p(V,X)}.    becomes    'b0(V) :- V = 1.    g(N) :- 'b0(V), N = count{X : p(V,X)}.
    """
    remaining = tuple(literal for literal in rule.body if literal is not aggregate)
    groups = global_names(rule, aggregate) - {aggregate.result.name}
    binding = binders(rule, rule.body)
    if groups.isdisjoint(binding.values()):
        return [], remaining
    first = _binding(remaining, binding)
    bound = names(*first)
    untouched = tuple(literal for literal in remaining if literal not in first)
    used = names(rule.head, rule.time, aggregate, *untouched)
    head = Atom(name, tuple(Variable(variable) for variable in sorted(bound & used)))
    return [Rule(head, first, span=rule.span)], (Now(head, span=aggregate.span), *untouched)


def _with_value(
    aggregate: Aggregate, name: str, keys: tuple[Variable, ...], remaining: tuple[Literal, ...]
) -> tuple[Literal, ...]:
    """A body in which an aggregate's value stands for the aggregate."""
    if aggregate.result.name not in bound_by_formulas(remaining):
        return (*remaining, Now(Atom(f"{name}v", (*keys, aggregate.result)), span=aggregate.span))
    # Bound elsewhere too: numbers are equal by value, so compare instead of joining on the spelling.
    result = Variable(f"{aggregate.result.name}'{name}")
    value = Now(Atom(f"{name}v", (*keys, result)), span=aggregate.span)
    return (*remaining, value, Comparison("=", aggregate.result, result, span=aggregate.span))


def _binding(body: tuple[Literal, ...], binding: Mapping[int, str]) -> tuple[Literal, ...]:
    """What binds variables in a body without the results of aggregates: formulas, and the `=` that bind what they know.

    >>> from thalweg.ir.text import show
    >>> p, same = Now(Atom("p", (Variable("X"),))), Comparison("=", Variable("Y"), Variable("X"))
    >>> value = Comparison("=", Variable("Z"), Variable("N"))
    >>> [show(literal) for literal in _binding((p, same, value), {id(same): "Y", id(value): "Z"})]
    ['p(X)', 'Y = X']
    """
    literals: list[Literal] = [literal for literal in body if not isinstance(literal, Not | Comparison | Aggregate)]
    bound = names(*literals)
    equations = [literal for literal in body if id(literal) in binding]
    while ready := [literal for literal in equations if names(literal) - {binding[id(literal)]} <= bound]:
        bound |= names(*ready)
        literals += ready
        equations = [literal for literal in equations if literal not in ready]
    return tuple(literals)


def _project_negation(rule: Rule, name: str) -> Iterator[Rule]:
    body: list[Literal] = []
    for number, literal in enumerate(rule.body):
        if isinstance(literal, Not) and any(is_anonymous(variable.name) for variable in variables(literal)):
            named = dict.fromkeys(variable.name for variable in variables(literal) if not is_anonymous(variable.name))
            kept = tuple(Variable(variable_name) for variable_name in named)
            shadow = Atom(f"{name}'{number}", kept)
            yield Rule(shadow, (literal.formula,), span=literal.span)
            literal = Not(Now(shadow), span=literal.span)
        body.append(literal)
    yield replace(rule, body=tuple(body))


def bound_times(rule: Rule) -> Rule:
    """Gives `p(X) at U` the window of another atom at the same `U`, so that it need not be kept for ever."""
    sizes: dict[str, int] = {}
    for literal in rule.body:
        match literal:
            case At(time=Variable(name), window=TimeWindow(size, None) | PastWindow(size)):
                sizes[name] = min(size, sizes.get(name, size))
    return replace(rule, body=tuple(_bounded(literal, sizes) for literal in rule.body))


def _bounded(literal: Literal, sizes: dict[str, int]) -> Literal:
    match literal:
        case Not(formula):
            bounded = _bounded(formula, sizes)
            assert isinstance(bounded, Formula)
            return replace(literal, formula=bounded)
        case At(time=Variable(name), window=None) if name in sizes:
            return replace(literal, window=TimeWindow(sizes[name]))
    return literal
