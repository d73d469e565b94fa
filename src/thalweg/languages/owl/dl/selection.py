"""Which events can have a class at all: a filter that follows from the classes asked for.

    High = (feature some MainRoad) and (value some xsd:double[> 0.5])

becomes: the individual has a value above 0.5, and an edge from which a feature follows. A class can only be concluded
of an individual of the event's own by what the event says of it; rules are followed backwards as long as they stay with
that individual. What they ask of neighbours is left out, and so is what cannot be followed: the filter may keep an
event that has no class, and never drops one that has. It says nothing about events that contradict.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Final, NamedTuple

from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Facts
from thalweg.languages.owl.dl.data_ranges import value
from thalweg.languages.owl.expressions import LITERAL, DataRange
from thalweg.model.rdf import as_ntriples
from thalweg.model.vocabulary import SAME_AS
from thalweg.solvers.dl.normal_form import EVERYTHING, Test

_MOST: Final = 64
# Steps backwards in all: what is not reached by then counts as possible.
_STEPS: Final = 2_000


class Condition(NamedTuple):
    """What an event must say of an individual: a class, an edge from or to it, or a literal in a range.

    `kind` is `class`, `edge`, `inverse` or `literal`.
    """

    kind: str
    name: str
    range: DataRange | None = None


Alternative = frozenset[Condition]
Alternatives = frozenset[Alternative]

_ALWAYS: Final[Alternatives] = frozenset({frozenset()})
_NEVER: Final[Alternatives] = frozenset()


@dataclass(frozen=True)
class Selection:
    """Alternatives, one of which an individual satisfies if it is in a class that was asked for."""

    alternatives: Alternatives
    tests: Mapping[DataRange, Test]

    @cached_property
    def keeps_everything(self) -> bool:
        return frozenset() in self.alternatives

    def keeps(self, facts: Facts, individual: str) -> bool:
        """Whether an individual of an event's own may be in a class."""
        return self.keeps_everything or any(
            all(self._holds(one, facts, individual) for one in alternative) for alternative in self.alternatives
        )

    def _holds(self, condition: Condition, facts: Facts, individual: str) -> bool:
        kind, name, range = condition
        if kind == "class":
            return (name, individual) in facts.classes
        if kind == "literal":
            values = (value(found) for of, one, found in facts.literals if (of, one) == (name, individual))
            return any(map(self.tests[range], values)) if range is not None else any(True for _ in values)
        end = 1 if kind == "edge" else 2
        return any((edge[0], edge[end]) == (name, individual) for edge in facts.edges)


def derive_selection(program: AbstractionProgram) -> Selection:
    """The filter of a program.

    >>> from thalweg.languages.owl import axioms as ax
    >>> from thalweg.languages.owl.dl.abstraction_program import compile_abstraction
    >>> from thalweg.languages.owl.expressions import ObjectIntersectionOf, ObjectSomeValuesFrom
    >>> both = ObjectIntersectionOf(("<B>", ObjectSomeValuesFrom("<r>", "<C>")))
    >>> program = compile_abstraction("x", ax.Ontology((ax.SubClassOf(both, "<A>"),)), [("<A>", "<A>")])
    >>> sorted([sorted(condition[:2] for condition in one) for one in derive_selection(program).alternatives])
    [[('class', '<A>')], [('class', '<B>'), ('edge', '<r>')], [('edge', '<...sameAs>')], [('inverse', '<...sameAs>')]]
    """
    unfolding = _Unfolding(program)
    return Selection(unfolding.selection(), unfolding.tests)


class _Unfolding:
    """Rules, followed backwards."""

    def __init__(self, program: AbstractionProgram) -> None:
        self.program = program
        self.form = program.form
        self.steps = _STEPS
        self.ranges = {number: found for found, number in program.ranges.known.items()}
        self.tests = {found: program.ranges.tests[number] for number, found in self.ranges.items()}
        self.names = {number: name for name, number in self.form.classes.items()}
        self.roles = {number: name for name, number in self.form.roles.items()}
        self.data = {number: name for name, number in self.form.data.items()}

    def selection(self) -> Alternatives:
        form = self.form
        if form.unsupported or form.one_of or self.program.same:
            return _ALWAYS
        found = [self.of_class(form.classes[one.name], frozenset()) for one in self.program.asked]
        # One of two equal individuals has the classes of the other: those that are said to be equal, and values that
        # are counted.
        found += [frozenset({frozenset({Condition(kind, SAME_AS)})}) for kind in ("edge", "inverse")]
        found += [self.of_edge(most.role ^ 1, frozenset()) for most in form.at_most]
        return _ALWAYS if form.at_most and form.nominals else _either(found)

    def of_class(self, of: int, above: frozenset[int]) -> Alternatives:
        """How an individual can get into a class; it need not be in one of those `above` for that."""
        if of == EVERYTHING:
            return _ALWAYS
        if of in above:
            return _NEVER
        self.steps -= 1
        if self.steps < 0:
            return _ALWAYS
        here = above | {of}
        found = [frozenset({frozenset({Condition("class", self.names[of])})})] if of in self.names else []
        for body, heads in self.form.clauses:
            if of in heads:
                found.append(_all(self.of_class(one, here) for one in body))
        for role, _, head in self.form.some:
            if head == of:
                found.append(self.of_edge(role, here))
        for role, head in self.form.has_self:
            if head == of:
                found.append(self.of_edge(role, here))
        for property, range, head in self.form.data_some:
            if head == of:
                found.append(self.of_literal(property, range, here))
        return _either(found)

    def of_edge(self, role: int, above: frozenset[int]) -> Alternatives:
        """How an individual can get an edge."""
        form, found = self.form, list[Alternatives]()
        for start in sorted(self.starts(role)):
            if start >> 1 << 1 in self.roles and self.roles[start >> 1 << 1][0] == "<":
                found.append(frozenset({frozenset({self.edge(start)})}))
            givers = [limit.of for limit in form.at_least if limit.role == start]
            givers += [of for of, given in form.gives_self if given in (start, start ^ 1)]
            givers += [of for of, given, _ in form.gives_value if given == start]
            found += [self.of_class(of, above) for of in givers]
        return _either(found)

    def of_literal(self, property: int, range: int, above: frozenset[int]) -> Alternatives:
        form, found = self.form, list[Alternatives]()
        for start in sorted(_closure(property, form.super_data)):
            found.append(frozenset({frozenset({Condition("literal", self.data[start], self.ranges[range])})}))
            givers = [limit.of for limit in form.data_at_least if limit.property == start]
            givers += [of for of, given, _ in form.gives_literal if given == start]
            found += [self.of_class(of, above) for of in givers]
        return _either(found)

    def starts(self, role: int) -> set[int]:
        """The properties that an edge of this one can begin with."""
        pairs = [pair for sub, sup in self.form.super_roles for pair in ((sub, sup), (sub ^ 1, sup ^ 1))]
        for first, second, made in self.form.chains:
            pairs += [(first, made), (second ^ 1, made ^ 1)]
        return _closure(role, pairs)

    def edge(self, role: int) -> Condition:
        return Condition("inverse" if role & 1 else "edge", self.roles[role >> 1 << 1])


def _closure(start: int, pairs: Iterable[tuple[int, int]]) -> set[int]:
    """What leads to something, by pairs of a lower and a higher one."""
    known, grown = {start}, True
    while grown:
        below = {sub for sub, sup in pairs if sup in known} - known
        known |= below
        grown = bool(below)
    return known


def _either(found: Iterable[Alternatives]) -> Alternatives:
    """One of them; where there are too many, anything. What another alternative implies is left out."""
    merged = frozenset(one for alternatives in found for one in alternatives)
    if len(merged) > 4 * _MOST:
        return _ALWAYS
    least = frozenset(one for one in merged if not any(other < one for other in merged))
    return least if len(least) <= _MOST else _ALWAYS


def _all(found: Iterator[Alternatives]) -> Alternatives:
    """All of them together."""
    made = _ALWAYS
    for alternatives in found:
        if len(made) * len(alternatives) > 4 * _MOST:
            return _ALWAYS
        made = _either([frozenset(one | other for one, other in product(made, alternatives))])
    return made


def rspql(selection: Selection, stream: str = "events") -> str:
    """The filter as a continuous query over a stream, for other engines."""
    lines = [
        f"PREFIX : <{_SPACE}>",
        "REGISTER RSTREAM :selection AS",
        "SELECT DISTINCT ?x",
        f"FROM NAMED WINDOW :w ON STREAM :{stream} [RANGE PT1S SLIDE PT1S]",
        "WHERE {",
    ]
    if selection.keeps_everything:
        return "\n".join([*lines, "  WINDOW :w { ?x ?p ?o }", "}"])
    branches = sorted(_branch(sorted(one, key=str)) for one in selection.alternatives)
    return "\n".join([*lines, "\n  UNION\n".join(branches), "}"])


_SPACE: Final = "urn:thalweg:selection:"


def _branch(conditions: list[Condition]) -> str:
    triples, filters = list[str](), list[str]()
    for number, (kind, name, range) in enumerate(conditions):
        thing = f"?v{number}"
        match kind:
            case "class":
                triples.append(f"?x a {name}")
            case "inverse":
                triples.append(f"{thing} {name} ?x")
            case _:
                triples.append(f"?x {name} {thing}")
        filters += _filters(thing, range) if range is not None else ()
    tests = f" FILTER({' && '.join(filters)})" if filters else ""
    return f"  {{ WINDOW :w {{ {' . '.join(triples)} }}{tests} }}"


def _filters(thing: str, range: DataRange) -> Iterator[str]:
    """What SPARQL can say of a range; the rest is left out."""
    match range:
        case ex.DatatypeRestriction(datatype, facets):
            yield from _filters(thing, datatype)
            for facet, text in facets:
                sign = _SIGNS.get(facet.rpartition("#")[2].rstrip(">"))
                if sign:
                    yield f"{thing} {sign} {as_ntriples(text)}"
        case ex.DataOneOf(literals):
            yield f"{thing} IN ({', '.join(map(as_ntriples, literals))})"
        case str() if range != LITERAL and range.endswith(("#double>", "#float>", "#boolean>", "#dateTime>")):
            yield f"datatype({thing}) = {range}"


_SIGNS: Final = {"minInclusive": ">=", "minExclusive": ">", "maxInclusive": "<=", "maxExclusive": "<"}
