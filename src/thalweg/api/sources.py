"""What programs, backgrounds and streams may be named by, and how the first two are read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from thalweg.connectors.files import read_text
from thalweg.diagnostics import Diagnostic, Rejected, Source
from thalweg.ir.nodes import Program
from thalweg.languages import lars
from thalweg.model.event import Event
from thalweg.model.fact import Fact

Text = str | Path
Facts = str | Fact | Iterable[str | Fact]
Background = Text | Iterable[Text | Fact]
On = Text | Iterable[Text] | Iterable[Event | tuple[int, Facts]]

PROGRAM_ENDINGS: Final = (".lars",)
BACKGROUND_ENDINGS: Final = (".facts", ".lars")


def is_ontology(name: object) -> bool:
    """Whether something names a file with an ontology or other RDF.

    >>> is_ontology("koala.owl"), is_ontology("city.lars"), is_ontology("p(a).")
    (True, False, False)
    """
    from thalweg.model.rdf import format_of

    if not isinstance(name, str | Path) or (isinstance(name, str) and is_text(name)):
        return False
    return format_of(str(name)) is not None


def is_answer_sets(name: object) -> bool:
    """Whether something names a file with an answer set program.

    >>> is_answer_sets("jam.lp"), is_answer_sets("jam.lars")
    (True, False)
    """
    return isinstance(name, str | Path) and not is_text(str(name)) and str(name).endswith(".lp")


def is_text(text: str) -> bool:
    """Whether a string is itself what others name a file of."""
    return ":-" in text or "\n" in text or text.rstrip().endswith(".")


def several(things: Any) -> list[Any]:
    """One thing or many, as many."""
    return [things] if isinstance(things, str | Path | Fact) else list(things)


def named(on: On) -> list[str] | None:
    """The names or texts of streams; None where Python hands over the events themselves."""
    if isinstance(on, str | Path):
        return [str(on)]
    if isinstance(on, list | tuple) and all(isinstance(one, str | Path) for one in on):
        return [str(one) for one in on]
    return None


def whole(name: str | None) -> str | None:
    """A name that means the same from every folder."""
    return name if name is None or name == "-" or "://" in name or is_text(name) else str(Path(name).resolve())


def read_program(program: Program | Text, tick_length: int, found: list[Diagnostic]) -> Program:
    """Rules, as far as they can be read; what is wrong goes to `found`."""
    return program if isinstance(program, Program) else _parse(program, PROGRAM_ENDINGS, tick_length, found)


def read_background(facts: Text | Fact, tick_length: int, found: list[Diagnostic]) -> Program:
    """Facts from a file of facts, from RDF, or as they are."""
    if isinstance(facts, Fact):
        return Program(background=(facts,))
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


def _source(text: Text, endings: tuple[str, ...]) -> Source:
    if isinstance(text, str) and is_text(text):
        return Source("<text>", text)
    path = Path(text)
    if path.suffix not in endings:
        way_out = f"it must end in {' or '.join(endings)}, or be RDF or an ontology such as `city.ttl`"
        if is_answer_sets(text) and endings == PROGRAM_ENDINGS:
            way_out = "an answer set program is no rules to load: hand its name to `thalweg.run`, or to `thalweg run`"
        raise Rejected([Diagnostic("E402", f"`{path}` has an ending that says nothing here", help=way_out)])
    return Source(str(path), read_text(path))


def triples_of(names: list[str], found: list[Diagnostic]) -> list[tuple[str, str, str]]:
    """All that documents of RDF and OWL say."""
    from thalweg.connectors.ontologies import read_triples

    triples: list[tuple[str, str, str]] = []
    for name in names:
        try:
            triples += read_triples(name)
        except Rejected as error:
            found += error.diagnostics
    return triples
