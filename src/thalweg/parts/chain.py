"""Several kinds of program in one run: rules, an answer set program that reads their conclusions, rules that read its.

At each tick the parts are evaluated in that order. What a part outputs is, to its readers, derived at that tick. The
answer of the last window that closed holds until the next one closes; a derived input enters a window with what holds
at its close.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.connectors.batches import code_facts
from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.engine import Delta, Given
from thalweg.engine.absence import Absence
from thalweg.engine.proof import Proof
from thalweg.languages.lars.facts import FactReader, read_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import Calendar
from thalweg.parts.answer_sets.windowed import Connected, Windowed
from thalweg.planning.wire_parts import Wiring
from thalweg.runtimes.emit import AnswerBlock, Emitter, Solution
from thalweg.runtimes.rule_engine import RuleEngine

Rows = NDArray[np.int64]
_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Joined:
    """What the rules below and above began and ended at one tick, as one change."""

    tick: int
    changes: tuple[Delta, ...]

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
    def shed(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class _Tick:
    """A tick that the upper rules have not been evaluated at yet."""

    tick: int
    batches: Sequence[Batch]
    given: tuple[Given, ...]
    below: Delta | None


class Chain(Emitter):
    """Rules, an answer set program and rules, one after the other; also their emitter, for it knows which is which."""

    shed: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()

    def __init__(
        self,
        wiring: Wiring,
        answer_sets: Windowed,
        evaluator: Connected,
        emitter: Emitter,
        first: int | None = None,
        report: Callable[[Diagnostic], None] = lambda found: None,
        shown: frozenset[Predicate] | None = None,
        calendar: Calendar | None = None,
    ) -> None:
        self.first = first
        self.now: int | None = None
        self.dictionary = evaluator.dictionary
        self.below = RuleEngine(wiring.below, first=first, dictionary=self.dictionary, calendar=calendar)
        self.above = RuleEngine(wiring.above, first=first, dictionary=self.dictionary, calendar=calendar)
        self.answer_sets = answer_sets
        self._evaluator = evaluator
        self._reads = wiring.reads
        self._wanted = {name for name, timed in wiring.above.interface.imports if not timed} - wiring.below.derived
        self._shared = wiring.above.interface.imports & wiring.below.interface.exports
        self._emitter = emitter
        self._answers = Answers(self.dictionary, report)
        self._waiting: _Tick | None = None
        self._shown: int | None = None
        self._output = None if shown is None else Selection(shown)

    # Time -----------------------------------------------------------------------------------------------------------

    def advance(self, to: int, batches: Sequence[Batch]) -> Iterator[Joined | Solution]:
        """Evaluates every tick up to `to`: changes of the rules and answers of windows, in the order of time."""
        if self.first is None:
            self.first = self.below.first = self.above.first = self.answer_sets.first = to
        self.now = to
        return self._advance(to, batches)

    def _advance(self, to: int, batches: Sequence[Batch]) -> Iterator[Joined | Solution]:
        changes = self.below.advance(to, batches)
        for change in changes:
            if change.tick < to:
                yield from self._at(change.tick, (), change)
        yield from self._at(to, batches, changes[-1] if changes and changes[-1].tick == to else None)

    def _at(self, tick: int, batches: Sequence[Batch], below: Delta | None) -> Iterator[Joined | Solution]:
        """One tick at which facts come or the lower rules conclude something."""
        yield from self._flush()
        if below is not None and self._reads:
            assert self.first is not None
            if tick > self.first:
                yield from self._closed(self.answer_sets.advance(tick - 1, ()), tick)
            self._evaluator.hold(*self._held(below))
            self.answer_sets.refresh()
        yield from self._closed(self.answer_sets.advance(tick, batches), tick)
        self._waiting = _Tick(tick, batches, (*self._handed_on(below), *self._answers.turn(self._wanted)), below)
        if self.answer_sets.has_closed:
            yield from self._flush()

    def _closed(self, solutions: Iterable[Solution], tick: int) -> Iterator[Joined | Solution]:
        """Answers of windows; the rules above are evaluated at those that closed before `tick`."""
        for solution in solutions:
            yield from self._until(solution.t - 1)
            yield solution
            self._answers.see(solution)
            if solution.t < tick:
                self._waiting = _Tick(solution.t, (), self._answers.turn(self._wanted), None)
                yield from self._flush()

    def _until(self, tick: int) -> Iterator[Joined]:
        """What ends above before an answer comes is output before it."""
        assert self.first is not None
        if tick >= self.first and (self.above.now is None or self.above.now < tick):
            self._waiting = _Tick(tick, (), (), None)
            yield from self._flush()

    def _flush(self) -> Iterator[Joined]:
        """Evaluates the upper rules at the tick that waits.

        It waits where no window has closed yet: a stream that is too short for one has one at its end all the same.
        """
        if self._waiting is None:
            return
        tick, self._waiting = self._waiting, None
        changes = self.above.advance(tick.tick, tick.batches, tick.given)
        for change in changes:
            if change.tick < tick.tick:
                yield Joined(change.tick, (change,))
        last = [change for change in changes if change.tick == tick.tick]
        found = (*(() if tick.below is None else (tick.below,)), *last)
        if found:
            yield Joined(tick.tick, found)

    def _held(self, change: Delta) -> tuple[Batch, Batch]:
        """What began and ended of the predicates that the answer set program reads."""
        begun, ended = Batch(), Batch()
        for own, name in self._reads:
            came, went, _ = change.columns(self.below.plan.exports[own, False])
            begun.rows[name], ended.rows[name] = came.reshape(-1), went.reshape(-1)
        return begun, ended

    def _handed_on(self, change: Delta | None) -> Iterator[Given]:
        if change is None:
            return
        for name, timed in self._shared:
            begun, ended, _ = change.columns(self.below.plan.exports[name, timed])
            if len(begun) or len(ended):
                yield Given(name, timed, begun, ended)

    # Output ---------------------------------------------------------------------------------------------------------

    def step(self, deltas: Iterable[Any], first: int, last: int, shed: tuple[str, ...]) -> Iterator[AnswerBlock]:
        """Changes as the user asked to see them, with the answers of windows between them, in the order of time."""
        self._shown = first - 1 if self._shown is None else self._shown
        yield from self._emit(deltas)
        if self._waiting is None:
            yield from self._emit_rules((), last)

    def _emit(self, deltas: Iterable[Joined | Solution]) -> Iterator[AnswerBlock]:
        for delta in deltas:
            if isinstance(delta, Solution):
                yield from self._emit_rules((), delta.t - 1)
                yield from (delta,) if self._output is None else self._output.of(delta)
            else:
                yield from self._emit_rules((delta,), delta.tick)

    def _emit_rules(self, deltas: Sequence[Joined], last: int) -> Iterator[AnswerBlock]:
        assert self._shown is not None
        if deltas or last > self._shown:
            first, self._shown = self._shown + 1, max(last, self._shown)
            yield from self._emitter.step(deltas, first, last, ())

    def finish(self) -> Iterator[AnswerBlock]:
        """A stream that was too short for a window has one all the same, which the rules above see."""
        for piece in self.answer_sets.finish():
            assert isinstance(piece, Solution)
            yield from self._emit((piece,))
            self._answers.see(piece)
            if self._waiting is not None:
                given = self._answers.turn(self._wanted)
                self._waiting = replace(self._waiting, given=(*self._waiting.given, *given))
        yield from self._emit(self._flush())
        if self.now is not None and self._shown is not None:
            yield from self._emit_rules((), self.now)
        yield from self._emitter.finish()

    # Everything else ------------------------------------------------------------------------------------------------

    def collect(self, waiting: Iterable[Batch]) -> None:
        """Frees the terms that neither a part nor a batch that waits uses."""
        held = [np.asarray(words, dtype=np.int64).reshape(-1) for batch in waiting for words in batch.rows.values()]
        if self._waiting is not None:
            held += [np.asarray(words).reshape(-1) for batch in self._waiting.batches for words in batch.rows.values()]
            held += [rows.reshape(-1) for each in self._waiting.given for rows in (each.begun, each.ended)]
        for engine in (self.below, self.above):
            engine.spell_changes()
            held.append(engine.words_in_use())
        held.append(self._evaluator.words_in_use())
        self.dictionary.collect(np.concatenate(held))

    def why(self, fact: Fact) -> Proof | None:
        """A derivation of what rules conclude, through all parts; None where it does not hold."""
        return self.below.why(fact) or self.above.why(fact, self._imported) or self._answered(fact)

    def why_not(self, fact: Fact, came: Collection[Predicate] | None = None) -> Absence | None:
        """How far the rules got that could derive a fact, or which part would have to; None where the fact holds."""
        if self.now is None:
            return self.below.why_not(fact, came)
        if self.why(fact) is not None:
            return None
        for engine in (self.below, self.above):
            if fact.signature in engine.program.derived:
                return engine.why_not(fact, came)
        if fact.signature in self._wanted:
            note = f"the answer set program derives `{fact.signature}`, and {self._answers.lacking(fact)}"
        else:
            note = f"no rule derives `{fact.signature}`, and {self._answers.lacking(fact)}"
        return Absence(str(fact), self.now, note)

    def _imported(self, fact: Fact) -> Proof | None:
        return self._answered(fact) or self.below.why(fact)

    def _answered(self, fact: Fact) -> Proof | None:
        """The window whose answer holds a fact, with what it read of the lower rules' conclusions that still hold."""
        found = self._answers.why(fact)
        if found is None:
            return None
        read = {name for _, name in self._reads}
        inputs = [one for one in self.below.facts() if one.signature in read][:_SHOWN]
        return replace(found, because=tuple(proof for one in inputs if (proof := self.below.why(one)) is not None))

    def facts(self) -> list[Fact]:
        """What rules conclude at `now`."""
        return [*self.below.facts(), *self.above.facts()]

    def close(self) -> None:
        self.answer_sets.close()


class Answers:
    """The answer of the last window that closed, as facts that begin and end."""

    def __init__(self, dictionary: Dictionary, report: Callable[[Diagnostic], None]) -> None:
        self._reader = FactReader("answers", dictionary)
        self._dictionary = dictionary
        self._report = report
        self._holding: frozenset[str] = frozenset()
        self._given: frozenset[str] = frozenset()
        self._window: tuple[int, int] | None = None
        self._strange = False

    def see(self, solution: Solution) -> None:
        """A window has closed: its answer holds instead of the one before."""
        self._holding = frozenset(fact for facts in solution.sets for fact in facts)
        self._window = solution.start, solution.t

    def why(self, fact: Fact) -> Proof | None:
        """Which window has an answer that holds a fact; until another one closes, so until when is not known."""
        if str(fact) not in self._holding or self._window is None:
            return None
        start, end = self._window
        return Proof(f"{fact}", None, "answer set", rule=f"the answer of the window [{start},{end}]")

    def lacking(self, fact: Fact) -> str:
        """That a fact is not in the last answer, in words."""
        if self._window is None:
            return "no window has closed yet"
        start, end = self._window
        return f"the answer of the window [{start},{end}] does not contain `{fact}`"

    def turn(self, wanted: set[Predicate]) -> tuple[Given, ...]:
        """What has begun and ended since the last turn, of the predicates that are wanted."""
        begun, ended = self._coded(self._holding - self._given), self._coded(self._given - self._holding)
        self._given = self._holding
        return tuple(
            Given(name, False, _rows(begun, name), _rows(ended, name))
            for name in sorted(wanted & (begun.rows.keys() | ended.rows.keys()))
        )

    def _coded(self, facts: frozenset[str]) -> Batch:
        batch = self._reader.batch(sorted(facts))
        return self._one_by_one(facts) if batch is None else batch

    def _one_by_one(self, facts: frozenset[str]) -> Batch:
        """The same where some are no facts to rules: they have no terms such as `f(1)`."""
        known = []
        for fact in sorted(facts):
            try:
                code_facts([fact], self._dictionary)
            except Rejected:
                if not self._strange:
                    message = f"rules cannot read `{fact}`, which an answer set contains: they skip it"
                    self._report(Diagnostic("W514", message, help="rules have names, numbers, texts and IRIs only"))
                self._strange = True
            else:
                known.append(fact)
        return code_facts(known, self._dictionary)


class Selection:
    """The facts of answers that are output, where only some predicates are.

    >>> answer = Solution(4, 4, (("a(1)", "a(1,2)", "b(1)"),))
    >>> [str(one) for one in Selection(frozenset({Predicate("a", 1)})).of(answer)]
    ['{"t":4,"window":[4,4],"answers":[["a(1)"]]}']
    """

    def __init__(self, shown: frozenset[Predicate]) -> None:
        self._shown = shown
        self._names = {name.name for name in shown}

    def of(self, solution: Solution) -> Iterator[Solution]:
        """The answer with what is shown of it; none where nothing of answers is."""
        if self._shown:
            yield replace(solution, sets=tuple(tuple(filter(self._is_shown, facts)) for facts in solution.sets))

    def _is_shown(self, fact: str) -> bool:
        if fact.partition("(")[0] not in self._names:
            return False
        try:
            return read_fact(fact).signature in self._shown
        except Rejected:
            # A term such as `f(1)`, which rules do not have.
            return True


def _rows(batch: Batch, predicate: Predicate) -> Rows:
    words = np.array(batch.rows.get(predicate, ()), dtype=np.int64)
    if predicate.arity:
        return words.reshape(-1, predicate.arity)
    return np.zeros((int(predicate in batch.rows), 0), dtype=np.int64)
