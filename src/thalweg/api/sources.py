"""What programs, backgrounds and streams may be named by, and how the first two are read.

Path("my roads.ttl")            a file
Source("roads.ttl", text)       a text, of the kind that its name ends in
"roads.ttl"                     a file: one line without blanks that ends in a known suffix
"mqtt://broker/roads", "-"      a stream that is live
anything else that is a `str`   a text: rules or facts; no file is opened for it, whatever it says
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

from thalweg.connectors.files import read_text
from thalweg.diagnostics import Diagnostic, Rejected, Source
from thalweg.ir.nodes import Program
from thalweg.languages import lars
from thalweg.model.event import Event
from thalweg.model.fact import Fact

Text = str | Path | Source
Facts = str | Fact | Iterable[str | Fact]
Background = Text | Iterable[Text | Fact]
On = Text | Iterable[Text] | Iterable[Event | tuple[int, Facts]]

PROGRAM_ENDINGS: Final = (".lars",)
BACKGROUND_ENDINGS: Final = (".facts", ".lars")
ANSWER_SETS: Final = ".lp"
TEXT: Final = "<text>"
"""How a text is called that has no name of its own."""

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f\x7f]*")
_PATH: Final = re.compile(r"[^\s\x00-\x1f\x7f]*(?P<ending>\.[A-Za-z]+)")


def classify(thing: Text) -> Text:
    """A file as `Path`, a text as `Source`, and as `str` only what is neither: a URI, or `-`.

    >>> classify("jam.lars").name, classify("q :- p.").name, classify("mqtt://broker/cars")
    ('jam.lars', '<text>', 'mqtt://broker/cars')
    """
    if not isinstance(thing, str) or thing == "-" or _URI.fullmatch(thing):
        return thing
    found = _PATH.fullmatch(thing.removesuffix(".gz"))
    return Path(thing) if found and found["ending"].lower() in _known_endings() else Source(TEXT, thing)


def on_command_line(name: str) -> Text:
    """What a word of the command line names: `-` and URIs are what they are, and all else is a file.

    >>> on_command_line("my jam.lars").name, on_command_line("-")
    ('my jam.lars', '-')
    """
    return name if name == "-" or "://" in name else Path(name)


@cache
def _known_endings() -> frozenset[str]:
    from thalweg.connectors.reading import ENDINGS as STREAMS
    from thalweg.model.rdf import ENDINGS as RDF

    return frozenset((*PROGRAM_ENDINGS, *BACKGROUND_ENDINGS, ANSWER_SETS, *STREAMS, *RDF))


def name_of(thing: Text) -> str:
    """How a file, a text or a URI is called."""
    return thing.name if isinstance(thing, Source) else str(thing)


def is_ontology(thing: object) -> bool:
    """Whether something is a document with an ontology or other RDF, by its name.

    >>> is_ontology("koala.owl"), is_ontology("city.lars"), is_ontology("p(a).")
    (True, False, False)
    """
    from thalweg.model.rdf import format_of

    found = classify(thing) if isinstance(thing, str) else thing
    return isinstance(found, Path | Source) and format_of(name_of(found)) is not None


def is_answer_sets(thing: object) -> bool:
    """Whether something is an answer set program, by its name.

    >>> is_answer_sets("jam.lp"), is_answer_sets("jam.lars")
    (True, False)
    """
    found = classify(thing) if isinstance(thing, str) else thing
    return isinstance(found, Path | Source) and name_of(found).endswith(ANSWER_SETS)


def several(things: Any) -> list[Any]:
    """One thing or many, as many, files and texts distinguished."""
    many = [things] if isinstance(things, str | Path | Source | Fact | Program) else things
    return [classify(one) if isinstance(one, str) else one for one in many]


def named(on: On) -> list[Text] | None:
    """The streams that are named or are texts; None where Python hands over the events themselves."""
    if isinstance(on, str | Path | Source):
        return [classify(on)]
    if isinstance(on, list | tuple) and all(isinstance(one, str | Path | Source) for one in on):
        return [classify(one) for one in on]
    return None


def whole(thing: Text) -> str:
    """A name that means the same from every folder; a text is itself."""
    return str(thing.resolve()) if isinstance(thing, Path) else thing.text if isinstance(thing, Source) else thing


def read_program(program: Program | Text, tick_length: int, found: list[Diagnostic]) -> Program:
    """Rules, as far as they can be read; what is wrong goes to `found`."""
    return program if isinstance(program, Program) else _parse(program, PROGRAM_ENDINGS, tick_length, found)


def read_background(facts: Text | Fact, tick_length: int, found: list[Diagnostic]) -> Program:
    """Facts from a file of facts, from RDF, or as they are."""
    if isinstance(facts, Fact):
        return Program(background=(facts,))
    facts = classify(facts)
    if is_ontology(facts):
        from thalweg.connectors.background import read_background as read_document

        known, wrong = read_document(facts)
        found += wrong
        return Program(background=tuple(known))
    program = _parse(facts, BACKGROUND_ENDINGS, tick_length, found)
    found += (Diagnostic("E403", "a background holds facts, and this is a rule", rule.span) for rule in program.rules)
    return Program(background=program.background)


def _parse(text: Text, endings: tuple[str, ...], tick_length: int, found: list[Diagnostic]) -> Program:
    try:
        program, wrong = lars.parse(_source(text, endings), tick_length)
    except Rejected as error:
        program, wrong = Program(), list(error.diagnostics)
    found += wrong
    return program


def _source(thing: Text, endings: tuple[str, ...]) -> Source:
    thing = classify(thing)
    if isinstance(thing, str):
        message = f"`{thing}` is a stream, and not a program or a background"
        raise Rejected([Diagnostic("E402", message, help="give the name of a file, or a text")])
    name = name_of(thing)
    ending = Path(name).suffix
    if isinstance(thing, Source) and ending not in _known_endings():
        return thing
    if ending not in endings:
        way_out = f"it must end in {' or '.join(endings)}, or be RDF or an ontology such as `city.ttl`"
        if is_answer_sets(thing) and endings == PROGRAM_ENDINGS:
            way_out = "an answer set program is no rules to load: hand its name to `thalweg.run`, or to `thalweg run`"
        raise Rejected([Diagnostic("E402", f"`{name}` has an ending that says nothing here", help=way_out)])
    return thing if isinstance(thing, Source) else Source(name, read_text(thing))


def triples_of(documents: Iterable[Text], found: list[Diagnostic]) -> list[tuple[str, str, str]]:
    """All that documents of RDF and OWL say."""
    from thalweg.connectors.ontologies import read_triples

    triples: list[tuple[str, str, str]] = []
    for document in documents:
        try:
            triples += read_triples(document)
        except Rejected as error:
            found += error.diagnostics
    return triples
