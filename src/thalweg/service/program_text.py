"""The body of a PUT becomes a part with its options; what is wrong with it comes as diagnostics, all at once.

    {"sources":[{"name":"jam.lars","text":"…"}],"background":[…],"options":{"tick":"10s"},
     "streams":["north"],"from":"now","memory":"256MB"}

Texts are values: nothing in a body is ever taken as a path or an address.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from thalweg.api.run_options import RunOptions
from thalweg.diagnostics import Diagnostic, Source
from thalweg.kinds.part import Part

Origin = Literal["now", "earliest", "keep"]


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program that can be run: its part, its options, and the warnings that came up."""

    part: Part
    options: RunOptions
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A body that has been read: texts, the streams that are read, where it begins, and its options."""

    sources: tuple[Source, ...]
    background: tuple[Source, ...]
    options: Mapping[str, Any]
    """By the names of a deployment's keys, as they were stated."""
    streams: tuple[str, ...]
    origin: Origin
    memory: int
    """The budget of its engines, in bytes."""

    @classmethod
    def read(cls, body: object) -> "ProgramText":
        """Reads the decoded JSON of a request; `RefusedError` (400, 413) with everything that is wrong with it."""
        raise NotImplementedError

    def compiled(self, report: Callable[[Diagnostic], None] | None = None) -> CompiledProgram:
        """Compiles it anew, for one thread; `RefusedError` (400) with everything that is wrong with the texts."""
        raise NotImplementedError

    def as_data(self) -> dict[str, Any]:
        """It as the body of a PUT, with all defaults; equal for equal programs."""
        raise NotImplementedError
