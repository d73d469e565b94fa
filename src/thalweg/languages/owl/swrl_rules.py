"""Rules of SWRL become rules of ours.

    DLSafeRule(Body(ClassAtom(:A Variable(:x)) DataPropertyAtom(:v Variable(:x) Variable(:n))
                    BuiltInAtom(swrlb:greaterThan Variable(:n) "3"^^xsd:integer))
               Head(ClassAtom(:B Variable(:x))))

becomes

    <B>(X) :- <A>(X), <v>(X,N), N > 3.

Variables are bound by facts, as DL-safe rules demand. What has no such rule is not used, and reported with its reason.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from thalweg.diagnostics import Diagnostic, Source
from thalweg.ir.annotate_terms import EDGE
from thalweg.ir.nodes import Atom, Comparison, Constant, Expression, Interface, Literal, Now, Program, Rule, Variable
from thalweg.ir.text import show
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axiom_rules import line_spans
from thalweg.languages.owl.axioms import show as construct_text
from thalweg.languages.owl.expressions import ClassExpression
from thalweg.languages.owl.profiles import TITLES
from thalweg.languages.owl.swrl import (
    SWRLB,
    Argument,
    BuiltInAtom,
    ClassAtom,
    DataPropertyAtom,
    DataRangeAtom,
    DifferentIndividualsAtom,
    DLSafeRule,
    ObjectPropertyAtom,
    SameIndividualAtom,
    SwrlAtom,
    SwrlVariable,
)
from thalweg.model.rdf import XSD
from thalweg.model.vocabulary import DIFFERENT_FROM, SAME_AS

COMPARISONS: Final = {
    f"<{SWRLB}{name}>": operator
    for name, operator in {
        "equal": "=",
        "notEqual": "!=",
        "lessThan": "<",
        "lessThanOrEqual": "<=",
        "greaterThan": ">",
        "greaterThanOrEqual": ">=",
    }.items()
}
_WITH_EQUALITY: Final = ("pd", "rl")
_WAY_OUT: Final = "write it as a rule in a `.lars` file beside the ontology"


class UnsupportedRuleError(Exception):
    """A rule of SWRL is not one of ours; the text is the reason."""


def compile_rules(
    name: str, rules: Sequence[DLSafeRule], profile: str, specialised: bool
) -> tuple[Program, list[Diagnostic]]:
    """The program of rules of SWRL beside a profile, and a warning for each reason why some are not used.

    Where a profile is not `specialised`, its rules take what is concluded as triples, and output it.
    """
    translated: list[Rule] = []
    unused: dict[str, list[DLSafeRule]] = {}
    for rule in rules:
        try:
            translated += _Translation(profile, specialised).rules(rule)
        except UnsupportedRuleError as error:
            unused.setdefault(str(error), []).append(rule)
    spans = line_spans(Source(f"{name}#swrl", "\n".join(map(show, translated))))
    placed = tuple(Rule(rule.head, rule.body, span=span) for rule, span in zip(translated, spans, strict=False))
    heads = frozenset(rule.head.signature for rule in placed if rule.head.predicate != EDGE)
    program = Program(placed, interface=Interface(inputs=heads, outputs=heads if specialised else frozenset()))
    return program, [not_used(name, reason, group) for reason, group in unused.items()]


def not_used(name: str, reason: str, rules: Sequence[DLSafeRule], way_out: str = _WAY_OUT) -> Diagnostic:
    """The warning about rules of SWRL that are not used, for one reason."""
    texts = tuple(f"`{rule_text(rule)}`" for rule in rules)
    count = f"{len(rules)} SWRL rules are" if len(rules) > 1 else "a SWRL rule is"
    example = f", such as {texts[0]}" if len(rules) > 1 else f": {texts[0]}"
    help_ = f"{way_out}; `--verbose` lists all" if len(rules) > 1 else way_out
    message = f"{name}: {count} not used{example}: {reason}"
    return Diagnostic("W419", message, help=help_, listed=texts if len(rules) > 1 else ())


def rule_text(rule: DLSafeRule) -> str:
    """A rule in functional syntax.

    >>> rule_text(DLSafeRule((ClassAtom("<A>", (SwrlVariable("<x>"),)),), (ClassAtom("<B>", (SwrlVariable("<x>"),)),)))
    'DLSafeRule(Body(ClassAtom(<A> Variable(<x>))) Head(ClassAtom(<B> Variable(<x>))))'
    """
    if rule.misread:
        return rule.misread
    body, head = (" ".join(map(_atom_text, atoms)) for atoms in (rule.body, rule.head))
    return f"DLSafeRule(Body({body}) Head({head}))"


def _atom_text(atom: SwrlAtom) -> str:
    arguments = (
        f"Variable({argument.name})" if isinstance(argument, SwrlVariable) else construct_text(argument)
        for argument in atom.arguments
    )
    predicate = [construct_text(atom.predicate)] if atom.predicate else []
    return f"{type(atom).__name__}({' '.join([*predicate, *arguments])})"


class _Translation:
    """One rule while it is translated: the names of its variables."""

    def __init__(self, profile: str, specialised: bool) -> None:
        self.profile = profile
        self.same = EDGE if specialised else SAME_AS
        self.names: dict[str, str] = {}

    def rules(self, rule: DLSafeRule) -> list[Rule]:
        """A rule for each atom of the head, and for each way to read the body."""
        if rule.misread:
            raise UnsupportedRuleError("its triples are incomplete")
        if not rule.head:
            raise UnsupportedRuleError("it has no head")
        bodies: list[list[Literal]] = [[]]
        for atom in rule.body:
            bodies = [[*body, *way] for body in bodies for way in self.body(atom)]
        heads = [head for atom in rule.head for head in self.head(atom)]
        for body in bodies:
            self.check_safety(heads, body)
        return [Rule(head, tuple(body)) for body in bodies for head in heads]

    def check_safety(self, heads: Sequence[Atom], body: Sequence[Literal]) -> None:
        bound = {arg for literal in body if isinstance(literal, Now) for arg in literal.atom.args}
        used = [arg for head in heads for arg in head.args]
        used += (side for test in body if isinstance(test, Comparison) for side in (test.left, test.right))
        for arg in used:
            if isinstance(arg, Variable) and arg not in bound:
                raise UnsupportedRuleError(f"no class or property of the body binds the variable `{arg.name}`")
        if not bound:
            raise UnsupportedRuleError("its body names no individual")

    def body(self, atom: SwrlAtom) -> list[list[Literal]]:
        """The ways in which an atom of the body may hold, each as literals."""
        terms = tuple(map(self.term, atom.arguments))
        match atom:
            case BuiltInAtom() | DataPropertyAtom() if _is_built_in(atom.predicate):
                return [[self.comparison(atom, terms)]]
            case ClassAtom(of) if not isinstance(of, ex.ObjectInverseOf) and not _is_datatype(of):
                return [self.members(of, terms[0])]
            case ObjectPropertyAtom() | DataPropertyAtom():
                return [[Now(self.related(atom.predicate, *terms))]]
            case SameIndividualAtom():
                self.need_equality()
                return [[Now(Atom(SAME_AS, terms))]]
            case DifferentIndividualsAtom():
                return [[Now(Atom(DIFFERENT_FROM, terms))], [Now(Atom(DIFFERENT_FROM, terms[::-1]))]]
        raise UnsupportedRuleError(_reason(atom))

    def head(self, atom: SwrlAtom) -> Iterator[Atom]:
        terms = tuple(map(self.term, atom.arguments))
        match atom:
            case ClassAtom(of) if not isinstance(of, ex.ObjectInverseOf) and not _is_datatype(of):
                yield from self.concluded(of, terms[0])
            case ObjectPropertyAtom() | DataPropertyAtom() if not _is_built_in(atom.predicate):
                yield self.related(atom.predicate, *terms)
            case SameIndividualAtom():
                self.need_equality()
                yield Atom(self.same, terms)
            case DifferentIndividualsAtom():
                yield Atom(DIFFERENT_FROM, terms)
            case _:
                raise UnsupportedRuleError(_reason(atom))

    def members(self, of: ClassExpression, term: Expression) -> list[Literal]:
        """That something is in a class, as literals of a body."""
        match of:
            case ex.THING:
                return []
            case str():
                return [Now(Atom(of, (term,)))]
            case ex.ObjectIntersectionOf(classes):
                return [literal for part in classes for literal in self.members(part, term)]
            case ex.ObjectHasValue(role, value) | ex.DataHasValue(role, value):
                return [Now(self.related(role, term, Constant(value)))]
            case ex.ObjectSomeValuesFrom(role, filler):
                other = self.variable(f"value {len(self.names)}")
                return [Now(self.related(role, term, other)), *self.members(filler, other)]
        raise UnsupportedRuleError(f"`{type(of).__name__}` in the body of a rule is not supported")

    def concluded(self, of: ClassExpression, term: Expression) -> Iterator[Atom]:
        """The atoms that say that something is in a class."""
        match of:
            case str():
                yield Atom(of, (term,))
            case ex.ObjectIntersectionOf(classes):
                for part in classes:
                    yield from self.concluded(part, term)
            case ex.ObjectHasValue(role, value) | ex.DataHasValue(role, value):
                yield self.related(role, term, Constant(value))
            case _:
                raise UnsupportedRuleError(f"`{type(of).__name__}` in the head of a rule is not supported")

    def related(self, role: object, subject: Expression, value: Expression) -> Atom:
        if isinstance(role, ex.ObjectInverseOf):
            return Atom(role.property, (value, subject))
        assert isinstance(role, str)
        return Atom(role, (subject, value))

    def comparison(self, atom: SwrlAtom, terms: tuple[Expression, ...]) -> Comparison:
        operator = COMPARISONS.get(str(atom.predicate))
        if operator is None or len(terms) != 2:
            raise UnsupportedRuleError(f"the built-in `{_built_in(str(atom.predicate))}` is not supported")
        return Comparison(operator, *terms)

    def need_equality(self) -> None:
        if self.profile not in _WITH_EQUALITY:
            raise UnsupportedRuleError(f"{TITLES[self.profile]} has no equality of individuals")

    def term(self, argument: Argument) -> Expression:
        return self.variable(argument.name) if isinstance(argument, SwrlVariable) else Constant(argument)

    def variable(self, iri: str) -> Variable:
        """The variable of ours, named after the IRI where that is a name."""
        if iri not in self.names:
            word = re.split(r"[#/:]", iri.strip("<>"))[-1]
            name = word[0].upper() + word[1:] if re.fullmatch(r"[A-Za-z]\w*", word, re.ASCII) else "V"
            taken = self.names.values()
            self.names[iri] = next(
                tried for number in range(len(taken) + 2) if (tried := f"{name}{number or ''}") not in taken
            )
        return Variable(self.names[iri])


def _is_built_in(predicate: object) -> bool:
    """Whether it is a built-in: Manchester syntax does not tell these from data properties."""
    return isinstance(predicate, str) and predicate.startswith(f"<{SWRLB}")


def _is_datatype(predicate: object) -> bool:
    return isinstance(predicate, str) and predicate.startswith(f"<{XSD}")


def _built_in(iri: str) -> str:
    return f"swrlb:{iri.strip('<>').removeprefix(SWRLB)}" if iri.startswith(f"<{SWRLB}") else iri


def _reason(atom: SwrlAtom) -> str:
    if isinstance(atom, BuiltInAtom) or _is_built_in(atom.predicate):
        return f"the built-in `{_built_in(str(atom.predicate))}` is not supported"
    if isinstance(atom, DataRangeAtom | ClassAtom):
        return "a data range as an atom is not supported"
    return f"`{type(atom).__name__}` is not supported"
