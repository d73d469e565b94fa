"""Rules of SWRL: their atoms, and how a graph has them.

    _:r a swrl:Imp ; swrl:body ( [ a swrl:ClassAtom ; swrl:classPredicate :A ; swrl:argument1 :x ] ) ; swrl:head ( … )

becomes

    DLSafeRule((ClassAtom("<A>", (SwrlVariable("<x>"),)),), (…))

Atoms have the names of the functional syntax. The syntaxes of OWL that are not RDF are written to a graph first
(`graph`), so rules are always read from one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from thalweg.languages.owl.expressions import ClassExpression, ObjectProperty
from thalweg.languages.owl.kinds import Kinds, rdf
from thalweg.languages.owl.rdf_nodes import MisreadError, Nodes
from thalweg.languages.owl.separate_vocabulary import separate
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple

SWRL: Final = "http://www.w3.org/2003/11/swrl#"
SWRLB: Final = "http://www.w3.org/2003/11/swrlb#"


def swrl(name: str) -> str:
    """A name of the vocabulary of SWRL."""
    return f"<{SWRL}{name}>"


@dataclass(frozen=True, slots=True)
class SwrlVariable:
    """A variable, by its IRI."""

    name: str


Argument = str | SwrlVariable


@dataclass(frozen=True, slots=True)
class SwrlAtom:
    """Family: a predicate and its arguments; equality and difference have no predicate."""

    predicate: ClassExpression | ObjectProperty
    arguments: tuple[Argument, ...]


class ClassAtom(SwrlAtom):
    """The individual is in the class."""


class DataRangeAtom(SwrlAtom):
    """The literal is in the data range."""


class ObjectPropertyAtom(SwrlAtom):
    """The first individual has the second as a value."""


class DataPropertyAtom(SwrlAtom):
    """The individual has the literal as a value."""


class BuiltInAtom(SwrlAtom):
    """The built-in holds of literals."""


class SameIndividualAtom(SwrlAtom):
    """The two are the same."""


class DifferentIndividualsAtom(SwrlAtom):
    """The two are different."""


@dataclass(frozen=True, slots=True)
class DLSafeRule:
    """Where the body holds of named individuals, so does the head. `misread`: its node, where it could not be read."""

    body: tuple[SwrlAtom, ...]
    head: tuple[SwrlAtom, ...]
    misread: str = ""


# The type of an atom, and where its predicate stands.
ATOMS: Final[dict[str, tuple[type[SwrlAtom], str]]] = {
    swrl("ClassAtom"): (ClassAtom, swrl("classPredicate")),
    swrl("DataRangeAtom"): (DataRangeAtom, swrl("dataRange")),
    swrl("IndividualPropertyAtom"): (ObjectPropertyAtom, swrl("propertyPredicate")),
    swrl("DatavaluedPropertyAtom"): (DataPropertyAtom, swrl("propertyPredicate")),
    swrl("BuiltinAtom"): (BuiltInAtom, swrl("builtin")),
    swrl("SameIndividualAtom"): (SameIndividualAtom, ""),
    swrl("DifferentIndividualsAtom"): (DifferentIndividualsAtom, ""),
}
_IMPLICATION: Final = swrl("Imp")
_VARIABLE: Final = swrl("Variable")


def split_rules(triples: Sequence[Triple]) -> tuple[list[DLSafeRule], list[Triple]]:
    """The rules in a graph, and the triples that say something else.

    >>> split_rules([("_:r", RDF_TYPE, _IMPLICATION), ("<a>", RDF_TYPE, "<A>")])[1]
    [('<a>', '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>', '<A>')]
    """
    inside, outside = separate(triples, SWRL)
    if not inside:
        return [], outside
    reader = _Reader(triples)
    return [reader.rule(node) for node, kind in reader.types if kind == _IMPLICATION], outside


class _Reader:
    """One graph while its rules are read."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self.about: dict[tuple[str, str], list[str]] = {}
        for subject, predicate, object_ in triples:
            self.about.setdefault((subject, predicate), []).append(object_)
        self.types = [(subject, object_) for subject, predicate, object_ in triples if predicate == RDF_TYPE]
        self.variables = {node for node, kind in self.types if kind == _VARIABLE}
        self.expressions = Nodes(list(triples), Kinds(triples))

    def rule(self, node: str) -> DLSafeRule:
        try:
            return DLSafeRule(self.atoms(node, swrl("body")), self.atoms(node, swrl("head")))
        except MisreadError:
            return DLSafeRule((), (), node)

    def atoms(self, node: str, part: str) -> tuple[SwrlAtom, ...]:
        heads = self.about.get((node, part), [rdf("nil")])
        return tuple(self.atom(member) for head in heads for member in self.members(head))

    def members(self, head: str) -> list[str]:
        members, nodes = list[str](), set[str]()
        while head != rdf("nil"):
            if head in nodes:
                raise MisreadError
            nodes.add(head)
            members.append(self.only(head, rdf("first")))
            head = self.only(head, rdf("rest"))
        return members

    def only(self, node: str, predicate: str) -> str:
        objects = self.about.get((node, predicate), ())
        if len(objects) != 1:
            raise MisreadError
        return objects[0]

    def atom(self, node: str) -> SwrlAtom:
        kinds = [ATOMS[kind] for kind in self.about.get((node, RDF_TYPE), ()) if kind in ATOMS]
        if len(kinds) != 1:
            raise MisreadError
        kind, place = kinds[0]
        if kind is BuiltInAtom:
            arguments = self.members(self.only(node, swrl("arguments")))
        else:
            places = (swrl("argument1"), swrl("argument2")) if kind not in (ClassAtom, DataRangeAtom) else ()
            arguments = [self.only(node, name) for name in places or (swrl("argument1"),)]
        predicate = self.only(node, place) if place else ""
        return kind(self.expression(kind, predicate), tuple(map(self.argument, arguments)))

    def expression(self, kind: type[SwrlAtom], node: str) -> ClassExpression | ObjectProperty:
        """What a predicate is; one without a name is an expression."""
        if kind is ClassAtom and node[0] == "_":
            return self.expressions.class_(node)
        return self.expressions.property(node) if kind is ObjectPropertyAtom else node

    def argument(self, term: str) -> Argument:
        return SwrlVariable(term) if term in self.variables else term


def write_rule(
    rule: DLSafeRule, node: Callable[..., str], term: Callable[[object], str], sequence: Callable[[list[str]], str]
) -> list[Triple]:
    """The triples of a rule beside those of the nodes that are made for it: what its variables are."""
    words = {kind: (word, place) for word, (kind, place) in ATOMS.items()}

    def atom(swrl_atom: SwrlAtom) -> str:
        word, place = words[type(swrl_atom)]
        terms = [argument.name if isinstance(argument, SwrlVariable) else argument for argument in swrl_atom.arguments]
        about = [(RDF_TYPE, word), *([(place, term(swrl_atom.predicate))] if place else [])]
        if isinstance(swrl_atom, BuiltInAtom):
            return node(*about, (swrl("arguments"), sequence(terms)))
        return node(*about, *((swrl(f"argument{number}"), value) for number, value in enumerate(terms, 1)))

    body, head = (sequence(list(map(atom, atoms))) for atoms in (rule.body, rule.head))
    node((RDF_TYPE, _IMPLICATION), (swrl("body"), body), (swrl("head"), head))
    arguments = [argument for swrl_atom in (*rule.body, *rule.head) for argument in swrl_atom.arguments]
    names = dict.fromkeys(argument.name for argument in arguments if isinstance(argument, SwrlVariable))
    return [(name, RDF_TYPE, _VARIABLE) for name in names]
