"""What languages compiled becomes one part.

    Program        rules, all of which are one part
    Checked        rules whose conclusions are clashes
    AspProgram     answer sets
    QueryProgram   continuous queries, each a part
    CascadeProgram events: their classes by the abstraction beside it, and patterns
    Abstraction…   classes of events, alone
    Member         a part as its language made it: kinds of other packages need no line here

Several kinds are members of one plan (`mixed`), wired by predicate.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeGuard, runtime_checkable

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.choose_outputs import Shown, choose_outputs, outputs_of
from thalweg.kinds.part import Part
from thalweg.kinds.rules.rule_part import Rules
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.similar import nearest
from thalweg.planning.passes import check

if TYPE_CHECKING:
    from thalweg.kinds.member import Member
    from thalweg.kinds.mixed import Mixed
    from thalweg.languages.cascade.event_definitions import CascadeProgram
    from thalweg.languages.owl.checking import Checked
    from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram

    class PartMember(Member, Part, Protocol):
        """A member that is a plan of its own where it stands alone."""


@runtime_checkable
class ShowsFacts(Protocol):
    """A member whose answers are facts, of which users may choose predicates."""

    def showing(self, shown: Shown) -> "PartMember":
        """The part with answers of the shown predicates only."""


def compose(
    compiled: Sequence[object],
    background: tuple[Fact, ...] = (),
    options: SolveOptions = SolveOptions(),
    shown: Shown | None = None,
) -> tuple[Part, list[Diagnostic]]:
    """One part, and what is wrong with it as a whole; answer set programs know the background besides.

    What is `shown` is all that is output, and parts read from each other what they would read without it.
    """
    programs = [unit for unit in compiled if isinstance(unit, Program)]
    if len(programs) == len(compiled):
        # Rules alone do not wait for the compilers of other languages to be imported.
        rules, diagnostics = _rules_part(programs, shown)
        return rules, [*diagnostics, *(shown.unknown(outputs_of(rules.rules)) if shown else ())]
    from thalweg.kinds.answer_sets import AnswerSets
    from thalweg.kinds.mixed import Mixed
    from thalweg.kinds.queries import ContinuousQuery
    from thalweg.languages.asp.program import AspProgram
    from thalweg.languages.cascade.event_definitions import CascadeProgram
    from thalweg.languages.owl.checking import Checked
    from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
    from thalweg.languages.rspql.query import QueryProgram

    for unit in compiled:
        if isinstance(unit, CascadeProgram):
            return _with_events(unit, compiled, background, options, shown)
        if isinstance(unit, AbstractionProgram) and not any(isinstance(other, CascadeProgram) for other in compiled):
            return _abstraction(unit, compiled, shown)
    checked = next((unit for unit in compiled if isinstance(unit, Checked)), None)
    programs += [] if checked is None else [checked.program]
    solved = next((AnswerSets(unit, background, options) for unit in compiled if isinstance(unit, AspProgram)), None)
    query_programs = [unit for unit in compiled if isinstance(unit, QueryProgram)]
    queries = [ContinuousQuery(query, unit.background) for unit in query_programs for query in unit.queries]
    ready = [unit if shown is None else _showing(unit, shown) for unit in compiled if _is_member(unit)]
    if not queries and not ready and solved is None:
        if shown is not None and checked is not None:
            return _rules_part(programs, None, checked)[0], [_only_clashes()]
        return _rules_part(programs or [Program()], shown, checked)
    # What its own `#show` says is overridden by the option only.
    override = shown if shown is not None and shown.by_option else None
    if solved is not None and not queries and not ready and not programs:
        return (solved, []) if override is None else (solved.showing(override), [*solved.unknown(override)])
    if solved is None and len(queries) + len(ready) == 1 and not any(program.rules for program in programs):
        return (queries[0], []) if queries else (ready[0], _unknown(ready, shown))
    members = (*([] if solved is None else [replace(solved, output=override)]), *queries, *ready)
    rules, diagnostics = _rules_part(programs or [Program()], shown, checked, members)
    if solved is not None:
        derived = outputs_of(rules.rules) | _given_by(ready, shown)
        diagnostics += [*_several_answers(options), *(solved.unknown(shown, derived) if shown else ())]
    elif ready:
        diagnostics += _unknown(ready, shown, outputs_of(rules.rules))
    plan = Mixed(rules, members)
    return plan, [*diagnostics, *_loops(plan, diagnostics)]


def _is_member(unit: object) -> "TypeGuard[PartMember]":
    """Whether the class of a compiled unit says that it is a member of plans."""
    from thalweg.kinds.member import Member

    return Member in type(unit).__mro__


def _showing(member: "PartMember", shown: Shown) -> "PartMember":
    return member.showing(shown) if isinstance(member, ShowsFacts) else member


def _given_by(members: "Sequence[Member]", shown: Shown | None) -> frozenset[Predicate]:
    """The predicates among what is shown that members give."""
    names = frozenset[Predicate]() if shown is None else shown.predicates
    return frozenset(name for name in names if any(member.ports.writes(name) for member in members))


def _unknown(members: "Sequence[Member]", shown: Shown | None, derived: Collection[Predicate] = ()) -> list[Diagnostic]:
    """W205: what is named although neither members nor rules derive it."""
    return [] if shown is None else [*shown.unknown({*derived, *_given_by(members, shown)})]


def _with_events(
    program: "CascadeProgram",
    compiled: Sequence[object],
    background: tuple[Fact, ...],
    options: SolveOptions,
    shown: Shown | None,
) -> tuple[Part, list[Diagnostic]]:
    """Events alone, or beside what the other programs are; names of events among what is `shown` are theirs."""
    from thalweg.kinds.events import cascade_part, never_bound, undefined, unknown
    from thalweg.kinds.mixed import Mixed
    from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram

    units = [unit for unit in compiled if unit is not program and not isinstance(unit, AbstractionProgram)]
    names = frozenset(event.name for event in program.events)
    wanted = frozenset() if shown is None else frozenset(predicate.name for predicate in shown.predicates)
    events = cascade_part(program, compiled, background, wanted & names)
    if all(isinstance(unit, Program) and not unit.rules for unit in units):
        return events, [*undefined(program), *unknown(program, wanted)]
    predicates = (
        frozenset() if shown is None else frozenset(name for name in shown.predicates if name.name not in names)
    )
    misspelt = _misspelt(predicates, names, units) if shown is not None and shown.by_option else frozenset()
    diagnostics, predicates = unknown(program, (predicate.name for predicate in misspelt)), predicates - misspelt
    # Rules know what the ontology took of the background; beside rules, even none, answer sets are a member of a plan.
    background_program = Program(background=background)
    surroundings, wrong = compose(
        [*units, background_program],
        background,
        options,
        replace(shown, predicates=predicates) if shown and predicates else None,
    )
    if isinstance(surroundings, Mixed):
        around, members = surroundings.around, surroundings.members
    elif isinstance(surroundings, Rules):
        around, members = surroundings, ()
    else:
        assert _is_member(surroundings)
        around, members = Rules(merge([unit for unit in units if isinstance(unit, Program)])), (surroundings,)
    events = events.surrounded(around.rules, [member.ports for member in members])
    diagnostics += [*wrong, *undefined(program, events.beside.classes, around.rules.derived)]
    diagnostics += never_bound(program, around.rules)
    plan = Mixed(around, (*members, events))
    return plan, [*diagnostics, *_loops(plan, diagnostics)]


def _misspelt(
    shown: Collection[Predicate], events: Collection[str], programs: Sequence[object]
) -> frozenset[Predicate]:
    """What is to be shown, is not derived by rules, and is almost the name of an event."""
    derived = frozenset[Predicate]().union(*(unit.derived for unit in programs if isinstance(unit, Program)))
    candidates = [Predicate(name, 1) for name in events]
    return frozenset(
        predicate
        for predicate in shown
        if predicate.arity == 1 and predicate not in derived and nearest(predicate, candidates) is not None
    )


def _abstraction(
    program: "AbstractionProgram", compiled: Sequence[object], shown: Shown | None
) -> tuple[Part, list[Diagnostic]]:
    from thalweg.kinds.classes import Abstraction

    units = [unit for unit in compiled if unit is not program and not (isinstance(unit, Program) and not unit.rules)]
    message = "`--as abstraction` classifies events by ontologies only: leave the other programs out"
    diagnostics = [Diagnostic("E403", message)] if units else []
    if shown is not None:
        diagnostics.append(Diagnostic("E403", "`--show` cannot be used with `--as abstraction`: use `--classes`"))
    return Abstraction(program), diagnostics


def _rules_part(
    programs: Sequence[Program],
    shown: Shown | None,
    checked: "Checked | None" = None,
    members: "Sequence[Member]" = (),
) -> tuple[Rules, list[Diagnostic]]:
    """All rules; beside members of a plan, they may read what these hold."""
    diagnostics: list[Diagnostic] = []
    try:
        program = choose_outputs(merge(programs), shown)
    except RejectedError as error:
        program = programs[0]
        diagnostics += error.diagnostics
    # A part that could not be read takes no circle away: what is found in the rest stands.
    diagnostics += check(_beside(program, members))
    if program.hints.justification is None:
        return Rules(program), diagnostics
    from thalweg.kinds.consistency import Checks

    return Checks(program, checked), diagnostics


def _beside(program: Program, members: "Sequence[Member]") -> Program:
    if not members:
        return program
    from thalweg.kinds.mixed import given_by

    return given_by(members, program, streamed=False)


def _only_clashes() -> Diagnostic:
    return Diagnostic("E403", "`--show` cannot be used with `--as consistency`, which outputs nothing but clashes")


def _several_answers(options: SolveOptions) -> list[Diagnostic]:
    message = "`--models all` gives several answers, and rules can read only one: use first, brave or cautious"
    return [Diagnostic("E403", message)] if options.models == "all" else []


def _loops(plan: "Mixed", diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        return ()
    try:
        plan.wiring  # noqa: B018
    except RejectedError as error:
        return error.diagnostics
    return ()
