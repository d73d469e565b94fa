"""An ontology as a program: the rules of a profile for its schema, its data as background.

Two ways lead from the same tables to a program. Rules *specialised* to the schema are fast, and what follows about the
schema itself is not output. Rules *over triples* take everything as data, the schema included: it may come on a stream,
and what follows about it is output. In those a triple is the fact `'triple(S,P,O)`, a predicate that users cannot type.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from thalweg.diagnostics import Source
from thalweg.ir.annotate_terms import EDGE, EDGES, SUPPLIED, about
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import (
    Atom,
    Comparison,
    Constant,
    Equality,
    Hints,
    Interface,
    InWindow,
    Literal,
    Now,
    Program,
    Rule,
    TermAnnotations,
    TimeWindow,
    Variable,
)
from thalweg.ir.text import show
from thalweg.languages.owl import ql
from thalweg.languages.owl.axiom_rules import line_spans
from thalweg.languages.owl.axioms import Ontology
from thalweg.languages.owl.knowledge import atoms_of
from thalweg.languages.owl.literal_subjects import Specialised
from thalweg.languages.owl.rule_tables import Named, table
from thalweg.languages.owl.specialise import ALIKE, EQUAL, KNOWN, close_schema, is_output, specialise
from thalweg.model.fact import Fact
from thalweg.model.literals import DATATYPES
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE, fact_of
from thalweg.model.triples import ANY_TRIPLE, TRIPLES
from thalweg.model.vocabulary import (
    FILLERS,
    ON_PROPERTY,
    OWL,
    RESTRICTION,
    SAME_AS,
    SOME_VALUES_FROM,
    Triple,
    is_schema,
)

_KEPT: Final = ("inconsistent",)


@dataclass(frozen=True, slots=True)
class ProfileAdditions:
    """What is added to a profile: `literals`, blank nodes that stand for them (pD*); `witnesses`, for values that are
    promised (pD*sv).
    """

    literals: bool = False
    witnesses: bool = False


def specialised(
    name: str,
    triples: Sequence[Triple],
    profile: str,
    window: int = 0,
    options: ProfileAdditions = ProfileAdditions(),
    representatives: bool | None = None,
    owl_facts: bool = True,
) -> Program:
    """The program of an ontology; a fact of the stream counts for `window` ticks after its own.

    Equal things have `representatives` in `rl`, unless all facts about each of them are asked for. Without `owl_facts`
    no stream brings any in the vocabulary of OWL, and rules that would need them are left out.

    >>> subclass = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    >>> from thalweg.ir.text import show
    >>> print(show(specialised("x.ttl", [("<A>", subclass, "<B>"), ("<a>", RDF_TYPE, "<A>")], "rdfs", 5)))
    #show <B>/1.
    <B>(X) :- <A>(X) in [5].
    <A>(<a>).
    """
    rules = table(profile, options.literals, options.witnesses)
    if profile == "rl":
        # Its rules find such restrictions to be the same, pair by pair.
        triples = _once(triples)
    schema = close_schema(rules, triples)
    if representatives is None:
        representatives = profile == "rl"
    data = [triple for triple in triples if not is_schema(triple)]
    entries = specialise(rules, schema, representatives)
    if not owl_facts:
        entries = _without_owl_facts(entries, frozenset(as_fact(triple).signature for triple in data))
        representatives = representatives and any(entry.rule.head.predicate in (EQUAL, ALIKE) for entry in entries)
    placed = tuple(_placed(f"{name}#{profile}", entries, window))
    equality = None
    if representatives:
        alike = Predicate(ALIKE, 3) if any(rule.head.predicate == ALIKE for rule in placed) else None
        equality = Equality(Predicate(EQUAL, 2), alike, Predicate(SAME_AS, 2), _names_of_axioms(placed))
    outputs = {rule.head.signature for rule in placed if is_output(rule.head.predicate, schema)}
    outputs |= {equality.representative} if equality else set()
    annotations = _annotations(triples, options)
    background = (*map(as_fact, data), *_about_data(data, annotations, placed), *_names_in(placed))
    streamed = frozenset(name for name in outputs if name[0] == "<") - {Predicate(SAME_AS, 2)}
    streamed |= {EDGES} if owl_facts else frozenset()
    return Program(
        placed,
        tuple(dict.fromkeys(background)),
        Interface(inputs=streamed, outputs=frozenset(outputs)),
        annotations,
        equality,
        Hints(static_schema=True),
    )


def is_about_owl(signature: Predicate) -> bool:
    """Whether facts of a predicate are in the vocabulary of OWL.

    >>> is_about_owl(Predicate(SAME_AS, 2)), is_about_owl(EDGES), is_about_owl(Predicate("<http://example.org/p>", 2))
    (True, True, False)
    """
    return signature == EDGES or signature.name.startswith(f"<{OWL}")


def _without_owl_facts(entries: Sequence[Specialised], stated: Collection[Predicate]) -> list[Specialised]:
    """The rules that can apply where facts in the vocabulary of OWL are only those that are `stated`, or derived."""
    while True:
        there = {entry.rule.head.signature for entry in entries} | set(stated)
        if not there.isdisjoint((Predicate(EQUAL, 2), Predicate(ALIKE, 3))):
            # The engine finds the representatives of what is equal.
            there.add(Predicate(SAME_AS, 2))
        kept = [
            entry
            for entry in entries
            if all(atom.signature in there or not is_about_owl(atom.signature) for atom in atoms_of(entry.rule))
        ]
        if len(kept) == len(entries):
            return kept
        entries = kept


def _names_of_axioms(rules: Iterable[Rule]) -> frozenset[str]:
    """What contradictions name besides individuals: classes, properties, axioms."""
    heads = (rule.head for rule in rules if rule.head.predicate in _KEPT)
    return frozenset(arg.term for head in heads for arg in head.args if isinstance(arg, Constant))


def _names_in(rules: Iterable[Rule]) -> Iterator[Fact]:
    """The individuals that rules name; at first they are known as themselves."""
    atoms = (part.atom for rule in rules for part in rule.body if isinstance(part, Now | InWindow))
    for atom in atoms:
        if atom.predicate == KNOWN and isinstance(atom.args[0], Constant):
            yield Fact(KNOWN, (atom.args[0].term,) * 2)


def over_triples(
    triples: Sequence[Triple], profile: str, window: int = 0, options: ProfileAdditions = ProfileAdditions()
) -> Program:
    """The program of an ontology as rules over triples, which take the schema as data."""
    rule_table = table(profile, options.literals, options.witnesses)
    rules = tuple(windowed(_hidden(named), window) for named in rule_table.rules)
    annotations = _annotations(triples, options)
    facts = [_hidden_fact(fact) for fact in rule_table.facts]
    facts += (Fact(ANY_TRIPLE, triple) for triple in triples)
    facts += _about_data(triples, annotations, rules)
    outputs = {rule.head.signature for rule in rules if rule.head.predicate in (ANY_TRIPLE, *_KEPT)}
    interface = Interface(inputs=frozenset({TRIPLES}), outputs=frozenset(outputs))
    return Program(rules, tuple(dict.fromkeys(facts)), interface, annotations)


def bridged(program: Program, programs: Iterable[Program]) -> Program:
    """A program over triples for use beside others, which know facts by their predicates: what is concluded here is
    handed to their rules, and what their rules conclude is taken.

    What streams bring reaches both.
    """
    rules = [rule for other in programs for rule in other.rules]
    # An ontology is about IRIs only.
    derived = {
        rule.head.signature for rule in rules if rule.head.predicate[0] == "<" and _is_triple(rule.head.signature)
    }
    signatures = (formula.atom.signature for rule in rules for formula, _ in formulas(rule.body))
    read = {signature for signature in signatures if _is_triple(signature) and signature.file is None}
    bridges = [Rule(_named(name), (Now(_as_triple(name)),)) for name in sorted(read)]
    bridges += (Rule(_as_triple(name), (Now(_named(name)),)) for name in sorted(derived))
    interface = replace(program.interface, inputs=program.interface.inputs | read)
    return replace(program, rules=(*program.rules, *bridges), interface=interface)


def _is_triple(signature: Predicate) -> bool:
    return signature.arity in (1, 2)


def _named(signature: Predicate) -> Atom:
    return Atom(signature.name, (Variable("X"), Variable("Y"))[: signature.arity])


def _as_triple(signature: Predicate) -> Atom:
    x, y, name = Variable("X"), Variable("Y"), Constant(signature.name)
    return Atom(ANY_TRIPLE, (x, name, y) if signature.arity == 2 else (x, Constant(RDF_TYPE), name))


def rewritten(name: str, triples: Sequence[Triple], ontology: Ontology, window: int = 0) -> Program:
    """The program of an ontology in OWL 2 QL, made from its axioms."""
    rewriting = ql.rewrite(ontology.axioms, name, ontology.declarations)
    rules = tuple(windowed(rule, window) for rule in rewriting.rules)
    data = tuple(fact_of(*triple) for triple in triples if not is_schema(triple))
    outputs = frozenset(rule.head.signature for rule in rules if not ql.is_auxiliary(rule.head.predicate))
    interface = Interface(inputs=frozenset(name for name in outputs if name[0] == "<"), outputs=outputs)
    background = tuple(dict.fromkeys((*data, *rewriting.facts)))
    return Program(rules, background, interface, hints=Hints(static_schema=True))


def _once(triples: Sequence[Triple]) -> list[Triple]:
    """The same ontology, in which restrictions that are described alike are one.

    >>> from thalweg.model.vocabulary import OWL
    >>> description = (("onProperty", "<p>"), ("someValuesFrom", "<C>"))
    >>> same = [(node, f"<{OWL}{word}>", name) for node in ("_:a", "_:b") for word, name in description]
    >>> _once([*same, ("<x>", RDF_TYPE, "_:b")])[-1][2]
    '_:a'
    """
    distinct = list(dict.fromkeys(triples))
    about: dict[str, set[tuple[str, str]]] = {}
    for node, predicate, object_ in distinct:
        if node[0] == "_":
            about.setdefault(node, set()).add((predicate, object_))
    first: dict[frozenset[tuple[str, str]], str] = {}
    same: dict[str, str] = {}
    for node, description in about.items():
        words = sorted(predicate for predicate, _ in description - {(RDF_TYPE, RESTRICTION)})
        if len(words) == 2 and ON_PROPERTY in words and not FILLERS.isdisjoint(words):
            same[node] = first.setdefault(frozenset(description), node)
    return list(dict.fromkeys((same.get(s, s), p, same.get(o, o)) for s, p, o in distinct))


def _annotations(triples: Iterable[Triple], options: ProfileAdditions) -> TermAnnotations:
    """What is looked up about terms: of the datatypes only those that the ontology names."""
    terms = {term for triple in triples for term in triple}
    promises = {subject for subject, predicate, _ in triples if predicate == SOME_VALUES_FROM}
    return TermAnnotations(
        tuple(sorted(terms & DATATYPES.keys())), options.literals, tuple(sorted(promises)) if options.witnesses else ()
    )


def _about_data(data: Iterable[Triple], annotations: TermAnnotations, rules: Iterable[Rule]) -> Iterator[Fact]:
    parts = (part for rule in rules for part in rule.body)
    signatures = {part.atom.signature for part in parts if isinstance(part, Now | InWindow)}
    if not signatures.isdisjoint(SUPPLIED):
        terms = (term for subject, _, object_ in data for term in (subject, object_))
        yield from (fact for fact in about(terms, annotations) if fact.signature in signatures)


def as_fact(triple: Triple) -> Fact:
    """The fact that a triple stands for; a class without a name is a predicate here, and equality is an edge.

    >>> str(as_fact(("<a>", "<p>", "3"))), str(as_fact(("<a>", RDF_TYPE, "_:c")))
    ('<p>(<a>,3)', '_:c(<a>)')
    """
    subject, predicate, object_ = triple
    if predicate == SAME_AS:
        return Fact(EDGE, (subject, object_))
    return Fact(object_, (subject,)) if predicate == RDF_TYPE and object_[0] == "_" else fact_of(*triple)


def _placed(name: str, entries: list[Specialised], window: int) -> Iterator[Rule]:
    """The rules with their places in a text that says what they are and, behind it, where each comes from."""
    rules = [windowed(entry.rule, window) for entry in entries]
    lines = [
        f"{show(rule)}   % {entry.name}{': ' if entry.axioms else ''}{', '.join(entry.axioms)}"
        for rule, entry in zip(rules, entries, strict=True)
    ]
    spans = line_spans(Source(name, "\n".join(lines)))
    return (replace(rule, span=span) for rule, span in zip(rules, spans, strict=False))


def windowed(rule: Rule, window: int) -> Rule:
    """A rule whose premises count for a while; 0 is as long as they hold."""
    return replace(rule, body=tuple(_seen(literal, window) for literal in rule.body)) if window else rule


def _seen(literal: Literal, window: int) -> Literal:
    return InWindow(literal.atom, TimeWindow(window)) if isinstance(literal, Now) else literal


def _hidden(named: Named) -> Rule:
    """A rule of a table under names that users cannot type; its place is its name."""
    head, *body = (_hidden_literal(literal) for literal in (Now(named.rule.head), *named.rule.body))
    assert isinstance(head, Now)
    return Rule(head.atom, tuple(body), span=named.rule.span)


def _hidden_literal(literal: Literal) -> Literal:
    if isinstance(literal, Comparison):
        return literal
    assert isinstance(literal, Now)
    atom = literal.atom
    return literal if atom.predicate in _KEPT else Now(Atom(f"'{atom.predicate}", atom.args))


def _hidden_fact(fact: Fact) -> Fact:
    return Fact(f"'{fact.predicate}", fact.terms)
