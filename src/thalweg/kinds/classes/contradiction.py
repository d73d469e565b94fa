"""A background that contradicts its ontology is rejected, with as few axioms and facts as contradict each other."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.classes.ladder import UNDECIDED, EventFacts, Ladder, fill, way_out
from thalweg.languages.owl.axioms import Axiom, show
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Facts
from thalweg.languages.owl.dl.clausify import clausify
from thalweg.languages.owl.dl.data_ranges import Ranges
from thalweg.languages.owl.expressions import THING
from thalweg.solvers.dl import hermit
from thalweg.solvers.dl.least_model import Model, RuleIndex

T = TypeVar("T")

_WAY_OUT: Final = "correct one of these axioms or facts: from a contradiction everything would follow"


def check_background(ladder: Ladder) -> list[Diagnostic]:
    """What could not be decided about the background; `RejectedError` where it contradicts the ontology."""
    program = ladder.program
    consistent, about = is_consistent(ladder)
    if consistent is None:
        message = f"{program.name}: whether the background contradicts the ontology is undecided: {about}"
        return [Diagnostic("W703", message, help=way_out(about))]
    if not consistent:
        by_rules = not _model_of(program).close()
        asks = ladder.reasoner != "none" and hermit.is_installed()
        contradicts = _rules_contradict if by_rules else _reasoner_contradicts if asks else None
        facts = ladder.facts_about(about) if about else program.background
        raise RejectedError([_contradiction(program, facts, contradicts)])
    return []


def is_consistent(ladder: Ladder) -> tuple[bool | None, str]:
    """Whether ontology and background have a model; None where that is undecided, with the reason.

    Where they have none, the individual is given that is in the part of the background to blame, if it is known.
    """
    if not ladder.consistent:
        return False, ""
    for individual in ladder.doubtful():
        # Without a subject nothing is asked but whether there is a model.
        decision = ladder.decide(EventFacts((), Facts(classes=((THING, individual),))))
        if decision.classes is None:
            return False, individual
        if decision.by == UNDECIDED:
            return None, decision.reason
    return True, ""


Contradicts = Callable[[AbstractionProgram, Sequence[Axiom], Sequence[Axiom]], bool]


def _contradiction(program: AbstractionProgram, facts: Facts, contradicts: Contradicts | None) -> Diagnostic:
    """The diagnostic about a contradiction, with its reason where something can look for it."""
    if contradicts is None:
        message = f"{program.name}: the background contradicts the ontology"
        return Diagnostic("E701", message, help=f"{_WAY_OUT}; with HermiT a minimal reason would be shown")
    few = minimal(facts.axioms(), lambda chosen: contradicts(program, program.axioms, chosen))
    axioms = minimal(program.axioms, lambda chosen: contradicts(program, chosen, few))
    notes = tuple(f"because of `{show(axiom)}`" for axiom in (*axioms, *few))
    what = "the background contradicts the ontology" if few else "the ontology contradicts itself"
    return Diagnostic("E701", f"{program.name}: {what}", notes=notes, help=_WAY_OUT)


def minimal(items: Sequence[T], suffices: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of some items that suffices, of which nothing can be left out; all of them suffice.

    >>> minimal(range(100), lambda chosen: {7, 70} <= set(chosen))
    [7, 70]
    """

    def needed(base: list[T], added: bool, candidates: list[T]) -> list[T]:
        if added and suffices(base):
            return []
        if len(candidates) <= 1:
            return candidates
        first, second = candidates[: len(candidates) // 2], candidates[len(candidates) // 2 :]
        of_second = needed([*base, *first], True, second)
        of_first = needed([*base, *of_second], bool(of_second), first)
        return [*of_first, *of_second]

    return [] if suffices([]) else needed([], False, list(items))


def _rules_contradict(program: AbstractionProgram, axioms: Sequence[Axiom], facts: Sequence[Axiom]) -> bool:
    return not _model_of(program, axioms, facts).close()


def _model_of(
    program: AbstractionProgram, axioms: Sequence[Axiom] | None = None, facts: Sequence[Axiom] | None = None
) -> Model:
    """The least model of some axioms and facts, before it is closed, with an individual that nothing is said of."""
    if axioms is not None and facts is not None:
        form = (
            clausify(axioms, Ranges(program.ranges.definitions)) if len(axioms) < len(program.axioms) else program.form
        )
        program = replace(program, axioms=tuple(axioms), form=form, background=Facts.of(facts))
    model = Model(RuleIndex(program.form))
    fill(model, program)
    model.add_individual("_:any")
    return model


def _reasoner_contradicts(program: AbstractionProgram, axioms: Sequence[Axiom], facts: Sequence[Axiom]) -> bool:
    try:
        return not hermit.is_consistent(map(show, (*axioms, *facts)))
    except hermit.UndecidedError:
        return False
