"""What reads each kind of document, and what may become of it: an answer, or a diagnostic that can be printed.

Functions of the Python API that take options as text may also raise a plain `ValueError` with a sentence.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final
from zlib import crc32

from typer.testing import CliRunner

import thalweg
from fuzz.seeds import SAVED, command_in, saved_run
from thalweg import Event, FailedError, RejectedError, api, load
from thalweg.answers.answer_formats import FORMATS, formatter
from thalweg.api import SolveOptions, Timing
from thalweg.cli import app
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.ontology_documents import read_triples
from thalweg.connectors.open import open_stream
from thalweg.connectors.readers import open_reader
from thalweg.diagnostics import CATALOGUE, Diagnostic, Source
from thalweg.engine.checkpoint import MismatchError
from thalweg.explain.rule_plan import explain
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.asp.directives import signatures
from thalweg.languages.deployment.read_deployment import read_deployment
from thalweg.languages.lars.facts import read_fact
from thalweg.model.arrow import DamagedError, decode
from thalweg.model.byte_size import size_in_bytes
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import FOREVER, Clock, milliseconds

MOST_NODES: Final = 100
"""Of a rule that is run: atoms that have nothing in common have more answers than anyone can wait for."""
MEMORY: Final = 6 << 20
"""For a run: a program that counts for ever ends soon."""
EVENTS: Final = [
    (1, ["p(1)", "e(1,a)", "p(a)"]),
    (2, ["e(a,2.5)", "e(2.5,1)", "k"]),
    (3, []),
    (4, ["p(7)", 'e(7,"b c")', "p(1)", "<http://ex.org/q>(a)"]),
    (9, ["p(<http://ex.org/x>)", "k", "e(1,1)"]),
]
_PROGRAM: Final = """
a(X) :- p(X) in [3], not e(X,_).
b(X,Y) :- e(X,Y) in [2 # e/2].
b(X,Z) :- b(X,Y), <p>(Y,Z) in [5].
n(N) :- k, N = count{X : p(X) in [9]}.
c(X,Y) :- <http://ex.org/p>(X,Y) in [10 sec], X != Y.
d(S,V) :- speed(S,V), V > 10.
"""
_TRIPLES: Final = [
    (5, ["<http://ex.org/p>(<http://ex.org/a>,1)", "<urn:thalweg:e>(<http://ex.org/a>,<http://ex.org/b>)", "<C>(_:b)"]),
    (7, ["<http://ex.org/e>(<http://ex.org/b>,<http://ex.org/a>)", '<http://ex.org/p>(<b>,"b c")', "e(<a>,text)"]),
]
_KNOWN: Final = "@prefix : <http://ex.org/> . :a :p :b . :g { :a a :Room . :b :e 3 }"
# What Python says of itself, and no user should have to read.
_PYTHONS_OWN: Final = re.compile(
    r"Exceeds the limit|codec can't|invalid literal|object has no|expected str|got an unexpected|'int'|'str'"
)


@dataclass(frozen=True, slots=True)
class Target:
    """What reads documents of a kind; `weight` is the share of inputs that it gets."""

    name: str
    kind: str
    words: str
    weight: float
    read: Callable[[Path, bytes], None]

    def attempt(self, folder: Path, data: bytes) -> None:
        """Reads a document; raises what is neither an answer nor a diagnostic.

        What is chosen at random on the way depends on the document alone, so that a document is all there is to keep.
        """
        path = folder / f"in{self.name.partition('.')[1]}{self.name.partition('.')[2]}"
        try:
            self.read(path, data)
        except RejectedError as error:
            _look(error.diagnostics)
        except FailedError as error:
            _look([error.diagnostic])


def _look(found: Iterable[Diagnostic]) -> None:
    """A diagnostic must be in the catalogue, and printable in every way."""
    for one in found:
        assert one.code in CATALOGUE
        assert one.render().encode()
        assert json.dumps(one.as_data(), ensure_ascii=False).encode()


def _stream(path: Path, data: bytes) -> None:
    """The events of a stream, in blocks that are cut anywhere."""
    words, clock = Dictionary(), Clock()
    reader = open_reader(path.name, "in", words, clock)
    for block in _blocks(data):
        _take(reader.feed(block), words)
    _take(reader.finish(), words)


def _blocks(data: bytes) -> Iterator[bytes]:
    random = Random(crc32(data))
    while data:
        size = random.choice((len(data), 1 + random.randrange(len(data))))
        yield data[:size]
        data = data[size:]


def _take(items: Iterable[object], words: Dictionary) -> None:
    for item in items:
        if isinstance(item, Diagnostic):
            _look([item])
        else:
            tick, batch = item  # type: ignore[misc]
            assert 0 <= tick < FOREVER
            assert batch.stream is None or isinstance(batch.stream.encode(), bytes)
            for signature, row in batch.rows.items():
                assert signature.encode()
                assert all(words.spell(word).encode() for word in row)


def _table(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    words = Dictionary()
    transport = open_stream(str(path))
    reader = open_reader(path.name, "in", words, Clock())
    for block in transport.blocks(Interrupt()):
        _take(reader.feed(block), words)


def _check(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    _look(api.check(path))


def _document(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    for triple in read_triples(path):
        assert " ".join(triple).encode()


def _ontology(path: Path, data: bytes) -> None:
    """An ontology, compiled by one of the profiles, or checked."""
    path.write_bytes(data)
    random = Random(crc32(data))
    profiles = [{"profile": profile} for profile in api.PROFILES if profile != "dl"]
    abstraction = {"profile": "dl", "as_": "abstraction", "reasoner": "none"}
    options = random.choice([*profiles, {"as_": "consistency"}, abstraction])
    _look(api.check(path, **options))


def _run_ontology(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    options = Random(crc32(data)).choice(
        [{"profile": "rl"}, {"profile": "rdfs"}, {"profile": "ql"}, {"as_": "consistency"}]
    )
    for answer in api.run(
        path,
        stream=[(1, ["<http://ex.org/A>(<http://ex.org/x>)", "<http://ex.org/p>(<http://ex.org/x>,3)"])],
        **options,
        report=_report,
    ):
        assert str(answer).encode()


def _report(found: Diagnostic) -> None:
    _look([found])


def _run(path: Path, data: bytes) -> None:
    """A program, explained, and run over events that have what it asks for."""
    path.write_bytes(data)
    program = load(path, report=_report)
    if any(len(list(_nodes(rule))) > MOST_NODES for rule in program.rules):
        return
    random = Random(crc32(data))
    if random.random() < 0.2:
        plan = explain(program, random.choice((None, 2)))
        assert random.choice((lambda: json.dumps(plan.as_data()), plan.as_text, plan.as_svg))().encode()
    emit = random.choice(("changes", "intervals", "snapshot"))
    for answer in api.run(program, stream=EVENTS, end=15, emit=emit, memory=MEMORY, report=_report):
        assert str(answer).encode()


def _nodes(thing: object) -> Iterator[object]:
    """Everything that a rule is made of."""
    if isinstance(thing, tuple):
        yield from (node for part in thing for node in _nodes(part))
    elif is_dataclass(thing):
        yield thing
        yield from (node for part in fields(thing) if part.name != "span" for node in _nodes(getattr(thing, part.name)))


def _run_stream(path: Path, data: bytes) -> None:
    """A stream through the engine and out again, in every format."""
    path.write_bytes(data)
    random = Random(crc32(data))
    write = formatter(random.choice(FORMATS))
    emit = random.choice(("changes", "intervals"))
    options = api.RunOptions(Timing(last=20), emit, random.choice(("stop", "skip")))
    with api.start(api.load_part([_WATCHING]), str(path), options, api.Observer(_report)) as job:
        for piece in job.pieces():
            if piece is not None:
                assert all(text.encode() for text in write(piece))


def _run_answer_sets(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    asking = {"window": 3, "slide": 1, "solver": "engine"}
    for answer in api.run(path, stream=EVENTS[:4], **asking, report=_report):
        assert str(answer).encode()


def _run_query(path: Path, data: bytes) -> None:
    """A query over two streams, answered in one of the formats, or explained."""
    path.write_bytes(data)
    part = api.load_part([path], Source("known.trig", _KNOWN), report=_report)
    random = Random(crc32(data))
    if random.random() < 0.2:
        plan = part.explain()
        assert random.choice((lambda: json.dumps(plan.as_data()), plan.as_text, plan.as_svg))().encode()
    write = formatter(random.choice(("jsonl", *FORMATS)))
    events = [
        Event(tick, tuple(map(read_fact, facts)), name) for tick, facts in (*EVENTS[:4], *_TRIPLES) for name in "st"
    ]
    with api.start(part, events, api.RunOptions(Timing(last=15)), api.Observer(_report)) as job:
        for piece in job.pieces():
            if piece is not None:
                assert "".join(write(piece)).encode() is not None


def _background(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    _look(api.check("a(X) :- p(X).\n", background=path))


def _options(path: Path, data: bytes) -> None:
    text = data.decode(errors="surrogateescape")
    clock = Clock()
    for read in (
        milliseconds,
        size_in_bytes,
        signatures,
        lambda text: Timing(tick=text).ticks(),
        lambda text: Timing(first=text).ticks(),
        lambda text: Timing(delay=text).ticks(),
        lambda text: SolveOptions(window=text).frame(clock),
        lambda text: SolveOptions(window="10s", slide=text, limit=text).check(clock),
        read_fact,
    ):
        with _sentences(), suppress(RejectedError):
            read(text)


_PLAIN: Final = (ValueError, TypeError, RuntimeError, MismatchError, DamagedError)


class _sentences:  # noqa: N801
    """Passes over a plain error that was written for people."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        plain = type(error) in _PLAIN or type(error).__name__ == "UnevenError"
        return plain and bool(str(error)) and not _PYTHONS_OWN.search(str(error))


_SAVED: Final = load(SAVED)
_WATCHING: Final = load(_PROGRAM)


def _snapshot(path: Path, data: bytes) -> None:
    with _sentences():
        decode(data)
    with _sentences():
        engine = Engine.restore(_SAVED, data)
        engine.advance((engine.now or 0) + 3)
        assert all(str(fact).encode() for fact in engine.facts())


def _deployment(path: Path, data: bytes) -> None:
    read_deployment(Source("in.toml", data.decode(errors="replace")))


def _run_events(path: Path, data: bytes) -> None:
    """Events and patterns over a stream of graphs."""
    path.write_bytes(data)
    for answer in api.run(path, stream=_GRAPHS, background=Source("known.ttl", _ROOMS), report=_report):
        assert str(answer).encode()


def _checkpoint(path: Path, data: bytes) -> None:
    """A checkpoint with a file that is damaged: the run goes on, or is refused."""
    files = saved_run()
    damaged = Random(crc32(data)).choice([name for name in files if name.startswith("checkpoint/")])
    with TemporaryDirectory(dir=path.parent) as folder:
        for name, content in files.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_bytes(data if name == damaged else content)
        ended = CliRunner().invoke(app, command_in(Path(folder)))
    assert ended.exit_code in (0, 1), ended.output
    assert "Traceback" not in ended.output, ended.output
    assert ended.exit_code == 0 or _NUMBERED.search(ended.stderr), ended.output


def _session_snapshot(path: Path, data: bytes) -> None:
    with thalweg.open(SAVED, report=_report) as session:
        session.restore(data)
        session.advance(20)


def _session(path: Path, data: bytes) -> None:
    """Calls of a live session, one a line: a list with the name of the method and its values."""
    program, options = Random(crc32(data)).choice(_LIVE)
    sessions = [thalweg.open(program, report=_report, **options)]
    try:
        for line in data.decode(errors="replace").splitlines()[:_MOST_CALLS]:
            with _sentences(), suppress(RejectedError):
                _call(sessions, program, options, *_method(line))
    finally:
        for session in sessions:
            session.close()


def _method(line: str) -> tuple[object, list[Any]]:
    """The name of a method and its values; what is not JSON is pushed as it is."""
    try:
        called = json.loads(line)
    except (ValueError, RecursionError):
        called = ["push", line, 3]
    method, *values = called if isinstance(called, list) and called else [called]
    return method, [_VALUES.get(value, value) if isinstance(value, str) else value for value in values]


def _call(sessions: list[Any], program: Any, options: Any, method: object, values: list[Any]) -> None:
    session = sessions[-1]
    match method:
        case "push":
            what, *args = values or [None]
            at = args.pop() if args else None
            session.push(what, *args, at=at)
        case "advance":
            for answer in session.advance(*values[:1]):
                assert str(answer).encode()
        case "snapshot":
            sessions.append(thalweg.open(program, report=_report, **options))
            sessions[-1].restore(session.snapshot())
        case "why" | "why_not":
            assert str(getattr(session, str(method))(*(values or ["q(a)"])[:1])).encode()
        case "close":
            session.close()
        case _:
            assert repr(session.now).encode()


# What a text in a call stands for, where JSON has no such value.
_VALUES: Final = {
    "@big": 2**70,
    "@nan": float("nan"),
    "@naive": datetime(2026, 3, 29, 2, 30),
    "@aware": datetime(2026, 3, 29, 2, 30, tzinfo=UTC),
    "@date": date(2026, 3, 29),
    "@bytes": b"a\xff",
    "@decimal": Decimal("1E+400"),
    "@iri": thalweg.IRI("http://ex.org/a"),
    "@object": object(),
}
_MOST_CALLS: Final = 40
_QUERY: Final = "SELECT ?s FROM NAMED WINDOW <w> ON <s> [RANGE 3s, SLIDE 1s] { WINDOW <w> { ?s ?p ?o } }"
_LIVE: Final[tuple[tuple[Any, dict[str, Any]], ...]] = (
    (SAVED, {}),
    (SAVED, {"emit": "intervals", "delay": 2, "map": "p(d) at ts"}),
    (Source("a.lp", "q(X) :- p(X), not r(X). r(X) :- e(X,_)."), {"window": 3, "slide": 1, "solver": "engine"}),
    (Source("q.rspql", _QUERY), {}),
    (Source("e.tw", "PREFIX : <http://ex.org/> NAMED EVENT :A AS :A"), {}),
)
_NUMBERED: Final = re.compile(r"error\[E[0-9]{3}\]")
_ROOMS: Final = "@prefix : <http://ex.org/> . :r1 a :Room ; :on 1 ."
_GRAPHS: Final = Source(
    "in.trig",
    "@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .\n"
    + "".join(
        f":g{tick} prov:generatedAtTime {tick} . :g{tick} {{ :e{tick} a :{kind} ; :in :r1 ; :v {tick} }}\n"
        for tick, kind in ((1, "A"), (2, "B"), (4, "A"), (9, "C"), (11, "B"))
    ),
)


# Endings, kinds, languages and weights.
_STREAMS: Final = (
    ("facts", "facts", "lars", 9),
    ("jsonl", "jsonl", "json", 8),
    ("tnt", "triples", "turtle", 8),
    ("nq", "quads", "turtle", 8),
    ("trig", "trig", "turtle", 7),
    ("jsonld", "jsonld", "json", 5),
    ("csv", "csv", "table", 8),
)
_DOCUMENTS: Final = (
    ("ttl", "turtle", "turtle", 5),
    ("nt", "ntriples", "turtle", 3),
    ("rdf", "rdfxml", "xml", 3),
    ("owl", "rdfxml", "xml", 2),
    ("jsonld", "jsonld", "json", 2),
    ("ofn", "functional", "owl", 2),
    ("omn", "manchester", "owl", 2),
    ("owx", "owlxml", "xml", 1),
)

TARGETS: Final = (
    *(Target(f"stream.{ending}", kind, words, weight, _stream) for ending, kind, words, weight in _STREAMS),
    *(Target(f"document.{ending}", kind, words, weight, _document) for ending, kind, words, weight in _DOCUMENTS),
    *(Target("unknown", kind, words, 0.5, _stream) for _, kind, words, _ in _STREAMS),
    *(Target(f"run-stream.{ending}", kind, words, 0.5, _run_stream) for ending, kind, words, _ in _STREAMS),
    Target("stream.parquet", "parquet", "bytes", 1, _table),
    Target("program.lars", "lars", "lars", 8, _check),
    Target("program.lp", "lp", "lp", 3, _check),
    Target("run.lars", "lars", "lars", 4, _run),
    Target("run.lp", "lp", "lp", 0.5, _run_answer_sets),
    Target("program.rspql", "rspql", "rspql", 1, _check),
    Target("run.rspql", "rspql", "rspql", 1, _run_query),
    Target("ontology.ttl", "turtle", "turtle", 0.5, _ontology),
    Target("ontology.ofn", "functional", "owl", 0.3, _ontology),
    Target("run.ttl", "turtle", "turtle", 0.2, _run_ontology),
    Target("background.facts", "facts", "lars", 1, _background),
    Target("background.nq", "quads", "turtle", 0.5, _background),
    Target("options", "options", "bytes", 15, _options),
    Target("snapshot", "snapshot", "bytes", 1, _snapshot),
    Target("program.tw", "cascade", "events", 2, _check),
    Target("run.tw", "cascade", "events", 0.7, _run_events),
    Target("deployment.toml", "deployment", "toml", 2, _deployment),
    Target("checkpoint", "checkpoint", "bytes", 0.3, _checkpoint),
    Target("session-snapshot", "session-snapshot", "bytes", 0.7, _session_snapshot),
    Target("session", "session", "session", 2, _session),
)
