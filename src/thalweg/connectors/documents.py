"""Documents with named graphs as streams: TriG, and JSON-LD of one document or many.

A parser reads a document from its beginning to its end, and a stream may have none. So it is cut: TriG behind every
graph, where what was declared before holds on; JSON-LD behind every document, each of which stands for itself. What is
wrong costs the piece that it stands in.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from thalweg.connectors.batches import Gatherer, Item, Statement
from thalweg.connectors.graphs import EventGraphs, LinePlace, misread
from thalweg.connectors.lines import LineError, State, wrong_line
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.encoding import Recoder, line_ends
from thalweg.model.rdf import LONGEST_TERM, Document, Quad, RdfSyntaxError, read_graph
from thalweg.model.time import Clock

Piece = tuple[int, bytes]
"""The number of the line at which it begins, and its text."""

_COSTS: Final = "the {} with the error is lost; `--on-error skip` continues after it"
_NOTHING: Final = "a property is an IRI, or a term that the `@context` defines; JSON-LD ignores all others"

# What may hold a brace that closes no graph: strings, IRIs, comments, escapes. What only begins as one may go on in
# the next block, or is a mistake.
TRIG: Final = re.compile(
    rb'"""(?:[^"\\]++|\\.|"(?!""))*+"""|"(?!"")(?:[^"\\\n\r]++|\\.)*+"'
    rb"|'''(?:[^'\\]++|\\.|'(?!''))*+'''|'(?!'')(?:[^'\\\n\r]++|\\.)*+'"
    rb"|<[^<>\x00-\x20\x22{}|^`]*>|#[^\n\r]*[\n\r]|\\.|(?P<end>\})|(?P<open>[\"'<#\\])",
    re.DOTALL,
)
JSON: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|(?P<begin>[{\[])|(?P<end>[}\]])|(?P<open>")', re.DOTALL)
# What cannot be the beginning of something that goes on: a string or an IRI ends on its line.
_BROKEN: Final = re.compile(rb"""["'](?!["']{2})[^\n\r]*+[\n\r]|<[^\s<>"{}|^`]*+[\s<"{}|^`]""")
_LINE_END: Final = re.compile(rb"\r|\n")


class Cutter:
    """Cuts blocks into pieces that can be parsed; nothing is looked at twice, unless it goes on in the next block.

    >>> cutter = Cutter(TRIG)
    >>> cutter.cut(b'@prefix : <http://a/> . :g { :a :p "}" } :h { :a'), cutter.cut(b" :p :c } # end")
    ([(1, b'@prefix : <http://a/> . :g { :a :p "}" }')], [(1, b':h { :a :p :c }')])
    >>> Cutter(JSON).cut(b'{"a": ["}"]}\\n{"b": 3} {')
    [(1, b'{"a": ["}"]}'), (2, b'{"b": 3}')]
    """

    def __init__(self, tokens: re.Pattern[bytes]) -> None:
        self._tokens = tokens
        self._text = b""
        self._position = 0
        self._depth = 0
        self._line = 1
        self._skips = False

    def cut(self, block: bytes) -> list[Piece]:
        """The pieces that are complete; one ends in a literal that is too long, and the rest of its line is skipped."""
        if self._skips:
            block = block[block.find(b"\n") :] if b"\n" in block else b""
            self._skips = not block
        self._text += block
        pieces, start = [], 0
        for end in self._ends():
            pieces.append(self._piece(start, end))
            start = end
        self._text, self._position = self._text[start:], self._position - start
        return pieces

    def save(self) -> State:
        """What has been looked at and is not a whole piece, as JSON."""
        about = {"position": self._position, "depth": self._depth, "line": self._line, "skips": self._skips}
        return {**about, "text": self._text.decode("latin-1")}

    def load(self, saved: State) -> None:
        """Goes on where another one was saved."""
        self._text, self._position = saved["text"].encode("latin-1"), saved["position"]
        self._depth, self._line, self._skips = saved["depth"], saved["line"], saved["skips"]

    def rest(self) -> list[Piece]:
        """The remaining piece at the end of the text, if any."""
        return [self._piece(0, len(self._text))] if self._text.strip() else []

    def _ends(self) -> Iterator[int]:
        while token := self._tokens.search(self._text, self._position):
            if self._goes_on(token):
                self._position = token.start()
                if len(self._text) - self._position > LONGEST_TERM:
                    self._position, self._depth, self._skips = len(self._text), 0, True
                    yield self._position
                return
            self._position = token.start() + 1 if token.lastgroup == "open" else token.end()
            self._depth += (token.lastgroup == "begin") - (token.lastgroup == "end")
            if token.lastgroup == "end" and self._depth <= 0:
                self._depth = 0
                yield self._position
        self._position = len(self._text)

    def _goes_on(self, token: re.Match[bytes]) -> bool:
        if token.lastgroup == "open":
            return not _BROKEN.match(self._text, token.start())
        return token.lastgroup is None and token.end() == len(self._text)

    def _piece(self, start: int, end: int) -> Piece:
        text = self._text[start:end]
        piece = text.lstrip()
        line = self._line + line_ends(text[: len(text) - len(piece)])
        self._line += line_ends(text)
        return line, piece


class _PieceReader:
    """Reads blocks, which it cuts into pieces."""

    def __init__(self, words: Dictionary, tokens: re.Pattern[bytes]) -> None:
        self._gatherer = Gatherer(words)
        self._recoder = Recoder()
        self._cutter = Cutter(tokens)

    def feed(self, block: bytes) -> Iterator[Item]:
        """The items of the pieces that are complete."""
        return self._gatherer.gather(self._statements(self._cutter.cut(self._recoder.feed(block))))

    def finish(self) -> Iterator[Item]:
        """The items of what is left."""
        yield from self._gatherer.gather(self._statements(self._cutter.rest()))
        yield from self._gatherer.gather(self._remaining())

    def save(self) -> State:
        """The state to resume from behind the last block: a piece means what all before it declare."""
        return {"recoder": self._recoder.save(), "cutter": self._cutter.save()}

    def load(self, saved: State) -> None:
        """Goes on where another reader was saved."""
        self._recoder.load(saved["recoder"])
        self._cutter.load(saved["cutter"])

    def _statements(self, pieces: Iterable[Piece]) -> Iterator[Statement | Diagnostic]:
        raise NotImplementedError

    def _remaining(self) -> Iterable[Statement | Diagnostic]:
        return ()


class TrigReader(_PieceReader):
    """Reads blocks of TriG.

    >>> reader = TrigReader(Dictionary(), "in.trig", "in", Clock(), "in")
    >>> text = '@prefix prov: <http://www.w3.org/ns/prov#> . <e1> prov:generatedAtTime 36 . <e1> { <a> <p> <b> }'
    >>> list(reader.feed(text.encode()))
    []
    >>> [(tick, batch.order) for tick, batch in reader.finish()]
    [(36, ['<p>/2'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock, scope: str) -> None:
        super().__init__(words, TRIG)
        self._name = name
        self._events = EventGraphs(name, stream, clock)
        self._document = Document("trig", scope=scope)

    def _statements(self, pieces: Iterable[Piece]) -> Iterator[Statement | Diagnostic]:
        for line, piece in pieces:
            quads, wrong = self._quads(piece)
            yield from stated(self._events, self._name, line, piece, quads)
            if wrong is not None:
                yield misread("E301", self._name, line, wrong, _COSTS.format("graph"))

    def _remaining(self) -> Iterator[Statement | Diagnostic]:
        return self._events.rest()

    def save(self) -> State:
        return {**super().save(), "events": self._events.save(), "document": self._document.save()}

    def load(self, saved: State) -> None:
        super().load(saved)
        self._events.load(saved["events"])
        self._document.load(saved["document"])

    def _quads(self, piece: bytes) -> tuple[list[Quad], RdfSyntaxError | None]:
        quads: list[Quad] = []
        try:
            quads.extend(self._document.read(piece))
        except RdfSyntaxError as wrong:
            # Half a graph would be another event; only the descriptions before it count.
            return [quad for quad in quads if quad[3] is None], wrong
        return quads, None


class JsonLdReader(_PieceReader):
    """Reads blocks of JSON-LD: one document after the other.

    >>> reader = JsonLdReader(Dictionary(), "in.jsonld", "in", Clock(), "in")
    >>> time = '"http://www.w3.org/ns/prov#generatedAtTime": 36'
    >>> text = f'{{"@id": "e1", {time}, "@graph": {{"@id": "a", "http://ex.org/p": {{"@id": "b"}}}}}}'
    >>> [(tick, batch.order) for tick, batch in reader.feed(text.encode())]
    [(36, ['<http://ex.org/p>/2'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock, scope: str) -> None:
        super().__init__(words, JSON)
        self._context = name, stream, clock
        self._scope = scope
        self._count = 0

    def _statements(self, pieces: Iterable[Piece]) -> Iterator[Statement | Diagnostic]:
        for line, piece in pieces:
            # The first document is the only one in most files, and its blank nodes are called after the file alone.
            scope = f"{self._scope}/{self._count}" if self._count else self._scope
            self._count += 1
            yield from document(line, piece, *self._context, scope)

    def save(self) -> State:
        return {**super().save(), "count": self._count}

    def load(self, saved: State) -> None:
        super().load(saved)
        self._count = saved["count"]


def document(
    line: int, text: bytes, name: str, stream: str | None, clock: Clock, scope: str
) -> Iterator[Statement | Diagnostic]:
    """Yields the statements of a complete JSON-LD document; its graphs may stand in any order."""
    try:
        quads = list(read_graph(text, "jsonld", scope=scope))
    except RdfSyntaxError as wrong:
        yield misread("E301", name, line, wrong, _COSTS.format("document"))
        return
    if not quads and text.strip(b" \t\r\n[]{}"):
        yield wrong_line(name, line, _first_line(text), LineError("this document has no triples", 0), _NOTHING)
    graphs: dict[str | None, list[Quad]] = {None: []}
    for quad in quads:
        graphs.setdefault(quad[3], []).append(quad)
    events = EventGraphs(name, stream, clock)
    yield from stated(events, name, line, text, [quad for graph in graphs.values() for quad in graph])
    yield from events.rest()


def stated(
    events: EventGraphs, name: str, line: int, text: bytes, quads: Iterable[Quad]
) -> Iterator[Statement | Diagnostic]:
    """Takes the quads of a text, which begins at a line; yields the events that they complete."""
    outside, inside = _place(line, text, b"generatedAtTime"), _place(line, text, b"{")
    for quad in quads:
        place = outside if quad[3] is None else inside
        try:
            yield from events.take(place, *quad)
        except ValueError as error:
            yield wrong_line(name, place.line, place.text, error, "")


def _first_line(text: bytes) -> str:
    return _LINE_END.split(text, 1)[0].decode(errors="replace")


def _place(line: int, text: bytes, sign: bytes) -> LinePlace:
    """The line of a text on which something stands for the first time; parsers do not say where their quads stood."""
    position = max(0, text.find(sign))
    begins = max(text.rfind(b"\n", 0, position), text.rfind(b"\r", 0, position)) + 1
    return LinePlace(line + line_ends(text[:begins]), _first_line(text[begins:]))
