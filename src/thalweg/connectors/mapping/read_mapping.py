"""`temp(device_id, meta.temp) at ts ms` becomes a `Mapping`.

    [stream:] predicate(argument, …) [at path [s|ms|us|ns] [in zone]]

    argument    path   number(path)   text(path)   "a text"   21.5   <http://example.org/{path}>
    path        name   name.name   name[].name   `any name`

A blank behind the colon ties a mapping to a stream (`north: temp(…)`); without one it is a prefix (`ex:temp(…)`).
"""

import json
import re
from collections.abc import Iterable
from typing import Final, NoReturn

from thalweg.connectors.mapping.mapping import (
    EACH,
    Argument,
    Cell,
    ConstantArgument,
    Kind,
    Mapping,
    Path,
    Steps,
    Template,
    Time,
    Unit,
)
from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.model.local_times import zone_named
from thalweg.model.number import read_number, shortest, show_number
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.model.rdf import RDF_TYPE, names_a_predicate
from thalweg.model.term import constant

OPTION: Final = "--map"
_SHAPE: Final = "a mapping looks like `temp(device_id, meta.temp) at ts`"

_NAME: Final = r"[^\W\d]\w*(?:-+\w+)*"
_TIED: Final = re.compile(r"(?:(?P<plain>[^\s:`()<>,]+)|`(?P<quoted>[^`]+)`):\s+")
_PREDICATE: Final = re.compile(r"(?P<iri><[^<>\s]+>)|(?P<prefix>[a-z][\w-]*)?:(?P<local>[\w-]+)|(?P<name>[a-z]\w*)")
_STEP: Final = re.compile(rf"(?:(?P<plain>{_NAME})|`(?P<quoted>[^`]+)`)(?P<each>(?:\[\])*)")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])")
_TEXT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_TEMPLATE: Final = re.compile(r"<[^<>\s]*>")
_KIND: Final = re.compile(r"(number|text)\s*\(")
_UNIT: Final = re.compile(r"(s|ms|us|ns)\b")
_IN: Final = re.compile(r"in\s+")
_ZONE: Final = re.compile(r"[A-Za-z][\w+-]*(?:/[\w+-]+)*")
_ZONES: Final = "write a name such as `Europe/Berlin`"
_BLANKS: Final = re.compile(r"\s*")


def read_mappings(texts: str | Iterable[str], prefixes: Prefixes = NO_PREFIXES) -> tuple[Mapping, ...]:
    """The mappings that texts are; `RejectedError` with all that is wrong with them.

    >>> one, = read_mappings("temp(device_id, meta.temp) at ts ms")
    >>> one.predicate, [str(path) for path in one.paths], one.time.unit
    ('temp/2', ['device_id', 'meta.temp', 'ts'], 'ms')

    A membership is a fact of its class:

    >>> read_mappings(f"{RDF_TYPE}(id, <http://ex.org/Car>)")[0].predicate
    '<http://ex.org/Car>/1'
    """
    mappings: list[Mapping] = []
    wrong: list[Diagnostic] = []
    for text in [texts] if isinstance(texts, str) else texts:
        try:
            mappings.append(_Reader(text, prefixes).mapping())
        except RejectedError as error:
            wrong += error.diagnostics
    if wrong:
        raise RejectedError(wrong)
    return tuple(mappings)


class _Reader:
    """Reads one mapping from left to right."""

    def __init__(self, text: str, prefixes: Prefixes) -> None:
        self._source = Source(OPTION, text)
        self._text = text
        self._at = 0
        self._prefixes = dict(prefixes.pairs)

    def mapping(self) -> Mapping:
        self._blanks()
        tied = self._take(_TIED)
        name = self._predicate()
        arguments: list[Argument] = []
        if self._word("(") and not self._word(")"):
            arguments.append(self._argument())
            while self._word(","):
                arguments.append(self._argument())
            if not self._word(")"):
                self._fail("expected `,` or `)`")
        time = self._time()
        self._blanks()
        if self._at < len(self._text):
            self._fail("expected `at` and the name of the time, or the end" if time is None else "expected the end")
        span = Span(self._source, 0, len(self._text))
        stream = (tied["plain"] or tied["quoted"]) if tied else None
        match arguments:
            case [subject, ConstantArgument(term)] if name == RDF_TYPE and names_a_predicate(term):
                name, arguments = term, [subject]
        mapping = Mapping(Predicate(name, len(arguments)), tuple(arguments), time, stream, span)
        self._check_arrays(mapping)
        return mapping

    def _predicate(self) -> str:
        at = self._at
        token = self._take(_PREDICATE)
        if not token:
            self._fail("expected the name of a predicate, which begins with a lower-case letter, or an IRI")
        if token["name"]:
            return str(token["name"])
        if token["iri"]:
            return str(token["iri"])
        prefix = token["prefix"] or ""
        if prefix not in self._prefixes:
            way_out = f"declare it with `--prefix {prefix}=http://…`, or write `{prefix}: {token['local']}(…)` for the "
            self._fail(f"the prefix `{prefix}:` is not declared", at, f"{way_out}stream `{prefix}`", "E103")
        return f"<{self._prefixes[prefix]}{token['local']}>"

    def _argument(self) -> Argument:
        self._blanks()
        at = self._at
        if token := self._take(_KIND):
            kind: Kind = "number" if token[1] == "number" else "text"
            cell = Cell(self._path(), kind)
            if not self._word(")"):
                self._fail("expected `)`")
            return cell
        if token := self._take(_TEXT):
            try:
                return ConstantArgument(constant(str(json.loads(token[0]))))
            except ValueError:
                self._fail("this text has an unknown escape", at)
        if token := self._take(_NUMBER):
            word = read_number(token[0]) if len(token[0]) < 200 else None
            if word is None:
                self._fail("this number is too large", at)
            return ConstantArgument(show_number(shortest(word)))
        if token := self._take(_TEMPLATE):
            return self._template(token[0], at)
        return Cell(self._path())

    def _template(self, text: str, at: int) -> Argument:
        pieces: list[str | Path] = []
        for number, piece in enumerate(re.split(r"\{([^{}]*)\}", text[1:-1])):
            if number % 2:
                inner = _Reader(self._text, NO_PREFIXES)
                inner._at = self._text.index("{" + piece + "}", at) + 1
                pieces.append(inner._path())
                if self._text[inner._at] != "}":
                    inner._fail("expected `}`")
            elif piece:
                if set(piece) & set('{}"|^`\\'):
                    self._fail("this is not an IRI", at)
                pieces.append(piece)
        if not pieces:
            self._fail("this IRI is empty", at)
        return Template(tuple(pieces)) if len(pieces) > 1 or isinstance(pieces[0], Path) else ConstantArgument(text)

    def _path(self) -> Path:
        self._blanks()
        steps: Steps = ()
        while True:
            token = self._take(_STEP)
            if not token:
                self._fail("expected a column's name; put a name with blanks or signs in backticks: `` `a name` ``")
            steps += (token["plain"] or token["quoted"], *([EACH] * (len(token["each"]) // 2)))
            if not self._text.startswith(".", self._at):
                return Path(steps)
            self._at += 1

    def _time(self) -> Time | None:
        self._blanks()
        if not re.match(r"at\b", self._text[self._at :]):
            return None
        self._at += 2
        path = self._path()
        self._blanks()
        token = self._take(_UNIT)
        unit: Unit = token[1] if token else ""  # type: ignore[assignment]
        return Time(path, unit, self._zone())

    def _zone(self) -> str | None:
        """The zone of times that are written without one, where the mapping says it."""
        self._blanks()
        if not self._take(_IN):
            return None
        at = self._at
        zone = self._take(_ZONE)
        if zone is None:
            self._fail("expected the name of a time zone", at, _ZONES)
        try:
            zone_named(zone[0])
        except ValueError as error:
            message, _, way_out = str(error).partition("; ")
            self._fail(message, at, way_out)
        return zone[0]

    def _check_arrays(self, mapping: Mapping) -> None:
        """Elements are of one array, and of those around it: which of two others would go together is not said."""
        for path in mapping.paths:
            if path.array != mapping.array[: len(path.array)]:
                other = Path(mapping.array)
                self._fail(f"`{path}` and `{other}` are elements of two arrays", 0, "write a mapping for each array")

    # Characters -----------------------------------------------------------------------------------------------------

    def _blanks(self) -> None:
        self._at = _BLANKS.match(self._text, self._at).end()  # type: ignore[union-attr]

    def _take(self, pattern: re.Pattern[str]) -> "re.Match[str] | None":
        token = pattern.match(self._text, self._at)
        if token:
            self._at = token.end()
        return token

    def _word(self, word: str) -> bool:
        self._blanks()
        there = self._text.startswith(word, self._at)
        self._at += len(word) * there
        return there

    def _fail(self, message: str, at: int | None = None, help: str = _SHAPE, code: str = "E306") -> NoReturn:
        place = self._at if at is None else at
        raise RejectedError([Diagnostic(code, message, Span(self._source, place, place + 1), help)])
