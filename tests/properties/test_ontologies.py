"""What follows from a window is what follows from its content, from scratch, at every tick."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.ir.nodes import Comparison, Constant, Now, Rule
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.lars import read
from thalweg.languages.owl import structure
from thalweg.languages.owl.knowledge import close
from thalweg.languages.owl.program import over_triples, rewritten, specialised
from thalweg.languages.owl.rule_tables import Named, table
from thalweg.languages.owl.specialise import close_schema, is_output
from thalweg.model.fact import Fact
from thalweg.model.literals import describe
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import fact_of
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import OWL, RDF, RDFS, SAME_AS, TYPE, XSD, Triple, is_schema

CLASSES = tuple(f"<{name}>" for name in "ABCD")
PROPERTIES = ("<p>", "<q>", "<r>")
INDIVIDUALS = ("<a>", "<b>", "<c>")
LITERALS = ("x", "1", f'"1"^^<{XSD}byte>', f'"true"^^<{XSD}boolean>')
NIL = f"<{RDF}nil>"
WINDOW = 2


def owl(name: str) -> str:
    return f"<{OWL}{name}>"


def rdfs(name: str) -> str:
    return f"<{RDFS}{name}>"


CHARACTERISTICS = tuple(
    owl(f"{name}Property")
    for name in ("Transitive", "Symmetric", "Functional", "InverseFunctional", "Asymmetric", "Irreflexive")
)


def lists(draw: st.DrawFn, node: str, members: list[str]) -> list[Triple]:
    made: list[Triple] = []
    for place, member in enumerate(members):
        here, after = f"{node}{place}", f"{node}{place + 1}"
        made.append((here, f"<{RDF}first>", member))
        made.append((here, f"<{RDF}rest>", after if place + 1 < len(members) else NIL))
    return made


@st.composite
def axioms(draw: st.DrawFn, number: int) -> list[Triple]:
    """One axiom as triples; `number` keeps its blank nodes apart from those of others."""
    one, two = draw(st.sampled_from(CLASSES)), draw(st.sampled_from(CLASSES))
    this, that = draw(st.sampled_from(PROPERTIES)), draw(st.sampled_from(PROPERTIES))
    node = f"_:n{number}x"
    kind = draw(
        st.sampled_from(
            ("class", "class", "property", "kind", "restriction", "restriction", "number", "boolean", "list", "denial")
        )
    )
    if kind == "class":
        relations = (rdfs("subClassOf"), owl("equivalentClass"), owl("disjointWith"), owl("complementOf"))
        return [(one, draw(st.sampled_from(relations)), two)]
    if kind == "property":
        relation = draw(st.sampled_from((rdfs("subPropertyOf"), owl("inverseOf"), owl("equivalentProperty"))))
        return [
            draw(st.sampled_from([(this, relation, that), (this, rdfs("domain"), one), (this, rdfs("range"), one)]))
        ]
    if kind == "kind":
        return [(this, TYPE, draw(st.sampled_from(CHARACTERISTICS)))]
    side = draw(st.sampled_from(((node, one), (one, node))))
    if kind == "restriction":
        what, value = draw(
            st.sampled_from(
                [
                    (owl("someValuesFrom"), two),
                    (owl("allValuesFrom"), two),
                    (owl("hasValue"), "<a>"),
                    (owl("hasValue"), "1"),
                ]
                + [(owl("maxCardinality"), f'"{n}"^^<{XSD}nonNegativeInteger>') for n in "01"]
                + [(owl("someValuesFrom"), owl("Thing")), (owl("hasValue"), "x")]
            )
        )
        described = [(node, TYPE, owl("Restriction")), (node, owl("onProperty"), this), (node, what, value)]
        return [*described, (side[0], rdfs("subClassOf"), side[1])]
    if kind == "number":
        amount = f'"{draw(st.sampled_from("011"))}"^^<{XSD}nonNegativeInteger>'
        described = [
            (node, TYPE, owl("Restriction")),
            (node, owl("onProperty"), this),
            (node, owl("maxQualifiedCardinality"), amount),
            (node, owl("onClass"), draw(st.sampled_from((two, owl("Thing"))))),
        ]
        return [*described, (one, rdfs("subClassOf"), node)]
    if kind == "denial":
        return draw(denials(node, this))
    if kind == "boolean":
        what = draw(st.sampled_from((owl("intersectionOf"), owl("unionOf"))))
        members = draw(st.lists(st.sampled_from(CLASSES), min_size=1, max_size=3))
        described = [(node, TYPE, owl("Class")), (node, what, f"{node}0"), *lists(draw, node, members)]
        return [*described, (side[0], rdfs("subClassOf"), side[1])]
    if draw(st.booleans()):
        return [(this, owl("propertyChainAxiom"), f"{node}0"), *lists(draw, node, [this, that])]
    if draw(st.booleans()):
        return [(one, owl("hasKey"), f"{node}0"), *lists(draw, node, [this])]
    return [(one, owl("oneOf"), f"{node}0"), *lists(draw, node, ["<a>", "<b>"])]


@st.composite
def denials(draw: st.DrawFn, node: str, of: str) -> list[Triple]:
    """That individuals are different, or that one has no such value."""
    if draw(st.booleans()):
        members = draw(st.lists(st.sampled_from(INDIVIDUALS), min_size=2, max_size=3, unique=True))
        word = draw(st.sampled_from((owl("members"), owl("distinctMembers"))))
        return [(node, TYPE, owl("AllDifferent")), (node, word, f"{node}0"), *lists(draw, node, members)]
    word, value = draw(
        st.sampled_from((("targetIndividual", "<b>"), ("targetIndividual", "<c>"), ("targetValue", "1")))
    )
    return [
        (node, owl("sourceIndividual"), draw(st.sampled_from(INDIVIDUALS))),
        (node, owl("assertionProperty"), of),
        (node, owl(word), value),
    ]


@st.composite
def ontologies(draw: st.DrawFn) -> list[Triple]:
    return [triple for number in range(draw(st.integers(1, 6))) for triple in draw(axioms(number))]


@st.composite
def data(draw: st.DrawFn) -> Triple:
    subject = draw(st.sampled_from(INDIVIDUALS))
    match draw(st.sampled_from(("type", "type", "link", "link", "value", "same"))):
        case "type":
            return subject, TYPE, draw(st.sampled_from(CLASSES))
        case "link":
            return subject, draw(st.sampled_from(PROPERTIES)), draw(st.sampled_from(INDIVIDUALS))
        case "value":
            return subject, draw(st.sampled_from(PROPERTIES)), draw(st.sampled_from(LITERALS))
    return subject, draw(st.sampled_from((SAME_AS, owl("differentFrom")))), draw(st.sampled_from(INDIVIDUALS))


STREAMS = st.lists(st.tuples(st.integers(0, 7), data()), min_size=1, max_size=6)


def is_about_a_value(fact: Fact) -> bool:
    """Whether it says which value something is: that is not told."""
    return fact.predicate == SAME_AS and is_literal(fact.terms[1])


def is_told_of_everything(fact: Fact, expected: Collection[Fact]) -> bool:
    """Whether a value too many of class owl:Thing is also one of any class, by the next rule: that is told once."""
    rule, *who = fact.terms
    return rule == '"cls-maxqc1"' and Fact(fact.predicate, ('"cls-maxqc2"', *who)) in expected


@pytest.mark.parametrize("profile", ["rdfs", "pd", "rl"])
@settings(max_examples=min(6, settings().max_examples // 2), deadline=None)
@given(ontology=ontologies(), abox=st.lists(data(), max_size=2), stream=STREAMS)
def test_a_window_is_what_follows_from_its_content(
    profile: str, ontology: list[Triple], abox: list[Triple], stream: list[tuple[int, Triple]]
) -> None:
    static = [*ontology, *abox]
    engine = Engine(specialised("x.ttl", static, profile, WINDOW), first=0)
    schema = close_schema(table(profile), static)
    holding: set[Fact] = set()
    for tick in range(9):
        now = [triple for when, triple in stream if when == tick]
        for change in engine.advance(tick, [fact_of(*triple) for triple in now]):
            holding = (holding - set(change.end)) | set(change.begin)
        seen = [triple for when, triple in stream if tick - WINDOW <= when <= tick]
        asserted = {fact_of(*triple) for triple in (*abox, *seen) if triple[1] != TYPE or triple[2] != owl("Thing")}
        # That a value may be written in another way is not told; what follows from that it is the same value is.
        exact = from_scratch(profile, (*static, *seen), by_value)
        other = {fact for fact in exact if not any(map(is_literal, fact.terms[1:]))}
        expected = from_scratch(profile, (*static, *seen), as_spelled) | other
        expected = {fact for fact in expected if is_news(fact, schema) and not is_about_a_value(fact)}
        expected = {fact for fact in expected if not is_told_of_everything(fact, expected)}
        found = holding | {fact for fact in asserted if is_news(fact, schema)}
        if profile == "rl":
            tells_of_representatives(holding, equal_things(expected))
            found = set(expanded(found, equal_things(found)))
            # A rule that names one thing twice contradicts itself about it, and not about two names of it.
            expected = set(expanded(expected, equal_things(expected)))
        # A contradiction names a value as the axiom writes it, or as the stream does; and a way through equal values
        # may lead to another spelling.
        missing, extra = sorted(map(str, expected - found)), sorted(map(str, found - expected - exact))
        assert (missing, extra) == ([], []), f"at {tick}: missing {missing}, too many {extra}"


@settings(max_examples=min(40, settings().max_examples), deadline=None)
@given(ontology=ontologies(), abox=st.lists(data(), max_size=2), stream=STREAMS)
def test_rules_for_streams_without_owl_answer_the_same(
    ontology: list[Triple], abox: list[Triple], stream: list[tuple[int, Triple]]
) -> None:
    """The profile `auto` leaves out what only facts in the vocabulary of OWL could set off."""
    static = [*ontology, *abox]
    whole = Engine(specialised("x.ttl", static, "rl", WINDOW), first=0)
    fewer = Engine(specialised("x.ttl", static, "rl", WINDOW, owl_facts=False), first=0)
    plain = [(when, triple) for when, triple in stream if not triple[1].startswith(f"<{OWL}")]
    for tick in range(9):
        now = [fact_of(*triple) for when, triple in plain if when == tick]
        changes, expected = fewer.advance(tick, now), whole.advance(tick, now)
        assert [(set(change.begin), set(change.end)) for change in changes] == [
            (set(change.begin), set(change.end)) for change in expected
        ]


def restriction(node: str, of: str, word: str, filler: str) -> list[Triple]:
    return [(node, TYPE, owl("Restriction")), (node, owl("onProperty"), of), (node, owl(word), filler)]


def chained(of: str, *parts: str) -> list[Triple]:
    first, second = parts
    return [
        (of, owl("propertyChainAxiom"), "_:l0"),
        ("_:l0", f"<{RDF}first>", first),
        ("_:l0", f"<{RDF}rest>", "_:l1"),
        ("_:l1", f"<{RDF}first>", second),
        ("_:l1", f"<{RDF}rest>", NIL),
    ]


INVERSE = ("<q>", owl("inverseOf"), "<p>")
BYTE = f'"1"^^<{XSD}byte>'
THROUGH_LITERALS = {
    "inverse of inverse": ([INVERSE, ("<q>", owl("inverseOf"), "<r>")], [("<a>", "<r>", "x")]),
    "symmetric and transitive": (
        [("<p>", TYPE, owl("SymmetricProperty")), ("<p>", TYPE, owl("TransitiveProperty"))],
        [("<a>", "<p>", "1"), ("<b>", "<p>", BYTE)],
    ),
    "chain": ([INVERSE, *chained("<r>", "<p>", "<q>")], [("<a>", "<p>", "1"), ("<b>", "<p>", BYTE)]),
    "functional inverse": (
        [INVERSE, ("<q>", TYPE, owl("FunctionalProperty"))],
        [("<a>", "<p>", "x"), ("<b>", "<p>", "x")],
    ),
    "range and some": (
        [
            ("<p>", rdfs("range"), "<C>"),
            *restriction("_:n", "<p>", "someValuesFrom", "<C>"),
            ("_:n", rdfs("subClassOf"), "<D>"),
        ],
        [("<a>", "<p>", "x")],
    ),
    "value of a value": (
        [
            ("<p>", rdfs("range"), "<C>"),
            *restriction("_:n", "<q>", "hasValue", "<b>"),
            ("<C>", rdfs("subClassOf"), "_:n"),
            ("<q>", owl("inverseOf"), "<r>"),
        ],
        [("<a>", "<p>", "1")],
    ),
    "disjoint ranges": (
        [("<p>", rdfs("range"), "<C>"), ("<p>", rdfs("range"), "<D>"), ("<C>", owl("disjointWith"), "<D>")],
        [("<a>", "<p>", "x")],
    ),
}


@pytest.mark.parametrize("case", THROUGH_LITERALS)
def test_conclusions_go_through_triples_with_a_literal_as_subject(case: str) -> None:
    ontology, stream = THROUGH_LITERALS[case]
    test_a_window_is_what_follows_from_its_content.hypothesis.inner_test("rl", ontology, [], [(0, t) for t in stream])


@pytest.mark.parametrize(
    ("kind", "stream"),
    [
        ("AllDisjointClasses", [("<a>", TYPE, "<A>"), ("<b>", TYPE, "<B>")]),
        ("AllDisjointProperties", [("<a>", "<A>", "<c>"), ("<b>", "<B>", "<c>")]),
    ],
)
def test_what_only_a_list_of_disjoint_ones_names_knows_equal_things(kind: str, stream: list[Triple]) -> None:
    listed = [("_:d", TYPE, owl(kind)), ("_:d", owl("members"), "_:l0")]
    listed += [("_:l0", f"<{RDF}first>", "<A>"), ("_:l0", f"<{RDF}rest>", "_:l1")]
    listed += [("_:l1", f"<{RDF}first>", "<B>"), ("_:l1", f"<{RDF}rest>", NIL)]
    events = [(0, triple) for triple in (*stream, ("<a>", SAME_AS, "<b>"))]
    test_a_window_is_what_follows_from_its_content.hypothesis.inner_test("rl", listed, [], events)


def equal_things(facts: Collection[Fact]) -> dict[str, set[str]]:
    """Each thing that is said to be equal to another, with all that are equal to it."""
    classes: dict[str, set[str]] = {}
    for one, other in (fact.terms for fact in facts if fact.predicate == SAME_AS):
        members = classes.get(one, {one}) | classes.get(other, {other})
        classes |= dict.fromkeys(members, members)
    return classes


def tells_of_representatives(told: set[Fact], classes: dict[str, set[str]]) -> None:
    """Each member of a class has one link, to the least; nothing else is told of it."""
    links = {Fact(SAME_AS, (each, min(members))) for each, members in classes.items() if each != min(members)}
    assert {fact for fact in told if fact.predicate == SAME_AS} == links
    assert not [fact for fact in told - links if any(min(classes.get(arg, {arg})) != arg for arg in fact.terms)]


def expanded(facts: set[Fact], classes: dict[str, set[str]]) -> Iterator[Fact]:
    """The facts about each of the things that are equal."""
    for fact in facts:
        for args in product(*(classes.get(arg, {arg}) for arg in fact.terms)):
            if fact.predicate != SAME_AS or args[0] != args[1]:
                yield Fact(fact.predicate, args)


@pytest.mark.parametrize("profile", ["rdfs", "pd", "rl"])
@settings(max_examples=min(8, settings().max_examples // 2), deadline=None)
@given(ontology=ontologies(), late=ontologies(), stream=STREAMS)
def test_a_schema_may_come_and_go(
    profile: str, ontology: list[Triple], late: list[Triple], stream: list[tuple[int, Triple]]
) -> None:
    """Rules over triples take the schema as data: what is about individuals follows as if it had always been there."""
    events = [*stream, *((3, triple) for triple in late)]
    engine = Engine(over_triples(ontology, profile, WINDOW), first=0)
    schema = close_schema(table(profile), [*ontology, *late])
    holding: set[Fact] = set()
    for tick in range(8):
        now = [fact_of(*triple) for when, triple in events if when == tick]
        for change in engine.advance(tick, now):
            holding = (holding - set(change.end)) | set(change.begin)
        seen = [triple for when, triple in events if tick - WINDOW <= when <= tick]
        asserted = {fact_of(*triple) for triple in seen}
        expected = {fact for fact in from_scratch(profile, (*ontology, *seen), as_written) if is_news(fact, schema)}
        found = {fact for fact in holding | asserted if is_news(fact, schema) and not is_literal(fact.terms[0])}
        found |= {fact for fact in holding if fact.predicate == "inconsistent"}
        missing, extra = sorted(map(str, expected - found)), sorted(map(str, found - expected))
        assert (missing, extra) == ([], []), f"at {tick}: missing {missing}, too many {extra}"


@settings(max_examples=min(15, settings().max_examples), deadline=None)
@given(ontology=ontologies(), abox=st.lists(data(), max_size=2), stream=STREAMS)
def test_a_window_is_what_ql_answers_about_its_content(
    ontology: list[Triple], abox: list[Triple], stream: list[tuple[int, Triple]]
) -> None:
    """Whether the rules are right is asked elsewhere; here, whether they keep up with a window."""
    static = [*ontology, *abox]
    program, alone = (rewritten("x.ttl", static, structure.read(static), window) for window in (WINDOW, 0))
    engine = Engine(program, first=0)
    for tick in range(9):
        engine.advance(tick, [fact_of(*triple) for when, triple in stream if when == tick])
        anew = Engine(alone, first=0)
        anew.advance(0, [fact_of(*triple) for when, triple in stream if tick - WINDOW <= when <= tick])
        assert set(engine.facts()) == set(anew.facts()), f"at {tick}"


@lru_cache(maxsize=32)
def from_scratch(profile: str, triples: tuple[Triple, ...], rules: Callable[[str], list[Rule]]) -> frozenset[Fact]:
    """All that follows by rules."""
    facts = [*table(profile).facts, *(Fact("triple", triple) for triple in triples)]
    facts += (fact for _, _, thing in triples if is_literal(thing) for fact in describe(thing))
    found, _ = close([(rule, False) for rule in rules(profile)], facts)
    told = {
        fact_of(s, p, o)
        for s, p, o in found.facts[Predicate("triple", 3)]
        if not is_schema((s, p, o)) and not is_literal(s)
    }
    return frozenset(told) | {Fact("inconsistent", row) for row in found.facts[Predicate("inconsistent", 4)]}


def as_written(profile: str) -> list[Rule]:
    """The rules of a table."""
    return [each.rule for each in table(profile).rules]


def as_spelled(profile: str) -> list[Rule]:
    """The rules of a table; a value is not told in another spelling."""
    return [_among_resources(each) for each in table(profile).rules if each.name != "dt-eq"]


def by_value(profile: str) -> list[Rule]:
    """The same, and equal values are one."""
    return [*as_spelled(profile), *(BY_VALUE if profile == "rl" else ())]


def _among_resources(each: Named) -> Rule:
    """That things are the same is followed between resources; literals are the same by their values."""
    if not each.name.startswith("eq-"):
        return each.rule
    pairs = (part.atom.args for part in each.rule.body if isinstance(part, Now) and Constant(SAME_AS) in part.atom.args)
    tests = (Comparison("is", arg, Constant("resource")) for one, _, other in pairs for arg in (one, other))
    return replace(each.rule, body=(*each.rule.body, *tests))


BY_VALUE = read(
    Source(
        "by-value.lars",
        "triple(M,P,O) :- literal(L,V,T), literal(M,V,T), triple(L,P,O). "
        "triple(S,P,M) :- literal(L,V,T), literal(M,V,T), triple(S,P,L).",
    )
).rules


def is_news(fact: Fact, schema) -> bool:
    """Whether a specialised program tells of it: not what is true of everything, nor of what has no name."""
    if not is_output(fact.predicate, schema) or fact.predicate == TYPE:
        return False
    if fact.predicate == "inconsistent":
        return True
    names = (*schema.properties, *schema.classes, SAME_AS, owl("differentFrom"))
    trivial = fact.predicate == SAME_AS and fact.terms[0] == fact.terms[1]
    about = not any(term.startswith(f"<{space}") for space in (OWL, RDF, RDFS, XSD) for term in fact.terms)
    return fact.predicate in names and not trivial and about


@pytest.mark.slow
@settings(max_examples=500, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(ontology=ontologies(), abox=st.lists(data(), max_size=2), stream=STREAMS)
def test_many_windows_are_what_ql_answers_about_their_content(
    ontology: list[Triple], abox: list[Triple], stream: list[tuple[int, Triple]]
) -> None:
    test_a_window_is_what_ql_answers_about_its_content.hypothesis.inner_test(ontology, abox, stream)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["rdfs", "pd", "rl"])
@settings(max_examples=500, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(ontology=ontologies(), abox=st.lists(data(), max_size=2), stream=STREAMS)
def test_many_windows_are_what_follows_from_their_content(
    profile: str, ontology: list[Triple], abox: list[Triple], stream: list[tuple[int, Triple]]
) -> None:
    test_a_window_is_what_follows_from_its_content.hypothesis.inner_test(profile, ontology, abox, stream)
