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
        """The same with answers of what is shown only."""


def compose(
    compiled: Sequence[object],
    background: tuple[Fact, ...] = (),
    options: SolveOptions = SolveOptions(),
    shown: Shown | None = None,
) -> tuple[Part, list[Diagnostic]]:
    """One part, and what is wrong with it as a whole; answer set programs know the background besides.

    What is `shown` is all that is output, and parts read from each other what they would read without it.
    """
    programs = [one for one in compiled if isinstance(one, Program)]
    if len(programs) == len(compiled):
        # Rules alone do not wait for the compilers of other languages to be imported.
        rules, found = _rules_part(programs, shown)
        return rules, [*found, *(shown.unknown(outputs_of(rules.rules)) if shown else ())]
    from thalweg.kinds.answer_sets import AnswerSets
    from thalweg.kinds.mixed import Mixed
    from thalweg.kinds.queries import ContinuousQuery
    from thalweg.languages.asp.program import AspProgram
    from thalweg.languages.cascade.event_definitions import CascadeProgram
    from thalweg.languages.owl.checking import Checked
    from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
    from thalweg.languages.rspql.query import QueryProgram

    for one in compiled:
        if isinstance(one, CascadeProgram):
            return _with_events(one, compiled, background, options, shown)
        if isinstance(one, AbstractionProgram) and not any(isinstance(each, CascadeProgram) for each in compiled):
            return _abstraction(one, compiled, shown)
    checked = next((one for one in compiled if isinstance(one, Checked)), None)
    programs += [] if checked is None else [checked.program]
    solved = next((AnswerSets(one, background, options) for one in compiled if isinstance(one, AspProgram)), None)
    known = [one for one in compiled if isinstance(one, QueryProgram)]
    queries = [ContinuousQuery(query, one.background) for one in known for query in one.queries]
    ready = [unit if shown is None else _showing(unit, shown) for unit in compiled if _is_member(unit)]
    if not queries and not ready and solved is None:
        if shown is not None and checked is not None:
            return _rules_part(programs, None, checked)[0], [_only_clashes()]
        return _rules_part(programs or [Program()], shown, checked)
    # What its own `#show` says is overridden by the option only.
    asked = shown if shown is not None and shown.by_option else None
    if solved is not None and not queries and not ready and not programs:
        return (solved, []) if asked is None else (solved.showing(asked), [*solved.unknown(asked)])
    if solved is None and len(queries) + len(ready) == 1 and not any(program.rules for program in programs):
        return (queries[0], []) if queries else (ready[0], _unknown(ready, shown))
    members = (*([] if solved is None else [replace(solved, output=asked)]), *queries, *ready)
    rules, found = _rules_part(programs or [Program()], shown, checked, members)
    if solved is not None:
        derived = outputs_of(rules.rules) | _given_by(ready, shown)
        found += [*_several_answers(options), *(solved.unknown(shown, derived) if shown else ())]
    elif ready:
        found += _unknown(ready, shown, outputs_of(rules.rules))
    plan = Mixed(rules, members)
    return plan, [*found, *_loops(plan, found)]


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
    from thalweg.kinds.events import cascade_part, undefined, unknown
    from thalweg.kinds.events.event_facts import never_bound
    from thalweg.kinds.mixed import Mixed
    from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram

    others = [one for one in compiled if one is not program and not isinstance(one, AbstractionProgram)]
    names = frozenset(one.name for one in program.events)
    asked = frozenset() if shown is None else frozenset(one.name for one in shown.predicates)
    events = cascade_part(program, compiled, background, asked & names)
    if all(isinstance(one, Program) and not one.rules for one in others):
        return events, [*undefined(program), *unknown(program, asked)]
    rest = frozenset() if shown is None else frozenset(one for one in shown.predicates if one.name not in names)
    misspelt = _misspelt(rest, names, others) if shown is not None and shown.by_option else frozenset()
    found, rest = unknown(program, (one.name for one in misspelt)), rest - misspelt
    # Rules know what the ontology took of the background; beside rules, even none, answer sets are a member of a plan.
    known = Program(background=background)
    beside, wrong = compose(
        [*others, known], background, options, replace(shown, predicates=rest) if shown and rest else None
    )
    if isinstance(beside, Mixed):
        around, members = beside.around, beside.members
    elif isinstance(beside, Rules):
        around, members = beside, ()
    else:
        assert _is_member(beside)
        around, members = Rules(merge([one for one in others if isinstance(one, Program)])), (beside,)
    events = events.surrounded(around.rules, [member.ports for member in members])
    found += [*wrong, *undefined(program, events.beside.classes, around.rules.derived)]
    found += never_bound(program, around.rules)
    plan = Mixed(around, (*members, events))
    return plan, [*found, *_loops(plan, found)]


def _misspelt(shown: Collection[Predicate], events: Collection[str], others: Sequence[object]) -> frozenset[Predicate]:
    """What is to be shown, is not derived by rules, and is almost the name of an event."""
    derived = frozenset[Predicate]().union(*(one.derived for one in others if isinstance(one, Program)))
    known = [Predicate(name, 1) for name in events]
    return frozenset(one for one in shown if one.arity == 1 and one not in derived and nearest(one, known) is not None)


def _abstraction(
    program: "AbstractionProgram", compiled: Sequence[object], shown: Shown | None
) -> tuple[Part, list[Diagnostic]]:
    from thalweg.kinds.classes import Abstraction

    others = [one for one in compiled if one is not program and not (isinstance(one, Program) and not one.rules)]
    message = "`--as abstraction` classifies events by ontologies only: leave the other programs out"
    found = [Diagnostic("E403", message)] if others else []
    if shown is not None:
        found.append(Diagnostic("E403", "`--show` cannot be used with `--as abstraction`: use `--classes`"))
    return Abstraction(program), found


def _rules_part(
    programs: Sequence[Program],
    shown: Shown | None,
    checked: "Checked | None" = None,
    members: "Sequence[Member]" = (),
) -> tuple[Rules, list[Diagnostic]]:
    """All rules; beside members of a plan, they may read what these hold."""
    found: list[Diagnostic] = []
    try:
        program = choose_outputs(merge(programs), shown)
    except RejectedError as error:
        program = programs[0]
        found += error.diagnostics
    # A part that could not be read takes no circle away: what is found in the rest stands.
    found += check(_beside(program, members))
    if program.hints.justification is None:
        return Rules(program), found
    from thalweg.kinds.consistency import Checks

    return Checks(program, checked), found


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


def _loops(plan: "Mixed", found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    if any(one.severity == "error" for one in found):
        return ()
    try:
        plan.wiring  # noqa: B018
    except RejectedError as error:
        return error.diagnostics
    return ()
