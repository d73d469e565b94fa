"""Where the rows of each relation come from.

A memory may be filled by streams, from the background, or from other relations; behind a chain of copies there is
always something that a user knows: a stream, the background, a predicate that rules derive, or the clock.
"""

from dataclasses import dataclass

from thalweg.explain.wording import Wording
from thalweg.model.predicate import Predicate
from thalweg.planning.plan import Plan, Relation


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from in the end: `kind` is stream, background, derived or clock."""

    kind: str
    name: str


def kinds(plan: Plan) -> list[dict[str, None]]:
    """How each relation is filled, in a word or two.

    >>> from thalweg.ir.nodes import Atom, Now, Program, Rule
    >>> from thalweg.planning.passes import plan
    >>> [list(words) for words in kinds(plan(Program((Rule(Atom("a"), (Now(Atom("p")),)),))))]
    [['fed'], ['derived']]
    """
    found: list[dict[str, None]] = [{} for _ in plan.relations]

    def mark(kind: str, *relations: Relation | None) -> None:
        for relation in relations:
            if relation is not None:
                found[relation.number][kind] = None

    for feeds in plan.feeds.values():
        for feed in feeds:
            mark("fed" if feed.target is None else "run", feed.relation)
            mark("fed", feed.target)
    for tuples in plan.tuples:
        mark("fed", *tuples.relations.values())
        mark("clock", tuples.ticks)
    for rule in plan.rules:
        mark("copied" if rule.origin is None else "derived", rule.head.relation)
    for count in plan.counts:
        mark("counted", count.target)
        mark("counter", count.counter)
    mark("aggregate", *(each.value for each in plan.groupings))
    mark("background", *(relation for relation, _ in plan.background))
    mark("clock", *plan.clocks.values(), *plan.beats.values())
    mark("always", plan.truth)
    mark("linked", plan.representative)
    return found


class Origins:
    """Follows rows back through copies to where they come from."""

    def __init__(self, plan: Plan, words: Wording) -> None:
        self.relations = plan.relations
        self.words = words
        self.direct: dict[int, list[Origin]] = {}
        self._before: dict[int, list[int]] = {}
        self.heads = {rule.head.relation.number: rule.origin.head.signature for rule in plan.rules if rule.origin}
        self._outside(plan)
        self._inside(plan)

    def _outside(self, plan: Plan) -> None:
        for (signature, stream), feeds in plan.feeds.items():
            for feed in feeds:
                self._comes(feed.target or feed.relation, "stream", _on(signature, stream))
        for tuples in plan.tuples:
            for signature, relation in tuples.relations.items():
                self._comes(relation, "stream", _on(signature, tuples.stream))
        for relation, signature in plan.background:
            self._comes(relation, "background", signature)
        for relation in (*plan.clocks.values(), *plan.beats.values()):
            self._comes(relation, "clock", "clock")

    def _comes(self, relation: Relation, kind: str, name: str) -> None:
        self.direct.setdefault(relation.number, []).append(Origin(kind, name))

    def _inside(self, plan: Plan) -> None:
        for rule in plan.rules:
            if rule.origin is None:
                self._before.setdefault(rule.head.relation.number, []).extend(a.relation.number for a in rule.positive)
        for count in plan.counts:
            self._before.setdefault(count.target.number, []).append(count.source.number)
        for grouping in plan.groupings:
            self._before.setdefault(grouping.value.number, []).append(grouping.elements.number)

    def before(self, relation: Relation) -> list[Relation]:
        """The relations whose rows it is filled from, rules apart."""
        return [self.relations[number] for number in self._before.get(relation.number, ())]

    def derives(self, relation: Relation) -> Predicate | None:
        """The signature that a relation holds the conclusions of."""
        signature = self.heads.get(relation.number)
        return None if signature is None or self.words.invents(relation) else signature

    def of(self, relation: Relation) -> tuple[Origin, ...]:
        found: dict[Origin, None] = {}
        seen: set[int] = set()
        waiting = [relation.number]
        while waiting:
            number = waiting.pop(0)
            derived = self.derives(self.relations[number])
            if derived is not None and number != relation.number:
                found[Origin("derived", derived)] = None
            elif number not in seen:
                seen.add(number)
                found |= dict.fromkeys(self.direct.get(number, ()))
                waiting += self._before.get(number, ())
        return tuple(found)


def _on(signature: Predicate, stream: str | None) -> str:
    return signature if stream is None else f"{signature} from {stream}"
