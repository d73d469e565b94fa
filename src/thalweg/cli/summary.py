"""The line that ends a run: what came, what was concluded, how long it took, and what was left aside."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import typer

from thalweg.cli.errors import complain

if TYPE_CHECKING:
    from thalweg.answers.record import Answer
    from thalweg.api import Part
    from thalweg.diagnostics import Diagnostic
    from thalweg.model.event import Batch
    from thalweg.model.predicate import Predicate

_SHOWN = 5


@contextmanager
def summarised(part: "Part", quiet: bool) -> "Iterator[RunSummary]":
    """Around a run: when it has ended, or was stopped in the middle of something, its summary is printed.

    Data that is wrong is rejected as long as nothing has been answered; after that, the run has failed. So has one that
    dropped most of its facts, unless it was stopped, or keeps those that are late.
    """
    from thalweg.connectors.interrupt import StoppedError
    from thalweg.diagnostics import RejectedError

    summary = RunSummary()
    try:
        yield summary
    except StoppedError:
        if not quiet:
            summary.print(part)
        raise
    except RejectedError as error:
        if not summary.has_answered:
            raise
        complain(*error.diagnostics)
        for diagnostic in error.diagnostics:
            summary.hear(diagnostic)
        if not quiet:
            summary.print(part)
        raise typer.Exit(3) from None
    has_failed = summary.has_dropped_most and not summary.was_stopped
    if has_failed:
        complain(summary.dropped)
    if not quiet and summary.is_wanted:
        summary.print(part)
    if has_failed:
        raise typer.Exit(3)


class RunSummary:
    """Counts what a run reads and answers."""

    def __init__(self) -> None:
        self.is_wanted = True
        self.has_answered = False
        self.keeps_late = False
        self.was_stopped = False
        self._began = monotonic()
        self._events = 0
        self._facts = 0
        self._conclusions = 0
        self._malformed = 0
        self.late = 0
        self._came: set[Predicate] = set()
        self._held: frozenset[str] = frozenset()

    def look(self, batch: "Batch") -> None:
        """Sees what comes in."""
        self._came.update(batch.rows)
        self._events += batch.rows_arrived
        self._facts += batch.size

    def see(self, answer: "Answer") -> None:
        """Sees what is answered."""
        self.has_answered = True
        match answer.kind:
            case "answer sets":
                self._conclusions += sum(map(len, answer.columns))
            case "snapshot":
                facts = frozenset(answer.columns[0])
                self._conclusions += len(facts - self._held)
                self._held = facts
            case "truth":
                self._conclusions += answer.columns[0][0]
            case _:
                self._conclusions += len(answer.columns[0])

    def count(self, answers: int) -> None:
        """Answers that Spark has written by itself."""
        self.has_answered = True
        self._conclusions += answers

    def hear(self, diagnostic: "Diagnostic") -> None:
        """Sees what is reported."""
        self._malformed += diagnostic.code == "E301"

    @property
    def has_dropped_most(self) -> bool:
        """Whether more than half of the facts were late, far or malformed, and are not kept anywhere."""
        return not self.keeps_late and 2 * (self.late + self._malformed) > self._facts + self._malformed

    @property
    def dropped(self) -> "Diagnostic":
        """Says how many facts were dropped."""
        from thalweg.diagnostics import Diagnostic

        message = f"{self._share}: {self.late:,} late, {self._malformed:,} malformed"
        help_ = "look at their times, wait longer with `--delay`, or keep late facts with `--late FILE`"
        return Diagnostic("W309", message, help=help_)

    @property
    def _share(self) -> str:
        return f"{self.late + self._malformed:,} of {_count(self._facts + self._malformed, 'fact')} dropped"

    def print(self, part: "Part") -> None:
        """Writes the line to standard error."""
        from thalweg.diagnostics import VISIBLE

        seconds = monotonic() - self._began
        rate = f", {self._events / seconds:,.0f} events/s" if self._events else ""
        counts = f"{_count(self._events, 'event')}, {_count(self._conclusions, 'conclusion')}"
        first = f"{self._share}; " if self.has_dropped_most else ""
        left = f"{self.late:,} late, {self._malformed:,} malformed"
        sys.stdout.flush()
        line = f"{first}{counts} in {seconds:.1f} s{rate}; {left}{self._unused(part)}"
        print(line.translate(VISIBLE), file=sys.stderr)

    def _unused(self, part: "Part") -> str:
        """The part of the line about predicates that no rule reads; an ontology or a query may read any."""
        from thalweg.diagnostics import RejectedError
        from thalweg.planning.check_unmatched import Inputs

        try:
            inputs = Inputs(part.rules)
        except RejectedError:
            return ""
        unused = [] if inputs.has_vocabulary else sorted(self._came - inputs.read.keys())
        names = ", ".join(unused[:_SHOWN]) + (f" and {len(unused) - _SHOWN} more" if len(unused) > _SHOWN else "")
        return f"; not read by any rule: {names}" if unused else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
