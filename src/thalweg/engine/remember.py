"""What is kept of earlier ticks: conclusions that are recorded, and facts that rules look for `before` now.

After each tick it is noted what has begun and ended among the rows that the recordings of a plan follow. The engine
does not jump over the next tick then: what was noted is fed at it. So what is `before` now is settled when a tick
begins, and rules may rest on their own past. While nothing changes there is nothing to note, however long it holds.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.engine.feeds import Feeds
from thalweg.engine.layout import BORN, DIED, FEED_RETRACT, FEED_UNTIL, LENGTHS, RAISED, Arrays
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER, NEVER
from thalweg.planning.rule_plan import Feed, Recording, Relation, RulePlan

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

Rows = NDArray[np.int64]
Row = tuple[int, ...]


class Note(NamedTuple):
    """Rows for a relation, and until when each is to hold from the next tick on; NEVER where it is taken back."""

    relation: Relation
    rows: Rows
    until: Rows


class Streak:
    """What has held without a break, and the ticks at which it will have held for long enough."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.due_at: dict[Row, int] = {}
        # In the order in which they come, because each is as many ticks ahead as the others.
        self.due: dict[int, list[Row]] = {}

    def wait(self, rows: Iterable[Row], tick: int) -> None:
        for row in rows:
            self.due_at[row] = tick
            self.due.setdefault(tick, []).append(row)

    def drop(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.due_at.pop(row, None)

    @property
    def next_due(self) -> int:
        return next(iter(self.due), FOREVER)

    def take(self, tick: int) -> list[Row]:
        """The rows that have held for long enough by a tick."""
        rows: list[Row] = []
        while self.due and self.next_due <= tick:
            due = self.next_due
            for row in self.due.pop(due):
                if self.due_at.get(row) == due:
                    del self.due_at[row]
                    rows.append(row)
        return rows


class Remembered:
    """The rows of recordings and delayed feeds that are to be fed at a later tick."""

    def __init__(self, plan: RulePlan) -> None:
        self.lasting = [recording for recording in plan.recordings if recording.kind == "lasting"]
        self.followed = [recording for recording in plan.recordings if recording.kind == "followed"]
        self.streaks = [Streak(recording) for recording in plan.recordings if recording.kind == "streak"]
        self.delayed = {
            key: delayed
            for key, feeds in plan.feeds.items()
            if (delayed := [feed for feed in feeds if is_delayed(feed)])
        }
        self.notes: list[Note] = []
        self.is_needed = bool(self.lasting or self.followed or self.streaks or self.delayed)

    # Noting ---------------------------------------------------------------------------------------------------------

    def note_streamed(self, signature: Predicate, stream: str | None, words: list[int] | Rows, tick: int) -> None:
        """Notes facts that have come at a tick."""
        for feed in self.delayed.get((signature, stream), ()):
            flat = words.reshape(-1) if isinstance(words, np.ndarray) else np.array(words, dtype=np.int64)
            rows = flat.reshape(-1, signature.arity) if signature.arity else np.zeros((1, 0), dtype=np.int64)
            if feed.kind == "timed past":
                rows = np.hstack((rows, np.full((len(rows), 1), tick << 2 | 1, dtype=np.int64)))
            self._note(feed.relation, rows, min(tick + feed.size, FOREVER))

    def note(self, arrays: Arrays, tick: int, first: int) -> None:
        """Notes what has begun and ended at a tick that has been evaluated."""
        if self.lasting and arrays.scalars[LENGTHS + RAISED]:
            places = np.unique(arrays.listed(RAISED))
            places = places[arrays.horizons[places] >= tick]
            for recording in self.lasting:
                chosen = places[arrays.relations[places] == recording.source.number]
                until = np.minimum(arrays.horizons[chosen] + recording.size, FOREVER)
                self._note(recording.target, arrays.columns[chosen, : recording.source.arity], until)
        if not (self.followed or self.streaks):
            return
        born, died = arrays.listed(BORN), arrays.listed(DIED)
        # What has come and gone within one tick has not held at any.
        died = died[(arrays.horizons[died] < tick) & ~np.isin(died, born)]
        born = born[arrays.horizons[born] >= tick]
        if not (len(born) or len(died)):
            return
        for recording in self.followed:
            came, went = _rows_of(arrays, recording.source, born), _rows_of(arrays, recording.source, died)
            self._note(recording.target, came, FOREVER)
            self._end(recording, went, tick - 1, tick)
        for streak in self.streaks:
            recording = streak.recording
            came, went = (_rows_of(arrays, recording.source, rows) for rows in (born, died))
            streak.drop(map(tuple, went.tolist()))
            self._note(recording.target, went, NEVER)
            if tick == first:
                self._note(recording.target, came, FOREVER)
            else:
                streak.wait(map(tuple, came.tolist()), tick + recording.size)

    def _note(self, relation: Relation, rows: Rows, until: int | Rows) -> None:
        if len(rows):
            ends = until if isinstance(until, np.ndarray) else np.full(len(rows), until, dtype=np.int64)
            self.notes.append(Note(relation, np.ascontiguousarray(rows), ends))

    def _end(self, recording: Recording, rows: Rows, last: int, now: int) -> None:
        """Notes that rows have held at a `last` tick."""
        self._note(recording.target, rows, NEVER)
        if last + recording.size > now:
            self._note(recording.target, rows, last + recording.size)

    # Feeding --------------------------------------------------------------------------------------------------------

    @property
    def next_due(self) -> int:
        """The next tick at which something has held for long enough."""
        return min((streak.next_due for streak in self.streaks), default=FOREVER)

    def feed(self, tick: int, feeds: Feeds) -> None:
        """Feeds what was noted at the tick before, and what has held for long enough."""
        for streak in self.streaks:
            if completed := streak.take(tick):
                self._note(streak.recording.target, _as_rows(completed, streak.recording.target.arity), FOREVER)
        notes, self.notes = self.notes, []
        # What is corrected is taken back before it is fed anew.
        for relation, rows, until in sorted(notes, key=lambda note: note.until[0] != NEVER):
            if until[0] == NEVER:
                index = (FEED_RETRACT, relation.number, 0, -1, 0, 0, relation.arity)
                feeds.put(np.array([index]), rows.reshape(-1), len(rows))
            else:
                index = (FEED_UNTIL, relation.number, 0, -1, 0, 0, relation.arity + 1)
                feeds.put(np.array([index]), np.hstack((rows, until.reshape(-1, 1))).reshape(-1), len(rows))

    # State ----------------------------------------------------------------------------------------------------------

    def waiting(self) -> list[Note]:
        """The rows that have not held for long enough, each with the tick at which it will have."""
        return [
            Note(streak.recording.target, _as_rows(streak.due_at, streak.recording.target.arity), _array(streak.due_at))
            for streak in self.streaks
            if streak.due_at
        ]

    def resume(self, notes: Iterable[Note], waiting: Iterable[Note]) -> None:
        """Goes on from what was saved."""
        self.notes = list(notes)
        streaks = {streak.recording.target: streak for streak in self.streaks}
        for relation, rows, due in waiting:
            for row, tick in sorted(
                zip(map(tuple, rows.tolist()), due.tolist(), strict=True), key=lambda entry: entry[1]
            ):
                streaks[relation].wait([row], tick)

    def words(self) -> Iterator[Rows]:
        """The words of all terms that it would miss."""
        yield from (note.rows.reshape(-1) for note in (*self.notes, *self.waiting()))

    def reconcile(self, engine: "PlanEngine") -> None:
        """Notes the differences between what holds by another plan and what was followed by the one before."""
        assert engine.now is not None
        arrays, now = engine.arrays, engine.now
        for recording in self.lasting:
            living = _living(arrays, recording.source, now)
            until = np.minimum(arrays.horizons[living] + recording.size, FOREVER)
            self._note(recording.target, arrays.columns[living, : recording.source.arity], until)
        for recording in self.followed:
            came, went = self._differences(arrays, recording, now)
            self._note(recording.target, came, FOREVER)
            self._end(recording, went, now, now)
        for streak in self.streaks:
            came, went = self._differences(arrays, streak.recording, now, streak.due_at)
            streak.drop(map(tuple, went.tolist()))
            self._note(streak.recording.target, went, NEVER)
            streak.wait(map(tuple, came.tolist()), now + streak.recording.size)

    def _differences(
        self, arrays: Arrays, recording: Recording, now: int, waiting: Iterable[Row] = ()
    ) -> tuple[Rows, Rows]:
        """The rows that hold and are not followed, and those that are followed and do not hold: no longer noted."""
        target, arity = recording.target, recording.source.arity
        living = set(_as_tuples(arrays.columns[_living(arrays, recording.source, now), :arity]))
        followed = set(waiting)
        kept = _living(arrays, target, now)
        followed.update(_as_tuples(arrays.columns[kept[arrays.horizons[kept] >= FOREVER], :arity]))
        for note in self.notes:
            if note.relation == target and note.until[0] == NEVER:
                followed.difference_update(_as_tuples(note.rows))
        notes: list[Note] = []
        for note in self.notes:
            if note.relation == target and note.until[0] >= FOREVER:
                rows = _as_tuples(note.rows)
                followed.update(rows)
                holds = np.array([row in living for row in rows], dtype=bool)
                note = Note(target, note.rows[holds], note.until[holds])
            if len(note.rows):
                notes.append(note)
        self.notes = notes
        return _as_rows(living - followed, arity), _as_rows(followed - living, arity)


def is_delayed(feed: Feed) -> bool:
    """Whether facts are fed a tick after they came."""
    return feed.kind in ("past", "timed past")


def _rows_of(arrays: Arrays, relation: Relation, places: NDArray[np.int32]) -> Rows:
    return arrays.columns[places[arrays.relations[places] == relation.number], : relation.arity]


def _living(arrays: Arrays, relation: Relation, now: int) -> Rows:
    return np.flatnonzero((arrays.relations == relation.number) & (arrays.horizons >= now))


def _as_tuples(rows: Rows) -> list[Row]:
    return [tuple(row) for row in rows.tolist()]


def _as_rows(rows: Collection[Row], arity: int) -> Rows:
    return np.array(list(rows), dtype=np.int64).reshape(len(rows), arity)


def _array(due_at: dict[Row, int]) -> Rows:
    return np.array(list(due_at.values()), dtype=np.int64)
