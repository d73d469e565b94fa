"""A continuous query as an operator: it is evaluated whenever one of its windows closes.

    StreamsRead    the streams of the run that it reads
    evaluator      what changed among the rows since the evaluation before
    Constructed    the same as triples, for a CONSTRUCT
    Continuous     which of it is output: all that there is (RSTREAM), what is new (ISTREAM), what is gone (DSTREAM)
    QueryOperator  what a CONSTRUCT makes is an event of the stream with its name

Evaluations over empty windows all have the same answer. The first of them in a row are output like others; the rest is
skipped, so that one timestamp that is far off does not make a million lines. Whether one is skipped depends on the
stream alone, and not on the steps in which time passes.

A query names a stream by an IRI, and reads the stream of the run whose name is the IRI or its local name. Where the run
has one stream and the query one, they are each other's, whatever they are called. JSON Lines may name streams line by
line: whether those come is known only at the end.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, ClassVar, Final

from thalweg.answers.query_answers import Bindings, ConstructedGraph, QueryAnswer, Truth
from thalweg.connectors.batches import code_facts
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import Operator, OpSpec, Output, Share, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.engine.proof import Proof
from thalweg.ir.annotate_terms import SUPPLIED
from thalweg.kinds.queries.choose_evaluator import choose_evaluator
from thalweg.kinds.queries.evaluator import QueryEvaluator, Row
from thalweg.kinds.queries.query_rows import Constructed, fact_text
from thalweg.languages.rspql.closings import Closings, closings_of, evaluation_ticks
from thalweg.languages.rspql.names import local_name, means_stream
from thalweg.languages.rspql.query import Query, StreamWindow
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.model.triples import TRIPLES

if TYPE_CHECKING:
    from thalweg.kinds.queries.why_row import RowProof

MOST_EMPTY: Final = 1_000
"""How many evaluations over empty windows are output in a row."""


class StreamsRead:
    """The streams that a query reads, by what the run calls them; `given` are those that the run was given."""

    def __init__(self, query: Query, streams: Sequence[str]) -> None:
        self._query = query
        self._written = tuple(dict.fromkeys(window.stream for window in query.windows))
        self._given = streams
        # What a stream is called that says nothing else, where there is no choice.
        self._sole: tuple[str | None, ...] = (None, *streams) if len(self._written) == 1 and len(streams) <= 1 else ()
        self._meant: dict[str | None, tuple[str, ...]] = {}
        self._came: dict[str | None, None] = {}

    def check(self, names_streams: Callable[[], bool]) -> None:
        """Refuses a query that reads a stream which the run does not have, and which nothing that comes can name."""
        if self._sole or not self._given:
            return
        wrong = [self._unknown(stream, self._given) for stream in self._written if not self._has(stream, self._given)]
        if wrong and not names_streams():
            raise RejectedError(wrong)

    def only(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches that the query reads, each with the stream's name as the query writes it."""
        for batch in batches:
            for written in self._names(batch.stream):
                yield batch if batch.stream == written else Batch(batch.rows, batch.order, written, batch.graphs)

    def _names(self, stream: str | None) -> tuple[str, ...]:
        if stream not in self._meant:
            self._came[stream] = None
            named = (name for name in self._written if stream is not None and means_stream(name, stream))
            self._meant[stream] = tuple(named) or (self._written if stream in self._sole else ())
        return self._meant[stream]

    def save(self) -> list[str | None]:
        """The streams that came."""
        return list(self._came)

    def load(self, streams: Iterable[str | None]) -> None:
        """Goes on where another one was saved."""
        for stream in streams:
            self._names(stream)

    def summary(self) -> Iterator[Diagnostic]:
        """The streams of the query that never came, and that the run was not given, where others came."""
        meant = {written for stream in self._came for written in self._meant[stream]}
        for written in self._written if self._came else ():
            if written not in meant and not self._has(written, self._given):
                yield self._unknown(written, [name for name in self._came if name is not None], "W610")

    @staticmethod
    def _has(written: str, streams: Iterable[str]) -> bool:
        return any(means_stream(written, stream) for stream in streams)

    def _unknown(self, written: str, streams: Sequence[str], code: str = "E602") -> Diagnostic:
        window = next(window for window in self._query.windows if window.stream == written)
        name = local_name(written)
        listed = ", ".join(f"`{stream}`" for stream in sorted(streams)) or "one without a name"
        is_error = code == "E602"
        message = f"there is no stream `{name}`" if is_error else f"nothing came on the stream `{name}`"
        help_ = (
            f"the streams of this run are {listed}: a stream is called by its file's name, or by `stream` in its lines"
        )
        return Diagnostic(code, message, window.span, help_)


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

    def advance(self, to: int, batches: Sequence[Batch]) -> Iterator[QueryAnswer]:
        """Takes what comes at a tick; the answers of all evaluations up to it."""
        if self.first is None:
            self.begin(to)
        assert self.first is not None
        before = self.first if self.now is None else self.now + 1
        self.now = to
        return self._answers(before, to, list(self._streams.only(batches)))

    def _answers(self, before: int, to: int, batches: Sequence[Batch]) -> Iterator[QueryAnswer]:
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

    def _evaluations(self, start: int, end: int) -> Iterator[QueryAnswer]:
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

    def _answer(self, tick: int) -> QueryAnswer | None:
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

    def _shaped(self, tick: int, texts: Sequence[str], holds: bool) -> QueryAnswer:
        assert self.first is not None
        start = max(self.first, tick - self.query.widest + 1)
        match self.query.form:
            case "SELECT":
                return Bindings(tick, start, tuple(texts))
            case "CONSTRUCT":
                return ConstructedGraph(tick, start, tuple(texts))
        return Truth(tick, start, holds)

    def finish(self) -> None:
        """Reports what was skipped, and windows that never closed: one that is not full at the end is not output."""
        if self._passed is not None and self.query.output == "RSTREAM":
            self._report(_passed_over(*self._passed))
        if self.now is not None:
            for window, closings in zip(self.query.windows, self._closings, strict=True):
                if self.now < closings.first:
                    self._report(_never_closed(window, closings, self.now))

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


@dataclass(frozen=True)
class QuerySpec(OpSpec):
    """A query that all facts come to; `streams` are the names of those that it can read.

    One that `reports_streams` reports at the end on which of its streams nothing came.
    """

    query: Query
    background: Dataset
    streams: tuple[str, ...] = ()
    reports_streams: bool = False
    # The first fact that is no triple is reported, so the order of arrival matters.
    keeps_events: ClassVar[bool] = True
    gives_events: ClassVar[bool] = True

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        return ((0, GATHER),) if is_streamed(signature) else ()

    def open(self, context: Context, dictionary: Dictionary, share: Share) -> "QueryOperator":
        evaluator = choose_evaluator(self.query, self.background, dictionary, context.report, context.explains)
        streams = StreamsRead(self.query, self.streams)
        return QueryOperator(self.query, evaluator, streams, context, self.reports_streams)


class QueryOperator(Operator):
    """A query at work; its stream has its name."""

    format = StateFormat("query")

    def __init__(
        self, query: Query, evaluator: QueryEvaluator, streams: StreamsRead, context: Context, reports_streams: bool
    ) -> None:
        self.continuous = Continuous(query, evaluator, streams, context.settings.first, context.report)
        self.streams = streams
        self._name = local_name(query.name)
        self._report = context.report
        self._reports_streams = reports_streams
        self._last: ConstructedGraph | None = None

    def advance(self, tick: int, updates: Updates) -> Iterator[Output]:
        if self.continuous.first is None:
            self.continuous.begin(tick if self.first is None else self.first)
        for answer in self.continuous.advance(tick, updates.events):
            yield Output(answer.t, answer, events=tuple(self._events(answer)))

    def _events(self, answer: QueryAnswer) -> Iterator[Batch]:
        if isinstance(answer, ConstructedGraph):
            self._last = answer
            batch = code_facts(answer.facts, self.continuous.dictionary)
            yield Batch(batch.rows, batch.order, self._name)

    def finish(self) -> Iterator[Output]:
        """Gives nothing, as no window closes at the end; what is wrong with windows and streams is reported."""
        self.continuous.finish()
        for diagnostic in self.streams.summary() if self._reports_streams else ():
            self._report(diagnostic)
        return iter(())

    def looks(self, after: int, before: int) -> Iterable[int]:
        return self.continuous.evaluations(after + 1, before - 1)

    # Why ------------------------------------------------------------------------------------------------------------

    def why(self, fact: Fact) -> Proof | None:
        """The evaluation that made a triple, at the tick at which it was made."""
        last = self._last
        if last is None or last.t != self.continuous.now or str(fact) not in last.facts:
            return None
        rule = f"the query `{self._name}` over the windows of [{last.start},{last.t}]"
        return Proof(str(fact), last.t, "query", rule=rule)

    def lacking(self, fact: Fact) -> str:
        """That a fact is not among what it makes, in words that go on behind `and`."""
        return f"the query `{self._name}` has not made `{fact}` at this tick"

    def why_row(self, text: str, prefixes: Prefixes = NO_PREFIXES) -> "RowProof | None":
        """Why a row is among those of the last evaluation; None where it is not. Nothing can be asked after that."""
        return self.continuous.why(text, prefixes)

    # State ----------------------------------------------------------------------------------------------------------

    def words_in_use(self) -> Words:
        return self.continuous.evaluator.words_in_use()

    def save(self) -> bytes:
        return frame([encode({"streams": self.streams.save()}, {}), self.continuous.snapshot()])

    def load(self, data: bytes) -> None:
        about, continuous = unframe(data)
        self.streams.load(decode(about)[0]["streams"])
        self.continuous.resume(continuous)


def is_streamed(signature: Predicate) -> bool:
    """Whether streams bring facts of a signature as they are: others are made of these, for rules."""
    return signature not in SUPPLIED and signature != TRIPLES
