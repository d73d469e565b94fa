"""Where the rows of each relation come from.

A memory may be filled by streams, from the background, or from other relations; behind a chain of copies there is
always something that a user knows: a stream, the background, a predicate that rules derive, or the clock.
"""

from collections import defaultdict
from dataclasses import dataclass

from thalweg.explain.wording import PlanWording
from thalweg.model.predicate import Predicate
from thalweg.planning.rule_plan import Relation, RulePlan


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from in the end: `kind` is stream, background, derived or clock."""

    kind: str
    name: str


class Origins:
    """How each relation is filled, in a word or two, and where its rows come from, which is found through copies.

    >>> from thalweg.ir.nodes import Atom, Now, Program, Rule
    >>> from thalweg.planning.passes import plan
    >>> planned = plan(Program((Rule(Atom("a"), (Now(Atom("p")),)),)))
    >>> [list(kinds) for kinds in Origins(planned, PlanWording(planned)).kinds]
    [['fed'], ['derived']]
    """

    def __init__(self, plan: RulePlan, words: PlanWording) -> None:
        self.relations = plan.relations
        self.words = words
        self.kinds: list[dict[str, None]] = [{} for _ in plan.relations]
        self.heads = {rule.head.relation.number: rule.origin.head.signature for rule in plan.rules if rule.origin}
        self._direct: dict[int, list[Origin]] = defaultdict(list)
        self._before: dict[int, list[int]] = defaultdict(list)
        self._follow_streams(plan)
        self._follow_rules(plan)
        for relation, signature in plan.background:
            self._comes(relation, "background", Origin("background", signature))
        for relation in (*plan.clocks.values(), *plan.beats.values()):
            self._comes(relation, "clock", Origin("clock", "clock"))
        for recording in plan.recordings:
            self._comes(recording.target, "recorded")
            self._before[recording.target.number].append(recording.source.number)
        self._comes(plan.truth, "always")
        self._comes(plan.first_tick, "clock", Origin("clock", "clock"))
        self._comes(plan.representative, "linked")

    def _comes(self, relation: Relation | None, kind: str, *origins: Origin) -> None:
        if relation is not None:
            self.kinds[relation.number][kind] = None
            self._direct[relation.number] += origins

    def _follow_streams(self, plan: RulePlan) -> None:
        for (signature, stream), feeds in plan.feeds.items():
            origin = _on(signature, stream)
            for feed in feeds:
                if feed.target is None:
                    self._comes(feed.relation, "fed", origin)
                else:
                    self._comes(feed.relation, "run")
                    self._comes(feed.target, "fed", origin)
        for tuples in plan.tuples:
            for signature, relation in tuples.relations.items():
                self._comes(relation, "fed", _on(signature, tuples.stream))
            self._comes(tuples.ticks, "clock")
        for keyed in plan.keyed:
            self._comes(keyed.relation, "fed", _on(keyed.signature, keyed.stream))

    def _follow_rules(self, plan: RulePlan) -> None:
        for rule in plan.rules:
            viewed = rule.head.relation.number in plan.views
            self._comes(rule.head.relation, "same rows" if viewed else "copied" if rule.origin is None else "derived")
            if viewed or rule.origin is None:
                self._before[rule.head.relation.number] += [atom.relation.number for atom in rule.positive]
        for count in plan.counts:
            self._comes(count.target, "counted")
            self._comes(count.counter, "counter")
            self._before[count.target.number].append(count.source.number)
        for grouping in plan.groupings:
            self._comes(grouping.value, "aggregate")
            self._before[grouping.value.number].append(grouping.elements.number)

    def before(self, relation: Relation) -> list[Relation]:
        """The relations whose rows it is filled from, rules apart."""
        return [self.relations[number] for number in self._before.get(relation.number, ())]

    def derives(self, relation: Relation) -> Predicate | None:
        """The signature that a relation holds the conclusions of."""
        signature = self.heads.get(relation.number)
        return None if signature is None or self.words.invents(relation) else signature

    def of(self, relation: Relation) -> tuple[Origin, ...]:
        origins: dict[Origin, None] = {}
        seen: set[int] = set()
        waiting = [relation.number]
        while waiting:
            number = waiting.pop(0)
            derived = self.derives(self.relations[number])
            if derived is not None and number != relation.number:
                origins[Origin("derived", derived)] = None
            elif number not in seen:
                seen.add(number)
                origins |= dict.fromkeys(self._direct.get(number, ()))
                waiting += self._before.get(number, ())
        return tuple(origins)


def _on(signature: Predicate, stream: str | None) -> Origin:
    return Origin("stream", signature if stream is None else f"{signature} from {stream}")
