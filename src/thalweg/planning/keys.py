"""By which argument the facts of a piece of a program can be spread, so that whatever is joined stays together.

    jam(R) :- slow(R), many(R), not light(R).       by the first argument of each: all of them are about one R

A rule is local if one of its variables stands at the chosen argument of every atom of its body that depends on inputs;
what it derives must have it there, too, if another rule joins it. A rule with a single such atom joins nothing: it goes
wherever its facts are. What the program knows by itself is everywhere.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

from thalweg.ir.dependency import resting_on
from thalweg.ir.outline import Outline
from thalweg.model.predicate import Predicate

Keys = Mapping[Predicate, int]
_MOST_STEPS = 10_000


def find_keys(outlines: Sequence[Outline], carried: frozenset[Predicate]) -> Keys | None:
    """The place of the key in each predicate that is joined and depends on inputs (`carried`), from 0.

    The facts of an input that is not among them may go anywhere. None where the facts cannot be spread.

    >>> from thalweg.ir.outline import Occurrence
    >>> a, p, q = Predicate("a", 1), Predicate("p", 2), Predicate("q", 1)
    >>> join = Outline((a,), (Occurrence(p, args=("X", "Y")), Occurrence(q, "negative", ("Y",))))
    >>> find_keys([join], frozenset({a, p, q}))
    {'p/2': 1, 'q/1': 0}
    """
    return _Search(outlines, carried).run()


def located(
    outlines: Sequence[Outline], carried: frozenset[Predicate], inputs: Collection[Predicate], keys: Keys
) -> dict[Predicate, frozenset[int]]:
    """The places of each predicate at which the key of its bucket stands, where inputs are spread by `keys`.

    An input without a key is spread by its first argument.

    >>> from thalweg.ir.outline import Occurrence
    >>> a, b, p = Predicate("a", 2), Predicate("b", 1), Predicate("p", 2)
    >>> turn = Outline((a,), (Occurrence(p, args=("X", "Y")),), head_args=(("Y", "X"),))
    >>> keep = Outline((b,), (Occurrence(a, args=("X", "Y")),), head_args=(("X",),))
    >>> places = located([turn, keep], frozenset({a, b, p}), [p], {})
    >>> sorted(places[a]), sorted(places[b])
    ([1], [])
    """
    rules = [outline for outline in outlines if outline.heads]
    places = {head: frozenset(range(head.arity)) for rule in rules for head in rule.heads}
    places |= {name: frozenset({keys.get(name, 0)}) for name in inputs}
    while True:
        narrowed = dict(places)
        for rule in rules:
            body = [need for need in rule.body if need.predicate in carried]
            standing = [{need.args[place] for place in places[need.predicate] if need.args} for need in body]
            shared = set.intersection(*standing) - {None} if standing else set()
            for head, args in zip(rule.heads, rule.head_args or ((),) * len(rule.heads), strict=True):
                narrowed[head] &= {place for place, name in enumerate(args) if name in shared}
        if narrowed == places:
            return places
        places = narrowed


class _Search:
    def __init__(self, outlines: Sequence[Outline], carried: frozenset[Predicate]) -> None:
        self.outlines = [outline for outline in outlines if outline.kind != "weak"]
        self.carried = carried
        joined = (name for outline in self.outlines if self.joins(outline) for name, _ in self.body(outline))
        # What derives something that is joined has to be in its place, too.
        before = (
            (name, head, 0) for outline in self.outlines for head in outline.heads for name, _ in self.body(outline)
        )
        self.joined = resting_on(joined, before)

    def run(self) -> Keys | None:
        # Whatever is derived from nothing that is spread would be derived in every bucket.
        strays = (outline for outline in self.outlines if not self.body(outline) and self.joined & set(outline.heads))
        bound = [
            outline
            for outline in self.outlines
            if self.body(outline) and (self.joins(outline) or self.hands_on(outline))
        ]
        return None if any(strays) else self.extend(bound)

    def joins(self, outline: Outline) -> bool:
        """Whether a rule looks at several facts at once, or at the absence of some."""
        needed = [need for need in outline.body if need.predicate in self.carried]
        return len(needed) > 1 or any(need.settled for need in needed)

    def hands_on(self, outline: Outline) -> bool:
        """Whether a rule derives something that has to be in its place."""
        return bool(self.joined & set(outline.heads))

    def body(self, outline: Outline) -> list[tuple[Predicate, tuple[str | None, ...]]]:
        return [(need.predicate, need.args) for need in outline.body if need.predicate in self.carried]

    def extend(self, rules: list[Outline]) -> Keys | None:
        """One choice for each rule such that all agree; the last that can be changed is tried again."""
        chosen: list[dict[Predicate, int]] = [{}]
        open_choices: list[Iterator[dict[Predicate, int]]] = []
        for _ in range(_MOST_STEPS + 2 * len(rules)):
            if len(chosen) > len(rules):
                return chosen[-1]
            if len(open_choices) < len(chosen):
                open_choices.append(self.options(rules[len(chosen) - 1], chosen[-1]))
            more = next(open_choices[-1], None)
            if more is not None:
                chosen.append(chosen[-1] | more)
                continue
            open_choices.pop()
            chosen.pop()
            if not chosen:
                return None
        return None

    def options(self, rule: Outline, keys: Keys) -> Iterator[dict[Predicate, int]]:
        """The places that make a rule local, one choice for each variable that could be its key."""
        positive = [need for need in rule.body if not need.settled and need.predicate in self.carried]
        heads = zip(rule.heads, rule.head_args, strict=False)
        atoms = [*self.body(rule), *(head for head in heads if head[0] in self.joined)]
        for name in dict.fromkeys(arg for need in positive for arg in need.args if arg is not None):
            places = [
                [place for place, arg in enumerate(args) if arg == name and keys.get(predicate, place) == place]
                for predicate, args in atoms
            ]
            for chosen in product(*places):
                more: dict[Predicate, int] = {}
                if all(more.setdefault(atom[0], place) == place for atom, place in zip(atoms, chosen, strict=True)):
                    yield more
