"""A profile's rules, specialised to one ontology.

    triple(X,rdf:type,D) :- triple(C,rdfs:subClassOf,D), triple(X,rdf:type,C).

and the schema triple `:Student rdfs:subClassOf :Person` make the rule

    <Person>(X) :- <Student>(X).

What the rules say about the schema alone is concluded here, once. Atoms that look at the schema are matched against
that; what remains are rules over the data, in which classes and properties are predicates. An auxiliary predicate about
a list, `in_all(L,X)`, becomes one for each list, `in_all'_:b1(X)`.

A schema triple that only shortens a way (`A ⊑ C` because of `A ⊑ B ⊑ C`) makes no rules: data go the way step by step.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from thalweg.ir.annotate_terms import EDGE
from thalweg.ir.dependency import reachable
from thalweg.ir.nodes import Atom, Comparison, Constant, Expression, Literal, Now, Rule, Variable, names, variables
from thalweg.languages.owl.knowledge import (
    Binding,
    Knowledge,
    atoms_of,
    close,
    comparisons_of,
    ground,
    holds,
    solve,
    with_arguments,
)
from thalweg.languages.owl.literal_subjects import (
    ABOUT_LITERALS,
    HIDDEN_LITERALS,
    Specialised,
    sort_by_kind,
    without_detours,
)
from thalweg.languages.owl.rule_tables import TRIPLE, Named, RuleTable
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import (
    DATATYPE,
    DIFFERENT_FROM,
    LITERAL,
    RESOURCE,
    SAME_AS,
    THING,
    TYPE,
    Triple,
    is_schema,
    is_schema_class,
    is_schema_predicate,
    short,
)

# Rules whose conclusions about the schema the rules for data reach by themselves, step by step.
_SHORTCUTS: Final = frozenset(
    {"rdfs5", "rdfs6", "rdfs8", "rdfs10", "rdfs11", "rdfp12c", "rdfp13c", "scm-cls", "scm-sco", "scm-eqc1", "scm-eqc2"}
    | {"scm-op", "scm-dp", "scm-spo", "scm-eqp1", "scm-eqp2", "scm-dom1", "scm-dom2", "scm-rng1", "scm-rng2"}
    | {"scm-int", "scm-uni"}
)
# Equivalences that follow from inclusions say nothing new about inclusions.
_STATED_ONLY: Final = frozenset({"rdfp12a", "rdfp12b", "rdfp13a", "rdfp13b"})
# Rules that say of everything what is true of everything.
_TRIVIAL: Final = frozenset(["rdf1", "rdfs4a", "rdfs4b", "rdfp5a", "rdfp5b", "eq-ref", "dt-eq"])
_TRIVIAL_CLASSES: Final = frozenset({THING, RESOURCE})

_ABOUT_TERMS: Final = ABOUT_LITERALS | {Predicate("some_witness", 3)}
_HIDDEN_TERMS: Final = HIDDEN_LITERALS | {Predicate("'some_witness", 3)}

_X, _Y, _Z = Variable("X"), Variable("Y"), Variable("Z")
_EQUALITY: Final = (
    Rule(Atom(EDGE, (_Y, _X)), (Now(Atom(EDGE, (_X, _Y))),)),
    Rule(Atom(SAME_AS, (_X, _Y)), (Now(Atom(EDGE, (_X, _Y))), Comparison("!=", _X, _Y))),
    Rule(Atom(SAME_AS, (_X, _Z)), (Now(Atom(SAME_AS, (_X, _Y))), Now(Atom(EDGE, (_Y, _Z))), Comparison("!=", _X, _Z))),
)
_IS_RESOURCE: Final = Constant("resource")

EQUAL: Final = "equal'to"
"""Pairs of equal things, stated or derived: used where representatives stand for equal things."""
ALIKE: Final = "equal'by"
"""Things that are all equal because one rule derives them with one key: the values of a functional property."""
_SEVERAL: Final = "several'"
KNOWN: Final = "known'as"
"""The current names of the individuals that rules name: themselves, or their representatives."""

_STATED_EQUALITY: Final = Rule(
    Atom(EQUAL, (_X, _Y)),
    (
        Now(Atom(EDGE, (_X, _Y))),
        Comparison("is", _X, _IS_RESOURCE),
        Comparison("is", _Y, _IS_RESOURCE),
        Comparison("!=", _X, _Y),
    ),
)
_RENAMED: Final = Rule(Atom(KNOWN, (_X, _Z)), (Now(Atom(KNOWN, (_X, _Y))), Now(Atom(SAME_AS, (_Y, _Z)))))
# What literals are by themselves contradicts nothing; only what axioms say of them can.
_BY_THEMSELVES: Final = frozenset({"dt-type2", "dt-sub", "dt-meet"})
_ABOUT_CLAIMS: Final = frozenset({"dt-not-type", "dt-diff", "dt-apart"})


@dataclass(frozen=True, slots=True)
class Schema:
    """What follows about the schema; `needed` leaves out the shortcuts.

    `itself`: whether a literal is the same as itself, too.
    """

    known: Knowledge
    needed: Knowledge
    static: frozenset[Predicate]
    properties: tuple[str, ...]
    classes: tuple[str, ...]
    datatypes: frozenset[str]
    itself: bool


def close_schema(table: RuleTable, triples: Iterable[Triple]) -> Schema:
    """The schema of an ontology with all that follows about it."""
    static = static_predicates(table)
    # What a table says about the vocabulary itself is not about data, except which names are datatypes.
    facts = [fact for fact in table.facts if fact.signature != TRIPLE or fact.terms[1:] == (TYPE, DATATYPE)]
    stated = list(triples)
    about = {term for triple in stated if is_schema(triple) for term in triple}
    facts += (
        Fact("triple", triple)
        for triple in stated
        if is_schema(triple) or (triple[1] == SAME_AS and triple[0] in about)
    )
    about_schema = [named for named in table.rules if _is_static(named.rule.head, static)]
    rules = [(named.rule, named.name not in _SHORTCUTS) for named in _worth_closing(about_schema, facts)]
    knowledge, needed = close(rules, facts)
    typed = knowledge.facts[TRIPLE]
    datatypes = frozenset(s for s, p, o in typed if p == TYPE and o == DATATYPE) | {LITERAL}
    properties, classes = _vocabulary(knowledge, stated)
    itself = any(named.name == "eq-ref" for named in table.rules)
    return Schema(
        knowledge, needed, static, properties, tuple(c for c in classes if c not in datatypes), datatypes, itself
    )


def _worth_closing(rules: list[Named], facts: list[Fact]) -> list[Named]:
    """The rules that can fire, and of the shortcuts only those whose conclusions others ask for."""
    there = {_kind(Atom(fact.predicate, tuple(map(Constant, fact.terms)))) for fact in facts}
    live: list[Named] = []
    while True:
        more = [named for named in rules if named not in live and all(_kind(a) in there for a in atoms_of(named.rule))]
        if not more:
            break
        live += more
        there |= {_kind(named.rule.head) for named in more}

    def asked_by(rules: Iterable[Named]) -> Iterator[str]:
        return (_kind(a) for named in rules if named.name not in _STATED_ONLY for a in atoms_of(named.rule))

    starts = asked_by(named for named in live if named.name not in _SHORTCUTS)
    kinds = reachable(starts, lambda kind: asked_by(named for named in live if _kind(named.rule.head) == kind))
    return [named for named in live if named.name not in _SHORTCUTS or _kind(named.rule.head) in kinds]


def _kind(atom: Atom) -> str:
    """What a schema atom is about: its predicate, or the class of things that it types."""
    if atom.signature != TRIPLE:
        return atom.signature
    _, predicate, object_ = (arg.term if isinstance(arg, Constant) else "" for arg in atom.args)
    return f"{predicate} {object_}" if predicate == TYPE else predicate


def specialise(table: RuleTable, schema: Schema, representatives: bool = False) -> list[Specialised]:
    """The rules over data; they are about each of several equal things, or about their `representatives` only."""
    by_rule: dict[Rule, Specialised] = {}
    for named in table.rules:
        if named.name not in _TRIVIAL and not _is_static(named.rule.head, schema.static):
            for instance in (
                instance for variant in _variants(named, schema) for instance in _instances(variant, schema)
            ):
                by_rule.setdefault(instance.rule, instance)
    equal = _by_representatives if representatives else _by_edges
    rules = sort_by_kind(by_rule.values(), schema.datatypes, by_value=schema.itself)
    return without_detours(_relevant([*equal(rules)], schema))


def _by_edges(rules: Iterable[Specialised]) -> Iterator[Specialised]:
    """Equality follows edges, those that are stated and those that rules find, one after the other.

    Joining equality with itself would find each pair of n equal things n times over.
    """
    needed = False
    for entry in rules:
        atoms = atoms_of(entry.rule)
        if entry.rule.head.predicate != SAME_AS:
            yield entry
        elif any(atom.predicate != SAME_AS for atom in atoms):
            yield replace(entry, rule=replace(entry.rule, head=Atom(EDGE, entry.rule.head.args)))
        needed |= any(atom.predicate == SAME_AS for atom in atoms)
    if needed:
        yield from (Specialised(rule, "equality") for rule in _EQUALITY)


def _by_representatives(rules: Iterable[Specialised]) -> Iterator[Specialised]:
    """Rules find what is equal; the engine finds the representatives, and `owl:sameAs` leads to them."""
    for number, entry in enumerate(rules):
        rule = entry.rule
        variants: tuple[Rule, ...] = (rule,)
        if rule.head.predicate == SAME_AS:
            if all(atom.predicate == SAME_AS for atom in atoms_of(rule)):
                continue
            variants = _by_key(replace(rule, head=Atom(EQUAL, rule.head.args)), number)
        if not _asks_for_equals(rule):
            yield from (replace(entry, rule=_by_known_names(rule)) for rule in variants)
    yield Specialised(_STATED_EQUALITY, "equality")
    yield Specialised(_RENAMED, "equality")


def _by_key(rule: Rule, number: int) -> tuple[Rule, ...]:
    """A rule that says the same of both things, and finds them by one other, need not name every two of them.

    `equal'to(Y,Z) :- <p>(X,Y), <p>(X,Z), Y != Z.` becomes `equal'by(7,X,Y) :- several'7(X), <p>(X,Y).` and
    `several'7(X) :- <p>(X,Y), <p>(X,Z), Y != Z.`: most have one value only, and need not be looked at.
    """
    left, other = rule.head.args
    body = [part for part in rule.body if part != Comparison("!=", left, other)]
    for key in sorted(names(*rule.body) - names(left, other)):
        half, opposite = _around(left, key, body), _around(other, key, body)
        if half and not any(part in opposite for part in half) and _agree(half, opposite):
            several = Atom(f"{_SEVERAL}{number}", (Variable(key),))
            alike = Atom(ALIKE, (Constant(str(number)), Variable(key), left))
            return replace(rule, head=several), replace(rule, head=alike, body=(Now(several), *half))
    return (rule,)


def _around(arg: Expression, key: str, body: Iterable[Literal]) -> list[Literal]:
    """The parts of a body that have to do with a variable, and not only by way of the key."""
    near, count = set(names(arg)), 0
    while count < len(near):
        count = len(near)
        near |= {name for part in body if not near.isdisjoint(names(part)) for name in names(part)} - {key}
    return [part for part in body if not near.isdisjoint(names(part))]


def _agree(left: Sequence[Literal], other: Sequence[Literal]) -> bool:
    """Whether two lists say the same of variables that may be called otherwise."""
    called: dict[Expression, Expression] = dict(zip(variables(*left), variables(*other), strict=False))
    kinds = [Rule(Atom("", ()), tuple(parts)) for parts in (left, other)]
    return len(set(called.values())) == len(called) and with_arguments(kinds[0], called) == kinds[1]


def _asks_for_equals(rule: Rule) -> bool:
    """Whether two things that other atoms are about must be equal: then they are one, and another rule covers it."""
    pairs = [set(atom.args) for atom in atoms_of(rule) if atom.predicate == SAME_AS]
    arguments = {arg for atom in atoms_of(rule) if atom.predicate != SAME_AS for arg in atom.args}
    return any(pair <= arguments for pair in pairs)


def _by_known_names(rule: Rule) -> Rule:
    """The rule with the current names of its individuals in their place.

    `inconsistent(…,<a>,<b>) :- sameAs(<a>,<b>)` becomes `inconsistent(…,A,A) :- known'as(<a>,A), known'as(<b>,A)`.
    """
    args = (arg for atom in atoms_of(rule) if atom.signature not in _HIDDEN_TERMS for arg in atom.args)
    named = dict.fromkeys(arg for arg in args if isinstance(arg, Constant) and not is_literal(arg.term))
    if not named:
        return rule
    variables: dict[Expression, Expression] = {arg: Variable(f"N'{number}") for number, arg in enumerate(named)}
    called = dict(variables)
    kept: list[Literal] = []
    for part in rule.body:
        match part:
            case Now(Atom(predicate, (Constant() as left, Constant() as right))) if predicate == SAME_AS:
                called[right] = variables[left]
            case _:
                kept.append(part)
    renamed = with_arguments(Rule(rule.head, tuple(kept)), called)
    lookups = (Now(Atom(KNOWN, (arg, called[arg]))) for arg in named)
    return Rule(renamed.head, (*lookups, *renamed.body))


def static_predicates(table: RuleTable) -> frozenset[Predicate]:
    """The auxiliary predicates that depend on the schema alone."""
    heads = {named.rule.head.signature for named in table.rules}
    static = {fact.signature for fact in table.facts} - heads
    static |= {named.rule.head.signature for named in table.rules if not _is_open(named.rule.head.signature)}
    static -= {TRIPLE}
    changed = True
    while changed:
        wrong = {
            named.rule.head.signature
            for named in table.rules
            if named.rule.head.signature in static and not all(_is_static(a, static) for a in atoms_of(named.rule))
        }
        changed = bool(wrong)
        static -= wrong
    return frozenset(static)


def _is_open(signature: Predicate) -> bool:
    return signature == TRIPLE or signature in _ABOUT_TERMS or signature.name == "inconsistent"


def _is_static(atom: Atom, static: Iterable[Predicate]) -> bool:
    """Whether an atom looks at the schema."""
    if atom.signature != TRIPLE:
        return atom.signature in static
    _, predicate, object_ = (arg.term if isinstance(arg, Constant) else None for arg in atom.args)
    if predicate == TYPE:
        return object_ is not None and is_schema_class(object_)
    return predicate is not None and is_schema_predicate(predicate)


def _vocabulary(knowledge: Knowledge, stated: list[Triple]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The properties and classes that an ontology names."""
    everything = (*knowledge.facts[TRIPLE], *stated)
    classes = set(_listed(everything, _LISTS_OF_CLASSES, "owl:AllDisjointClasses"))
    properties = {SAME_AS, DIFFERENT_FROM, *_listed(everything, _LISTS_OF_PROPERTIES, "owl:AllDisjointProperties")}
    for subject, predicate, object_ in everything:
        name = short(predicate)
        if name in _FROM_CLASSES:
            classes.add(subject)
        if name in _TO_CLASSES:
            classes.add(object_)
        if name in _FROM_PROPERTIES:
            properties.add(subject)
        if name in _TO_PROPERTIES:
            properties.add(object_)
        if predicate == TYPE:
            kind = short(object_)
            if kind in ("owl:Class", "rdfs:Class", "owl:Restriction"):
                classes.add(subject)
            elif (kind.startswith("owl:") and kind.endswith("Property")) or kind == "rdf:Property":
                properties.add(subject)
            elif not is_schema_class(object_):
                classes.add(object_)
        elif not is_schema_predicate(predicate):
            properties.add(predicate)
    return (
        tuple(sorted(term for term in properties if term[0] == "<" and not is_schema_predicate(term) and term != TYPE)),
        tuple(sorted(term for term in classes if term[0] in "<_" and not is_schema_class(term))),
    )


# The predicates whose subjects or objects are classes or properties, or lists of them.
_BETWEEN_CLASSES: Final = frozenset({"rdfs:subClassOf", "owl:equivalentClass", "owl:disjointWith", "owl:complementOf"})
_FROM_CLASSES: Final = _BETWEEN_CLASSES | {"owl:intersectionOf", "owl:unionOf", "owl:oneOf", "owl:onProperty"}
_TO_CLASSES: Final = (
    _BETWEEN_CLASSES | {"rdfs:domain", "rdfs:range"} | {"owl:someValuesFrom", "owl:allValuesFrom", "owl:onClass"}
)
_BETWEEN_PROPERTIES: Final = frozenset(
    {"rdfs:subPropertyOf", "owl:equivalentProperty", "owl:inverseOf", "owl:propertyDisjointWith"}
)
_FROM_PROPERTIES: Final = _BETWEEN_PROPERTIES | {"rdfs:domain", "rdfs:range", "owl:propertyChainAxiom"}
_TO_PROPERTIES: Final = _BETWEEN_PROPERTIES | {"owl:onProperty", "owl:assertionProperty"}
_LISTS_OF_CLASSES: Final = ("owl:intersectionOf", "owl:unionOf", "owl:disjointUnionOf")
_LISTS_OF_PROPERTIES: Final = ("owl:propertyChainAxiom", "owl:hasKey")


def _listed(triples: Sequence[tuple[str, ...]], lists: tuple[str, ...], kind: str) -> Iterator[str]:
    """The members of lists that certain words lead to, the classes of intersections, the properties of chains; and of
    those that things of a kind lead to by `owl:members`.
    """
    firsts: dict[str, str] = {}
    rests: dict[str, str] = {}
    waiting: list[str] = []
    heads = {subject for subject, predicate, object_ in triples if predicate == TYPE and short(object_) == kind}
    for subject, predicate, object_ in triples:
        name = short(predicate)
        if name == "rdf:first":
            firsts[subject] = object_
        elif name == "rdf:rest":
            rests[subject] = object_
        elif name in lists or (name == "owl:members" and subject in heads):
            waiting.append(object_)
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if node in firsts and node not in seen:
            seen.add(node)
            yield firsts[node]
            waiting.append(rests.get(node, ""))


def _variants(named: Named, schema: Schema) -> Iterator[Named]:
    """The rule, and what follows from it because everything is the same as itself, and because types are triples."""
    for name, rule in ((named.name, rule) for rule in _with_itself(named.rule, schema.itself)):
        yield Named(name, rule)
        bound = frozenset(Now(atom) for atom in atoms_of(rule) if _is_static(atom, schema.static))
        predicates = [atom.args[1] for atom in atoms_of(rule) if atom.signature == TRIPLE]
        for predicate in sorted({arg.name for arg in predicates if isinstance(arg, Variable)} - names(*bound)):
            yield Named(name, with_arguments(rule, {Variable(predicate): Constant(TYPE)}))


def _with_itself(rule: Rule, literals: bool) -> Iterator[Rule]:
    """That everything, or every resource, is the same as itself is not stated: what asks for it goes without it.

    So what replaces subject and object at once need not be kept: one is replaced after the other.
    """
    same = [atom for atom in atoms_of(rule) if atom.args[1:2] == (Constant(SAME_AS),)]
    if len(same) < 2 or len(same) == len(atoms_of(rule)):
        yield rule
    for literal in rule.body:
        if isinstance(literal, Now) and literal.atom.args[1:2] == (Constant(SAME_AS),):
            left, _, right = literal.atom.args
            if isinstance(right, Variable):
                tests = () if literals else (Comparison("is", left, _IS_RESOURCE),)
                body = tuple(other for other in rule.body if other is not literal)
                yield from _with_itself(with_arguments(Rule(rule.head, (*body, *tests)), {right: left}), literals)


def _instances(named: Named, schema: Schema) -> Iterator[Specialised]:
    """The rule for each way in which the schema satisfies what it asks of the schema."""
    atoms = atoms_of(named.rule)
    names = _names_of_predicates(named.rule)
    # Equality of classes and properties belongs to the schema, wherever it is stated.
    static = [a for a in atoms if _is_static(a, schema.static) or _relates(a, names)]
    dynamic = [a for a in atoms if not any(a is other for other in static)]
    for binding in solve(static, schema.needed, {}):
        used = [" ".join(short(ground(arg, binding) or "_") for arg in atom.args) for atom in static]
        for full in _completed(named.rule, dynamic, binding, schema):
            rule = _lowered(named.rule, dynamic, full)
            if rule is not None and not _is_odd(rule):
                yield Specialised(rule, named.name, tuple(used))


def _is_odd(rule: Rule) -> bool:
    """Whether a class is taken for a literal."""
    return any(a.signature in HIDDEN_LITERALS and isinstance(a.args[0], Constant) for a in atoms_of(rule))


def _names_of_predicates(rule: Rule) -> frozenset[str]:
    """The variables that stand for classes or properties."""
    variable_names = set()
    for atom in (rule.head, *atoms_of(rule)):
        if atom.signature == TRIPLE:
            _, predicate, object_ = atom.args
            if isinstance(predicate, Variable):
                variable_names.add(predicate.name)
            elif predicate == Constant(TYPE) and isinstance(object_, Variable):
                variable_names.add(object_.name)
    return frozenset(variable_names)


def _relates(atom: Atom, names: frozenset[str]) -> bool:
    return (
        atom.signature == TRIPLE
        and any(isinstance(arg, Variable) and arg.name in names for arg in (atom.args[0], atom.args[2]))
        and atom.args[1] == Constant(SAME_AS)
    )


def _completed(rule: Rule, dynamic: list[Atom], binding: Binding, schema: Schema) -> Iterator[Binding]:
    """The bindings that say of each atom over data which class or property it is about."""
    for atom in (*dynamic, rule.head):
        if atom.signature != TRIPLE:
            continue
        predicate = ground(atom.args[1], binding)
        if predicate is None:
            assert isinstance(atom.args[1], Variable)
            for term in schema.properties:
                yield from _completed(rule, dynamic, binding | {atom.args[1].name: term}, schema)
            return
        if predicate == TYPE and ground(atom.args[2], binding) is None:
            assert isinstance(atom.args[2], Variable)
            about_values = any(a.signature in ABOUT_LITERALS for a in dynamic)
            for term in sorted(schema.datatypes) if about_values else schema.classes:
                yield from _completed(rule, dynamic, binding | {atom.args[2].name: term}, schema)
            return
    yield binding


def _lowered(rule: Rule, dynamic: list[Atom], binding: Binding) -> Rule | None:
    """The rule over data; None where a test on the schema fails, or where its conclusion is not a triple."""
    tests = []
    for test in comparisons_of(rule):
        match holds(test, binding):
            case False:
                return None
            case None:
                tests.append(Comparison(test.operator, _known(test.left, binding), _known(test.right, binding)))
    head = _atom(rule.head, binding)
    if head is None:
        return None
    atoms = [_atom(atom, binding) for atom in dynamic]
    if None in atoms:
        return None
    body = tuple(dict.fromkeys(Now(atom) for atom in atoms if atom is not None))
    if not names(head) <= names(*body):
        return None
    return Rule(head, (*body, *tests))


def _atom(atom: Atom, binding: Binding) -> Atom | None:
    args = tuple(_known(arg, binding) for arg in atom.args)
    if atom.signature != TRIPLE:
        if atom.signature in _ABOUT_TERMS:
            return Atom(f"'{atom.predicate}", args)
        if atom.predicate == "inconsistent":
            return Atom(atom.predicate, args)
        assert isinstance(args[0], Constant), f"{atom.predicate} is not about the schema"
        return Atom(f"{atom.predicate}'{args[0].term}", args[1:])
    subject, predicate, object_ = args
    assert isinstance(predicate, Constant)
    if predicate.term != TYPE:
        return Atom(predicate.term, (subject, object_)) if _is_data(predicate.term, is_schema_predicate) else None
    assert isinstance(object_, Constant)
    return Atom(object_.term, (subject,)) if object_.term[0] == "_" or _is_data(object_.term, is_schema_class) else None


def _is_data(term: str, is_schema_term: Callable[[str], bool]) -> bool:
    return term[0] == "<" and not is_schema_term(term)


def _known(arg: Expression, binding: Binding) -> Expression:
    term = ground(arg, binding)
    return arg if term is None else Constant(term)


def _relevant(rules: list[Specialised], schema: Schema) -> list[Specialised]:
    """The rules without those that can never fire, and those whose conclusions are neither output nor needed."""
    while True:
        derived = {entry.rule.head.signature for entry in rules}
        claimed = {entry.rule.head.signature for entry in rules if entry.name not in _BY_THEMSELVES}
        wanted = _wanted(rules, schema)
        kept = [
            entry
            for entry in rules
            if entry.rule.head.signature in wanted
            and all(_can_come(atom, derived, schema) for atom in atoms_of(entry.rule))
            and (entry.name not in _ABOUT_CLAIMS or any(atom.signature in claimed for atom in atoms_of(entry.rule)))
        ]
        if len(kept) == len(rules):
            return kept
        rules = kept


def _wanted(rules: list[Specialised], schema: Schema) -> set[Predicate]:
    """The predicates that are output, and all that their rules need."""
    sources: dict[Predicate, set[Predicate]] = {}
    for entry in rules:
        sources.setdefault(entry.rule.head.signature, set()).update(atom.signature for atom in atoms_of(entry.rule))
    # Equality is output, too, whichever predicate it is found by.
    sources.setdefault(Predicate(SAME_AS, 2), set()).update((Predicate(EQUAL, 2), Predicate(ALIKE, 3)))
    shown = (signature for signature in sources if is_output(signature.name, schema))
    return set(reachable(shown, lambda signature: sources.get(signature, ())))


def _can_come(atom: Atom, derived: set[Predicate], schema: Schema) -> bool:
    """Whether data can bring what an atom asks for: of values and lists only what rules make."""
    if atom.signature in derived or atom.signature in _HIDDEN_TERMS or atom.predicate == EDGE:
        return True
    return atom.predicate[0] == "<" and atom.predicate not in schema.datatypes


def is_output(name: str, schema: Schema) -> bool:
    """Whether predicates of a name are output: named classes and properties, and contradictions.

    Classes without a name and what rules use among themselves are left out.
    """
    return name == "inconsistent" or (name[0] == "<" and name not in schema.datatypes and name not in _TRIVIAL_CLASSES)
