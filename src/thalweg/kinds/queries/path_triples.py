"""The triples along a path: those that `?s :p+/^:q ?o` rests on for two nodes, one way from the one to the other.

Of alternatives all that lead there are taken, and of repetitions a shortest one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from thalweg.languages.rspql.algebra import Path
from thalweg.model.term import is_literal
from thalweg.solvers.sparql import as_stored

Triple = tuple[str, str, str]
Step = tuple[Triple, tuple[int, ...]]
"""A triple, and the ticks at which it came."""

Matches = Callable[[Sequence[str | None]], Mapping[Triple, Sequence[int]]]
Ways = dict[str, tuple[Step, ...]]
"""The nodes that a path leads to, and the steps on the way."""


def ways(path: Path, node: str, matches: Matches, forward: bool = True) -> Ways:
    """Where a path leads from a node, or where it comes from.

    >>> edges = {("<urn:a>", "<urn:p>", "<urn:b>"): [1], ("<urn:b>", "<urn:p>", "<urn:c>"): [2]}
    >>> def matches(pattern):
    ...     return {edge: ticks for edge, ticks in edges.items() if all(x in (None, y) for x, y in zip(pattern, edge))}
    >>> [ticks for _, ticks in ways(("+", "<urn:p>"), "<urn:a>", matches)["<urn:c>"]]
    [(1,), (2,)]
    """
    if isinstance(path, str):
        return _edges(path, node, matches, forward)
    kind, *parts = path
    assert isinstance(kind, str)
    if kind == "^":
        return ways(parts[0], node, matches, not forward)
    if kind == "/":
        reached: Ways = {node: ()}
        for part in parts if forward else reversed(parts):
            reached = {
                end: (*before, *steps)
                for middle, before in reached.items()
                for end, steps in ways(part, middle, matches, forward).items()
            }
        return reached
    if kind == "|":
        return _together(ways(part, node, matches, forward) for part in parts)
    if kind == "!":
        return _edges(None, node, matches, forward, without=parts)
    return _repeated(kind, parts[0], node, matches, forward)


def _edges(name: str | None, node: str, matches: Matches, forward: bool, without: Sequence[Path] = ()) -> Ways:
    if forward and is_literal(node):
        return {}
    triples = matches((node, name, None) if forward else (None, name, node))
    return _together(
        {as_stored(triple[2 if forward else 0]): ((triple, tuple(ticks)),)}
        for triple, ticks in triples.items()
        if triple[1] not in without
    )


def _together(several: Iterable[Ways]) -> Ways:
    united: Ways = {}
    for part in several:
        for end, steps in part.items():
            united[end] = (*united.get(end, ()), *steps)
    return united


def _repeated(kind: str, path: Path, node: str, matches: Matches, forward: bool) -> Ways:
    """`*`, `+` and `?`: all nodes that are reached, those with the fewest repetitions first."""
    nodes: Ways = {} if kind == "+" else {node: ()}
    last: Ways = {node: ()}
    while last:
        reached: Ways = {}
        for middle, before in last.items():
            for end, steps in ways(path, middle, matches, forward).items():
                if end not in nodes:
                    nodes[end] = reached[end] = (*before, *steps)
        last = {} if kind == "?" else reached
    return nodes
