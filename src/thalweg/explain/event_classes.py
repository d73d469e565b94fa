"""How events are classified: the axioms that can matter, what rules say of them, and what only guards can say."""

from collections.abc import Iterator

from thalweg.explain.diagram import Band, Diagram, DiagramBuilder
from thalweg.explain.document import Paragraph, PlanDocument, Section, lines
from thalweg.explain.plan_stage import PlanStage
from thalweg.explain.quantity import count
from thalweg.explain.stages import spark_section
from thalweg.languages.owl.axioms import mentioned, show
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.languages.owl.dl.selection import derive_selection, rspql
from thalweg.languages.owl.kinds import is_reserved
from thalweg.model.rdf import OWN
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import OWL


def explain_classes(program: AbstractionProgram, partitions: int | None = None) -> PlanDocument:
    """How a program classifies events; on Spark where there are partitions."""
    stages = None if partitions is None else (PlanStage(_labels(program), ("event",), partitions),)
    sections = [
        Section("", lines(_summary(program))),
        Section("", tuple(Paragraph(line, shortened=False) for line in _decisions(program))),
        Section("axioms", lines(*(f"  {show(axiom)}" for axiom in program.axioms))),
    ]
    if partitions is not None:
        spread = f"whole events go to {count(partitions, 'partition')} in turn"
        sections.append(spark_section(f"{spread}; each process closes the background once"))
    data, diagram = class_data(program), _diagram(program, stages or ())
    selection = lambda: rspql(derive_selection(program))  # noqa: E731
    return PlanDocument(tuple(sections), data, diagram, stages, selection=selection)


def class_data(program: AbstractionProgram) -> dict[str, object]:
    """How a program classifies events, for programs to read."""
    form = program.form
    return {
        "classes": _labels(program),
        "axioms": [show(axiom) for axiom in program.axioms],
        "rules": _rules(program),
        "guards": _guards(program),
        "complete_by_rules": form.is_horn,
        "reasoner_only": sorted(set(form.unsupported)),
        "cuts_background": program.cuts,
        "selects": _selects(program),
        "background": _background(program),
        "reads": sorted(filter(_comes, {*form.classes, *form.roles, *form.data})),
    }


def _labels(program: AbstractionProgram) -> tuple[str, ...]:
    return tuple(wanted.label for wanted in program.asked)


def _rules(program: AbstractionProgram) -> int:
    form = program.form
    return sum(len(clause.heads) <= 1 for clause in form.clauses) + len(form.some) + len(form.data_some)


def _background(program: AbstractionProgram) -> int:
    """How many facts the background has."""
    facts = program.background
    return len(facts.classes) + len(facts.edges) + len(facts.literals)


def _selects(program: AbstractionProgram) -> bool:
    """Whether events that cannot have a class are dropped first."""
    return program.chosen and not program.form.unsupported


def _guards(program: AbstractionProgram) -> dict[str, int]:
    """How many conditions of each kind a model must keep to."""
    form = program.form
    numbers = {
        "choices": len(form.choices),
        "values": len(form.at_least),
        "counts": len(form.at_most),
        "individuals": len(form.one_of),
        "literals": len(form.data_at_least),
    }
    return {kind: number for kind, number in numbers.items() if number}


def _summary(program: AbstractionProgram) -> str:
    return (
        f"{count(len(program.asked), 'class', 'classes')} by {count(len(program.axioms), 'axiom')} that "
        f"can matter, over {count(_background(program), 'fact')} of the background"
    )


def _decisions(program: AbstractionProgram) -> Iterator[str]:
    """What decides about classes, and what is looked at."""
    form = program.form
    yield f"rules       {_rules(program)}"
    for kind, number in _guards(program).items():
        yield f"guards      {number} ({kind})"
    if form.is_horn:
        yield "decided by  rules alone"
    elif form.unsupported:
        yield f"decided by  the reasoner, because of {' and '.join(sorted(set(form.unsupported)))}"
    else:
        yield "decided by  rules where all guards hold; else a search for models; else the reasoner"
    cut = "only what is connected with an event" if program.cuts else "all of it: axioms name individuals"
    yield f"background  {cut} is looked at"
    if _selects(program):
        yield "selection   events that can have none of the classes are dropped first; `--format rspql` shows more"


def _diagram(program: AbstractionProgram, stages: tuple[PlanStage, ...]) -> Diagram:
    """The axioms between the names that they mention and the classes asked for."""
    title = "names in events and background, axioms, and classes asked for"
    builder = DiagramBuilder([Band(title, tuple(enumerate(stages)))], {"positive": "mentions"})
    labels = {wanted.name: wanted.label for wanted in program.asked}
    for number, axiom in enumerate(program.axioms):
        node = builder.statement(f"axiom {number}", f"axiom {number + 1}", show(axiom), 0)
        for name in dict.fromkeys(mentioned(axiom)):
            if name in labels:
                builder.edge(node, builder.source(name, "derived", labels[name], 0))
            elif not is_literal(name) and not is_reserved(name):
                builder.edge(builder.source(name, "stream", name, 0), node)
    return builder.diagram()


def _comes(name: str) -> bool:
    """Whether events can have a name: not one of OWL's, and none that only the rules have."""
    return name[0] == "<" and not name.startswith((OWN, f"<{OWL}"))
