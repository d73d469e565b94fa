"""Graphs without directions: connected components, maximal cliques, and cliques that are nearly the same."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from thalweg.model.predicate import Predicate

N = TypeVar("N", str, Predicate, int)


def components(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> list[frozenset[N]]:
    """The connected components of a graph, in the order of the nodes.

    >>> [sorted(group) for group in components("abcd", [("a", "c"), ("c", "d")])]
    [['a', 'c', 'd'], ['b']]
    """
    near = neighbours(nodes, edges)
    groups, seen = [], set[N]()
    for node in near:
        if node in seen:
            continue
        group, waiting = {node}, [node]
        while waiting:
            fresh = near[waiting.pop()] - group
            group |= fresh
            waiting += fresh
        seen |= group
        groups.append(frozenset(group))
    return groups


def neighbours(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> dict[N, set[N]]:
    near: dict[N, set[N]] = {node: set() for node in nodes}
    for first, second in edges:
        if first != second:
            near.setdefault(first, set()).add(second)
            near.setdefault(second, set()).add(first)
    return near


def maximal_cliques(nodes: Iterable[N], edges: Iterable[tuple[N, N]]) -> list[frozenset[N]]:
    """All groups in which everyone is connected with everyone, and which cannot be extended (Bron and Kerbosch).

    >>> sorted(map(sorted, maximal_cliques("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])))
    [['a', 'b', 'c'], ['c', 'd']]
    """
    near = neighbours(nodes, edges)
    return list(_extend(near, set(), set(near), set())) if near else []


def _extend(near: dict[N, set[N]], clique: set[N], open: set[N], done: set[N]) -> Iterator[frozenset[N]]:
    if not open and not done:
        yield frozenset(clique)
        return
    # With the best connected node as pivot, its neighbours come up in branches of their own.
    pivot = max(sorted(open | done), key=lambda node: len(near[node] & open))
    for node in sorted(open - near[pivot]):
        yield from _extend(near, clique | {node}, open & near[node], done & near[node])
        open, done = open - {node}, done | {node}


def merged(groups: Iterable[frozenset[N]]) -> list[frozenset[N]]:
    """Groups that have more than half as many members in common as they differ in become one, again and again.

    >>> sorted(map(sorted, merged([frozenset("abc"), frozenset("bcd"), frozenset("dxyz")])))
    [['a', 'b', 'c', 'd'], ['d', 'x', 'y', 'z']]
    """
    communities = sorted(set(groups), key=sorted)
    while pair := next(
        (
            (first, second)
            for first in communities
            for second in communities
            if first != second and _akin(first, second)
        ),
        None,
    ):
        communities = sorted({group for group in communities if group not in pair} | {pair[0] | pair[1]}, key=sorted)
    return communities


def _akin(first: frozenset[N], second: frozenset[N]) -> bool:
    return 2 * len(first & second) > len(first ^ second)
