"""A plan document as text, for a terminal of a hundred columns."""

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from thalweg.explain.document import TIGHT, WIDTH, Breaks, Paragraph, PlanDocument, Section, TextTable
from thalweg.explain.short_names import briefly
from thalweg.model.prefixes import NO_PREFIXES, Prefixes

_LAST: Final = 13


def render_text(document: PlanDocument, prefixes: Prefixes = NO_PREFIXES) -> str:
    """The sections of a document, with an empty line between them.

    >>> from thalweg.explain.diagram import Diagram
    >>> sections = Section("", (Paragraph("1 rule"),)), Section("RULES", (Paragraph("a :- p.", "  1  "),))
    >>> print(render_text(PlanDocument(sections, {}, Diagram((), {}, ()))))
    1 rule
    <BLANKLINE>
    RULES
      1  a :- p.
    """
    page = _Page(document, prefixes)
    return "\n\n".join("\n".join(page.lines(section)) for section in document.sections)


class _Page:
    """Breaks the content of one document into lines, and shortens the names in it."""

    def __init__(self, document: PlanDocument, prefixes: Prefixes) -> None:
        unchanged: Callable[[str], str] = lambda text: text  # noqa: E731
        self.prefixes = prefixes
        # Names that become `:name` are shortened before lines are broken, those with prefixes afterwards.
        self.before = unchanged if document.names is None else briefly(document.names, prefixes)
        self.after = prefixes.shorten if document.names is None else unchanged

    def lines(self, section: Section) -> Iterator[str]:
        """The lines of a section."""
        if section.title:
            yield section.title
        for element in section.content:
            match element:
                case Paragraph():
                    yield self.paragraph(element)
                case TextTable(rows):
                    yield from _table([tuple(map(self.before, row)) for row in rows])
                case PlanDocument():
                    yield render_text(element, self.prefixes)

    def paragraph(self, paragraph: Paragraph) -> str:
        """A paragraph, in one line or several."""
        if not paragraph.shortened:
            return "\n".join(_broken(paragraph.text, paragraph))
        return self.after("\n".join(_broken(self.before(paragraph.text), paragraph)))


def _broken(text: str, paragraph: Paragraph) -> list[str]:
    """The lines of a paragraph that has a text."""
    first, later = paragraph.first, paragraph.later
    match paragraph.breaks:
        case Breaks.NOWHERE:
            return [first + text]
        case Breaks.WORDS:
            return [line.replace(TIGHT, " ").rstrip() for line in _wrapped(text, first, later)]
        case Breaks.HYPHENS:
            broken = wrap(text, WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False)
            return [line.replace(TIGHT, " ") for line in broken]
        case Breaks.LONG_WORDS:
            return wrap(text, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Columns as wide as they need; the first one gives way, the last one goes on below itself."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    widths[0] = min(widths[0], max(16, WIDTH - sum(widths[1:]) - 2 * (len(widths) + 1) - _LAST))
    for *cells, last in rows:
        columns = zip(cells, widths, strict=True)
        start = "  " + "".join(_cut(cell, width).ljust(width + 2) for cell, width in columns)
        broken = _wrapped(last.replace(" ", TIGHT).replace(f",{TIGHT}", ", "), start, " " * len(start))
        yield from (line.replace(TIGHT, " ").rstrip() for line in broken)


def _wrapped(text: str, first: str, later: str) -> list[str]:
    """Lines that break between words, and nowhere else, however long a word is."""
    broken = wrap(
        text,
        max(WIDTH, len(first) + 12),
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return broken or [first]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
