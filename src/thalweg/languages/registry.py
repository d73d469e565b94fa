"""The languages of programs: which files are written in which, and what compiles them.

    jam.lars      lars    rules
    city.ttl      owl     rules, specialised to the ontology and to the rules beside it; or checks
    repair.lp     asp     an answer set program
    jam.rspql     rspql   a continuous query
    jam.tw        cascade events: classes of them, and patterns
    city.toml     deployment   no program: it names the programs, streams and options of a run

Each package of a language has one object, `LANGUAGE`. Nothing else asks which kind of program a file holds. Other
packages add languages by the entry point group `thalweg.languages`: each entry is a `Language`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import PurePath
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.languages.compile_options import Options
from thalweg.languages.options import flags_for
from thalweg.model.vocabulary import Triple

__all__ = ["BUILT_IN", "GROUP", "Graph", "Language", "Options", "Registry", "language_of", "load", "registry"]

GROUP: Final = "thalweg.languages"
# By name, so that a language is imported only when some file is looked at.
BUILT_IN: Final = tuple(
    EntryPoint(name, f"thalweg.languages.{name}:LANGUAGE", GROUP)
    for name in ("lars", "asp", "owl", "rspql", "cascade", "deployment")
)

_SUFFIX: Final = re.compile(r"\.[a-z]+")


@dataclass(frozen=True, slots=True)
class Graph(Source):
    """A document of RDF, which has been read: its triples stand for its text.

    They are those of all its graphs; `named` has those of the named ones, and `unnamed` the others.
    """

    triples: tuple[Triple, ...] = field(default=(), repr=False)
    unnamed: tuple[Triple, ...] = field(default=(), repr=False)
    named: tuple[tuple[str, tuple[Triple, ...]], ...] = field(default=(), repr=False)


Compile = Callable[[Sequence[Any], Options], tuple[Any, list[Diagnostic]]]
"""Compiles all texts of a language (`Source`, or `Graph` where it `takes_triples`), as far as they can be read.

What it returns is what one part of a plan evaluates (`thalweg.kinds.compose`), a `Program` of rules for example, and
all that is wrong.
"""

RULES: Final = flags_for("rules") | {"why"}


@dataclass(frozen=True, slots=True)
class Language:
    """A language, by the suffixes of its files; `background` are those of files that may be background.

    `title` is what its programs are called in messages. `understands` are the options of `run` and the verbs that have
    a meaning for its programs. `includes` says which other files a text asks for, and where. A `specialised` language
    is compiled after all others, for the rules and the background that its programs run beside; documents of its own
    among the background are part of its programs. A text of one that `deploys` names programs and options, and is none.

    >>> Language("rate", ("rate",), lambda sources, options: (None, []))
    Traceback (most recent call last):
    ValueError: `rate` is not a suffix: write a full stop and small letters, such as `.lars`
    """

    name: str
    suffixes: tuple[str, ...]
    compile: Compile
    background: tuple[str, ...] = ()
    understands: frozenset[str] = RULES
    includes: Callable[[Source], Sequence[tuple[str, Span]]] = lambda source: ()
    takes_triples: bool = False
    specialised: bool = False
    title: str = ""
    deploys: Callable[[Source], Any] | None = None

    def __post_init__(self) -> None:
        for suffix in (*self.suffixes, *self.background):
            if not _SUFFIX.fullmatch(suffix):
                raise ValueError(f"`{suffix}` is not a suffix: write a full stop and small letters, such as `.lars`")


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
    languages = registry()
    return (languages.background if background else languages.programs).get(suffix_of(name))


def language_of_texts() -> Language:
    """The language of texts without a name, and of those whose name says nothing: LARS."""
    return registry().programs[".lars"]


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
    languages: list[tuple[str, Language]] = []
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
            languages.append((title, language))
    programs = _table([(suffix, *titled) for titled in languages for suffix in titled[1].suffixes])
    return Registry(
        programs, _table([(suffix, *titled) for titled in languages for suffix in titled[1].background]), tuple(broken)
    )


def _table(claims: Sequence[tuple[str, str, Language]]) -> dict[str, Language]:
    table: dict[str, Language] = {}
    for suffix, _, language in claims:
        rivals = [title for other, title, _ in claims if other == suffix]
        table[suffix] = language if len(rivals) == 1 else _contested(suffix, rivals)
    return table


def _contested(suffix: str, rivals: Sequence[str]) -> Language:
    def reject(sources: Sequence[Source], options: Options) -> tuple[None, list[Diagnostic]]:
        message = f"`{sources[0].name}` may be of several languages: {' and '.join(rivals)} claim {suffix}"
        raise RejectedError([Diagnostic("E402", message, help="uninstall all but one of them")])

    return Language("contested", (suffix,), reject)
