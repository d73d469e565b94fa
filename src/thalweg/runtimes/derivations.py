"""Why what the operators of a plan conclude holds, or does not: derivations that go through all of them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from thalweg.dataflow.executor import Executor
from thalweg.dataflow.operator import Concludes, Explains, ExplainsEvents, ExplainsRows
from thalweg.dataflow.plan import Plan
from thalweg.engine.engine import PlanEngine
from thalweg.ir.nodes import meant_by
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import Prefixes
from thalweg.planning.wire_parts import BEFORE

if TYPE_CHECKING:
    # Most runs explain nothing, and start sooner without these.
    from thalweg.engine.absence import Absence
    from thalweg.engine.proof import Proof
    from thalweg.kinds.events.why_event import EventExplanation
    from thalweg.kinds.queries.why_row import RowProof

_SHOWN: Final = 12
_BEFORE: Final = re.compile(rf"{BEFORE}(.+?) in \[([0-9]+)\]")


class Derivations:
    """Explains what the operators of a plan have concluded at the last tick that they were taken to."""

    def __init__(self, plan: Plan, executor: Executor) -> None:
        self._plan = plan
        self._executor = executor
        self._operators = [node.operator for node in executor.nodes]
        self.only_rules = len(self._operators) == 1 and plan.shows_facts and not plan.is_mixed
        """Whether rules stand alone, with nothing to be joined with."""

    @property
    def now(self) -> int | None:
        """The last tick that was evaluated; None before the first."""
        return self._executor.now

    @property
    def engine(self) -> PlanEngine | None:
        """The engine of rules that stand alone; None where there are other operators."""
        operator = self._operators[0]
        return operator.engine if self.only_rules and isinstance(operator, Concludes) else None

    @property
    def explains_facts(self) -> bool:
        """Whether it can be asked why a fact holds: where there are rules, or several parts."""
        return self.only_rules or len(self._operators) > 1

    @property
    def explains_events(self) -> bool:
        """Whether it can be asked why there is an event."""
        return any(isinstance(operator, ExplainsEvents) for operator in self._operators)

    @property
    def explains_rows(self) -> bool:
        """Whether it can be asked why a row is an answer: where a query stands alone."""
        return len(self._operators) == 1 and isinstance(self._operators[0], ExplainsRows)

    def why_row(self, text: str, prefixes: Prefixes) -> "RowProof | None":
        """Why a row is among those of a query's last evaluation; None where it is not."""
        (operator,) = self._operators
        assert isinstance(operator, ExplainsRows)
        proof: RowProof | None = operator.why_row(text, prefixes)
        return proof

    def why(self, fact: Fact) -> "Proof | None":
        """A derivation of what rules conclude or others give, through all parts; None where it does not hold."""
        return self._concluded(fact, len(self._operators)) or self._given_by(fact, len(self._operators))

    def _imported(self, fact: Fact, before: int) -> "Proof | None":
        if fact.predicate.startswith(BEFORE):
            from thalweg.engine.proof import Proof

            return Proof(str(fact), self.now, "recorded")
        return self._given_by(fact, before) or self._concluded(fact, before)

    def _concluded(self, fact: Fact, before: int) -> "Proof | None":
        for number, engine in self._engines(before):
            proof = engine.why(fact, partial(self._imported, before=number))
            if proof is not None:
                return self._with_events(_as_written(proof))
        return None

    def _with_events(self, proof: "Proof") -> "Proof":
        """A derivation in which facts that are events say of what these consist, once beside each other."""
        if proof.kind != "stream":
            steps: list[Proof] = []
            for step in map(self._with_events, proof.because):
                before = [(earlier.rule, earlier.because) for earlier in steps if earlier.kind == "event"]
                repeated = step.kind == "event" and (step.rule, step.because) in before
                steps.append(replace(step, rule="", because=()) if repeated else step)
            return replace(proof, because=tuple(steps))
        behind = (operator.event_behind(proof) for operator in self._operators if isinstance(operator, ExplainsEvents))
        return next((event for event in behind if event is not None), proof)

    def _given_by(self, fact: Fact, before: int) -> "Proof | None":
        """Why a member gives a fact, with what it read of the conclusions of rules that still hold."""
        for number, operator in enumerate(self._operators[:before]):
            proof = operator.why(fact) if isinstance(operator, Explains) else None
            if proof is not None:
                return replace(proof, because=(*proof.because, *self._read_by(number)))
        return None

    def _read_by(self, number: int) -> "Iterator[Proof]":
        read = {edge.called for edge in self._plan.incoming[number] if edge.what == "held"}
        facts = [fact for _, engine in self._engines(number) for fact in engine.facts() if fact.signature in read]
        return (proof for fact in facts[:_SHOWN] if (proof := self._concluded(fact, number)) is not None)

    def _engines(self, before: int) -> Iterator[tuple[int, PlanEngine]]:
        for number, operator in enumerate(self._operators[:before]):
            if isinstance(operator, Concludes):
                yield number, operator.engine

    def why_not(self, fact: Fact, came: Collection[Predicate] | None = None) -> "Absence | None":
        """How far the rules got that could derive a fact, or which part would have to; None where the fact holds."""
        from thalweg.engine.absence import Absence

        if self.engine is not None:
            return self.engine.why_not(fact, came)
        if self.now is not None and self.why(fact) is not None:
            return None
        for _, engine in self._engines(len(self._operators)):
            if self.now is None or meant_by(engine.program, fact).signature in engine.program.derived:
                return engine.why_not(fact, came)
        assert self.now is not None
        explaining = [
            (ports, operator)
            for ports, operator in zip(self._plan.ports, self._operators, strict=True)
            if ports is not None and isinstance(operator, Explains)
        ]
        writers = [(ports, operator) for ports, operator in explaining if ports.writes(fact.signature)]
        derives = f"{writers[0][0].title} derives" if writers else "no rule derives"
        lacking = " and ".join(operator.lacking(fact) for _, operator in writers or explaining)
        return Absence(str(fact), self.now, f"{derives} `{fact.signature}`, and {lacking}")

    def why_event(self, event: Fact) -> "EventExplanation | None":
        """Why there is an event at `now`, or how far its matches are; None where no part defines its name."""
        reasons = (operator.why_event(event) for operator in self._operators if isinstance(operator, ExplainsEvents))
        return next((reason for reason in reasons if reason is not None), None)

    def facts(self) -> list[Fact]:
        """What rules conclude at `now`."""
        return [fact for _, engine in self._engines(len(self._operators)) for fact in engine.facts()]


def _as_written(proof: "Proof") -> "Proof":
    """A derivation in which what held a tick ago is called what rules call it."""
    claim = _BEFORE.sub(lambda match: f"{match[1]} before [{int(match[2]) + 1}]", proof.claim)
    return replace(proof, claim=claim, because=tuple(map(_as_written, proof.because)))
