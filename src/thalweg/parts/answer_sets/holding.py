"""An answer set program beside other parts of a plan: the answer of its last window holds until the next one closes.

Facts that others derive enter a window with what holds at its close; without a window it is solved at every tick at
which something changes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.connectors.batches import code_facts
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.engine import Given
from thalweg.engine.proof import Proof
from thalweg.languages.lars.facts import FactReader, read_fact
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.parts.answer_sets.combined_windows import CombinedWindows
from thalweg.parts.answer_sets.held import HeldWindows
from thalweg.parts.answer_sets.windowed import Connected, Windowed
from thalweg.parts.member import Output
from thalweg.parts.passed_on import Heard
from thalweg.runtimes.emit import Solution

Rows = NDArray[np.int64]


class HoldingAnswers:
    """Windows and their answers, as a member of a plan at work.

    Others read the `wanted` predicates of answers, all where that is None; where some are `shown`, the answers that are
    output have no others. It can be saved where it has a `state`. There is no evaluator where windows are answered
    elsewhere; then it reads nothing of others.
    """

    def __init__(
        self,
        windowed: Windowed | CombinedWindows,
        evaluator: Connected | None,
        wanted: Iterable[Predicate] | None,
        report: Callable[[Diagnostic], None],
        shown: frozenset[Predicate] | None = None,
        state: HeldWindows | CombinedWindows | None = None,
    ) -> None:
        self._windowed = windowed
        self._evaluator = evaluator
        self._state = state
        self._derived = Heard()
        self._wanted = None if wanted is None else frozenset(wanted)
        self._answers = Answers(windowed.dictionary, report)
        self._selection = None if shown is None else Selection(shown)

    @property
    def first(self) -> int | None:
        return self._windowed.first

    @first.setter
    def first(self, tick: int | None) -> None:
        self._windowed.first = tick

    @property
    def is_settled(self) -> bool:
        return self._windowed.has_closed

    def advance(self, tick: int, batches: Sequence[Batch], given: Sequence[Given]) -> Iterator[Output]:
        if given:
            assert self.first is not None
            if tick > self.first:
                # Windows that close before hold what held until now.
                yield from self._closed(self._windowed.advance(tick - 1, ()))
            self._hold(given)
            self._windowed.refresh()
        yield from self._closed(self._windowed.advance(tick, batches))

    def _hold(self, given: Sequence[Given]) -> None:
        begun, ended = Batch(), Batch()
        for each in given:
            for batch, rows in ((begun, each.begun), (ended, each.ended)):
                if len(rows):
                    batch.rows[each.signature] = rows.reshape(-1)
        assert self._evaluator is not None
        self._evaluator.hold(begun, ended)
        if self._state is not None:
            self._derived.change(("", 0, each) for each in given)

    def _closed(self, solutions: Iterable[Any]) -> Iterator[Output]:
        for found in solutions:
            # Read once, for readers and for output.
            solution = replace(found, sets=tuple(map(tuple, found.sets)))
            self._answers.see(solution)
            shown = (solution,) if self._selection is None else self._selection.of(solution)
            yield Output(solution.t, next(iter(shown), None), self._answers.turn(self._wanted))

    def finish(self) -> Iterator[Output]:
        return self._closed(self._windowed.finish())

    def looks(self, after: int, before: int) -> Iterable[int]:
        """It hears no streams of what holds: it reads facts themselves."""
        return ()

    def words_in_use(self) -> Rows:
        kept = () if self._state is None else (*self._state.words(), *self._derived.words())
        own = () if self._evaluator is None else (self._evaluator.words_in_use(),)
        return np.concatenate([np.zeros(0, dtype=np.int64), *own, *kept])

    def why(self, fact: Fact) -> Proof | None:
        return self._answers.why(fact)

    def lacking(self, fact: Fact) -> str:
        return self._answers.lacking(fact)

    def snapshot(self) -> bytes:
        assert self._state is not None
        return frame([self._state.snapshot(), self._derived.save(self._windowed.dictionary), self._answers.save()])

    def resume(self, data: bytes) -> None:
        assert self._state is not None
        held, derived, answers = unframe(data)
        self._state.resume(held)
        self._derived.load(derived, self._windowed.dictionary)
        for batch in self._derived.events():
            assert self._evaluator is not None
            self._evaluator.hold(batch, Batch())
        self._answers.load(answers)

    def close(self) -> None:
        self._windowed.close()


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

    def turn(self, wanted: frozenset[Predicate] | None) -> tuple[Given, ...]:
        """What has begun and ended since the last turn, of the wanted predicates; of all where that is None."""
        begun, ended = self._coded(self._holding - self._given), self._coded(self._given - self._holding)
        self._given = self._holding
        changed = begun.rows.keys() | ended.rows.keys()
        return tuple(
            Given(name, False, _rows(begun, name), _rows(ended, name))
            for name in sorted(changed if wanted is None else changed & wanted)
        )

    def save(self) -> bytes:
        """The answer that holds."""
        return encode({"window": self._window, "strange": self._strange}, {"facts": sorted(self._holding)})

    def load(self, data: bytes) -> None:
        about, lists = decode(data)
        self._holding = self._given = frozenset(lists["facts"].to_pylist())
        self._window = about["window"] and tuple(about["window"])
        self._strange = about["strange"]

    def _coded(self, facts: frozenset[str]) -> Batch:
        batch = self._reader.batch(sorted(facts))
        return self._one_by_one(facts) if batch is None else batch

    def _one_by_one(self, facts: frozenset[str]) -> Batch:
        """The same where some are no facts to rules: they have no terms such as `f(1)`."""
        known = []
        for fact in sorted(facts):
            try:
                code_facts([fact], self._dictionary)
            except RejectedError:
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
        except RejectedError:
            # A term such as `f(1)`, which rules do not have.
            return True


def _rows(batch: Batch, predicate: Predicate) -> Rows:
    words = np.array(batch.rows.get(predicate, ()), dtype=np.int64)
    if predicate.arity:
        return words.reshape(-1, predicate.arity)
    return np.zeros((int(predicate in batch.rows), 0), dtype=np.int64)
