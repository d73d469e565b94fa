"""The engine as a program of one's own drives it: ticks in its hands, no streams, no clock, no late facts."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from thalweg.answers.record import changes
from thalweg.api.answer_values import Change
from thalweg.api.verbs import load
from thalweg.diagnostics import Source
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.model.fact import Fact

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.engine.absence import Absence
    from thalweg.engine.delta import Delta
    from thalweg.engine.proof import Proof


class Engine:
    """Evaluates rules tick by tick; a `Session` also takes facts out of order, and other kinds of programs.

    >>> from thalweg import Fact
    >>> engine = Engine("slow(S) :- stop(S) in [2].")
    >>> [change.begin for change in engine.advance(to=5, facts=[Fact("stop", ("a",))])]
    [(Fact('slow', ('a',)),)]
    >>> [(change.t, change.end) for change in engine.advance(to=9)]
    [(8, (Fact('slow', ('a',)),))]
    """

    def __init__(
        self, program: "Program | str | Path | Source", *, start: int | None = None, memory: int | None = None
    ) -> None:
        """`start` is the first tick, by default that of the first facts; `memory` a budget in bytes."""
        rules = program if isinstance(program, Program) else load(program)
        self._engine = RuleEngine(rules, first=start, memory=memory)

    @property
    def now(self) -> int | None:
        """The last tick that was evaluated; None before the first."""
        return self._engine.now

    def advance(self, to: int, facts: Iterable[Fact] = ()) -> list[Change]:
        """Evaluates every tick up to `to`, at which `facts` arrive; what began and ended on the way."""
        return [_change(delta) for delta in self._engine.advance(to, facts)]

    def facts(self) -> list[Fact]:
        """All that holds now."""
        return self._engine.facts()

    def why(self, fact: Fact) -> "Proof | None":
        """The derivation of a fact that holds now; None where it does not."""
        return self._engine.why(fact)

    def why_not(self, fact: Fact) -> "Absence | None":
        """How far each rule got that could derive a fact; None where it holds."""
        return self._engine.why_not(fact)

    def snapshot(self) -> bytes:
        """What another engine for the same program needs to go on from here."""
        return self._engine.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Goes on where a snapshot was taken of an engine for the same program; this one has not begun."""
        self._engine.resume(snapshot)


def _change(delta: "Delta") -> Change:
    begin, end, unknown = (tuple(map(str, sorted(facts))) for facts in (delta.begin, delta.end, delta.unknown))
    return Change(changes(delta.tick, begin, end, unknown, shed=tuple(map(str, delta.shed))))
