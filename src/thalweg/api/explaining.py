"""Plans of what is no rule program: how consistency is checked, how answer sets are found."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from thalweg.api.answer_sets import load_answer_sets
from thalweg.api.parts import load_parts
from thalweg.api.programs import check_ontology, settle
from thalweg.api.reading import Reading
from thalweg.api.sources import Background, Text, kind_of, read_background, several
from thalweg.api.timing import Timing
from thalweg.diagnostics import Diagnostic, warn
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.model.time import milliseconds
from thalweg.planning.choose_topology import USUAL, moved
from thalweg.planning.topology import Taxonomy as Known

if TYPE_CHECKING:
    from thalweg.explain.decomposition import ExplainedAnswerSets
    from thalweg.explain.topology import ExplainedTopology
    from thalweg.explain.wired_parts import ExplainedParts
    from thalweg.languages.asp.program import AspProgram


def explain_checks(
    programs: Iterable[Text],
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    partitions: int | None = None,
    report: Callable[[Diagnostic], None] = warn,
) -> "ExplainedTopology":
    """How the consistency of an ontology is checked; with its stages, where it is spread over partitions."""
    from thalweg.explain.plan import explain
    from thalweg.explain.topology import explain_topology
    from thalweg.planning.route_justifications import route_justifications

    found: list[Diagnostic] = []
    programs, facts = several(programs), several(background)
    if not programs or any(kind_of(one) != "ontology" for one in programs):
        found.append(Diagnostic("E403", "`--as consistency` checks ontologies only: leave the rules out"))
    rest = [read_background(name, milliseconds(tick), found) for name in facts if kind_of(name) != "ontology"]
    documents = [name for name in (*programs, *facts) if kind_of(name) == "ontology"]
    checked, chosen = check_ontology(documents, Timing(tick), reading, found)
    settle(found, report)
    plan = None if partitions is None else explain(route_justifications(merge([*rest, checked.program])), partitions)
    costs = moved() if reading.spread else USUAL
    closed = checked.closed
    known = Known(*closed.taxonomy())
    known = known if chosen.topology is None else known.in_pairs()
    return explain_topology(known, closed.closure(), chosen, plan, costs, closed.counts_conjunctions)


def explain_answer_sets(
    programs: Sequence[Program | Text],
    background: Background = (),
    inputs: Sequence[str] = (),
    as_published: bool = False,
    report: Callable[[Diagnostic], None] = warn,
    tick: str = "1s",
    partitions: int | None = None,
) -> "ExplainedAnswerSets":
    """How an answer set program is taken apart; `as_published`, with the communities of the paper."""
    program, _ = load_answer_sets(programs, background, inputs, report, Timing(tick).clock)
    return _explained(program, as_published, partitions)


def _explained(
    program: "AspProgram", as_published: bool = False, partitions: int | None = None
) -> "ExplainedAnswerSets":
    from thalweg.explain.decomposition import ExplainedAnswerSets
    from thalweg.planning.input_dependency import analyse
    from thalweg.planning.published import Published

    found = analyse(program.outlines, program.inputs)
    reasons = tuple(dict.fromkeys(obstacle.words for obstacle in program.obstacles))
    return ExplainedAnswerSets(found, Published(found) if as_published else None, reasons, partitions)


def explain_mixed(
    programs: Sequence[Program | Text],
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] = warn,
) -> "ExplainedParts":
    """How rules and answer sets are evaluated as the parts of one plan."""
    from thalweg.explain.wired_parts import explain_parts

    parts = load_parts(programs, background, tick, reading, inputs=inputs, report=report)
    assert parts.answer_sets is not None
    return explain_parts(parts.wiring(), _explained(parts.answer_sets), parts.answer_sets.writes)
