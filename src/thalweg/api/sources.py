"""What programs, backgrounds and streams may be named by, and how the first two are read.

Path("my roads.ttl")            a file
Source("roads.ttl", text)       a text, of the kind that its name ends in
"roads.ttl"                     a file: one line without blanks that ends in a known suffix
"mqtt://broker/roads", "-"      a stream that is live
anything else that is a `str`   a text: rules or facts; no file is opened for it, whatever it says
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from thalweg.connectors.files import read_text
from thalweg.diagnostics import Diagnostic, Rejected, Source
from thalweg.ir.nodes import Program
from thalweg.languages import lars
from thalweg.languages.registry import Compile, Kind, Options, language_of, registry, suffix_of
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.rdf import fact_of

Text = str | Path | Source
Facts = str | Fact | Iterable[str | Fact]
Background = Text | Iterable[Text | Fact]
On = Text | Iterable[Text] | Iterable[Event | tuple[int, Facts]]

TEXT: Final = "<text>"
"""How a text is called that has no name of its own."""

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f\x7f]*")
_PATH: Final = re.compile(r"[^\s\x00-\x1f\x7f]*(?P<suffix>\.[A-Za-z]+)")


def classify(thing: Text) -> Text:
    """A file as `Path`, a text as `Source`, and as `str` only what is neither: a URI, or `-`.

    >>> classify("jam.lars").name, classify("q :- p.").name, classify("mqtt://broker/cars")
    ('jam.lars', '<text>', 'mqtt://broker/cars')
    """
    if not isinstance(thing, str) or thing == "-" or _URI.fullmatch(thing):
        return thing
    found = _PATH.fullmatch(thing.removesuffix(".gz"))
    return Path(thing) if found and found["suffix"].lower() in _known_suffixes() else Source(TEXT, thing)


def on_command_line(name: str) -> Text:
    """What a word of the command line names: `-` and URIs are what they are, and all else is a file.

    >>> on_command_line("my jam.lars").name, on_command_line("-")
    ('my jam.lars', '-')
    """
    return name if name == "-" or "://" in name else Path(name)


def _known_suffixes() -> frozenset[str]:
    from thalweg.connectors.readers import ENDINGS as STREAMS

    known = registry()
    return frozenset((*known.programs, *known.background, *STREAMS))


def name_of(thing: Text) -> str:
    """How a file, a text or a URI is called."""
    return thing.name if isinstance(thing, Source) else str(thing)


def kind_of(program: object) -> Kind:
    """The kind of a program: of a file or a text, that of the language that its name says; else rules.

    >>> kind_of("koala.owl"), kind_of("jam.lp"), kind_of("jam.lars"), kind_of("p(a).")
    ('ontology', 'answer sets', 'rules', 'rules')
    """
    found = classify(program) if isinstance(program, str) else program
    language = language_of(name_of(found)) if isinstance(found, Path | Source) else None
    return "rules" if language is None else language.kind


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
    return program if isinstance(program, Program) else _compiled(program, tick_length, found)


def read_background(facts: Text | Fact, tick_length: int, found: list[Diagnostic]) -> Program:
    """Facts from a file of facts, from RDF, or as they are."""
    if isinstance(facts, Fact):
        return Program(background=(facts,))
    facts = classify(facts)
    if kind_of(facts) == "ontology":
        return Program(background=tuple(dict.fromkeys(fact_of(*triple) for triple in triples_of([facts], found))))
    program = _compiled(facts, tick_length, found, background=True)
    found += (
        Diagnostic("E403", "a background consists of facts, and this is a rule", rule.span) for rule in program.rules
    )
    return Program(background=program.background)


def _compiled(text: Text, tick_length: int, found: list[Diagnostic], *, background: bool = False) -> Program:
    text = classify(text)
    try:
        compile = _compiler(text, background)
        source = text if isinstance(text, Source) else Source(str(text), read_text(Path(text)))
        program, wrong = compile(source, Options(tick_length))
    except Rejected as error:
        program, wrong = Program(), list(error.diagnostics)
    found += wrong
    return program


def _compiler(thing: Text, background: bool) -> Compile:
    """What compiles a file or a text to rules; `Rejected` where nothing does."""
    if isinstance(thing, str):
        message = f"`{thing}` is a stream, not a program or a background"
        raise Rejected([Diagnostic("E402", message, help="give the name of a file, or a text")])
    name = name_of(thing)
    language = language_of(name, background=background)
    if language is None and isinstance(thing, Source) and suffix_of(name) not in _known_suffixes():
        return lars.compile
    if language is None:
        known = registry()
        table = known.background if background else known.programs
        suffixes = " or ".join(suffix for suffix, one in table.items() if one.kind == "rules")
        way_out = f"use a file that ends in {suffixes}, RDF or an ontology such as `city.ttl`"
        raise Rejected([Diagnostic("E402", f"`{name}` has an unknown file type", help=way_out, notes=known.broken)])
    if language.compile is None:
        way_out = "pass its name to `thalweg.run`, or use `thalweg run`"
        raise Rejected(
            [Diagnostic("E402", f"`{name}` is an answer set program and cannot be loaded as rules", help=way_out)]
        )
    return language.compile


def triples_of(documents: Iterable[Text], found: list[Diagnostic]) -> list[tuple[str, str, str]]:
    """All that documents of RDF and OWL say."""
    from thalweg.connectors.ontology_documents import read_triples

    triples: list[tuple[str, str, str]] = []
    for document in documents:
        try:
            triples += read_triples(document)
        except Rejected as error:
            found += error.diagnostics
    return triples
