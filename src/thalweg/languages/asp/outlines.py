"""Statements of clingo's parser become outlines: which predicates they derive, and which they depend on.

Nodes are known by the name of their type, so that nothing here needs clingo. What each construct is for the analysis:

    not a, not not a              negative
    #sum{…: a}, a : b, { a }      aggregate, and so are conditions in heads: all of their facts must be there
    { a }, #sum{…: a} in a head   a choice
    -a                            a predicate of its own; where `a` occurs, too, they exclude each other: a constraint
    #show t : a                   a rule without a head
    #external a : b [free]        a choice; a rule otherwise, because it may be set by default
    #minimize, :~                 weak
    #edge                         one constraint over the bodies of all edges
    &theory{…}                    touches everything that there is: everything meets
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from thalweg.ir.outline import How, Kind, Occurrence, Outline
from thalweg.languages.asp.places import Places
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

_HEADS: Final[dict[str, Kind]] = {
    "Literal": "rule",
    "Aggregate": "choice",
    "HeadAggregate": "choice",
    "Disjunction": "disjunction",
    "TheoryAtom": "choice",
}
# As clingo numbers them: > < <= >= come before != and =; #count is the first of the aggregates.
_UNEQUAL: Final = 4
_COUNT: Final = 0
EVERYWHERE: Final = (
    "Definition",
    "ShowSignature",
    "Defined",
    "TheoryDefinition",
    "ProjectSignature",
    "ProjectAtom",
    "Heuristic",
)
"""Statements that say something about the whole program: they belong wherever a part of it is solved."""


def type_of(node: Any) -> str:
    return str(node.ast_type.name)


def outlines_of(nodes: Iterable[Any], places: Places, inputs: Iterable[Predicate] = ()) -> list[Outline]:
    """The outlines of all statements that derive or forbid something; also an input excludes its negation."""
    nodes = [node for node in nodes if type_of(node) not in EVERYWHERE]
    edges = tuple(
        occurrence for node in nodes if type_of(node) == "Edge" for occurrence in _occurrences(node.body, "aggregate")
    )
    outlines = [_outline(node, places, edges) for node in nodes]
    outlines += _exclusions({name for outline in outlines for name in outline.predicates}.union(inputs))
    if not any(map(_is_boundless, nodes)):
        return outlines
    everything = sorted({name for outline in outlines for name in outline.predicates})
    occurrences = tuple(Occurrence(name, "aggregate") for name in everything)
    return [
        replace(outline, body=(*outline.body, *occurrences), kind="choice")
        if outline.heads or outline.kind == "constraint"
        else outline
        for outline in outlines
    ]


def _outline(node: Any, places: Places, edges: tuple[Occurrence, ...]) -> Outline:
    text, span = statement(node), places.of(node)
    match type_of(node):
        case "Rule":
            return _rule(node, text, places)
        case "Minimize":
            return Outline((), tuple(_occurrences(node.body)), "weak", text, span=span)
        case "External":
            kind: Kind = "choice" if str(node.external_type) == "free" else "rule"
            heads = signatures(node.atom.symbol)
            return Outline(tuple(heads), tuple(_occurrences(node.body)), kind, text, tuple(heads.values()), span)
        case "Edge":
            return Outline((), edges, "constraint", text, span=span)
    return Outline((), tuple(_occurrences(node.body)), "rule", text, span=span)


def statement(node: Any) -> str:
    """A statement as text that clingo reads back."""
    text = str(node)
    return text.replace("#false :-", ":-", 1) if text.startswith("#false :-") else text


def _rule(node: Any, text: str, places: Places) -> Outline:
    kind, heads = _HEADS[type_of(node.head)], list(_heads(node.head))
    body = (*_occurrences(node.body), *_conditions(node.head))
    if kind == "rule" and not heads:
        # A head such as `not a`, `X < 3` or `#false` derives nothing: it forbids that it is not so.
        kind, body = "constraint", (*body, *_literal(node.head, "positive"))
    return Outline(
        tuple(name for name, _ in heads), body, kind, text, tuple(args for _, args in heads), places.of(node)
    )


def _heads(head: Any) -> Iterator[tuple[Predicate, tuple[str | None, ...]]]:
    if type_of(head) != "Literal":
        for element in _elements(head):
            yield from _heads(element.literal)
    elif head.sign == 0 and type_of(head.atom) == "SymbolicAtom":
        yield from signatures(head.atom.symbol).items()


def _elements(head: Any) -> list[Any]:
    """The conditional literals of a choice or disjunction."""
    match type_of(head):
        case "Aggregate" | "Disjunction":
            return list(head.elements)
        case "HeadAggregate":
            return [element.condition for element in head.elements]
    return []


def _conditions(head: Any) -> Iterator[Occurrence]:
    """What a head depends on: conditions of its elements, and negated literals among them."""
    for element in _elements(head):
        yield from _occurrences(element.condition, "aggregate")
        if element.literal.sign:
            yield from _literal(element.literal, "aggregate")


def _occurrences(body: Iterable[Any], how: How = "positive") -> Iterator[Occurrence]:
    for literal in body:
        if type_of(literal) == "ConditionalLiteral":
            yield from _literal(literal.literal, "aggregate")
            yield from _occurrences(literal.condition, "aggregate")
        else:
            yield from _literal(literal, how)


def _literal(literal: Any, how: How) -> Iterator[Occurrence]:
    atom = literal.atom
    match type_of(atom):
        case "SymbolicAtom":
            predicates = signatures(atom.symbol)
            # Alternatives of different arity: any of them may be meant, so none is needed for the rule to apply.
            how = "aggregate" if len(predicates) > 1 else "negative" if literal.sign and how == "positive" else how
            yield from (Occurrence(name, how, args) for name, args in predicates.items())
        case "BodyAggregate":
            for element in atom.elements:
                yield from _occurrences(element.condition, "aggregate")
        case "Aggregate":
            yield from _occurrences(atom.elements, "aggregate")


def signatures(symbol: Any, sign: str = "") -> dict[Predicate, tuple[str | None, ...]]:
    """The signatures of an atom, with the variables among their arguments; a pool `p(X;Y,Z)` may have several."""
    match type_of(symbol):
        case "UnaryOperation":
            return signatures(symbol.argument, "" if sign else "-")
        case "Pool":
            alternatives = [signatures(alternative, sign) for alternative in symbol.arguments]
            return {name: (None,) * len(args) for alternative in alternatives for name, args in alternative.items()}
        case "SymbolicTerm":
            return {Predicate(f"{sign}{symbol.symbol}", 0): ()}
    args = tuple(
        argument.name if type_of(argument) == "Variable" and argument.name != "_" else None
        for argument in symbol.arguments
    )
    return {Predicate(f"{sign}{symbol.name}", len(args)): args}


def within(node: Any) -> Iterator[Any]:
    """A node and all nodes inside of it, in the order in which they are written."""
    waiting = [node]
    while waiting:
        parent = waiting.pop()
        yield parent
        children = (getattr(parent, key) for key in parent.child_keys)
        inside = [inner for child in children if child is not None for inner in _nodes(child)]
        waiting += reversed(inside)


def reckons(node: Any) -> bool:
    """Whether something in a statement asks for the value of numbers: their order, sums, arithmetic."""
    return any(map(_reckons, within(node)))


def _reckons(node: Any) -> bool:
    match type_of(node):
        case "BinaryOperation" | "Interval" | "Minimize":
            return True
        case "Comparison" if any(guard.comparison < _UNEQUAL for guard in node.guards):
            return True
        case "BodyAggregate" | "HeadAggregate" if node.function != _COUNT:
            return True
    return False


def _nodes(child: Any) -> Iterable[Any]:
    return (child,) if hasattr(child, "child_keys") else child


def _is_boundless(node: Any) -> bool:
    """Whether a statement may depend on anything, and anything on it."""
    return type_of(node) == "Rule" and any(
        type_of(atom) == "TheoryAtom"
        for atom in (node.head, *(getattr(literal, "atom", literal) for literal in node.body))
    )


def _exclusions(predicates: Collection[Predicate]) -> Iterator[Outline]:
    """`a` and `-a` cannot both hold: the constraint that clingo keeps to itself."""
    for negative in sorted(predicates):
        positive = negative.renamed(negative.name.removeprefix("-"))
        if negative.startswith("-") and positive in predicates:
            args = tuple(f"X{number}" for number in range(positive.arity))
            written = str(Fact(positive.name, args))
            body = Occurrence(positive, args=args), Occurrence(negative, args=args)
            yield Outline((), body, "constraint", f":- {written}, -{written}.")
