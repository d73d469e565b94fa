"""The streams of the service: what each is mapped by, and what came on it.

    streams/north.json               all versions of its definition: a record of the log says which it was taken with
    streams/north.statistics.json    what came on it, as of some record; the log has what came since

A stream begins with a record that has its first version, and ends with one that has none.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.checkpoint_folder import replace_file
from thalweg.runtimes.inputs import mixed_times
from thalweg.service.body_reader import FORMATS
from thalweg.service.door import Door, DoorReport
from thalweg.service.log import DiskFullError, Log, LogEntry, LogRecord
from thalweg.service.stream import LoggedStream, StreamVersion, read_definition
from thalweg.service.stream_statistics import StreamStatistics

NAME: Final = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
"""What names of streams and programs match."""

_NAMES: Final = re.compile(NAME)
# Media types whose bodies may go on in the next one.
_GOES_ON: Final = ("text/plain", "application/n-quads")
_STATISTICS: Final = ".statistics.json"
_SHOWN: Final = 16 << 20
"""Bytes of records from which on no more are shown at once."""


@dataclass(slots=True)
class _Kept:
    """A stream with its statistics, which are looked at and changed under a lock.

    Bodies and definitions have a turn, so that they are in the log in the order in which they are checked: that takes
    seconds where a body is large, and keeps nobody else waiting.
    """

    stream: LoggedStream
    statistics: StreamStatistics = field(default_factory=StreamStatistics)
    door: Door = field(default_factory=Door)
    turn: Lock = field(default_factory=Lock)
    lock: Lock = field(default_factory=Lock)


class LoggedStreams:
    """The streams by name; every method may be called from any thread."""

    def __init__(self, folder: Path, log: Log) -> None:
        """Reads the definitions in a folder, which is made if need be, and what the log has on these streams."""
        self._folder = folder
        self._log = log
        self._lock = RLock()
        self.connectors: dict[str, Callable[[], dict[str, Any]]] = {}
        """How the connectors of streams are doing, for those that have one."""
        folder.mkdir(parents=True, exist_ok=True)
        self._kept = {kept.stream.name: kept for kept in map(self._read, sorted(self._definitions()))}
        self._catch_up()

    # Definitions ----------------------------------------------------------------------------------------------------

    def put(self, name: str, definition: dict[str, Any]) -> tuple[LoggedStream, bool]:
        """Makes or changes a stream by `{"map": […]}`, once that is durable; and whether it is new.

        `RejectedError` where the name or a mapping cannot be used, `DiskFullError` where it cannot be written. The same
        definition again changes nothing. A definition may also have the keys that a deployment's stream has for its
        table and times (`zone`, `separator`, …), and `from`, the URI of a connector.
        """
        _check_name(name)
        stated = read_definition(name, definition)
        with self._lock:
            kept = self._kept.get(name)
            if kept is None:
                return self._make(name, stated), True
            with kept.turn:
                if kept.stream.version.definition != stated:
                    self._change(kept, stated)
            return kept.stream, False

    def _make(self, name: str, definition: dict[str, Any]) -> LoggedStream:
        # Where the service dies before the definition is written, the record means nothing.
        begin = self._log.append(LogEntry("stream", name, about={"map": 1})).result()
        stream = LoggedStream(name, begin.seq, (StreamVersion(1, definition, name),))
        self._statistics_file(name).unlink(missing_ok=True)
        self._write(stream)
        self._kept[name] = _Kept(stream)
        return stream

    def _change(self, kept: _Kept, definition: dict[str, Any]) -> None:
        # No record may name a version that is not written.
        changed = kept.stream.redefined(definition)
        self._write(changed)
        self._log.append(LogEntry("stream", changed.name, about={"map": changed.version.number})).result()
        kept.stream = changed

    def _write(self, stream: LoggedStream) -> None:
        file = self._file(stream.name)
        try:
            replace_file(file, json.dumps(stream.as_data(), ensure_ascii=False).encode())
        except OSError as error:
            raise DiskFullError(f"cannot write `{file}`: {error}") from None

    def get(self, name: str) -> LoggedStream | None:
        """The stream of a name; None where there is none."""
        kept = self._kept.get(name)
        return None if kept is None else kept.stream

    def __getitem__(self, name: str) -> LoggedStream:
        return self._kept[name].stream

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._kept)

    def delete(self, name: str) -> bool:
        """Deletes a stream; False where there is none. Whether a program reads it is for the caller to see.

        A stream of that name that is made later has none of its records.
        """
        with self._lock:
            kept = self._kept.get(name)
            if kept is None:
                return False
            with kept.turn:
                self._log.append(LogEntry("stream", name, about={"map": None})).result()
                self._forget(name)
                del self._kept[name]
            return True

    def _forget(self, name: str) -> None:
        self._file(name).unlink(missing_ok=True)
        self._statistics_file(name).unlink(missing_ok=True)

    # Facts ----------------------------------------------------------------------------------------------------------

    def post(
        self,
        name: str,
        media: str,
        body: bytes,
        *,
        skip: bool = False,
        key: str | None = None,
        about: dict[str, Any] | None = None,
    ) -> Future[LogRecord]:
        """Checks a body at the door and appends it; `record.answer()` is what the request is answered with.

        `RejectedError` where a line is bad (with `skip`, where the body as a whole is), `LookupError` where there is no
        such stream, `MediaTypeError` where the media type is unknown, and what `Log.append` raises. With a `key` that
        came before nothing is checked. A connector puts its position into `about`: {"position": …, "backlog": …}.
        """
        media, kept = Door.media_type(media), self._kept[name]
        if key is not None:
            # An earlier stream of this name may have had the same one.
            key = f"{kept.stream.born} {key}"
            if (record := self._log.with_key(name, key)) is not None:
                return _done(record)
        with kept.turn:
            if self._kept.get(name) is not kept:
                raise KeyError(name)
            stream, statistics = kept.stream, kept.statistics
            arrived = self._log.now()
            report = kept.door.check(name, stream.version, media, body, arrived, statistics.behind)
            with kept.lock:
                is_mixed = statistics.is_mixed_by(report)
                statistics.meet(report, arrived)
            if report.is_refused or is_mixed or (report.malformed and not skip):
                raise RejectedError([*report.diagnostics, *([mixed_times()] if is_mixed else [])])
            prefixes = statistics.behind.get("prefixes") if FORMATS[media] == "facts" else None
            stated = _about(stream, report, prefixes, key)
            appended = self._log.append(LogEntry("facts", name, media, body, {**(about or {}), **stated}))
            # Should the disk refuse the body, what it would have declared is declared all the same.
            statistics.behind = dict(report.behind)
        return _counted(appended, statistics)

    def records(self, name: str, after: int = 0, limit: int = 100) -> list[LogRecord]:
        """What came on a stream behind a number; fewer records than `limit` where they are large, but at least one."""
        kept = self._kept[name]
        wanted: list[LogRecord] = []
        size = 0
        for record in self._records(max(after, kept.stream.born)):
            if record.kind == "facts" and record.stream == name:
                wanted.append(record)
                size += len(record.body)
            if len(wanted) >= limit or size >= _SHOWN:
                break
        return wanted[:limit]

    def position(self, name: str) -> Any:
        """The `position` of the last record of a stream that has one, which a connector goes on from; else None."""
        return self._kept[name].statistics.position

    def describe(self, name: str, programs: Sequence[str] = ()) -> dict[str, Any]:
        """The object of `GET /v1/streams/{name}`; the caller knows which programs read it."""
        kept = self._kept[name]
        definition = kept.stream.version.definition
        with kept.lock:
            counted = kept.statistics.as_data(self._log.now())
        about = {"name": name, "map": definition.get("map", []), **counted}
        connector = {"connector": self.connectors[name]()} if name in self.connectors else {}
        return {**about, "from": definition.get("from"), **connector, "programs": list(programs)}

    # Statistics -----------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Writes the statistics down, if they have changed; the service does it now and then, and at the end."""
        with self._lock:
            for name, kept in self._kept.items():
                with kept.lock:
                    if kept.statistics.is_saved:
                        continue
                    saved = kept.statistics.save()
                    kept.statistics.is_saved = True
                try:
                    replace_file(self._statistics_file(name), json.dumps(saved, ensure_ascii=False).encode())
                except OSError:
                    # The log has what is counted in them; posts say that the disk is full.
                    kept.statistics.is_saved = False

    def _definitions(self) -> Iterator[Path]:
        return (path for path in self._folder.glob("*.json") if not path.name.endswith(_STATISTICS))

    def _read(self, path: Path) -> _Kept:
        """A stream of the folder with its statistics.

        Those of an earlier stream of its name are not its own. A log that has lost its end gives the numbers that it
        had to other records: then everything is counted again, and the stream is there for what comes.
        """
        stream, last = LoggedStream.of_data(json.loads(path.read_bytes())), self._log.last
        if stream.born > last:
            stream = replace(stream, born=last)
            self._write(stream)
        kept = _Kept(stream)
        counted = self._statistics_file(kept.stream.name)
        saved = json.loads(counted.read_bytes()) if counted.exists() else None
        if saved is not None and kept.stream.born < saved["seq"] <= last:
            kept.statistics.load(saved)
        return kept

    def _catch_up(self) -> None:
        """Counts what the log has behind the statistics, and takes away what it says was deleted."""
        first = min((max(kept.statistics.seq, kept.stream.born) for kept in self._kept.values()), default=None)
        for record in () if first is None else self._records(first):
            kept = self._kept.get(record.stream)
            if kept is None or record.seq <= max(kept.statistics.seq, kept.stream.born):
                continue
            if record.kind == "facts":
                self._recount(kept, record)
            elif record.kind == "stream" and record.about["map"] is None:
                self._forget(record.stream)
                del self._kept[record.stream]

    def _recount(self, kept: _Kept, record: LogRecord) -> None:
        """Counts a record of an earlier process, and reads it where the next one may go on from it."""
        statistics = kept.statistics
        statistics.count(record)
        statistics.malformed += record.about.get("skipped", 0)
        if record.media in _GOES_ON:
            version = kept.stream.version_of(record.about["map"])
            before = {**statistics.behind, "prefixes": record.about.get("prefixes", {})}
            report = kept.door.check(record.stream, version, record.media, record.body, record.arrived, before)
            statistics.behind = dict(report.behind)

    def _records(self, after: int) -> Iterator[LogRecord]:
        while records := self._log.read(after):
            yield from records
            after = records[-1].seq

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _statistics_file(self, name: str) -> Path:
        return self._folder / f"{name}{_STATISTICS}"


def _check_name(name: str) -> None:
    """`RejectedError` where a name is none of a stream or program; it becomes the name of a file."""
    if not _NAMES.fullmatch(name):
        help = "a name begins with a letter, and has up to 64 letters, digits, `-` and `_`"
        raise RejectedError([Diagnostic("E902", f"`{name}` is not the name of a stream", help=help)])


def _about(
    stream: LoggedStream, report: DoorReport, prefixes: Mapping[str, str] | None, key: str | None
) -> dict[str, Any]:
    """What a record says of its body; what does not apply is left out."""
    about: dict[str, Any] = {"map": stream.version.number, "facts": report.facts}
    if report.latest is not None:
        about["latest"] = report.latest
    if report.malformed:
        diagnostics = [diagnostic.as_data() for diagnostic in report.diagnostics]
        about |= {"skip": True, "skipped": report.malformed, "diagnostics": diagnostics}
    if prefixes:
        about["prefixes"] = dict(prefixes)
    return about if key is None else {**about, "key": key}


def _done(record: LogRecord) -> Future[LogRecord]:
    done: Future[LogRecord] = Future()
    done.set_result(record)
    return done


def _counted(appended: Future[LogRecord], statistics: StreamStatistics) -> Future[LogRecord]:
    """The record once it is durable and counted."""
    counted: Future[LogRecord] = Future()
    # Who no longer waits for it cancels nothing: what was taken is written.
    counted.set_running_or_notify_cancel()

    def count(done: Future[LogRecord]) -> None:
        error = done.exception()
        if error is not None:
            counted.set_exception(error)
            return
        statistics.count(done.result())
        counted.set_result(done.result())

    appended.add_done_callback(count)
    return counted
