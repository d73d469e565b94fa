"""Why an event makes an individual a member of a class: as few axioms and facts as entail it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from thalweg.kinds.classes.contradiction import minimal
from thalweg.kinds.classes.ladder import EventFacts, Ladder
from thalweg.kinds.classes.signatures import Signatures
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
            *(f"{one}   (event)" for one in self.event),
            *(f"{one}   (background)" for one in self.background),
            *(f"{one}   (axiom)" for one in self.axioms),
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
    place = next(number for number, one in enumerate(program.asked) if one.label == label)
    given = [(thing, (one,)) if name == RDF_TYPE else (name, (one, thing)) for one, name, thing in triples]
    event = Signatures(program).event([individual], given)
    decision = ladder.decide(event)
    if decision.classes is None or place not in decision.classes[0]:
        return None
    names = [one.name for one in program.asked]

    def entails(axioms: Sequence[Axiom], known: Sequence[Axiom], own: Sequence[Axiom]) -> bool:
        whole = len(axioms) == len(program.axioms)
        form = program.form if whole else clausify(axioms, Ranges(program.ranges.definitions), names)
        smaller = Ladder(replace(program, axioms=tuple(axioms), form=form, background=Facts.of(known)), ladder.reasoner)
        found = smaller.decide(EventFacts(event.subjects, Facts.of(own), event.equal, event.different))
        return found.classes is not None and place in found.classes[0]

    axioms, own = list(program.axioms), event.facts.axioms()
    near: list[Axiom] = []
    for near in _rings(program.background, event):
        if entails(axioms, near, own):
            break
    known = minimal(near, lambda some: entails(axioms, some, own))
    own = minimal(own, lambda some: entails(axioms, known, some))
    axioms = minimal(axioms, lambda some: entails(some, known, own))
    asked = program.asked[place]

    def shown(some: Sequence[Axiom]) -> tuple[str, ...]:
        # An expression that is asked for has a name of our own among the axioms.
        name = asked.label if asked.name.startswith(OWN) else asked.name
        return tuple(show(one).replace(asked.name, name) for one in some)

    return ClassProof(decision.by, shown(own), shown(known), shown(axioms))


def _rings(background: Facts, event: EventFacts) -> Iterable[list[Axiom]]:
    """The facts of the background around an event, further and further away."""
    facts = event.facts
    seen = {one for _, one in facts.classes} | {one for _, *pair in facts.edges for one in pair} | set(event.subjects)
    found: list[Axiom] = []
    while True:
        near = Facts(
            tuple(one for one in background.classes if one[1] in seen),
            tuple(one for one in background.edges if one[1] in seen or one[2] in seen),
            tuple(one for one in background.literals if one[1] in seen),
        )
        reached = seen | {one for _, *pair in near.edges for one in pair}
        found = near.axioms()
        yield found
        if reached == seen:
            yield background.axioms()
            return
        seen = reached
