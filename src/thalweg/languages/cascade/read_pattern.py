"""`MATCH [EVERY|FIRST|LAST] pattern [WITHIN (n ms|s|m|h|d)] [IF {…}]` becomes a pattern.

    NOT, AND, OR, SEQ       bind from tight to loose; parentheses group

Where `NOT` may stand, and what makes it open, is checked here, since its words are at hand.
"""

from collections.abc import Callable
from itertools import count
from typing import Final, cast

from thalweg.ir.pattern_semantics import has_open_not
from thalweg.ir.patterns import (
    Absent,
    Both,
    Clause,
    Either,
    Modifier,
    Occurs,
    Operand,
    Pattern,
    Sequence,
    occurrences,
)
from thalweg.languages.cascade.read_restrictions import read_restrictions
from thalweg.languages.cascade.token_reader import TokenReader, shown, written
from thalweg.languages.lars.terms import ReadingError
from thalweg.languages.lars.windows import ticks
from thalweg.languages.rspql.lexer import Token
from thalweg.model.nesting import WAY_OUT
from thalweg.model.time import UNITS

MATCH: Final = "write a pattern as in `MATCH EVERY :A SEQ NOT :N SEQ :B WITHIN (10 m)`"
_WITHIN: Final = "write the bound as in `WITHIN (10 m)`"
_MODIFIERS: Final = ("EVERY", "FIRST", "LAST")
# Of operands in operands: each takes seven calls, of a thousand that Python allows.
_MOST_NESTED: Final = 50


class PatternReader:
    """Reads one pattern; places are counted from left to right."""

    def __init__(self, text: TokenReader, tick_length: int) -> None:
        self._text = text
        self._tick_length = tick_length
        self._places = count()
        self._depth = 0

    def read(self) -> Pattern:
        """The pattern that begins with `MATCH`."""
        text = self._text
        start = text.expect("MATCH", MATCH)
        word = text.takes(*_MODIFIERS)
        modifier = cast(Modifier, word.text.upper()) if word else None
        first = text.now
        if word is None and first.kind == "word" and not first.says("NOT"):
            text.fail(f"expected an event, found {shown(first)}", f"the modifiers are EVERY, FIRST and LAST; {MATCH}")
        operand = self._sequence()
        last = text.tokens[text.at - 1]
        within = self._within() if text.takes("WITHIN") else None
        clauses = read_restrictions(text) if text.takes("IF") else ()
        before = len(text.found)
        _check_nots(text, operand)
        if len(text.found) == before:
            _check_open(text, operand, modifier, within)
        _check_clauses(text, operand, clauses)
        if modifier is None:
            message = "without EVERY, FIRST or LAST this pattern is matched once, and never again"
            text.report("W809", message, start, "write `MATCH EVERY …` for every match")
        if (
            within is None
            and _joins(operand)
            and not any(diagnostic.code == "E804" for diagnostic in text.found[before:])
        ):
            message = "without WITHIN events are kept for ever"
            text.report("W810", message, first, "add a bound, as in `WITHIN (10 m)`", last)
        return Pattern(operand, modifier, within, clauses, text.span(start, text.tokens[text.at - 1]))

    def _sequence(self) -> Operand:
        return self._operands("SEQ", self._either, lambda operands, span: Sequence(operands, span))

    def _either(self) -> Operand:
        return self._operands("OR", self._both, lambda operands, span: Either(operands, span))

    def _both(self) -> Operand:
        return self._operands("AND", self._single, lambda operands, span: Both(operands, span))

    def _operands(self, word: str, read: Callable[[], Operand], operation: Callable[..., Operand]) -> Operand:
        start = self._text.now
        operands = [read()]
        while self._text.takes(word):
            operands.append(read())
        span = self._text.span(start, self._text.tokens[self._text.at - 1])
        return operands[0] if len(operands) == 1 else operation(tuple(operands), span)

    def _single(self) -> Operand:
        text = self._text
        start = text.now
        self._depth += 1
        if self._depth > _MOST_NESTED:
            text.fail(f"this is nested more than {_MOST_NESTED} levels deep", WAY_OUT)
        if text.takes("NOT"):
            operand: Operand = Absent(self._single(), text.span(start))
        elif text.takes("("):
            operand = self._sequence()
            text.expect(")", "close the bracket")
        else:
            name = text.iri("an event", MATCH)
            operand = Occurs(name, next(self._places), text.span(start))
        self._depth -= 1
        return operand

    def _within(self) -> int:
        text = self._text
        text.expect("(", _WITHIN)
        start = text.now
        if start.kind != "number":
            text.fail(f"expected a number, found {shown(start)}", _WITHIN)
        text.take()
        unit = text.now
        if unit.text not in UNITS:
            text.fail(f"expected a unit, found {shown(unit)}", f"a unit is one of `{' '.join(UNITS)}`")
        text.take()
        text.expect(")", _WITHIN)
        try:
            return ticks(start.text, unit.text, self._tick_length)
        except ReadingError as error:
            text.report(error.code, str(error), start, error.way_out, unit)
            return 0


def _joins(operand: Operand) -> bool:
    """Whether events have to be kept for others."""
    return any(map(_joins, operand.operands)) if isinstance(operand, Either) else not isinstance(operand, Occurs)


def _check_nots(text: TokenReader, operand: Operand, under: str = "") -> None:
    """`NOT` stands before an operand of SEQ or AND beside a positive one, and not inside another `NOT`."""
    match operand:
        case Absent(inner, span):
            message, help_ = {
                "": ("a pattern needs an event that is not absent", "put an event beside it: `:A SEQ NOT :N`"),
                "OR": ("`NOT` cannot be a branch of `OR`", "put it beside an event: `(:A AND NOT :N) OR :B`"),
                "NOT": ("`NOT` cannot stand inside another `NOT`", "give the inner part a name of its own"),
            }.get(under, ("", ""))
            if message:
                _report(text, "E803", message, span.start, help_)
            _check_nots(text, inner, "NOT")
        case Either(operands):
            for branch in operands:
                _check_nots(text, branch, "NOT" if under == "NOT" else "OR")
        case Sequence(operands) | Both(operands):
            if all(isinstance(part, Absent) for part in operands) and under != "NOT":
                message = "a pattern needs an event that is not absent"
                _report(text, "E803", message, operand.span.start, "put an event beside it: `:A SEQ NOT :N`")
                return
            for part in operands:
                _check_nots(text, part, "NOT" if under == "NOT" else "SEQ")


def _report(text: TokenReader, code: str, message: str, start: int, help: str) -> None:
    token = next(candidate for candidate in text.tokens if candidate.start == start)
    text.report(code, message, token, help)


def _check_open(text: TokenReader, operand: Operand, modifier: Modifier | None, within: int | None) -> None:
    places = frozenset(occurrence.place for occurrence in occurrences(operand))
    absent = _last_not(operand)
    if absent is None or not has_open_not(operand, places):
        return
    if within is None:
        help_ = "add a bound, as in `WITHIN (10 m)`, or an event behind it"
        _report(text, "E804", "nothing follows this `NOT`, so it needs a time to wait for", absent.span.start, help_)
    if modifier == "LAST":
        message = "LAST cannot be used where nothing follows a `NOT`: which match begins last is not known in time"
        _report(text, "E804", message, absent.span.start, "use EVERY or FIRST")


def _last_not(operand: Operand) -> Absent | None:
    match operand:
        case Absent():
            return operand
        case Sequence(operands) | Both(operands) | Either(operands):
            nots = [absent for absent in map(_last_not, operands) if absent is not None]
            return nots[-1] if nots else None
    return None


def _check_clauses(text: TokenReader, operand: Operand, clauses: tuple[Clause, ...]) -> None:
    names = {occurrence.event for occurrence in occurrences(operand)}
    bound = {name for clause in clauses for name in clause.variables}
    for clause in clauses:
        if clause.event not in names:
            message = f"`{written(clause.span)}` does not occur in the pattern"
            _report(text, "E805", message, clause.span.start, "leave the clause out, or use the event in the pattern")
        for condition in clause.filters:
            for variable in condition.variables:
                if variable not in bound:
                    message = f"no triple binds `?{variable}`"
                    help_ = f"add a triple with it, as in `?o :hasValue ?{variable}`"
                    _report_inside(text, message, condition.span.start, variable, help_)


def _report_inside(text: TokenReader, message: str, start: int, variable: str, help: str) -> None:
    token: Token = next(
        candidate for candidate in text.tokens if candidate.start >= start and candidate.text[1:] == variable
    )
    text.report("E806", message, token, help)
