"""Which individuals of events can have a class at all, as a query that follows from the classes asked for.

    High = (feature some MainRoad) and (value some xsd:double[> 0.5])

becomes: the event gives the individual a value above 0.5 and a feature, and event or background say that this is a main
road. Rules are followed backwards, from an individual to its neighbours; all disjuncts count, and a value that must
exist may be anything. What cannot be followed further counts as possible: the query may select an individual that has
no class, and never leaves out one of the event's own that has. It says nothing about events that contradict; a run
drops events by what `kinds/classes/ladder.py` does with all of the background.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.languages.owl.expressions import LITERAL, DataRange
from thalweg.model.rdf import as_ntriples
from thalweg.model.vocabulary import SAME_AS
from thalweg.solvers.dl.normal_form import EVERYTHING

# Steps backwards in all, and edges from the individual: what is not reached by then counts as possible.
_STEPS: Final = 2_000
_DEEPEST: Final = 3
# A longer query is made again with fewer edges.
_LONGEST: Final = 500
_SUBJECT: Final = "?x"
_SPACE: Final = "urn:thalweg:selection:"


@dataclass(frozen=True, slots=True)
class SelectionAtom:
    """What event or background must say: a class where there is no `thing`, else an edge, or a literal in a range.

    With the name `!=` it is a comparison of two individuals.
    """

    subject: str
    name: str
    thing: str = ""
    range: DataRange | None = None

    def __str__(self) -> str:
        return f"{self.subject} {self.name} {self.thing}" if self.thing else f"{self.subject} a {self.name}"


@dataclass(frozen=True, slots=True)
class Every:
    """All of the parts; without any, nothing is needed."""

    parts: frozenset["Pattern"] = frozenset()


@dataclass(frozen=True, slots=True)
class Some:
    """One of the parts; without any, it cannot be."""

    parts: frozenset["Pattern"] = frozenset()


Pattern = SelectionAtom | Every | Some
ALWAYS: Final = Every()
NEVER: Final = Some()


def every(parts: Iterable[Pattern]) -> Pattern:
    """The conjunction of patterns, flattened; `NEVER` if one of them is."""
    conjuncts: set[Pattern] = set()
    for part in parts:
        if part == NEVER:
            return NEVER
        conjuncts |= part.parts if isinstance(part, Every) else {part}
    return next(iter(conjuncts)) if len(conjuncts) == 1 else Every(frozenset(conjuncts))


def any_of(parts: Iterable[Pattern]) -> Pattern:
    """The disjunction of patterns, flattened, without those that imply another; `ALWAYS` if one of them is."""
    alternatives: set[Pattern] = set()
    for part in parts:
        if part == ALWAYS:
            return ALWAYS
        alternatives |= part.parts if isinstance(part, Some) else {part}
    least = {
        pattern
        for pattern in alternatives
        if not (isinstance(pattern, Every) and any(_implies(pattern, other) for other in alternatives))
    }
    return next(iter(least)) if len(least) == 1 else Some(frozenset(least))


def _implies(pattern: Every, other: Pattern) -> bool:
    return other in pattern.parts or (isinstance(other, Every) and other.parts < pattern.parts)


def derive_selection(program: AbstractionProgram) -> Pattern:
    """What must be said of `?x`, an individual of an event's own, so that it can have a class.

    >>> from thalweg.languages.owl import axioms as ax
    >>> from thalweg.languages.owl.dl.abstraction_program import compile_abstraction
    >>> either = ax.Ontology((ax.SubClassOf(ex.ObjectIntersectionOf(("<B>", "<C>")), "<A>"),))
    >>> pattern = derive_selection(compile_abstraction("x", either, [("<A>", "<A>")]))
    >>> sorted(sorted(map(str, part.parts)) if isinstance(part, Every) else [str(part)] for part in pattern.parts)[1:]
    [['?x a <A>'], ['?x a <B>', '?x a <C>']]
    """
    form = program.form
    if form.unsupported or form.one_of or program.same or (form.at_most and form.nominals):
        return ALWAYS
    # An individual that axioms name may get values from anywhere.
    for deepest in (0,) if form.nominals else range(_DEEPEST, -1, -1):
        pattern = _Unfolding(program, deepest).selection()
        if _length(pattern) <= _LONGEST:
            return pattern
    return ALWAYS


def _length(pattern: Pattern) -> int:
    return 1 if isinstance(pattern, SelectionAtom) else sum(map(_length, pattern.parts))


Then = Callable[[str], Pattern]
"""What is asked of a neighbour."""


class _Unfolding:
    """Rules, followed backwards, over at most `deepest` edges."""

    def __init__(self, program: AbstractionProgram, deepest: int) -> None:
        self.program = program
        self.form = form = program.form
        self.deepest = deepest
        self.steps = _STEPS
        self.ranges = {number: data_range for data_range, number in program.ranges.known.items()}
        self.names = {number: name for name, number in form.classes.items()}
        self.roles = {number: name for name, number in form.roles.items() if name[0] == "<"}
        self.data = {number: name for name, number in form.data.items()}
        self.lower = [pair for sub, sup in form.super_roles for pair in ((sub, sup), (sub ^ 1, sup ^ 1))]
        self.chains = [
            chain
            for first, other, composed in form.chains
            for chain in ((first, other, composed), (other ^ 1, first ^ 1, composed ^ 1))
        ]
        self.variables: dict[tuple[object, ...], str] = {}
        self.depths = {_SUBJECT: 0}

    def selection(self) -> Pattern:
        classes = (self.of_class(self.form.classes[target.name], _SUBJECT) for target in self.program.asked)
        # Where an event says that individuals are equal, any of them may have the classes of another.
        equality = every([SelectionAtom(_SUBJECT, "?p", "?thing"), SelectionAtom("?one", SAME_AS, "?other")])
        return any_of([*classes, equality, self.equal(_SUBJECT)])

    def variable(self, individual: str, *about: object) -> str:
        """The variable for a neighbour of an individual; equal arguments give the same variable."""
        variable = self.variables.setdefault((individual, *about), f"?v{len(self.variables)}")
        self.depths[variable] = self.depths[individual] + 1
        return variable

    def equal(self, individual: str) -> Pattern:
        """How an individual can be equal to another one, whose classes it has: one of its values too many."""
        return any_of(self.counted(most.role, individual) for most in self.form.at_most)

    def counted(self, role: int, individual: str) -> Pattern:
        """How an individual can be one of several values: there is another, or one must exist, or two have theirs."""
        if self.form.gives_self or self.depths[individual] > self.deepest:
            return ALWAYS
        starts = sorted(_closure(role, self.lower))
        patterns: list[Pattern] = []
        for start in starts:
            if start & ~1 not in self.roles:
                continue
            owner = self.variable(individual, "of", start)
            edge = self.edge(start, owner, individual)
            for other in starts:
                if other & ~1 in self.roles:
                    value = self.variable(owner, "beside", start, other)
                    patterns.append(
                        every([edge, self.edge(other, owner, value), SelectionAtom(individual, "!=", value)])
                    )
                patterns.append(every([edge, self.given(other, owner, frozenset())]))
            patterns.append(every([edge, self.equal(owner)]))
        return any_of(patterns)

    def of_class(self, of: int, individual: str, above: frozenset[int] = frozenset()) -> Pattern:
        """How an individual can get into a class; it need not be in one of those `above` for that."""
        self.steps -= 1
        if of == EVERYTHING or self.steps < 0 or self.depths[individual] > self.deepest:
            return ALWAYS
        if of in above:
            return NEVER
        here, form = above | {of}, self.form
        patterns: list[Pattern] = [SelectionAtom(individual, self.names[of])] if of in self.names else []
        for body, heads in form.clauses:
            if of in heads and here.isdisjoint(body):
                patterns.append(every(self.of_class(needed, individual, here) for needed in body))
        for role, filler, head in form.some:
            if head == of:
                inside: Then = partial(self.of_class, filler)
                patterns.append(self.reach(role, individual, filler, inside, here))
        for role, head in form.has_self:
            if head == of:
                patterns.append(self.begins(role, individual, here))
        for property, range, head in form.data_some:
            if head == of:
                patterns.append(self.of_literal(property, range, individual, here))
        return any_of(patterns)

    def reach(
        self,
        role: int,
        individual: str,
        about: object,
        then: Then,
        above: frozenset[int],
        tried: frozenset[int] = frozenset(),
    ) -> Pattern:
        """How an individual can have a value of which something more is asked.

        `about` says what that is; `tried` are properties that this one is made of in other ways.
        """
        if self.depths[individual] >= self.deepest:
            return self.begins(role, individual, above)
        patterns: list[Pattern] = []
        for start in sorted(_closure(role, self.lower)):
            if start & ~1 in self.roles:
                other = self.variable(individual, start, about)
                patterns.append(every([self.edge(start, individual, other), any_of([then(other), self.equal(other)])]))
            patterns.append(self.given(start, individual, above))
            for first, second, composed in self.chains:
                if composed == start and composed in tried:
                    patterns.append(self.begins(composed, individual, above))
                elif composed == start:
                    longer = tried | {composed}

                    def onward(other: str, second: int = second, longer: frozenset[int] = longer) -> Pattern:
                        return self.reach(second, other, about, then, frozenset(), longer)

                    patterns.append(self.reach(first, individual, (second, composed, about), onward, above, longer))
        return any_of(patterns)

    def begins(self, role: int, individual: str, above: frozenset[int] = frozenset()) -> Pattern:
        """How an individual can have any value, which may begin with another property."""
        firsts = [(first, composed) for first, _, composed in self.chains]
        patterns: list[Pattern] = []
        for start in sorted(_closure(role, [*self.lower, *firsts])):
            if start & ~1 in self.roles:
                patterns.append(self.edge(start, individual, self.variable(individual, start)))
            patterns.append(self.given(start, individual, above))
        return any_of(patterns)

    def given(self, role: int, individual: str, above: frozenset[int]) -> Pattern:
        """How an individual can get a value that nothing is known of."""
        form = self.form
        givers = [of for of, value_role in form.gives_self if value_role in (role, role ^ 1)]
        givers += [of for of, value_role, _ in form.gives_value if value_role == role]
        patterns = [self.of_class(of, individual, above) for of in givers]
        for limit in form.at_least:
            if limit.role == role:
                # There is a new value only where there was none.
                having = {head for by, of, head in form.some if (by, of, 1) == (role, limit.filler, limit.number)}
                patterns.append(self.of_class(limit.of, individual, above | having))
        return any_of(patterns)

    def of_literal(self, property: int, range: int, individual: str, above: frozenset[int]) -> Pattern:
        form, patterns = self.form, list[Pattern]()
        for start in sorted(_closure(property, form.super_data)):
            value = self.variable(individual, "literal", start, range)
            patterns.append(SelectionAtom(individual, self.data[start], value, self.ranges[range]))
            patterns += [
                self.of_class(of, individual, above)
                for of, data_property, _ in form.gives_literal
                if data_property == start
            ]
            for limit in form.data_at_least:
                if limit.property == start:
                    same = (start, limit.range, limit.number)
                    having = {head for by, of, head in form.data_some if (by, of, 1) == same}
                    patterns.append(self.of_class(limit.of, individual, above | having))
        return any_of(patterns)

    def edge(self, role: int, individual: str, other: str) -> SelectionAtom:
        name = self.roles[role & ~1]
        return SelectionAtom(other, name, individual) if role & 1 else SelectionAtom(individual, name, other)


def _closure(start: int, pairs: Iterable[tuple[int, int]]) -> set[int]:
    """All numbers from which `start` is reached by pairs of a lower and a higher number, itself included."""
    reached, grown = {start}, True
    while grown:
        below = {sub for sub, sup in pairs if sup in reached} - reached
        reached |= below
        grown = bool(below)
    return reached


def rspql(selection: Pattern) -> str:
    """The query over a stream and the background, for other engines."""
    lines = [
        f"PREFIX : <{_SPACE}>",
        "REGISTER RSTREAM :selection AS",
        f"SELECT DISTINCT {_SUBJECT}",
        "FROM NAMED WINDOW :w ON STREAM :events [RANGE PT1S SLIDE PT1S]",
        "WHERE {",
    ]
    if selection == ALWAYS:
        return "\n".join([*lines, f"  WINDOW :w {{ {_SUBJECT} ?p ?o }}", "}"])
    if selection == NEVER:
        return "\n".join([*lines, f"  WINDOW :w {{ {_SUBJECT} ?p ?o }} FILTER(false)", "}"])
    return "\n".join([*lines, *_lines(selection, "  "), "}"])


def _lines(pattern: Pattern, indent: str) -> list[str]:
    """A pattern as SPARQL: what is said of the individual stands in the window, other things there or elsewhere."""
    match pattern:
        case SelectionAtom():
            return [f"{indent}{line}" for line in _matched([pattern])]
        case Every(parts):
            atoms = sorted((part for part in parts if isinstance(part, SelectionAtom)), key=str)
            nested = sorted(_lines(part, indent) for part in parts if not isinstance(part, SelectionAtom))
            return [*(f"{indent}{line}" for line in _matched(atoms)), *(line for part in nested for line in part)]
        case Some(parts):
            branches = sorted(_braces(_lines(part, f"{indent}  "), indent) for part in parts)
            joined = branches[:1] + [[f"{indent}UNION", *branch] for branch in branches[1:]]
            return [line for branch in joined for line in branch]


def _braces(lines: list[str], indent: str) -> list[str]:
    if len(lines) == 1:
        return [f"{indent}{{ {lines[0].strip()} }}"]
    return [f"{indent}{{", *lines, f"{indent}}}"]


def _matched(atoms: list[SelectionAtom]) -> Iterator[str]:
    compared = [atom for atom in atoms if atom.name == "!="]
    atoms = [atom for atom in atoms if atom.name != "!="]
    own = [atom for atom in atoms if _SUBJECT in (atom.subject, atom.thing)]
    if own:
        yield f"WINDOW :w {{ {' . '.join(map(str, own))} }}{_tests(own)}"
    for atom in atoms:
        if atom not in own:
            yield f"{{ {{ {atom} }} UNION {{ WINDOW :w {{ {atom} }} }}{_tests([atom])} }}"
    if compared:
        yield f"FILTER({' && '.join(map(str, compared))})"


def _tests(atoms: Iterable[SelectionAtom]) -> str:
    tests = [test for atom in atoms if atom.range is not None for test in _filters(atom.thing, atom.range)]
    return f" FILTER({' && '.join(tests)})" if tests else ""


def _filters(variable: str, range: DataRange) -> Iterator[str]:
    """What SPARQL can say of a range; the rest is left out."""
    match range:
        case ex.DatatypeRestriction(datatype, facets):
            yield from _filters(variable, datatype)
            for facet, text in facets:
                sign = _SIGNS.get(facet.rpartition("#")[2].rstrip(">"))
                if sign:
                    yield f"{variable} {sign} {as_ntriples(text)}"
        case ex.DataOneOf(literals):
            yield f"{variable} IN ({', '.join(map(as_ntriples, literals))})"
        case str() if range != LITERAL and range.endswith(("#double>", "#float>", "#boolean>", "#dateTime>")):
            yield f"datatype({variable}) = {range}"


_SIGNS: Final = {"minInclusive": ">=", "minExclusive": ">", "maxInclusive": "<=", "maxExclusive": "<"}
