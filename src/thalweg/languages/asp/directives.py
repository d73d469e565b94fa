"""What we say in an answer set program that clingo does not know; it is taken out before clingo reads the rest.

    #prefix ub: <http://example.org/ub#>.        names that begin with `ub_` are IRIs
    #input speed/2, light/1.                     what streams bring, besides what has no rules and facts;
                                                 also as a comment: `%! input speed/2`
    #from stream <s> [TIME 3s STEP 2s]           the window that the program is written for
    #include "more.lp".                          another file, beside the one that includes it

What is taken out leaves spaces behind, so that every place in the text stays where it was. No `#include` is left for
clingo, which would read any file: so comments are taken out as well, and strings are recognised exactly as it does.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from thalweg.diagnostics import NOWHERE, Diagnostic, Source, Span
from thalweg.model.predicate import Predicate
from thalweg.model.time import UNITS

_SIGNATURE: Final = r"-?[_']*[a-z][A-Za-z0-9_']*/[0-9]{1,9}"
_SIGNATURES: Final = re.compile(rf"\s*{_SIGNATURE}(?:\s*,\s*{_SIGNATURE})*\s*\Z")
_PREFIX: Final = re.compile(r"#prefix\s+(?P<name>[a-z][A-Za-z0-9_]*)?\s*:\s*<(?P<space>[^<>\s]*)>\s*\.")
_INPUT: Final = re.compile(r"#input\b(?P<list>[^.\n]*)\.")
_FROM: Final = re.compile(r"#from\s+stream\s+<[^<>\s]*>\s*\[(?P<window>[^\]\n]*)\]\s*\.?")
_LENGTH: Final = rf"[0-9]+(?:\s*(?:{'|'.join(UNITS)}))?"
_WINDOW: Final = re.compile(rf"\s*(?i:TIME)\s+(?P<window>{_LENGTH})(?:\s+(?i:STEP)\s+(?P<slide>{_LENGTH}))?\s*\Z")
_INCLUDE: Final = re.compile(r'#include\s*"(?P<file>[^"\n]*)"\s*\.')
_OWN_INCLUDE: Final = re.compile(r"#include\s*(?P<file><[^<>\n]*>)\s*\.")
_BLOCK: Final = re.compile(r"%\*|\*%")
_INK: Final = re.compile(r"[^\n]")
_NOTE: Final = re.compile(r"%!\s*input\b(?P<list>[^\n]*)")
# What may hold anything inside is matched whole, so that nothing is found in there.
_TOKEN: Final = re.compile(
    r'(?P<note>%![^\n]*)|(?P<block>%\*)|(?P<comment>%[^\n]*)|"(?:[^"\\\n\ud800-\udfff]|\\["\\n])*"'
    r"|(?P<script>#script\b.*?#end\s*\.)|(?P<directive>#(?:prefix|input|from)\b|#include)|(?P<foreign>[^\x01-\x7f]+)",
    re.DOTALL,
)
_EXAMPLES: Final = {
    "#prefix": "write `#prefix ex: <http://example.org/>.`",
    "#input": "write `#input speed/2, light/1.`",
    "#include": 'write `#include "more.lp".`',
    "#from": "write `#from stream <http://example.org/s> [TIME 3s STEP 2s]`",
}


@dataclass(frozen=True, slots=True)
class OwnWindow:
    """The window that a program brings, as it is written there: `3s` every `2s`."""

    size: str
    slide: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(slots=True)
class Directives:
    """The text for clingo, and what was taken out of it.

    `said` has the names of what can be said in one way only, how it was said, and where.
    """

    text: str
    prefixes: dict[str, str] = field(default_factory=dict)
    inputs: list[Predicate] = field(default_factory=list)
    said: list[tuple[str, str, Span]] = field(default_factory=list)
    includes: list[tuple[str, Span]] = field(default_factory=list)
    window: OwnWindow | None = None
    wrong: list[Diagnostic] = field(default_factory=list)
    # Where something was taken out, and with what character it is painted over.
    covered: list[tuple[int, int, str]] = field(default_factory=list)


def take_out(source: Source) -> Directives:
    """Separates our directives from clingo's text.

    >>> directives = take_out(Source("x.lp", "#prefix ex: <http://ex.org/>. a :- ex_p(X)."))
    >>> directives.text, directives.prefixes
    ('                              a :- ex_p(X).', {'ex': 'http://ex.org/'})
    """
    directives = Directives(source.text)
    at = 0
    while token := _TOKEN.search(source.text, at):
        at = token.end()
        if token["note"]:
            _note(directives, token["note"])
            _blank(directives, token.start(), token.end())
        elif token["block"] or token["comment"]:
            at = _comment(directives, source, token)
        elif token["directive"]:
            at = _directive(directives, source, token)
        elif token["script"]:
            _script(directives, source, token)
        elif token["foreign"]:
            _foreign(directives, source, token)
    directives.text = _painted_over(source.text, directives.covered)
    return directives


def contradictions(directives: Iterable[Directives]) -> Iterator[Diagnostic]:
    """Yields an error for each prefix, and each window, that directives state in two ways.

    >>> twice = take_out(Source("x.lp", "#prefix ex: <http://a#>. #prefix ex: <http://b#>."))
    >>> [diagnostic.message for diagnostic in contradictions([twice])]
    ['the prefix `ex:` is <http://b#> here, and <http://a#> elsewhere']
    """
    first: dict[str, tuple[str, Span]] = {}
    for what, how, span in (statement for read in directives for statement in read.said):
        before, place = first.setdefault(what, (how, span))
        if how != before:
            line, column = place.source.position(place.start)
            yield Diagnostic(
                "E510",
                f"{what} is {how} here, and {before} elsewhere",
                span,
                help="remove one of them, or make them equal",
                notes=(f"the other place is {place.source.name}:{line}:{column}",),
            )


def signatures(text: str) -> list[Predicate]:
    """The signatures of a list; `ValueError` where it is not a list of signatures.

    >>> signatures("speed/2, light/1")
    ['speed/2', 'light/1']
    """
    if not _SIGNATURES.match(text):
        raise ValueError(f"`{text.strip()}` is not a list of predicates such as `speed/2,light/1`")
    return [Predicate.read(signature.strip()) for signature in text.split(",")]


def _note(directives: Directives, text: str) -> None:
    note = _NOTE.match(text)
    if note and _SIGNATURES.match(note["list"].rstrip().rstrip(".")):
        directives.inputs += signatures(note["list"].rstrip().rstrip("."))


def _directive(directives: Directives, source: Source, token: re.Match[str]) -> int:
    """Reads the directive at a token; returns the offset behind it."""
    start, text = token.start(), source.text
    if prefix := _PREFIX.match(text, start):
        name = prefix["name"] or ""
        directives.prefixes[name] = prefix["space"]
        directives.said.append((f"the prefix `{name}:`", f"<{prefix['space']}>", Span(source, start, prefix.end())))
        return _blank(directives, start, prefix.end())
    if (listed := _INPUT.match(text, start)) and _SIGNATURES.match(listed["list"]):
        directives.inputs += signatures(listed["list"])
        return _blank(directives, start, listed.end())
    if included := _INCLUDE.match(text, start):
        directives.includes.append((included["file"], Span(source, included.start("file"), included.end("file"))))
        return _blank(directives, start, included.end())
    if own := _OWN_INCLUDE.match(text, start):
        message = f"`{own['file']}` is one of clingo's own files, which cannot be included"
        directives.wrong.append(
            Diagnostic("E511", message, Span(source, *own.span("file")), help=_EXAMPLES["#include"])
        )
        return _blank(directives, start, own.end())
    if (stream := _FROM.match(text, start)) and (window := _WINDOW.match(stream["window"])):
        directives.window = OwnWindow(
            window["window"], window["slide"], Span(source, stream.start("window"), stream.end("window"))
        )
        directives.said.append(("the window", f"[{stream['window'].strip()}]", directives.window.span))
        return _blank(directives, start, stream.end())
    line_end = text.find("\n", start)
    end = line_end if line_end >= 0 else len(text)
    word = token["directive"]
    wrong = Diagnostic("E101", f"this is not a valid `{word}`", Span(source, start, token.end()), help=_EXAMPLES[word])
    directives.wrong.append(wrong)
    return _blank(directives, start, end)


def _script(directives: Directives, source: Source, token: re.Match[str]) -> None:
    """Reports a script and blanks it out: code that comes with a program is not run."""
    span = Span(source, token.start(), token.start() + len("#script"))
    help = "write it as rules, or compute it beforehand and pass the result with `--background`"
    directives.wrong.append(Diagnostic("E501", "scripts are not run", span, help))
    _blank(directives, token.start(), token.end())


def _foreign(directives: Directives, source: Source, token: re.Match[str]) -> None:
    """Reports a character outside ASCII and replaces it: clingo's scanner fails on it outside strings and comments."""
    span = Span(source, token.start(), token.end())
    help = "clingo's names are made of ASCII letters; put other text in quotes"
    directives.wrong.append(Diagnostic("E101", f"unexpected `{token.group()}`", span, help))
    directives.covered.append((*token.span(), "_"))


def _comment(directives: Directives, source: Source, token: re.Match[str]) -> int:
    """Takes a comment out; `%* … *%` may hold others of its kind."""
    if token["comment"]:
        return _blank(directives, *token.span())
    depth = 0
    for mark in _BLOCK.finditer(source.text, token.start()):
        depth += 1 if mark.group() == "%*" else -1
        if not depth:
            return _blank(directives, token.start(), mark.end())
    span, help = Span(source, *token.span()), "end it with `*%`, or begin it with `%`"
    directives.wrong.append(Diagnostic("E101", "this comment is not closed", span, help))
    return _blank(directives, token.start(), len(source.text))


def _blank(directives: Directives, start: int, end: int) -> int:
    directives.covered.append((start, end, " "))
    return end


def _painted_over(text: str, covered: Iterable[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, paint in covered:
        parts += text[at:start], _INK.sub(paint, text[start:end])
        at = end
    return "".join([*parts, text[at:]])
