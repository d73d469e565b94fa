"""A service in this process, and programs of all kinds for it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import thalweg
from thalweg.diagnostics import Source
from thalweg.service.registered_program import RegisteredProgram
from thalweg.service.service import DEFAULTS, Service, ServiceOptions

EX: Final = "http://ex.org/"
PREFIX: Final = f"PREFIX : <{EX}>\n"
RULES: Final = "jam(R) :- speed(R,V) in [3], V < 20, not free(R).\nfree(R) :- speed(R,V), V > 50.\n"
ANSWER_SETS: Final = "left(R) :- speed(R,V), V < 30, not right(R). right(R) :- speed(R,V), V < 30, not left(R).\n"
ONTOLOGY: Final = f"""@prefix : <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Slow rdfs:subClassOf :Seen . :Slow a owl:Class . :Seen a owl:Class .
"""
QUERY: Final = (
    PREFIX + "SELECT ?s FROM NAMED WINDOW <w> ON <north> [RANGE 3s, SLIDE 1s] { WINDOW <w> { ?s a :Slow } } ORDER BY ?s"
)
EVENTS: Final = PREFIX + (
    "NAMED EVENT :Slow AS :Slow\n NAMED EVENT :Twice { MATCH EVERY :Slow SEQ :Slow WITHIN (3 s) }"
)

KINDS: Final[dict[str, dict[str, Any]]] = {
    "rules": {"sources": {"jam.lars": RULES}},
    "answer sets": {"sources": {"side.lp": ANSWER_SETS}},
    "ontology": {"sources": {"seen.ttl": ONTOLOGY}},
    "query": {"sources": {"slow.rspql": QUERY}},
    "events": {"sources": {"twice.tw": EVENTS, "seen.ttl": ONTOLOGY}},
    "mixed": {
        "sources": {"jam.lars": RULES, "side.lp": ANSWER_SETS, "twice.tw": EVENTS, "seen.ttl": ONTOLOGY},
    },
}
"""Programs of each kind, and of all of them, over the stream `north`."""


def texts(last: int) -> list[str]:
    """Facts at ticks up to one, in documents of different lengths."""
    lines = [
        f"speed(r{tick % 3},{(tick * 37) % 80}) at {tick}.\n<{EX}Slow>(<{EX}r{tick % 4}>) at {tick}.\n"
        for tick in range(1, last + 1)
    ]
    cuts = [0, *[place for place in range(1, last) if place % 5 in (1, 2)], last]
    return ["".join(lines[start:end]) for start, end in pairwise(cuts)]


def body(sources: dict[str, str], **others: Any) -> dict[str, Any]:
    """The body of a PUT."""
    listed = [{"name": name, "text": text} for name, text in sources.items()]
    return {"sources": listed, "streams": ["north"], **others}


def posted(service: Service, *documents: str, stream: str = "north") -> int:
    """Posts facts, one document after the other; the number of the last record."""
    answers = [service.post(stream, "text/plain", text.encode(), skip=False, key=None).result(60) for text in documents]
    return int(answers[-1]["seq"])


def settled(program: RegisteredProgram, seq: int) -> list[str]:
    """The lines of a program once it has answered everything up to a record."""
    while program.current.ask(lambda run: program.current.seq, 60).result() < seq:
        assert program.current.state != "failed", program.current.because
    return lines(program)


def lines(program: RegisteredProgram) -> list[str]:
    """The lines of the generation that answers."""
    return [line.text.decode() for _, line in program.current.lines.read(0, 1_000_000)]


def expected(sources: dict[str, str], documents: list[str], **options: Any) -> list[str]:
    """The lines of `thalweg run` over the same texts."""
    programs = [Source(name, text) for name, text in sources.items()]
    answers = thalweg.run(
        programs, {"north": Source("north.facts", "".join(documents))}, report=lambda warning: None, **options
    )
    return [line for answer in answers for line in str(answer).splitlines()]


def before(answered: list[str], tick: int) -> list[str]:
    """The lines of the ticks before one."""
    return [line for line in answered if json.loads(line)["t"] < tick]


def copied(folder: Path, copy: Path) -> Path:
    """A copy of the folder of a service that runs; files come and go that are being written."""
    return Path(shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.unfinished")))


@contextmanager
def serving(folder: Path, options: ServiceOptions = DEFAULTS) -> Iterator[Service]:
    """A service over a folder, which is closed at the end."""
    service = Service(folder, options)
    service.start()
    try:
        yield service
    finally:
        service.close()
