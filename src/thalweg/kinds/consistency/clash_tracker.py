"""Which clashes go on, and for which reasons.

The engine says which clashes begin and end. Reasons are looked for when a clash begins; where every tick is output,
they are looked for again when one of their facts no longer counts while the clash goes on.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from thalweg.answers.emit import TextDelta
from thalweg.answers.record import BrokenAxiom
from thalweg.engine.lookup import TimedFact
from thalweg.kinds.consistency.justifier import Broken, Justifier
from thalweg.model.term import unquote

if TYPE_CHECKING:
    from thalweg.engine import Delta

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

About = Callable[[Sequence[str]], Iterable[TimedFact]]
"""The facts about terms."""


@dataclass(frozen=True, slots=True)
class _Known:
    text: str
    until: int | None


class Tracker:
    """Remembers which clashes go on, and for which reasons."""

    def __init__(self, judge: Justifier, about: About, emit: str) -> None:
        self.about = about
        self._judge = judge
        self._emit = emit
        self._known: dict[Broken, _Known] = {}
        self._ends: list[tuple[int, Broken]] = []

    def stop(self, before: int, settling: int) -> int | None:
        """The next tick before a given one at which reasons are looked for: again, or because the engine is `settling`.

        Clashes that are known again begin then, without a fact that comes in.
        """
        while self._ends and self._is_stale(*self._ends[0]):
            heappop(self._ends)
        stop = min(settling, self._ends[0][0] + 1 if self._ends else before)
        return stop if stop < before else None

    def _is_stale(self, until: int, broken: Broken) -> bool:
        return broken not in self._known or self._known[broken].until != until

    def take(self, now: int, shed: tuple[str, ...], changes: "Iterable[Delta]") -> list[TextDelta]:
        """What to output for some changes, the last of which may be at `now`."""
        deltas: list[TextDelta] = []
        begun: list[Broken] = []
        for change in changes:
            ended, unknown = (
                [self._end(Broken(*fact.terms)) for fact in facts] for facts in (change.end, change.unknown)
            )
            begun += (Broken(*fact.terms) for fact in change.begin)
            deltas.append(TextDelta(change.tick, [], ended, unknown, change.shed))
        renewed = self._outlived(now)
        if not (begun or renewed):
            return deltas
        if not deltas or (renewed and deltas[-1].tick < now):
            deltas.append(TextDelta(now, shed=shed))
        deltas[-1].end_text.extend(self._known[broken].text for broken in renewed)
        deltas[-1].begin_text.extend(self._explained([*begun, *renewed]))
        return deltas

    def _end(self, broken: Broken) -> str:
        clash = self._known.pop(broken)
        return str(_clash(broken)) if self._emit == "changes" else clash.text

    def _outlived(self, now: int) -> list[Broken]:
        """The clashes that have outlived their reasons."""
        clashes: list[Broken] = []
        while self._ends and self._ends[0][0] < now:
            until, broken = heappop(self._ends)
            if not self._is_stale(until, broken):
                clashes.append(broken)
        return clashes

    def _explained(self, clashes: list[Broken]) -> Iterator[str]:
        terms = list(dict.fromkeys(term for broken in clashes for term in (broken.one, broken.other)))
        by_term: dict[str, list[TimedFact]] = {}
        for dated in self.about(terms):
            for term in dict.fromkeys(dated.fact.terms):
                by_term.setdefault(term, []).append(dated)
        for broken in clashes:
            facts = self._judge.because(broken, by_term.get(broken.one, []))
            clash = replace(_clash(broken), because=tuple(sorted(map(str, facts))))
            until = min((dated.until for dated in facts if dated.until is not None), default=None)
            self._known[broken] = _Known(str(clash), until)
            if self._emit == "snapshot" and until is not None:
                heappush(self._ends, (until, broken))
            yield self._known[broken].text

    def ends(self) -> list[str]:
        """The clashes that go on, as they would be said to end."""
        if self._emit == "changes":
            return [str(_clash(broken)) for broken in self._known]
        return [clash.text for clash in self._known.values()]

    def save(self) -> list[str]:
        """The clashes that hold with their reasons, as texts."""
        return [_encode([*broken, clash.text, clash.until]) for broken, clash in self._known.items()]

    def load(self, texts: Iterable[str]) -> None:
        """Restores the clashes that `save` returned."""
        for axiom, individual, other, text, until in map(json.loads, texts):
            self._known[Broken(axiom, individual, other)] = _Known(text, until)
            if self._emit == "snapshot" and until is not None:
                heappush(self._ends, (until, Broken(axiom, individual, other)))


def _clash(broken: Broken) -> BrokenAxiom:
    other = None if broken.one == broken.other else broken.other
    return BrokenAxiom(broken.one, unquote(broken.axiom), other=other)
