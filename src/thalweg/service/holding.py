"""What a program says to hold now, kept from its answers and not asked of its engine, which is busy.

    changes       facts that rules conclude hold from where they begin to where they end, or become unknown
    snapshots     the facts of the last one hold
    answer sets   the facts of all answer sets of the last window hold until another window is solved
    others        intervals, rows, triples, truth values and events hold at no tick

A fact that rules conclude and an answer set has, too, is one fact; a clash with an ontology is named as in pictures.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import merge
from operator import itemgetter
from typing import Any

from thalweg.answers.record import Answer, BrokenAxiom
from thalweg.explain.timeline_chart import clash_as_fact
from thalweg.model.time import FOREVER


@dataclass(frozen=True, slots=True)
class HeldFact:
    """A fact with the first tick at which it holds, and the last one for which that is guaranteed, where it is."""

    fact: str
    since: int
    until: int | None = None


# The fields of a `HeldFact`: as tuples, many facts are no work for the collector of garbage, which stops all threads.
_Held = tuple[str, int, int | None]


class Holding:
    """The facts that hold, in the order in which they began; of one thread, or under a lock.

    >>> from thalweg.answers.record import changes
    >>> holding = Holding()
    >>> holding.apply(changes(3, ("jam(a)", "jam(b)"), until=(13, FOREVER)))
    >>> [*holding.facts(13)], len(holding)
    ([HeldFact(fact='jam(a)', since=3, until=13), HeldFact(fact='jam(b)', since=3, until=None)], 2)
    """

    def __init__(self) -> None:
        # By what tells facts apart: two clashes may have one name. Each is in the order in which its facts began.
        self._concluded: dict[str, _Held] = {}
        self._solved: dict[str, _Held] = {}

    def apply(self, answer: Answer) -> None:
        """Takes what an answer says: of changes what begins and ends; lines of events hold at no tick."""
        match answer.kind, answer.columns:
            case "changes", (begin, end, unknown, until):
                for text in (*end, *unknown):
                    self._concluded.pop(_key(text, answer), None)
                self._begin(answer, begin, until)
            case "snapshot", (shown,):
                before = self._concluded
                self._concluded = {}
                self._begin(replace(answer, t=answer.start), shown, ())
                self._concluded |= {key: before[key] for key in self._concluded.keys() & before.keys()}
            case "answer sets", sets:
                facts = dict.fromkeys(fact for answer_set in sets for fact in answer_set)
                stay = {fact: solved for fact, solved in self._solved.items() if fact in facts}
                self._solved = stay | {fact: (fact, answer.t, None) for fact in facts if fact not in stay}

    def _begin(self, answer: Answer, texts: Iterable[str], until: Iterable[int]) -> None:
        horizons = iter(until)
        for text in texts:
            horizon = next(horizons, FOREVER)
            fact = _name(text) if answer.of_clashes else text
            self._concluded[_key(text, answer)] = fact, answer.t, None if horizon >= FOREVER else horizon

    def facts(self, now: int | None) -> Iterator[HeldFact]:
        """What holds; a guarantee that has run out at tick `now` is none."""
        names: set[str] = set()
        for fact, since, until in merge(self._concluded.values(), self._solved.values(), key=itemgetter(1)):
            if fact not in names:
                names.add(fact)
                is_over = until is not None and now is not None and until < now
                yield HeldFact(fact, since, None if is_over else until)

    def __len__(self) -> int:
        """How many they are; clashes of one name are counted apart."""
        return len(self._concluded) + sum(fact not in self._concluded for fact in self._solved)

    def save(self) -> dict[str, Any]:
        """It as JSON."""
        return {"concluded": _saved(self._concluded), "solved": _saved(self._solved)}

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on where another was saved."""
        self._concluded, self._solved = _loaded(saved["concluded"]), _loaded(saved["solved"])


def _key(text: str, answer: Answer) -> str:
    # A clash begins with its reasons, and ends without them.
    return str(replace(BrokenAxiom.read(text), because=None)) if answer.of_clashes else text


def _name(text: str) -> str:
    clash = BrokenAxiom.read(text)
    return clash_as_fact(clash.individual, clash.axiom)


def _saved(facts: dict[str, _Held]) -> list[Any]:
    """Columns, which are written faster than rows: what tells facts apart, names that differ from that, and ticks."""
    names, since, until = ([held[place] for held in facts.values()] for place in range(3))
    keys = list(facts)
    return [keys, None if names == keys else names, since, until]


def _loaded(columns: list[Any]) -> dict[str, _Held]:
    keys, names, since, until = columns
    return dict(zip(keys, zip(names or keys, since, until, strict=True), strict=True))
