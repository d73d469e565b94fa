"""A run that goes on with a changed program: what is unchanged answers on, all else begins and sees nothing before."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import clingo
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from changed_programs import ChangingRun, by_tick
from thalweg import api
from thalweg.diagnostics import Diagnostic, Source
from thalweg.ir.dependency import formulas, strata
from thalweg.ir.nodes import Program
from thalweg.ir.semantics import Pairs, Timeline, _apply
from thalweg.ir.text import show
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.part import Part
from thalweg.kinds.rules.rule_part import Rules
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.planning.passes import check
from thalweg.testing.strategies import programs, scenarios

pytestmark = pytest.mark.filterwarnings("ignore::thalweg.ThalwegWarning")


def unchanged(old: Program, new: Program) -> set[Predicate]:
    """The predicates whose rules, records and background are the same, and those of all that they read."""

    def own(program: Program, name: Predicate) -> object:
        rules = [rule for rule in program.rules if rule.head.signature == name]
        read = {name, *(formula.atom.signature for rule in rules for formula, _ in formulas(rule.body))}
        background = {fact for fact in program.background if fact.signature in read}
        return sorted(map(show, rules)), background, read & program.recorded

    def read(name: Predicate) -> set[Predicate]:
        rules = [rule for rule in (*old.rules, *new.rules) if rule.head.signature == name]
        return {formula.atom.signature for rule in rules for formula, _ in formulas(rule.body)}

    derived = old.derived | new.derived
    same = {name for name in old.derived & new.derived if own(old, name) == own(new, name)}
    while wrong := {name for name in same if (read(name) & derived) - same}:
        same -= wrong
    return same


def restricted(program: Program, names: set[Predicate]) -> Program:
    return replace(program, rules=tuple(rule for rule in program.rules if rule.head.signature in names))


def begun_model(program: Program, start: Timeline) -> Timeline:
    """What rules derive beside what others have derived."""
    background: dict[Predicate, set[tuple[str, ...]]] = {}
    for fact in program.background:
        background.setdefault(fact.signature, set()).add(fact.terms)
    timeline = replace(start, background=background, derived=dict(start.derived))
    level = strata(program)
    assert level is not None
    for stratum in sorted(set(level.values())):
        rules = [rule for rule in program.rules if level[rule.head.signature] == stratum]
        while sum(_apply(rule, timeline) for rule in rules):
            pass
    return timeline


class Meaning:
    """What a program means whose parts began at different ticks: the youngest first tick last."""

    def __init__(self, program: Program, first: int, events: tuple[Event, ...]) -> None:
        self.events = events
        self.parts: list[tuple[Program, int, Pairs]] = [(program, first, {})]

    def change(self, old: Program, new: Program, first: int) -> None:
        same = unchanged(old, new)
        self.parts = [(restricted(part, same), since, recorded) for part, since, recorded in self.parts]
        self.parts.append((restricted(new, {*new.derived} - same), first, {}))

    def at(self, tick: int) -> list[frozenset[Fact]]:
        """What each part derives at a tick."""
        derived: Pairs = {}
        outputs = []
        for number, (program, first, recorded) in enumerate(self.parts):
            seen = [
                (fact, one.tick, one.stream) for one in self.events if first <= one.tick <= tick for fact in one.facts
            ]
            timeline = begun_model(program, Timeline(first, tick, seen, derived=derived, recorded=recorded))
            self.parts[number] = program, first, timeline.remember(program)
            own = {name: timeline.derived.get(name, set()) for name in program.derived}
            derived |= own
            facts = (Fact(name.name, args) for name, pairs in own.items() for args, at in pairs if at == tick)
            outputs.append(frozenset(facts))
        return outputs


def expected(
    old: Program, new: Program, first: int, cut: int, last: int, events: tuple[Event, ...]
) -> Iterator[object]:
    """The changes at each tick."""
    meaning = Meaning(old, first, events)
    before: list[frozenset[Fact]] = [frozenset()]
    for tick in range(first, last + 1):
        if tick == cut + 1:
            meaning.change(old, new, tick)
            same = unchanged(old, new)
            stay = frozenset(fact for fact in before[0] if fact.signature in same)
            ended = before[0] - stay
            before = [stay, frozenset()]
        else:
            ended = frozenset()
        now = meaning.at(tick)
        begin = sorted(str(fact) for was, will in zip(before, now, strict=True) for fact in will - was)
        end = sorted(str(fact) for was, will in zip(before, now, strict=True) for fact in was - will)
        end = sorted([*end, *map(str, ended)])
        before = now
        if begin or end:
            yield tick, begin, end


@st.composite
def changes(draw: st.DrawFn, remembering: bool = False):
    """A scenario, another program that has rules in common with its own, and a tick after which it goes on."""
    scenario = draw(scenarios(remembering=remembering))
    other = draw(programs(remembering=remembering))
    old = scenario.program
    kept = [rule for rule in old.rules if draw(st.integers(0, 3))]
    added = [rule for rule in other.rules if not draw(st.integers(0, 2))]
    background = old.background if draw(st.integers(0, 2)) else other.background
    recorded = old.recorded if draw(st.integers(0, 2)) else old.recorded | other.recorded
    new = Program((*kept, *added), background, recorded=recorded)
    assume(not any(found.severity == "error" for found in check(new)))
    assume(not any(found.severity == "error" for found in check(old)))
    return scenario, new, draw(st.integers(scenario.first, max(scenario.first, scenario.last - 1)))


@pytest.mark.parametrize("remembering", [False, True])
def test_what_is_unchanged_goes_on_and_all_else_begins(remembering: bool) -> None:
    @given(changes(remembering), st.booleans())
    def goes_on(change, resumed: bool) -> None:
        scenario, new, cut = change
        old, first, last, events = scenario.program, scenario.first, scenario.last, scenario.events
        run = ChangingRun(Rules(old), first)
        for tick, arrived in by_tick(events, first, cut):
            run.advance(tick, arrived)
        found = run.change(Rules(new))
        same = unchanged(old, new)
        assert {*found.same} == {*map(str, same)}
        event(f"{'some' if found.same else 'nothing'} goes on, {'some' if found.begun else 'nothing'} begins")
        for tick, arrived in by_tick(events, cut + 1, last) if last > cut else ():
            run.advance(tick, arrived)
            if resumed:
                run.resume(Rules(new))
        answers = [(one.t, list(one.columns[0]), list(one.columns[1])) for one in run.finish()]
        assert answers == list(expected(old, new, first, cut, last, events))

    goes_on()


# Rules and answer sets ------------------------------------------------------------------------------------------------

LAST = 9
BELOW = (
    "d(X) :- s(X) in [{n}].",
    "d(X) :- r(X,Y) in [{n}], not s(Y) in [{m}].",
    "e(X) :- d(X), r(X,Y).",
    "e(N) :- N = count{{X : s(X) in [{n}]}}.",
)
SOLVED = (
    "o(X) :- d(X), not e(X).",
    "o(X) :- s(X), e(X).",
    "u(X) :- r(X,Y), o(Y).",
    "u(N) :- N = #count{{X : d(X)}}.",
)
ABOVE = (
    "a(X) :- o(X), s(X) in [{n}].",
    "a(X) :- d(X), not u(X).",
    "b(X) :- a(X), u(X) in [{n}].",
    "b(N) :- N = count{{X : o(X)}}.",
)


@dataclass(frozen=True)
class Texts:
    """The rules below and above an answer set program, and that."""

    below: str
    solved: str
    above: str

    @property
    def sources(self) -> list[Source]:
        return [
            Source("rules.lars", f"{self.below} {self.above}"),
            Source("solved.lp", f"{self.solved} #show o/1. #show u/1."),
        ]

    @property
    def rules(self) -> Program:
        return api.load(self.sources[0], report=lambda _: None)


@st.composite
def chosen(draw: st.DrawFn, templates: tuple[str, ...], least: int = 0) -> str:
    found = draw(st.lists(st.sampled_from(templates), min_size=least, max_size=3, unique=True))
    return " ".join(one.format(n=draw(st.integers(0, 4)), m=draw(st.integers(0, 2))) for one in found)


@st.composite
def changed_texts(draw: st.DrawFn) -> tuple[Texts, Texts]:
    old = Texts(draw(chosen(BELOW)), draw(chosen(SOLVED, 1)), draw(chosen(ABOVE)))
    part = draw(st.sampled_from(("below", "solved", "above")))
    templates = {"below": BELOW, "solved": SOLVED, "above": ABOVE}[part]
    if draw(st.booleans()) and part != "solved":
        return old, replace(old, **{part: f"{getattr(old, part)} {draw(chosen(templates, 1))}"})
    return old, replace(old, **{part: draw(chosen(templates, 1))})


def mixed_events() -> st.SearchStrategy[tuple[Event, ...]]:
    terms = st.sampled_from(("1", "2", "x"))
    fact = st.builds(lambda x: Fact("s", (x,)), terms) | st.builds(lambda x, y: Fact("r", (x, y)), terms, terms)
    event = st.lists(fact, min_size=1, max_size=3, unique=True)
    ticks = st.lists(st.integers(0, LAST), min_size=1, max_size=7, unique=True).map(sorted)
    return ticks.flatmap(
        lambda found: st.tuples(*(event.map(lambda facts, t=t: Event(t, tuple(facts))) for t in found))
    )


def solved_by(text: str, facts: set[Fact]) -> frozenset[Fact]:
    control = clingo.Control(["--warn=none"])
    control.add("base", [], " ".join([text, "#show o/1. #show u/1.", *(f"{fact}." for fact in facts)]))
    control.ground([("base", [])])
    with control.solve(yield_=True) as solved:
        (model,) = [frozenset(map(str, model.symbols(shown=True))) for model in solved]
    return frozenset(Fact(text[0], (text[2:-1],)) for text in model)


class MixedMeaning:
    """Rules below, an answer set program and rules above, each since some tick."""

    def __init__(self, texts: Texts, events: tuple[Event, ...], frame: tuple[int, int] | None) -> None:
        self.texts, self.events, self.frame = texts, events, frame
        self.since = dict.fromkeys([*texts.rules.derived, "solved"], 0)
        self.held: frozenset[Fact] = frozenset()
        self.before: dict[Predicate, frozenset[Fact]] = {}

    def reads(self, texts: Texts, name: object) -> set[object]:
        if name == "solved":
            return {one for one in texts.rules.derived if f"{one.name}(" in texts.solved}
        bodies = [rule.body for rule in texts.rules.rules if rule.head.signature == name]
        found = {formula.atom.signature for body in bodies for formula, _ in formulas(body)}
        return {"solved" if one.name in "ou" else one for one in found if one.name not in "sr"}

    def own(self, texts: Texts, name: object) -> object:
        if name == "solved":
            return texts.solved
        return sorted(show(rule) for rule in texts.rules.rules if rule.head.signature == name)

    def change(self, texts: Texts, first: int) -> tuple[set[object], list[str]]:
        """What goes on, and the facts that end."""
        names = {*texts.rules.derived, "solved"}
        same = {one for one in names & self.since.keys() if self.own(texts, one) == self.own(self.texts, one)}
        both = {one: self.reads(texts, one) | self.reads(self.texts, one) for one in same}
        derived = names | self.since.keys()
        while wrong := {one for one in same if (both[one] & derived) - same}:
            same -= wrong
        ended = [str(fact) for name, facts in self.before.items() if name not in same for fact in facts]
        self.before = {name: facts for name, facts in self.before.items() if name in same}
        self.held = self.held if "solved" in same else frozenset()
        self.texts, self.since = texts, {one: self.since[one] if one in same else first for one in names}
        return same, ended

    def closings(self) -> dict[int, int]:
        first = self.since["solved"]
        if self.frame is None:
            return {tick: tick for tick in range(first, LAST + 1)}
        size, slide = self.frame
        return {end: end - size + 1 for end in range(first + size - 1, LAST + 1, slide)} or {LAST: first}

    def layer(self, names: set[Predicate], tick: int, derived: Pairs) -> None:
        for first in sorted({self.since[name] for name in names}):
            program = restricted(self.texts.rules, {name for name in names if self.since[name] == first})
            arrived = [one for one in self.events if first <= one.tick <= tick]
            seen = [(fact, one.tick, one.stream) for one in arrived for fact in one.facts]
            found = begun_model(program, Timeline(first, tick, seen, derived=derived)).derived
            derived |= {name: found.get(name, set()) for name in program.derived}

    def at(self, tick: int) -> tuple[frozenset[Fact] | None, list[str], list[str]]:
        """The answer of a window that closes, and what begins and ends."""
        derived: Pairs = {}
        self.layer({name for name in self.texts.rules.derived if name.name in "de"}, tick, derived)
        start = self.closings().get(tick)
        if start is not None:
            lower = {Fact(name.name, args) for name, pairs in derived.items() for args, _ in pairs}
            arrived = {fact for one in self.events if start <= one.tick <= tick for fact in one.facts}
            self.held = solved_by(self.texts.solved, arrived | lower)
        for fact in self.held:
            derived.setdefault(fact.signature, set()).add((fact.terms, tick))
        self.layer({name for name in self.texts.rules.derived if name.name in "ab"}, tick, derived)
        now = {
            name: frozenset(Fact(name.name, args) for args, at in derived[name] if at == tick)
            for name in self.texts.rules.derived
        }
        begin = [str(fact) for name, facts in now.items() for fact in facts - self.before.get(name, frozenset())]
        end = [str(fact) for name, facts in self.before.items() for fact in facts - now[name]]
        self.before = now
        return self.held if start is not None else None, begin, end


def analysed(texts: Texts, frame: tuple[int, int] | None) -> tuple[Part, list[Diagnostic]]:
    window, slide = frame or (None, None)
    return api.analyse(texts.sources, solving=SolveOptions("first", window, slide, workers=0))


def mixed_part(texts: Texts, frame: tuple[int, int] | None) -> Part:
    part, wrong = analysed(texts, frame)
    assume(not any(one.severity == "error" for one in wrong))
    return part


@given(
    changed_texts(),
    mixed_events(),
    st.none() | st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(0, LAST - 1),
)
def test_rules_and_answer_sets_go_on_or_begin(
    texts: tuple[Texts, Texts], events: tuple[Event, ...], frame: tuple[int, int] | None, cut: int
) -> None:
    old, new = texts
    run, meaning = ChangingRun(mixed_part(old, frame), 0), MixedMeaning(old, events, frame)
    for tick, arrived in by_tick(events, 0, cut):
        run.advance(tick, arrived)
    found = run.change(mixed_part(new, frame))
    for tick, arrived in by_tick(events, cut + 1, LAST):
        run.advance(tick, arrived)
    answers = run.finish()
    expected_changes, expected_answers = [], {}
    for tick in range(LAST + 1):
        ended: list[str] = []
        if tick == cut + 1:
            same, ended = meaning.change(new, tick)
            assert {*found.same} == {"the answer set program" if one == "solved" else str(one) for one in same}
        answer, begin, end = meaning.at(tick)
        if answer is not None:
            expected_answers[tick] = sorted(map(str, answer))
        if begin or end or ended:
            expected_changes.append((tick, sorted(begin), sorted([*end, *ended])))
    changed_facts = [(one.t, list(one.columns[0]), list(one.columns[1])) for one in answers if one.kind == "changes"]
    assert changed_facts == expected_changes
    solutions = {one.t: sorted(one.columns[0]) for one in answers if one.kind != "changes"}
    assert solutions == {tick: expected_answers[tick] for tick in solutions}
    assert frame is None or solutions.keys() == expected_answers.keys()


def test_the_last_tick_of_what_waited_for_a_first_window_is_answered() -> None:
    """What reads the answers of a window waits with the last tick until the first window has closed."""
    old, new = (Texts("", "o(X) :- r(X,_).", f"a(X) :- s(X) in [{size}], not o(X).") for size in (0, 1))
    events = tuple(Event(tick, (Fact("s", (str(tick),)),)) for tick in range(4))
    run = ChangingRun(analysed(old, (4, 1))[0], 0)
    for tick, arrived in by_tick(events, 0, 1):
        run.advance(tick, arrived)
    assert run.change(analysed(new, (4, 1))[0]).begun == ("a/1",)
    for tick, arrived in by_tick(events, 2, 5):
        run.advance(tick, arrived)
    answers = [answer for answer in run.finish() if answer.kind == "changes"]
    assert [(one.t, list(one.columns[0]), list(one.columns[1])) for one in answers] == [
        (0, ["a(0)"], []),
        (1, ["a(1)"], ["a(0)"]),
        (2, ["a(2)"], ["a(1)"]),
        (3, ["a(3)"], []),
        (4, [], ["a(2)"]),
        (5, [], ["a(3)"]),
    ]
