"""What a continuous query answers when a window closes: rows, a graph, or a truth value.

    SELECT       {"t":40,"window":[38,40],"bindings":[{"x":"<…>","n":"3"}]}
    CONSTRUCT    {"t":40,"window":[38,40],"graph":["<p>(<s>,<o>)"]}
    ASK          {"t":40,"window":[38,40],"answer":true}

A graph can be written in every format, because it is facts; rows and truth values are lines of JSON only.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import NoReturn

from thalweg.connectors.publish import Graph
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.records import record
from thalweg.model.time import AS_TICKS, TimeFormat


@record
@dataclass(frozen=True, slots=True)
class Bindings:
    """Rows, each as an object of JSON with the terms of its variables; those that are unbound are left out.

    >>> answer = Bindings(40, 38, ('{"x":"<http://ex.org/a>","n":"3"}',))
    >>> print(answer)
    {"t":40,"window":[38,40],"bindings":[{"x":"<http://ex.org/a>","n":"3"}]}
    >>> answer.rows
    [{'x': '<http://ex.org/a>', 'n': '3'}]
    """

    t: int
    start: int
    objects: tuple[str, ...]

    @property
    def rows(self) -> list[dict[str, str]]:
        """The terms of each row by their variables."""
        return [json.loads(text) for text in self.objects]

    def __str__(self) -> str:
        return self.jsonl()[:-1]

    def answers(self) -> Iterator["Bindings"]:
        yield self

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        return _line(times, self.t, self.start, "bindings", f"[{','.join(self.objects)}]")

    def atoms(self, times: TimeFormat = AS_TICKS) -> NoReturn:
        raise _not_facts("rows of a SELECT")

    def graphs(self, times: TimeFormat) -> NoReturn:
        raise _not_facts("rows of a SELECT")


@record
@dataclass(frozen=True, slots=True)
class ConstructedGraph:
    """The graph of a CONSTRUCT, as facts in order.

    >>> print(ConstructedGraph(40, 38, ("<p>(<s>,<o>)",)))
    {"t":40,"window":[38,40],"graph":["<p>(<s>,<o>)"]}
    """

    t: int
    start: int
    facts: tuple[str, ...]

    def __str__(self) -> str:
        return self.jsonl()[:-1]

    def answers(self) -> Iterator["ConstructedGraph"]:
        yield self

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        return _line(times, self.t, self.start, "graph", f"[{','.join(map(quoted, self.facts))}]")

    def atoms(self, times: TimeFormat = AS_TICKS) -> str:
        """`<p>(<s>,<o>) at 40.`, one fact a line."""
        return "".join(f"{fact} at {times.atom(self.t)}.\n" for fact in self.facts)

    def graphs(self, times: TimeFormat) -> Iterator[Graph]:
        """One, if it has triples: an event of a stream that can be read again."""
        from thalweg.answers.emit import SnapshotRun

        return SnapshotRun(self.t, self.t, self.facts).graphs(times)


@record
@dataclass(frozen=True, slots=True)
class Truth:
    """The answer of an ASK.

    >>> print(Truth(40, 38, True))
    {"t":40,"window":[38,40],"answer":true}
    """

    t: int
    start: int
    answer: bool

    def __str__(self) -> str:
        return self.jsonl()[:-1]

    def answers(self) -> Iterator["Truth"]:
        yield self

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        return _line(times, self.t, self.start, "answer", "true" if self.answer else "false")

    def atoms(self, times: TimeFormat = AS_TICKS) -> NoReturn:
        raise _not_facts("answers of an ASK")

    def graphs(self, times: TimeFormat) -> NoReturn:
        raise _not_facts("answers of an ASK")


QueryAnswer = Bindings | ConstructedGraph | Truth


def _line(times: TimeFormat, tick: int, start: int, key: str, written: str) -> str:
    begin, end = times.json(start), times.json(tick)
    return f'{{"t":{end},"window":[{begin},{end}],"{key}":{written}}}\n'


def _not_facts(what: str) -> RejectedError:
    message = f"{what} are not facts, so they cannot be written as atoms or as RDF"
    return RejectedError(
        [Diagnostic("E403", message, help="use `--format jsonl`, `text`, `csv` or `parquet`, or a CONSTRUCT")]
    )
