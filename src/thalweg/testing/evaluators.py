"""Everything that can answer a program, behind one signature, so that a test can be written once and run on each.

An evaluator takes a program, its events and the ticks to answer for, and gives the changes: for every tick where the
answer changed, what began and what ended. Ticks without a change are not in it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from thalweg import api
from thalweg.engine import Delta
from thalweg.ir import semantics
from thalweg.ir.nodes import Program
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.runtimes.spark.pack import Arrived
from thalweg.runtimes.watermark import Watermark


@dataclass(frozen=True, slots=True)
class Difference:
    """The facts that began, ended and became unknown at a tick, as text.

    >>> str(Difference(begin=frozenset({"slow(a)"})))
    '+ slow(a)'
    """

    begin: frozenset[str] = frozenset()
    end: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()

    def __str__(self) -> str:
        kinds = (("+", self.begin), ("-", self.end), ("?", self.unknown))
        return ", ".join(f"{sign} {fact}" for sign, facts in kinds for fact in sorted(facts))

    def __bool__(self) -> bool:
        return bool(self.begin or self.end or self.unknown)


Changes = Mapping[int, Difference]
Evaluator = Callable[[Program, Sequence[Event], int, int], Changes]


def changes_of(snapshots: Iterable[tuple[int, Iterable[str]]]) -> Changes:
    """The changes between the answers of consecutive ticks.

    >>> {tick: str(found) for tick, found in changes_of([(0, ["a"]), (1, ["a"]), (2, [])]).items()}
    {0: '+ a', 2: '- a'}
    """
    changes, before = {}, frozenset[str]()
    for tick, holding in snapshots:
        facts = frozenset(holding)
        if facts != before:
            changes[tick] = Difference(facts - before, before - facts)
        before = facts
    return changes


def batch_of(dictionary: Dictionary, event: Event) -> Batch:
    """An event as the engine takes it."""
    batch = Batch(stream=event.stream)
    for fact in event.facts:
        batch.add(fact.signature, [dictionary.code(term) for term in fact.terms])
    return batch


def arrived(events: Iterable[Event], words: Dictionary, watermark: Watermark) -> list[Arrived]:
    """Events as a packer takes them, after those that the watermark has met."""
    return [(event.tick, batch_of(words, event), watermark.meet(event.tick)) for event in events]


def by_semantics(program: Program, events: Sequence[Event], first: int, last: int) -> Changes:
    """The changes as the naive interpreter gives them: right by definition."""
    return changes_of((tick, map(str, facts)) for tick, facts in semantics.answers(program, events, first, last))


def by_engine(program: Program, events: Sequence[Event], first: int, last: int) -> Changes:
    """The changes as the incremental engine gives them."""
    engine = RuleEngine(program, first=first)
    return differences([*feed(engine, events), *(() if engine.now == last else engine.advance(last))])


def feed(engine: RuleEngine, events: Iterable[Event]) -> Iterator[Delta]:
    """Advances an engine over events that are in order, one call for each tick that has some."""
    for tick, group in groupby(events, key=lambda event: event.tick):
        yield from engine.advance(tick, [batch_of(engine.dictionary, event) for event in group])


def differences(changes: Iterable[Delta]) -> Changes:
    """The changes of an engine, as text."""
    return {
        change.tick: Difference(*(frozenset(map(str, facts)) for facts in (change.begin, change.end, change.unknown)))
        for change in changes
    }


def by_runtime(program: Program, events: Sequence[Event], first: int, last: int) -> Changes:
    """The changes as the embedded runtime gives them."""
    answers = api.run(program, stream=events, emit="changes", start=first, end=last, report=lambda diagnostic: None)
    return {
        answer.t: Difference(frozenset(map(str, answer.begin)), frozenset(map(str, answer.end))) for answer in answers
    }
