"""The places of rules that are made from axioms: each is a line of a text with one line for each axiom."""

from thalweg.diagnostics import Source, Span


def line_spans(source: Source) -> list[Span]:
    """The place of each line of a text; of an empty text, one.

    >>> [(span.start, span.end) for span in line_spans(Source("x", "one\\ntwo"))]
    [(0, 3), (4, 7)]
    """
    spans: list[Span] = []
    start = 0
    for line in source.text.split("\n"):
        spans.append(Span(source, start, start + len(line)))
        start += len(line) + 1
    return spans
