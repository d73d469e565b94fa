"""Answers that a run wrote, read back for a picture of them: lines of JSON, and tables (`recorded_tables`)."""

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.explain.timeline_chart import Chart, clash_as_fact, event_as_fact, row_as_fact
from thalweg.runtimes.recorded_tables import take_csv, take_parquet
from thalweg.runtimes.recorded_timeline import RecordedTimeline

_WAY_OUT: Final = "give a file that `thalweg run` wrote: `answers.jsonl`, `answers.csv` or `answers.parquet`"


def read_answers(path: Path, tick: int | None = None) -> Chart:
    """The chart of a file of answers; `RejectedError` where it is not one. A `tick` is so many milliseconds long."""
    timeline, name = RecordedTimeline(), path.name.removesuffix(".gz")
    take = take_csv if name.endswith(".csv") else take_lines
    try:
        if name.endswith(".parquet"):
            take_parquet(timeline, path)
        else:
            opening = gzip.open if path.suffix == ".gz" else open
            with opening(path, "rt", encoding="utf-8", newline="") as file:
                take(timeline, file, str(path))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise RejectedError([Diagnostic("E401", f"cannot read `{path}`: {reason}")]) from error
    return timeline.chart(tick)


def take_lines(timeline: RecordedTimeline, lines: Iterable[str], name: str) -> None:
    """Takes lines of JSON; `RejectedError` where one is not an answer.

    >>> timeline = RecordedTimeline()
    >>> lines = '{"t":3,"begin":["jam(a)"],"end":[]}', '{"t":9,"begin":[],"end":["jam(a)"]}'
    >>> take_lines(timeline, lines, "answers.jsonl")
    >>> [(fact, spans[0].start, spans[0].end) for group in timeline.chart().groups for fact, spans in group.rows]
    [('jam(a)', 3, 9)]
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                _take(timeline, json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise RejectedError([Diagnostic("E301", f"{name}:{number}: not an answer", help=_WAY_OUT)]) from None


def _take(timeline: RecordedTimeline, data: Mapping[str, Any]) -> None:
    """One line: changes, a snapshot, an interval, answers of a window, or an event."""
    if "fact" in data or ("individual" in data and "axiom" in data):
        timeline.interval(_name(data.get("fact") or data), data["from"], data["until"])
    elif "event" in data:
        bound = [data["individual"]] if "individual" in data else data.get("bindings", {}).values()
        timeline.interval(event_as_fact(data["event"], bound), data["from"], data["to"])
    elif "begin" in data:
        ended = map(_name, [*data["end"], *data.get("unknown", ())])
        timeline.change(data["t"], map(_name, data["begin"]), ended)
    elif "facts" in data:
        timeline.snapshot(data["t"], data["facts"])
    elif "inconsistent" in data and all("axiom" in clash for clash in data["inconsistent"]):
        timeline.snapshot(data["t"], map(_name, data["inconsistent"]))
    elif "answers" in data:
        timeline.solution(data["t"], data["answers"][0] if data["answers"] else ())
    elif "graph" in data:
        timeline.at(data["t"], data["graph"])
    elif "bindings" in data:
        timeline.at(data["t"], map(row_as_fact, data["bindings"]))
    elif "answer" in data:
        timeline.at(data["t"], ["ask"] if data["answer"] else [])
    elif not data.keys() & {"inconsistent", "undecided"}:
        raise ValueError


def _name(entry: Any) -> str:
    """A fact, or a clash as one."""
    return entry if isinstance(entry, str) else clash_as_fact(entry["individual"], entry["axiom"])
