"""Engines that do nothing: they show what a pipeline costs around the engine.

Packing, shuffles, parcels, time, state and answers are those of any run; only the evaluation is missing.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from thalweg.engine import Delta, Given
from thalweg.engine.decoder import Decoder, Rows
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.planning.rule_plan import Relation, RulePlan


class Silent(RuleEngine):
    """Takes everything in and concludes nothing."""

    def advance(
        self, to: int, facts: Iterable[Fact] | Batch | Sequence[Batch] = (), imports: Sequence[Given] = ()
    ) -> list[Delta]:
        self.now = to
        return []


class _Alike(Decoder):
    """All conclusions look alike, so every relation has all of them; none is guaranteed beyond its tick."""

    now = 0

    def by_relation(self, rows: Rows | None) -> dict[int, Rows]:
        return {} if rows is None else dict.fromkeys(range(len(self.arities)), rows)

    def columns(self, relation: Relation, rows: Rows, with_horizon: bool = False) -> Rows:
        columns: Rows = rows[:, np.minimum(np.arange(relation.arity), rows.shape[1] - 1)]
        return np.hstack((columns, np.full((len(rows), 1), self.now))) if with_horizon else columns


class Echo(RuleEngine):
    """Concludes one thing from every fact that comes: the same arguments again, the last of them as often as needed.

    A fact that reaches a stage under several names is output once; the output of an earlier stage is passed on.

    >>> from thalweg.ir.nodes import Atom, Now, Program, Rule, Variable
    >>> from thalweg.model.predicate import Predicate
    >>> rule = Rule(Atom("q", (Variable("X"),)), (Now(Atom("p", (Variable("X"),))),))
    >>> engine = Echo(Program((rule,)))
    >>> (change,) = engine.advance(3, [Batch(rows={Predicate("p", 1): np.array([5, 9])})])
    >>> change.columns(engine.plan.outputs[Predicate("q", 1)])[0].tolist()
    [[5], [9]]
    """

    def adopt(self, plan: RulePlan) -> None:
        super().adopt(plan)
        self._decoder = _Alike(self.plan, self.dictionary)

    def advance(
        self, to: int, facts: Iterable[Fact] | Batch | Sequence[Batch] = (), imports: Sequence[Given] = ()
    ) -> list[Delta]:
        self.now = self._decoder.now = to
        taken = [*self._streamed(facts), *(change.begun for change in imports)]
        if not taken:
            return []
        rows = np.concatenate(taken)
        return [Delta(to, (), frozenset(), self._decoder, (rows, None, None, rows))]

    def _streamed(self, facts: Iterable[Fact] | Batch | Sequence[Batch]) -> Iterator[Rows]:
        """The facts under the first name that the program reads."""
        read = next((signature for signature, _ in self.plan.feeds), None)
        for batch in self._batches(facts):
            if read in batch.rows:
                yield np.asarray(batch.rows[read], dtype=np.int64).reshape(-1, read.arity)
