"""Events as lines of JSON: {"t": 36, "stream": "s", "facts": ["a(x1,y)"]}, or {"t": 36, "graph": "<a> <p> <b> ."}.

`t` is a tick or an `xsd:dateTime`; `stream` may be left out; other keys are ignored, so that answers, and what the
late channel holds, can be read back as a stream. An event without facts still says what time it is. A graph is Turtle
in a string, or JSON-LD as it stands; a line that is a document of JSON-LD itself, with the keys that begin with `@`, is
read as one.

Most lines have one fact each, so what costs is gathered: consecutive lines of a block with one tick and stream become
one batch. Only where a fact of them is malformed are they read one by one, so that no other line is lost.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, Final

from thalweg.connectors.batches import Item, code_facts
from thalweg.connectors.documents import document
from thalweg.connectors.lines import LineError, LineReader, State, undecodable, wrong_line
from thalweg.connectors.mapping.propose import proposal_for_message
from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.languages.lars.facts import FactReader, TimedFacts, is_unicode
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.local_times import SkippedTimeError
from thalweg.model.rdf import RdfSyntaxError, fact_of, read_graph
from thalweg.model.time import MOST_TICKS, Clock

_HALF: Final = re.compile("[\ud800-\udfff]")
_SHAPE = 'an event looks like {"t": 36, "facts": ["a(x1,y)"]}, or {"t": 36, "graph": "<a> <p> <b> ."}'


_UNCLEAR: Final[TimedFacts] = (-1, None, [])
# What stands for the value of a line without content, and of one that is not JSON.
_BLANK: Final = None
_WRONG: Final = False
# One object in all values, so that it is found though it does not equal itself.
_NAN: Final = json.loads("NaN")
# Lines that are parsed together, and facts that are coded together: more would burden the garbage collector.
_TOGETHER: Final = 256


class JsonLinesReader(LineReader):
    """Reads JSON Lines; `_lines` are those of the blocks so far, `_line` is the one that is looked at closely.

    >>> reader = JsonLinesReader(Dictionary(), "in.jsonl", "in", Clock(), "in")
    >>> [(tick, batch.order) for tick, batch in reader.feed(b'{"t": 36, "facts": ["a(x1,y)", "b"]}\\n{"t": 37')]
    [(36, ['a/2', 'b/0'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock, scope: str = "") -> None:
        super().__init__(words, name, stream, clock, scope)
        self._words = words
        self._facts = FactReader(name, words)
        self._lines = 0

    def save(self) -> State:
        return {**super().save(), "lines": self._lines}

    def load(self, saved: State) -> None:
        super().load(saved)
        self._lines = saved["lines"]

    def _lines_read(self) -> int:
        return self._lines

    def _decoded(self, lines: bytes) -> Iterator[Item]:
        return iter(self._items(lines.removesuffix(b"\n"))) if lines else iter(())

    def _items(self, data: bytes) -> Iterable[Item]:
        before = self._lines
        self._lines += data.count(b"\n") + 1
        try:
            lines = data.decode().split("\n")
        except UnicodeDecodeError:
            return self._one_by_one(data.split(b"\n"), before)
        return chain.from_iterable(self._batches(*runs, lines, before) for runs in self._runs(parse_lines(lines)))

    def _batches(self, runs: list[TimedFacts], begins: list[int], lines: list[str], before: int) -> Iterable[Item]:
        """The batches of some runs; where a fact is malformed its run is read line by line, and only its line lost."""
        batches = None if runs[0][0] < 0 else self._facts.batches(runs)
        if batches is not None:
            return _counted(batches, begins, lines)
        if len(runs) == 1:
            begin, end = begins
            return self._one_by_one([line.encode() for line in lines[begin:end]], before + begin)
        spans = zip(runs, pairwise(begins), strict=True)
        return chain.from_iterable(self._batches([run], [*span], lines, before) for run, span in spans)

    def _runs(self, values: Iterable[Any]) -> Iterator[tuple[list[TimedFacts], list[int]]]:
        """Consecutive events with one tick and stream as one, many of them together, and the place of each.

        What needs a closer look comes alone, with a negative tick.
        """
        runs: list[TimedFacts] = []
        begins: list[int] = []
        tick, stream, facts = _UNCLEAR
        for place, value in enumerate(values):
            event = self._plain(value)
            if event[0] == tick >= 0 and event[1] == stream:
                facts += event[2]
            elif value is not _BLANK:
                if runs and (len(runs) == _TOGETHER or event[0] < 0 or tick < 0):
                    yield runs, [*begins, place]
                    runs, begins = [], []
                tick, stream, facts = event
                runs.append(event)
                begins.append(place)
        if runs:
            yield runs, [*begins, place + 1]

    def _plain(self, data: Any) -> TimedFacts:
        """The event of a value that has facts; a negative tick where its line needs a closer look."""
        try:
            time, facts, stream = data["t"], data["facts"], self._stream
            if len(data) > 2:
                if not _is_plain(data):
                    return _UNCLEAR
                stream = self._named(data.get("stream", stream))
            if type(time) is not int or not 0 <= time < MOST_TICKS:
                time = self._tick(time)
            else:
                self._clock.notation.bare = True
        except (ValueError, TypeError, KeyError):
            return _UNCLEAR
        return (time, stream, facts) if type(facts) is list else _UNCLEAR

    def line(self, line: bytes, number: int) -> Iterator[Item]:
        """The items of one line, which has a number."""
        return self._one_by_one([line], number - 1)

    def _one_by_one(self, lines: list[bytes], before: int) -> Iterator[Item]:
        for number, line in enumerate(lines, before + 1):
            self._line = number
            if line and not line.isspace():
                yield from self._events(line)

    def _events(self, line: bytes) -> Iterator[Item]:
        read = self._event(line)
        if read is not None:
            yield read
            return
        # All documents of a stream are different, so their blank nodes are.
        stated = document(self._line, line, self._name, self._stream, self._clock, f"{self._scope}/{self._line}")
        yield from self._gatherer.gather(stated)

    def _event(self, line: bytes) -> Item | None:
        """The event of a line; None where it is a document of JSON-LD."""
        try:
            data = _loaded(line)
            if _is_json_ld(data):
                return None
            tick = self._tick(data["t"])
            stream = data.get("stream", self._stream)
            if "graph" in data:
                batch = code_facts(self._graph(data["graph"]), self._words, self._named(stream))
                batch.graphs.append(("", len(batch.order)))
                return tick, batch
            batch = self._batch(data["facts"], self._named(stream))
            batch.arrived = 1
            return tick, batch
        except RdfSyntaxError as error:
            return self._wrong(line, f"{error} (at {error.line}:{error.column} of the graph)", self._within(line))
        except json.JSONDecodeError as error:
            return self._wrong(line, f"this is not JSON: {error.msg}", error.pos)
        except UnicodeDecodeError as error:
            wrong = undecodable(line, error)
            return self._wrong(line, str(wrong), wrong.at)
        except RecursionError:
            return self._wrong(line, "this is nested too deeply", help=_SHAPE)
        except RejectedError as error:
            return self._inside(line, error.diagnostics[0])
        except KeyError as error:
            message, data = f"an event needs the key {error}".replace("'", "`"), _loaded(line)
            stated = data.keys() & {"t", "facts", "graph"}
            return self._wrong(line, message, help=_SHAPE if stated else proposal_for_message(data))
        except ValueError as error:
            return self._wrong(line, str(error), help=_SHAPE)
        except (TypeError, AttributeError):
            return self._wrong(line, "this is not an event", help=_SHAPE)

    def _tick(self, time: object) -> int:
        if isinstance(time, str):
            try:
                time = self._clock.tick(time)
            except SkippedTimeError:
                raise
            except ValueError:
                raise ValueError(f"`{time}` is not a timestamp; a tick is written without quotes") from None
        else:
            self._clock.notation.bare = True
        if isinstance(time, bool) or not isinstance(time, int) or not 0 <= time < MOST_TICKS:
            raise ValueError(f"`{json.dumps(time)}` is not a tick")
        return time

    @staticmethod
    def _named(stream: object) -> str | None:
        if stream is not None and not isinstance(stream, str):
            raise ValueError("`stream` is not a string")
        if not is_unicode(stream or ""):
            raise ValueError("`stream` has half a surrogate pair, which is not a character")
        return stream

    def _graph(self, graph: object) -> list[Fact]:
        if not isinstance(graph, str | list | dict):
            raise ValueError("`graph` is neither Turtle in a string nor JSON-LD")
        data, format = (graph, "turtle") if isinstance(graph, str) else (json.dumps(graph), "jsonld")
        quads = read_graph(data.encode(), format, scope=f"{self._scope}/{self._line}")
        return [fact_of(*quad[:3]) for quad in quads]

    @staticmethod
    def _within(line: bytes) -> int:
        """The place of a graph in its line."""
        match = re.search(r'"graph"\s*:\s*', line.decode(errors="replace"))
        return match.end() if match else 0

    def _batch(self, facts: object, stream: str | None) -> Batch:
        if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
            raise ValueError("`facts` is not a list of strings")
        return code_facts(facts, self._words, stream)

    def _inside(self, line: bytes, diagnostic: Diagnostic) -> Diagnostic:
        """Moves a diagnostic from the text of a fact to its place in the line."""
        text = line.decode(errors="replace")
        fact = diagnostic.span.source.text.removesuffix(".")
        place = max(0, text.find(fact)) + diagnostic.span.start
        span = Span(Source(self._name, text, self._line), place, place + diagnostic.span.end - diagnostic.span.start)
        return replace(diagnostic, code="E301", span=span)

    def _wrong(self, line: bytes, message: str, at: int = 0, help: str = "") -> Diagnostic:
        text = line.decode(errors="replace")
        return wrong_line(self._name, self._line, text, LineError(message, at), help)


def _counted(batches: Iterable[tuple[int, Batch]], begins: Sequence[int], lines: Sequence[str]) -> Iterator[Item]:
    """Batches with the number of lines that each came in."""
    for (tick, batch), (begin, end) in zip(batches, pairwise(begins), strict=True):
        batch.arrived = end - begin - lines[begin:end].count("")
        yield tick, batch


def parse_lines(lines: list[str]) -> Iterator[Any]:
    """The JSON value of each line: None for those without content, False for those that are not JSON.

    >>> list(parse_lines(['{"a": 1}', "", "{"]))
    [{'a': 1}, None, False]
    """
    return chain.from_iterable(_parse(lines[start : start + _TOGETHER]) for start in range(0, len(lines), _TOGETHER))


def _parse(lines: list[str]) -> list[Any]:
    """The values of some lines, parsed at once, which takes half the time; half of them where one is not JSON.

    `NaN` is put between the lines, and must be found there again: so two broken ones cannot complete each other.
    """
    joined = ",NaN,".join(lines if all(lines) else [line or "null" for line in lines])
    marks = len(lines) - 1
    try:
        values: list[Any] = json.loads(f"[{joined}]")
    except (ValueError, RecursionError):
        values = []
    if joined.count("NaN") == values[1::2].count(_NAN) == marks and len(values) == 2 * marks + 1:
        return values[::2]
    middle = len(lines) // 2
    return [*_parse(lines[:middle]), *_parse(lines[middle:])] if middle else [_WRONG]


def _loaded(line: bytes) -> Any:
    """The value of a line; `ValueError` where an escape in it is half of a surrogate pair, which no text can hold."""
    # Handed bytes, `json` would let halves of characters pass.
    data = json.loads(line.decode("utf-8-sig"))
    if b"\\u" in line and _HALF.search(json.dumps(data, ensure_ascii=False)):
        raise ValueError("an escape such as `\\ud800` is half of a surrogate pair")
    return data


def _is_json_ld(data: object) -> bool:
    if isinstance(data, list):
        return any(isinstance(element, dict) for element in data)
    return isinstance(data, dict) and any(key.startswith("@") for key in data)


def _is_plain(data: dict[str, object]) -> bool:
    """Whether an event with further keys has nothing but facts: no graph, and none of the keys of JSON-LD."""
    return (len(data) == 3 and "stream" in data) or ("graph" not in data and not _is_json_ld(data))
