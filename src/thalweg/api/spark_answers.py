"""A run on Spark whose answers Python reads: they are delivered to a file, and read from it when the run has ended."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from thalweg.answers.answer_formats import AnswerFormat, Formatter
from thalweg.answers.record import Answer
from thalweg.model.records import as_json, of_json
from thalweg.model.time import TimeFormat


@dataclass(frozen=True, slots=True)
class RecordFormat(AnswerFormat):
    """Answers as they are, a record in each line, for the process that reads them back.

    >>> from thalweg.answers.record import changes
    >>> line = "".join(RecordFormat().formatter()(changes(3, ("q(a)",))))
    >>> of_json(json.loads(line)).columns
    (('q(a)',), (), (), ())
    """

    def formatter(self) -> Formatter:
        return lambda answer: (json.dumps(as_json(answer), ensure_ascii=False), "\n")


class SparkAnswers:
    """A job on Spark, as `Answers` read one; `deliver` runs it, with its answers and what is late in two files."""

    def __init__(
        self, deliver: Callable[[Path, Path], object], times: TimeFormat, late: Callable[[str], None] | None = None
    ) -> None:
        self._deliver = deliver
        self._late = late
        self.times = times

    def pieces(self) -> Iterator[Answer]:
        """The answers, when all of them are there."""
        with TemporaryDirectory() as folder:
            answers, late = Path(folder) / "answers", Path(folder) / "late.jsonl"
            self._deliver(answers, late)
            if self._late is not None:
                with late.open(encoding="utf-8") as lines:
                    for line in lines:
                        self._late(line)
            with answers.open(encoding="utf-8") as lines:
                yield from (of_json(json.loads(line)) for line in lines)

    def __enter__(self) -> "SparkAnswers":
        return self

    def __exit__(self, *_: object) -> None:
        """Spark was stopped when the run ended."""
