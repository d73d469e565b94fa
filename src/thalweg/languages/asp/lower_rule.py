"""One rule of an answer set program becomes rules over windows; see `lower`.

The terms of a comparison may be numbers or not, and only the stream knows. What a rule demands of its variables is
collected in `integers`: a variable in arithmetic, or less than a number, is one. A variable greater than a number may
be anything else as well, so the rule is split in two.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, Final, Protocol

from thalweg.ir.binding import bound_by_formulas
from thalweg.ir.nodes import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Expression,
    Formula,
    Literal,
    Not,
    Operation,
    Rule,
    Variable,
    names,
)
from thalweg.languages.asp.arithmetic import calculated, in_range, scales
from thalweg.languages.asp.outlines import type_of, within
from thalweg.languages.asp.terms import Names, is_integer
from thalweg.model.predicate import Predicate, interned
from thalweg.model.term import is_term

COMPARE: Final = (">", "<", "<=", ">=", "!=", "=")
OPPOSITE: Final = {">": "<=", "<": ">=", "<=": ">", ">=": "<", "!=": "=", "=": "!="}
MIRRORED: Final = {">": "<", "<": ">", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}
CALCULATE: Final = {3: "+", 4: "-", 5: "*"}
AGGREGATES: Final = {0: "count", 1: "sum"}
INTEGER, NON_INTEGER = Constant("integer"), Constant("non_integer")
_MOST_SPLITS: Final = 3
_MOST_FACTS: Final = 100_000


class UnsupportedError(Exception):
    """A construct has no counterpart in rules; the node has its place."""

    def __init__(self, reason: str, node: Any = None) -> None:
        super().__init__(reason)
        self.reason, self.node = reason, node


class Predicates(Protocol):
    """The parts of a program that the lowering of a rule looks at."""

    names: Names
    constants: dict[str, Any]

    def name(self, signature: Predicate) -> str: ...

    def formula(self, atom: Atom) -> Formula: ...


def variables_in(node: Any) -> set[str]:
    """The names of the variables in a node, if there is one."""
    return set() if node is None else {inner.name for inner in within(node) if type_of(inner) == "Variable"}


def _outer_variables(literal: Any) -> set[str]:
    """The variables of a literal outside of the elements of aggregates."""
    if type_of(literal.atom) != "BodyAggregate":
        return variables_in(literal)
    return variables_in(literal.atom.left_guard) | variables_in(literal.atom.right_guard)


class LoweredRule:
    """Lowers one rule of clingo: its substitutions, tests and formulas so far."""

    def __init__(self, program: Predicates, node: Any) -> None:
        self.program = program
        self.node = node
        self.same: dict[str, Expression] = {}
        self.fresh = 0
        self.formulas: list[Literal] = []
        self.tests: list[tuple[str, Expression, Expression, Any]] = []
        self.integers: dict[str, None] = {}
        self.certain: set[str] = set()
        self.sums: set[str] = set()

    # A rule -----------------------------------------------------------------------------------------------------

    def rules(self) -> Iterator[Rule]:
        for literal in self.node.body:
            if type_of(literal) == "ConditionalLiteral":
                raise UnsupportedError("a conditional literal is left to clingo", literal)
        if not self.equate():
            return
        for literal in self.node.body:
            self.literal(literal)
        heads = list(self.heads())
        self.calculate_with(*(arg for head in heads for arg in head.args))
        for head in heads:
            for tests in self.alternatives():
                yield Rule(head, (*self.formulas, *tests))

    def equate(self) -> bool:
        """`X = Y` and `X = c` make one term of two; False where they cannot."""
        for literal in self.node.body:
            for operator, left, right in self.comparisons(literal):
                if operator == "=" and self.is_simple(left) and self.is_simple(right):
                    term, other = self.term(left), self.term(right)
                    if isinstance(term, Variable):
                        self.replace(term.name, other)
                    elif isinstance(other, Variable):
                        self.replace(other.name, term)
                    elif term != other:
                        return False
        return True

    def replace(self, name: str, term: Expression) -> None:
        if term == Variable(name):
            return
        self.same = {key: term if value == Variable(name) else value for key, value in self.same.items()}
        self.same[name] = term

    def comparisons(self, literal: Any) -> list[tuple[str, Any, Any]]:
        """The comparisons of a literal that is one: `1 < X < 5` is two."""
        if type_of(literal.atom) != "Comparison":
            return []
        sides = [literal.atom.term, *(guard.term for guard in literal.atom.guards)]
        operators = [COMPARE[guard.comparison] for guard in literal.atom.guards]
        if literal.sign == 1:
            if len(operators) > 1:
                raise UnsupportedError("a negated chain of comparisons is left to clingo", literal)
            operators = [OPPOSITE[operators[0]]]
        return list(zip(operators, sides, sides[1:], strict=False))

    def literal(self, literal: Any) -> None:
        match type_of(literal.atom):
            case "SymbolicAtom":
                self.formulas.append(self.atom_literal(literal))
            case "Comparison":
                for operator, left, right in self.comparisons(literal):
                    if operator != "=" or not (self.is_simple(left) and self.is_simple(right)):
                        self.tests.append((operator, self.term(left), self.term(right), literal))
            case "BodyAggregate":
                self.aggregate(literal)
            case "BooleanConstant":
                if bool(literal.atom.value) == (literal.sign == 1):
                    self.tests.append(("!=", Constant("0"), Constant("0"), literal))
            case _:
                raise UnsupportedError("this condition is left to clingo", literal)

    def atom_literal(self, literal: Any) -> Literal:
        if literal.sign == 2:
            raise UnsupportedError("`not not` is left to clingo", literal)
        formula = self.program.formula(self.body_atom(literal))
        return Not(formula) if literal.sign else formula

    def body_atom(self, literal: Any) -> Atom:
        name, terms = self.name_of(literal.atom.symbol)
        args = []
        for term in map(self.term, terms):
            if isinstance(term, Operation):
                place = self.variable()
                self.tests.append(("=", place, term, literal))
                term = place
            args.append(term)
        return Atom(self.program.name(interned(name, len(args))), tuple(args))

    def heads(self) -> Iterator[Atom]:
        """The head; one for each alternative of a fact such as `p(1..3).`"""
        literal = self.node.head
        if type_of(literal.atom) == "BooleanConstant" and not literal.atom.value:
            yield Atom("'inconsistent")
            return
        if literal.sign or type_of(literal.atom) != "SymbolicAtom":
            raise UnsupportedError("this head is left to clingo", literal)
        for symbol in self.alternative_atoms(literal.atom.symbol):
            name, terms = self.name_of(symbol)
            alternatives = list(map(self.alternative_terms, terms))
            if prod(map(len, alternatives)) > _MOST_FACTS:
                raise UnsupportedError(f"more than {_MOST_FACTS:,} facts in one statement are left to clingo", literal)
            for args in product(*alternatives):
                yield Atom(self.program.name(interned(name, len(args))), args)

    def alternative_atoms(self, symbol: Any) -> list[Any]:
        return list(symbol.arguments) if type_of(symbol) == "Pool" and not self.node.body else [symbol]

    def alternative_terms(self, node: Any) -> Sequence[Expression]:
        if self.node.body or type_of(node) != "Interval":
            return [self.term(node)]
        first, last = self.term(node.left), self.term(node.right)
        if not (isinstance(first, Constant) and isinstance(last, Constant)):
            raise UnsupportedError("this interval is left to clingo", node)
        if not (is_integer(first.term) and is_integer(last.term)):
            return []
        numbers = range(int(first.term), int(last.term) + 1)
        if len(numbers) > _MOST_FACTS:
            raise UnsupportedError(f"an interval of more than {_MOST_FACTS:,} numbers is left to clingo", node)
        return [Constant(str(number)) for number in numbers]

    # Aggregates -------------------------------------------------------------------------------------------------

    def aggregate(self, literal: Any) -> None:
        atom = literal.atom
        function = AGGREGATES.get(atom.function)
        if function is None:
            raise UnsupportedError("only `#count` and `#sum` can be evaluated for all terms", literal)
        if len(atom.elements) != 1 or literal.sign == 2:
            raise UnsupportedError("an aggregate with several elements is left to clingo", literal)
        result = self.variable()
        self.certain.add(result.name)
        if function == "sum":
            self.sums.add(result.name)
        self.formulas.append(self.measure(result, function, atom.elements[0]))
        bounds = [(atom.left_guard, MIRRORED), (atom.right_guard, dict(zip(COMPARE, COMPARE, strict=True)))]
        if literal.sign and all(guard is not None for guard, _ in bounds):
            raise UnsupportedError("a negated aggregate with two bounds is left to clingo", literal)
        for guard, turned in bounds:
            if guard is not None:
                operator = turned[COMPARE[guard.comparison]]
                operator = OPPOSITE[operator] if literal.sign else operator
                self.tests.append((operator, result, self.term(guard.term), literal))

    def measure(self, result: Variable, function: str, element: Any) -> Aggregate:
        outside = self.same
        shared = variables_in(self.node.head) | {
            name for literal in self.node.body for name in _outer_variables(literal)
        }
        # What is local to the aggregate gets a name of its own.
        self.same = outside | {name: self.variable() for name in sorted(variables_in(element) - shared - {"_"})}
        terms = tuple(map(self.term, element.terms))
        if not terms or any(isinstance(term, Operation) for term in terms):
            raise UnsupportedError("arithmetic inside an aggregate is left to clingo", self.node)
        body = []
        for literal in element.condition:
            if type_of(literal.atom) != "SymbolicAtom":
                raise UnsupportedError("a comparison inside an aggregate is left to clingo", literal)
            if any(isinstance(self.term(term), Operation) for term in self.name_of(literal.atom.symbol)[1]):
                raise UnsupportedError("arithmetic inside an aggregate is left to clingo", literal)
            body.append(self.atom_literal(literal))
        if function == "sum" and isinstance(terms[0], Variable):
            body.append(Comparison("is", terms[0], INTEGER))
        self.same = outside
        return Aggregate(result, function, terms, tuple(body))

    # Comparisons ------------------------------------------------------------------------------------------------

    def alternatives(self) -> Iterator[tuple[Literal, ...]]:
        """The tests of the rule; several where a variable may be a number or not."""
        plain: list[Literal] = []
        splits: list[list[tuple[Literal, ...]]] = []
        waiting = self.bind(plain)
        for operator, left, right, _ in waiting:
            self.calculate_with(left, right)
            if operator == "=":
                self.demand(left, right)
        for operator, left, right, _ in waiting:
            small, large = (left, right) if operator in ("<", "<=") else (right, left)
            if operator not in ("=", "!=") and self.is_integer(large) and isinstance(small, Variable):
                self.demand(small)
        for operator, left, right, node in waiting:
            cases = self.test(operator, left, right, node)
            if len(cases) == 1:
                plain += cases[0]
            else:
                splits.append(cases)
        if len(splits) > _MOST_SPLITS:
            raise UnsupportedError("too many comparisons with terms that may or may not be numbers", self.node)
        guards = [Comparison("is", Variable(name), INTEGER) for name in self.integers if name not in self.certain]
        for chosen in product(*splits):
            yield (*guards, *plain, *(test for tests in chosen for test in tests))

    def bind(self, plain: list[Literal]) -> list[tuple[str, Expression, Expression, Any]]:
        """Each `=` that gives a variable its value is settled; what is left compares."""
        bound = bound_by_formulas(self.formulas)
        # What a sum is compared with may be any number; what it gives has 32 bits, and is asked last.
        waiting = sorted(self.tests, key=lambda test: self.is_sum(test[1]))
        while step := next((test for test in waiting if self.binds(test, bound)), None):
            operator, left, right, _ = step
            free, value = (left, right) if isinstance(left, Variable) and left.name not in bound else (right, left)
            assert isinstance(free, Variable)
            self.calculate_with(value)
            self.certain.add(free.name)
            bound |= {free.name}
            plain.append(Comparison(operator, free, in_range(value) if self.is_sum(value) else value))
            waiting.remove(step)
        for _, left, right, node in waiting:
            if not names(left, right) <= bound:
                raise UnsupportedError("an equation that has to be solved is left to clingo", node)
        return waiting

    def is_sum(self, term: Expression) -> bool:
        return isinstance(term, Variable) and term.name in self.sums

    @staticmethod
    def binds(test: tuple[str, Expression, Expression, Any], bound: frozenset[str]) -> bool:
        operator, left, right, _ = test
        return operator == "=" and any(
            isinstance(free, Variable) and free.name not in bound and names(value) <= bound
            for free, value in ((left, right), (right, left))
        )

    def test(self, operator: str, left: Expression, right: Expression, node: Any) -> list[tuple[Literal, ...]]:
        """A comparison as rules make it; two ways where a variable may be a number or not."""
        if operator == "=" and (scales(left) or scales(right)):
            raise UnsupportedError("an equation with a multiple is left to clingo", node)
        if operator == "!=":
            return [(Comparison("!==", left, right),)]
        compared = Comparison(operator, left, right)
        if operator == "=" or (self.is_integer(left) and self.is_integer(right)):
            return [(compared,)]
        small, large = (left, right) if operator in ("<", "<=") else (right, left)
        if not (self.is_integer(small) and isinstance(large, Variable)):
            raise UnsupportedError("an order between terms that may not be numbers is left to clingo", node)
        return [(Comparison("is", large, INTEGER), compared), (Comparison("is", large, NON_INTEGER),)]

    def is_integer(self, term: Expression) -> bool:
        match term:
            case Constant(text):
                return is_integer(text)
            case Variable(name):
                return name in self.certain or name in self.integers
        return True

    def calculate_with(self, *terms: Expression) -> None:
        for term in terms:
            if isinstance(term, Operation):
                self.demand(*(Variable(name) for name in sorted(names(term))))

    def demand(self, *terms: Expression) -> None:
        self.integers |= dict.fromkeys(term.name for term in terms if isinstance(term, Variable))

    # Terms ------------------------------------------------------------------------------------------------------

    def variable(self, stem: str = "V") -> Variable:
        self.fresh += 1
        return Variable(f"{stem}'{self.fresh}")

    def name_of(self, symbol: Any) -> tuple[str, list[Any]]:
        """The name and arguments of an atom; one that is denied has another name."""
        match type_of(symbol):
            case "UnaryOperation":
                name, terms = self.name_of(symbol.argument)
                return f"-{name}", terms
            case "Function" if not symbol.external:
                return symbol.name, list(symbol.arguments)
            case "SymbolicTerm":
                return str(symbol.symbol), []
        raise UnsupportedError("alternatives in an atom are left to clingo", symbol)

    def is_simple(self, node: Any) -> bool:
        return type_of(node) in ("Variable", "SymbolicTerm") or (type_of(node) == "Function" and not node.arguments)

    def term(self, node: Any) -> Expression:
        match type_of(node):
            case "Variable":
                return self.variable("_") if node.name == "_" else self.same.get(node.name, Variable(node.name))
            case "SymbolicTerm":
                return self.constant(str(node.symbol), node)
            case "Function" if node.name and not node.arguments and not node.external:
                return self.constant(node.name, node)
            case "UnaryOperation" if node.operator_type == 0:
                return self.calculation("-", Constant("0"), self.term(node.argument), node)
            case "BinaryOperation" if node.operator_type in CALCULATE:
                left, right = self.term(node.left), self.term(node.right)
                return self.calculation(CALCULATE[node.operator_type], left, right, node)
        raise UnsupportedError(f"`{node}` is left to clingo", node)

    def constant(self, text: str, node: Any) -> Constant:
        if text in self.program.constants:
            value = self.program.constants[text]
            if str(value) == text:
                return Constant(text)
            term_of_value = self.term(value)
            if not isinstance(term_of_value, Constant):
                raise UnsupportedError(f"the value of `{text}` is left to clingo", value)
            return term_of_value
        term = self.program.names.as_term(text)
        if not is_term(term):
            raise UnsupportedError(f"`{text}` is left to clingo", node)
        return Constant(term)

    @staticmethod
    def calculation(operator: str, left: Expression, right: Expression, node: Any) -> Expression:
        """An expression; its value where that is known."""
        constants = [side.term for side in (left, right) if isinstance(side, Constant)]
        if not all(map(is_integer, constants)):
            raise UnsupportedError("arithmetic on a non-number is left to clingo", node)
        if len(constants) < 2:
            return calculated(operator, left, right)
        first, other = map(int, constants)
        value = str(first + other if operator == "+" else first - other if operator == "-" else first * other)
        if not is_integer(value):
            raise UnsupportedError("a number that is too large is left to clingo", node)
        return Constant(value)
