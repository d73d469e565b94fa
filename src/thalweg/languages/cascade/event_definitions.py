"""The definitions of events, as values."""

from dataclasses import dataclass, field

from thalweg.diagnostics import NOWHERE, Diagnostic, Span
from thalweg.ir.patterns import Pattern, occurrences


@dataclass(frozen=True, slots=True)
class ClassText:
    """`AS`: a class expression in Manchester syntax, its names written as IRIs."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NamedEvent:
    """`NAMED EVENT`: what events of a name are; `span` is where the name stands."""

    name: str
    definition: ClassText | Pattern
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def uses(self) -> frozenset[str]:
        """The names of the events that it is made of."""
        if isinstance(self.definition, ClassText):
            return frozenset()
        return frozenset(one.event for one in occurrences(self.definition.operand))


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection in RSP-QL: its text without a query form, as it was written."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CascadeProgram:
    """All definitions of a run, each of which comes behind those that it uses."""

    events: tuple[NamedEvent, ...] = ()
    selections: tuple[Selection, ...] = ()

    @property
    def top(self) -> frozenset[str]:
        """The events that no other definition uses."""
        used = frozenset(name for one in self.events for name in one.uses)
        return frozenset(one.name for one in self.events) - used


class SyntaxProblem(Exception):  # noqa: N818
    """Reading cannot go on here."""

    def __init__(self, found: Diagnostic) -> None:
        self.found = found
