"""The engine: facts in, what began and ended out.

`advance` moves the clock to a tick, stopping wherever something ends by itself on the way, and evaluates each stop with
the kernel of `tick`. Everything is kept in one arena (`layout`); what a plan needs besides (tuple windows, aggregates)
is kept here and fed to the kernel as rows.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final, NoReturn
from weakref import ref

import numpy as np

from thalweg.engine.assemble import assemble
from thalweg.engine.budget import make_room
from thalweg.engine.completeness import weigh
from thalweg.engine.decoder import Decoder, Rows, of_relations, relation_mask
from thalweg.engine.delta import Delta, Given
from thalweg.engine.equality import EqualityState
from thalweg.engine.feeds import Feeds, feed_index, gathered
from thalweg.engine.future_heads import FutureHeads
from thalweg.engine.groups import GroupState
from thalweg.engine.incomparable import Incomparable, IncomparableTerms
from thalweg.engine.layout import (
    BEGUN,
    BORN,
    DIED,
    ENDED,
    FEED_CLOCK,
    FEED_FOREVER,
    FEED_RETRACT,
    FEED_SEEN,
    FEED_UNTIL,
    FIRST,
    NEED,
    NEEDS_PAUSE,
    NEEDS_RESULT,
    NOW,
    PAUSED,
    RAISED,
)
from thalweg.engine.memo import Memo
from thalweg.engine.memory import ROOM, give_back_memory, new_arrays, next_end, size_of
from thalweg.engine.remember import Remembered, is_delayed
from thalweg.engine.tick import step
from thalweg.engine.tuples import KeyedState, TupleState
from thalweg.ir.annotate_terms import SUPPLIED, annotate_terms
from thalweg.ir.nodes import Rule, meant_by
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.listing import Listing
from thalweg.model.predicate import Predicate, interned
from thalweg.model.term import is_term
from thalweg.model.time import FOREVER, NEVER, Calendar
from thalweg.model.triples import TRIPLES, as_triples
from thalweg.planning.rule_plan import PlanTarget, Relation, RulePlan

if TYPE_CHECKING:
    from thalweg.engine.absence import Absence
    from thalweg.engine.proof import Imported, Proof

_CHANGES: Final = 100
"""How many changes are output before the engine looks which of them are still in use."""


class BusyError(RuntimeError):
    """An engine was used while it was at work in another thread, or after it was stopped in the middle of a tick."""


class PlanEngine:
    """Evaluates one plan incrementally.

    >>> from thalweg.ir.nodes import Atom, InWindow, Program, Rule, TimeWindow, Variable
    >>> from thalweg.planning.passes import Planner
    >>> slow = Rule(Atom("slow", (Variable("S"),)), (InWindow(Atom("stop", (Variable("S"),)), TimeWindow(2)),))
    >>> planner = Planner(Program((slow,)))
    >>> engine = PlanEngine(planner(PlanTarget()), planner)
    >>> [str(fact) for change in engine.advance(to=5, facts=[Fact("stop", ("a",))]) for fact in change.begin]
    ['slow(a)']
    >>> [(change.tick, str(fact)) for change in engine.advance(to=9) for fact in change.end]
    [(8, 'slow(a)')]
    """

    def __init__(
        self,
        plan: RulePlan,
        replan: Callable[[PlanTarget], RulePlan],
        first: int | None = None,
        memory: int | None = None,
        with_changes: bool = True,
        dictionary: Dictionary | None = None,
        calendar: Calendar | None = None,
    ) -> None:
        """`replan` makes the plan for another target, where a stream brings what is derived or facts were shed.

        Without changes, where only its `listing` is read, it saves copies of them. Engines
        that are parts of one plan share a dictionary. The `calendar` says which date and hour a tick is.
        """
        self.program = plan.source
        self.replan = replan
        self.first = first
        self.now: int | None = None
        self.memory = memory
        self.limit: int | None = None
        """A budget in bytes for ticks where nothing is shed: one that needs more fails."""
        self._busy = Lock()
        self._in_tick = self._is_broken = False
        self._with_changes = with_changes
        if memory is not None:
            give_back_memory()
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self.memo = Memo(self.dictionary, calendar or Calendar())
        self.dropped = 0
        self.lacking: dict[str, int] = {}
        self.doubts: dict[tuple[Predicate, bool], tuple[Predicate, ...]] = {}
        self.incomplete: frozenset[int] = frozenset()
        self.settle_at = FOREVER
        self.shed: tuple[Predicate, ...] = ()
        self._changes: list[ref[Delta]] = []
        self._most_changes = _CHANGES
        self._incomparable = IncomparableTerms(self.dictionary)
        self._future = FutureHeads()
        self.adopt(plan)

    def adopt(self, plan: RulePlan) -> None:
        """Takes a plan over, with empty arrays."""
        self.plan = plan
        weigh(self)
        self.table = assemble(plan, self.dictionary.code)
        self._incomparable.follow(self.table)
        self._future.follow(self.table)
        self.arrays = new_arrays(self.table)
        self.tuples = [TupleState(feed) for feed in plan.tuples]
        self.keyed = [KeyedState(feed) for feed in plan.keyed]
        self._keyed_feeds = [
            [np.array([(kind, relation.number, 0, -1, 0, 0, relation.arity)]) for kind in (FEED_FOREVER, FEED_RETRACT)]
            for relation in (feed.relation for feed in plan.keyed)
        ]
        self.groups = [
            GroupState(grouping.function, plan.view(grouping.elements).order[: grouping.width + 1], grouping.share)
            for grouping in plan.groupings
        ]
        self._groups_at: list[list[tuple[list[Rows], int, GroupState]]] = [[] for _ in range(plan.depth)]
        for grouping, state in zip(plan.groupings, self.groups, strict=True):
            elements, value = plan.view(grouping.elements).source.number, grouping.value
            changes = [
                np.array([(kind, value.number, 0, -1, 0, 0, value.arity)]) for kind in (FEED_RETRACT, FEED_FOREVER)
            ]
            self._groups_at[plan.strata[value.number]].append((changes, elements, state))
        self.remembered = Remembered(plan)
        self._feeds = {
            key: feed_index(key[0], at_once)
            for key, feeds in plan.feeds.items()
            if (at_once := [feed for feed in feeds if not is_delayed(feed)])
        }
        self._streams = frozenset(stream for _, stream in plan.feeds) - {None}
        self._fed = frozenset(signature for signature, _ in plan.feeds) | {feed.signature for feed in plan.keyed}
        self._annotated = SUPPLIED & self._fed
        self._takes_triples = (TRIPLES, None) in self._feeds
        self._gathers = {
            name: (into, np.array([self.dictionary.code(term) for term in constants], dtype=np.int64))
            for name, (into, constants) in plan.copies.into.items()
        }
        self._last_stratum = plan.depth - 1
        self._only_derived = (plan.program.derived | {name for name, _ in self.program.interface.imports}) - plan.mixed
        self.decoder = Decoder(plan, self.dictionary)
        self._irrevocable = {
            relation.number for key, relation in plan.exports.items() if key in plan.program.hints.irrevocable
        }
        self._is_output = relation_mask(plan, plan.outputs.values())
        self.equals = EqualityState(self) if self.program.equality else None
        self._every_tick = bool(plan.clocks or plan.beats or any(feed.ticks for feed in plan.tuples))
        other_changes = plan.beats or plan.tuples or plan.keyed or plan.groupings or self.remembered.is_needed
        self._may_idle = bool(plan.clocks) and not other_changes
        self._plain = not (self._every_tick or plan.tuples or plan.keyed)

    # Time -----------------------------------------------------------------------------------------------------------

    def advance(
        self, to: int, facts: Iterable[Fact] | Batch | Sequence[Batch] = (), imports: Sequence[Given] = ()
    ) -> list[Delta]:
        """Evaluates every tick up to `to`, where `facts` arrive; what began and ended, for each tick with a change.

        `imports` is what began and ended at `to` in the parts of a larger program that this one takes facts from.
        Raises `FailedError` where a tick takes more memory than there is: the engine is of no use after that, nor
        after any other exception in the middle of a tick.
        """
        if not self._busy.acquire(False):
            self._refuse()
        try:
            changes = self._advance(to, facts, imports)
        except BaseException:
            # Where it stopped in the middle of a tick, it must not be used again.
            if self._in_tick:
                self._is_broken = True
            else:
                self._busy.release()
            raise
        self._busy.release()
        return changes

    def _refuse(self) -> NoReturn:
        if self._is_broken:
            raise BusyError("this engine was stopped in the middle of a tick: restore its last snapshot into a new one")
        raise BusyError("another thread is using this engine: use one engine per thread, or a lock")

    @contextmanager
    def _taken(self) -> Iterator[None]:
        """Keeps the engine for this thread: a second one would see rows in the middle of a change."""
        if not self._busy.acquire(False):
            self._refuse()
        try:
            yield
        finally:
            self._busy.release()

    def _advance(
        self, to: int, facts: Iterable[Fact] | Batch | Sequence[Batch], imports: Sequence[Given]
    ) -> list[Delta]:
        batches = self._batches(facts)
        if self._takes_triples:
            batches = [as_triples(batch, self.dictionary, self._fed) for batch in batches]
        if self._gathers:
            batches = [gathered(batch, self._gathers, self._fed) for batch in batches]
        if self._annotated:
            wanted_annotations = self.program.annotations, self._annotated
            batches = [annotate_terms(batch, self.dictionary, *wanted_annotations) for batch in batches]
        if (batches or imports) and not self._is_open(to):
            # Taking them would lose them without a word.
            raise ValueError(
                f"facts at tick {to} are too late: the engine is at tick {self.now}, and began at {self.first}"
            )
        # From here on an exception leaves the engine between two states.
        self._in_tick = True
        for batch in batches:
            self._admit(batch)
        changes: list[Delta] = []
        while self.now is None or self.now < to:
            stop = to if self.now is None or to < self.settle_at else self.settle_at
            tick = self._next_stop(stop)
            words, feeds = self._feeds_at(tick, *((batches, imports) if tick == to else ((), ()))).arrays()
            idle = self._may_idle and self.now is not None
            self.evaluate(tick, words, feeds, until=stop - 1 if idle else tick)
            self.now = int(self.arrays.scalars[NOW])
            if self.equals is not None:
                self.equals.evaluate(self.now)
            if self.remembered.is_needed:
                assert self.first is not None
                self.remembered.note(self.arrays, self.now, self.first)
            if self._with_changes:
                self._collect_change(self.now, changes)
            if self.now >= self.settle_at:
                self._settle(changes)
            if self.memory is not None and self.size > self.memory // ROOM:
                self._forget(changes)
        self._in_tick = False
        return changes

    def _is_open(self, tick: int) -> bool:
        """Whether facts of a tick can still take part."""
        return tick > self.now if self.now is not None else self.first is None or tick >= self.first

    def _next_stop(self, stop: int) -> int:
        if self.now is None:
            self.first = stop if self.first is None else self.first
            self.arrays.scalars[FIRST] = self.first
            return self.first
        if self._every_tick or self.remembered.notes:
            return self.now + 1
        end = next_end(self.arrays)
        stop = end if end is not None and self.now < end < stop else stop
        return min(stop, self.remembered.next_due) if self.remembered.streaks else stop

    def evaluate(self, tick: int, words: Rows, feeds: Rows, until: int = NEVER) -> None:
        """Evaluates one tick with what is fed to it; and those up to `until`, fed the same, while nothing happens."""
        if not self.groups:
            self._step(tick, until, words, feeds, 0, self._last_stratum)
            return
        for level, groups in enumerate(self._groups_at):
            if level:
                more = Feeds()
                for index, elements, state in groups:
                    self._regroup(index, elements, state, more)
                words, feeds = more.arrays()
            self._step(tick, tick, words, feeds, level, level)

    def _step(self, tick: int, until: int, words: Rows, feeds: Rows, first: int, last: int) -> None:
        """Calls the kernel until it is done: a part of the work at a time, so that signals are heard between them."""
        again = False
        self.memo.lend(self.arrays.scalars)
        while not step(self.table.words, self.arrays.scalars, tick, until, words, feeds, first, last, again):
            need = self.arrays.scalars[NEED]
            if need == NEEDS_RESULT:
                self.memo.answer(self.arrays.scalars)
            elif need != NEEDS_PAUSE:
                make_room(self, feeds)
                # Chains have changed, perhaps: what was interrupted among them starts anew.
                self.arrays.scalars[PAUSED] = -1
            again = True

    # Input ----------------------------------------------------------------------------------------------------------

    def _batches(self, facts: Iterable[Fact] | Batch | Sequence[Batch]) -> list[Batch]:
        if isinstance(facts, Batch):
            return [facts]
        arrivals = list(facts)
        if arrivals and isinstance(arrivals[0], Batch):
            return arrivals  # type: ignore[return-value]
        if not arrivals:
            return []
        if self.dictionary.wants_collection:
            self._collect(())
        batch, words = Batch(), self.dictionary.words
        for fact in arrivals:
            if not isinstance(fact, Fact):
                raise TypeError(f"{fact!r} is not a Fact; write Fact('speed', ('a', 12))")
            batch.add(fact.signature, [words.get(term) or self._code(term, fact) for term in fact.terms])
        return [batch]

    def _code(self, term: object, fact: Fact) -> int:
        """The word of a term that a program hands over; what could not be read back is refused."""
        if not is_term(term):
            raise ValueError(
                f"{term!r} in `{fact.predicate}` is not the spelling of a term: make facts with thalweg.Fact"
            )
        return self.dictionary.code(term)

    def _admit(self, batch: Batch) -> None:
        """A derived predicate that turns out to be streamed as well needs another plan."""
        if not self._only_derived.isdisjoint(batch.rows):
            target = replace(self.plan.target, mixed=self.plan.target.mixed | (self._only_derived & batch.rows.keys()))
            if self.now is not None:
                from thalweg.engine.checkpoint import rebuild

                rebuild(self, self.replan(target))
            else:
                self.adopt(self.replan(target))

    def _feeds_at(self, tick: int, batches: Sequence[Batch], imports: Sequence[Given]) -> Feeds:
        feeds = Feeds()
        if tick == self.first:
            self.feed_background(feeds)
            if self.plan.first_tick is not None:
                feeds.add(FEED_SEEN, self.plan.first_tick.number, 0, -1, [], 1, 0)
        if self.remembered.is_needed:
            self.remembered.feed(tick, feeds)
        for batch in batches:
            for signature, words in batch.rows.items():
                self._feed_rows(feeds, signature, None, words, tick)
                if batch.stream in self._streams:
                    self._feed_rows(feeds, signature, batch.stream, words, tick)
        for imported in imports:
            key = imported.signature, imported.timed
            if self.equals is not None and self.plan.imports[key] == self.plan.representative:
                self.equals.take(imported.begun)
            number, begin = (
                self.plan.imports[key].number,
                FEED_UNTIL if key in self.program.hints.irrevocable else FEED_FOREVER,
            )
            for kind, rows in ((FEED_RETRACT, imported.ended), (begin, imported.begun)):
                if len(rows):
                    index = np.array([(kind, number, 0, -1, 0, 0, rows.shape[1])])
                    feeds.put(index, rows.reshape(-1), len(rows))
        if self.equals is not None:
            self.equals.begin(tick, feeds)
        if not self._plain:
            self._feed_time(tick, feeds)
            self._feed_tuples(tick, batches, feeds)
        return feeds

    def _feed_rows(
        self, feeds: Feeds, signature: Predicate, stream: str | None, words: list[int] | Rows, tick: int
    ) -> None:
        if self.remembered.is_needed:
            self.remembered.note_streamed(signature, stream, words, tick)
        index = self._feeds.get((signature, stream))
        if index is not None:
            flat = words.reshape(-1) if isinstance(words, np.ndarray) else np.array(words, dtype=np.int64)
            wide = int(index[0, 6])
            feeds.put(index, flat, len(flat) // wide if wide else 1)

    def feed_background(self, feeds: Feeds) -> None:
        if self.plan.truth is not None:
            feeds.add(FEED_FOREVER, self.plan.truth.number, 0, -1, [], 1, 0)
        words: dict[Predicate, list[int]] = {}
        for fact in dict.fromkeys(self.plan.program.background):
            words.setdefault(fact.signature, []).extend(self.dictionary.code(term) for term in fact.terms)
        for relation, signature in self.plan.background:
            flat, wide = words[signature], relation.arity
            feeds.add(FEED_FOREVER, relation.number, 0, -1, flat, len(flat) // wide if wide else 1, wide)

    def _feed_time(self, tick: int, feeds: Feeds) -> None:
        assert self.first is not None
        for length, clock in self.plan.clocks.items():
            feeds.add(FEED_CLOCK, clock.number, length, -1, [], 1, 0)
        for hop, beat in self.plan.beats.items():
            if tick % hop == 0:
                feeds.add(FEED_SEEN, beat.number, 0, -1, [], 1, 0)

    def _feed_tuples(self, tick: int, batches: Sequence[Batch], feeds: Feeds) -> None:
        assert self.first is not None
        for number, state in enumerate(self.tuples):
            before = state.start(self.first)
            entered, left = state.advance(
                tick, ((*arrival, batch.stream) for batch in batches for arrival in batch.in_order())
            )
            for kind, arrivals in ((FEED_FOREVER, entered), (FEED_RETRACT, left)):
                for signature, words, when in arrivals:
                    relation = state.feed.relations.get(signature)
                    if relation is not None:
                        feeds.add(kind, relation.number, 0, -1, [*words, when << 2 | 1], 1, len(words) + 1)
            start = state.start(self.first)
            self.arrays.scalars[self.table.tuple_starts + number] = start
            if state.feed.ticks is not None:
                feeds.add(FEED_FOREVER, state.feed.ticks.number, 0, -1, [tick << 2 | 1], 1, 1)
                for gone in range(before, start):
                    feeds.add(FEED_RETRACT, state.feed.ticks.number, 0, -1, [gone << 2 | 1], 1, 1)
        for keyed, indexes in zip(self.keyed, self._keyed_feeds, strict=True) if batches else ():
            for index, rows in zip(indexes, keyed.advance(tick, batches), strict=True):
                if len(rows):
                    feeds.put(index, rows.reshape(-1), len(rows))

    def _regroup(self, indexes: list[Rows], elements: int, state: GroupState, feeds: Feeds) -> None:
        """Tells an aggregate which elements came and went in the strata below."""
        came, went = self.arrays.places(BORN), self.arrays.places(DIED)
        if not (len(came) or len(went)):
            return
        changed = state.change(self.arrays.rows, came, went, elements, self.dictionary.values)
        for index, rows in zip(indexes, changed, strict=True):
            if len(rows):
                feeds.put(index, rows.reshape(-1), len(rows))

    # Output ---------------------------------------------------------------------------------------------------------

    def _collect_change(self, tick: int, changes: list[Delta]) -> None:
        begun, ended = self.arrays.rows_in(BEGUN), self.arrays.rows_in(ENDED)
        raised = self.arrays.rows_in(RAISED) if self.program.hints.irrevocable else None
        if raised is not None and self.remembered.lasting:
            raised = raised[of_relations(raised, self._irrevocable)]
            raised = raised if len(raised) else None
        if self.equals is not None:
            begun, ended = self.equals.visible_changes(tick, begun, ended)
        unknown = None
        if self.incomplete and ended is not None:
            # Another derivation may have rested on what was shed.
            doubtful = of_relations(ended, self.incomplete)
            ended, unknown = ended[~doubtful], ended[doubtful]
        if begun is not None or ended is not None or raised is not None:
            self.add_change(changes, begun, ended, unknown, raised)

    def add_change(
        self,
        changes: list[Delta],
        begun: Rows | None,
        ended: Rows | None,
        unknown: Rows | None,
        raised: Rows | None,
    ) -> None:
        assert self.now is not None
        change = Delta(self.now, self.shed, self.incomplete, self.decoder, (begun, ended, unknown, raised))
        changes.append(change)
        self._changes.append(ref(change))
        if len(self._changes) > self._most_changes:
            self._changes = [reference for reference in self._changes if reference() is not None]
            self._most_changes = _CHANGES + 2 * len(self._changes)

    def output_rows(self) -> Rows:
        """The rows of the output at `now`."""
        rows = self.arrays.rows[self._living_output()]
        return rows if self.equals is None else self.equals.visible(rows)

    def rows_of(self, relation: Relation, with_horizon: bool = False) -> Rows:
        """The columns of the rows of a relation that hold at `now`; their horizon may be the last."""
        places = np.flatnonzero((self.arrays.relations == relation.number) & (self.arrays.horizons >= (self.now or 0)))
        rows = self.arrays.rows[places]
        return self.decoder.columns(relation, rows if self.equals is None else self.equals.visible(rows), with_horizon)

    def _living_output(self) -> Rows:
        """Where the rows of the output at `now` stand, hidden or not."""
        return np.flatnonzero(self._is_output[self.arrays.relations] & (self.arrays.horizons >= (self.now or 0)))

    def listing(self) -> Listing:
        """The output at `now` as words, to be spelled when it is read."""
        by_signature: dict[Predicate, list[Rows]] = {}
        with self._taken():
            for name, columns in self._output():
                by_signature.setdefault(interned(name, columns.shape[1]), []).append(columns)
        return Listing(self.dictionary, {signature: _together(parts) for signature, parts in by_signature.items()})

    def _output(self) -> Iterator[tuple[str, Rows]]:
        """The columns of the output, predicate by predicate; whole rows are copied only where they are looked at."""
        if self.equals is not None:
            yield from self.decoder.by_predicate(self.output_rows())
            return
        places = self._living_output()
        relations = self.arrays.relations[places]
        for number in np.flatnonzero(np.bincount(relations)).tolist():
            chosen = self.arrays.columns[places[relations == number], : self.decoder.arities[number]]
            yield from self.decoder.named(number, chosen)

    def facts(self) -> list[Fact]:
        """The output at `now`."""
        with self._taken():
            return [] if self.now is None else self.decoder.spell(self.output_rows())

    def guaranteed(self) -> dict[str, int]:
        """The output at `now`, each fact with the last tick for which it is guaranteed, whatever comes."""
        if self.now is None:
            return {}
        with self._taken():
            rows = self.output_rows()
            horizons = np.unique(rows[:, 0]).tolist()
            spell = self.decoder.spell_text
            return {fact: horizon for horizon in horizons for fact in spell(rows[rows[:, 0] == horizon])}

    # What was shed --------------------------------------------------------------------------------------------------

    @property
    def partial(self) -> bool:
        """Whether the output may lack something, because facts were shed for want of memory."""
        return bool(self.shed)

    def doubt(self, doubts: Mapping[tuple[Predicate, bool], tuple[Predicate, ...]]) -> None:
        """Notes which imported predicates may lack facts from the next tick on, and what was shed behind each."""
        self.doubts = dict(doubts)
        weigh(self)
        self.incomplete |= self.plan.incomplete
        self.settle_at = NEVER if self.now is None else self.now + 1

    @property
    def unsure(self) -> tuple[Predicate, ...]:
        """The predicates of the output that may lack facts."""
        return tuple(sorted(name for name, relation in self.plan.outputs.items() if relation.number in self.incomplete))

    def _settle(self, changes: list[Delta]) -> None:
        from thalweg.engine.shed import settle

        settle(self, changes)

    def _forget(self, changes: list[Delta]) -> None:
        from thalweg.engine.shed import forget_oldest

        forget_oldest(self, changes)

    # Memory ---------------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Bytes held: the arrays, the terms, what is known about them, which are equal, and the windows by key."""
        equal = self.equals.size if self.equals is not None else 0
        keyed = sum(state.size for state in self.keyed)
        return size_of(self.arrays) + self.dictionary.size + self.memo.size + equal + keyed

    @property
    def needed(self) -> int:
        """Bytes that would be held if the terms that nothing uses were given back."""
        used = np.unique(self.words_in_use())
        share = np.count_nonzero(used & 3 == 0) / max(1, len(self.dictionary))
        unused = self.dictionary.size * (1 - min(1.0, share))
        return self.size - int(unused)

    @property
    def live(self) -> int:
        """Rows that live: facts in windows, and conclusions."""
        relations = self.arrays.relations
        return int(np.count_nonzero((relations >= 0) & (relations < len(self.plan.relations))))

    @property
    def incomparable(self) -> list[Incomparable]:
        """Where `<` or its like met terms of different kinds, and was false for that reason."""
        return self._incomparable.found()

    @property
    def future(self) -> list[tuple[Rule, int]]:
        """The rules with conclusions that were in the future for as long as they followed, and how many."""
        return self._future.found()

    def words_in_use(self) -> Rows:
        """Every word of a term that the engine would miss."""
        relations, columns = self.arrays.relations, self.arrays.columns
        arity = np.where(relations >= 0, self.decoder.arities[relations], 0)
        blocks = [columns[arity > column, column] for column in range(columns.shape[1])]
        blocks.append(self.table.words[self.table.words >= 0])
        tuple_words = [word for state in self.tuples for _, words, _ in state.inside for word in words]
        blocks.append(np.array(tuple_words, dtype=np.int64))
        blocks += self.remembered.words()
        return np.concatenate(blocks)

    def spell_changes(self) -> None:
        """Spells every change that has been output and not been looked at, before its rows lose their meaning."""
        for reference in self._changes:
            if (change := reference()) is not None:
                change.spell()
        self._changes = []

    def collect(self, waiting: Iterable[Batch] = ()) -> None:
        """Frees the terms that neither the engine nor the batches that wait for it use."""
        with self._taken():
            self._collect(waiting)

    def _collect(self, waiting: Iterable[Batch]) -> None:
        self.spell_changes()
        in_use = [self.words_in_use()]
        in_use += [np.asarray(words, dtype=np.int64).reshape(-1) for batch in waiting for words in batch.rows.values()]
        self.dictionary.collect(np.concatenate(in_use))

    def why(self, fact: Fact, imported: "Imported" = lambda fact: None) -> "Proof | None":
        """A derivation of a fact of the output at `now`, or None where it does not hold.

        `imported` says why facts hold that other parts of the plan derive.
        """
        from thalweg.engine.proof import why

        with self._taken():
            return why(self, meant_by(self.program, fact), imported)

    def why_not(self, fact: Fact, came: Collection[Predicate] | None = None) -> "Absence | None":
        """How far the rules got that could derive a fact at `now`, or None where it holds.

        `came` are the predicates that streams have brought so far, where that is known.
        """
        from thalweg.engine.absence import why_not

        with self._taken():
            return why_not(self, meant_by(self.program, fact), came)

    # State ----------------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """What the windows still need, as an Arrow file; everything derived is left out."""
        from thalweg.engine.checkpoint import snapshot

        with self._taken():
            return snapshot(self)


def _together(parts: list[Rows]) -> Rows:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
