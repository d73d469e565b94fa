"""Which predicate needs which, and the strata that follow."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from thalweg.ir.nodes import Aggregate, At, Comparison, Formula, InWindow, Literal, Not, PastWindow, Program, Rule
from thalweg.model.predicate import Predicate

N = TypeVar("N", Predicate, int, str)
T = TypeVar("T", bound=Hashable)


def formulas(body: tuple[Literal, ...], settled: bool = False) -> Iterator[tuple[Formula, bool]]:
    """Every formula of a body, with whether it must be settled before the rule (negated, or inside an aggregate)."""
    for literal in body:
        match literal:
            case Not(formula):
                yield formula, True
            case Aggregate(body=inner):
                yield from formulas(inner, settled=True)
            case Comparison():
                pass
            case _:
                yield literal, settled


def is_past(formula: Formula) -> bool:
    """Whether a formula looks only at ticks before now (`before`): it needs nothing that is derived now."""
    return isinstance(formula, At | InWindow) and isinstance(formula.window, PastWindow)


def settled_past(rules: Iterable[Rule]) -> Callable[[Formula], bool]:
    """Tells whether a formula looks only at what is settled when a tick begins.

    `before` does, unless rules derive facts of its predicate for earlier ticks.
    """
    timed = {rule.head.signature for rule in rules if rule.time is not None}
    return lambda formula: is_past(formula) and formula.atom.signature not in timed


def strata(program: Program) -> dict[Predicate, int] | None:
    """The least stratum of each derived signature, or None where negation or an aggregate runs in a circle.

    >>> from thalweg.ir.nodes import Atom, Now, Rule
    >>> strata(Program((Rule(Atom("a"), (Not(Now(Atom("b"))),)), Rule(Atom("b"), (Now(Atom("c")),)))))
    {'a/0': 1, 'b/0': 0}
    """
    is_settled = settled_past(program.rules)
    needs = (
        (rule.head.signature, formula.atom.signature, int(settled))
        for rule in program.rules
        for formula, settled in formulas(rule.body)
        if not is_settled(formula)
    )
    return least_levels((rule.head.signature for rule in program.rules), needs)


def least_levels(nodes: Iterable[T], needs: Iterable[tuple[T, T, int]]) -> dict[T, int] | None:
    """The least number of each node, so that those that need others stand above them, by one or (0) not below.

    None where there are no such numbers. What is needed and not among the nodes does not count.

    >>> least_levels("ab", [("a", "b", 1), ("b", "a", 0)])
    >>> least_levels("abc", [("a", "b", 1), ("b", "c", 0), ("c", "x", 1)])
    {'a': 1, 'b': 0, 'c': 0}
    """
    below: dict[T, list[tuple[T, int]]] = {node: [] for node in nodes}
    for node, needed, step in needs:
        if needed in below:
            below[node].append((needed, step))
    level = dict.fromkeys(below, 0)
    after = {node: [needed for needed, _ in edges] for node, edges in below.items()}
    for component in strongly_connected(after):
        together = set(component)
        if any(step and needed in together for node in component for needed, step in below[node]):
            return None
        height = max((level[needed] + step for node in component for needed, step in below[node]), default=0)
        level.update(dict.fromkeys(component, height))
    return level


def strongly_connected(after: Mapping[T, Iterable[T]]) -> Iterator[list[T]]:
    """The nodes that lead to each other, together, and behind those that they lead to.

    Tarjan's algorithm without recursion, because chains of predicates can be long.

    >>> list(strongly_connected({"a": "b", "b": "ca", "c": ""}))
    [['c'], ['a', 'b']]
    """
    index: dict[T, int] = {}
    low: dict[T, int] = {}
    path: list[T] = []
    closed: set[T] = set()
    for root in after:
        if root in index:
            continue
        visits = [(root, len(path), iter(after[root]))]
        index[root] = low[root] = len(index)
        path.append(root)
        while visits:
            node, start, successors = visits[-1]
            following = next(successors, None)
            if following is None:
                visits.pop()
                if visits:
                    low[visits[-1][0]] = min(low[visits[-1][0]], low[node])
                if low[node] == index[node]:
                    component = path[start:]
                    del path[start:]
                    closed.update(component)
                    yield component
            elif following not in index:
                visits.append((following, len(path), iter(after[following])))
                index[following] = low[following] = len(index)
                path.append(following)
            elif following not in closed:
                low[node] = min(low[node], index[following])


def by_level(level: dict[N, int]) -> list[list[N]]:
    """The nodes of each level, lowest first."""
    groups: dict[int, list[N]] = {}
    for node, number in level.items():
        groups.setdefault(number, []).append(node)
    return [sorted(groups[number]) for number in sorted(groups)]


def resting_on(start: Iterable[T], needs: Iterable[tuple[T, T, int]]) -> frozenset[T]:
    """The nodes to start with and all that need one of them, however far away.

    >>> sorted(resting_on("c", [("a", "b", 0), ("b", "c", 1), ("c", "d", 0)]))
    ['a', 'b', 'c']
    """
    above: dict[T, set[T]] = {}
    for node, needed, _ in needs:
        above.setdefault(needed, set()).add(node)
    return frozenset(reachable(start, lambda node: above.get(node, ())))


def reachable(starts: Iterable[T], successors: Callable[[T], Iterable[T]]) -> dict[T, None]:
    """Everything that some things lead to, themselves included, in the order in which it is found.

    >>> list(reachable([1], lambda number: {1: [2, 3], 3: [4, 1]}.get(number, ())))
    [1, 2, 3, 4]
    """
    reached = dict.fromkeys(starts)
    waiting = list(reached)
    while waiting:
        for other in successors(waiting.pop()):
            if other not in reached:
                reached[other] = None
                waiting.append(other)
    return reached
