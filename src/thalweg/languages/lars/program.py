"""A whole text becomes a program; or everything that is wrong with it."""

from thalweg.diagnostics import Diagnostic, Rejected, Source, Span
from thalweg.ir.nodes import Constant, Expression, Operation, Program, Rule, names
from thalweg.languages.lars.lower import Lowering
from thalweg.languages.lars.parser import Plain, Statement, read_statement, statements
from thalweg.languages.lars.terms import ReadingError, canonical
from thalweg.languages.lars.ticker import replace_built_ins
from thalweg.model.fact import Fact
from thalweg.model.number import NO_VALUE, OPERATORS, calculate, read_number, show_number
from thalweg.model.term import is_number


def read(source: Source, tick_length: int = 1_000) -> Program:
    """The program that a text stands for; raises `Rejected` with all that is wrong with it. A tick lasts milliseconds.

    >>> from thalweg.ir.text import show
    >>> print(show(read(Source("x.lars", "slow(S) :- speed(S,V) in [1 min], V < 20. road(a)."))))
    slow(S) :- speed(S,V) in [60], V < 20.
    road(a).
    """
    program, diagnostics = parse(source, tick_length)
    if diagnostics:
        raise Rejected(diagnostics)
    return program


def parse(source: Source, tick_length: int = 1_000) -> tuple[Program, list[Diagnostic]]:
    """What can be read of a text, and what is wrong with the rest: for those who look for more mistakes in the former.

    >>> program, diagnostics = parse(Source("x.lars", "car(1). p(X :- q(X)."))
    >>> program.background, [found.code for found in diagnostics]
    ((Fact(predicate='car', args=('1',)),), ['E101'])
    """
    reading = _Reading(Lowering(source, tick_length))
    for found in statements(source):
        if isinstance(found, Diagnostic):
            reading.text.diagnostics.append(found)
        elif isinstance(found, Plain):
            reading.plain(found)
        else:
            reading.statement(found)
    program = replace_built_ins(Program(tuple(reading.rules), tuple(reading.facts)))
    return program, sorted(reading.text.diagnostics, key=lambda found: found.span.start)


class _Reading:
    """The rules and facts so far."""

    def __init__(self, text: Lowering) -> None:
        self.text = text
        self.rules: list[Rule] = []
        self.facts: list[Fact] = []
        self.first: dict[str, tuple[Fact, Span]] = {}

    def statement(self, tree: Statement) -> None:
        if tree.data == "prefix":
            self.text.declare(tree)
            return
        rule = self.text.rule(tree)
        if rule.body or rule.time is not None or names(rule.head):
            self.rules.append(rule)
            return
        self.add(Fact(rule.head.predicate, tuple(map(self.value, rule.head.args))), rule.span)

    def plain(self, plain: Plain) -> None:
        prefixes = self.text.prefixes
        try:
            fact = Fact(canonical(plain.predicate, prefixes), tuple(canonical(term, prefixes) for term in plain.terms))
        except ReadingError:
            # The parser knows the place of each term, so that the diagnostic can show the one that is wrong.
            tree = read_statement(self.text.source, plain.start).tree
            assert tree is not None
            return self.statement(tree)
        self.add(fact, Span(self.text.source, plain.start, plain.end))

    def add(self, fact: Fact, span: Span) -> None:
        """A fact has no place of its own, so facts that differ in their number of arguments are noticed here."""
        self.facts.append(fact)
        other, place = self.first.setdefault(fact.predicate, (fact, span))
        if len(other.args) == len(fact.args) or fact.predicate.startswith("<"):
            return
        line, column = place.source.position(place.start)
        self.text.diagnostics.append(
            Diagnostic(
                "E201",
                f"`{fact.predicate}` has {len(fact.args)} arguments here and {len(other.args)} elsewhere",
                span,
                help=f"use another name for `{fact.signature}`",
                notes=(f"`{other}` at {place.source.name}:{line}:{column}",),
            )
        )

    def value(self, expression: Expression) -> str:
        """The term that a ground expression stands for."""
        if isinstance(expression, Constant):
            return expression.term
        assert isinstance(expression, Operation)
        left, right = self.value(expression.left), self.value(expression.right)
        word = calculate(OPERATORS[expression.operator], _word(left), _word(right))
        if word != NO_VALUE:
            return show_number(word)
        error = ReadingError(
            "E207",
            f"`{left} {expression.operator} {right}` has no value",
            "use numbers, and do not divide by zero",
        )
        self.text.report(error, expression.span)
        return "0"


def _word(term: str) -> int:
    word = read_number(term) if is_number(term) else None
    return NO_VALUE if word is None else word
