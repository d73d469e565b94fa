"""What a pattern of events means, slow and obviously right: set comprehensions over the events of the whole stream.

    [E]         the pairs (event, solution of its clause) of the name E
    [p OR q]    [p] united with [q]
    [p AND q]   unions m + n whose shared variables agree
    [p SEQ q]   the same, where m is over before n begins

A *candidate* puts one such pair at each place that it fills. A *match* is a candidate of the pattern without its `NOT`s
whose filters hold, which keeps to `WITHIN`, and which no `NOT` can extend to a candidate that does the same. Of the
matches the modifier selects; what is selected never depends on what comes after its end.

A filter is checked where all its variables are bound, so one about an event of the branch of an `OR` that was not
taken is left out; own variables of a name that occurs twice are checked for each of its occurrences. Where an open
`NOT` in one branch of an `OR` lets matches with the same last event end at different ticks, `FIRST` takes of those that
end first: what is selected is known when it ends.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from thalweg.ir.patterns import Absent, Both, Clause, Either, Filter, Occurs, Operand, Pattern, Sequence, occurrences

Solution = tuple[tuple[str, str], ...]
"""Variables and their terms, sorted by name."""
TripleTerms = tuple[str, str, str]
Holds = Callable[[Filter, Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class Instance:
    """An event: an abstract one has an individual and the name of its graph, a complex one the events it is made of.

    `triples` are those of its graph, where clauses look at them; they say nothing that its graph's name does not say.
    """

    event: str
    start: int
    end: int
    individual: str = ""
    graph: str = ""
    events: tuple["Instance", ...] = ()
    triples: tuple[TripleTerms, ...] = field(default=(), compare=False, repr=False)

    @property
    def individuals(self) -> frozenset[str]:
        """The individual of an abstract event; of a complex one, those of its events."""
        return frozenset({self.individual}).union(*(event.individuals for event in self.events)) - {""}

    @property
    def order(self) -> tuple[object, ...]:
        """Events are ordered by time, name, individual and graph; complex ones of one name by the list of theirs."""
        names = (_code_points(text) for text in (self.event, self.individual, self.graph))
        return self.start, self.end, *names, tuple(event.order for event in self.events)


def _code_points(term: str) -> str:
    """What a term is ordered by: an IRI by what stands in its brackets.

    >>> _code_points("<x1>") < _code_points("<x10>")
    True
    """
    return term[1:-1] if term[:1] == "<" else term


Pair = tuple[Instance, Solution]
Candidate = frozenset[tuple[int, Pair]]
"""Places with what fills them."""
Occurring = Mapping[str, Iterable[Pair]]
"""The pairs of each name of events."""


class Match(NamedTuple):
    """A complex event of a pattern: its events from left to right, and what its clauses bind."""

    start: int
    end: int
    events: tuple[Instance, ...]
    bindings: Solution


def matches(pattern: Pattern, pairs: Occurring, last: int, holds: Holds) -> list[Match]:
    """The complex events that a stream up to the tick `last` has, in the order in which they end.

    >>> a, b = (Instance(name, tick, tick, f"<x{tick}>") for name, tick in (("<a>", 1), ("<b>", 4)))
    >>> pattern = Pattern(Sequence((Occurs("<a>", 0), Occurs("<b>", 1))), "EVERY", within=3)
    >>> stream = {"<a>": [(a, ())], "<b>": [(b, ())]}
    >>> [(match.start, match.end) for match in matches(pattern, stream, 9, lambda *_: True)]
    [(1, 4)]
    """
    candidates = [candidate for candidate in _undisturbed(pattern, pairs, holds) if _end(pattern, candidate) <= last]
    selected = sorted(
        _selected(pattern, candidates), key=lambda candidate: (_end(pattern, candidate), _rank(pattern, candidate))
    )
    by_events: dict[tuple[frozenset[Instance], Solution], Match] = {}
    for candidate in selected:
        match = Match(
            _from(candidate),
            _end(pattern, candidate),
            _events(candidate),
            bindings_of(pattern, (pair for _, pair in candidate)),
        )
        # Matches of the same events are one event, with one line for each different binding.
        by_events.setdefault((frozenset(match.events), match.bindings), match)
    return list(by_events.values())


def _events(candidate: Candidate) -> tuple[Instance, ...]:
    """The events of a match, place by place."""
    return tuple(event for _, (event, _) in sorted(candidate, key=lambda member: member[0]))


def solutions(clause: Clause, individuals: Iterable[str], triples: Iterable[TripleTerms]) -> set[Solution]:
    """How the triples of a clause are found, the subject of the first being one of the individuals; no filters.

    >>> from thalweg.ir.patterns import Triple
    >>> triples = [("<x>", "<at>", "<y>"), ("<z>", "<at>", "<y>")]
    >>> solutions(Clause("<a>", (Triple("?o", "<at>", "?l"),)), ["<x>"], triples)
    {(('l', '<y>'), ('o', '<x>'))}
    """
    facts = list(triples)
    anchors = set(individuals)
    bindings: list[dict[str, str]] = [{}]
    for number, triple in enumerate(clause.triples):
        wanted = triple.subject, triple.predicate, triple.object
        bindings = [
            extended
            for binding in bindings
            for terms in facts
            if (number > 0 or terms[0] in anchors) and (extended := _bound(binding, wanted, terms)) is not None
        ]
    return {tuple(sorted(binding.items())) for binding in bindings}


def _bound(binding: dict[str, str], wanted: tuple[str, ...], terms: tuple[str, ...]) -> dict[str, str] | None:
    extended = dict(binding)
    for pattern_term, term in zip(wanted, terms, strict=True):
        if pattern_term[0] != "?":
            if pattern_term != term:
                return None
        elif extended.setdefault(pattern_term[1:], term) != term:
            return None
    return extended


# Candidates and matches --------------------------------------------------------------------------------------------


def _undisturbed(pattern: Pattern, pairs: Occurring, holds: Holds) -> set[Candidate]:
    """The candidates without the `NOT`s of a pattern that none of these can extend."""
    disturbed = set()
    for absent in nots(pattern.operand):
        places = {occurrence.place for occurrence in occurrences(absent.operand)}
        for candidate in _candidates(pattern, without_nots(pattern.operand, kept=absent), pairs, holds):
            # A branch of an OR without this NOT has none of its places.
            if any(place in places for place, _ in candidate):
                disturbed.add(frozenset((place, pair) for place, pair in candidate if place not in places))
    return _candidates(pattern, without_nots(pattern.operand), pairs, holds) - disturbed


def _candidates(pattern: Pattern, operand: Operand | None, pairs: Occurring, holds: Holds) -> set[Candidate]:
    return {
        candidate
        for candidate in _denoted(operand, pairs, pattern.shared)
        if (pattern.within is None or _to(candidate) - _from(candidate) <= pattern.within)
        and _passes(pattern, candidate, holds)
    }


def _denoted(operand: Operand | None, pairs: Occurring, shared: frozenset[str]) -> set[Candidate]:
    match operand:
        case Occurs(event, place):
            return {frozenset({(place, pair)}) for pair in pairs.get(event, ())}
        case Either(operands):
            return {candidate for branch in operands for candidate in _denoted(branch, pairs, shared)}
        case Both(operands) | Sequence(operands):
            joined, *remaining = (_denoted(part, pairs, shared) for part in operands)
            for more in remaining:
                joined = {
                    m | n
                    for m, n in product(joined, more)
                    if _agree(m | n, shared) and (isinstance(operand, Both) or _to(m) < _from(n))
                }
            return joined
    return set()


def _agree(candidate: Candidate, shared: frozenset[str]) -> bool:
    bound = {item for _, (_, solution) in candidate for item in solution if item[0] in shared}
    return len(bound) == len({name for name, _ in bound})


def _passes(pattern: Pattern, candidate: Candidate, holds: Holds) -> bool:
    filters = [condition for clause in pattern.clauses for condition in clause.filters]
    pairs = [pair for _, pair in candidate]
    return all(
        holds(condition, binding)
        for condition in filters
        for binding in joint_bindings(pattern, pairs, condition.variables)
    )


def joint_bindings(pattern: Pattern, pairs: Iterable[Pair], variables: Iterable[str]) -> Iterator[dict[str, str]]:
    """What some variables are bound to, for each choice of occurrences of the names that own one of them.

    >>> from thalweg.ir.patterns import Triple
    >>> pattern = Pattern(Occurs("<a>", 0), clauses=(Clause("<a>", (Triple("?o", "<value>", "?v"),)),))
    >>> list(joint_bindings(pattern, [(Instance("<a>", 1, 1), (("o", "<x>"), ("v", "3")))], ["v"]))
    [{'v': '3'}]
    """
    members = list(pairs)
    wanted, shared = set(variables), pattern.shared
    owners = {clause.event for clause in pattern.clauses if (clause.variables - shared) & wanted}
    common = {name: term for _, solution in members for name, term in solution if name in shared}
    filled = ([solution for event, solution in members if event.event == owner] for owner in sorted(owners))
    for choice in product(*filled):
        binding = common | {name: term for solution in choice for name, term in solution}
        if wanted <= binding.keys():
            yield {name: binding[name] for name in wanted}


def _from(candidate: Candidate) -> int:
    return min(event.start for _, (event, _) in candidate)


def _to(candidate: Candidate) -> int:
    return max(event.end for _, (event, _) in candidate)


# NOT ---------------------------------------------------------------------------------------------------------------


def nots(operand: Operand) -> Iterator[Absent]:
    """The `NOT`s of a pattern from left to right.

    >>> [one.operand.event for one in nots(Sequence((Occurs("<a>", 0), Absent(Occurs("<n>", 1)))))]
    ['<n>']
    """
    match operand:
        case Absent():
            yield operand
        case Sequence(operands) | Both(operands) | Either(operands):
            for part in operands:
                yield from nots(part)


def without_nots(operand: Operand, kept: Absent | None = None) -> Operand | None:
    """The pattern without its `NOT` operands; the one that is kept has become positive.

    >>> without_nots(Sequence((Occurs("<a>", 0), Absent(Occurs("<n>", 1)))))
    Sequence(operands=(Occurs(event='<a>', place=0),))
    """
    match operand:
        case Absent(inner):
            return inner if operand is kept else None
        case Sequence(operands) | Both(operands) | Either(operands):
            parts = tuple(
                positive for positive in (without_nots(part, kept) for part in operands) if positive is not None
            )
            return type(operand)(parts)
    return operand


def has_open_not(operand: Operand, places: frozenset[int]) -> bool:
    """Whether a `NOT` of the branches that these places belong to has nothing positive behind it in a sequence.

    >>> a, absent = Occurs("<a>", 0), Absent(Occurs("<n>", 1))
    >>> [has_open_not(one, frozenset({0})) for one in (Sequence((a, absent)), Sequence((absent, a)), Both((a, absent)))]
    [True, False, True]
    """
    match operand:
        case Absent():
            return True
        case Sequence(operands):
            # What is open in an operand with something positive behind it is closed by that.
            positive = [number for number, part in enumerate(operands) if not isinstance(part, Absent)]
            return any(has_open_not(part, places) for part in operands[positive[-1] :])
        case Both(operands):
            return any(has_open_not(part, places) for part in operands)
        case Either(operands):
            taken = (
                part for part in operands if any(occurrence.place in places for occurrence in occurrences(part, False))
            )
            return any(has_open_not(part, places) for part in taken)
    return False


def _end(pattern: Pattern, candidate: Candidate) -> int:
    """A match with an open `NOT` ends when the time is over."""
    if pattern.within is not None and has_open_not(pattern.operand, frozenset(place for place, _ in candidate)):
        return _from(candidate) + pattern.within
    return _to(candidate)


# Selection ---------------------------------------------------------------------------------------------------------


def _selected(pattern: Pattern, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    match pattern.modifier:
        case None:
            ranked = sorted(candidates, key=lambda candidate: (_end(pattern, candidate), _rank(pattern, candidate)))
            yield from ranked[:1]
        case "EVERY":
            for group in _grouped(candidates, _beginning):
                yield min(group, key=lambda candidate: (_end(pattern, candidate), _rank(pattern, candidate)))
        case "FIRST":
            for group in _grouped(candidates, _completion):
                yield min(
                    group, key=lambda candidate: (_end(pattern, candidate), _from(candidate), _rank(pattern, candidate))
                )
        case "LAST":
            for group in _grouped(candidates, _completion):
                yield max(group, key=lambda candidate: (_from(candidate), _rank(pattern, candidate)))


def _grouped(candidates: Iterable[Candidate], key: Callable[[Candidate], Pair]) -> Iterator[list[Candidate]]:
    groups: dict[Pair, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(key(candidate), []).append(candidate)
    return iter(groups.values())


def _beginning(candidate: Candidate) -> Pair:
    """The least pair, which a match begins with."""
    return min((pair for _, pair in candidate), key=pair_order)


def _completion(candidate: Candidate) -> Pair:
    """The pair that ends last, which a match is completed by."""
    return max((pair for _, pair in candidate), key=lambda pair: (pair[0].end, pair_order(pair)))


def pair_order(pair: Pair) -> tuple[object, ...]:
    """The order of events with their solutions.

    >>> event = Instance("<a>", 1, 1)
    >>> pair_order((event, (("x", "<a1>"),))) < pair_order((event, (("x", "<a10>"),)))
    True
    """
    return rank(pair[:1], pair[1])


def _rank(pattern: Pattern, candidate: Candidate) -> tuple[object, ...]:
    return rank(_events(candidate), bindings_of(pattern, (pair for _, pair in candidate)))


def rank(events: Iterable[Instance], bindings: Solution) -> tuple[object, ...]:
    """The order of matches that end, or begin, together: by their events from left to right, then by their bindings.

    >>> rank([], (("x", "<a1>"),)) < rank([], (("x", "<a10>"),))
    True
    """
    return tuple(event.order for event in events), tuple((name, _code_points(term)) for name, term in bindings)


def bindings_of(pattern: Pattern, pairs: Iterable[Pair]) -> Solution:
    """The shared variables, and those of names that occur once in the pattern, with what they are bound to.

    >>> from thalweg.ir.patterns import Triple
    >>> pattern = Pattern(Occurs("<a>", 0), clauses=(Clause("<a>", (Triple("?o", "<at>", "?l"),)),))
    >>> bindings_of(pattern, [(Instance("<a>", 1, 1), (("l", "<y>"), ("o", "<x>")))])
    (('l', '<y>'), ('o', '<x>'))
    """
    names = [occurrence.event for occurrence in occurrences(pattern.operand, under_not=False)]
    bindings = {
        (name, term)
        for event, solution in pairs
        for name, term in solution
        if name in pattern.shared or names.count(event.event) == 1
    }
    return tuple(sorted(bindings))
