"""What is wrong, where, and what to do about it.

A `Diagnostic` has a number, a place, a sentence and a way out. Code that can be given bad input collects them all and
raises one `RejectedError`; only the command line prints them.
"""

import re
import sys
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name that its reader knows it by."""

    name: str
    text: str = field(repr=False)
    first_line: int = 1

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        starts = _line_starts(self.text)
        line = bisect_right(starts, offset)
        return self.first_line + line - 1, offset - starts[line - 1] + 1

    def line_at(self, offset: int) -> str:
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return self.text[start : end if end >= 0 else len(self.text)]


@lru_cache(maxsize=4)
def _line_starts(text: str) -> list[int]:
    """Where the lines of a text start; asked for once for each of its rules."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


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
    "E207": "arithmetic on a non-number",
    "E208": "tuple window counts a different predicate",
    "E209": "program is too large for the engine",
    "W207": "number is compared with a text",
    "W208": "conclusions in the future were dropped",
    "E210": "`before` cannot be used here",
    "E211": "recorded predicate has a head in the past",
    "E212": "invalid use of a window by key",
    "E213": "invalid use of a function or condition",
    "E214": "invalid pattern",
    "E215": "head always lies in the future",
    "W216": "predicate is derived in several files",
    "W217": "derived predicate is brought from outside",
    "W218": "predicate is local to another file",
    "E219": "local predicate is used outside its file",
    "W201": "facts must be kept for ever",
    "W202": "rule may count for ever",
    "W203": "window on a derived predicate that is not recorded",
    "W204": "equal readings are counted once",
    "W205": "directive names a predicate that no rule derives",
    "W206": "constant beside the key of a window",
    "E301": "malformed line in a stream",
    "E302": "expression is nested too deeply",
    "W302": "event is late",
    "W303": "schema triple on a stream",
    "E304": "rule is not made of the nodes of rules",
    "W304": "predicate never came",
    "W305": "values of different kinds were compared",
    "E305": "document expands beyond its limit",
    "E306": "mapping cannot be read",
    "W306": "mapping never fitted",
    "W307": "rows without a value",
    "E308": "recorded stream has no times",
    "W308": "timestamp is far from all others",
    "W309": "most facts were dropped",
    "E309": "timestamps and bare ticks in one run",
    "W314": "rule never held",
    "E310": "predicate that the program does not have",
    "E311": "column without values",
    "W312": "rows of a table are not facts",
    "W315": "times without a zone",
    "E401": "file cannot be read or written",
    "E402": "unknown kind of program or stream",
    "E403": "invalid option",
    "E404": "connection failed",
    "E405": "fact does not hold",
    "E406": "package or program is not installed",
    "E407": "run failed in Spark",
    "W407": "no executor of a cluster has started",
    "E408": "checkpoint does not match",
    "W409": "axiom is outside the profile",
    "E410": "memory is used up",
    "E411": "programs must be loaded together",
    "E417": "`why` needs a recording or a checkpoint",
    "W411": "class or property is unsatisfiable",
    "W412": "consistency check without a window",
    "W413": "fewer groups than bolts",
    "W414": "memory budget is exceeded",
    "W415": "answers were partial",
    "W416": "the run is complete",
    "W418": "recording has grown",
    "W419": "SWRL rule is not used",
    "E420": "file of SHACL shapes is not an ontology",
    "W420": "SHACL shapes are not used",
    "E421": "checkpoint has another version",
    "W422": "the program has changed",
    "E423": "a changed program cannot go on",
    "W424": "answers of another service have a gap",
    "W425": "answers are no longer kept",
    "E501": "solver rejects the program",
    "W502": "part of an answer set program is never grounded",
    "W503": "published decomposition may change answers",
    "E504": "solver failed",
    "W505": "answer is incomplete",
    "W506": "streamed predicate is not an input",
    "E507": "engine cannot evaluate the program",
    "W508": "number is treated as text by clingo",
    "W509": "window took longer than its limit",
    "E510": "directives contradict each other",
    "E511": "file may not be included",
    "W511": "file includes itself",
    "W512": "windows without facts are not shown",
    "E513": "programs form a loop",
    "W514": "rules cannot read a fact of an answer set",
    "E601": "clause of another stream query language",
    "E602": "unknown stream",
    "E603": "window is not declared",
    "E604": "query cannot be evaluated continuously",
    "W605": "window is never used",
    "W606": "window never closes",
    "W607": "filter variable is not bound",
    "W608": "fact is not a triple",
    "W609": "value cannot be reproduced",
    "W610": "nothing came on a stream",
    "W611": "graph is not in the background",
    "E701": "background contradicts the ontology",
    "E702": "unknown name in a class expression",
    "W703": "event is undecided",
    "W704": "values have a different datatype than the ontology's ranges",
    "W705": "literal of an object property",
    "E801": "unknown event",
    "E802": "event is made of itself",
    "E803": "`NOT` cannot stand here",
    "E804": "nothing follows a `NOT`",
    "E805": "clause does not fit the pattern",
    "E806": "filter variable that no triple binds",
    "E807": "event is defined twice",
    "E808": "filter cannot be read",
    "W809": "pattern is matched once only",
    "W810": "events are kept for ever",
    "W811": "more may follow than was looked up",
    "E812": "selection without known triples",
    "W813": "events are selected too late for patterns",
    "W814": "selection loses events",
    "W815": "event can never happen",
    "W816": "variable of an event that no match binds",
    "E817": "event cannot be added to a running program",
    "E901": "unknown key in a deployment",
    "E902": "value in a deployment cannot be used",
    "E903": "service refuses a request",
    "E904": "a part of a service has failed",
}

VISIBLE: Final = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}
"""For `str.translate`: data may hold characters that move the cursor or colour what follows; people see pictures."""

# The user of a URI, and all behind its colon: a password reaches to the last `@`, since it may hold what should be
# encoded; between backticks or quotes it may hold anything else.
_LOGIN: Final = re.compile(
    r"""(?:(?<=(?P<tick>`))|(?<=(?P<quote>"))|(?<![A-Za-z0-9+.-]))"""
    r"""(?P<user>[A-Za-z][A-Za-z0-9+.-]{0,30}:/{1,2}[^\s/?\#`"'<>:@]*:)"""
    r"""(?P<behind>(?(tick)[^`]*|(?(quote)[^"]*|[^\s`"'<>]*)))"""
)
# Values of parameters whose names say that nobody else may know them.
_PARAMETER: Final = re.compile(
    r"""(?<=[?&])([\w.-]{0,40}(?:token|key|secret|passw|pwd|auth|credential|sig)[\w.-]{0,40}=)([^&\s`"'<>]+)""",
    re.IGNORECASE,
)

# This many notes are shown; the others are counted.
MOST_NOTES: Final = 4
_LONGEST_LINE: Final = 120
# In so many characters before and behind a place secrets are looked for; fewer are shown.
_NEAR: Final = 10_000


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong; `listed` are the things that the message counts.

    >>> Diagnostic("E203", "variable `T` is not bound by a positive atom").severity
    'error'
    """

    code: str
    message: str
    span: Span = NOWHERE
    help: str = ""
    notes: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Wherever it is shown or written: the passwords of those who run it are not part of what is wrong.
        for name in ("message", "help"):
            object.__setattr__(self, name, without_secrets(getattr(self, name)))
        object.__setattr__(self, "notes", tuple(map(without_secrets, self.notes)))

    @property
    def severity(self) -> str:
        return "warning" if self.code.startswith("W") else "error"

    def render(self, verbose: bool = False) -> str:
        """The lines that a person reads, with a caret under the place; `verbose` ones have all items and notes."""
        lines = [f"{self.severity}[{self.code}]: {self.message}".translate(VISIBLE)]
        if self.span is not NOWHERE:
            line, column = self.span.source.position(self.span.start)
            near, place = _around(self.span.source.line_at(self.span.start), column - 1)
            written, start = _excerpt(_masked(near), place)
            width = max(1, min(self.span.end - self.span.start, len(written) - start))
            margin = " " * len(str(line))
            # A tab stays a tab, so that the caret stands under its character on any terminal.
            indent = "".join("\t" if character == "\t" else " " for character in written[:start])
            lines += [
                f"  {self.span.source.name}:{line}:{column}",
                f"  {line} | {written}".translate(VISIBLE),
                f"  {margin} | {indent}{'^' * width}",
            ]
        lines += [f"    {item}".translate(VISIBLE) for item in self.listed] if verbose else []
        lines += [f"  note: {note}".translate(VISIBLE) for note in (self.notes if verbose else self.notes[:MOST_NOTES])]
        if len(self.notes) > MOST_NOTES and not verbose:
            lines.append(f"  note: and {len(self.notes) - MOST_NOTES} more; `thalweg check --format json` has all")
        if self.help:
            lines.append(f"  help: {self.help}".translate(VISIBLE))
        return "\n".join(lines)

    def as_data(self) -> dict[str, object]:
        """The same content as JSON-compatible data; `end_column` is the column after the last character.

        >>> Diagnostic("E203", "`T` is not bound", Span(Source("p.lars", "q(T)."), 2, 3)).as_data()["end_column"]
        4
        """
        data: dict[str, object] = {"code": self.code, "severity": self.severity, "message": self.message}
        if self.span is not NOWHERE:
            line, column = self.span.source.position(self.span.start)
            last_line, last_column = self.span.source.position(max(self.span.start, self.span.end - 1))
            data |= {"file": self.span.source.name, "line": line, "column": column}
            data |= {"end_line": last_line, "end_column": last_column + 1}
        if self.help:
            data["help"] = self.help
        if self.notes:
            data["notes"] = list(self.notes)
        if self.listed:
            data["listed"] = list(self.listed)
        return data


def without_secrets(text: str) -> str:
    """A text with URIs in it, for people and files to see: without passwords and tokens.

    >>> without_secrets("no connection to `http://me:secret@host/a?last=3&token=77`")
    'no connection to `http://me:***@host/a?last=3&token=***`'
    """
    return _with_masks(text, lambda secret: "***")


def _masked(line: str) -> str:
    """The same for a line in which places are counted."""
    return _with_masks(line, lambda secret: "*" * len(secret))


def _with_masks(text: str, mask: Callable[[str], str]) -> str:
    if ":/" not in text:
        return text

    def login(match: re.Match[str]) -> str:
        password, at, place = match["behind"].rpartition("@")
        return f"{match['user']}{mask(password)}@{place}" if at else match[0]

    return _PARAMETER.sub(lambda match: match[1] + mask(match[2]), _LOGIN.sub(login, text))


def _around(line: str, place: int) -> tuple[str, int]:
    """A line, and where in it a place is; of one that has millions of characters what is near the place."""
    first = max(0, place - _NEAR)
    return line[first : place + _NEAR], place - first


def _excerpt(line: str, place: int) -> tuple[str, int]:
    """As much of a line as a person reads, and where in it a place is.

    >>> _excerpt("p(a)", 2)
    ('p(a)', 2)
    """
    if len(line) <= _LONGEST_LINE:
        return line, place
    first = max(0, min(place - _LONGEST_LINE // 3, len(line) - _LONGEST_LINE))
    shown = line[first : first + _LONGEST_LINE]
    start, end = "…" if first else shown[0], "…" if first + _LONGEST_LINE < len(line) else shown[-1]
    return start + shown[1:-1] + end, place - first


@dataclass(frozen=True, slots=True)
class Counted:
    """What a run may warn of several times as it grows: how often it has happened, and the warning that says so.

    The first warning has some seconds of time, `after` the beginning of the run.
    """

    what: object
    count: int
    warning: Callable[[], Diagnostic | None]
    after: float = 0.0


class ThalwegWarning(UserWarning):
    """A warning about a program or data, as Python gives it where nobody asks for diagnostics."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.render())


def warn(diagnostic: Diagnostic) -> None:
    """Gives a diagnostic as a warning of Python's, at the line that called the package.

    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn(Diagnostic("W302", "1 fact was late"))
    >>> caught[0].message.diagnostic.code
    'W302'
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(ThalwegWarning(diagnostic), stacklevel=level)


class RejectedError(Exception):
    """A program or data was rejected; carries every diagnostic there is."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n\n".join(diagnostic.render() for diagnostic in self.diagnostics)


class FailedError(Exception):
    """It failed while running; what had been delivered stays delivered."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.render())
