"""What a run outputs: all that it derives, or what `#show` and `--show` name.

Only the outputs of the plan change: rules go on reading what is not shown, and what is not shown is never spelled.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Comparison, Constant, Expression, Literal, Not, Program, Rule, Variable
from thalweg.ir.rewrite import substitute
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.similar import nearest
from thalweg.model.triples import TRIPLES


@dataclass(frozen=True, slots=True)
class Shown:
    """The predicates that are to be output, and whether an option names them or the programs do."""

    predicates: frozenset[Predicate]
    by_option: bool = False

    def unknown(self, derived: Iterable[Predicate]) -> Iterator[Diagnostic]:
        """W205: what is named although nothing derives it.

        >>> shown = Shown(frozenset({Predicate("jamm", 1)}), by_option=True)
        >>> [(one.message, one.help) for one in shown.unknown([Predicate("jam", 1)])]
        [('`--show jamm/1` has no effect: no rule derives it', 'there is `jam/1`')]
        """
        predicates = frozenset(derived)
        for name in sorted(self.predicates - predicates):
            written = f"--show {name}" if self.by_option else f"#show {name}."
            local = next(
                (
                    predicate
                    for predicate in sorted(predicates)
                    if predicate.file is not None and predicate.public == name
                ),
                None,
            )
            similar = nearest(
                name, (predicate for predicate in predicates if predicate[0] != "'" and predicate.file is None)
            )
            help_ = f"there is `{similar}`" if similar else "write a rule for it, or leave it out"
            if local is not None:
                help_ = f"it is local to {local.file}: leave `#local {name}.` out there"
            yield Diagnostic("W205", f"`{written}` has no effect: no rule derives it", help=help_)


def choose_outputs(program: Program, shown: Shown | None) -> Program:
    """The program that outputs what is shown of all that it derives.

    >>> from thalweg.ir.nodes import Atom, Now
    >>> jam, slow = Rule(Atom("jam"), (Now(Atom("slow")),)), Rule(Atom("slow"), (Now(Atom("stop")),))
    >>> sorted(choose_outputs(Program((jam, slow)), Shown(frozenset({Predicate("jam", 0)}))).outputs)
    ['jam/0']
    """
    if shown is None:
        return program
    if TRIPLES in program.outputs:
        program = replace(program, rules=(*program.rules, *_of_triples(program, shown)))
    outputs = shown.predicates & outputs_of(program)
    return replace(program, interface=replace(program.interface, outputs=outputs))


def outputs_of(program: Program) -> frozenset[Predicate]:
    """The predicates that can be shown."""
    return program.derived | ({program.equality.representative} if program.equality is not None else set())


def _of_triples(program: Program, shown: Shown) -> Iterator[Rule]:
    """Rules for the predicates that are shown, where the rules of an ontology derive triples of any predicate."""
    for name in sorted(shown.predicates - program.derived):
        for rule in program.rules if name.arity in (1, 2) else ():
            restricted = _about(rule, name) if rule.head.signature == TRIPLES else None
            if restricted is not None:
                yield restricted


def _about(rule: Rule, name: Predicate) -> Rule | None:
    """The part of a rule over triples that derives facts of one predicate; None where it derives none."""
    subject, predicate, target = rule.head.args
    wanted = [(predicate, name.name)] if name.arity == 2 else [(predicate, RDF_TYPE), (target, name.name)]
    terms: dict[str, str] = {}
    for arg, term in wanted:
        if isinstance(arg, Variable) and terms.setdefault(arg.name, term) == term:
            continue
        if not isinstance(arg, Constant) or arg.term != term:
            return None
    args = tuple(_term(arg, terms) for arg in ((subject, target) if name.arity == 2 else (subject,)))
    body = tuple(_literal(literal, terms) for literal in rule.body)
    return replace(rule, head=replace(rule.head, predicate=name.name, args=args), body=body)


def _literal(literal: Literal, terms: dict[str, str]) -> Literal:
    match literal:
        case Not(formula):
            return replace(literal, formula=substitute(formula, terms))
        case Comparison(_, left, right):
            return replace(literal, left=_term(left, terms), right=_term(right, terms))
    # The rules of ontologies have no aggregates.
    return substitute(literal, terms)  # type: ignore[type-var]


def _term(arg: Expression, terms: dict[str, str]) -> Expression:
    return Constant(terms[arg.name], arg.span) if isinstance(arg, Variable) and arg.name in terms else arg
