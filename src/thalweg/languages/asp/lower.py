"""Stratified answer set programs become rules over windows, which are evaluated incrementally.

    many(X) :- cars(X,Y), Y > 40.       with the input cars/2, over windows of three ticks, becomes

    many(X) :- cars(X,Y) in [2], Y is integer, Y > 40.
    many(X) :- cars(X,Y) in [2], Y is non_integer.

The second rule is there because clingo orders all terms, and numbers come before everything else. Wherever the two
languages would differ, a test is added that makes them agree; where no test can, the program is left to clingo, and an
`Obstacle` says why. A constraint derives `INCONSISTENT`: while that holds there is no answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from thalweg.diagnostics import NOWHERE, Span
from thalweg.ir.counting import endless, is_bounded
from thalweg.ir.dependency import formulas, reachable
from thalweg.ir.nodes import Atom, Constant, Formula, Interface, InWindow, Now, Program, Rule, TimeWindow, Variable
from thalweg.ir.outline import Outline, strata_of
from thalweg.languages.asp.lower_rule import LoweredRule, Predicates, UnsupportedError
from thalweg.languages.asp.outlines import EVERYWHERE, type_of
from thalweg.languages.asp.places import Places
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned
from thalweg.model.rdf import RDF_TYPE

if TYPE_CHECKING:
    from thalweg.languages.asp.program import AspProgram

INCONSISTENT: Final = Fact("'inconsistent")
"""What holds while a constraint is violated; users cannot type it."""

_HARMLESS: Final = {*EVERYWHERE, "Minimize"} - {"TheoryDefinition"}
_OUTSIDE: Final = {
    "ShowTerm": "`#show` with a condition is left to clingo",
    "TheoryDefinition": "theories are left to clingo",
    "Edge": "`#edge` is left to clingo",
}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a program cannot be evaluated incrementally, in a sentence, and where; `endless` if it may never end."""

    reason: str
    span: Span = field(default=NOWHERE, compare=False)
    endless: bool = False

    @property
    def words(self) -> str:
        """The sentence, with its place."""
        if self.span is NOWHERE:
            return self.reason
        line, column = self.span.source.position(self.span.start)
        return f"{self.span.source.name}:{line}:{column}: {self.reason}"


def lower(program: "AspProgram", window: int) -> Program | tuple[Obstacle, ...]:
    """The rules of a program over windows of a number of ticks, or all that prevents it."""
    lowering = _Lowering(program, window)
    lowering.run()
    return tuple(lowering.obstacles) or lowering.program()


class _Lowering(Predicates):
    """The rules and facts so far."""

    def __init__(self, source: "AspProgram", window: int) -> None:
        self.source = source
        self.names = source.names
        self.window = TimeWindow(window - 1)
        self.places = Places(source.source)
        self.constants: dict[str, Any] = {}
        self.rules: list[Rule] = []
        self.facts: list[Fact] = []
        self.obstacles: list[Obstacle] = []
        facts = {head for outline in source.outlines if outline.is_fact for head in outline.heads}
        derived = {head for outline in source.outlines if not outline.is_fact for head in outline.heads}
        inputs = set(source.inputs)
        # An input that is also derived, output or spelled in two ways is copied: then one relation has all of it.
        self.copied = {name for name in inputs if name in derived | facts | source.shown or self._is_named(name)}
        self.streamed = inputs - self.copied
        self.known = inputs | derived | facts

    def _is_named(self, signature: Predicate) -> bool:
        return self.names.iri(signature.name) is not None

    def run(self) -> None:
        if strata_of(self.source.outlines) is None:
            self.obstacles.append(Obstacle("negation or an aggregate is cyclic: there may be several answers"))
        self.constants = {node.name: node.value for node in self.source.nodes if type_of(node) == "Definition"}
        for node in self.source.nodes:
            try:
                self.statement(node)
            except UnsupportedError as error:
                self.obstacles.append(Obstacle(error.reason, self.places.of(error.node or node)))
        for outline in self.source.outlines:
            if outline.span is NOWHERE and outline.kind == "constraint":
                self.rules.append(self.exclusion(outline))
        for name in sorted(self.copied):
            self.rules += self.copies(name)
        self.knowledge()
        for rule in endless(self.rules):
            never = not is_bounded(rule)
            self.obstacles.append(Obstacle("recursion that computes new numbers may not terminate", rule.span, never))
        self.types()

    def statement(self, node: Any) -> None:
        kind = type_of(node)
        if kind == "External":
            if str(node.external_type) != "false":
                raise UnsupportedError("`#external` with a value is left to clingo", node)
        elif kind == "Rule":
            self.rule(node)
        elif kind not in _HARMLESS:
            raise UnsupportedError(_OUTSIDE.get(kind, "this statement is left to clingo"), node)

    def rule(self, node: Any) -> None:
        if type_of(node.head) != "Literal":
            raise UnsupportedError("a choice or a disjunction has several answers", node.head)
        if not node.body:
            return self.fact(node)
        span = self.places.of(node)
        self.rules += (replace(rule, span=span) for rule in LoweredRule(self, node).rules())

    def fact(self, node: Any) -> None:
        for head in LoweredRule(self, node).heads():
            signature = head.signature
            if signature in self.outputs:
                self.rules.append(Rule(head, (), span=self.places.of(node)))
            else:
                self.facts.append(Fact(head.predicate, tuple(arg.term for arg in head.args)))  # type: ignore[union-attr]

    def knowledge(self) -> None:
        """The background of what is derived has relations of its own, so that it can be output with the rest."""
        for name, terms in self.source.known:
            self.facts.append(Fact(f"'known {name}", terms))
        for signature in dict.fromkeys(interned(name, len(terms)) for name, terms in self.source.known):
            args = _variables(signature)
            self.rules.append(Rule(Atom(self.name(signature), args), (Now(Atom(f"'known {signature.name}", args)),)))

    def exclusion(self, outline: Outline) -> Rule:
        atoms = [
            Atom(self.name(occurrence.predicate), tuple(Variable(arg or "_") for arg in occurrence.args))
            for occurrence in outline.body
        ]
        return Rule(Atom(INCONSISTENT.predicate), tuple(map(self.formula, atoms)))

    @cached_property
    def outputs(self) -> frozenset[Predicate]:
        """The signatures that answers contain, in our spelling."""
        return frozenset(map(self.spelled, self.source.shown))

    # What rules ask for ---------------------------------------------------------------------------------------------

    def name(self, signature: Predicate) -> str:
        """Our spelling of the name of a predicate.

        Users cannot type the name of one that is neither an input nor derived, which stays empty whatever streams
        bring; nor that of a copy, unless answers contain it: what is derived is then apart from what is streamed.
        """
        name = signature.name
        if signature not in self.known or signature in self.copied - self.source.shown:
            return f"'{name}"
        sign = "-" if name.startswith("-") else ""
        return f"{sign}{self.names.iri(name.removeprefix('-')) or name.removeprefix('-')}"

    def spelled(self, signature: Predicate) -> Predicate:
        return signature.renamed(self.name(signature))

    def formula(self, atom: Atom) -> Formula:
        """What is streamed is looked for in the window; what is derived holds now."""
        return InWindow(atom, self.window) if atom.signature in self.streamed else Now(atom)

    def copies(self, signature: Predicate) -> Iterator[Rule]:
        name, args = signature.name, _variables(signature)
        head = Atom(self.name(signature), args)
        for spelling in dict.fromkeys((self.names.iri(name) or name, name)):
            yield Rule(head, (InWindow(Atom(spelling, args), self.window),))

    def types(self) -> None:
        """`C(s)` is also `rdf_type(s,C)`, for every class that the program asks for."""
        for signature in filter(self.is_type, sorted(self.source.shown)):
            reason = f"`{signature}` is output, and its classes are separate predicates; `#show` other predicates only"
            self.obstacles.append(Obstacle(reason, self.place_of_output(signature)))
        name = self.names.type_name
        if name is None or Predicate(name, 2) not in self.source.inputs:
            return
        typed = self.spelled(Predicate(name, 2))
        classes = [
            formula.atom.args[1]
            for rule in self.rules
            for formula, _ in formulas(rule.body)
            if formula.atom.signature == typed and isinstance(formula, Now)
        ]
        if any(isinstance(term, Variable) for term in classes):
            self.obstacles.append(Obstacle(f"`{name}` is used with a variable class"))
        for name_of_class in dict.fromkeys(constant.term for constant in classes if not isinstance(constant, Variable)):  # type: ignore[union-attr]
            if name_of_class.startswith("<"):
                body = InWindow(Atom(name_of_class, (Variable("X"),)), self.window)
                self.rules.append(Rule(Atom(typed.name, (Variable("X"), Constant(name_of_class))), (body,)))

    def is_type(self, signature: Predicate) -> bool:
        return signature.arity == 2 and self.names.iri(signature.name.removeprefix("-")) == RDF_TYPE

    def place_of_output(self, signature: Predicate) -> Span:
        """Where a predicate becomes an output: at `#show`, or at the first rule for it."""
        shows = (node for node in self.source.nodes if type_of(node) == "ShowSignature")
        shown = (self.places.of(node) for node in shows if signature.endswith(Predicate(node.name, node.arity)))
        rules = (outline.span for outline in self.source.outlines if signature in outline.heads)
        return next(chain(shown, rules), NOWHERE)

    def program(self) -> Program:
        outputs = self.outputs
        if any(rule.head.predicate == INCONSISTENT.predicate for rule in self.rules):
            outputs |= {INCONSISTENT.signature}
        streamed = frozenset(map(self.spelled, self.copied & self.source.shown))
        needed = self.needed(outputs)
        rules = tuple(rule for rule in self.rules if rule.head.signature in needed)
        facts = tuple(fact for fact in self.facts if fact.signature in needed)
        return Program(rules, facts, Interface(inputs=streamed & needed, outputs=outputs))

    def needed(self, outputs: frozenset[Predicate]) -> frozenset[Predicate]:
        """What answers rest on: nothing else has to be derived."""
        needs: dict[Predicate, set[Predicate]] = {}
        for rule in self.rules:
            signatures = (formula.atom.signature for formula, _ in formulas(rule.body))
            needs.setdefault(rule.head.signature, set()).update(signatures)
        return frozenset(reachable(outputs, lambda signature: needs.get(signature, ())))


def _variables(signature: Predicate) -> tuple[Variable, ...]:
    return tuple(Variable(f"X{number}") for number in range(signature.arity))
