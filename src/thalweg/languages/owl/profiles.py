"""Which axioms lie outside a profile, and why: what a profile does not cover is always reported.

    rdfs   names only: subclasses, subproperties, domains, ranges, assertions
    pd     what the rules of pD* look at
    rl     the grammar of OWL 2 RL: classes mean less on the right than on the left
    ql     the grammar of OWL 2 QL: DL-Lite_R

A class expression stands on the left (what it says is looked for), on the right (what it says is concluded), or, in an
equivalence, on both sides.

Two readings of the W3C's text: an anonymous individual is inside `ql`, since rules treat it as any other; and so is an
irreflexive property, which the text of the profile allows and its grammar forgets.
"""

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Final

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom, mentioned, show, within
from thalweg.languages.owl.expressions import ClassExpression
from thalweg.languages.owl.kinds import DATATYPES, owl
from thalweg.model.rdf import XSD
from thalweg.model.term import is_literal

LEFT: Final = "on the left"
RIGHT: Final = "on the right"
BOTH: Final = "in an equivalence"

TITLES: Final = {"rdfs": "RDFS", "pd": "pD*", "rl": "OWL 2 RL", "ql": "OWL 2 QL"}
_WORDS: Final[dict[type, str]] = {
    ex.ObjectIntersectionOf: "an intersection",
    ex.ObjectUnionOf: "a union",
    ex.ObjectComplementOf: "a complement",
    ex.ObjectOneOf: "an enumeration",
    ex.ObjectSomeValuesFrom: "an existential",
    ex.ObjectAllValuesFrom: "a universal",
    ex.ObjectHasValue: "a required value",
    ex.ObjectHasSelf: "a restriction to itself",
    ex.ObjectMinCardinality: "a minimum cardinality",
    ex.ObjectMaxCardinality: "a maximum cardinality",
    ex.ObjectExactCardinality: "an exact cardinality",
    ex.DataSomeValuesFrom: "an existential over literals",
    ex.DataAllValuesFrom: "a universal over literals",
    ex.DataHasValue: "a required literal",
    ex.DataMinCardinality: "a minimum cardinality over literals",
    ex.DataMaxCardinality: "a maximum cardinality over literals",
    ex.DataExactCardinality: "an exact cardinality over literals",
    ex.DataUnionOf: "a union of data ranges",
    ex.DataComplementOf: "the complement of a data range",
    ex.DataOneOf: "an enumeration of literals",
    ex.DatatypeRestriction: "a restricted datatype",
}

_RDFS_AXIOMS: Final[frozenset[type]] = frozenset(
    {ax.SubClassOf, ax.SubObjectPropertyOf, ax.SubDataPropertyOf, ax.ObjectPropertyDomain, ax.DataPropertyDomain}
    | {ax.ObjectPropertyRange, ax.DataPropertyRange}
    | {ax.ClassAssertion, ax.ObjectPropertyAssertion, ax.DataPropertyAssertion}
)
_PD_AXIOMS: Final[frozenset[type]] = _RDFS_AXIOMS | (
    {ax.EquivalentClasses, ax.EquivalentObjectProperties, ax.EquivalentDataProperties, ax.InverseObjectProperties}
    | {ax.FunctionalObjectProperty, ax.FunctionalDataProperty, ax.InverseFunctionalObjectProperty}
    | {ax.SymmetricObjectProperty, ax.TransitiveObjectProperty, ax.SameIndividual}
)
_RL_AXIOMS: Final[frozenset[type]] = _PD_AXIOMS | (
    {ax.DisjointClasses, ax.DisjointObjectProperties, ax.DisjointDataProperties, ax.DifferentIndividuals}
    | {ax.IrreflexiveObjectProperty, ax.AsymmetricObjectProperty, ax.HasKey, ax.DatatypeDefinition}
    | {ax.NegativeObjectPropertyAssertion, ax.NegativeDataPropertyAssertion}
)
_QL_AXIOMS: Final[frozenset[type]] = _RDFS_AXIOMS | (
    {ax.EquivalentClasses, ax.EquivalentObjectProperties, ax.EquivalentDataProperties, ax.InverseObjectProperties}
    | {ax.DisjointClasses, ax.DisjointObjectProperties, ax.DisjointDataProperties, ax.DifferentIndividuals}
    | {ax.ReflexiveObjectProperty, ax.IrreflexiveObjectProperty, ax.SymmetricObjectProperty}
    | {ax.AsymmetricObjectProperty, ax.DatatypeDefinition}
)
_AXIOMS: Final = {"rdfs": _RDFS_AXIOMS, "pd": _PD_AXIOMS, "rl": _RL_AXIOMS, "ql": _QL_AXIOMS}


def _xsd(*names: str) -> frozenset[str]:
    return frozenset(f"<{XSD}{name}>" for name in names)


_QL_DATATYPES: Final = DATATYPES | _xsd(
    *("decimal", "integer", "nonNegativeInteger", "string", "normalizedString", "token", "Name", "NCName", "NMTOKEN"),
    *("hexBinary", "base64Binary", "anyURI", "dateTime", "dateTimeStamp"),
)
_RL_DATATYPES: Final = (DATATYPES - {owl("real"), owl("rational")}) | _xsd(
    *("decimal", "integer", "nonNegativeInteger", "nonPositiveInteger", "positiveInteger", "negativeInteger"),
    *("long", "int", "short", "byte", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    *("float", "double", "string", "normalizedString", "token", "language", "Name", "NCName", "NMTOKEN"),
    *("boolean", "hexBinary", "base64Binary", "anyURI", "dateTime", "dateTimeStamp"),
)
_DATATYPES: Final = {"rl": _RL_DATATYPES, "ql": _QL_DATATYPES}


def outside(axiom: Axiom, profile: str) -> str | None:
    """Why an axiom lies outside a profile (`rdfs`, `pd`, `rl`, `ql`), in a sentence; None where it lies inside.

    >>> outside(ax.SubClassOf("<A>", ex.ObjectSomeValuesFrom("<r>", "<B>")), "rl")
    '`SubClassOf(<A> ObjectSomeValuesFrom(<r> <B>))`: an existential on the right is outside OWL 2 RL'
    >>> outside(ax.SubClassOf("<A>", ex.ObjectSomeValuesFrom("<r>", "<B>")), "ql") is None
    True
    """
    reason = reason_outside(axiom, profile)
    return None if reason is None else f"`{show(axiom)}`: {reason}"


def reason_outside(axiom: Axiom, profile: str) -> str | None:
    """The same for all axioms that are outside a profile for one reason."""
    phrase = next(_phrases(axiom, profile), None)
    return None if phrase is None else f"{phrase} is outside {TITLES[profile]}"


def inside_and_outside(axiom: Axiom, profile: str) -> tuple[list[Axiom], list[Axiom]]:
    """What of an axiom lies inside a profile, and what outside: an inclusion or equivalence may do so in part.

    >>> some = ex.ObjectSomeValuesFrom("<r>", "<B>")
    >>> used, unused = inside_and_outside(ax.EquivalentClasses(("<A>", some)), "rl")
    >>> print(*map(show, used)); print(*map(show, unused))
    SubClassOf(ObjectSomeValuesFrom(<r> <B>) <A>)
    SubClassOf(<A> ObjectSomeValuesFrom(<r> <B>))
    """
    if reason_outside(axiom, profile) is None:
        return [axiom], []
    parts = list(_inclusions(axiom, profile)) if type(axiom) in _AXIOMS[profile] else []
    used = [part for part in parts if reason_outside(part, profile) is None]
    return (used, [part for part in parts if part not in used]) if used else ([], [axiom])


def _inclusions(axiom: Axiom, profile: str) -> Iterator[Axiom]:
    """The inclusions that an axiom consists of, as far as the rules of a profile take it apart."""
    match axiom:
        case ax.EquivalentClasses(classes):
            for sub, sup in permutations(classes, 2):
                yield from _inclusions(ax.SubClassOf(sub, sup), profile)
        case ax.SubClassOf(sub, ex.ObjectIntersectionOf(classes)) if profile != "pd":
            for sup in classes:
                yield from _inclusions(ax.SubClassOf(sub, sup), profile)
        case ax.SubClassOf():
            yield axiom


def _phrases(axiom: Axiom, profile: str) -> Iterator[str]:
    """Yields a phrase for each part of an axiom that is outside a profile."""
    if type(axiom) not in _AXIOMS[profile]:
        yield f"`{type(axiom).__name__}`"
    yield from _about_properties(axiom, profile)
    for side, expression in _positions(axiom):
        if profile == "ql" and isinstance(axiom, ax.ClassAssertion) and not isinstance(expression, str):
            yield "the assertion of a class that has no name"
        yield from _CLASSES[profile](expression, side)
    if profile in _DATATYPES:
        yield from _about_literals(axiom, profile)


def _positions(axiom: Axiom) -> Iterable[tuple[str, ClassExpression]]:
    """The class expressions of an axiom, each with its side."""
    match axiom:
        case ax.SubClassOf(sub, sup):
            return (LEFT, sub), (RIGHT, sup)
        case ax.EquivalentClasses(classes):
            return [(BOTH, expression) for expression in classes]
        case ax.DisjointClasses(classes):
            return [(LEFT, expression) for expression in classes]
        case (
            ax.PropertyDomain(_, expression) | ax.ObjectPropertyRange(_, expression) | ax.ClassAssertion(expression, _)
        ):
            return [(RIGHT, expression)]
        case ax.HasKey(of):
            return [(LEFT, of)]
    return ()


def _about_properties(axiom: Axiom, profile: str) -> Iterator[str]:
    match axiom:
        case ax.SubObjectPropertyOf(ex.ObjectPropertyChain()) if profile != "rl":
            yield "a property chain"
    if profile != "ql" and any(term in ex.UNIVERSAL | ex.EMPTY for term in mentioned(axiom)):
        yield "a property that is built in"
    if profile in ("rdfs", "pd") and any(isinstance(part, ex.ObjectInverseOf) for part in within(axiom)):
        yield "an inverse property without a name"


def _about_literals(axiom: Axiom, profile: str) -> Iterator[str]:
    for part in within(axiom):
        if isinstance(part, ex.DataUnionOf | ex.DataComplementOf | ex.DataOneOf | ex.DatatypeRestriction):
            yield _WORDS[type(part)]
    for term in mentioned(axiom):
        datatype = _datatype(term)
        if datatype is not None and datatype not in _DATATYPES[profile]:
            yield f"the datatype `{datatype}`"


def _datatype(term: str) -> str | None:
    """The built-in datatype that a term is or has."""
    if is_literal(term):
        _, typed, datatype = term.rpartition("^^")
        return _datatype(datatype) if typed and term[0] == '"' and term[-1] == ">" else None
    return term if term.startswith(f"<{XSD}") or term in DATATYPES else None


def _rdfs(expression: ClassExpression, side: str) -> Iterator[str]:
    if expression == ex.NOTHING and side != LEFT:
        yield f"`owl:Nothing` {side}"
    elif not isinstance(expression, str):
        yield f"{_WORDS[type(expression)]} {side}"


def _pd(expression: ClassExpression, side: str) -> Iterator[str]:
    match expression:
        case str():
            yield from _rdfs(expression, side)
        case ex.ObjectHasValue() | ex.DataHasValue():
            return
        case ex.ObjectSomeValuesFrom(_, ex.THING) if side == LEFT:
            # Nothing is in `owl:Thing` there unless that is asserted.
            yield "an existential over `owl:Thing` on the left"
        case ex.ObjectSomeValuesFrom(_, filler) if side == LEFT:
            yield from _pd(filler, LEFT)
        case ex.ObjectAllValuesFrom(_, filler) if side == RIGHT:
            yield from _pd(filler, RIGHT)
        case ex.DataSomeValuesFrom() if side == LEFT:
            return
        case ex.DataAllValuesFrom() if side == RIGHT:
            return
        case _:
            yield f"{_WORDS[type(expression)]} {side}"


def _rl(expression: ClassExpression, side: str) -> Iterator[str]:
    match expression:
        case ex.THING:
            yield f"`owl:Thing` {side}"
        case str() | ex.ObjectHasValue() | ex.DataHasValue():
            return
        case ex.ObjectIntersectionOf(classes):
            for operand in classes:
                yield from _rl(operand, side)
        case ex.ObjectUnionOf(classes) if side == LEFT:
            for operand in classes:
                yield from _rl(operand, LEFT)
        case ex.ObjectOneOf() | ex.DataSomeValuesFrom() if side == LEFT:
            return
        case ex.ObjectSomeValuesFrom(_, filler) if side == LEFT:
            yield from () if filler == ex.THING else _rl(filler, LEFT)
        case ex.ObjectComplementOf(negated) if side == RIGHT:
            yield from _rl(negated, LEFT)
        case ex.ObjectAllValuesFrom(_, filler) if side == RIGHT:
            yield from _rl(filler, RIGHT)
        case ex.DataAllValuesFrom() if side == RIGHT:
            return
        case ex.ObjectMaxCardinality(0 | 1, _, filler) if side == RIGHT:
            yield from () if filler is None else _rl(filler, LEFT)
        case ex.DataMaxCardinality(0 | 1) if side == RIGHT:
            return
        case ex.ObjectMaxCardinality(number) | ex.DataMaxCardinality(number) if side == RIGHT:
            yield f"{_WORDS[type(expression)]} of {number} {side}"
        case _:
            yield f"{_WORDS[type(expression)]} {side}"


def _ql(expression: ClassExpression, side: str) -> Iterator[str]:
    match expression:
        case str() | ex.DataSomeValuesFrom():
            return
        case ex.ObjectSomeValuesFrom(_, str(filler)) if side == RIGHT or filler == ex.THING:
            return
        case ex.ObjectIntersectionOf(classes) if side == RIGHT:
            for operand in classes:
                yield from _ql(operand, RIGHT)
        case ex.ObjectComplementOf(negated) if side == RIGHT:
            yield from _ql(negated, LEFT)
        case ex.ObjectSomeValuesFrom():
            yield f"an existential over more than {'a name' if side == RIGHT else '`owl:Thing`'} {side}"
        case _:
            yield f"{_WORDS[type(expression)]} {side}"


_CLASSES: Final = {"rdfs": _rdfs, "pd": _pd, "rl": _rl, "ql": _ql}
