"""The naive interpreter behind the engine's interface: runtimes can be tested without a compiler."""

from dataclasses import dataclass

from thalweg.ir.nodes import Atom, InWindow, Program, Rule, TimeWindow, Variable
from thalweg.ir.semantics import output
from thalweg.model.dictionary import Dictionary

X = Variable("X")
# q(X) :- p(X) in [2].
RECENT = Program((Rule(Atom("q", (X,)), (InWindow(Atom("p", (X,)), TimeWindow(2)),)),))


@dataclass(frozen=True)
class Delta:
    tick: int
    begin_text: list
    end_text: list
    unknown_text: tuple = ()
    shed: tuple = ()


class NaiveEngine:
    """Counts how often it is called: a runtime must not call it for ticks at which nothing comes."""

    def __init__(self, program=RECENT, first=None):
        self.program, self.first, self.now = program, first, None
        self.dictionary, self.shed, self.unsure, self.calls = Dictionary(), (), (), []
        self._arrivals, self._holds = [], frozenset()

    def advance(self, to, batches=()):
        assert self.now is None or to > self.now
        self.calls.append(to)
        self.first = to if self.first is None else self.first
        self._arrivals += [(fact, to, batch.stream) for batch in batches for fact in batch.facts(self.dictionary)]
        start = self.first if self.now is None else self.now + 1
        self.now = to
        return [delta for tick in range(start, to + 1) if (delta := self._step(tick))]

    def _step(self, tick):
        seen = [one for one in self._arrivals if one[1] <= tick]
        before, self._holds = self._holds, output(self.program, self.first, tick, seen)
        begin, end = self._holds - before, before - self._holds
        return Delta(tick, [*map(str, begin)], [*map(str, end)]) if begin or end else None
