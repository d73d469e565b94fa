"""The contestants for a continuous query in `bench rspql`, each from the text of triples to the text of answers.

    compiled      Thalweg, by rules
    fallback      Thalweg, by SPARQL in each window
    add/remove    pyoxigraph: triples are added as they come and removed as they leave, and the query is asked again
    reload        pyoxigraph: each window is loaded into an empty store
    rdflib        the same by rdflib

A window holds the same ticks for all of them, and the answer at a closing tick is that of RSTREAM, or of ISTREAM. No
triple comes twice, so nobody has to count how often one is in a window.
"""

import json
from collections import Counter, deque
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

import numpy as np

from thalweg.answers.jsonl import jsonl
from thalweg.bench.city_streams import CITY, as_lines, background
from thalweg.bench.continuous_queries import BenchmarkQuery
from thalweg.bench.oxigraph import SparqlAnswer, Windows, read_bindings, read_rows
from thalweg.bench.query_ways import PER_WINDOW, RULES, at_work
from thalweg.connectors.ntriples import TripleReader
from thalweg.dataflow.operator_arrivals import Arrivals
from thalweg.model.time import Clock

COMPILED: Final = "compiled"
FALLBACK: Final = "fallback"
ADDED: Final = "add/remove"
RELOADED: Final = "reload"
RDFLIB: Final = "rdflib"

Texts = Mapping[str, str]
"""The lines of N-Triples that each stream brings at a tick."""


class Contestant(Protocol):
    """Answers a query along its streams, from tick 0 on."""

    def add(self, tick: int, texts: Texts) -> None:
        """Takes the triples of the next tick."""

    def answer(self, tick: int) -> str:
        """The answer over the windows that close at the last tick, as text."""

    def read(self, text: str) -> SparqlAnswer:
        """The answer that a text stands for."""


class ThalwegContestant:
    """Thalweg, driven as a run does: triples are read, the part is taken through time, and its answer is printed."""

    def __init__(self, query: BenchmarkQuery, sensors: int, way: str) -> None:
        with TemporaryDirectory() as folder:
            program, city = Path(folder, "query.rspql"), Path(folder, "city.nt")
            program.write_text(query.text, encoding="utf-8")
            city.write_text("".join(as_lines(background(sensors))), encoding="utf-8")
            self._query = at_work(way, program, city)
        words = self._query.dictionary
        self._readers = {
            window.stream: TripleReader(words, window.stream, window.stream, Clock(), window.stream)
            for window in query.windows
        }
        self._batches: list[Any] = []
        self._written: list[str] = []

    def add(self, tick: int, texts: Texts) -> None:
        self._to(tick - 1)
        for stream, text in texts.items():
            lines = text.replace("\n", f"\n{tick} ")
            items = self._readers[stream].feed(f"{tick} {lines[: -len(str(tick)) - 1]}".encode())
            self._batches += [item[1] for item in items if isinstance(item, tuple)]
        if self._query.dictionary.wants_collection:
            waiting = Arrivals(self._batches).words()
            self._query.dictionary.collect(np.concatenate([self._query.evaluator.words_in_use(), *waiting]))

    def _to(self, tick: int) -> None:
        """Takes the reasoner to a tick at which all that comes has come; what it answers is kept."""
        now = self._query.now
        if tick < 0 or (now is not None and now >= tick):
            return
        self._written += [text for answer in self._query.advance(tick, self._batches) for text in jsonl(answer)]
        self._batches = []

    def answer(self, tick: int) -> str:
        self._to(tick)
        text = "".join(self._written)
        self._written.clear()
        return text

    def read(self, text: str) -> SparqlAnswer:
        return read_bindings([row for line in text.splitlines() for row in json.loads(line)["bindings"]])


class OxigraphContestant:
    """pyoxigraph, which is asked again for every window."""

    def __init__(self, query: BenchmarkQuery, sensors: int, reload: bool) -> None:
        graphs = {window.stream: f"{CITY}{window.stream}" for window in query.windows}
        city = "".join(as_lines(background(sensors)))
        self._windows = Windows(query.sparql, graphs, city, query.windows[0].range, reload)
        self._only_new = query.output == "ISTREAM"
        self._before = Counter[str]()

    def add(self, tick: int, texts: Texts) -> None:
        self._windows.add(texts)

    def answer(self, tick: int) -> str:
        header, *rows = self._windows.answer()
        if self._only_new:
            counts = Counter(rows)
            rows, self._before = list((counts - self._before).elements()), counts
        return "".join((header, *rows))

    def read(self, text: str) -> SparqlAnswer:
        return read_rows(text)


class RdflibContestant:
    """rdflib, which loads every window anew."""

    def __init__(self, query: BenchmarkQuery, sensors: int) -> None:
        self._query, self._known = query, "".join(as_lines(background(sensors)))
        self._held: deque[Texts] = deque(maxlen=query.windows[0].range)

    def add(self, tick: int, texts: Texts) -> None:
        self._held.append(texts)

    def answer(self, tick: int) -> str:
        rdflib = import_module("rdflib")
        data = rdflib.Dataset()
        data.default_graph.parse(data=self._known, format="nt")
        for window in self._query.windows:
            graph = data.graph(rdflib.URIRef(f"{CITY}{window.stream}"))
            graph.parse(data="".join(texts[window.stream] for texts in self._held), format="nt")
        answer: bytes = data.query(self._query.sparql).serialize(format="json")
        return answer.decode()

    def read(self, text: str) -> SparqlAnswer:
        return read_rows(text)


MADE: Final[Mapping[str, Callable[[BenchmarkQuery, int], Contestant]]] = {
    COMPILED: lambda query, sensors: ThalwegContestant(query, sensors, RULES),
    FALLBACK: lambda query, sensors: ThalwegContestant(query, sensors, PER_WINDOW),
    ADDED: lambda query, sensors: OxigraphContestant(query, sensors, reload=False),
    RELOADED: lambda query, sensors: OxigraphContestant(query, sensors, reload=True),
    RDFLIB: RdflibContestant,
}
