"""What definitions of events mean together: each pattern over the events that the definitions before it make."""

from collections.abc import Collection, Mapping

from thalweg.ir.pattern_semantics import Instance, Match, TripleTerms, matches, rank, solutions
from thalweg.ir.patterns import Pattern
from thalweg.kinds.events.event_clauses import holds


def in_order(found: list[Match]) -> list[Match]:
    return sorted(found, key=lambda one: (one.end, rank(one.events, one.bindings)))


def found_above(
    name: str,
    pattern: Pattern,
    events: Mapping[str, list[Instance]],
    background: Collection[TripleTerms],
    last: int,
) -> tuple[list[Match], list[Instance]]:
    """The matches of a pattern over events, and the complex events that they are."""
    clauses = {clause.event: clause for clause in pattern.clauses if clause.triples}
    pairs = {
        event: [
            (one, solution)
            for one in some
            for solution in (
                solutions(clauses[event], one.individuals, {*one.triples, *background}) if event in clauses else [()]
            )
        ]
        for event, some in events.items()
    }
    found = matches(pattern, pairs, last, holds)
    made: dict[object, Instance] = {}
    for match in in_order(found):
        triples = tuple({triple for one in match.events for triple in one.triples})
        key = match.start, match.end, frozenset(match.events)
        made.setdefault(key, Instance(name, match.start, match.end, events=match.events, triples=triples))
    return found, list(made.values())
