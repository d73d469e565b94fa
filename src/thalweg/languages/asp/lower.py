"""Stratified answer set programs become rules over windows."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thalweg.diagnostics import NOWHERE, Span
from thalweg.ir.nodes import Program

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a program cannot be evaluated incrementally, in a sentence, and where."""

    reason: str
    span: Span = field(default=NOWHERE, compare=False)


def lower(program: "AspProgram", window: int) -> Program | tuple[Obstacle, ...]:
    return (Obstacle("no program is evaluated incrementally yet"),)
