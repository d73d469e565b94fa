"""From trees to the intermediate representation.

    p(X+1)              becomes   V'1 = X + 1, p(V'1)
    count{X : q(X)} > 3 becomes   V'1 = count{X : q(X)}, V'1 > 3
    20 < V < 25         becomes   20 < V, V < 25
    contains(X,"a")     becomes   a comparison
    p at T, T > @2026…  becomes   p at T, T > 1794729600
    _                   becomes   a variable of its own, _'1

Nobody who writes a program would name a variable `V'1`; where text that was printed from the representation does, new
ones keep clear of it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

from lark import Token, Tree

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Call,
    Comparison,
    Constant,
    Expression,
    Formula,
    InWindow,
    KeyedWindow,
    Literal,
    Not,
    Now,
    Operation,
    PastWindow,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    Window,
    names,
)
from thalweg.languages.lars import windows
from thalweg.languages.lars.parser import Statement
from thalweg.languages.lars.terms import ReadingError, canonical
from thalweg.languages.lars.tick_comparisons import compare_ticks
from thalweg.model.functions import CONDITIONS, FUNCTIONS, MANY, Function, is_pattern
from thalweg.model.predicate import Predicate
from thalweg.model.values import moment_of, text_of

ParseNode = Tree[Token] | Token

RESERVED: Final = frozenset(CONDITIONS)

_SAME: Final = {"==": "=", "<>": "!="}


class Lowering:
    """Lowers the statements of one text; keeps its prefixes, and the diagnostics so far."""

    def __init__(self, source: Source, tick_length: int, printed: bool = True) -> None:
        """`printed`: the text may be one that the representation was printed as, with files in names."""
        self.source = source
        self.tick_length = tick_length
        self.printed = printed
        self.prefixes: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []

    def declare(self, prefix: Statement) -> None:
        """`@prefix ex: <http://example.org/> .`"""
        namespace, iri = map(str, prefix.children)
        self.prefixes[namespace[:-1]] = iri[1:-1]

    def rule(self, tree: Statement) -> Rule:
        """`head :- body.`, `head at T :- body.` or a fact."""
        return _RuleLowering(self, tree).rule()

    def predicates(self, directive: Statement) -> dict[Predicate, Span]:
        """The predicates that a directive names, with their places."""
        places: dict[Predicate, Span] = {}
        for tree in _trees(directive.children):
            try:
                places.setdefault(self.predicate(tree), self.span(tree))
            except ReadingError as bad:
                self.report(bad, self.span(tree))
        return places

    def predicate(self, tree: Statement) -> Predicate:
        """`speed/2`"""
        name, _, arity = tree.children
        return Predicate(self.named(name), windows.arity(str(arity)))

    def named(self, name: ParseNode) -> str:
        """The canonical name of a predicate; E219 where it has a file in it that only printed texts have."""
        span = self.span(name)
        if not isinstance(name, Token) or name.type != "OF_FILE":
            return self.spell(str(name), span)
        if not self.printed:
            way_out = "write the name alone; what is local to another file cannot be used here"
            self.report(ReadingError("E219", f"`{name}` is local to a file", way_out), span)
        return str(name)

    def spell(self, text: str, span: Span) -> str:
        """The canonical spelling of a term; what is wrong with it is written down, and reading goes on."""
        try:
            return canonical(text, self.prefixes)
        except ReadingError as bad:
            self.report(bad, span)
            return text

    def check_name(self, atom: Atom) -> None:
        """E213 where a condition is used as a predicate."""
        if atom.predicate in RESERVED:
            way_out = f"use another name for the predicate, such as `{atom.predicate}_of`"
            self.report(ReadingError("E213", f"`{atom.predicate}` is a condition, not a predicate", way_out), atom.span)

    def report(self, bad: ReadingError, span: Span) -> None:
        self.diagnostics.append(Diagnostic(bad.code, str(bad), span, help=bad.way_out))

    def span(self, node: ParseNode) -> Span:
        place = node if isinstance(node, Token) else node.meta
        assert place.start_pos is not None
        assert place.end_pos is not None
        return Span(self.source, place.start_pos, place.end_pos)

    def written(self, span: Span) -> str:
        return self.source.text[span.start : span.end]


class _RuleLowering:
    """Lowers one rule; its own variables are numbered, and `before` has the literals to put before the current one."""

    def __init__(self, text: Lowering, tree: Statement) -> None:
        self.text = text
        self.tree = tree
        self.taken = {str(token) for token in tree.scan_values(lambda value: isinstance(value, Token))}
        self.anonymous = 0
        self.fresh = 0
        self.before: list[Literal] = []

    def rule(self) -> Rule:
        head, *parts = _trees(self.tree.children)
        atom = self.atom(head)
        time = None
        if parts and parts[0].data == "time":
            time = self.tick(self.expression(parts.pop(0).children[0]))
        rule = Rule(atom, tuple(self.literals(parts)), time, self.text.span(self.tree))
        return compare_ticks(rule, self.tick)

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
                (negated,) = _trees(tree.children)
                condition = self.condition(negated)
                if condition is not None:
                    return replace(condition, operator=f"not {condition.operator}", span=self.text.span(tree))
                return Not(self.formula(negated), self.text.span(tree))
            case "comparison":
                return self.comparison(tree)
            case "measure":
                return self.measure(tree)
        return self.condition(tree) or self.formula(tree)

    def comparison(self, tree: Statement) -> Comparison:
        """`20 < V < 25` is two comparisons, the first of which stands before the second."""
        sides = [self.expression(side) for side in tree.children[::2]]
        signs = tree.children[1::2]
        chain = [self.compared(*parts, tree) for parts in zip(sides, signs, sides[1:], strict=False)]
        self.before += chain[:-1]
        return chain[-1]

    def condition(self, tree: Statement) -> Comparison | None:
        """`starts_with(D,"a")`, which is written as an atom; None where it is one."""
        first, *modifiers = _trees(tree.children)
        name, *args = first.children
        if str(name) not in CONDITIONS:
            return None
        span = self.text.span(tree)
        values = [self.expression(arg) for arg in args]
        if modifiers or len(values) != 2:
            way_out = f'it takes two texts, as in `{name}(X, "a")`; a predicate needs another name, such as `{name}_of`'
            self.text.report(ReadingError("E213", f"`{name}` is a condition, not a predicate", way_out), span)
            return Comparison("=", Constant("0"), Constant("0"), span)
        if name == "matches" and isinstance(values[1], Constant):
            self.check_pattern(values[1])
        return Comparison(str(name), values[0], values[1], span)

    def check_pattern(self, pattern: Constant) -> None:
        text = text_of(pattern.term)
        if text is not None and not is_pattern(text):
            way_out = "write it in the syntax of RE2, which has no look-around and no references to groups"
            self.text.report(ReadingError("E214", f"`{text}` is not a pattern", way_out), pattern.span)

    def compared(self, left: Expression, sign: ParseNode, right: Expression, tree: Statement) -> Comparison:
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

    def measured(self, node: ParseNode) -> Expression:
        if isinstance(node, Token) or node.data != "aggregate":
            return self.expression(node)
        result = self.new_variable(self.text.span(node))
        self.before.append(self.aggregate(result, node, self.text.span(node)))
        return result

    def aggregate(self, result: Variable, tree: Statement, span: Span) -> Aggregate:
        function, *_ = tree.children
        terms, *body = _trees(tree.children)
        share = next((str(child) for child in tree.children[1:] if isinstance(child, Token)), None)
        values = tuple(self.expression(term) for term in terms.children)
        return Aggregate(result, str(function), values, tuple(self.literals(body)), self.share(share, span), span)

    def share(self, written: str | None, span: Span) -> str | None:
        """The share of a quantile."""
        spelled = None if written is None else self.text.spell(written, span)
        if spelled is not None and not 0 <= Fraction(spelled) <= 1:
            way_out = "it lies between 0 and 1, as in `quantile(0.95){V : p(V)}`"
            self.text.report(ReadingError("E213", f"`{written}` is not the share of a quantile", way_out), span)
        return spelled

    def formula(self, tree: Statement) -> Formula:
        first, *modifiers = _trees(tree.children)
        parts = {part.data: part for part in modifiers}
        atom = self.atom(first)
        self.text.check_name(atom)
        atom = Atom(atom.predicate, tuple(self.simple(arg) for arg in atom.args), atom.span)
        span = self.text.span(tree)
        stream = self.stream(parts["stream"]) if "stream" in parts else None
        time = self.simple(self.tick(self.expression(parts["time"].children[0]))) if "time" in parts else None
        window = self.past(parts["past"]) if "past" in parts else self.window(modifiers, atom)
        if tree.data == "always":
            assert window is not None
            return Always(atom, window, stream, span)
        if time is not None:
            return At(atom, time, window, stream, span)
        return Now(atom, stream, span) if window is None else InWindow(atom, window, stream, span)

    def atom(self, tree: Statement) -> Atom:
        name, *args = tree.children
        return Atom(self.text.named(name), tuple(map(self.expression, args)), self.text.span(tree))

    def stream(self, tree: Statement) -> str:
        """A stream's name is a term; `:s` is plain `s` as long as the empty prefix stands for nothing."""
        name = str(tree.children[0])
        if name.startswith(":") and "" not in self.text.prefixes:
            return name[1:]
        return self.text.spell(name, self.text.span(tree.children[0]))

    def window(self, parts: list[Statement], atom: Atom) -> Window | None:
        tree = next((part for part in parts if part.data.endswith("window")), None)
        if tree is None:
            return None
        span = self.text.span(tree)
        try:
            return self.time_window(tree, span) if tree.data == "time_window" else self.tuple_window(tree, atom, span)
        except ReadingError as bad:
            self.text.report(bad, span)
            return TimeWindow(0, span=span)

    def past(self, tree: Statement) -> Window:
        """`before [10 sec]`"""
        (inner,) = _trees(tree.children)
        span = self.text.span(inner)
        try:
            if inner.data != "time_window":
                raise windows.not_before(self.text.written(span))
            return windows.check_past_window(self.time_window(inner, span), self.text.written(span))
        except ReadingError as bad:
            self.text.report(bad, span)
            return PastWindow(1, span)

    def time_window(self, tree: Statement, span: Span) -> TimeWindow:
        durations = [self.duration(duration) for duration in _trees(tree.children)]
        size, step = durations if len(durations) == 2 else (durations[0], None)
        return windows.check_time_window(TimeWindow(size, step, span), self.text.written(span))

    def duration(self, tree: Statement) -> int:
        sign = -1 if tree.children[0] == "-" else 1
        amount, *unit = map(str, tree.children[sign == -1 :])
        return sign * windows.ticks(amount, unit[0] if unit else None, self.text.tick_length)

    def tuple_window(self, tree: Statement, atom: Atom, span: Span) -> TupleWindow | KeyedWindow:
        size = windows.count("".join(child for child in tree.children if isinstance(child, Token)))
        (what,) = _trees(tree.children) or (None,)
        windows.check_count(size, self.text.written(span))
        if what is not None and what.data == "keys":
            return KeyedWindow(size, tuple(self.columns(what, atom)), span)
        return TupleWindow(size, None if what is None else self.text.predicate(what), span)

    def columns(self, tree: Statement, atom: Atom) -> Iterator[int]:
        """The places of the arguments that `by D, E` names."""
        keys = [str(key) for key in tree.children]
        unknown = [key for key in keys if key == "_" or key not in names(atom)]
        if unknown:
            way_out = "name variables that stand alone in an argument of the atom, as in `temp(D,V) in [1 # by D]`"
            raise ReadingError("E212", f"`{unknown[0]}` is not an argument of `{atom.predicate}`", way_out)
        return (number for number, arg in enumerate(atom.args) if isinstance(arg, Variable) and arg.name in keys)

    def expression(self, node: ParseNode) -> Expression:
        span = self.text.span(node)
        if isinstance(node, Token):
            return self.variable(node) if node.type == "VARIABLE" else Constant(self.text.spell(str(node), span), span)
        if node.data == "negative":
            return self.negative(node, span)
        if node.data == "call":
            return self.call(node, span)
        left, sign, right = node.children
        return Operation(str(sign), self.expression(left), self.expression(right), span)

    def call(self, tree: Statement, span: Span) -> Expression:
        """`round(X, 1)`; `mod(X, Y)` is another way to write `X mod Y`."""
        name, *args = tree.children
        values = tuple(map(self.expression, args))
        if name == "mod" and len(values) == 2:
            return Operation("mod", values[0], values[1], span)
        function = FUNCTIONS.get(str(name))
        if function is None and name != "mod":
            functions = ", ".join(["mod", *FUNCTIONS])
            bad = ReadingError("E213", f"`{name}` is not a function", f"the functions are {functions}")
            self.text.report(bad, self.text.span(name))
            return Constant("0", span)
        if function is None or not function.least <= len(values) <= function.most:
            way_out = "the reference page of the rule language lists the functions and their arguments"
            takes = "2 arguments" if function is None else _how_many(function)
            self.text.report(ReadingError("E213", f"`{name}` takes {takes}", way_out), span)
            return Constant("0", span)
        return Call(str(name), values, span)

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

    def tick(self, time: Expression) -> Expression:
        """A time behind `at` is the tick that it falls into."""
        moment = moment_of(time.term) if isinstance(time, Constant) else None
        return time if moment is None else Constant(str(moment // (1_000 * self.text.tick_length)), time.span)

    def simple(self, expression: Expression) -> Variable | Constant:
        """A variable in the place of an operation, which is calculated before."""
        if not isinstance(expression, Operation | Call):
            return expression
        variable = self.new_variable(expression.span)
        self.before.append(Comparison("=", variable, expression, expression.span))
        return variable

    def new_variable(self, span: Span) -> Variable:
        self.fresh += 1
        while f"V'{self.fresh}" in self.taken:
            self.fresh += 1
        return Variable(f"V'{self.fresh}", span)


def _how_many(function: Function) -> str:
    if function.most == 1:
        return "one argument"
    if function.least == function.most:
        return f"{function.least} arguments"
    return f"{function.least} or 2 arguments" if function.most < MANY else "at least one argument"


def _trees(children: Iterable[ParseNode]) -> list[Statement]:
    return [child for child in children if isinstance(child, Tree)]
