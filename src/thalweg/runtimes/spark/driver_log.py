"""What a job of one's own says in the driver's log: late facts, rows without facts, names that no rule reads.

Such rows leave the buckets beside the answers. Spark counts them on the way (`DataFrame.observe`), so nothing is read
twice and no fact comes to the driver; a query that streams reports after each batch, another one at its end.

    late facts           W302, how many, and the first of them
    malformed rows       W312, likewise; W307 where cells are empty
    warnings of rules    W305, as elsewhere
    names                W304, where rules read nothing that came
    facts that were shed W414, where there is a budget of memory

The counts are in the progress of the query, too, under the name of the job:

    answers, decided                       rows of answers, and the last tick that is answered
    late, malformed, empty, shed           facts and rows, in this batch
    late p, malformed p, empty p           those of the table `p`, where there are several
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread, main_thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

from thalweg.answers.emit import Shedding
from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_watch import Unmatched
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import AS_TICKS, TimeFormat
from thalweg.planning.check_unmatched import Inputs
from thalweg.runtimes.spark.bucket_answers import (
    BECAME_UNKNOWN,
    BEGIN,
    DECIDED,
    END,
    INTERVAL,
    LATE_FACT,
    OVER,
    RECORD,
    SHED,
    SNAPSHOT,
    WARNING,
)
from thalweg.runtimes.spark.session import java_errors
from thalweg.runtimes.spark.wire import CAME, EMPTY, MALFORMED, warning_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

LOG: Final = logging.getLogger("thalweg.spark")
PAUSE: Final = 60.0
"""Seconds between two reports of the same kind."""
_LOOK: Final = 0.2
"""Seconds between two looks at metrics that Spark Connect fills in when it has them."""
_MOST_NAMES: Final = 62
"""Predicates that a word of 64 bits tells apart."""

_MOST_LOGS: Final = 256
"""Logs of streams that a session keeps, beside those of queries that run: a table of answers may be read again."""

_LOGS: Final["WeakKeyDictionary[SparkSession, _Queries]"] = WeakKeyDictionary()
_ANSWERS: Final = (BEGIN, END, BECAME_UNKNOWN, INTERVAL, SNAPSHOT, RECORD)
_COUNTED: Final = {LATE_FACT: "W302", MALFORMED: "W312", EMPTY: "W307"}
_NO_METRICS: Final[Mapping[str, Any]] = dict.fromkeys(
    (
        *_COUNTED,
        *(f"first {kind}" for kind in (*_COUNTED, SHED)),
        *(f"{end} {what}" for what in ("warning", "unread") for end in ("least", "greatest")),
        "read",
    )
)
_SENTENCES: Final = {
    LATE_FACT: ("{} late and ignored: {}", "fact was", "facts were"),
    MALFORMED: ("{} not a fact and passed over: {}", "row is", "rows are"),
    EMPTY: ("{} passed over, because a cell is empty: {}", "row was", "rows were"),
}
_WAYS_OUT: Final = {
    LATE_FACT: "wait longer with `delay=`, or take them as rows with `late=True`",
    MALFORMED: 'take them as rows with `late=True`, or stop at the first with `on_error="stop"`',
    EMPTY: "take them as rows with `late=True`",
}


@dataclass
class DriverLog:
    """The counts of a job so far, and what of them has been reported."""

    program: Program | None = None
    times: TimeFormat = AS_TICKS
    name: str = field(default_factory=lambda: f"thalweg {uuid4()}")
    tables: Sequence[str] = ()
    _counts: dict[str, int] = field(default_factory=dict)
    _firsts: dict[str, str] = field(default_factory=dict)
    _reported: dict[str, int] = field(default_factory=dict)
    _due: dict[str, float] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)
    _lock: Any = field(default_factory=Lock)

    def __post_init__(self) -> None:
        names = list(Inputs(self.program).read) if self.program is not None else []
        self._names = names[:_MOST_NAMES] if len(names) <= _MOST_NAMES else []
        self._unmatched = Unmatched(self.program) if self.program is not None and self._names else None
        self._shedding = Shedding(_warn)

    def watch(self, rows: "DataFrame", streams: bool, *, listens: bool = True) -> "DataFrame":
        """The same rows of buckets, counted as they pass; unless it `listens`, only Spark's progress has the counts."""
        if streams and listens:
            _queries_of(rows.sparkSession).add(self)
        if streams or not listens:
            return rows.observe(self.name, *self._metrics())
        from pyspark.sql import Observation

        observation = Observation(self.name)
        observed = rows.observe(observation, *self._metrics())
        Thread(target=self._wait, args=(observation,), name="thalweg driver log", daemon=True).start()
        return observed

    def _wait(self, observation: Any) -> None:
        """Reports when the first action on a table has ended."""
        try:
            # The metrics of Spark Connect are empty until then.
            while not (metrics := observation.get):
                sleep(_LOOK)
        except java_errors():
            # The session was stopped before, or the action failed and reports that itself.
            return
        self.see(metrics)
        self.end()

    def _metrics(self) -> "list[Column]":
        from pyspark.sql import functions as F  # noqa: N812

        kind, fact, until = F.col("kind"), F.col("fact"), F.col("until")
        late = F.struct("t", "until", "fact")
        is_read = F.lit(0).cast("long")
        for number, name in enumerate(self._names):
            is_read = F.when(fact == str(name), F.lit(1 << number)).otherwise(is_read)
        unread = F.when((kind == CAME) & (is_read == 0), fact)
        return [
            F.count(F.when(kind == LATE_FACT, 1)).alias(LATE_FACT),
            F.min(F.when(kind == LATE_FACT, late)).alias(f"first {LATE_FACT}"),
            *(
                F.coalesce(F.sum(F.when(kind == problem, until)), F.lit(0)).alias(problem)
                for problem in (MALFORMED, EMPTY)
            ),
            *(F.min(F.when(kind == problem, fact)).alias(f"first {problem}") for problem in (MALFORMED, EMPTY)),
            F.min(F.when(kind == WARNING, fact)).alias("least warning"),
            F.max(F.when(kind == WARNING, fact)).alias("greatest warning"),
            F.bit_or(F.when(kind == CAME, is_read)).alias("read"),
            F.min(unread).alias("least unread"),
            F.max(unread).alias("greatest unread"),
            F.count(F.when(kind.isin(*_ANSWERS), 1)).alias("answers"),
            F.max(F.when(kind.isin(DECIDED, OVER), F.col("t"))).alias("decided"),
            F.count(F.when(kind == SHED, 1)).alias(SHED),
            F.min(F.when(kind == SHED, F.struct("t", "fact", "stream"))).alias(f"first {SHED}"),
            *(count for table in self.tables for count in _counts_of(table)),
        ]

    def see(self, metrics: Mapping[str, Any]) -> None:
        """Takes the counts of a batch, and reports what is new."""
        # Spark Connect leaves out what is null.
        metrics = {**_NO_METRICS, **metrics}
        with self._lock:
            for kind in _COUNTED:
                for count in (kind, *(f"{kind} {table}" for table in self.tables)):
                    self._counts[count] = self._counts.get(count, 0) + (metrics.get(count) or 0)
                if (first := metrics[f"first {kind}"]) is not None:
                    self._firsts.setdefault(kind, self._late(first) if kind == LATE_FACT else first)
                if self._due.get(kind, 0.0) <= monotonic():
                    self._report(kind)
            if (shed := metrics[f"first {SHED}"]) is not None:
                self._shedding.see(shed["t"], [shed["fact"]], shed["stream"].split())
            for text in {metrics["least warning"], metrics["greatest warning"]} - {None} - self._said:
                self._said.add(text)
                _warn(warning_of(text))
            self._meet(metrics)

    def end(self) -> None:
        """Reports what was counted since the last time, and what rules waited for in vain."""
        with self._lock:
            for kind in _COUNTED:
                self._report(kind)
            for warning in self._unmatched.summary() if self._unmatched is not None else ():
                self._say(warning)

    def _late(self, row: Any) -> str:
        written = self.times.text
        return f"`{row['fact']} at {written(row['t'])}` arrived when the watermark was {written(row['until'])}"

    def _report(self, kind: str) -> None:
        count = self._counts.get(kind, 0)
        if count > self._reported.get(kind, 0):
            self._reported[kind], self._due[kind] = count, monotonic() + PAUSE
            sentence, single, many = _SENTENCES[kind]
            number = f"1 {single}" if count == 1 else f"{count} {many}"
            message = sentence.format(number, self._firsts[kind]) + self._by_table(kind)
            _warn(Diagnostic(_COUNTED[kind], message, help=_WAYS_OUT[kind]))

    def _by_table(self, kind: str) -> str:
        """How many of them each table brought, where there are several."""
        counts = ((self._counts.get(f"{kind} {table}", 0), table) for table in self.tables)
        listed = ", ".join(f"{count} of `{table}`" for count, table in counts if count)
        return f" ({listed})" if listed else ""

    def _meet(self, metrics: Mapping[str, Any]) -> None:
        """Sees which predicates came; where rules read none of them, there is no need to wait for the end."""
        if self._unmatched is None:
            return
        came = {name for number, name in enumerate(self._names) if (metrics["read"] or 0) >> number & 1}
        unread = {metrics["least unread"], metrics["greatest unread"]} - {None}
        self._unmatched.look(Batch({name: [] for name in (*came, *map(Predicate.read, unread))}))
        if unread and not came:
            for warning in self._unmatched.summary():
                self._say(warning)

    def _say(self, diagnostic: Diagnostic) -> None:
        if diagnostic.message not in self._said:
            self._said.add(diagnostic.message)
            _warn(diagnostic)


def _counts_of(table: str) -> "Iterator[Column]":
    """How many facts of a table are late, and how many of its rows hold no fact."""
    from pyspark.sql import functions as F  # noqa: N812

    is_here = F.col("stream") == table
    yield F.count(F.when(is_here & (F.col("kind") == LATE_FACT), 1)).alias(f"{LATE_FACT} {table}")
    for problem in (MALFORMED, EMPTY):
        rows = F.sum(F.when(is_here & (F.col("kind") == problem), F.col("until")))
        yield F.coalesce(rows, F.lit(0)).alias(f"{problem} {table}")


def _warn(diagnostic: Diagnostic) -> None:
    LOG.warning("%s", diagnostic.render())


class _Queries:
    """The batches of queries that read the rows of jobs, told to their logs."""

    def __init__(self) -> None:
        self._logs: dict[str, DriverLog] = {}
        self._by_run: dict[str, set[str]] = {}

    def add(self, log: DriverLog) -> None:
        """From now on a log hears of its queries; the oldest that hears of none is forgotten where there are many."""
        self._logs[log.name] = log
        if len(self._logs) > _MOST_LOGS:
            running = {name for names in [*self._by_run.values()] for name in names}
            oldest = next((name for name in self._logs if name not in running), log.name)
            del self._logs[oldest]

    def progress(self, progress: Any) -> None:
        """Takes what Spark says of a batch."""
        for name, metrics in progress.observedMetrics.items():
            if (log := self._logs.get(name)) is not None:
                self._by_run.setdefault(str(progress.runId), set()).add(name)
                log.see(_by_name(metrics.asDict()))

    def terminated(self, run: Any) -> None:
        """Hears that a query has ended."""
        for name in self._by_run.pop(str(run), ()):
            if (log := self._logs.get(name)) is not None:
                log.end()


def _by_name(metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    """Metrics by their names; the progress of Spark Connect has the values of a row, and its schema beside them.

    >>> _by_name({"values": [1, None], "schema": {"fields": [{"name": "late"}, {"name": "read"}]}})
    {'late': 1, 'read': None}
    """
    if metrics.keys() != {"values", "schema"}:
        return metrics
    values = (_by_name(value) if isinstance(value, dict) else value for value in metrics["values"])
    return dict(zip((field["name"] for field in metrics["schema"]["fields"]), values, strict=True))


def _queries_of(session: "SparkSession") -> _Queries:
    """The queries of a session. One listener serves all their logs: Spark calls each for every batch."""
    from pyspark.sql.utils import is_remote

    if session not in _LOGS:
        _LOGS[session] = queries = _Queries()
        if is_remote():
            Thread(target=_follow, args=(session, queries), name="thalweg driver log").start()
        else:
            session.streams.addListener(_listener(queries))
    return _LOGS[session]


def _follow(session: Any, queries: _Queries) -> None:
    """Asks for the queries of a session of Spark Connect, until the program has come to its end.

    Its listeners are removed as soon as the server sends them something else, such as the profile of a function (4.3).
    """
    running: dict[str, Any] = {}
    seen: dict[str, set[tuple[int, str]]] = {}
    while main_thread().is_alive() and not session.is_stopped:
        # Nothing can be asked any more while a program ends, which is a `RuntimeError`.
        with suppress(RuntimeError, *java_errors()):
            active = {str(query.runId): query for query in session.streams.active}
            running |= active
            for run, query in [*running.items()]:
                recent = {(progress.batchId, progress.timestamp): progress for progress in query.recentProgress}
                for batch in recent.keys() - seen.get(run, set()):
                    queries.progress(recent[batch])
                seen[run] = {*recent}
                if run not in active:
                    del running[run], seen[run]
                    queries.terminated(run)
        sleep(_LOOK)


def _listener(queries: _Queries) -> Any:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            queries.progress(event.progress)

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            queries.terminated(event.runId)

    return Listener()
