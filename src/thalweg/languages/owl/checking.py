"""An ontology as a program that finds what contradicts it.

Rules come from `consistency_rules`, laid out as the caller decides, who knows about costs. Here they get the window
in which facts of the stream count, the ontology's own data, and the rules that say whether some facts suffice for a
clash.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Hints, Interface, InWindow, Literal, Now, Program, Rule, TimeWindow
from thalweg.languages.compile_options import OntologyOptions
from thalweg.languages.owl import structure
from thalweg.languages.owl.axiom_rules import INCONSISTENT
from thalweg.languages.owl.axioms import Ontology
from thalweg.languages.owl.axioms import show as axiom_text
from thalweg.languages.owl.consistency_rules import ConsistencyRules, by_bolts
from thalweg.languages.owl.disjointness import by_sides
from thalweg.languages.owl.expressions import THING
from thalweg.languages.owl.left_out import left_out, unread_imports
from thalweg.languages.owl.negative import Negative, close
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import fact_of
from thalweg.model.vocabulary import Triple, is_schema, short
from thalweg.planning.choose_topology import USUAL, Choice, Costs, lay_out, moved
from thalweg.planning.topology import Bolt, Taxonomy

LayOut = Callable[[Taxonomy], Sequence[Bolt] | None]
"""The bolts of a taxonomy; None where classes differ by the sides that they are on, and by nothing else."""

_CORRECT = "correct one of these axioms, or leave them: each fact that breaks one will be reported as a clash"
OUTPUTS = frozenset({Predicate(INCONSISTENT, 3)})


@dataclass(frozen=True, slots=True)
class Checked:
    """The program, what it was made from, and what deserves a warning; and by which costs its topology was chosen."""

    program: Program
    closed: Negative
    warnings: tuple[Diagnostic, ...]
    chosen: Choice | None = None
    costs: Costs = USUAL


def compile(
    name: str, triples: Sequence[Triple], settings: OntologyOptions, programs: Sequence[Program] = ()
) -> tuple[Checked, list[Diagnostic]]:
    """The checks of an ontology by the topology that is asked for, and every diagnostic."""
    chosen: list[Choice] = []
    costs = moved() if settings.spread else USUAL

    def bolts(taxonomy: Taxonomy) -> Sequence[Bolt] | None:
        how = (settings.topology or "auto", settings.bolts, settings.frequencies, costs)
        chosen.append(lay_out(taxonomy, *how))
        return chosen[-1].topology

    diagnostics: list[Diagnostic] = []
    if any(program.rules for program in programs):
        diagnostics.append(Diagnostic("E403", "`--as consistency` checks ontologies only: leave the rules out"))
    checks = checked(name, triples, int(settings.window), bolts)
    diagnostics += (*checks.warnings, *_fewer_bolts(settings, chosen[-1]))
    return replace(checks, chosen=chosen[-1], costs=costs), diagnostics


def _fewer_bolts(settings: OntologyOptions, chosen: Choice) -> Iterator[Diagnostic]:
    count = len(chosen.topology or ())
    if settings.topology == "ltm" and settings.bolts is not None and count < settings.bolts:
        message = (
            f"`--bolts {settings.bolts}`: the disjoint classes form only {count} groups, so {count} bolts are used"
        )
        yield Diagnostic("W413", message, help=f"use `--bolts {count}`, or leave it out for the cheapest number")


def checked(name: str, triples: Sequence[Triple], window: int, lay_out: LayOut) -> Checked:
    """The checks of an ontology; a fact of the stream counts for `window` ticks after its own.

    >>> from thalweg.ir.text import show
    >>> from thalweg.model.vocabulary import OWL
    >>> disjoint = ("<A>", f"<{OWL}disjointWith>", "<B>")
    >>> print(show(checked("x.ttl", [disjoint], 5, lambda taxonomy: [Bolt(taxonomy.disjoint)]).program.rules[-1]))
    inconsistent("DisjointClasses(<A> <B>)",X,X) :- <A>(X) in [5], <B>(X) in [5].
    """
    ontology = structure.read(triples)
    closed = close(ontology.axioms, ontology.declarations)
    bolts = lay_out(closed.taxonomy())
    plain = by_sides(closed, f"{name}#axioms")
    checks = plain if bolts is None else by_bolts(closed, bolts, f"{name}#axioms")
    data = (fact_of(*triple) for triple in triples if not is_schema(triple))
    program = Program(
        tuple(_windowed(rule, window) for rule in checks.rules),
        tuple(dict.fromkeys((*data, *closed.facts, *checks.background))),
        Interface(outputs=OUTPUTS),
        hints=replace(
            _hints(checks), static_schema=True, earliest_stages=checks.pinned, justification=_justification(plain)
        ),
    )
    return Checked(program, closed, (*_outside(name, ontology, closed, triples), *_empty(name, closed)))


def _justification(checks: ConsistencyRules) -> Program:
    return Program(checks.rules, checks.background, Interface(outputs=OUTPUTS), hints=_hints(checks))


def _hints(checks: ConsistencyRules) -> Hints:
    return Hints(static=frozenset(fact.signature for fact in checks.background), input_copies=checks.gathered)


def _windowed(rule: Rule, window: int) -> Rule:
    return replace(rule, body=tuple(_seen(literal, window) for literal in rule.body)) if window else rule


def _seen(literal: Literal, window: int) -> Literal:
    """A literal with a window around it where streams bring its facts; any other literal unchanged."""
    is_streamed = isinstance(literal, Now) and literal.atom.predicate[0] == "<"
    return InWindow(literal.atom, TimeWindow(window)) if is_streamed else literal  # type: ignore[union-attr]


def _outside(name: str, ontology: Ontology, closed: Negative, triples: Sequence[Triple]) -> Iterator[Diagnostic]:
    """Yields a warning for each reason why axioms, imports or triples are not checked, with their names."""
    by_reason: dict[str, list[str]] = {}
    for axiom, reason in closed.skipped:
        by_reason.setdefault(reason, []).append(axiom_text(axiom))
    for reason, axioms in by_reason.items():
        yield left_out(name, reason, axioms, "no action needed: everything that DL-Lite supports is checked")
    for imported in unread_imports(ontology, triples, name):
        yield left_out(name, "it is imported but not read", [imported], "name its file as well")
    if ontology.leftovers:
        leftovers = [" ".join(map(short, triple)) for triple in ontology.leftovers]
        yield left_out(
            name, "it is not part of an axiom", leftovers, "complete the axiom, or leave it: the rest is checked"
        )


def _empty(name: str, closed: Negative) -> Iterator[Diagnostic]:
    """Yields a warning for each class and property that must be empty: every fact about it contradicts the ontology."""
    properties = {role.name for role in closed.roles}
    unsatisfiable = closed.unsatisfiable()
    # Where there cannot be anything, every class is empty for that reason alone.
    for empty, axioms in ({THING: unsatisfiable[THING]} if THING in unsatisfiable else unsatisfiable).items():
        notes = tuple(f"because of `{axiom}`" for axiom in axioms)
        if empty == THING:
            message = f"`{short(THING)}` is empty: every fact contradicts the ontology"
            notes += ("a fact whose class or property the ontology does not name is not reported",)
        elif empty in properties:
            message = f"`{empty}` is unsatisfiable: it cannot relate anything"
        else:
            message = f"`{empty}` is unsatisfiable: it cannot contain anything"
        yield Diagnostic("W411", f"{name}: {message}", notes=notes, help=_CORRECT)
