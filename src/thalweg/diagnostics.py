"""What is wrong, where, and what to do about it.

A `Diagnostic` has a number, a place, a sentence and a way out. Code that can be given bad input collects them all and
raises one `Rejected`; only the command line prints them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name that its reader knows it by."""

    name: str
    text: str = field(repr=False)
    first_line: int = 1

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        line = self.text.count("\n", 0, offset)
        return self.first_line + line, offset - (self.text.rfind("\n", 0, offset) + 1) + 1

    def line_at(self, offset: int) -> str:
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return self.text[start : end if end >= 0 else len(self.text)]


@dataclass(frozen=True, slots=True)
class Span:
    """Where something was written: offsets into its source."""

    source: Source
    start: int
    end: int


NOWHERE: Final = Span(Source("", ""), 0, 0)

CATALOGUE: Final = {
    "E101": "syntax error",
    "E102": "unknown directive",
    "E103": "unknown prefix",
    "E104": "number out of range",
    "E105": "duration is not a whole number of ticks",
    "E201": "predicate used with different numbers of arguments",
    "E202": "head time is not bound",
    "E203": "variable is not bound by a positive atom",
    "E204": "program is not stratified",
    "E205": "tuple window on a derived predicate",
    "E206": "window is negative or empty",
    "E207": "arithmetic on something that is no number",
    "E208": "tuple window counts another predicate than the one it is asked for",
    "W201": "facts must be kept for ever",
    "E301": "malformed line in a stream",
    "W302": "event is late",
    "W303": "stream brings schema",
    "E306": "nested too deeply",
    "E401": "file cannot be read or written",
    "E402": "unknown kind of program or stream",
    "E403": "option does not fit",
    "E404": "connection failed",
    "E405": "fact does not hold",
    "E406": "package or program is not installed",
    "E407": "run failed in Spark",
    "E408": "checkpoint does not fit",
    "W409": "axiom is outside the profile",
    "W411": "nothing can be in a class or property",
    "W412": "facts count for their own tick only",
    "W413": "there are fewer groups than bolts",
    "E501": "solver rejects the program",
    "W502": "part of an answer set program is never grounded",
    "W503": "published decomposition may change answers",
    "E504": "solver failed",
    "W505": "answer is incomplete",
    "W506": "stream brings what is no input",
    "E507": "program is not for the engine",
    "W508": "number is text to clingo",
    "W509": "window took longer than its limit",
    "E510": "directives contradict each other",
}

# A person reads so many notes; the others are counted.
MOST_NOTES: Final = 4
# Of a longer line the part around the place is shown.
LONGEST_LINE: Final = 200


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong.

    >>> Diagnostic("E203", "variable `T` is not bound by a positive atom").severity
    'error'
    """

    code: str
    message: str
    span: Span = NOWHERE
    help: str = ""
    notes: tuple[str, ...] = ()

    @property
    def severity(self) -> str:
        return "warning" if self.code.startswith("W") else "error"

    def render(self) -> str:
        """The lines that a person reads, with a caret under the place."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.span is not NOWHERE:
            line, column = self.span.source.position(self.span.start)
            written, place = _around(self.span.source.line_at(self.span.start), column - 1)
            width = max(1, min(self.span.end - self.span.start, len(written) - place))
            margin = " " * len(str(line))
            # A tab stays a tab, so that the caret stands under its character on any terminal.
            indent = "".join("\t" if character == "\t" else " " for character in written[:place])
            lines += [
                f"  {self.span.source.name}:{line}:{column}",
                f"  {line} | {written}",
                f"  {margin} | {indent}{'^' * width}",
            ]
        lines += [f"  note: {note}" for note in self.notes[:MOST_NOTES]]
        if len(self.notes) > MOST_NOTES:
            lines.append(f"  note: and {len(self.notes) - MOST_NOTES} more; `thalweg check --format json` has all")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)

    def as_data(self) -> dict[str, object]:
        """The same for programs to read."""
        data: dict[str, object] = {"code": self.code, "severity": self.severity, "message": self.message}
        if self.span is not NOWHERE:
            line, column = self.span.source.position(self.span.start)
            data |= {"file": self.span.source.name, "line": line, "column": column}
        if self.help:
            data["help"] = self.help
        if self.notes:
            data["notes"] = list(self.notes)
        return data


def _around(line: str, place: int) -> tuple[str, int]:
    """What is shown of a line, and where the place is in that.

    >>> _around("p(a).", 2), len(_around("x" * 1000, 500)[0])
    (('p(a).', 2), 202)
    """
    if len(line) <= LONGEST_LINE:
        return line, place
    start = max(0, min(place - LONGEST_LINE // 2, len(line) - LONGEST_LINE))
    end = start + LONGEST_LINE
    before, after = "…" * (start > 0), "…" * (end < len(line))
    return f"{before}{line[start:end]}{after}", place - start + len(before)


class Rejected(Exception):  # noqa: N818
    """A program or data was rejected; carries every diagnostic there is."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n\n".join(found.render() for found in self.diagnostics))


class Failed(Exception):  # noqa: N818
    """It failed while running; what had been delivered stays delivered."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.render())
