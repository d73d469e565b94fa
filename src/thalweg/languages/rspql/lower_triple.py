"""Triple patterns and paths as atoms and rules.

?s :value ?v        the atom `'w0 <…value>(s,v)` of an input
?s a :Sensor        the atom `'w0 <…Sensor>(s)`
?s ?p ?o            the atom `'w0 triples(s,p,o)`: all facts, with the predicate as a column
?s :a/^:b ?o        two atoms, with a variable between them that counts and is not seen
?s :a|:b ?o         two alternatives
?s :next+ ?o        rules for the pairs that some steps connect: each pair once
?s !:a ?o           any fact, and a comparison of its predicate
"""

from collections.abc import Callable
from typing import Any

from thalweg.ir.nodes import Atom, Comparison, Constant, Expression, Literal, Not, Now, Rule, Variable
from thalweg.languages.rspql.alternative import Alternative, joined
from thalweg.languages.rspql.lower_expression import kind, term_of
from thalweg.languages.rspql.lowered import Graph, Input, SparqlExpression
from thalweg.model.predicate import Predicate, interned
from thalweg.model.rdf import RDF_TYPE

Alternatives = list[Alternative]


class TripleRules:
    """Collects inputs and rules while triple patterns are looked at."""

    def __init__(self, obstacle: Callable[[str, str], None]) -> None:
        """`obstacle` takes a sentence, and the keyword that it is about."""
        self._obstacle = obstacle
        self._inputs: dict[tuple[Graph, str, tuple[tuple[int, SparqlExpression], ...]], Input] = {}
        self._nodes: dict[Graph, str] = {}
        self.rules: list[Rule] = []
        self._made = 0

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs that rules read."""
        used = {
            literal.atom.signature if isinstance(literal, Now) else literal.formula.atom.signature
            for rule in self.rules
            for literal in rule.body
            if isinstance(literal, Now | Not)
        }
        return tuple(relation for relation in self._inputs.values() if relation.signature in used)

    def triple(self, subject: Any, predicate: Any, object_: Any, graph: Graph) -> Alternatives:
        """A triple pattern, whose predicate may be a path."""
        match kind(predicate):
            case "URIRef" | "Variable" | "BNode":
                return [self._atom(subject, predicate, object_, graph)]
            case "InvPath":
                return self.triple(object_, predicate.arg, subject, graph)
            case "AlternativePath":
                return [
                    alternative for path in predicate.args for alternative in self.triple(subject, path, object_, graph)
                ]
            case "SequencePath":
                alternatives, start = [Alternative()], subject
                for number, path in enumerate(predicate.args):
                    end = object_ if number == len(predicate.args) - 1 else Between(self._variable())
                    pairs = [(first, other) for first in alternatives for other in self.triple(start, path, end, graph)]
                    alternatives = [joint for pair in pairs if (joint := joined(*pair)) is not None]
                    start = end
                return alternatives
            case "MulPath":
                return [self._closure(subject, predicate, object_, graph)]
            case "NegatedPath":
                return self._other_predicates(subject, predicate, object_, graph)
        self._obstacle(f"the path {predicate} cannot be written as rules", "")
        return []

    def _atom(self, subject: Any, predicate: Any, object_: Any, graph: Graph) -> Alternative:
        if kind(predicate) != "URIRef":
            return self._reading(graph, "triples", (subject, predicate, object_))
        name = term_of(predicate)
        if name != RDF_TYPE:
            return self._reading(graph, interned(name, 2), (subject, object_))
        if kind(object_) == "URIRef":
            return self._reading(graph, interned(term_of(object_), 1), (subject,))
        return self._reading(graph, "types", (subject, object_))

    def _reading(self, graph: Graph, takes: Any, places: tuple[Any, ...]) -> Alternative:
        """An atom of an input."""
        return self._over(self._input(graph, takes, len(places), ()).name, places)

    def _input(
        self, graph: Graph, takes: Any, width: int, conditions: tuple[tuple[int, SparqlExpression], ...]
    ) -> Predicate:
        key = graph, str(takes), conditions
        if key not in self._inputs:
            number = sum(existing[:2] == key[:2] for existing in self._inputs if existing[2]) + 1
            where = {int: f"'w{graph}", str: f"'{graph}"}.get(type(graph), "'b")
            what = takes.name if isinstance(takes, Predicate) else takes
            name = f"{where} {what}" + (f" {number}" if conditions else "")
            self._inputs[key] = Input(interned(name, width), graph, takes, conditions)
        return self._inputs[key].signature

    def _input_of(self, atom: Atom) -> Input | None:
        return next((relation for relation in self._inputs.values() if relation.signature == atom.signature), None)

    # Paths ------------------------------------------------------------------------------------------------------------

    def _closure(self, subject: Any, path: Any, object_: Any, graph: Graph) -> Alternative:
        """`path+`, `path*` and `path?`: pairs of nodes, each once."""
        name, x, y, z = self._fresh("path"), Variable("'x"), Variable("'y"), Variable("'z")
        once = name if path.mod == "?" else self._fresh("path")
        for step in self.triple(Between("'x"), path.path, Between("'y"), graph):
            self._rule(once, (x, y), step.body)
        if path.mod != "?":
            self._rule(name, (x, y), (Now(Atom(once, (x, y))),))
            self._rule(name, (x, z), (Now(Atom(name, (x, y))), Now(Atom(once, (y, z)))))
        if path.mod != "+":
            self._rule(name, (x, x), (Now(Atom(self._node_rules(graph), (x,))),))
            if {kind(subject), kind(object_)} & {"URIRef", "Literal"}:
                self._obstacle(f"the path `{path.mod}` may stay at a term that is not in the graph", path.mod)
        return self._over(name, (subject, object_))

    def _node_rules(self, graph: Graph) -> str:
        """The predicate of the subjects and objects of a graph."""
        if graph not in self._nodes:
            self._nodes[graph] = name = self._fresh("node")
            triples = self._input(graph, "triples", 3, ())
            x, free = Variable("'x"), (Variable("'y"), Variable("'z"))
            self._rule(name, (x,), (Now(Atom(triples.name, (x, *free))),))
            self._rule(name, (x,), (Now(Atom(triples.name, (*free, x))),))
        return self._nodes[graph]

    def _over(self, name: str, places: tuple[Any, ...]) -> Alternative:
        """An atom of a predicate, with the variables that the query sees and the others."""
        names = frozenset(str(place) for place in places if kind(place) == "Variable")
        witnesses = frozenset(_witness(place) for place in places if kind(place) in ("BNode", "Between"))
        args: list[Expression] = []
        for place in places:
            is_constant = kind(place) in ("URIRef", "Literal")
            args.append(Constant(term_of(place)) if is_constant else Variable(_name(place)))
        return Alternative((Now(Atom(name, tuple(args))),), names, witnesses)

    def _other_predicates(self, subject: Any, path: Any, object_: Any, graph: Graph) -> Alternatives:
        """`!(:p|:q)`: triples with another predicate."""
        if any(kind(part) != "URIRef" for part in path.args):
            self._obstacle("rdflib does not say which predicates `!(^:p)` leaves out", "^")
            return []
        predicate = Between(self._variable())
        triple = self._reading(graph, "triples", (subject, predicate, object_))
        tests = (Comparison("!==", Variable(str(predicate)), Constant(f"<{excluded}>")) for excluded in path.args)
        return [triple.also(*tests)]

    # Names ------------------------------------------------------------------------------------------------------------

    def _rule(self, name: str, args: tuple[Expression, ...], body: tuple[Literal, ...]) -> None:
        self.rules.append(Rule(Atom(name, args), body))

    def _fresh(self, what: str) -> str:
        self._made += 1
        return f"'{what} {self._made}"

    def _variable(self) -> str:
        self._made += 1
        return f"'{self._made}"


class Between(str):
    """A variable that the query does not name."""


def _name(place: Any) -> str:
    return str(place) if kind(place) == "Variable" else _witness(place)


def _witness(place: Any) -> str:
    return str(place) if kind(place) == "Between" else f"_:{place}"
