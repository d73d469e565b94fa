"""A mapping: which columns of a table, or keys of a message, are the arguments of a fact, and which one is its time.

    temp(device_id, meta.temp) at ts ms

is a predicate, two cells and a time. A mapping is a value; what it is written as is read by `read_mapping`.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

from thalweg.diagnostics import NOWHERE, Span
from thalweg.model.predicate import Predicate

EACH: Final = None
"""Stands in a path for the elements of an array: `r[].id` is ("r", EACH, "id")."""

Steps = tuple[str | None, ...]
Kind = Literal["any", "number", "text"]
Unit = Literal["", "s", "ms", "us", "ns"]


@dataclass(frozen=True, slots=True)
class Path:
    """The name of a column, or the way to a value in a message.

    >>> str(Path(("r", EACH, "id")))
    'r[].id'
    """

    steps: Steps

    def __str__(self) -> str:
        text = ""
        for step in self.steps:
            text += "[]" if step is EACH else ("." if text else "") + spelled(step)
        return text

    @property
    def quoted(self) -> str:
        """As a sentence names it, in backticks."""
        text = str(self)
        return text if text[0] == text[-1] == "`" else f"`{text}`"

    @property
    def column(self) -> str:
        """The first name, which is that of a column or of a key."""
        assert self.steps[0] is not None
        return self.steps[0]

    @property
    def whole(self) -> str:
        """All of it as the name of one column: exporters write `meta.temp` in the header of a flat table."""
        return ".".join(step for step in self.steps if step is not None)

    @property
    def array(self) -> Steps:
        """The way to the innermost array that it goes through; empty where there is none."""
        last = max((place for place, step in enumerate(self.steps) if step is EACH), default=-1)
        return self.steps[: last + 1]


@dataclass(frozen=True, slots=True)
class Cell:
    """The value of a column; `kind` fixes its type, which otherwise depends on how it is written."""

    path: Path
    kind: Kind = "any"


@dataclass(frozen=True, slots=True)
class ConstantArgument:
    """The same term in every fact."""

    term: str


@dataclass(frozen=True, slots=True)
class Template:
    """An IRI with cells in it: `<http://example.org/{device}>`."""

    pieces: tuple[str | Path, ...]


@dataclass(frozen=True, slots=True)
class Time:
    """Which cell has the time, and what a number there counts: seconds since 1970, or parts of them.

    `zone` is the name of the zone of times that are written without one, where it is not that of the run.
    """

    path: Path
    unit: Unit = ""
    zone: str | None = None


Argument = Cell | ConstantArgument | Template


@dataclass(frozen=True, slots=True)
class Mapping:
    """How rows become facts of one predicate; `stream` ties it to the source of that name."""

    predicate: Predicate
    arguments: tuple[Argument, ...]
    time: Time | None = None
    stream: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        """As it was written."""
        return self.span.source.text.strip()

    @property
    def paths(self) -> tuple[Path, ...]:
        """All the names it needs, each once."""
        paths: dict[Path, None] = {}
        for argument in self.arguments:
            match argument:
                case Cell(path):
                    paths[path] = None
                case Template(pieces):
                    paths.update((piece, None) for piece in pieces if isinstance(piece, Path))
        if self.time is not None:
            paths[self.time.path] = None
        return tuple(paths)

    @property
    def array(self) -> Steps:
        """The way to the array whose elements are the facts; empty where each row is one fact."""
        return max((path.array for path in self.paths), key=len, default=())

    def serves(self, *names: str | None) -> bool:
        """Whether a source with one of these names may be what it is for."""
        return self.stream is None or self.stream in names


def spelled(name: str) -> str:
    """A name as a mapping writes it, in backticks where it is not plain.

    >>> spelled("device_id"), spelled("Temp (°C)")
    ('device_id', '`Temp (°C)`')
    """
    plain = name[:1].isalpha() or name[:1] == "_"
    return name if plain and name.replace("-", "_").isidentifier() and name[-1] != "-" else f"`{name}`"
