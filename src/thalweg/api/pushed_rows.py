"""Data pushed into a session through its mappings: rows of a table and messages become batches with their ticks.

    {"sensor": "a", "v": 12, "ts": "2026-11-15T08:00:00Z"}     a message, or a row of pandas; a list of them is many
    pandas.DataFrame(…)                                        a table, also of polars or Arrow

A mapping that says no time is for what is pushed with one: `push(message, at=now)`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from thalweg.connectors.batches import Item
from thalweg.connectors.held_tables import HeldTable, TableTransport, as_message, is_table
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.mapped_arrow import MappedArrowReader
from thalweg.connectors.mapping.mapped_json import MappedJsonReader
from thalweg.connectors.mapping.mapped_rows import MappedStream
from thalweg.connectors.mapping.propose import in_python
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.tabular import ArrowReader
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock

Message = Mapping[str, Any]

NAME: Final = "push"
"""The name in diagnostics of rows that were pushed without the name of a stream."""


def messages_of(value: object) -> list[Message] | None:
    """A message, or several of them, as a list; None where something is neither.

    >>> messages_of({"v": 12}), messages_of([{"v": 12}]), messages_of("speed"), messages_of([])
    ([{'v': 12}], [{'v': 12}], None, [])
    """
    values = value if isinstance(value, list) else [value]
    messages = [message for message in map(as_message, values) if message is not None]
    return messages if len(messages) == len(values) else None


class PushedRows:
    """The mappings of a session at work."""

    def __init__(
        self, clock: Clock, tally: Tally | None, on_error: Literal["stop", "skip"], report: Callable[[Diagnostic], None]
    ) -> None:
        self.clock = clock
        self._tally = tally or Tally()
        self._on_error = on_error
        self._report = report

    @property
    def say_times(self) -> bool:
        """Whether the mappings say the time of each row."""
        return all(mapping.time is not None for mapping in self._tally.mappings)

    def read(self, rows: Any, words: Dictionary, stream: str | None, tick: int | None) -> list[tuple[int, Batch]]:
        """The batches of what is pushed, all at `tick` where mappings say no time.

        A row that is wrong is a `RejectedError`, and then nothing is taken; or it is reported and left out.
        """
        if tick is not None and self._tally.mappings and self.say_times:
            raise TypeError("the mapping says the time of each row: push them without `at`")
        source = MappedStream(words, stream or NAME, stream, self.clock, self._tally, "pushed", tick)
        items = list(_items(rows, source))
        wrong = [in_python(item) for item in items if isinstance(item, Diagnostic)]
        if wrong and self._on_error == "stop":
            raise RejectedError(wrong)
        for diagnostic in wrong:
            self._report(diagnostic)
        return [item for item in items if isinstance(item, tuple)]


def _items(rows: Any, source: MappedStream) -> Iterator[Item]:
    if is_table(rows):
        table = MappedArrowReader(source, ArrowReader(source.words, source.name, source.stream, source.clock))
        for block in TableTransport(HeldTable(rows, source.name)).blocks(Interrupt()):
            yield from table.feed(block)
    elif rows:
        yield from MappedJsonReader.for_held(source).held(rows)
