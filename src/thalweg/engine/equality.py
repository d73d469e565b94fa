"""Equality: classes of equal words, and the representative that facts are output about.

Rules derive *edges* between equal things, each guaranteed until a tick. Here they are put together to classes, and each
member of a class other than its representative, the one with the least name, gets a *link* to it, which the rules see:
they copy what is said of the member. The guarantee of a link is that of the weakest edge on a way between the two; when
it has passed, its class is put together again from the edges that are left. Nothing is ever taken back: what was
derived about a member stays, for it is true, and is not output while the member has a link.

What can go wrong: links may make rules derive more edges, so that a tick takes several rounds; a fact may end in one
round and come back in the next, and must not be output at all.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.arena import mentioning
from thalweg.engine.feeds import Feeds
from thalweg.engine.layout import (
    BEGUN,
    COLUMNS,
    ENDED,
    EXPIRING,
    FEED_UNTIL,
    LENGTHS,
    LINKS,
    LOG,
    RAISED,
    RELATION,
)
from thalweg.model.time import FOREVER

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

Rows = NDArray[np.int64]
EqualityLink = tuple[int, int, int]
"""A member, its representative, and the last tick for which it is guaranteed that they are one."""


_LAST: Final = "\U0010ffff"
_BYTES_A_MEMBER: Final = 800


def hub(rule: int, key: int) -> int:
    """The node that connects words with the same key: each has an edge to it. It is not a word, and sorts last.

    >>> hub(8, -5) < 0, of_hub(hub(8, -5))
    (True, (8, -5))
    """
    return -1 - (rule << 65 | key + (1 << 63))


def of_hub(word: int) -> tuple[int, int]:
    """The rule and the key of a hub."""
    rule, key = divmod(-1 - word, 1 << 65)
    return rule, key - (1 << 63)


class Classes:
    """Classes of equal words, by the edges between them; a negative one is a `hub`.

    >>> classes = Classes(str)
    >>> classes.add([(3, 2, 9), (2, 1, 5)])
    [(2, 1, 5), (3, 1, 5)]
    >>> classes.begin(6)
    [(3, 2, 9)]
    """

    def __init__(self, name: Callable[[int], str]) -> None:
        self.known: dict[tuple[int, int], int] = {}
        self._name = name
        self._edges: dict[int, dict[int, int]] = {}
        self._members: dict[int, list[int]] = {}
        self._links: dict[int, tuple[int, int]] = {}
        self._ends: dict[int, int] = {}
        self._calendar: list[tuple[int, int]] = []

    def add(self, edges: Iterable[EqualityLink]) -> list[EqualityLink]:
        """Takes in edges; the links of everything that has another representative now."""
        bridges: dict[int, dict[int, int]] = {}
        for first, second, until in edges:
            _strengthen(self._edges, first, second, until)
            (left, strong), (right, stronger) = (
                self._links.get(member, (member, FOREVER)) for member in (first, second)
            )
            if left != right:
                _strengthen(bridges, left, right, min(until, strong, stronger))
        links: list[EqualityLink] = []
        while bridges:
            group = _reached(next(iter(bridges)), bridges)
            home = min(group, key=self._name)
            strengths = _reached(home, bridges)
            links += self._move(home, {old: until for old, until in strengths.items() if old != home})
            for old in group:
                del bridges[old]
        return links

    def _move(self, home: int, strengths: Mapping[int, int]) -> list[EqualityLink]:
        """Brings the members of other classes home."""
        moved: list[EqualityLink] = []
        for old, strength in strengths.items():
            self._ends.pop(old, None)
            for member in self._members.pop(old, [old]):
                until = min(
                    strength, self._links.get(member, (old, FOREVER))[1], self.known.get((member, home), FOREVER)
                )
                self._links[member] = home, until
                moved.append((member, home, until))
        self._members.setdefault(home, [home]).extend(member for member, _, _ in moved)
        self._plan(home, min(until for _, _, until in moved))
        return moved

    def _plan(self, home: int, end: int) -> None:
        """Has a class looked at when the first of its links has ended."""
        if end < self._ends.get(home, FOREVER):
            self._ends[home] = end
            heapq.heappush(self._calendar, (end, home))

    def begin(self, tick: int) -> list[EqualityLink]:
        """Puts the classes together again in which links have ended; the links that are new."""
        links: list[EqualityLink] = []
        while self._calendar and self._calendar[0][0] < tick:
            end, home = heapq.heappop(self._calendar)
            if self._ends.get(home) == end:
                links += self._renew(home, tick)
        return links

    def _renew(self, home: int, tick: int) -> list[EqualityLink]:
        del self._ends[home]
        members = self._members.pop(home)
        before = {member: self._links.pop(member, None) for member in members}
        for member in members:
            self._edges[member] = {other: until for other, until in self._edges[member].items() if until >= tick}
        links: list[EqualityLink] = []
        # In the order of names, the first that is in no class yet is the representative of a class.
        for first in sorted(members, key=self._name):
            if first in self._links:
                continue
            reached = _reached(first, self._edges)
            if len(reached) == 1:
                del self._edges[first]
                continue
            self._members[first] = list(reached)
            del reached[first]
            for member, until in reached.items():
                self._links[member] = first, until
                if before[member] != (first, until):
                    links.append((member, first, until))
            self._plan(first, min(reached.values()))
        return links

    def __len__(self) -> int:
        """How many have links."""
        return len(self._links)

    def home(self, word: int) -> int:
        """The representative of a word: itself, if it is equal to nothing else."""
        return self._links.get(word, (word, FOREVER))[0]

    def way(self, start: int, end: int, without: Collection[tuple[int, int]] = ()) -> list[tuple[int, int]] | None:
        """The edges that lead from one member of a class to another, the strongest there are; None if none are left."""
        edges = {
            member: {other: until for other, until in neighbours.items() if (member, other) not in without}
            for member, neighbours in self._edges.items()
        }
        before: dict[int, int] = {}
        _reached(start, edges if without else self._edges, before)
        steps: list[tuple[int, int]] = []
        while end != start:
            if end not in before:
                return None
            steps.append((before[end], end))
            end = before[end]
        return steps[::-1]


def _strengthen(edges: dict[int, dict[int, int]], first: int, second: int, until: int) -> None:
    for left, right in ((first, second), (second, first)):
        neighbours = edges.setdefault(left, {})
        neighbours[right] = max(until, neighbours.get(right, until))


def _reached(
    start: int, edges: Mapping[int, Mapping[int, int]], before: dict[int, int] | None = None
) -> dict[int, int]:
    """Everything that edges connect with `start`, and until when, by the best of ways; `before` gets the ways.

    >>> _reached(1, {1: {2: 5, 3: 9}, 2: {1: 5, 3: 7}, 3: {1: 9, 2: 7}})
    {1: 4611686018427387904, 3: 9, 2: 7}
    """
    reached: dict[int, int] = {}
    waiting = [(-FOREVER, start, start)]
    while waiting:
        weakness, member, came = heapq.heappop(waiting)
        if member in reached:
            continue
        reached[member] = -weakness
        if before is not None:
            before[member] = came
        for other, until in edges.get(member, {}).items():
            if other not in reached:
                heapq.heappush(waiting, (max(weakness, -until), other, member))
    return reached


class HiddenMembers:
    """The words that have links, so that facts about them are not output.

    >>> hidden = HiddenMembers()
    >>> hidden.take([(7, 3, 5)])
    >>> hidden.settle(4), hidden.settle(6)
    (({7}, set()), (set(), {7}))
    """

    def __init__(self) -> None:
        self.hidden: set[int] = set()
        self._until: dict[int, int] = {}
        self._calendar: list[tuple[int, int]] = []
        self._fresh: set[int] = set()

    def take(self, links: Iterable[EqualityLink]) -> None:
        """Takes in links."""
        for member, _, until in links:
            if until > self._until.get(member, -1):
                self._until[member] = until
                self._fresh.add(member)
                heapq.heappush(self._calendar, (until, member))

    def settle(self, tick: int) -> tuple[set[int], set[int]]:
        """The words that are hidden from this tick on, and those that are so no longer."""
        shown = set()
        while self._calendar and self._calendar[0][0] < tick:
            until, member = heapq.heappop(self._calendar)
            if self._until.get(member) == until:
                del self._until[member]
                shown.add(member)
        came = {member for member in self._fresh if member in self._until} - self.hidden
        shown &= self.hidden
        self._fresh.clear()
        self.hidden = (self.hidden - shown) | came if came or shown else self.hidden
        return came, shown


class EqualityState:
    """The state of equality in an engine, and the steps that it adds to a tick."""

    def __init__(self, engine: "PlanEngine") -> None:
        self._engine = engine
        self.classes = Classes(lambda word: engine.dictionary.spell(word) if word >= 0 else _LAST)
        self._hidden = HiddenMembers()
        assert engine.program.equality is not None
        self._buffer: Rows = np.zeros(64, dtype=np.int64)
        self._contradictions: set[int] = set()
        self._rounds = 0
        self._unnamed_relations = [number for number, name in engine.decoder.predicates.items() if name[0] not in "<_"]
        self._names = list(map(engine.dictionary.code, engine.program.equality.names))

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        return _BYTES_A_MEMBER * len(self.classes)

    # Rounds ---------------------------------------------------------------------------------------------------------

    def begin(self, tick: int, feeds: Feeds) -> None:
        """Feeds the links that stand for those that have ended."""
        self._feed(self.classes.begin(tick), feeds)

    def evaluate(self, tick: int) -> None:
        """Goes on with a tick until the rules find no more edges that matter."""
        self._rounds = seen = 0
        while (raised := int(self._engine.arrays.scalars[LENGTHS + RAISED])) > seen:
            feeds = Feeds()
            self._feed(self.classes.add(self._edges(seen)), feeds)
            seen = raised
            if feeds.length:
                self._rounds += 1
                # What these lists say has been done.
                self._engine.arrays.scalars[[LENGTHS + LOG, LENGTHS + EXPIRING]] = 0
                self._engine.evaluate(tick, *feeds.arrays())

    def _edges(self, seen: int) -> list[EqualityLink]:
        """The edges that have been found since some were seen."""
        plan, arrays, columns_of = self._engine.plan, self._engine.arrays, self._engine.decoder.columns_of
        rows = arrays.rows.take(np.unique(arrays.listed(RAISED)[seen:]), axis=0)
        edges: list[EqualityLink] = [] if plan.same_pairs is None else columns_of(plan.same_pairs, rows, True).tolist()
        if plan.same_keys is not None:
            alike = columns_of(plan.same_keys, rows, True).tolist()
            edges += [(member, hub(rule, key), until) for rule, key, member, until in alike]
        return edges

    def take(self, links: Rows) -> None:
        """Takes in links that another part has found."""
        self._hidden.take(links.tolist())

    def resume(self, tick: int) -> None:
        """Goes on from facts that were saved, among them links: others may know those and how long they last."""
        relation, arrays = self._engine.plan.representative, self._engine.arrays
        assert relation is not None
        links = self._engine.decoder.columns_of(relation, arrays.rows[np.flatnonzero(arrays.horizons >= tick)], True)
        self.take(links)
        self.classes.known = {(member, home): until for member, home, until in links.tolist()}
        self.evaluate(tick)
        self.classes.known = {}
        self._hidden.settle(tick)
        self._note_contradictions(tick)

    def _feed(self, changed_links: list[EqualityLink], feeds: Feeds) -> None:
        links = [link for link in changed_links if link[0] >= 0]
        relation = self._engine.plan.representative
        assert relation is not None
        if links:
            self._hidden.take(links)
            index = np.array([(FEED_UNTIL, relation.number, 0, -1, 0, 0, 3)])
            feeds.put(index, np.array(links, dtype=np.int64).reshape(-1), len(links))

    # Output ---------------------------------------------------------------------------------------------------------

    def visible_changes(self, tick: int, begun: Rows | None, ended: Rows | None) -> tuple[Rows | None, Rows | None]:
        """The rows that begin and end in the output, also because words got another representative."""
        self._note_contradictions(tick)
        before = self._hidden.hidden
        came, shown = self._hidden.settle(tick)
        if ended is not None and self._rounds:
            # It ended in one round, and came back in another.
            ended = ended[ended[:, 0] < tick]
        ended = _both(self._visible(ended, before), self._visible(self._lasting(came), before))
        begun = _both(self._visible(begun), self._visible(self._lasting(shown)))
        return begun, ended

    def _lasting(self, words: Collection[int]) -> Rows | None:
        """The rows of the output that have held before, and mention one of the words."""
        if not words:
            return None
        arrays = self._engine.arrays
        begun = set(arrays.listed(BEGUN).tolist())
        places = {*self._mentioning(np.array(list(words), dtype=np.int64)), *self._contradictions} - begun
        rows = arrays.rows[list(places)]
        return rows[np.isin(rows[:, COLUMNS : int(arrays.scalars[LINKS])], list(words)).any(axis=1)]

    def _mentioning(self, words: Rows) -> list[int]:
        """Where the rows about the words stand."""
        table, arrays = self._engine.table.words, self._engine.arrays
        count = mentioning(table, arrays.scalars, self._engine.table.by_column, words, self._buffer)
        if count > len(self._buffer):
            self._buffer = np.zeros(2 * count, dtype=np.int64)
            mentioning(table, arrays.scalars, self._engine.table.by_column, words, self._buffer)
        places: list[int] = (self._buffer[:count] // arrays.stride).tolist()
        return places

    def _note_contradictions(self, tick: int) -> None:
        """Remembers where the contradictions in the output stand: they are few, and have no index."""
        horizons = self._engine.arrays.horizons
        self._contradictions.difference_update(row for row in self._unnamed(ENDED) if horizons[row] < tick)
        self._contradictions.update(self._unnamed(BEGUN))

    def _unnamed(self, list_number: int) -> list[int]:
        """The rows of a list that are contradictions."""
        arrays = self._engine.arrays
        if not arrays.scalars[LENGTHS + list_number]:
            return []
        rows = arrays.listed(list_number)
        relations = arrays.relations[rows]
        return [row for number in self._unnamed_relations for row in rows[relations == number].tolist()]

    def visible(self, rows: Rows) -> Rows:
        """The rows that are output."""
        shown = self._visible(rows)
        return rows[:0] if shown is None else shown

    def _visible(self, rows: Rows | None, hidden: Collection[int] | None = None) -> Rows | None:
        hidden = self._hidden.hidden if hidden is None else hidden
        if rows is None or not len(rows):
            return None
        if not hidden:
            return rows
        engine = self._engine
        assert engine.plan.representative is not None
        relations = rows.view(np.int32)[:, RELATION]
        columns = rows[:, COLUMNS : int(engine.arrays.scalars[LINKS])]
        veiled = _among(columns, hidden) & (np.arange(columns.shape[1]) < engine.decoder.arities[relations][:, None])
        # A link is output although its member is hidden.
        veiled[relations == engine.plan.representative.number, 0] = False
        unnamed = np.isin(relations, self._unnamed_relations)
        if unnamed.any():
            veiled[unnamed] &= ~np.isin(columns[unnamed], self._names)
        rows = rows[~veiled.any(axis=1)]
        return rows if len(rows) else None


def _among(columns: Rows, words: Collection[int]) -> NDArray[np.bool_]:
    """A mask of the words that are in a collection; if fewer than it has, they are looked up one by one."""
    if columns.size < len(words):
        return np.array([word in words for word in columns.reshape(-1).tolist()], dtype=bool).reshape(columns.shape)
    return np.isin(columns, np.fromiter(words, np.int64, len(words)))


def _both(first: Rows | None, second: Rows | None) -> Rows | None:
    if first is None or second is None:
        return first if second is None else second
    return np.concatenate((first, second))
