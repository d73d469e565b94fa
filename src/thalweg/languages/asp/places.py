"""Where clingo's parser found something: its lines and columns as offsets into the text."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from thalweg.diagnostics import NOWHERE, Source, Span

WHOLE: Final = "<string>"
"""How clingo calls the text that it was given; what was included has the name of its file."""


@dataclass(frozen=True)
class Places:
    """Lines and columns count from 1, columns in bytes.

    >>> Places(Source("x.lp", 'p("é"). q.')).offset(1, 10)
    8
    """

    source: Source

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.source.text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts

    @cached_property
    def _widths(self) -> dict[int, list[int]]:
        """Where each character of a line begins, in bytes."""
        return {}

    def offset(self, line: int, column: int) -> int:
        if line >= len(self._starts):
            return len(self.source.text)
        start = self._starts[line - 1]
        written = self.source.text[start : self._starts[line] - 1]
        if written.isascii():
            return start + min(column - 1, len(written))
        # A long line may have thousands of places that are asked for.
        widths = self._widths.get(line)
        if widths is None:
            sizes = (len(character.encode(errors="surrogatepass")) for character in written)
            widths = self._widths[line] = list(accumulate(sizes, initial=0))
        return start + bisect_left(widths, column - 1)

    def span(self, file: str, begin: tuple[int, int], end: tuple[int, int]) -> Span:
        if file != WHOLE:
            return NOWHERE
        start = self.offset(*begin)
        return Span(self.source, start, max(start + 1, self.offset(*end)))

    def of(self, node: Any) -> Span:
        """Where a node of clingo's parser was written."""
        begin, end = node.location.begin, node.location.end
        return self.span(begin.filename, (begin.line, begin.column), (end.line, end.column))
