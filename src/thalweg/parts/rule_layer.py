"""The rules between two parts of a plan, evaluated by one engine."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.engine import Delta, Given
from thalweg.engine.incomparable import Incomparable
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Calendar
from thalweg.parts.member import Output
from thalweg.planning.wire_parts import Layer
from thalweg.runtimes.rule_engine import RuleEngine


class RuleLayer:
    """A layer at work: what other parts read of it begins and ends with its changes."""

    is_settled = True

    def __init__(self, layer: Layer, first: int | None, dictionary: Dictionary, calendar: Calendar | None) -> None:
        self.engine = RuleEngine(layer.program, first=first, dictionary=dictionary, calendar=calendar)

    @property
    def first(self) -> int | None:
        return self.engine.first

    @first.setter
    def first(self, tick: int | None) -> None:
        self.engine.first = tick

    @property
    def incomparable(self) -> list[Incomparable]:
        """The comparisons that met terms of different kinds."""
        return self.engine.incomparable

    def advance(self, tick: int, batches: Sequence[Batch], given: Sequence[Given]) -> Iterator[Output]:
        for change in self.engine.advance(tick, batches, given):
            yield Output(change.tick, change, tuple(self._handed_on(change)))

    def _handed_on(self, change: Delta) -> Iterator[Given]:
        for (name, timed), relation in self.engine.plan.exports.items():
            begun, ended, _ = change.columns(relation)
            if len(begun) or len(ended):
                yield Given(name, timed, begun, ended)

    def finish(self) -> Iterator[Output]:
        return iter(())

    def looks(self, after: int, before: int) -> Iterable[int]:
        """Rules read no streams of what holds: they read facts themselves."""
        return ()

    def words_in_use(self) -> NDArray[np.int64]:
        self.engine.spell_changes()
        return self.engine.words_in_use()

    def snapshot(self) -> bytes:
        return self.engine.snapshot()

    def resume(self, data: bytes) -> None:
        self.engine.resume(data)

    def close(self) -> None:
        """The engine has nothing to close."""
