"""A run on Spark whose answers Python reads: they are delivered to a file, and read from it when the run has ended."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.time import TimeFormat
from thalweg.runtimes import emit, query_answers


class SparkAnswers:
    """A job on Spark, as `Answers` read one; `deliver` runs it, with its answers in a file of JSON Lines."""

    def __init__(self, deliver: Callable[[Path], object], times: TimeFormat) -> None:
        self._deliver = deliver
        self.times = times

    def pieces(self) -> Iterator[emit.AnswerBlock]:
        """The answers, when all of them are there."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "answers.jsonl"
            self._deliver(path)
            with path.open(encoding="utf-8") as lines:
                yield from (answer_of_line(json.loads(line)) for line in lines)

    def __enter__(self) -> "SparkAnswers":
        return self

    def __exit__(self, *_: object) -> None:
        """Spark was stopped when the run ended."""


def answer_of_line(line: dict[str, Any]) -> Any:
    """The answer that a line of JSON stands for, whose times are ticks; `RejectedError` for clashes and events.

    >>> answer_of_line({"t": 3, "begin": ["q(a)"], "end": []})
    Change(t=3, begin=('q(a)',), end=(), partial=False, shed=(), unknown=(), until=())
    """
    marks = line.get("partial", False), tuple(line.get("shed", ()))
    match line:
        case {"t": int(t), "begin": list(begin), "end": list(end)} if _are_texts(begin, end):
            return emit.Change(t, tuple(begin), tuple(end), *marks, tuple(line.get("unknown", ())))
        case {"t": int(t), "facts": list(facts)}:
            return emit.SnapshotRun(t, t, tuple(facts), *marks)
        case {"fact": str(fact), "from": int(start), "until": until}:
            return emit.Interval(fact, start, until, *marks)
        case {"t": int(t), "window": [start, _], "answers": sets}:
            return emit.Solution(t, start, tuple(map(tuple, sets)), line.get("incomplete", False))
        case {"t": int(t), "window": [start, _], "bindings": rows}:
            return query_answers.Bindings(t, start, tuple(json.dumps(row, ensure_ascii=False) for row in rows))
        case {"t": int(t), "window": [start, _], "graph": facts}:
            return query_answers.ConstructedGraph(t, start, tuple(facts))
        case {"t": int(t), "window": [start, _], "answer": bool(truth)}:
            return query_answers.Truth(t, start, truth)
    message = "clashes and events of a run on Spark cannot be read in Python"
    raise RejectedError([Diagnostic("E403", message, help="use `thalweg run --runtime spark --out answers.jsonl`")])


def _are_texts(*lists: Sequence[object]) -> bool:
    return all(isinstance(one, str) for some in lists for one in some)
