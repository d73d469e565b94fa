"""Messages as streams: objects of JSON, one a line, one after the other, or in arrays, which mappings make facts of.

    {"device": "d1", "ts": 1794729600, "meta": {"temp": 21.5}}
    [{"device": "d1", …}, {"device": "d2", …}]

What is an event already (`{"t": 36, "facts": […]}`, a document of JSON-LD) is read as that.
"""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, Final

import numpy as np

from thalweg.connectors.batches import Item
from thalweg.connectors.json_lines import JsonLinesReader, parse_lines
from thalweg.connectors.lines import LineError, State, lines_of, undecodable, wrong_line
from thalweg.connectors.mapping.arrow_json import ArrowJson, joined_objects
from thalweg.connectors.mapping.mapped_facts import Columns, MappedFacts, RowReports
from thalweg.connectors.mapping.mapped_rows import MappedRows, MappedStream, columns_of
from thalweg.connectors.mapping.mapping import EACH, Mapping, Path, Steps
from thalweg.connectors.mapping.propose import proposal_for_message
from thalweg.connectors.partitions import repeated
from thalweg.diagnostics import Diagnostic

MESSAGES: Final = "messages"
"""The name in diagnostics of messages that Python hands over."""
_OBJECT: Final = "a message is an object of JSON, or an array of them"
_ENCODING: Final = 'write UTF-8, or say the encoding in a deployment: `encoding = "latin-1"` below `[streams.NAME]`'
_UNDECODED: Final = re.compile("[\udc80-\udcff]")
_SPACE: Final = re.compile(r"\s*")
_LARGE: Final = 1 << 20
"""Bytes of a document from which on it is tried again only when there is twice as much of it."""
_TOGETHER: Final = 8192
"""Messages that become columns together."""
_LEARNED: Final = 256
"""Messages of a block from which the types of their values are learned."""
_FEW: Final = 8
"""Messages up to which reading their values one by one is faster."""


class MappedJsonReader(MappedRows):
    """Reads messages; `unmapped` reads those that are events by themselves.

    >>> from thalweg.connectors.mapping.read_mapping import read_mappings
    >>> from thalweg.connectors.mapping.tally import Tally
    >>> from thalweg.model.dictionary import Dictionary
    >>> from thalweg.model.time import Clock
    >>> tally, words = Tally(read_mappings("temp(dev, r[].v) at r[].ts")), Dictionary()
    >>> source = MappedStream(words, "in.jsonl", "in", Clock(), tally)
    >>> reader = MappedJsonReader(source, JsonLinesReader(words, "in.jsonl", "in", Clock()))
    >>> items = reader.feed(b'{"dev": "d1", "r": [{"v": 5, "ts": 36}, {"v": 6.5, "ts": 37}]}\\n')
    >>> [(tick, [str(fact) for fact in batch.facts(words)]) for tick, batch in items]
    [(36, ['temp(d1,5)']), (37, ['temp(d1,6.5)'])]
    """

    def __init__(self, source: MappedStream, unmapped: JsonLinesReader) -> None:
        super().__init__(source)
        self._unmapped = unmapped
        self._encoding = source.stated.encoding or "utf-8"
        self._arrow = ArrowJson(source.mappings)
        self._fitted: set[Mapping] = set()
        self._lacking: dict[Mapping, Counter[Path]] = {}
        self._rest = b""
        self._wanted = 0
        self._line = 0

    def feed(self, block: bytes) -> Iterator[Item]:
        data = self._rest + block
        if len(data) < self._wanted:
            self._rest = data
            return iter(())
        end = data.rfind(b"\n") + 1
        self._rest = data[end:]
        return self._read(data[:end], False)

    def finish(self) -> Iterator[Item]:
        data, self._rest = self._rest, b""
        return self._read(data, True)

    @classmethod
    def for_held(cls, source: MappedStream) -> "MappedJsonReader":
        """A reader of messages that Python holds."""
        return cls(source, JsonLinesReader(source.words, source.name, source.stream, source.clock))

    def held(self, rows: Iterable[Table[str, Any]]) -> Iterator[Item]:
        """The items of messages that Python holds; one that has not what any mapping needs is wrong."""
        messages, mappings = list(map(dict, rows)), self._source.mappings
        self._source.tally.met(messages[0])
        reports: RowReports = {}
        for row, message in enumerate(messages) if mappings else ():
            if not _is_event(message) and not any(_has_names(message, mapping) for mapping in mappings):
                reports[row] = [partial(self._misfit, row, message)]
        yield from self._mapped(
            _HeldMessages(messages), lambda row: (row + 1, str(messages[row])), reports, by_names=True
        )

    def messages(self, column: Any) -> tuple[list[MappedFacts], list[tuple[int, Item]]]:
        """What mappings make of a column of messages, each of which stands for itself.

        Facts have the rows of their messages; other items, which a message states by itself or is wrong with, come
        with theirs.

        >>> import pyarrow as pa
        >>> from thalweg.connectors.mapping.read_mapping import read_mappings
        >>> from thalweg.connectors.mapping.tally import Tally
        >>> from thalweg.model.dictionary import Dictionary
        >>> from thalweg.model.time import Clock
        >>> source = MappedStream(Dictionary(), "in.json", "in", Clock(), Tally(read_mappings("p(v) at ts")))
        >>> facts, items = MappedJsonReader.for_held(source).messages(pa.array([b'{"v": 5, "ts": 36}', b"{"]))
        >>> facts[0].rows.tolist(), facts[0].ticks.tolist(), [(row, item.message) for row, item in items]
        ([0], [36], [(1, 'this is not JSON')])
        """
        joined = joined_objects(column)
        if joined is not None:
            batch = self._arrow.read(joined, len(column), lambda size: column.slice(0, size).to_pylist())
            if batch is not None:
                return self._by_row(_ArrowMessages(batch, lambda row: column[row].as_py()), None, {}, _row_place)
        return self._one_by_one(column.to_pylist())

    def _one_by_one(self, values: Sequence[object]) -> tuple[list[MappedFacts], list[tuple[int, Item]]]:
        """The same by Python; those that are not one value of JSON are read alone."""
        texts = [_message_text(value) for value in values]
        parsed = list(parse_lines([text or "" for text in texts]))
        alone = [row for row, text in enumerate(texts) if text is None or parsed[row] is False]
        if alone and self._source.goes_by_order:
            alone = list(range(len(texts)))
        for row in alone:
            parsed[row] = None
        messages, origins, reports = self._in_turn(parsed, _row_place)
        facts, items = self._by_row(_HeldMessages(messages), origins, reports, _row_place)
        for row in alone:
            items += ((row, item) for item in self._alone(values[row]))
        return facts, items

    def _alone(self, value: object) -> Iterator[Item]:
        """The items of a message that may have several documents, or is none."""
        if value is None:
            return iter((Diagnostic("E301", "the message is empty"),))
        reader = MappedJsonReader.for_held(self._source)
        return chain(reader.feed(value if isinstance(value, bytes) else str(value).encode()), reader.finish())

    def _by_row(
        self,
        messages: "_HeldMessages | _ArrowMessages",
        origins: list[int] | None,
        reports: RowReports,
        place: Callable[[int], tuple[int, str]],
    ) -> tuple[list[MappedFacts], list[tuple[int, Item]]]:
        where = place if origins is None else lambda row: place(origins[row])
        served, wrong = self._served(messages, where, reports)
        if wrong is not None:
            return [], [(0, wrong)]
        parts = self._parts(served, where, reports)
        if origins is not None:
            rows = np.array(origins, dtype=np.int64)
            parts = [replace(facts, rows=rows[facts.rows]) for facts in parts]
        items: list[tuple[int, Item]] = []
        for row, says in sorted(reports.items()):
            for item in chain.from_iterable(say() for say in says):
                # What is wrong knows its line; what is not a message stands before the next one that is.
                items.append(
                    (item.span.source.first_line - 1 if isinstance(item, Diagnostic) else where(row)[0] - 1, item)
                )
        return parts, items

    def _misfit(self, row: int, message: dict[str, Any]) -> Iterator[Diagnostic]:
        needed = " or ".join(f"`{mapping}`" for mapping in self._source.mappings)
        wrong = LineError(f"this message has not all the names of {needed}", 0)
        help_ = 'write the names as the message has them; `on_error="skip"` leaves such messages out'
        yield wrong_line(self._source.name, row + 1, str(message), wrong, help_)

    def save(self) -> State:
        return {"rest": self._rest.decode("latin-1"), "line": self._line}

    def load(self, saved: State) -> None:
        self._rest, self._line = saved["rest"].encode("latin-1"), saved["line"]

    def _read(self, data: bytes, last: bool) -> Iterator[Item]:
        if not data.strip():
            self._line += data.count(b"\n")
            return
        if self._line == 0:
            data = data.removeprefix(b"\xef\xbb\xbf")
        read = self._by_arrow(data)
        if read is not None:
            count, items = read
            yield from items
            self._line += count
            return
        text, is_decoded = _text(data, self._encoding)
        lines, start = lines_of(text), 0
        while start < len(lines):
            block = lines[start : start + _TOGETHER]
            values = list(parse_lines(block))
            if any(value is False for value in values):
                yield from self._documents("\n".join(lines[start:]), last, is_decoded)
                return
            for place, line in enumerate(() if is_decoded else block):
                if _UNDECODED.search(line):
                    values[place], block[place] = _undecoded(line, self._encoding)
            yield from self._messages(values, self._line, block)
            self._line += len(block)
            start += len(block)

    def _documents(self, text: str, last: bool, is_decoded: bool) -> Iterator[Item]:
        """Documents that may stand on several lines, and lines that are none.

        One that is not complete waits for more, unless nothing more comes. One with a byte that is not in the encoding
        is lost as a whole.
        """
        values, at = list[Any](), list[tuple[int, str]]()
        place, end, line = 0, len(text.rstrip()), self._line + 1
        undecoded = [] if is_decoded else [match.start() for match in _UNDECODED.finditer(text)]
        while place < end:
            begins = _SPACE.match(text, place).end()  # type: ignore[union-attr]
            line += text.count("\n", place, begins)
            value, place = _decoded(text, begins)
            if place < 0:
                if not last and -place > end:
                    place = begins
                    break
                ends = text.find("\n", begins)
                place = ends if ends >= 0 else len(text)
            number, shown = line, text[begins:place].partition("\n")[0]
            wrong = undecoded[slice(bisect_left(undecoded, begins), bisect_left(undecoded, place))]
            if wrong:
                ends = text.find("\n", wrong[0])
                undecoded_line = text[text.rfind("\n", 0, wrong[0]) + 1 : ends if ends >= 0 else len(text)]
                value, shown = _undecoded(undecoded_line, self._encoding)
                number += text.count("\n", begins, wrong[0])
            values.append(value)
            at.append((number, shown))
            line += text.count("\n", begins, place)
        if place < end:
            self._rest = _bytes(text[place:] + "\n", self._encoding) + self._rest
            self._wanted = 2 * len(self._rest) if len(self._rest) > _LARGE else 0
        yield from self._messages(values, self._line, [excerpt for _, excerpt in at], [number for number, _ in at])
        self._line = line if place >= end else line - 1

    def _by_arrow(self, data: bytes) -> tuple[int, Iterator[Item]] | None:
        """How many lines a block has, and the items of the messages on them; None where Python must read them."""
        lines = data if data.endswith(b"\n") else data + b"\n"
        count = lines.count(b"\n")
        between = lines.count(b"}\n{") + lines.count(b"}\r\n{")
        is_whole = lines.startswith(b"{") and lines.endswith((b"}\n", b"}\r\n")) and between == count - 1
        if not is_whole or self._encoding != "utf-8" or not _is_utf8(lines):
            return None
        batch = self._arrow.read(lines, count, lambda size: lines.split(b"\n", size)[:size])
        if batch is None:
            return None
        split: list[str] = []

        def line_of(row: int) -> str:
            if not split:
                split.extend(lines_of(lines.decode()))
            return split[row]

        before = self._line
        self._source.tally.met(json.loads(lines[: lines.index(b"\n")]))
        return count, self._mapped(_ArrowMessages(batch, line_of), lambda row: (before + row + 1, line_of(row)), {})

    def _messages(
        self, values: Sequence[Any], before: int, lines: Sequence[str], numbers: Sequence[int] | None = None
    ) -> Iterator[Item]:
        """The items of values, each of a line; arrays are messages in turn."""

        def line_of(place: int) -> tuple[int, str]:
            return (before + place + 1 if numbers is None else numbers[place]), lines[place]

        messages, origins, reports = self._in_turn(values, line_of)
        where = line_of if origins is None else lambda row: line_of(origins[row])
        yield from self._mapped(_HeldMessages(messages), where, reports)

    def _in_turn(
        self, values: Sequence[Any], line_of: Callable[[int], tuple[int, str]]
    ) -> tuple[list[dict[str, Any]], list[int] | None, RowReports]:
        """The messages of values, the places of these values where they are not the same, and what else is there."""
        messages: list[dict[str, Any]] = []
        origins: list[int] | None = None
        reports: RowReports = {}
        if all(type(value) is dict for value in values):
            messages = values  # type: ignore[assignment]
        else:
            origins = []
            for place, value in enumerate(values):
                for element in value if isinstance(value, list) else (value,):
                    if isinstance(element, dict):
                        messages.append(element)
                        origins.append(place)
                    elif element is not None or isinstance(value, list):
                        say = partial(self._not_a_message, line_of(place), value)
                        reports.setdefault(len(messages), []).append(say)
        if messages:
            self._source.tally.met(messages[0])
            self._arrow.learn(messages[:_LEARNED])
        return messages, origins, reports

    def _mapped(
        self,
        messages: "_HeldMessages | _ArrowMessages",
        place: Callable[[int], tuple[int, str]],
        reports: RowReports,
        by_names: bool = False,
    ) -> Iterator[Item]:
        """The items of messages; a mapping serves them if one has a value for all its names, or `by_names` alone."""
        served, wrong = self._served(messages, place, reports, by_names)
        if wrong is not None:
            yield wrong
            return
        yield from self._items(served, place, reports)

    def _served(
        self,
        messages: "_HeldMessages | _ArrowMessages",
        place: Callable[[int], tuple[int, str]],
        reports: RowReports,
        by_names: bool = False,
    ) -> tuple[list[tuple[Mapping, Columns]], Diagnostic | None]:
        """The mappings that serve messages, with their columns; or why none may. `reports` gets what others are."""
        served: list[tuple[Mapping, Columns]] = []
        used = np.zeros(messages.count, dtype=bool)
        for mapping in self._source.mappings:
            columns = self._with_partition(messages.columns(mapping))
            filled = np.ones(columns.count, dtype=bool)
            for path, column in columns.columns.items():
                # A partition without a value is that of all messages in a file.
                if path.whole not in self._source.partition:
                    filled &= _filled(column)
            # Messages of live streams come alone: what one lacks counts once another had it.
            if filled.any() and mapping not in self._fitted:
                self._fitted.add(mapping)
                for path, lacking in self._lacking.pop(mapping, {}).items():
                    self._source.tally.empty(mapping, path, lacking)
            if not (mapping in self._fitted or (by_names and messages.has_names(mapping))):
                self._count_lacking(mapping, columns)
                continue
            if (wrong := self._source.untimed([mapping])) is not None:
                return [], wrong
            served.append((mapping, columns))
            rows = np.arange(columns.count) if columns.rows is None else columns.rows
            used[rows[filled]] = True
        unused = {row: messages.message(row) for row in np.flatnonzero(~used).tolist()}
        if self._source.mappings and not served:
            self._source.tally.unfit(sum(not _is_event(message) for message in unused.values()))
        for row, message in unused.items():
            if _is_event(message):
                reports.setdefault(row, []).append(partial(self._event, message, place(row)[0]))
            elif not self._source.mappings:
                reports.setdefault(row, []).append(partial(self._unmapped_message, message, place(row)))
        return served, None

    def _with_partition(self, columns: Columns) -> Columns:
        """Columns with those that the partition of a file names."""
        partition = self._source.partition
        constant = {path: partition[path.whole] for path in columns.columns if path.whole in partition}
        if not constant:
            return columns
        repeating = {path: repeated(value, columns.count) for path, value in constant.items()}
        return replace(columns, columns={**columns.columns, **repeating})

    def _count_lacking(self, mapping: Mapping, columns: Columns) -> None:
        """Counts the messages that lack what a mapping needs, by the first name that is missing."""
        lacking = self._lacking.setdefault(mapping, Counter())
        complete = np.ones(columns.count, dtype=bool)
        for path, column in columns.columns.items():
            filled = _filled(column)
            if messages := int((complete & ~filled).sum()):
                lacking[path] += messages
            complete &= filled

    def _event(self, message: dict[str, Any], number: int) -> Iterator[Item]:
        yield from self._unmapped.line(json.dumps(message).encode(), number)

    def _unmapped_message(self, message: dict[str, Any], where: tuple[int, str]) -> Iterator[Diagnostic]:
        number, line = where
        wrong = LineError("an event needs the key `t`", 0)
        yield wrong_line(self._source.name, number, line, wrong, proposal_for_message(message))

    def _not_a_message(self, where: tuple[int, str], value: object) -> Iterator[Diagnostic]:
        number, line = where
        self._source.tally.malformed()
        if isinstance(value, LineError):
            yield wrong_line(self._source.name, number, line, value, _ENCODING)
            return
        message = "this is not JSON" if value is False else "this is not a message"
        yield wrong_line(self._source.name, number, line, LineError(message, 0), _OBJECT)


class _HeldMessages:
    """Messages as values of Python."""

    def __init__(self, messages: Sequence[dict[str, Any]]) -> None:
        self._messages = messages
        self.count = len(messages)

    def message(self, row: int) -> dict[str, Any]:
        return self._messages[row]

    def columns(self, mapping: Mapping) -> Columns:
        return _columns(self._messages, mapping)

    def has_names(self, mapping: Mapping) -> bool:
        return any(_has_names(message, mapping) for message in self._messages)


class _ArrowMessages:
    """Messages that Arrow has read; one of them is read again where more of it must be known."""

    def __init__(self, batch: Any, text: Callable[[int], str]) -> None:
        self._batch = batch
        self._text = text
        self.count: int = batch.num_rows

    def message(self, row: int) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._text(row))
        return message

    def columns(self, mapping: Mapping) -> Columns:
        columns = columns_of(self._batch, mapping)
        assert columns is not None, mapping
        return columns

    def has_names(self, mapping: Mapping) -> bool:
        return any(_has_names(self.message(row), mapping) for row in range(self.count))


def _row_place(row: int) -> tuple[int, str]:
    """The row of a message as the number of its line; what stands there, the table has."""
    return row + 1, ""


def _message_text(value: object) -> str | None:
    """The text of a message; None where there is none, or it is not UTF-8."""
    try:
        return value.decode() if isinstance(value, bytes) else None if value is None else str(value)
    except UnicodeDecodeError:
        return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(data: bytes, encoding: str) -> tuple[str, bool]:
    """A block as text, and whether all is in its encoding; halves of surrogate pairs stand for bytes of other lines.

    >>> _text(b"Z\\xfcrich", "latin-1"), _text(b"Z\\xfcrich", "utf-8")
    (('Zürich', True), ('Z\\udcfcrich', False))
    """
    try:
        return data.decode(encoding), True
    except UnicodeDecodeError:
        return "\n".join(_line_text(line, encoding) for line in data.split(b"\n")), False


def _line_text(line: bytes, encoding: str) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        return line.decode("ascii", "surrogateescape")


def _bytes(text: str, encoding: str) -> bytes:
    """The block that was read as a text."""
    if not _UNDECODED.search(text):
        return text.encode(encoding)
    lines = text.split("\n")
    return b"\n".join(_raw(line) if _UNDECODED.search(line) else line.encode(encoding) for line in lines)


def _raw(line: str) -> bytes:
    return line.encode("ascii", "surrogateescape")


def _undecoded(line: str, encoding: str) -> tuple[LineError, str]:
    """The error of a line that is not in its encoding, and the line as it is shown."""
    raw = _raw(line)
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        return undecodable(raw, error), raw.decode(encoding, "replace")
    raise AssertionError(line)


def _decoded(text: str, place: int) -> tuple[Any, int]:
    """The document at a place and where it ends; where it is none, False and the negated place of what is wrong."""
    if text[place] not in "[{":
        return False, -1
    try:
        return json.JSONDecoder().raw_decode(text, place)
    except json.JSONDecodeError as error:
        return False, -(error.pos + 1)
    except RecursionError:
        return False, -1


def _is_event(message: dict[str, Any]) -> bool:
    return ("t" in message and ("facts" in message or "graph" in message)) or any(key[:1] == "@" for key in message)


def _has_names(message: dict[str, Any], mapping: Mapping) -> bool:
    """Whether a message has all that a mapping needs, if only as keys without values."""
    return all(str(path.steps[0]) in message for path in mapping.paths)


# Columns ------------------------------------------------------------------------------------------------------------


def _columns(messages: Sequence[dict[str, Any]], mapping: Mapping) -> Columns:
    """The columns that a mapping needs: a value of each message, or of each element of its array."""
    if not mapping.array:
        return Columns({path: _column(_values(messages, path.steps)) for path in mapping.paths}, len(messages))
    rows: list[int] = []
    by_path: dict[Path, list[Any]] = {path: [] for path in mapping.paths}
    for row, message in enumerate(messages):
        for filled in _elements({(): message}, mapping.array):
            rows.append(row)
            for path, values in by_path.items():
                values.append(_value(filled[path.array], path.steps[len(path.array) :]))
    columns = {path: _column(values) for path, values in by_path.items()}
    return Columns(columns, len(rows), np.array(rows, dtype=np.int64))


def _elements(around: dict[Steps, Any], array: Steps) -> Iterator[dict[Steps, Any]]:
    """One element of each array on a way, innermost last, in all combinations there are."""
    at = max(around, key=len)
    if at == array:
        yield around
        return
    end = array.index(EACH, len(at)) + 1
    inside = _value(around[at], array[len(at) : end - 1])
    for element in inside if isinstance(inside, list) else ():
        yield from _elements({**around, array[:end]: element}, array)


def _values(messages: Sequence[dict[str, Any]], steps: Steps) -> list[Any]:
    try:
        # Mostly every message has every key.
        values = list(map(itemgetter(steps[0]), messages))
        for step in steps[1:]:
            values = list(map(itemgetter(step), values))
        return values
    except (KeyError, TypeError, IndexError):
        return [_value(message, steps) for message in messages]


def _value(inside: Any, steps: Steps) -> Any:
    """The value at the end of a path; None where the path ends before."""
    for step in steps:
        if not isinstance(inside, dict):
            return None
        inside = inside.get(step)
    return inside


def _column(values: list[Any]) -> Any:
    """The values as an array of Arrow, where they are many and of one type: else as they are."""
    import pyarrow as pa

    if len(values) <= _FEW:
        return values
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {str}:
        return pa.array(values, type=pa.string()) if _is_written(values) else values
    try:
        if kinds == {int}:
            return pa.array(values, type=pa.int64())
        if kinds <= {int, float}:
            return pa.array(map(_as_float, values, repeat(2**53)), type=pa.float64())
    except (OverflowError, ValueError, pa.ArrowInvalid):
        pass
    return values


def _as_float(value: Any, largest: int) -> Any:
    """A number as a double, if it is none other then."""
    if type(value) is int and abs(value) > largest:
        raise OverflowError
    return value


def _is_written(values: list[Any]) -> bool:
    """Whether all texts can be written: half a surrogate pair cannot."""
    try:
        "".join(filter(None, values)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _filled(column: Any) -> Any:
    if isinstance(column, list):
        return np.array([value is not None for value in column], dtype=bool)
    return column.is_valid().to_numpy(zero_copy_only=False)
