"""Events as lines of JSON: {"t": 36, "stream": "s", "facts": ["a(x1,y)"]}, or {"t": 36, "graph": "<a> <p> <b> ."}.

`t` is a tick or an `xsd:dateTime`; `stream` may be left out; other keys are ignored, so that answers, and what the
late channel holds, can be read back as a stream. An event without facts still says what time it is. A graph is Turtle
in a string, or JSON-LD as it stands; a line that is a document of JSON-LD itself, with the keys that begin with `@`, is
read as one.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from thalweg.connectors.documents import document
from thalweg.connectors.gather import Gatherer, Item
from thalweg.connectors.values import code_facts
from thalweg.diagnostics import Diagnostic, Rejected, Source, Span
from thalweg.languages.lars.facts import FactReader
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.rdf import WrongSyntax, fact_of, read_graph
from thalweg.model.time import FOREVER, Clock

_SHAPE = 'an event looks like {"t": 36, "facts": ["a(x1,y)"]}, or {"t": 36, "graph": "<a> <p> <b> ."}'


class JsonLinesReader:
    """Reads blocks of lines; `scope` tells its blank nodes from others.

    >>> reader = JsonLinesReader(Dictionary(), "in.jsonl", "in", Clock(), "in")
    >>> [(tick, batch.order) for tick, batch in reader.feed(b'{"t": 36, "facts": ["a(x1,y)", "b"]}\\n{"t": 37')]
    [(36, ['a/2', 'b/0'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock, scope: str) -> None:
        self._words = words
        self._scope = scope
        self._name = name
        self._stream = stream
        self._clock = clock
        self._facts = FactReader(name, words)
        self._rest = b""
        self._line = 0

    def feed(self, block: bytes) -> Iterator[Item]:
        lines = (self._rest + block).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._line += 1
            if line and not line.isspace():
                yield from self._events(line)

    def finish(self) -> Iterator[Item]:
        yield from self.feed(b"\n" if self._rest else b"")

    def _events(self, line: bytes) -> Iterator[Item]:
        read = self._event(line)
        if read is not None:
            yield read
            return
        # All documents of a stream are different, so their blank nodes are.
        stated = document(self._line, line, self._name, self._stream, self._clock, f"{self._scope}/{self._line}")
        yield from Gatherer(self._words).gather(stated)

    def _event(self, line: bytes) -> Item | None:
        """The event of a line; None where it is a document of JSON-LD."""
        try:
            # Handed bytes, `json` would let halves of characters pass.
            data = json.loads(line.decode("utf-8-sig"))
            if b"\\u" in line:
                _check_characters(data)
            if _is_json_ld(data):
                return None
            tick = self._tick(data["t"])
            stream = data.get("stream", self._stream)
            if "graph" in data:
                return tick, code_facts(self._graph(data["graph"]), self._words, self._named(stream))
            return tick, self._batch(tick, data["facts"], self._named(stream))
        except WrongSyntax as error:
            return self._wrong(line, f"{error} (at {error.line}:{error.column} of the graph)", self._within(line))
        except RecursionError:
            return self._wrong(line, "this is nested too deeply", help=_SHAPE)
        except json.JSONDecodeError as error:
            return self._wrong(line, f"this is not JSON: {error.msg}", error.pos)
        except UnicodeDecodeError:
            return self._wrong(line, "this is not UTF-8")
        except Rejected as error:
            return self._inside(line, error.diagnostics[0])
        except KeyError as error:
            return self._wrong(line, f"an event needs the key {error}".replace("'", "`"), help=_SHAPE)
        except ValueError as error:
            return self._wrong(line, str(error), help=_SHAPE)
        except (TypeError, AttributeError):
            return self._wrong(line, "this is not an event", help=_SHAPE)

    def _tick(self, time: object) -> int:
        if isinstance(time, str):
            try:
                time = self._clock.tick(time)
            except ValueError:
                raise ValueError(f"`{time}` is no timestamp; a tick is written without quotes") from None
        if isinstance(time, bool) or not isinstance(time, int) or not 0 <= time < FOREVER:
            raise ValueError(f"`{json.dumps(time)}` is no tick")
        return time

    @staticmethod
    def _named(stream: object) -> str | None:
        if stream is not None and not isinstance(stream, str):
            raise ValueError("`stream` is no string")
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
        found = re.search(r'"graph"\s*:\s*', line.decode(errors="replace"))
        return found.end() if found else 0

    def _batch(self, tick: int, facts: object, stream: str | None) -> Batch:
        if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
            raise ValueError("`facts` is no list of strings")
        return self._as_a_fact_stream(tick, facts, stream) or code_facts(facts, self._words, stream)

    def _as_a_fact_stream(self, tick: int, facts: list[str], stream: str | None) -> Batch | None:
        """The facts read as a fact stream, which is fast; None where that does not give just one batch of them all."""
        text = f" at {tick}.\n".join([*facts, ""])
        if text.count("\n") != len(facts) or "/*" in text or "@prefix" in text:
            return None
        self._facts.stream = stream
        match list(self._facts.feed(text)):
            case [(at, Batch(order=order) as batch)] if at == tick and len(order) == len(facts):
                return batch
        return None

    def _inside(self, line: bytes, found: Diagnostic) -> Diagnostic:
        """Moves a diagnostic from the text of a fact to its place in the line."""
        text = line.decode(errors="replace")
        fact = found.span.source.text.removesuffix(".")
        place = max(0, text.find(fact)) + found.span.start
        span = Span(Source(self._name, text, self._line), place, place + found.span.end - found.span.start)
        return replace(found, code="E301", span=span)

    def _wrong(self, line: bytes, message: str, at: int = 0, help: str = "") -> Diagnostic:
        return malformed(self._name, self._line, line, message, at, help)


def _check_characters(data: object) -> None:
    """JSON can spell half of a character, which no text can hold."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise ValueError(f"`{half}` is half a character; write both halves, or the character itself") from None


def _is_json_ld(data: object) -> bool:
    if isinstance(data, list):
        return any(isinstance(one, dict) for one in data)
    return isinstance(data, dict) and any(key.startswith("@") for key in data)


def malformed(name: str, number: int, line: bytes, message: str, at: int = 0, help: str = "") -> Diagnostic:
    """What is wrong with a line of a stream, and where."""
    text = line.decode(errors="replace")
    return Diagnostic("E301", message, Span(Source(name, text, number), at, at + 1), help)
