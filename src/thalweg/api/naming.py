"""Predicates and facts as users write them, with the prefixes of the programs at hand."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from thalweg.api.sources import as_list, unnamed
from thalweg.connectors.files import read_bytes
from thalweg.diagnostics import RejectedError, Source
from thalweg.languages.declared_prefixes import declared_prefixes
from thalweg.languages.lars.facts import read_fact
from thalweg.languages.lars.terms import PREDICATE, ReadingError, canonical
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.model.vocabulary import PREFIXES

_PIECE: Final = re.compile(r"(?:<[^<>]*>|[^,<])+")
# Prefixes are declared where a document begins.
_HEADER: Final = 1 << 20


def prefixes_of(sources: Any, prefixes: Mapping[str, str] | None = None) -> Prefixes:
    """The `prefixes`, those that programs and background declare, and those of RDF and OWL.

    >>> prefixes_of("@prefix ex: <http://example.org/> .  ex:q :- p.").shorten("<http://example.org/q>")
    'ex:q'
    """
    tables = [prefixes or {}]
    for source in unnamed(as_list(sources)):
        if isinstance(source, Source):
            tables.append(declared_prefixes(source.text[:_HEADER]))
        elif isinstance(source, Path):
            try:
                tables.append(declared_prefixes(read_bytes(source)[:_HEADER].decode(errors="replace")))
            except RejectedError:
                # What cannot be read is reported where it is needed.
                continue
    return Prefixes.of(*tables, PREFIXES)


def predicates_of(show: str | Iterable[str], prefixes: Prefixes = NO_PREFIXES) -> tuple[Predicate, ...]:
    """The predicates of a list such as `jam/1, ex:Camera/1`; `ValueError` where it is not one.

    >>> predicates_of("jam/1, ex:Camera/1", Prefixes((("ex", "http://example.org/"),)))
    ('jam/1', '<http://example.org/Camera>/1')
    """
    written = _PIECE.findall(show) or [show] if isinstance(show, str) else show
    return tuple(_predicate(text.strip(), prefixes) for text in written)


def events_of(names: Iterable[str], prefixes: Prefixes = NO_PREFIXES) -> tuple[Predicate, ...]:
    """The predicates of names of events; `ValueError` where something is not a name.

    >>> events_of(["ex:Jam"], Prefixes((("ex", "http://example.org/"),)))
    ('<http://example.org/Jam>/1',)
    """
    written = [name.strip() for name in names]
    for name in written:
        if not PREDICATE.fullmatch(name):
            raise ValueError(f"`{name}` is not the name of an event: write it as in `:Jam`, or as an IRI in `<…>`")
    return predicates_of([Predicate(name, 1) for name in written], prefixes)


def _predicate(text: str, prefixes: Prefixes) -> Predicate:
    written = Predicate.read(text)
    if not PREDICATE.fullmatch(written.name):
        raise ValueError(f"`{text}` is not a predicate such as `speed/2`")
    try:
        return written.renamed(canonical(written.name, dict(prefixes.pairs)))
    except ReadingError as error:
        raise ValueError(f"{error}: {_WAY_OUT}") from None


def fact_of(text: str, prefixes: Prefixes = NO_PREFIXES) -> Fact:
    """The fact that a text stands for; `RejectedError` where it is not one.

    >>> str(fact_of("ex:Camera(ex:c1)", Prefixes((("ex", "http://example.org/"),))))
    '<http://example.org/Camera>(<http://example.org/c1>)'
    """
    try:
        return read_fact(text, "fact", prefixes.pairs)
    except RejectedError as error:
        raise RejectedError(
            replace(diagnostic, help=_WAY_OUT) if diagnostic.code == "E103" else diagnostic
            for diagnostic in error.diagnostics
        ) from None


_WAY_OUT: Final = "declare it in the program, or with `--prefix ex=http://example.org/`"
