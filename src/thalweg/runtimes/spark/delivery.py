"""Answers leave a run exactly once: what a batch has delivered is written down with it, and a batch that is tried again
delivers nothing twice.

    delivered.json    {"batch": 7, "tick": 41, "out": 1203, "late": 0, "waiting": []}

says that batch 7 was the last, that its answers reach up to tick 41, and how long the files were after it. After a
crash the files are cut to that length. A sink that cannot be cut (a terminal, a broker) may get the last batch again.
With `"cut": true`, batch 8 failed after tick 41, and its answers up to there have been delivered too. While more may
begin and end at tick 42, facts of that tick are `waiting`, and are answered together.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any, Final
from uuid import uuid4

from thalweg.answers.answer_columns import FactColumns
from thalweg.answers.answer_formats import AnswerFormat
from thalweg.answers.emit import Shedding, Span
from thalweg.answers.record import Answer
from thalweg.answers.table import ParquetParts
from thalweg.connectors.files import NewFile
from thalweg.connectors.transport import Sink
from thalweg.diagnostics import NOWHERE, Diagnostic, FailedError, RejectedError
from thalweg.model.records import of_json
from thalweg.model.sealed import seal_json, unseal_json
from thalweg.runtimes.checkpoint_folder import read_sealed, replace_file
from thalweg.runtimes.continued_output import continued, settled
from thalweg.runtimes.intake import Late
from thalweg.runtimes.spark.answer_chunks import CHUNK, Chunk
from thalweg.runtimes.spark.bucket_answers import (
    DECIDED,
    GUARANTEED,
    LATE_FACT,
    NOTE,
    OPEN,
    OVER,
    SHED,
    WARNING,
    answers_of,
    decided_at,
    is_record,
)
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.wire import DIGEST, FAILED, error_of, warning_of
from thalweg.runtimes.stored_path import CheckpointPath

# Seconds that a batch may go on being written when the run is to end: its reader may have stopped reading.
_PATIENCE: Final = 1.0

REPORTS: Final = (DECIDED, OVER, LATE_FACT, FAILED, SHED, WARNING, GUARANTEED, NOTE, OPEN, DIGEST)
# Each is reported once for the property that its message begins with.
_WITH_EXAMPLES: Final = ("W704", "W705", "W811")


class EndedError(Exception):
    """A batch came after the end of the run."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """How far a run has delivered."""

    batch: int = -1
    tick: int = -1
    out: int = 0
    late: int = 0
    over: bool = False
    cut: bool = False
    stamped: bool = False
    bare: bool = False
    """Whether times were timestamps so far, or bare ticks."""
    run: str = ""
    """What tells this run from all others."""
    has_read: bool = False
    """Whether a batch has read something."""
    waiting: tuple[dict[str, Any], ...] = ()
    """Rows of the tick behind the last one, at which more may begin and end."""

    @classmethod
    def read(cls, ledger: CheckpointPath) -> "Delivered":
        """What a ledger says; `RejectedError` where it is damaged."""
        data = read_sealed(ledger, FORMAT, unseal_json)
        # What an earlier version has not written down is as by default.
        written = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        return cls(**written | {"waiting": tuple(data["waiting"])})


@dataclass(frozen=True, slots=True)
class _Sent:
    """What buckets have sent in a batch: a table of answers, and the few rows of other kinds."""

    answers: Any
    reports: dict[str, list[dict[str, Any]]]

    @classmethod
    def read(cls, table: Any) -> "_Sent":
        import pyarrow as pa
        import pyarrow.compute as pc

        is_other = pc.is_in(table["kind"], value_set=pa.array(REPORTS))
        reports: dict[str, list[dict[str, Any]]] = {kind: [] for kind in REPORTS}
        for row in table.filter(is_other).to_pylist():
            reports[row["kind"]].append(row)
        return cls(table.filter(pc.invert(is_other)), reports)

    @property
    def decided(self) -> list[dict[str, Any]]:
        """How far each bucket has come."""
        return self.reports[DECIDED] + self.reports[OVER]


class Delivery:
    """Writes the answers of batches, each once."""

    def __init__(
        self,
        ledger: CheckpointPath,
        out: str | None,
        late: str | None,
        emit: str,
        written: AnswerFormat | None = None,
        report: Callable[[Diagnostic], None] = lambda diagnostic: None,
        listen: Callable[[Any, Any], None] = lambda solution, answered: None,
        present: Callable[[Answer], Answer] = lambda answer: answer,
        see: Callable[[Answer], None] = lambda answer: None,
        shows_facts: bool = True,
        hear: Callable[[list[dict[str, Any]]], None] = lambda digests: None,
        count: Callable[[int], None] | None = None,
    ) -> None:
        """`shows_facts`: some answers are about facts that begin and end, which buckets send in columns.

        `hear` takes the digests of the blocks that were read for a batch, before its answers are written. With `count`
        answers are written elsewhere, and it is told how many.
        """
        self._ledger = ledger
        self._shows_facts = shows_facts
        self._hear = hear
        self._heard = -1
        written = written or AnswerFormat(columns=FactColumns(emit))
        begins = not ledger.exists()
        self.done = Delivered(run=uuid4().hex) if begins else Delivered.read(ledger)
        self._count = count
        self._table = written.table
        # As with a file: what an earlier run left under the same name is gone.
        in_parts = written.is_parquet and count is None
        self._parts = ParquetParts(Path(out or ""), self.done.batch + 1) if in_parts else None
        self._out = None if self._parts or count else continued(out, self.done.out)
        times = written.times
        self._header = "" if self.done.out else written.header
        self._late = channel = None if late is None else continued(late, self.done.late)
        self.late = Late(None if channel is None else lambda line: channel.write(line.encode()), times)
        self._notation = times.calendar.clock.notation
        # What is answered before more is read is written as before.
        self._notation.stamped |= self.done.stamped
        self._notation.bare |= self.done.bare
        self._emit = emit
        self._listen = listen
        self._format = written.formatter()
        self._present = present
        self._see = see
        self.shedding = Shedding(report)
        self._report = report
        self._warned: set[object] = set()
        self.error: FailedError | RejectedError | BrokenPipeError | None = None
        self._ended = False
        self.need_folder: Callable[[], None] = lambda: None
        """Raises an error if another run has taken the ledger."""
        self._writing = Lock()
        self.rows = 0
        self.has_many = False
        """Whether the last batch had so many answers that the next one may have more than the driver should hold."""
        self.guaranteed: dict[str, int] = {}
        if begins:
            # From here on what is in the outputs is this run's.
            self._settle(self.done)

    def deliver(
        self,
        batch: int,
        answers: Any,
        write: Callable[[], int] | None = None,
        chunks: Callable[[int, int], Iterable[Chunk]] | None = None,
    ) -> None:
        """Writes the answers of a batch, a table of Arrow, unless that has been done, or the run is over.

        Of those that are not in the table, something else is to `write` all, and says how many there are; or `chunks`
        gives those for the ticks from one to another. What goes wrong is kept, because Spark may lose it.
        """
        with self._writing:
            if batch <= self.done.batch or self.done.over:
                return
            try:
                self._check_end()
                self.need_folder()
                self._deliver(batch, _Sent.read(answers), write, chunks)
            except (FailedError, RejectedError) as error:
                self.error = error
                raise
            except OSError as error:
                self.error = self._reported(error)
                raise self.error from error

    @property
    def is_settled(self) -> bool:
        """Whether all is delivered that has been heard of."""
        return self._heard <= self.done.batch

    def end(self) -> None:
        """Nothing is delivered after this; what is being written now is written to its end."""
        self._ended = True
        if self._writing.acquire(timeout=_PATIENCE):
            self._writing.release()

    def _check_end(self) -> None:
        # Spark must not take the batch for done.
        if self._ended:
            raise EndedError("the run has ended")

    def takes_chunks(self, reports: Any) -> bool:
        """Whether the answers of a batch with these reports, a table of Arrow, can be written some at a time."""
        import pyarrow as pa
        import pyarrow.compute as pc

        needs_all = pc.any(pc.is_in(reports["kind"], value_set=pa.array((FAILED, SHED, OPEN)))).as_py()
        return self._out is not None and not (needs_all or self.done.cut or self.done.waiting)

    def _deliver(
        self,
        batch: int,
        sent: _Sent,
        write: Callable[[], int] | None,
        chunks: Callable[[int, int], Iterable[Chunk]] | None,
    ) -> None:
        if batch > self._heard:
            self._heard = batch
            self._hear([json.loads(row["fact"]) for row in sent.reports[DIGEST]])
        if sent.reports[FAILED]:
            first = min(sent.reports[FAILED], key=lambda row: (row["t"], row["fact"]))
            self._deliver_before(first["t"], sent)
            raise error_of(first["fact"])
        last = max((row["t"] for row in sent.decided), default=self.done.tick)
        sent, waiting = self._open(sent, last)
        last -= bool(sent.reports[OPEN])
        if write is not None and self._count is not None:
            number = write()
            self.rows += number
            self._count(number)
        start, before = self._start(sent.decided), self.rows
        pieces = [(start, last, sent.answers)] if chunks is None else chunks(start, last)
        for begin, end, answers in pieces:
            self._write(batch, replace(sent, answers=answers), begin, end)
        self.has_many = self.rows - before > CHUNK // 2
        self._note(sent)
        self.guaranteed.update((row["fact"], row["until"]) for row in sent.reports[GUARANTEED])
        for row in sorted(sent.reports[LATE_FACT], key=lambda row: (row["t"], row["fact"])):
            self.late.add(row["t"], row["until"], row["stream"], [row["fact"]])
        over, has_read = bool(sent.reports[OVER]), self.done.has_read or bool(sent.reports[DIGEST])
        ends = settled(self._out), settled(self._late)
        self._settle(Delivered(batch, last, *ends, over, has_read=has_read, waiting=waiting))

    def _open(self, sent: _Sent, last: int) -> tuple[_Sent, tuple[dict[str, Any], ...]]:
        """What is written now, with what waited before, and the rows that wait: facts of a tick are one answer."""
        import pyarrow as pa

        rows = sent.answers
        if self.done.waiting:
            rows = pa.concat_tables([pa.Table.from_pylist([*self.done.waiting], schema=rows.schema), rows])
        if not sent.reports[OPEN]:
            return replace(sent, answers=rows), ()
        waits = (decided_at(rows, self._emit) == last) & ~is_record(rows)
        return replace(sent, answers=rows.filter(~waits)), tuple(rows.filter(waits).to_pylist())

    def _note(self, sent: _Sent) -> None:
        """Reports what buckets warn of, once for each place, whichever bucket it comes from, and what windows took."""
        for warning in sorted(map(warning_of, {row["fact"] for row in sent.reports[WARNING]}), key=str):
            if (place := _place(warning)) not in self._warned:
                self._warned.add(place)
                self._report(warning)
        for row in sent.reports[NOTE]:
            self._listen(*of_json(json.loads(row["fact"])))

    def _deliver_before(self, reached: int, sent: _Sent) -> None:
        """Writes the answers up to a tick of a batch that failed after it; the batch itself is still to be done.

        A table has a file for each batch, which is there as a whole or not at all.
        """
        start = self._start(sent.decided)
        last = max((row["t"] for row in sent.decided), default=self.done.tick)
        sent, _ = self._open(sent, last)
        reached = min(reached, last - bool(sent.reports[OPEN]))
        if self._parts is None and sent.decided and reached >= start:
            self._write(self.done.batch, sent, start, reached, upto=reached)
            self._note(sent)
            self._settle(replace(self.done, tick=reached, out=settled(self._out), cut=True))

    def _start(self, decided: list[dict[str, Any]]) -> int:
        """The first tick that has not been answered."""
        return min((row["until"] for row in decided), default=0) if self.done.tick < 0 else self.done.tick + 1

    def _write(self, batch: int, sent: _Sent, start: int, last: int, upto: float = inf) -> None:
        """Writes the answers up to a tick, without those that an attempt which failed has delivered."""
        rows, shed = sent.answers, sent.reports[SHED]
        if self.done.cut or upto < inf:
            ticks = decided_at(rows, self._emit)
            rows = rows.filter((self.done.tick < ticks) & (ticks <= upto))
            shed = [row for row in shed if row["until"] > self.done.tick and row["t"] <= upto]
        self.rows += len(rows) + len(shed)
        if self._out is not None:
            missing = [(row["fact"], row["t"], row["until"]) for row in shed]
            text = "".join(self._formatted(self._answers(rows, missing, start, last)))
            if text:
                self._out.write((self._header + text).encode())
                self._header = ""
        elif self._parts is not None and len(rows):
            answers = map(self._seen, self._answers(rows, [], start, last))
            cells = [row for answer in answers for row in self._table.rows(answer)]
            self._parts.write_part(batch, self._table.arrow(cells))
        self._report_shed(shed, start, last)

    def _answers(self, rows: Any, missing: list[Span], first: int, last: int) -> Iterator[Answer]:
        return answers_of(rows, self._emit if self._shows_facts else None, missing, first, last)

    def _formatted(self, answers: Iterable[Answer]) -> Iterator[str]:
        for answer in answers:
            self._check_end()
            yield from self._format(self._seen(answer))

    def _seen(self, answer: Answer) -> Answer:
        shown = self._present(answer)
        self._see(shown)
        return shown

    def _settle(self, done: Delivered) -> None:
        # What was written before may have taken longer than a lease lasts.
        self.need_folder()
        notation = self._notation
        self.done = replace(done, stamped=notation.stamped, bare=notation.bare, run=self.done.run)
        replace_file(self._ledger, seal_json(asdict(self.done), FORMAT))

    def _report_shed(self, rows: list[dict[str, Any]], first: int, last: int) -> None:
        """Follows what was missing in the ticks of a batch."""
        here = [row for row in rows if row["until"] >= first]
        names, unsure = {row["fact"] for row in here}, {name for row in here for name in row["stream"].split()}
        for tick in sorted({max(first, row["t"]) for row in here} | {row["until"] for row in here}):
            self.shedding.see(tick, names, unsure)
        end = max((row["until"] + 1 for row in here), default=first)
        if end <= last:
            self.shedding.see(end, (), ())

    @property
    def on_terminal(self) -> bool:
        """Whether a person sees the answers as they come."""
        return self._out is not None and _is_standard(self._out) and sys.stdout.isatty()

    def withdraw(self) -> None:
        """Leaves the file for answers as it was, if there are none: the data was rejected."""
        if isinstance(self._out, NewFile):
            self._out.withdraw()
            self._header = ""

    def close(self) -> None:
        self.end()
        if self._out is not None and self._header:
            self._out.write(self._header.encode())
            self._header = ""
        for sink in (self._out, self._late):
            if sink is not None and not _is_standard(sink):
                self._close(sink)

    def _close(self, sink: Sink) -> None:
        try:
            sink.close()
        except OSError as error:
            # What could not be written before cannot be written now.
            if self.error is None:
                raise _unwritten(error) from error

    def _reported(self, error: OSError) -> FailedError | BrokenPipeError:
        """What ends the run where something could not be written; a reader that has seen enough is no failure."""
        is_read = self._out is not None and _is_standard(self._out)
        return error if isinstance(error, BrokenPipeError) and is_read else _unwritten(error)


def _place(warning: Diagnostic) -> object:
    """What a warning is about; of some the values of examples differ from bucket to bucket."""
    if warning.code in _WITH_EXAMPLES:
        return warning.code, warning.message.split(" ", 1)[0]
    return warning.message if warning.span is NOWHERE else (warning.code, warning.span)


def _unwritten(error: OSError) -> FailedError:
    return FailedError(Diagnostic("E401", f"the answers cannot be written: {error.strerror}"))


def _is_standard(sink: Sink) -> bool:
    return sink is sys.stdout.buffer
