"""W304 and W207: rules that can match nothing, because of a slip that no other check sees.

    hot(D) :- tempp(D,V), V > 20.       streams bring `temp/2`
    hot(D) :- temp(D,V), V > "20".      a number is never greater than a text

A predicate that nothing derives is one that a stream brings, so what never comes is only known at the end of a run
(`runtimes.unmatched`); a background that has a similar one is known before.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from thalweg.diagnostics import Diagnostic, Span
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Aggregate, Call, Comparison, Constant, Expression, Operation, Program, Rule, Variable
from thalweg.ir.text import show
from thalweg.model.functions import FUNCTIONS
from thalweg.model.predicate import Predicate
from thalweg.model.similar import Similar, nearest
from thalweg.model.term import NUMERIC
from thalweg.model.triples import TRIPLES
from thalweg.model.values import number_of, text_of

_VOCABULARIES: Final = "<http://www.w3.org/"
_ORDER: Final = frozenset({"<", "<=", ">", ">=", "="})
_NUMBERS: Final = ("number", "length", "hour", "minute", "weekday")


@dataclass(frozen=True)
class Inputs:
    """The predicates that rules read, those that they take from outside, and where they read them."""

    program: Program

    @cached_property
    def read(self) -> dict[Predicate, Span]:
        """All predicates that rules read, in the order in which they are written."""
        read: dict[Predicate, Span] = {}
        for rule in self.program.rules:
            for formula, _ in formulas(rule.body):
                read.setdefault(formula.atom.signature, formula.atom.span)
        return read

    @cached_property
    def streams(self) -> dict[tuple[Predicate, str], Span]:
        """The predicates that rules read from one stream only, with its name: `temp(D,V) from north`."""
        read: dict[tuple[Predicate, str], Span] = {}
        for rule in self.program.rules:
            for formula, _ in formulas(rule.body):
                if formula.stream is not None:
                    read.setdefault((formula.atom.signature, formula.stream), formula.span)
        return read

    @cached_property
    def background(self) -> frozenset[Predicate]:
        return frozenset(fact.signature for fact in self.program.background)

    @cached_property
    def awaited(self) -> dict[Predicate, Span]:
        """The predicates that only streams can bring, with where rules read them."""
        available = self.program.derived | self.background | {name for name, _ in self.program.interface.imports}
        return {name: span for name, span in self.read.items() if name not in available and _is_written(name)}

    @property
    def has_vocabulary(self) -> bool:
        """Whether an ontology gives names a meaning: similar names are then often different things."""
        return self.program.hints.static_schema or TRIPLES in self.read or self.program.equality is not None

    def meant_among(self, predicates: Iterable[Predicate]) -> Callable[[Predicate], Predicate | None]:
        """A function that returns the predicate that is likely meant by another one, or None."""
        written = [predicate for predicate in predicates if _is_written(predicate)]
        every = Similar(written)
        if self.has_vocabulary:
            return lambda name: nearest(name, every.candidates(name, loose=False), loose=False)
        unread = Similar(predicate for predicate in written if predicate not in self.read)

        def meant(name: Predicate) -> Predicate | None:
            strictly = every.candidates(name, loose=False)
            # `lane_a` and `lane_b` may both be read on purpose.
            read = (
                predicate
                for predicate in every.candidates(name)
                if predicate in self.read and len(predicate.name) != len(name.name)
            )
            return nearest(name, unread.candidates(name)) or nearest(name, strictly, loose=False) or nearest(name, read)

        return meant


def check_unmatched(program: Program) -> list[Diagnostic]:
    """The warnings that can be given before a run.

    >>> from thalweg.ir.nodes import Atom, Now
    >>> from thalweg.model.fact import Fact
    >>> rule = Rule(Atom("jam"), (Now(Atom("roadd", (Variable("X"),))),))
    >>> [one.message for one in check_unmatched(Program((rule,), (Fact("road", ("a",)),)))]
    ['`roadd/1` is neither derived nor in the background; `road/1` is']
    """
    return [*_not_in_background(Inputs(program)), *_number_and_text(program)]


def _not_in_background(inputs: Inputs) -> Iterator[Diagnostic]:
    in_background = inputs.meant_among(inputs.background - inputs.read.keys())
    derived = Similar(name for name in inputs.program.derived if _is_written(name))
    for name, span in inputs.awaited.items():
        # What rules derive is often called after what they read: only another case is a slip for certain.
        meant = in_background(name) or nearest(name, derived.candidates(name, loose=False), loose=False)
        if meant is not None:
            message = f"`{name}` is neither derived nor in the background; `{meant}` is"
            help_ = f"write `{meant}`, or leave it if a stream brings `{name}`"
            yield Diagnostic("W304", message, span, help=help_)


def _number_and_text(program: Program) -> Iterator[Diagnostic]:
    """W207: comparisons that never hold, because one side is a number and the other a text."""
    for rule in program.rules:
        numbers = _numbers(rule)
        for comparison in _comparisons(rule.body):
            sides = (comparison.left, comparison.right)
            for side, other in (sides, sides[::-1]) if comparison.operator in _ORDER else ():
                text = _text(side)
                in_quotes = comparison.operator != "=" and text is not None and NUMERIC.fullmatch(text)
                if text is not None and (in_quotes or _is_number(other, numbers)):
                    yield _never(comparison, text)


def _never(comparison: Comparison, text: str) -> Diagnostic:
    way_out = f"write the number without quotes: `{text}`" if NUMERIC.fullmatch(text) else _CONVERT
    return Diagnostic(
        "W207", f"`{show(comparison)}` compares a number with a text, and never holds", comparison.span, help=way_out
    )


_CONVERT: Final = "compare numbers with numbers; `number(X)` is the number that a text stands for"


def _numbers(rule: Rule) -> frozenset[str]:
    """The variables that are numbers wherever the rule holds: they are calculated, or compared with a number."""
    numbers = {
        node.result.name for node in rule.body if isinstance(node, Aggregate) and node.function not in ("min", "max")
    }
    for comparison in _comparisons(rule.body):
        for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
            if comparison.operator in _ORDER and isinstance(side, Variable) and _is_number(other, frozenset()):
                numbers.add(side.name)
    return frozenset(numbers)


def _is_number(expression: Expression, numbers: frozenset[str]) -> bool:
    match expression:
        case Variable(name):
            return name in numbers
        case Constant(term):
            return number_of(term) is not None
        case Operation():
            return True
        case Call(function):
            return FUNCTIONS[function].numeric or function in _NUMBERS
    return False


def _text(expression: Expression) -> str | None:
    """The text that a constant is."""
    return text_of(expression.term) if isinstance(expression, Constant) else None


def _comparisons(body: Iterable[object]) -> Iterator[Comparison]:
    for literal in body:
        if isinstance(literal, Comparison):
            yield literal
        elif isinstance(literal, Aggregate):
            yield from _comparisons(literal.body)


def _is_written(name: Predicate) -> bool:
    """Whether people write it: the predicates of plans have names that cannot be typed, and OWL's own are built in."""
    return "'" not in name and not name.startswith((_VOCABULARIES, "_"))
