"""Answers leave a run exactly once: what a batch has delivered is written down with it, and a batch that is tried again
delivers nothing twice.

    delivered.json    {"batch": 7, "told": 41, "out": 1203, "late": 0}

says that batch 7 was the last, that its answers reach up to tick 41, and how long the files were after it. After a
crash the files are cut to that length. A sink that cannot be cut (a terminal, a broker) may get the last batch again.
With `"cut": true`, batch 8 failed after tick 41, and its answers up to there have been delivered too.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any, Final

from thalweg.connectors.open import open_output
from thalweg.connectors.transport import Sink
from thalweg.diagnostics import Diagnostic, Failed, Rejected
from thalweg.runtimes.emit import Change, Interval, Piece, Spell, Stretch, as_jsonl
from thalweg.runtimes.late import Late
from thalweg.runtimes.shedding import Shedding
from thalweg.runtimes.spark.dataframe import BECAME_UNKNOWN, BEGIN, DECIDED, END, INTERVAL, LATE_FACT, OVER, SHED
from thalweg.runtimes.spark.wire import FAILED, error_of

# Seconds that a batch may go on being written when the run is to end: its reader may have stopped reading.
_PATIENCE: Final = 1.0


Pieces = Callable[[list[dict[str, Any]], int, int], Iterator[Piece]]
"""Makes answers of the rows for the ticks from one to another."""


class EndedError(Exception):
    """A batch came after the end of the run."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """How far a run has delivered."""

    batch: int = -1
    told: int = -1
    out: int = 0
    late: int = 0
    over: bool = False
    cut: bool = False


class Delivery:
    """Writes the answers of batches, each once."""

    def __init__(
        self,
        ledger: Path,
        out: str | None,
        late: str | None,
        emit: str,
        spell: Spell = as_jsonl,
        pieces: Pieces | None = None,
        report: Callable[[Diagnostic], None] = lambda found: None,
    ) -> None:
        self._ledger = ledger
        self._table = Path(out) if out is not None and out.endswith(".parquet") else None
        self.done = Delivered(**json.loads(ledger.read_text())) if ledger.exists() else Delivered()
        if self._table is not None and self.done.batch < 0:
            # As with a file: what an earlier run left under the same name is gone.
            for part in self._table.glob("part-*.parquet"):
                part.unlink()
        self._out = None if self._table else _open(out, self.done.out)
        self._late = channel = None if late is None else _open(late, self.done.late)
        self.late = Late(None if channel is None else lambda line: channel.write(line.encode()))
        self._emit = emit
        self._pieces = pieces or _PIECES[emit]
        self._spell = spell
        self.shedding = Shedding(report)
        self.error: Failed | Rejected | None = None
        self._ended = False
        self._writing = Lock()
        self.rows = 0

    def deliver(self, batch: int, answers: list[dict[str, Any]]) -> None:
        """Writes the answers of a batch, unless that has been done; what goes wrong is kept, for Spark may lose it."""
        with self._writing:
            if batch <= self.done.batch:
                return
            try:
                self._check_end()
                self._deliver(batch, answers)
            except (Failed, Rejected) as error:
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

    def _deliver(self, batch: int, answers: list[dict[str, Any]]) -> None:
        failures = [row for row in answers if row["kind"] == FAILED]
        if failures:
            first = min(failures, key=lambda row: (row["t"], row["fact"]))
            self._deliver_before(first["t"], answers)
            raise error_of(first["fact"])
        decided = [row for row in answers if row["kind"] in (DECIDED, OVER)]
        told = max((row["t"] for row in decided), default=self.done.told)
        self._write(batch, self._answers(answers), self._start(decided), told)
        late = [row for row in answers if row["kind"] == LATE_FACT]
        for row in sorted(late, key=lambda row: (row["t"], row["fact"])):
            self.late.add(row["t"], row["until"], row["stream"], [row["fact"]])
        over = any(row["kind"] == OVER for row in decided)
        self._settle(Delivered(batch, told, _settled(self._out), _settled(self._late), over))

    def _deliver_before(self, reached: int, answers: list[dict[str, Any]]) -> None:
        """Writes the answers up to a tick of a batch that failed after it; the batch itself is still to be done.

        A table has a file for each batch, which is there as a whole or not at all.
        """
        decided = [row for row in answers if row["kind"] in (DECIDED, OVER)]
        start = self._start(decided)
        if self._table is None and decided and reached >= start:
            self._write(self.done.batch, self._answers(answers, reached), start, reached)
            self._settle(replace(self.done, told=reached, out=_settled(self._out), cut=True))

    def _start(self, decided: list[dict[str, Any]]) -> int:
        """The first tick that has not been answered."""
        return min((row["until"] for row in decided), default=0) if self.done.told < 0 else self.done.told + 1

    def _answers(self, answers: list[dict[str, Any]], last: float = inf) -> list[dict[str, Any]]:
        """The rows that are answers, up to a tick, and without those that an attempt which failed has delivered."""
        rows = [row for row in answers if row["kind"] not in (DECIDED, OVER, LATE_FACT, FAILED)]
        if not self.done.cut and last == inf:
            return rows
        return [row for row in rows if _is_among(row, self.done.told, last)]

    def _write(self, batch: int, told_rows: list[dict[str, Any]], start: int, told: int) -> None:
        self.rows += len(told_rows)
        if self._out is not None:
            pieces = self._pieces(told_rows, start, told)
            self._out.write("".join(self._spelled(pieces)).encode())
        elif self._table is not None and told_rows:
            _write_table(self._table, batch, [row for row in told_rows if row["kind"] != SHED], self._emit)
        self._tell_shed([row for row in told_rows if row["kind"] == SHED], start, told)

    def _spelled(self, pieces: Iterable[Piece]) -> Iterator[str]:
        for piece in pieces:
            self._check_end()
            yield from self._spell(piece)

    def _settle(self, done: Delivered) -> None:
        self.done = done
        unfinished = self._ledger.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(asdict(self.done)))
        unfinished.replace(self._ledger)

    def _tell_shed(self, rows: list[dict[str, Any]], first: int, last: int) -> None:
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

    def close(self) -> None:
        self.end()
        for sink in (self._out, self._late):
            if sink is not None and not _is_standard(sink):
                sink.close()


def _is_among(row: dict[str, Any], told: int, last: float) -> bool:
    """Whether a row is about ticks after `told`, up to the last."""
    if row["kind"] == SHED:
        return bool(row["until"] > told and row["t"] <= last)
    return told < _decided_at(row) <= last


def _decided_at(row: dict[str, Any]) -> float:
    """The tick at which an answer was known: an interval is known when it has ended."""
    if row["kind"] != INTERVAL:
        return float(row["t"])
    return inf if row["until"] < 0 else float(row["until"] + 1)


def _write_table(folder: Path, batch: int, rows: list[dict[str, Any]], emit: str) -> None:
    """A folder of Parquet files, one for each batch; a batch that is tried again replaces its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    facts = pa.array([row["fact"] for row in rows], type=pa.string())
    ticks = pa.array([row["t"] for row in rows], type=pa.int64())
    if emit == "intervals":
        until = pa.array([None if row["until"] < 0 else row["until"] for row in rows], type=pa.int64())
        table = pa.table({"fact": facts, "from": ticks, "until": until})
    elif emit == "changes":
        table = pa.table({"t": ticks, "change": pa.array([row["kind"] for row in rows]), "fact": facts})
    else:
        table = pa.table({"t": ticks, "fact": facts})
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{batch:010}.unfinished"
    pq.write_table(table, unfinished)
    unfinished.replace(folder / f"part-{batch:010}.parquet")


def _open(name: str | None, length: int) -> Sink:
    """A sink; a file of an earlier part of the run is cut to what was delivered and written on."""
    path = None if name is None or "://" in name else Path(name)
    if length and path is not None and (path.is_file() or not path.exists()):
        if not path.exists() or path.stat().st_size < length:
            message = f"`{name}` does not contain what this run has written to it"
            way_out = "restore the file, or start again with another `--checkpoint`"
            raise Rejected([Diagnostic("E408", message, help=way_out)])
        file = path.open("r+b")
        file.truncate(length)
        file.seek(length)
        return file
    return open_output(name)


def _settled(sink: Sink | None) -> int:
    """Makes sure that what was written stays; how long the file is now."""
    if sink is None:
        return 0
    sink.flush()
    if _is_standard(sink) or not hasattr(sink, "fileno") or not hasattr(sink, "tell"):
        return 0
    os.fsync(sink.fileno())
    length: int = sink.tell()
    return length


def _is_standard(sink: Sink) -> bool:
    return sink is sys.stdout.buffer


def _shed(rows: Iterable[dict[str, Any]], first: int, last: int) -> tuple[str, ...]:
    """The predicates of which facts were missing between two ticks."""
    return tuple(sorted({row["fact"] for row in rows if row["t"] <= last and row["until"] >= first}))


def _apart(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Answers, and what was missing."""
    return [row for row in rows if row["kind"] != SHED], [row for row in rows if row["kind"] == SHED]


def _changes(rows: list[dict[str, Any]], first: int, last: int) -> Iterator[Piece]:
    answers, missing = _apart(rows)
    answers.sort(key=lambda row: (row["t"], row["fact"]))
    for tick, group in groupby(answers, key=lambda row: row["t"]):
        found: dict[str, list[str]] = {BEGIN: [], END: [], BECAME_UNKNOWN: []}
        for row in group:
            found[row["kind"]].append(row["fact"])
        begin, end, unknown = map(tuple, found.values())
        shed = _shed(missing, tick, tick)
        yield Change(tick, begin, end, bool(shed), shed, unknown)


def _snapshots(rows: list[dict[str, Any]], first: int, last: int) -> Iterator[Piece]:
    answers, missing = _apart(rows)
    found: dict[int, list[str]] = {}
    for row in answers:
        found.setdefault(row["t"], []).append(row["fact"])
    for tick in range(first, last + 1):
        shed = _shed(missing, tick, tick)
        yield Stretch(tick, tick, tuple(sorted(found.get(tick, ()))), bool(shed), shed)


def _intervals(rows: list[dict[str, Any]], first: int, last: int) -> Iterator[Piece]:
    answers, missing = _apart(rows)

    def when(row: dict[str, Any]) -> tuple[bool, int, str]:
        return row["until"] < 0, row["until"], row["fact"]

    for row in sorted(answers, key=when):
        start, until = row["t"], None if row["until"] < 0 else row["until"]
        # It may have begun earlier, or go on.
        shed = _shed(missing, start - 1, last if until is None else until + 1)
        yield Interval(row["fact"], start, until, bool(shed), shed)


_PIECES: Final[dict[str, Pieces]] = {"changes": _changes, "snapshot": _snapshots, "intervals": _intervals}
