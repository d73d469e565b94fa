"""A whole text becomes a program; or everything that is wrong with it."""

from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.ir.nodes import Constant, Expression, Interface, Program, Rule, names
from thalweg.ir.semantics import value
from thalweg.ir.text import show
from thalweg.languages.lars.local_predicates import Declared, check_local, localise
from thalweg.languages.lars.lower import RESERVED, Lowering
from thalweg.languages.lars.parser import Plain, Statement, read_statement, statements
from thalweg.languages.lars.terms import ReadingError, canonical
from thalweg.languages.lars.ticker import replace_built_ins
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate


def read(source: Source, tick_length: int = 1_000) -> Program:
    """The program that a text stands for; raises `RejectedError` with all that is wrong. A tick lasts milliseconds.

    >>> from thalweg.ir.text import show
    >>> print(show(read(Source("x.lars", "slow(S) :- speed(S,V) in [1 min], V < 20. road(a)."))))
    slow(S) :- speed(S,V) in [60], V < 20.
    road(a).
    """
    program, diagnostics = parse(source, tick_length)
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise RejectedError(diagnostics)
    return program


def parse(
    source: Source, tick_length: int = 1_000, file: str | None = None, printed: bool = True
) -> tuple[Program, list[Diagnostic]]:
    """The program of what can be read of a text, which callers may check further, and the diagnostics about the rest.

    `file` is what local predicates are named after, by default the name of the source. Only a text that was `printed`
    from the representation may have such names.

    >>> program, diagnostics = parse(Source("x.lars", "car(1). p(X :- q(X)."))
    >>> program.background, [diagnostic.code for diagnostic in diagnostics]
    ((Fact('car', (1,)),), ['E101'])
    """
    reading = _Reading(Lowering(source, tick_length, printed))
    for statement in statements(source):
        if isinstance(statement, Diagnostic):
            reading.text.diagnostics.append(statement)
        elif isinstance(statement, Plain):
            reading.plain(statement)
        else:
            reading.statement(statement)
    program = replace_built_ins(reading.program())
    reading.text.diagnostics += check_local(program, reading.local)
    program = localise(program, reading.local, file or source.name)
    return program, sorted(reading.text.diagnostics, key=lambda diagnostic: diagnostic.span.start)


class _Reading:
    """The rules and facts so far."""

    def __init__(self, text: Lowering) -> None:
        self.text = text
        self.rules: list[Rule] = []
        self.facts: list[Fact] = []
        self.first: dict[str, tuple[Fact, Span]] = {}
        self.recorded: frozenset[Predicate] = frozenset()
        self.shown: frozenset[Predicate] | None = None
        self.local: Declared = {}

    def program(self) -> Program:
        return Program(tuple(self.rules), tuple(self.facts), Interface(outputs=self.shown), recorded=self.recorded)

    def statement(self, tree: Statement) -> None:
        if tree.data == "prefix":
            self.text.declare(tree)
            return
        if tree.data == "directive":
            self.directive(tree)
            return
        rule = self.text.rule(tree)
        self.text.check_name(rule.head)
        if rule.body or rule.time is not None or names(rule.head):
            self.rules.append(rule)
            return
        self.add(Fact(rule.head.predicate, tuple(map(self.term, rule.head.args))), rule.span)

    def directive(self, tree: Statement) -> None:
        predicates = self.text.predicates(tree)
        match str(tree.children[0]):
            case "#record":
                self.recorded |= frozenset(predicates)
            case "#local":
                self.local |= predicates
            case _:
                self.shown = (self.shown or frozenset()) | frozenset(predicates)

    def plain(self, plain: Plain) -> None:
        prefixes = self.text.prefixes
        if plain.predicate in RESERVED:
            return self.closely(plain)
        try:
            fact = Fact(canonical(plain.predicate, prefixes), tuple(canonical(term, prefixes) for term in plain.terms))
        except ReadingError:
            return self.closely(plain)
        self.add(fact, Span(self.text.source, plain.start, plain.end))

    def closely(self, plain: Plain) -> None:
        """The parser knows the place of each term, so that the diagnostic can show the one that is wrong."""
        tree = read_statement(self.text.source, plain.start).tree
        assert tree is not None
        self.statement(tree)

    def add(self, fact: Fact, span: Span) -> None:
        """A fact has no place of its own, so facts that differ in their number of arguments are noticed here."""
        self.facts.append(fact)
        other, place = self.first.setdefault(fact.predicate, (fact, span))
        if len(other.terms) == len(fact.terms) or fact.predicate.startswith("<"):
            return
        line, column = place.source.position(place.start)
        self.text.diagnostics.append(
            Diagnostic(
                "E201",
                f"`{fact.predicate}` has {len(fact.terms)} arguments here and {len(other.terms)} elsewhere",
                span,
                help=f"use another name for `{fact.signature}`",
                notes=(f"`{other}` at {place.source.name}:{line}:{column}",),
            )
        )

    def term(self, expression: Expression) -> str:
        """The term that a ground expression stands for."""
        if isinstance(expression, Constant):
            return expression.term
        term = value(expression, {})
        if term is not None:
            return term
        error = ReadingError("E207", f"`{show(expression)}` has no value", "use numbers, and do not divide by zero")
        self.text.report(error, expression.span)
        return "0"
