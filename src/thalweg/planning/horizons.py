"""How long each memory keeps a row.

A row is kept for a number of ticks after the one at which it was last fed or derived:

    p(X) in [9], streamed           9
    q(X) :- p(X) in [9], r in [4].  4, the earliest end of the premises; of several rules the latest
    p(X) in [9 step 5]              13, because a fact just after a hop waits for the next one
    p(X) always in [9], streamed    0, one tick at a time
    b(X) in the background          for ever, and so is `p(X) at U` where nothing bounds U
    r(X) before [4], recorded       4 more than what r was derived from
    p(X) in [3 #]                   until other facts push it out: for ever, as far as time goes

Where a tuple window, an aggregate or negation takes part, a row may be taken back before its horizon, and its horizon
promises nothing.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from thalweg.ir.nodes import TimeWindow
from thalweg.model.time import FOREVER, NEVER
from thalweg.planning.rule_plan import Count, Grouping, PlanRule, Recording, RulePlan

_Step = tuple[list[int], Callable[[list[int]], Iterator[tuple[int, int]]]]
"""The relations that are read, and what follows for others from how long these keep rows."""


def horizons(plan: RulePlan) -> list[int]:
    """The most ticks that each relation keeps a row; FOREVER without an end, NEVER where no row can come to be.

    >>> from thalweg.ir.nodes import Atom, InWindow, Program, Rule
    >>> from thalweg.planning.passes import plan
    >>> p, q = (InWindow(Atom(name), TimeWindow(size)) for name, size in (("p", 9), ("q", 4)))
    >>> made = plan(Program((Rule(Atom("a"), (p, q)),)))
    >>> [(relation.name, kept) for relation, kept in zip(made.relations, horizons(made))]
    [('p/0 in [9]', 9), ('q/0 in [4]', 4), ('a/0 derived', 4)]
    """
    kept = [NEVER] * len(plan.relations)
    for number, ticks in _given(plan):
        kept[number] = max(kept[number], ticks)
    steps = _steps(plan)
    readers: dict[int, list[int]] = {}
    for place, (sources, _) in enumerate(steps):
        for source in sources:
            readers.setdefault(source, []).append(place)
    waiting = deque(range(len(steps)))
    while waiting:
        _, follow = steps[waiting.popleft()]
        for number, ticks in follow(kept):
            if ticks > kept[number]:
                kept[number] = ticks
                waiting.extend(readers.get(number, ()))
    return kept


def _given(plan: RulePlan) -> Iterator[tuple[int, int]]:
    """The numbers of relations that are filled from outside the rules, each with its horizon."""
    for feeds in plan.feeds.values():
        for feed in feeds:
            if feed.target is None:
                yield feed.relation.number, min(feed.size, FOREVER)
            else:
                yield feed.relation.number, 1
                yield feed.target.number, 0
    yield from ((relation.number, FOREVER) for relation in plan.counted)
    yield from ((relation.number, FOREVER) for relation, _ in plan.background)
    yield from ((relation.number, FOREVER) for relation in plan.imports.values())
    yield from ((relation.number, size) for size, relation in plan.clocks.items())
    yield from ((relation.number, 0) for relation in plan.beats.values())
    yield from ((relation.number, FOREVER) for relation in (plan.truth, plan.representative) if relation is not None)
    if plan.first_tick is not None:
        yield plan.first_tick.number, 0


def _steps(plan: RulePlan) -> list[_Step]:
    """The steps that fill relations from others, each with the numbers of those that it reads."""
    return [
        *(([atom.relation.number for atom in rule.positive], partial(_concluded, rule)) for rule in plan.rules),
        *(([recording.source.number], partial(_recorded, recording)) for recording in plan.recordings),
        *(([count.source.number], partial(_counted, count)) for count in plan.counts),
        *(([grouping.elements.number], partial(_grouped, grouping)) for grouping in plan.groupings),
    ]


def _concluded(rule: PlanRule, kept: list[int]) -> Iterator[tuple[int, int]]:
    premises = min(_clipped(rule), *(kept[atom.relation.number] for atom in rule.positive))
    if premises > NEVER:
        yield rule.head.relation.number, min(premises + rule.extension, FOREVER)


def _recorded(recording: Recording, kept: list[int]) -> Iterator[tuple[int, int]]:
    source = kept[recording.source.number]
    if source > NEVER and recording.kind != "extended":
        lasting = recording.kind == "lasting"
        yield recording.target.number, min(source + recording.size, FOREVER) if lasting else FOREVER


def _counted(count: Count, kept: list[int]) -> Iterator[tuple[int, int]]:
    source = kept[count.source.number]
    yield count.target.number, min(_complete(count), source)
    yield count.counter.number, source


def _grouped(grouping: Grouping, kept: list[int]) -> Iterator[tuple[int, int]]:
    if kept[grouping.elements.number] > NEVER:
        yield grouping.value.number, FOREVER


def _clipped(rule: PlanRule) -> int:
    if rule.clip is None:
        return FOREVER
    window = rule.clip.window
    return window.size if window.step is None else window.size + window.step - 1


def _complete(count: Count) -> int:
    """A window that hops stays complete until it hops; any other may lack the next tick."""
    match count.window:
        case TimeWindow(step=int(step)):
            return step - 1
    return 0
