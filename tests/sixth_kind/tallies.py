"""Lines of a `.tally` file become tallies; what is wrong is reported with its place."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.languages.registry import Language, Options
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from sixth_kind.counters import Counters

LINE = re.compile(r"^[^#\n]*[^#\s]", re.MULTILINE)
TALLY = re.compile(r"tally ([a-z]\w*) by ([A-Z]\w*): *(.+)")
STEP = re.compile(r"([a-z]\w*|<[^<>]*>)\(([A-Z_]\w*(?:,[A-Z_]\w*)*)\) *([+-][0-9]+)")


@dataclass(frozen=True, slots=True)
class Step:
    """The facts of a predicate add to the count of the key that is one of their arguments."""

    signature: Predicate
    column: int
    amount: int
    text: str


@dataclass(frozen=True, slots=True)
class Tally:
    """A running count for each key."""

    name: str
    key: str
    steps: tuple[Step, ...]
    text: str
    place: str

    @property
    def signature(self) -> Predicate:
        """The predicate of the facts that hold: a key and its count."""
        return Predicate(self.name, 2)


def compile(sources: Sequence[Source], options: Options) -> "tuple[Counters, list[Diagnostic]]":
    """The tallies of all lines that can be read, and what is wrong with the others."""
    from sixth_kind.counters import Counters

    tallies, wrong = [], []
    for span in (span for source in sources for span in lines(source)):
        try:
            tallies.append(tally(span))
        except ValueError as error:
            wrong.append(Diagnostic("E101", str(error), span, help="write `tally doors by R: enter(P,R) +1`"))
    return Counters(sources[0].name, tuple(tallies)), wrong


def lines(source: Source) -> Iterator[Span]:
    """The lines that say something."""
    return (Span(source, line.start(), line.end()) for line in LINE.finditer(source.text))


def tally(span: Span) -> Tally:
    """The tally of a line; `ValueError` where it is none."""
    text = span.source.text[span.start : span.end]
    line = TALLY.fullmatch(text)
    if line is None:
        raise ValueError("this is not a tally")
    name, key, counted = line.groups()
    steps = tuple(step(part, key) for part in re.split(r"(?<=[0-9]), *", counted))
    if len({counted.signature for counted in steps}) < len(steps):
        raise ValueError("a predicate is counted twice")
    place = ":".join(map(str, (span.source.name, *span.source.position(span.start))))
    return Tally(name, key, steps, text, place)


def step(text: str, key: str) -> Step:
    """What a predicate adds; `ValueError` where the text does not say it."""
    parts = STEP.fullmatch(text)
    if parts is None:
        raise ValueError(f"`{text}` does not say what is counted")
    name, written, amount = parts.groups()
    arguments = written.split(",")
    if arguments.count(key) != 1:
        raise ValueError(f"`{text}` must have the key `{key}` once")
    return Step(Predicate(name, len(arguments)), arguments.index(key), int(amount), text)


LANGUAGE = Language("tally", (".tally",), compile, understands=frozenset({"--emit", "why"}), title="tallies (`.tally`)")
