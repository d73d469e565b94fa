"""The languages of programs: which files are written in which, and what these become.

    jam.lars      lars    rules          each text is compiled to rules
    city.ttl      owl     ontology       all documents are compiled together, for the rules beside them
    repair.lp     asp     answer sets    all texts are one program, which a solver evaluates window by window

Nothing else asks what kind of program a file is. Other packages add languages by the entry point group
`thalweg.languages`: each entry is a `Language` that compiles to rules.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import PurePath
from typing import Final, Literal

from thalweg.diagnostics import Diagnostic, Rejected, Source
from thalweg.ir.nodes import Program

Kind = Literal["rules", "ontology", "answer sets"]

GROUP: Final = "thalweg.languages"
# By name, so that a language is imported only when some file is looked at.
BUILT_IN: Final = tuple(
    EntryPoint(name, f"thalweg.languages.{name}:LANGUAGE", GROUP) for name in ("lars", "asp", "owl")
)

_SUFFIX: Final = re.compile(r"\.[a-z]+")


@dataclass(frozen=True, slots=True)
class Options:
    """What a compiler of rules needs to know: how many milliseconds a tick lasts."""

    tick_length: int = 1_000


Compile = Callable[[Source, Options], tuple[Program, list[Diagnostic]]]


@dataclass(frozen=True, slots=True)
class Language:
    """A language, by the suffixes of its files; `background` are those of files that may be background.

    `compile` turns a text into rules, as far as it can be read, and says what is wrong with it. Languages of other
    kinds have none: their documents are read together, with the help of a parser of RDF (`languages.owl.compiling`) or
    of a solver (`languages.asp.reader`).

    >>> Language("rate", ("rate",), lambda source, options: (Program(), []))
    Traceback (most recent call last):
    ValueError: `rate` is not a suffix: write a full stop and small letters, such as `.lars`
    """

    name: str
    suffixes: tuple[str, ...]
    compile: Compile | None = None
    kind: Kind = "rules"
    background: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for suffix in (*self.suffixes, *self.background):
            if not _SUFFIX.fullmatch(suffix):
                raise ValueError(f"`{suffix}` is not a suffix: write a full stop and small letters, such as `.lars`")
        if self.kind == "rules" and self.compile is None:
            raise ValueError(f"the language `{self.name}` compiles to rules, so it needs `compile`")


@dataclass(frozen=True, slots=True)
class Registry:
    """Languages by the suffixes of their programs and of their backgrounds; `broken` are sentences about the rest."""

    programs: dict[str, Language]
    background: dict[str, Language]
    broken: tuple[str, ...] = ()


def language_of(name: str, *, background: bool = False) -> Language | None:
    """The language of a program, or of a background, by its name; None for an unknown suffix.

    >>> language_of("jam.lp").name, language_of("in.facts"), language_of("in.facts", background=True).name
    ('asp', None, 'lars')
    """
    known = registry()
    return (known.background if background else known.programs).get(suffix_of(name))


def suffix_of(name: str) -> str:
    """The suffix by which a file's kind is known.

    >>> suffix_of("data/Roads.TTL.gz")
    '.ttl'
    """
    return PurePath(name.removesuffix(".gz")).suffix.lower()


@cache
def registry() -> Registry:
    """All languages that are installed."""
    return load((*BUILT_IN, *entry_points(group=GROUP)))


def load(entries: Iterable[EntryPoint]) -> Registry:
    """The languages of entry points; a suffix that several of them claim belongs to one that rejects every text."""
    found: list[tuple[str, Language]] = []
    broken: list[str] = []
    for entry in entries:
        title = f"`{entry.name}`" + (f" of the package `{entry.dist.name}`" if entry.dist else "")
        try:
            language = entry.load()
            if not isinstance(language, Language):
                raise TypeError(f"`{entry.value}` is not a `Language`")
        # What fails in the code of others may be anything.
        except Exception as error:
            broken.append(f"the language {title} cannot be loaded: {type(error).__name__}: {error}")
        else:
            found.append((title, language))
    programs = _table([(suffix, *one) for one in found for suffix in one[1].suffixes])
    return Registry(programs, _table([(suffix, *one) for one in found for suffix in one[1].background]), tuple(broken))


def _table(claims: Sequence[tuple[str, str, Language]]) -> dict[str, Language]:
    table: dict[str, Language] = {}
    for suffix, _, language in claims:
        rivals = [title for other, title, _ in claims if other == suffix]
        table[suffix] = language if len(rivals) == 1 else _contested(suffix, rivals)
    return table


def _contested(suffix: str, rivals: Sequence[str]) -> Language:
    def reject(source: Source, options: Options) -> tuple[Program, list[Diagnostic]]:
        message = f"`{source.name}` may be of several languages: {' and '.join(rivals)} claim {suffix}"
        raise Rejected([Diagnostic("E402", message, help="uninstall all but one of them")])

    return Language("contested", (suffix,), reject)
