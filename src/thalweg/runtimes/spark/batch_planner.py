"""The batches of the streams of a run: what was recorded, cut into blocks, and what the driver has received.

The offsets of the query say how far each recording has been read, which segment of the arrival log comes next, and what
the batch must know of those before it (`KNOWN`): so a batch that is tried again reads the same from the same place.

    {"0": "2:512", "arrivals": "41", "known": "{…}"}

Recordings that have come further than all live streams wait for these.

They are planned in a process of Spark's, for which the first batch waits; it needs neither the engine nor the program.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from thalweg.model.sealed import seal_json, unseal_json
from thalweg.model.shipped import Shipped
from thalweg.runtimes.checkpoint_folder import read_sealed, replace_file
from thalweg.runtimes.spark.arrival_log import ArrivalLog, Segment
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.pace import Pace
from thalweg.runtimes.spark.received_parts import Beat, ReceivedPart, ReceivedSource, can_be_shared
from thalweg.runtimes.spark.recordings import (
    BatchSizes,
    Block,
    Offsets,
    ReadingOptions,
    RecordedSource,
    offset_of,
    positions_of,
)
from thalweg.runtimes.stored_path import CheckpointPath

KNOWN: Final = "known.json"
"""The file of a run's folder with what the next batch must know of those before it."""
_ARRIVALS: Final = "arrivals"
_KNOWN: Final = "known"

Work = Block | ReceivedPart | Beat
"""What a task does."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a batch must know of those before it.

    `readers` has what the last task of each received group has left, by the number of the group, `highest` the greatest
    tick of each group so far, `ended` those that have. Recordings that are `ahead` wait for live streams. So many facts
    were `observed`.
    """

    readers: dict[str, Any] = field(default_factory=dict)
    highest: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()
    ahead: tuple[int, ...] = ()
    observed: int = 0

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Known":
        highest, ended, ahead = (tuple(data[name]) for name in ("highest", "ended", "ahead"))
        return cls(data["readers"], highest, ended, ahead, data["observed"])

    @property
    def data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def load(cls, folder: CheckpointPath) -> "Known":
        """What the driver has written down; nothing before the first batch."""
        file = folder / KNOWN
        return cls.read(read_sealed(file, FORMAT, unseal_json)) if file.exists() else cls()

    def save(self, folder: CheckpointPath) -> None:
        replace_file(folder / KNOWN, seal_json(self.data, FORMAT))


@dataclass(frozen=True)
class StreamSources(Shipped):
    """The streams of a run, in groups: recordings first; `folder` is that of the run."""

    recorded: tuple[RecordedSource, ...]
    received: tuple[ReceivedSource, ...]
    folder: CheckpointPath

    @property
    def groups(self) -> int:
        return len(self.recorded) + len(self.received)

    @property
    def live(self) -> tuple[int, ...]:
        """The groups whose time may go by the machine's clock."""
        return tuple(source.group for source in self.received if source.is_live)

    @property
    def log(self) -> ArrivalLog:
        """What live streams have brought."""
        return ArrivalLog(self.folder)


class BatchPlanner:
    """How far the next batch reads, and what its tasks do."""

    def __init__(self, sources: StreamSources, reading: ReadingOptions, sizes: BatchSizes, tasks: int = 1) -> None:
        self._sources = sources
        self._reading = reading
        self._sizes = sizes
        self._tasks = tasks
        self._offsets = Offsets(sources.recorded, sizes)
        self._pace = Pace(sizes.first, sizes.least, sizes.most)
        self._planned: float | None = None
        # Where the next batch is to begin, and what is known there: only a batch changes that, and Spark asks all the
        # time, while each look at another file system costs something.
        self._asked: tuple[dict[str, str], Known] | None = None
        self._log = sources.log
        self._last: dict[str, str] | None = None
        self._everything: tuple[tuple[dict[str, str], int], dict[str, str]] | None = None

    def first(self) -> dict[str, str]:
        """Before anything was read."""
        offset = offset_of(self._offsets.first())
        return {**offset, _ARRIVALS: "0"} if self._sources.received else offset

    def next(self, start: dict[str, str]) -> dict[str, str]:
        """The offset at which the batch ends that begins at another one."""
        if self._planned is not None:
            self._pace.see(time.monotonic() - self._planned)
            self._planned = None
        is_repeated = self._asked is not None and self._asked[0] == start
        if self._asked is None or not is_repeated:
            self._asked = start, Known.load(self._sources.folder)
        known = self._asked[1]
        positions = positions_of(start)
        ends = self._offsets.next(positions, self._pace.size)
        ends = [positions[group] if group in known.ahead else end for group, end in enumerate(ends)]
        begin = int(start.get(_ARRIVALS, "0"))
        taken = self._taken(begin, self._pace.size)
        if ends == positions and taken == begin:
            # There is nothing new, perhaps because the log is full. Spark asks only after a complete batch (it repeats
            # an incomplete one without asking), so what that batch has read can go.
            if not is_repeated:
                self._log.forget(begin - 1)
            return start
        self._planned = time.monotonic()
        return self._offset(offset_of(ends), taken, known)

    def following(self, begun: dict[str, str] | None) -> dict[str, str]:
        """The same where Spark does not say where the batch begins: at the last answer, or where a run is resumed.

        Spark makes a batch of each answer that differs from the one before it, or from where the last batch had `begun`
        to read to.
        """
        self._last = self.next(self._last or begun or self.first())
        return self._last

    def everything(self) -> dict[str, str]:
        """Behind all that there is; the same offset as before where nothing has come."""
        places = offset_of(self._offsets.last()), self._log.end
        if self._everything is None or self._everything[0] != places:
            self._everything = places, self._offset(*places, Known.load(self._sources.folder))
        else:
            # The batch up to the last answer is complete, as in `next`.
            self._log.forget(places[1] - 1)
        return self._everything[1]

    def _offset(self, offset: dict[str, str], taken: int, known: Known) -> dict[str, str]:
        if self._sources.received:
            offset = {**offset, _ARRIVALS: str(taken)}
        return {**offset, _KNOWN: json.dumps(known.data)} if known != Known() else offset

    def _taken(self, start: int, size: int) -> int:
        """The number behind the last segment of a batch that takes about as many bytes, at least one if there is."""
        for number in range(start, self._log.end if self._sources.received else start):
            size -= sum(length for _, _, length in self._log.head(number).arrivals)
            start = number + 1
            if size <= 0:
                break
        return start

    def works(self, start: dict[str, str], end: dict[str, str]) -> tuple[list[tuple[Work, ...]], int]:
        """What each task of a batch does, and how many facts were observed before it."""
        known = Known.read(json.loads(end[_KNOWN])) if _KNOWN in end else Known()
        works: list[tuple[Work, ...]] = [*self._offsets.blocks(positions_of(start), positions_of(end), self._tasks)]
        if not self._sources.received:
            return works, known.observed
        numbers = range(int(start.get(_ARRIVALS, "0")), int(end[_ARRIVALS]))
        segments = {number: self._log.head(number) for number in numbers}
        beat = self._beat(segments, numbers.stop)
        parts = [part for source in self._sources.received if (part := self._part(source, segments, numbers, known))]
        size = sum(size for segment in segments.values() for _, _, size in segment.arrivals)
        if size < self._sizes.block:
            # One task is enough for little.
            return [*works, (beat, *parts)], known.observed
        most = max(self._sizes.block, -(-size // max(1, self._tasks)))
        shared = [share for part in parts for share in self._shared(part, segments, most)]
        return [*works, (beat,), *((share,) for share in shared)], known.observed

    def _part(
        self, source: ReceivedSource, segments: dict[int, Segment], numbers: range, known: Known
    ) -> ReceivedPart | None:
        group = source.group
        begun = frozenset(number for number, segment in segments.items() if group in segment.begun)
        brought = {number for number, segment in segments.items() if any(by == group for by, *_ in segment.arrivals)}
        before = numbers.start > 0 and group in self._log.head(numbers.start - 1).ended
        ended = not before and any(group in segment.ended for segment in segments.values())
        if not (brought or begun or ended):
            return None
        mine = tuple(sorted(brought | begun)) or (numbers.stop - 1,)
        return ReceivedPart(group, mine, begun, ended, known.readers.get(str(group)))

    def _shared(self, part: ReceivedPart, segments: dict[int, Segment], most: int) -> Iterator[ReceivedPart]:
        """A part in pieces of about as many bytes, where its lines stand for themselves; else as it is."""
        group = part.group
        lines = {number: dict(segments[number].lines).get(group) for number in part.segments}
        source = self._sources.received[group - len(self._sources.recorded)]
        if part.begun or None in lines.values() or not can_be_shared(source, part.known, self._reading):
            yield part
            return
        piece: list[int] = []
        before, inside, size = 0, 0, 0
        for number in part.segments:
            piece.append(number)
            inside += lines[number] or 0
            size += sum(length for by, _, length in segments[number].arrivals if by == group)
            if size >= most or number == part.segments[-1]:
                ended = part.ended and number == part.segments[-1]
                yield replace(part, segments=tuple(piece), ended=ended, lines=before)
                piece, before, inside, size = [], before + inside, 0, 0

    def _beat(self, segments: dict[int, Segment], end: int) -> Beat:
        """How far time is behind a batch; the last segment says which groups rest, also where it came before."""
        last = self._log.head(end - 1) if end else Segment()
        beats = [moment for segment in segments.values() for moment in segment.beats]
        clock = self._reading.clock
        ticks = tuple((beat - clock.epoch) // clock.tick_length for beat in beats[:: max(1, len(beats) - 1)])
        groups = tuple(group for group in self._sources.live if group not in last.ended)
        return Beat(last.resting, ticks, groups, last.is_cut)

    def commit(self, end: dict[str, str]) -> None:
        """Forgets what batches up to an offset have taken; the last segment says how far time has come."""
        if _ARRIVALS in end:
            self._log.forget(int(end[_ARRIVALS]) - 1)
