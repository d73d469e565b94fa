"""A workbench for the kernels: the table and the arrays of a small program, stepped by hand and shown as text.

Relations have the names that the plan gives them (`p/2 in [9]`, `q/1 derived`), the words of a row are written side by
side (`a b`), and a row is shown as `p(a,b)`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thalweg.diagnostics import Source
from thalweg.engine import tick as phases
from thalweg.engine.assemble import assemble
from thalweg.engine.feeds import Feeds, feed_index
from thalweg.engine.layout import (
    ARITY,
    CHAINS,
    COLUMNS,
    EARLIER,
    ENTRIES,
    FEED_BATCH,
    FEED_CLOCK,
    FEED_FOREVER,
    FEED_RETRACT,
    FEED_UNTIL,
    FIRST_CHAIN,
    FLAG,
    FREE,
    HEAP_LENGTH,
    IN_CALENDAR,
    INDEX,
    INDEXES,
    LATER,
    LIVE,
    NEED,
    NEEDS_HEADS,
    NEEDS_HEAP,
    NEEDS_LISTS,
    NEEDS_PAUSE,
    NEEDS_RESULT,
    NEEDS_ROWS,
    NOW,
    PAUSED,
    PHASE,
    RECORD,
    SLOT_COLUMNS,
    SLOTS,
    STRATUM,
    TABLE_BUCKET,
    TABLE_CHUNK,
    TABLE_HEAD,
    TABLE_LINKS,
    TABLE_SLOTS,
    TABLE_STEPS,
    TABLE_WAKE,
)
from thalweg.engine.memo import Memo
from thalweg.engine.memory import enlarge, new_arrays
from thalweg.engine.tick import step
from thalweg.ir.nodes import Interface
from thalweg.languages.lars import read
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.time import Calendar
from thalweg.planning.passes import plan

NEEDS = {
    NEEDS_ROWS: "rows",
    NEEDS_LISTS: "lists",
    NEEDS_HEADS: "heads",
    NEEDS_HEAP: "heap",
    NEEDS_PAUSE: "a pause",
    NEEDS_RESULT: "a result",
}
PHASES = {
    phases.NEGATED: "negated",
    phases.LOWERING: "lowered",
    phases.REDERIVING: "rederived",
    phases.ENDING: "ended",
    phases.GROWING: "grown",
    phases.SETTLING: "settled",
}
MOST_CALLS = 100_000


@dataclass(frozen=True)
class Feed:
    """Words on their way into a relation; or without a kind, a fact of a stream, which the plan knows where to put."""

    kind: int | None
    name: str
    words: str
    ticks: int = 0
    rows: int = 1


def arrive(predicate: str, *facts: str) -> Feed:
    """Facts of a stream."""
    return Feed(None, predicate, " ".join(facts), rows=len(facts))


def until(relation: str, words: str, horizon: int) -> Feed:
    """A row that is guaranteed until a tick."""
    return Feed(FEED_UNTIL, relation, words, horizon)


def forever(relation: str, words: str) -> Feed:
    """A row that is guaranteed for ever."""
    return Feed(FEED_FOREVER, relation, words)


def retract(relation: str, words: str) -> Feed:
    """A row whose guarantee is taken back."""
    return Feed(FEED_RETRACT, relation, words)


def clock(size: int) -> Feed:
    """The present tick, which a clock shows for `size` more ticks."""
    return Feed(FEED_CLOCK, f"clock [{size}]", "", size)


class Workbench:
    """The table and the arrays of a program, whose first tick is 0.

    `given` are predicates that come from another part of a program, which can take them back. With `steps`, the kernel
    comes back after that many.
    """

    def __init__(self, rules: str, given: Iterable[str] = (), steps: int | None = None) -> None:
        program = read(Source("workbench.lars", rules))
        self.plan = plan(
            replace(program, interface=Interface(imports=frozenset((Predicate.read(text), False) for text in given)))
        )
        self.dictionary = Dictionary()
        self.table = assemble(self.plan, self.dictionary.code)
        self.arrays = new_arrays(self.table)
        self.memo = Memo(self.dictionary, Calendar())
        if steps is not None:
            self.table.words[TABLE_STEPS] = steps

    # Work -----------------------------------------------------------------------------------------------------------

    def calls(self, tick: int, *feeds: Feed, strata: bool = True, last: int | None = None) -> Iterator[str]:
        """Calls the kernel until it is done with the ticks up to `last`; before each further call, what it needs."""
        stop, top = tick if last is None else last, self.plan.depth - 1 if strata else -1
        self._arguments = (tick, stop, *self._fed(feeds), 0, top)
        done = self.call(again=False)
        for _ in range(MOST_CALLS):
            if done:
                return
            need = NEEDS[self.scalar(NEED)]
            yield need
            if need == "a result":
                self.memo.answer(self.arrays.scalars)
            elif need != "a pause":
                self.arrays = enlarge(self.table, self.arrays)
                self.arrays.scalars[PAUSED] = -1
            done = self.call(again=True)
        raise AssertionError("the kernel makes no progress")

    def call(self, again: bool) -> bool:
        """Calls the kernel once; False when it came back early."""
        self.memo.lend(self.arrays.scalars)
        return bool(step(self.table.words, self.arrays.scalars, *self._arguments, again))

    def run(self, tick: int, *feeds: Feed, last: int | None = None) -> None:
        """Evaluates a tick."""
        for _ in self.calls(tick, *feeds, last=last):
            pass

    def feed(self, tick: int, *feeds: Feed) -> None:
        """Begins a tick and takes in what is fed, but fires no rule."""
        for _ in self.calls(tick, *feeds, strata=False):
            pass

    def _fed(self, feeds: Sequence[Feed]) -> tuple[np.ndarray, np.ndarray]:
        fed = Feeds()
        for each in feeds:
            words = [self.dictionary.code(word) for word in each.words.split()]
            if each.kind is None:
                signature = Predicate(each.name, len(words) // each.rows)
                index = feed_index(signature, self.plan.feeds[signature, None])
                fed.put(index, np.array(words, dtype=np.int64), each.rows)
                continue
            words += [each.ticks] if each.kind == FEED_UNTIL else []
            fed.add(each.kind, self.plan.memories[each.name].number, each.ticks, -1, words, 1, len(words))
        return fed.arrays()

    # Rows -----------------------------------------------------------------------------------------------------------

    def scalar(self, which: int) -> int:
        return int(self.arrays.scalars[which])

    @property
    def now(self) -> int:
        return self.scalar(NOW)

    @property
    def phase(self) -> tuple[int, str]:
        """The stratum and the phase in which the kernel came back; before the first one, "feeding"."""
        _, _, _, feeds, _, _ = self._arguments
        feeding = self.scalar(FEED_BATCH) < len(feeds)
        return self.scalar(STRATUM), "feeding" if feeding else PHASES[self.scalar(PHASE)]

    def rows(self, relation: str) -> dict[str, int]:
        """The words of each row of a relation, and its horizon."""
        return {self._words(place): int(self.arrays.horizons[place]) for place in self._places(relation)}

    def holds(self, relation: str) -> set[str]:
        """The words of the rows that are guaranteed now."""
        return {words for words, horizon in self.rows(relation).items() if horizon >= self.now}

    def place(self, relation: str, words: str) -> int:
        """Where a row stands, counted in rows."""
        return next(place for place in self._places(relation) if self._words(place) == words)

    def count(self, relation: str, words: str) -> int:
        """What a counter has counted: the column behind its others."""
        place = self.place(relation, words)
        return int(self.arrays.columns[place, self.plan.memories[relation].arity])

    def listed(self, which: int) -> list[str]:
        """The rows of a list."""
        return [self.text(place) for place in self.arrays.listed(which).tolist() if place >= 0]

    def marked(self, flag: int) -> list[str]:
        """The rows of the program that have a flag."""
        places = np.flatnonzero((self.arrays.relations >= 0) & (self.arrays.relations < len(self.plan.relations)))
        return [self.text(place) for place in places.tolist() if self._half(place, FLAG) & flag]

    def text(self, place: int) -> str:
        number = int(self.arrays.relations[place])
        if number == self.table.words[TABLE_WAKE]:
            return f"wake {self.text(int(self.arrays.columns[place, 0]) // self.arrays.stride)}"
        predicate = self.plan.relations[number].name.partition("/")[0]
        return f"{predicate}({self._words(place).replace(' ', ',')})"

    def _places(self, relation: str) -> list[int]:
        found: list[int] = np.flatnonzero(self.arrays.relations == self.plan.memories[relation].number).tolist()
        return found

    def _words(self, place: int) -> str:
        arity = self.table.words[self._record(int(self.arrays.relations[place])) + ARITY]
        return " ".join(map(self.dictionary.spell, self.arrays.columns[place, :arity].tolist()))

    def _record(self, relation: int) -> int:
        return TABLE_HEAD + RECORD * relation

    @property
    def _halves(self) -> np.ndarray:
        return self.arrays.rows.view(np.int32)

    def _half(self, place: int, which: int) -> int:
        return int(self._halves[place, which])

    def _next(self, place: int, which: int) -> int:
        """Where the row stands that a half word names, or -1."""
        return self._half(place, which) // self.arrays.stride

    # Indexes --------------------------------------------------------------------------------------------------------

    def chain(self, relation: str, columns: tuple[int, ...], words: str) -> list[str]:
        """The rows with some words in the columns of an index, in the order in which a look-up meets them."""
        number, key = self.plan.memories[relation].number, words.split()

        def fits(place: int) -> bool:
            # Rows of other relations may hold numbers that are no words.
            if int(self.arrays.relations[place]) != number:
                return False
            return [self.dictionary.spell(int(self.arrays.columns[place, column])) for column in columns] == key

        chains = [[place for place in each if fits(place)] for each in self.chains(self._slot(number, columns))]
        found = [each for each in chains if each]
        assert len(found) <= 1, "rows of one key stand in several chains"
        return [self.text(place) for each in found for place in each]

    def _slot(self, relation: int, columns: tuple[int, ...]) -> int:
        """The number of the index of a relation by some columns."""
        return self._indexes(relation).index(columns)

    def _indexes(self, relation: int) -> list[tuple[int, ...]]:
        words, at = self.table.words.tolist(), self._record(relation)
        starts = words[words[at + SLOT_COLUMNS] : words[at + SLOT_COLUMNS] + words[at + SLOTS]]
        return [tuple(words[start + 1 : start + 1 + words[start]]) for start in starts]

    def chains(self, slot: int) -> Iterator[list[int]]:
        """Every chain of an index number, as places of rows."""
        at, link = INDEXES + INDEX * slot, 2 * (int(self.table.words[TABLE_LINKS]) + slot)
        first = self.scalar(at + FIRST_CHAIN)
        for head in range(first, first + self.scalar(at + CHAINS)):
            chain, before = [], ~head
            place = int(self.arrays.heads[head]) // self.arrays.stride
            while place >= 0:
                assert self._half(place, link + 1) == before, "a row does not know what is before it in its chain"
                chain.append(place)
                before, place = place * self.arrays.stride, self._next(place, link)
            yield chain

    # Free rows and the calendar -------------------------------------------------------------------------------------

    def free(self) -> list[int]:
        """The places that were given back, the one to be taken next first."""
        places, place = [], self.scalar(FREE) // self.arrays.stride
        while place >= 0:
            places.append(place)
            place = self._next(place, LATER)
        return places

    def calendar(self) -> dict[int, list[str]]:
        """For each tick at which rows are to be looked at, these rows, the last of them to be looked at first."""
        return {tick: [self.text(row) for chunk in chunks for row in chunk] for tick, chunks in self.chunks().items()}

    def chunks(self) -> dict[int, list[list[int]]]:
        """For each tick of the calendar its chunks, as places of rows."""
        found: dict[int, list[list[int]]] = {}
        for header in np.flatnonzero(self.arrays.relations == self.table.words[TABLE_BUCKET]).tolist():
            chunks = found[int(self.arrays.columns[header, 0])] = []
            chunk = self._next(header, LATER)
            while chunk >= 0:
                names = self._halves[chunk, 2 * COLUMNS : 2 * COLUMNS + self._half(chunk, FLAG)]
                # The newest chunk is found first.
                chunks.insert(0, (names // self.arrays.stride).tolist())
                chunk = self._next(chunk, LATER)
        return dict(sorted(found.items()))

    # All of it ------------------------------------------------------------------------------------------------------

    def audit(self) -> None:
        """Asserts that rows, chains, free list and calendar agree with each other."""
        relations = self.arrays.relations
        living = np.flatnonzero(relations >= 0).tolist()
        assert sorted(self.free() + living) == list(range(self.arrays.used))
        assert self.scalar(LIVE) == len(living)
        for slot in range(int(self.table.words[TABLE_SLOTS])):
            linked = [place for chain in self.chains(slot) for place in chain]
            expected = [place for place in living if self.table.words[self._record(relations[place]) + SLOTS] > slot]
            assert sorted(linked) == expected
            assert self.scalar(INDEXES + INDEX * slot + ENTRIES) == len(expected)
        self._audit_calendar(living)

    def _audit_calendar(self, living: list[int]) -> None:
        calendar = self.chunks()
        heap = self.arrays.heap[: self.scalar(HEAP_LENGTH)].tolist()
        assert sorted(heap) == list(calendar)
        assert all(heap[(place - 1) // 2] <= heap[place] for place in range(1, len(heap)))
        scheduled = set()
        for chunk in (chunk for chunks in calendar.values() for chunk in chunks):
            for position, place in enumerate(chunk):
                assert self._half(place, LATER) == position, "a row does not know its place in the calendar"
                assert self._half(self._next(place, EARLIER), 2 * COLUMNS + position) // self.arrays.stride == place
                scheduled.add(place)
        chunks = self.arrays.relations == self.table.words[TABLE_CHUNK]
        flagged = {place for place in living if not chunks[place] and self._half(place, FLAG) & IN_CALENDAR}
        assert flagged == scheduled
