"""Why an event makes an individual a member of a class: as few axioms and facts as entail it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from thalweg.kinds.classes.classifier import Signatures
from thalweg.kinds.classes.contradiction import minimal
from thalweg.kinds.classes.ladder import EventFacts, Ladder
from thalweg.languages.owl.axioms import Axiom, show
from thalweg.languages.owl.dl.abstraction_program import Facts
from thalweg.languages.owl.dl.clausify import clausify
from thalweg.languages.owl.dl.data_ranges import Ranges
from thalweg.model.rdf import OWN, RDF_TYPE
from thalweg.model.vocabulary import Triple


@dataclass(frozen=True, slots=True)
class ClassProof:
    """What decided a membership, and the facts of the event, those of the background and the axioms that entail it."""

    decided_by: str
    event: tuple[str, ...]
    background: tuple[str, ...]
    axioms: tuple[str, ...]

    def lines(self) -> list[str]:
        """One for each fact and axiom, with where it comes from."""
        return [
            *(f"{text}   (event)" for text in self.event),
            *(f"{text}   (background)" for text in self.background),
            *(f"{text}   (axiom)" for text in self.axioms),
        ]

    def as_data(self) -> dict[str, object]:
        return {
            "decided_by": self.decided_by,
            "event": list(self.event),
            "background": list(self.background),
            "axioms": list(self.axioms),
        }


def why_class(ladder: Ladder, triples: Iterable[Triple], individual: str, label: str) -> ClassProof | None:
    """Why the triples of an event make an individual a member of a class; None where they do not."""
    program = ladder.program
    place = next(number for number, wanted in enumerate(program.asked) if wanted.label == label)
    facts = [
        (target, (subject,)) if name == RDF_TYPE else (name, (subject, target)) for subject, name, target in triples
    ]
    event = Signatures(program).event([individual], facts)
    decision = ladder.decide(event)
    if decision.classes is None or place not in decision.classes[0]:
        return None
    names = [wanted.name for wanted in program.asked]

    def entails(axioms: Sequence[Axiom], background: Sequence[Axiom], own: Sequence[Axiom]) -> bool:
        is_whole = len(axioms) == len(program.axioms)
        form = program.form if is_whole else clausify(axioms, Ranges(program.ranges.definitions), names)
        smaller = Ladder(
            replace(program, axioms=tuple(axioms), form=form, background=Facts.of(background)), ladder.reasoner
        )
        verdict = smaller.decide(EventFacts(event.subjects, Facts.of(own), event.equal, event.different))
        return verdict.classes is not None and place in verdict.classes[0]

    axioms, own = list(program.axioms), event.facts.axioms()
    near: list[Axiom] = []
    for near in _rings(program.background, event):
        if entails(axioms, near, own):
            break
    background = minimal(near, lambda chosen: entails(axioms, chosen, own))
    own = minimal(own, lambda chosen: entails(axioms, background, chosen))
    axioms = minimal(axioms, lambda chosen: entails(chosen, background, own))
    goal = program.asked[place]

    def shown(chosen: Sequence[Axiom]) -> tuple[str, ...]:
        # An expression that is asked for has a name of our own among the axioms.
        name = goal.label if goal.name.startswith(OWN) else goal.name
        return tuple(show(axiom).replace(goal.name, name) for axiom in chosen)

    return ClassProof(decision.by, shown(own), shown(background), shown(axioms))


def _rings(background: Facts, event: EventFacts) -> Iterable[list[Axiom]]:
    """The facts of the background around an event, further and further away."""
    facts = event.facts
    seen = (
        {individual for _, individual in facts.classes}
        | {individual for _, *pair in facts.edges for individual in pair}
        | set(event.subjects)
    )
    axioms: list[Axiom] = []
    while True:
        near = Facts(
            tuple(fact for fact in background.classes if fact[1] in seen),
            tuple(fact for fact in background.edges if fact[1] in seen or fact[2] in seen),
            tuple(fact for fact in background.literals if fact[1] in seen),
        )
        reached = seen | {individual for _, *pair in near.edges for individual in pair}
        axioms = near.axioms()
        yield axioms
        if reached == seen:
            yield background.axioms()
            return
        seen = reached
