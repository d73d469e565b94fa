"""Events written as recordings in each format: in one file, or in the files of a folder."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.model.event import Event

COLUMNS = pa.schema([("fact", pa.string()), ("t", pa.int64()), ("stream", pa.string())])
ROWS_A_GROUP = 3


def write_recordings(folder: Path, suffix: str, events: Sequence[Event], files: int) -> list[Path]:
    """Writes events in a format, cut into some files; returns the streams, one for each name where a file has one.

    Names of streams stand in the rows of all formats but facts.
    """
    if suffix != "facts":
        return [_write(folder / f"recorded.{suffix}", events, files)]
    names = dict.fromkeys(event.stream for event in events) or {None: None}
    return [
        _write(folder / f"{name or 'recorded'}.facts", [event for event in events if event.stream == name], files)
        for name in names
    ]


def lines_of(event: Event) -> list[str]:
    """JSON Lines of an event, a line for each fact."""
    stream = {} if event.stream is None else {"stream": event.stream}
    return [json.dumps({"t": event.tick, **stream, "facts": [str(fact)]}) for fact in event.facts]


def _write(place: Path, events: Sequence[Event], files: int) -> Path:
    write = _WRITERS[place.suffix[1:]]
    if files == 1:
        write(place, events)
        return place
    folder = place.with_suffix("")
    folder.mkdir()
    for number in range(files):
        first, end = (len(events) * edge // files for edge in (number, number + 1))
        write(folder / f"part-{number}{place.suffix}", events[first:end])
    return folder


def _write_facts(file: Path, events: Sequence[Event]) -> None:
    lines = [f"{fact} at {event.tick}.\n" for event in events for fact in event.facts]
    file.write_text("".join(lines), encoding="utf-8")


def _write_lines(file: Path, events: Sequence[Event]) -> None:
    file.write_text("".join(f"{line}\n" for event in events for line in lines_of(event)), encoding="utf-8")


def _write_csv(file: Path, events: Sequence[Event]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS.names)
    writer.writerows(_rows(events))
    file.write_text(text.getvalue(), encoding="utf-8")


def _write_parquet(file: Path, events: Sequence[Event]) -> None:
    rows = [dict(zip(COLUMNS.names, row, strict=True)) for row in _rows(events)]
    pq.write_table(pa.Table.from_pylist(rows, schema=COLUMNS), file, row_group_size=ROWS_A_GROUP)


def _rows(events: Sequence[Event]) -> list[tuple[str, int, str]]:
    return [(str(fact), event.tick, event.stream or "recorded") for event in events for fact in event.facts]


_WRITERS: dict[str, Callable[[Path, Sequence[Event]], None]] = {
    "facts": _write_facts,
    "jsonl": _write_lines,
    "csv": _write_csv,
    "parquet": _write_parquet,
}
FORMATS = tuple(_WRITERS)
