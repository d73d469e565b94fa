"""A query that is taken through time: it is evaluated whenever one of its windows closes.

    evaluator      what changed among the rows since the evaluation before
    Constructed    the same as triples, for a CONSTRUCT
    Continuous     which of it is output: all that there is (RSTREAM), what is new (ISTREAM), what is gone (DSTREAM)

Evaluations over empty windows all have the same answer. The first of them in a row are output like others; the rest is
skipped, so that one timestamp that is far off does not make a million lines. Whether one is skipped depends on the
stream alone, and not on the steps in which time passes.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Final

from thalweg.answers.record import Answer
from thalweg.diagnostics import Diagnostic
from thalweg.kinds.queries.construct import Constructed, fact_text
from thalweg.kinds.queries.evaluator import QueryEvaluator, Row
from thalweg.kinds.queries.streams_read import StreamsRead
from thalweg.languages.rspql.closings import Closings, closings_of, evaluation_ticks
from thalweg.languages.rspql.query import Query, StreamWindow
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.prefixes import NO_PREFIXES, Prefixes

if TYPE_CHECKING:
    from thalweg.kinds.queries.why_row import RowProof

MOST_EMPTY: Final = 1_000
"""How many evaluations over empty windows are output in a row."""


class Continuous:
    """A query at work."""

    def __init__(
        self,
        query: Query,
        evaluator: QueryEvaluator,
        streams: StreamsRead,
        first: int | None = None,
        report: Callable[[Diagnostic], None] = lambda diagnostic: None,
    ) -> None:
        self.first: int | None = None
        self.now: int | None = None
        self.query = query
        self.evaluator = evaluator
        self._streams = streams
        self._report = report
        self._constructed = Constructed(query) if query.form == "CONSTRUCT" else None
        # What an RSTREAM outputs: its rows as text, in order.
        self._texts: list[str] = []
        self._closings: tuple[Closings, ...] = ()
        # For each window the last tick at which a fact came.
        self._filled: list[int | None] = [None] * len(query.windows)
        self._empty = 0
        self._passed: tuple[int, int] | None = None
        if first is not None:
            self.begin(first)

    @property
    def dictionary(self) -> Dictionary:
        return self.evaluator.dictionary

    def begin(self, first: int) -> None:
        """The first tick of the run is known: windows count from it."""
        self.first = first
        self._closings = tuple(closings_of(window, first) for window in self.query.windows)
        self.evaluator.begin(first)

    def advance(self, to: int, batches: Sequence[Batch]) -> Iterator[Answer]:
        """Takes what comes at a tick; the answers of all evaluations up to it."""
        if self.first is None:
            self.begin(to)
        assert self.first is not None
        before = self.first if self.now is None else self.now + 1
        self.now = to
        return self._answers(before, to, list(self._streams.only(batches)))

    def _answers(self, before: int, to: int, batches: Sequence[Batch]) -> Iterator[Answer]:
        yield from self._evaluations(before, to - 1)
        if batches:
            self._add(to, batches)
        yield from self._evaluations(to, to)

    def _add(self, tick: int, batches: Sequence[Batch]) -> None:
        came = {batch.stream for batch in batches if batch.rows}
        for place, window in enumerate(self.query.windows):
            if window.stream in came:
                self._filled[place] = tick
        self.evaluator.add(tick, batches)

    def _evaluations(self, start: int, end: int) -> Iterator[Answer]:
        """The answers from one tick to another, while no fact comes."""
        for tick in evaluation_ticks(self._closings, start, end):
            self._empty = self._empty + 1 if self._is_empty(tick) else 0
            if self._empty > MOST_EMPTY:
                self._pass_over(tick, end)
                return
            answer = self._answer(tick)
            if answer is not None:
                yield answer

    def evaluations(self, start: int, end: int) -> Iterator[int]:
        """The ticks from one to another at which a window closes."""
        return evaluation_ticks(self._closings, start, end)

    def _is_empty(self, tick: int) -> bool:
        """Whether no window shows anything at an evaluation."""
        for closings, filled in zip(self._closings, self._filled, strict=True):
            closing = closings.latest(tick)
            if closing is not None and filled is not None and filled > closing - closings.size:
                return False
        return True

    def _pass_over(self, first: int, end: int) -> None:
        last = max(closing for closings in self._closings if (closing := closings.latest(end)) is not None)
        self._passed = (first if self._passed is None else self._passed[0], last)

    def _answer(self, tick: int) -> Answer | None:
        """The answer of an evaluation; None where nothing is output."""
        rows = self.evaluator.evaluate(tick)
        changed = rows if self._constructed is None else self._constructed.change(rows)
        begin, end = (list(map(self._text, side)) for side in changed)
        if self.query.output == "RSTREAM":
            self._texts = _with_changes(self._texts, begin, end)
            return self._shaped(tick, self._texts, bool(self._texts))
        is_new = self.query.output == "ISTREAM"
        texts = sorted(begin if is_new else end)
        return self._shaped(tick, texts, is_new) if texts else None

    def _text(self, row: Row) -> str:
        """A row as it is output: an object of JSON, or a fact; that of an ASK is empty."""
        if self.query.form == "CONSTRUCT":
            return fact_text(row)
        pairs = zip(self.query.columns, row, strict=True) if row else ()
        bound = [f"{quoted(name)}:{quoted(value)}" for name, value in pairs if value is not None]
        return f"{{{','.join(bound)}}}"

    def _shaped(self, tick: int, texts: Sequence[str], holds: bool) -> Answer:
        assert self.first is not None
        start = max(self.first, tick - self.query.widest + 1)
        match self.query.form:
            case "SELECT":
                return Answer("rows", tick, (tuple(texts),), start)
            case "CONSTRUCT":
                return Answer("triples", tick, (tuple(texts),), start)
        return Answer("truth", tick, ((holds,),), start)

    def finish(self) -> Iterator[Answer]:
        """A window that is not full at the end is not output."""
        if self._passed is not None and self.query.output == "RSTREAM":
            self._report(_passed_over(*self._passed))
        if self.now is not None:
            for window, closings in zip(self.query.windows, self._closings, strict=True):
                if self.now < closings.first:
                    self._report(_never_closed(window, closings, self.now))
        yield from ()

    def why(self, text: str, prefixes: Prefixes = NO_PREFIXES) -> "RowProof | None":
        """Why a row is among those of the last evaluation; None where it is not. Nothing can be asked after that."""
        from thalweg.kinds.queries.per_window import PerWindow
        from thalweg.kinds.queries.why_row import read_row, why_row

        wanted = read_row(text, self.query, prefixes)
        assert isinstance(self.evaluator, PerWindow), "a run that explains evaluates per window"
        if self.first is None or self.now is None:
            return None
        return why_row(self.query, self.evaluator, self.first, self.now, wanted)

    def snapshot(self) -> bytes:
        """How far it has come, the rows that there are, and what the evaluator holds."""
        about = {
            "first": self.first,
            "now": self.now,
            "filled": self._filled,
            "empty": self._empty,
            "passed": self._passed,
            "constructed": None if self._constructed is None else self._constructed.save(),
            "texts": self._texts,
        }
        return frame([encode(about, {}), self.evaluator.snapshot()])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken."""
        about, evaluator = unframe(data)
        saved, _ = decode(about)
        self.first, self.now, self._filled = saved["first"], saved["now"], saved["filled"]
        self._closings = tuple(closings_of(window, saved["first"]) for window in self.query.windows)
        self._empty, self._passed = saved["empty"], saved["passed"] and tuple(saved["passed"])
        if self._constructed is not None:
            self._constructed.load(saved["constructed"])
        self._texts = saved["texts"]
        self.evaluator.resume(evaluator)


def _with_changes(texts: list[str], begin: list[str], end: list[str]) -> list[str]:
    """A bag in order with what begins and without what ends.

    >>> _with_changes(["a", "a", "b"], ["c"], ["a"])
    ['a', 'b', 'c']
    """
    gone = Counter(end)
    kept = []
    for text in texts if gone else ():
        if gone[text] > 0:
            gone[text] -= 1
        else:
            kept.append(text)
    # What stays is in order, so that sorting is little more than a merge.
    return sorted((kept if end else texts) + begin)


def _passed_over(first: int, last: int) -> Diagnostic:
    return Diagnostic(
        "W512",
        f"evaluations without facts skipped after {MOST_EMPTY:,} others in a row, from {first} to {last}",
        help="they have the same answer as the one before; check the stream for a wrong timestamp",
    )


def _never_closed(window: StreamWindow, closings: Closings, last: int) -> Diagnostic:
    message = f"this window never closes: it would close first at {closings.first}, and the run ends at {last}"
    help_ = "only full windows are output: shorten its range, or let the run last longer with `--to`"
    return Diagnostic("W606", message, window.span, help_)
