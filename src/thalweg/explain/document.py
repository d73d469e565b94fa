"""The plan document: what `explain` shows of any kind of program.

    program ──explain (one function per kind)──▶ PlanDocument ──▶ render_text | render_data | render_svg

Sections are for reading, `data` is for programs, the diagram for looking; the renderers know nothing of kinds.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.explain.diagram import Diagram
from thalweg.explain.plan_stage import PlanStage
from thalweg.model.prefixes import NO_PREFIXES, Prefixes

WIDTH: Final = 100
"""The columns of the terminal that text is written for."""
TIGHT: Final = "\N{NO-BREAK SPACE}"
"""A space that a line does not break at."""


class Breaks(Enum):
    """Where a paragraph may be broken into lines: nowhere, or between words; at hyphens or inside long words, too."""

    NOWHERE = "nowhere"
    WORDS = "between words"
    HYPHENS = "between words and at hyphens"
    LONG_WORDS = "between words and inside long words"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text whose first line begins with `first`, and each further line with `later`.

    The names in it are written with the prefixes of the user, unless it is not `shortened`.
    """

    text: str
    first: str = ""
    later: str = ""
    breaks: Breaks = Breaks.NOWHERE
    shortened: bool = True


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of cells, the first of them the header; the first column is cut where it is too wide."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A title, if there is one, and what stands below it; sections are separated by an empty line."""

    title: str
    content: "tuple[Paragraph | TextTable | PlanDocument, ...]" = ()


@dataclass(frozen=True, slots=True)
class PlanDocument:
    """A plan for people and programs to read; its first paragraph is a summary.

    `data` has values of JSON, diagnostics, stages and documents. `stages` are those of Spark, None where a plan is
    evaluated in one process. `selection` makes a continuous query that selects the events that can matter, empty where
    none follows from the program; this may take long. In the text names are shortened to `:name` where that is
    unambiguous among `names`; without these only the prefixes of the user count.
    """

    sections: tuple[Section, ...]
    data: Mapping[str, object]
    diagram: Diagram
    stages: tuple[PlanStage, ...] | None = None
    warnings: tuple[Diagnostic, ...] = ()
    selection: Callable[[], str] = field(default=str, compare=False)
    names: tuple[str, ...] | None = None

    @property
    def summary(self) -> str:
        """The text of the first paragraph."""
        summary = self.sections[0].content[0]
        assert isinstance(summary, Paragraph)
        return summary.text

    def as_text(self, prefixes: Prefixes = NO_PREFIXES) -> str:
        """The document for a terminal."""
        from thalweg.explain.render_text import render_text

        return render_text(self, prefixes)

    def as_data(self) -> dict[str, object]:
        """The document for programs to read, as values of JSON; its `boxes` are those of the drawing, by their ids."""
        from thalweg.explain.render_data import boxes_as_data, render_data

        return render_data(self) | {"boxes": boxes_as_data(self.diagram)}

    def as_svg(self) -> str:
        """The document as a drawing."""
        from thalweg.explain.render_svg import render_svg

        return render_svg(self.diagram)

    def as_rspql(self) -> str:
        """The selection of events as a continuous query; empty where there is none."""
        return self.selection()


def lines(*texts: str) -> tuple[Paragraph, ...]:
    """A paragraph of one line for each text.

    >>> lines("a", "b") == (Paragraph("a"), Paragraph("b"))
    True
    """
    return tuple(map(Paragraph, texts))


def chained(steps: Iterable[str], link: str = f" →{TIGHT}") -> str:
    """Steps that lines break between, and not within unless they are too long for one."""
    return link.join(step.replace(" ", TIGHT) if len(step) < WIDTH - 20 else step for step in steps)
