"""From trees to the intermediate representation.

    p(X+1)              becomes   V'1 = X + 1, p(V'1)
    count{X : q(X)} > 3 becomes   V'1 = count{X : q(X)}, V'1 > 3
    _                   becomes   a variable of its own, _'1

Nobody who writes a program would name a variable `V'1`; where text that was printed from the representation does, new
ones keep clear of it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from lark import Token, Tree

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Comparison,
    Constant,
    Expression,
    Formula,
    InWindow,
    Literal,
    Not,
    Now,
    Operation,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    Window,
)
from thalweg.languages.lars import windows
from thalweg.languages.lars.parser import Statement
from thalweg.languages.lars.terms import ReadingError, canonical
from thalweg.model.predicate import Predicate

Node = Tree[Token] | Token

_SAME: Final = {"==": "=", "<>": "!="}


class Lowering:
    """What is known while one text is read: its prefixes, and what is wrong with it so far."""

    def __init__(self, source: Source, tick_length: int) -> None:
        self.source = source
        self.tick_length = tick_length
        self.prefixes: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []

    def declare(self, prefix: Statement) -> None:
        """`@prefix ex: <http://example.org/> .`"""
        namespace, iri = map(str, prefix.children)
        self.prefixes[namespace[:-1]] = iri[1:-1]

    def rule(self, tree: Statement) -> Rule:
        """`head :- body.`, `head at T :- body.` or a fact."""
        return _RuleLowering(self, tree).rule()

    def spell(self, text: str, span: Span) -> str:
        """The canonical spelling of a term; what is wrong with it is written down, and reading goes on."""
        try:
            return canonical(text, self.prefixes)
        except ReadingError as bad:
            self.report(bad, span)
            return text

    def report(self, bad: ReadingError, span: Span) -> None:
        self.diagnostics.append(Diagnostic(bad.code, str(bad), span, help=bad.way_out))

    def span(self, node: Node) -> Span:
        place = node if isinstance(node, Token) else node.meta
        assert place.start_pos is not None
        assert place.end_pos is not None
        return Span(self.source, place.start_pos, place.end_pos)

    def written(self, span: Span) -> str:
        return self.source.text[span.start : span.end]


class _RuleLowering:
    """One rule; its own variables are numbered, and `before` has what must stand before the literal at hand."""

    def __init__(self, text: Lowering, tree: Statement) -> None:
        self.text = text
        self.tree = tree
        self.taken = {str(token) for token in tree.scan_values(lambda value: isinstance(value, Token))}
        self.anonymous = 0
        self.fresh = 0
        self.before: list[Literal] = []

    def rule(self) -> Rule:
        head, *rest = _trees(self.tree.children)
        atom = self.atom(head)
        time = None
        if rest and rest[0].data == "time":
            time = self.expression(rest.pop(0).children[0])
        return Rule(atom, tuple(self.literals(rest)), time, self.text.span(self.tree))

    def literals(self, trees: Iterable[Statement]) -> Iterator[Literal]:
        for tree in trees:
            outer, self.before = self.before, []
            literal = self.literal(tree)
            inserted, self.before = self.before, outer
            yield from inserted
            yield literal

    def literal(self, tree: Statement) -> Literal:
        match tree.data:
            case "negation":
                return Not(self.formula(*_trees(tree.children)), self.text.span(tree))
            case "comparison":
                left, sign, right = tree.children
                return self.compared(self.expression(left), sign, self.expression(right), tree)
            case "measure":
                return self.measure(tree)
        return self.formula(tree)

    def compared(self, left: Expression, sign: Node, right: Expression, tree: Statement) -> Comparison:
        return Comparison(_SAME.get(str(sign), str(sign)), left, right, self.text.span(tree))

    def measure(self, tree: Statement) -> Literal:
        """An aggregate that names its result, or one that is compared under a name made up for it."""
        left, sign, right = tree.children
        if sign in ("=", "=="):
            for name, other in ((left, right), (right, left)):
                if isinstance(name, Token) and name.type == "VARIABLE":
                    assert isinstance(other, Tree)
                    return self.aggregate(self.variable(name), other, self.text.span(tree))
        return self.compared(self.measured(left), sign, self.measured(right), tree)

    def measured(self, node: Node) -> Expression:
        if isinstance(node, Token) or node.data != "aggregate":
            return self.expression(node)
        result = self.new_variable(self.text.span(node))
        self.before.append(self.aggregate(result, node, self.text.span(node)))
        return result

    def aggregate(self, result: Variable, tree: Statement, span: Span) -> Aggregate:
        function, terms, *body = tree.children
        assert isinstance(terms, Tree)
        values = tuple(self.expression(term) for term in terms.children)
        return Aggregate(result, str(function), values, tuple(self.literals(_trees(body))), span)

    def formula(self, tree: Statement) -> Formula:
        first, *rest = _trees(tree.children)
        parts = {part.data: part for part in rest}
        atom = self.atom(first)
        atom = Atom(atom.predicate, tuple(self.simple(arg) for arg in atom.args), atom.span)
        span = self.text.span(tree)
        stream = self.stream(parts["stream"]) if "stream" in parts else None
        time = self.simple(self.expression(parts["time"].children[0])) if "time" in parts else None
        window = self.window(next((part for part in rest if part.data.endswith("window")), None))
        if tree.data == "always":
            assert window is not None
            return Always(atom, window, stream, span)
        if time is not None:
            return At(atom, time, window, stream, span)
        return Now(atom, stream, span) if window is None else InWindow(atom, window, stream, span)

    def atom(self, tree: Statement) -> Atom:
        name, *args = tree.children
        span = self.text.span(name)
        return Atom(self.text.spell(str(name), span), tuple(map(self.expression, args)), self.text.span(tree))

    def stream(self, tree: Statement) -> str:
        """A stream's name is a term; `:s` is plain `s` as long as the empty prefix stands for nothing."""
        name = str(tree.children[0])
        if name.startswith(":") and "" not in self.text.prefixes:
            return name[1:]
        return self.text.spell(name, self.text.span(tree.children[0]))

    def window(self, tree: Statement | None) -> Window | None:
        if tree is None:
            return None
        span = self.text.span(tree)
        try:
            return self.time_window(tree, span) if tree.data == "time_window" else self.tuple_window(tree, span)
        except ReadingError as bad:
            self.text.report(bad, span)
            return TimeWindow(0, span=span)

    def time_window(self, tree: Statement, span: Span) -> TimeWindow:
        durations = [self.duration(duration) for duration in _trees(tree.children)]
        size, step = durations if len(durations) == 2 else (durations[0], None)
        return windows.check_time_window(TimeWindow(size, step, span), self.text.written(span))

    def duration(self, tree: Statement) -> int:
        sign = -1 if tree.children[0] == "-" else 1
        amount, *unit = map(str, tree.children[sign == -1 :])
        return sign * windows.ticks(amount, unit[0] if unit else None, self.text.tick_length)

    def tuple_window(self, tree: Statement, span: Span) -> TupleWindow:
        tokens = [child for child in tree.children if isinstance(child, Token)]
        counted = [self.signature(child) for child in _trees(tree.children)]
        window = TupleWindow(windows.count("".join(tokens)), counted[0] if counted else None, span)
        return windows.check_tuple_window(window, self.text.written(span))

    def signature(self, tree: Statement) -> Predicate:
        name, _, arity = tree.children
        return Predicate(self.text.spell(str(name), self.text.span(name)), windows.arity(str(arity)))

    def expression(self, node: Node) -> Expression:
        span = self.text.span(node)
        if isinstance(node, Token):
            return self.variable(node) if node.type == "VARIABLE" else Constant(self.text.spell(str(node), span), span)
        if node.data == "negative":
            return self.negative(node, span)
        left, sign, right = node.children
        return Operation(str(sign), self.expression(left), self.expression(right), span)

    def negative(self, tree: Statement, span: Span) -> Expression:
        operand = tree.children[-1]
        if isinstance(operand, Token) and operand.type == "NUMBER":
            return Constant(self.text.spell(f"-{operand}", span), span)
        return Operation("-", Constant("0", span), self.expression(operand), span)

    def variable(self, token: Token) -> Variable:
        if token != "_":
            return Variable(str(token), self.text.span(token))
        self.anonymous += 1
        return Variable(f"_'{self.anonymous}", self.text.span(token))

    def simple(self, expression: Expression) -> Variable | Constant:
        """A variable in the place of an operation, which is calculated before."""
        if not isinstance(expression, Operation):
            return expression
        variable = self.new_variable(expression.span)
        self.before.append(Comparison("=", variable, expression, expression.span))
        return variable

    def new_variable(self, span: Span) -> Variable:
        self.fresh += 1
        while f"V'{self.fresh}" in self.taken:
            self.fresh += 1
        return Variable(f"V'{self.fresh}", span)


def _trees(children: Iterable[Node]) -> list[Statement]:
    return [child for child in children if isinstance(child, Tree)]
