"""How events are classified: the axioms that can matter, what rules say of them, and what only guards can say."""

from dataclasses import dataclass

from thalweg.diagnostics import Diagnostic
from thalweg.explain.drawing import Drawing
from thalweg.explain.plan_text import count
from thalweg.explain.stages import band_label
from thalweg.languages.owl.axioms import mentioned, show
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.languages.owl.dl.selection import derive_selection, rspql
from thalweg.languages.owl.kinds import is_reserved
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.model.rdf import OWN
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import OWL


@dataclass(frozen=True)
class ExplainedAbstraction:
    """A program that classifies events, explained; on Spark where there are partitions."""

    program: AbstractionProgram
    partitions: int | None = None

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return ()

    def guards(self) -> dict[str, int]:
        """How many conditions of each kind a model must keep to."""
        form = self.program.form
        found = {
            "choices": len(form.choices),
            "values": len(form.at_least),
            "counts": len(form.at_most),
            "individuals": len(form.one_of),
            "literals": len(form.data_at_least),
        }
        return {kind: number for kind, number in found.items() if number}

    def as_data(self) -> dict[str, object]:
        """The same for programs to read."""
        program = self.program
        form, facts = program.form, program.background
        return {
            "classes": [one.label for one in program.asked],
            "axioms": [show(axiom) for axiom in program.axioms],
            "rules": sum(len(clause.heads) <= 1 for clause in form.clauses) + len(form.some) + len(form.data_some),
            "guards": self.guards(),
            "complete_by_rules": form.is_horn,
            "reasoner_only": sorted(set(form.unsupported)),
            "cuts_background": program.cuts,
            "selects": program.chosen and not form.unsupported,
            "background": len(facts.classes) + len(facts.edges) + len(facts.literals),
            "reads": sorted(filter(_comes, {*form.classes, *form.roles, *form.data})),
            **({} if self.partitions is None else {"stages": [self._stage()]}),
        }

    def _stage(self) -> dict[str, object]:
        return {"rules": [one.label for one in self.program.asked], "key": ["event"], "partitions": self.partitions}

    def as_rspql(self) -> str:
        """The filter that follows from the classes asked for, as a continuous query."""
        return rspql(derive_selection(self.program))

    def as_text(self, prefixes: Prefixes = NO_PREFIXES) -> str:
        """The same for people."""
        data = self.as_data()
        form = self.program.form
        lines = [
            f"{count(len(self.program.asked), 'class', 'classes')} by {count(len(self.program.axioms), 'axiom')} that "
            f"can matter, over {count(int(str(data['background'])), 'fact')} of the background",
            "",
            f"rules       {data['rules']}",
        ]
        for kind, number in self.guards().items():
            lines.append(f"guards      {number} ({kind})")
        if form.is_horn:
            lines.append("decided by  rules alone")
        elif form.unsupported:
            lines.append(f"decided by  the reasoner, because of {' and '.join(sorted(set(form.unsupported)))}")
        else:
            lines.append("decided by  rules where all guards hold; else a search for models; else the reasoner")
        cut = "only what is connected with an event" if self.program.cuts else "all of it: axioms name individuals"
        lines.append(f"background  {cut} is looked at")
        if data["selects"]:
            lines.append(
                "selection   events that can have none of the classes are dropped first; `--format rspql` shows more"
            )
        lines += ["", "axioms"]
        lines += [f"  {prefixes.shorten(show(axiom))}" for axiom in self.program.axioms]
        if self.partitions is not None:
            spread = (
                f"whole events go to {count(self.partitions, 'partition')} in turn; each process closes the background"
            )
            lines += ["", "on Spark", f"  {spread} once"]
        return "\n".join(lines)

    def as_svg(self) -> str:
        """The axioms between the names that they mention and the classes asked for."""
        title = "names in events and background, axioms, and classes asked for"
        stages = [] if self.partitions is None else [self._stage()]
        drawing = Drawing([band_label(title, enumerate(stages))], {"positive": "mentions"})
        asked = {one.name: one.label for one in self.program.asked}
        for number, axiom in enumerate(self.program.axioms):
            drawing.rule(f"axiom {number}", f"axiom {number + 1}", show(axiom), 0)
            for name in dict.fromkeys(mentioned(axiom)):
                if name in asked:
                    drawing.arrow(f"axiom {number}", drawing.thing(name, "derived", asked[name], 0))
                elif not is_literal(name) and not is_reserved(name):
                    drawing.arrow(drawing.thing(name, "stream", name, 0), f"axiom {number}")
        return drawing.svg()


def _comes(name: str) -> bool:
    """Whether events can have a name: not one of OWL's, and none that only the rules have."""
    return name[0] == "<" and not name.startswith((OWN, f"<{OWL}"))
