"""Answers leave a run exactly once: what a batch has delivered is written down with it, and a batch that is tried again
delivers nothing twice.

    delivered.json    {"batch": 7, "tick": 41, "out": 1203, "late": 0}

says that batch 7 was the last, that its answers reach up to tick 41, and how long the files were after it. After a
crash the files are cut to that length. A sink that cannot be cut (a terminal, a broker) may get the last batch again.
With `"cut": true`, batch 8 failed after tick 41, and its answers up to there have been delivered too.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np

from thalweg.connectors.files import NewFile
from thalweg.connectors.transport import Sink
from thalweg.diagnostics import NOWHERE, Diagnostic, FailedError, RejectedError
from thalweg.model.sealed import seal_json, unseal_json
from thalweg.model.time import FOREVER
from thalweg.runtimes.answer_columns import FactColumns
from thalweg.runtimes.answer_formats import AnswerFormat
from thalweg.runtimes.checkpoint_folder import read_sealed, replace_file
from thalweg.runtimes.continued_output import continued, settled
from thalweg.runtimes.emit import EMITTERS, AnswerBlock, Run
from thalweg.runtimes.late import Late
from thalweg.runtimes.parquet_output import ParquetParts
from thalweg.runtimes.shedding import Shedding, Span
from thalweg.runtimes.spark.answers import deltas_of, grouped
from thalweg.runtimes.spark.dataframe import (
    BECAME_UNKNOWN,
    BEGIN,
    DECIDED,
    END,
    GUARANTEED,
    LATE_FACT,
    OVER,
    SHED,
    WARNING,
)
from thalweg.runtimes.spark.job import FORMAT
from thalweg.runtimes.spark.wire import FAILED, Words, error_of, warning_of

# Seconds that a batch may go on being written when the run is to end: its reader may have stopped reading.
_PATIENCE: Final = 1.0

_NO_ANSWERS: Final = (DECIDED, OVER, LATE_FACT, FAILED, SHED, WARNING, GUARANTEED)
_CHANGES: Final = (BEGIN, END, BECAME_UNKNOWN)

Combine = Callable[[list[dict[str, Any]]], Iterator[AnswerBlock]]
"""Makes answers of what buckets have sent, where these are not rows of an emitter."""


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

    @classmethod
    def read(cls, ledger: Path) -> "Delivered":
        """What a ledger says; `RejectedError` where it is damaged."""
        known = read_sealed(ledger, FORMAT, unseal_json)
        return cls(**{field.name: known[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class _Sent:
    """What buckets have sent in a batch: a table of answers, and the few rows of other kinds."""

    answers: Any
    others: dict[str, list[dict[str, Any]]]

    @classmethod
    def read(cls, table: Any) -> "_Sent":
        import pyarrow as pa
        import pyarrow.compute as pc

        is_other = pc.is_in(table["kind"], value_set=pa.array(_NO_ANSWERS))
        others: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _NO_ANSWERS}
        for row in table.filter(is_other).to_pylist():
            others[row["kind"]].append(row)
        return cls(table.filter(pc.invert(is_other)), others)

    @property
    def decided(self) -> list[dict[str, Any]]:
        """How far each bucket has come."""
        return self.others[DECIDED] + self.others[OVER]


class Delivery:
    """Writes the answers of batches, each once."""

    def __init__(
        self,
        ledger: Path,
        out: str | None,
        late: str | None,
        emit: str,
        written: AnswerFormat | None = None,
        combine: Combine | None = None,
        report: Callable[[Diagnostic], None] = lambda found: None,
        present: Callable[[AnswerBlock], AnswerBlock] = lambda block: block,
        see: Callable[[AnswerBlock], None] = lambda block: None,
    ) -> None:
        self._ledger = ledger
        written = written or AnswerFormat(columns=FactColumns(emit))
        begins = not ledger.exists()
        self.done = Delivered() if begins else Delivered.read(ledger)
        self._table = written.table
        # As with a file: what an earlier run left under the same name is gone.
        self._parts = ParquetParts(Path(out or ""), self.done.batch + 1) if written.is_parquet else None
        self._out = None if self._parts else continued(out, self.done.out)
        times = written.times
        self._header = "" if self.done.out else written.header
        self._late = channel = None if late is None else continued(late, self.done.late)
        self.late = Late(None if channel is None else lambda line: channel.write(line.encode()), times)
        self._notation = times.calendar.clock.notation
        # What is answered before more is read is written as before.
        self._notation.stamped |= self.done.stamped
        self._emit = emit
        self._combine = combine
        self._format = written.formatter()
        self._present = present
        self._see = see
        self.shedding = Shedding(report)
        self._report = report
        self._warned: set[object] = set()
        self.error: FailedError | RejectedError | None = None
        self._ended = False
        self._writing = Lock()
        self.rows = 0
        self.guaranteed: dict[str, int] = {}
        if begins:
            # From here on what is in the outputs is this run's.
            self._settle(self.done)

    def deliver(self, batch: int, answers: Any) -> None:
        """Writes the answers of a batch, a table of Arrow, unless that has been done.

        What goes wrong is kept, because Spark may lose it.
        """
        with self._writing:
            if batch <= self.done.batch:
                return
            try:
                self._check_end()
                self._deliver(batch, _Sent.read(answers))
            except (FailedError, RejectedError) as error:
                self.error = error
                raise

    def end(self) -> None:
        """Nothing is delivered after this; what is being written now is written to its end."""
        self._ended = True
        if self._writing.acquire(timeout=_PATIENCE):
            self._writing.release()

    def _check_end(self) -> None:
        # Spark must not take the batch for done.
        if self._ended:
            raise EndedError("the run has ended")

    def _deliver(self, batch: int, sent: _Sent) -> None:
        if sent.others[FAILED]:
            first = min(sent.others[FAILED], key=lambda row: (row["t"], row["fact"]))
            self._deliver_before(first["t"], sent)
            raise error_of(first["fact"])
        last = max((row["t"] for row in sent.decided), default=self.done.tick)
        self._write(batch, sent, self._start(sent.decided), last)
        self._warn(sent.others[WARNING])
        self.guaranteed.update((row["fact"], row["until"]) for row in sent.others[GUARANTEED])
        for row in sorted(sent.others[LATE_FACT], key=lambda row: (row["t"], row["fact"])):
            self.late.add(row["t"], row["until"], row["stream"], [row["fact"]])
        self._settle(Delivered(batch, last, settled(self._out), settled(self._late), bool(sent.others[OVER])))

    def _warn(self, rows: list[dict[str, Any]]) -> None:
        """Reports what buckets warn of, once for each place in the program, whichever bucket it comes from."""
        for found in sorted(map(warning_of, {row["fact"] for row in rows}), key=str):
            place = found.message if found.span is NOWHERE else (found.code, found.span)
            if place not in self._warned:
                self._warned.add(place)
                self._report(found)

    def _deliver_before(self, reached: int, sent: _Sent) -> None:
        """Writes the answers up to a tick of a batch that failed after it; the batch itself is still to be done.

        A table has a file for each batch, which is there as a whole or not at all.
        """
        start = self._start(sent.decided)
        if self._parts is None and sent.decided and reached >= start:
            self._write(self.done.batch, sent, start, reached, upto=reached)
            self._settle(replace(self.done, tick=reached, out=settled(self._out), cut=True))

    def _start(self, decided: list[dict[str, Any]]) -> int:
        """The first tick that has not been answered."""
        return min((row["until"] for row in decided), default=0) if self.done.tick < 0 else self.done.tick + 1

    def _write(self, batch: int, sent: _Sent, start: int, last: int, upto: float = inf) -> None:
        """Writes the answers up to a tick, without those that an attempt which failed has delivered."""
        rows, shed = sent.answers, sent.others[SHED]
        if self.done.cut or upto < inf:
            known = _decided_at(rows, self._emit)
            rows = rows.filter((self.done.tick < known) & (known <= upto))
            shed = [row for row in shed if row["until"] > self.done.tick and row["t"] <= upto]
        self.rows += len(rows) + len(shed)
        if self._out is not None:
            missing = [(row["fact"], row["t"], row["until"]) for row in shed]
            text = "".join(self._formatted(self._blocks(rows, missing, start, last)))
            if text:
                self._out.write((self._header + text).encode())
                self._header = ""
        elif self._parts is not None and len(rows):
            blocks = map(self._seen, self._blocks(rows, [], start, last))
            self._parts.write_part(batch, self._table.arrow([row for one in blocks for row in self._table.rows(one)]))
        self._report_shed(shed, start, last)

    def _blocks(self, rows: Any, missing: list[Span], first: int, last: int) -> Iterator[AnswerBlock]:
        if self._combine is not None:
            return self._combine(rows.to_pylist())
        return EMITTERS[self._emit].arrange(_rows(self._emit, rows, first, last), missing)

    def _formatted(self, blocks: Iterable[AnswerBlock]) -> Iterator[str]:
        for block in blocks:
            self._check_end()
            yield from self._format(self._seen(block))

    def _seen(self, block: AnswerBlock) -> AnswerBlock:
        shown = self._present(block)
        self._see(shown)
        return shown

    def _settle(self, done: Delivered) -> None:
        self.done = replace(done, stamped=self._notation.stamped)
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
                sink.close()


def _decided_at(rows: Any, emit: str) -> Words:
    """The tick at which each answer was known: an interval is known when it has ended."""
    if emit != "intervals":
        ticks: Words = rows["t"].to_numpy()
        return ticks
    return np.where((until := rows["until"].to_numpy()) < 0, FOREVER, until + 1)


def _rows(emit: str, answers: Any, first: int, last: int) -> Iterable[Any]:
    """The rows of an emitter for the ticks from `first` to `last`, from a table of those of all buckets."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ticks, facts = answers["t"].to_numpy(), answers["fact"].combine_chunks()
    if emit == "changes":
        kinds = pc.index_in(answers["kind"], value_set=pa.array(_CHANGES)).to_numpy()
        return deltas_of(ticks, kinds, facts, pc.fill_null(answers["until"], FOREVER).to_numpy())
    if emit == "intervals":
        until = answers["until"].to_numpy()
        return zip(facts.to_pylist(), ticks.tolist(), np.where(until < 0, FOREVER, until).tolist(), strict=True)
    return _runs(ticks, facts, first, last)


def _runs(ticks: Words, facts: Any, first: int, last: int) -> Iterator[Run]:
    """What holds at each tick, also where it is nothing."""
    for (tick,), some in grouped(facts, ticks):
        if first < tick:
            yield first, tick - 1, ()
        yield tick, tick, tuple(sorted(some))
        first = tick + 1
    if first <= last:
        yield first, last, ()


def _is_standard(sink: Sink) -> bool:
    return sink is sys.stdout.buffer
