"""The operator of a tally: facts come by the hash of their key, and counts begin and end to hold."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sixth_kind.tallies import Step, Tally
from thalweg.answers.emit import TextDelta
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import Exchange, Hash
from thalweg.dataflow.operator import HeldKey, Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.engine import Given
from thalweg.engine.proof import Proof
from thalweg.explain.plan_stage import PlanStage
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.saved_rows import load_rows, save_rows


@dataclass(frozen=True)
class TallySpec(OpSpec):
    """A tally, in one bucket or `split` by its key; the counts of one that is not `shown` are for others only."""

    tally: Tally
    split: bool = False
    shown: bool = True
    shows_facts: ClassVar[bool] = True

    def width(self, partitions: int) -> int:
        return partitions if self.split else 1

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        return [(0, Hash(step.column)) for step in self.tally.steps if step.signature == signature]

    def held_routes(self, key: HeldKey) -> Iterable[tuple[Predicate, Exchange]]:
        return [(key[0], exchange) for _, exchange in self.routes(key[0])]

    def gives(self, key: HeldKey) -> bool:
        return key == (self.tally.signature, False)

    def location(self, key: HeldKey) -> Exchange | None:
        return Hash(0) if self.split and self.gives(key) else None

    def placement(self, partitions: int) -> PlanStage | None:
        return PlanStage((self.tally.text,), (self.tally.key,), partitions) if self.split else None

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "Counting":
        return Counting(self, dictionary)


class Counting(Operator):
    """The counts of the keys of a bucket: for each key, how many facts of each step have come."""

    format = StateFormat("tally")

    def __init__(self, spec: TallySpec, dictionary: Dictionary) -> None:
        self._tally = spec.tally
        self._shown = spec.shown
        self._words = dictionary
        self._counts: dict[int, list[int]] = {}
        self._now = 0

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        self._now = tick
        before: dict[int, int] = {}
        for number, step in enumerate(self._tally.steps):
            for key in _keys(step, updates):
                before.setdefault(key, self._total(key))
                self._counts.setdefault(key, [0] * len(self._tally.steps))[number] += 1
        changed = [(key, count, self._total(key)) for key, count in before.items() if count != self._total(key)]
        if changed:
            ended = self._rows((key, count) for key, count, _ in changed)
            begun = self._rows((key, count) for key, _, count in changed)
            spell = self._words.spell_rows
            shown = TextDelta(tick, spell(self._tally.name, begun), spell(self._tally.name, ended))
            held = (Given(self._tally.signature, False, begun, ended),)
            yield Output(tick, shown if self._shown else None, held)

    def _total(self, key: int) -> int:
        counts = self._counts.get(key, ())
        return sum(count * step.amount for count, step in zip(counts, self._tally.steps, strict=False))

    def _rows(self, counts: Iterable[tuple[int, int]]) -> Words:
        """The rows of counts; a count of 0 does not hold."""
        rows = [(key, self._words.code(str(count))) for key, count in counts if count]
        return np.array(rows, dtype=np.int64).reshape(len(rows), 2)

    # Why ------------------------------------------------------------------------------------------------------------

    def why(self, fact: Fact) -> Proof | None:
        """The facts that were counted, by their steps."""
        if fact.signature != self._tally.signature:
            return None
        key, total = (self._words.code(term) for term in fact.terms)
        if key not in self._counts or total != self._words.code(str(self._total(key))) or not self._total(key):
            return None
        steps = zip(self._counts[key], self._tally.steps, strict=True)
        because = (Proof(f"{step.text}: {count} times", self._now, "tally") for count, step in steps if count)
        return Proof(str(fact), self._now, "tally", self._tally.text, self._tally.place, tuple(because))

    def lacking(self, fact: Fact) -> str:
        """That a fact is not among what it gives, in words that go on behind `and`."""
        key = fact.terms[0] if fact.signature == self._tally.signature else ""
        count = self._total(self._words.code(key)) if key else 0
        return f"`{self._tally.name}` is at {count} for `{key}`" if key else f"`{self._tally.name}` does not count it"

    # State ----------------------------------------------------------------------------------------------------------

    def words_in_use(self) -> Words:
        return np.array(list(self._counts), dtype=np.int64)

    def save(self) -> bytes:
        keys = self.words_in_use().reshape(-1, 1)
        return save_rows([([self._now, list(self._counts.values())], keys)], self._words)

    def load(self, data: bytes) -> None:
        (((now, counts), keys),) = load_rows(data, self._words)
        self._now, self._counts = now, dict(zip(keys[:, 0].tolist(), counts, strict=True))


def _keys(step: Step, updates: Updates) -> list[int]:
    """The keys of the facts of a step that come at a tick, each fact once."""
    width = step.signature.arity
    tables = [np.asarray(batch.rows.get(step.signature, ()), dtype=np.int64) for batch in updates.events]
    tables += [change.begun.reshape(-1) for change in updates.held if change.signature == step.signature]
    if not tables:
        return []
    rows = np.unique(np.concatenate(tables).reshape(-1, width), axis=0)
    keys: list[int] = rows[:, step.column].tolist()
    return keys
