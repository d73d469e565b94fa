"""A plan in this process: what its operators give becomes answers, and derivations go through all of them.

Of one tick, answers of all operators come before the changes of rules, which are joined to one.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from thalweg.answers.emit import Emitter, Lasting, RowEmitter, TextDelta, emitter_of
from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context
from thalweg.dataflow.executor import open_fragment
from thalweg.dataflow.operator import Concludes, Explains, ExplainsEvents, ExplainsRows, Output
from thalweg.dataflow.plan import Plan
from thalweg.diagnostics import Diagnostic
from thalweg.engine import Delta
from thalweg.engine.absence import Absence
from thalweg.engine.engine import Engine
from thalweg.engine.proof import Proof
from thalweg.ir.nodes import meant_by
from thalweg.kinds.part import Part, Watch
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import Prefixes
from thalweg.planning.wire_parts import BEFORE

if TYPE_CHECKING:
    from thalweg.kinds.events.why_event import EventExplanation
    from thalweg.kinds.queries.why_row import RowProof

_SHOWN: Final = 12
_BEFORE: Final = re.compile(rf"{BEFORE}(.+?) in \[([0-9]+)\]")


@dataclass(frozen=True, slots=True)
class Joined:
    """What all rules began and ended at one tick, as one change."""

    tick: int
    changes: tuple[Delta | TextDelta, ...]

    @property
    def begin_text(self) -> list[str]:
        return [fact for change in self.changes for fact in change.begin_text]

    @property
    def end_text(self) -> list[str]:
        return [fact for change in self.changes for fact in change.end_text]

    @property
    def unknown_text(self) -> list[str]:
        return []

    @property
    def until(self) -> dict[str, int]:
        return {fact: until for change in self.changes for fact, until in change.until.items()}

    @property
    def shed(self) -> tuple[str, ...]:
        return ()


class LocalRun(Emitter):
    """The operators of a plan at work; also what makes answers of what they give."""

    def __init__(self, plan: Plan, context: Context, emitter: RowEmitter[Any]) -> None:
        self.dictionary = Dictionary()
        self.executor = open_fragment(plan, plan.numbers, context, self.dictionary)
        self.executor.first = context.settings.first
        self._plan = plan
        self._operators = [node.operator for node in self.executor.nodes]
        self._emitter = emitter
        # Rules alone have nothing to be joined with.
        self._only_facts = len(self._operators) == 1 and plan.shows_facts and not plan.is_mixed
        self._shown: int | None = None
        self._open: list[Delta | TextDelta] = []
        """Changes at the last tick, while there may be more."""

    @property
    def first(self) -> int | None:
        return self.executor.first

    @property
    def now(self) -> int | None:
        return self.executor.now

    @property
    def shed(self) -> tuple[str, ...]:
        """The predicates of which facts were shed for want of memory."""
        return self._operators[0].shed if self._only_facts else ()

    @property
    def unsure(self) -> tuple[str, ...]:
        """The predicates that may lack facts by that."""
        return self._operators[0].unsure if self._only_facts else ()

    # Time -----------------------------------------------------------------------------------------------------------

    def advance(self, to: int, batches: Sequence[Batch]) -> Iterable[Any]:
        """Evaluates every tick up to `to`: changes of rules and answers of other parts, in the order of time."""
        if self._only_facts:
            outputs = self.executor.advance_single(self.executor.nodes[0], to, batches)
            return [output.answer for output in outputs if output.answer is not None]
        return self._joined((output for _, output in self.executor.advance(to, batches)), to)

    def _joined(self, outputs: Iterable[Output], to: int) -> Iterator[Any]:
        """Answers, and behind those of a tick the changes of all rules as one."""
        changes, self._open = self._open, []
        tick = changes[0].tick if changes else None
        for output in outputs:
            if tick is not None and tick < output.tick and changes:
                yield Joined(tick, tuple(changes))
                changes = []
            tick = output.tick
            if isinstance(output.answer, Delta | TextDelta):
                changes.append(output.answer)
            elif output.answer is not None:
                yield output.answer
        if changes:
            assert tick is not None
            if tick == to and not self.executor.is_decided:
                self._open = changes
            else:
                yield Joined(tick, tuple(changes))

    # Output ---------------------------------------------------------------------------------------------------------

    def step(self, deltas: Iterable[Any], first: int, last: int, shed: tuple[str, ...]) -> Iterator[Answer]:
        """Changes as the user asked to see them, with the answers of other parts between them, in the order of time."""
        if self._only_facts:
            return self._emitter.step(deltas, first, last, shed)
        return self._step(deltas, first, last)

    def _step(self, deltas: Iterable[Any], first: int, last: int) -> Iterator[Answer]:
        self._shown = first - 1 if self._shown is None else self._shown
        yield from self._emit(deltas)
        if self.executor.is_decided:
            yield from self._emit_rules((), last)

    def _emit(self, deltas: Iterable[Any]) -> Iterator[Answer]:
        for delta in deltas:
            if isinstance(delta, Joined):
                yield from self._emit_rules((delta,), delta.tick)
            else:
                yield from self._emit_rules((), delta.t - 1)
                yield delta

    def _emit_rules(self, deltas: Sequence[Joined], last: int) -> Iterator[Answer]:
        assert self._shown is not None
        if deltas or last > self._shown:
            first, self._shown = self._shown + 1, max(last, self._shown)
            yield from self._emitter.step(deltas, first, last, ())

    def finish(self) -> Iterator[Answer]:
        """What waited is evaluated, with what others still say of the last tick."""
        if self.now is not None and not self._only_facts:
            self._shown = self.now - 1 if self._shown is None else self._shown
            yield from self._emit(self._joined((output for _, output in self.executor.finish()), self.now))
            yield from self._emit_rules((), self.now)
        yield from self._emitter.finish()

    # Derivations ----------------------------------------------------------------------------------------------------

    @property
    def engine(self) -> Engine | None:
        """The engine of rules that stand alone; None where there are other operators."""
        operator = self._operators[0]
        return operator.engine if self._only_facts and isinstance(operator, Concludes) else None

    @property
    def explains_facts(self) -> bool:
        """Whether it can be asked why a fact holds: where there are rules, or several parts."""
        return self._only_facts or len(self._operators) > 1

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

    def why(self, fact: Fact) -> Proof | None:
        """A derivation of what rules conclude or others give, through all parts; None where it does not hold."""
        return self._concluded(fact, len(self._operators)) or self._given_by(fact, len(self._operators))

    def _imported(self, fact: Fact, before: int) -> Proof | None:
        if fact.predicate.startswith(BEFORE):
            return Proof(str(fact), self.now, "recorded")
        return self._given_by(fact, before) or self._concluded(fact, before)

    def _concluded(self, fact: Fact, before: int) -> Proof | None:
        for number, engine in self._engines(before):
            proof = engine.why(fact, partial(self._imported, before=number))
            if proof is not None:
                return self._with_events(_as_written(proof))
        return None

    def _with_events(self, proof: Proof) -> Proof:
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

    def _given_by(self, fact: Fact, before: int) -> Proof | None:
        """Why a member gives a fact, with what it read of the conclusions of rules that still hold."""
        for number, operator in enumerate(self._operators[:before]):
            proof = operator.why(fact) if isinstance(operator, Explains) else None
            if proof is not None:
                return replace(proof, because=(*proof.because, *self._read_by(number)))
        return None

    def _read_by(self, number: int) -> Iterator[Proof]:
        read = {edge.called for edge in self._plan.incoming[number] if edge.what == "held"}
        facts = [fact for _, engine in self._engines(number) for fact in engine.facts() if fact.signature in read]
        return (proof for fact in facts[:_SHOWN] if (proof := self._concluded(fact, number)) is not None)

    def _engines(self, before: int) -> Iterator[tuple[int, Engine]]:
        for number, operator in enumerate(self._operators[:before]):
            if isinstance(operator, Concludes):
                yield number, operator.engine

    def why_not(self, fact: Fact, came: Collection[Predicate] | None = None) -> Absence | None:
        """How far the rules got that could derive a fact, or which part would have to; None where the fact holds."""
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

    def warnings(self) -> Iterator[Diagnostic]:
        """What deserves a warning at the end."""
        for operator in self._operators:
            yield from operator.notes(self.now or 0, over=True).warnings

    # State ----------------------------------------------------------------------------------------------------------

    def collect(self, waiting: Iterable[Batch]) -> None:
        """Frees the terms that neither a part nor a batch that waits uses."""
        self.executor.collect(waiting)

    def snapshot(self) -> bytes:
        """Where all operators are, and what waits between them."""
        changes: dict[str, list[str]] = {"begin": [], "end": []}
        until: dict[str, int] = {}
        for change in self._open:
            changes["begin"] += change.begin_text
            changes["end"] += change.end_text
            until |= change.until
        tick = self._open[0].tick if self._open else None
        about = encode({"shown": self._shown, "open": tick, "until": until}, changes)
        return frame([about, encode({}, self._emitter.save()), self.executor.save()])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken of a plan of the same parts; this one has not begun."""
        about, emitter, executor = unframe(data)
        header, changes = decode(about)
        self._shown = header["shown"]
        self._emitter.load(decode(emitter)[1])
        if header["open"] is not None:
            begin, end = changes["begin"].to_pylist(), changes["end"].to_pylist()
            self._open = [TextDelta(header["open"], begin, end, until=header["until"])]
        self.executor.load(executor)

    def close(self) -> None:
        """Nothing more will be asked."""
        self.executor.close()


@dataclass(frozen=True, slots=True)
class LocalWork:
    """A part at work in this process, and what watches it."""

    run: LocalRun
    watch: Watch


def start(part: Part, context: Context) -> LocalWork:
    """Opens the operators of a part in this process; `RejectedError` where the settings have no meaning for it."""
    settings = context.settings
    emitter = emitter_of(settings.emit, Lasting(part.guaranteed()) if settings.with_until else None)
    return LocalWork(LocalRun(part.plan(context, None), context, emitter), part.watch(context, None))


def _as_written(proof: Proof) -> Proof:
    """A derivation in which what held a tick ago is called what rules call it."""
    claim = _BEFORE.sub(lambda match: f"{match[1]} before [{int(match[2]) + 1}]", proof.claim)
    return replace(proof, claim=claim, because=tuple(map(_as_written, proof.because)))
