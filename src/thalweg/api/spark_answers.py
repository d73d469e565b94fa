"""A run on Spark whose answers Python reads: they are delivered to a file, and read from it when the run has ended."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from thalweg.ir.pattern_semantics import Instance
from thalweg.model.time import TimeFormat
from thalweg.runtimes import emit, query_answers
from thalweg.runtimes.consistency import clashes
from thalweg.runtimes.event_answers import AbstractEvent, ComplexEvent, EventAnswers, EventLine, RejectedEvents


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
    """The block of answers that a line of JSON stands for, whose times are ticks.

    >>> answer_of_line({"t": 3, "begin": ["q(a)"], "end": []})
    Change(t=3, begin=('q(a)',), end=(), partial=False, shed=(), unknown=(), until=())
    """
    marks = line.get("partial", False), tuple(line.get("shed", ()))
    match line:
        case {"t": int(t), "begin": list(begin), "end": list(end)}:
            unknown = line.get("unknown", ())
            kind = emit.Change if _are_texts(begin, end, unknown) else clashes.ClashChange
            return kind(t, _texts(begin), _texts(end), *marks, _texts(unknown))
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
        case {"t": int(t), "inconsistent": list(found)} if all("axiom" in one for one in found):
            return clashes.Clashing(t, t, _texts(found), *marks)
        case {"individual": _, "axiom": _, "from": int(start), "until": until}:
            return clashes.ClashInterval(_texts([line])[0], start, until, *marks)
    return EventAnswers((_event(line),))


def _event(line: dict[str, Any]) -> EventLine:
    t = line["t"]
    match line:
        case {"event": str(event), "individual": str(individual), "from": int(at)}:
            return AbstractEvent(t, event, individual, line.get("graph", ""), None if at == t else at)
        case {"event": _, "bindings": dict(bindings)}:
            return ComplexEvent(t, _instance(line), tuple(bindings.items()))
    why = "inconsistent" if "inconsistent" in line else "undecided"
    return RejectedEvents(t, why, tuple(one.get("graph", "") for one in line[why]))


def _instance(event: dict[str, Any]) -> Instance:
    """An event as it stands inside of another."""
    inside = tuple(map(_instance, event.get("events", ())))
    about = event.get("individual", ""), event.get("graph", "")
    return Instance(event["event"], event["from"], event["to"], *about, inside)


def _are_texts(*lists: Sequence[object]) -> bool:
    return all(isinstance(one, str) for some in lists for one in some)


def _texts(found: Iterable[str | dict[str, Any]]) -> tuple[str, ...]:
    """Facts as they are, and clashes as the texts that stand for them."""
    return tuple(one if isinstance(one, str) else str(clashes.Clash.read(json.dumps(one))) for one in found)
