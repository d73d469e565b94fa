"""Tables with types as streams: Parquet, and what pandas, polars and Arrow hold, whose rows mappings make facts of."""

from collections.abc import Iterator
from typing import Any

from thalweg.connectors.batches import Item
from thalweg.connectors.lines import State
from thalweg.connectors.mapping.mapped_facts import Columns
from thalweg.connectors.mapping.mapped_rows import MappedRows, MappedStream, columns_of
from thalweg.connectors.mapping.mapping import Mapping
from thalweg.connectors.partitions import with_partition
from thalweg.connectors.tabular import ArrowReader, empty_batches, first_of, has_times
from thalweg.diagnostics import Diagnostic


class MappedArrowReader(MappedRows):
    """Reads blocks that each hold rows in Arrow's format for streams; `unmapped` reads tables that need no mapping."""

    def __init__(self, source: MappedStream, unmapped: ArrowReader) -> None:
        super().__init__(source)
        self._unmapped = unmapped
        self._row = 0
        self.hopeless = False

    def feed(self, block: bytes) -> Iterator[Item]:
        import pyarrow as pa

        table = pa.ipc.open_stream(block)
        if has_times(table.schema.names) and not any(self._fits(table.schema)):
            yield from self._unmapped.feed(block)
            return
        for batch in table:
            if not self.hopeless:
                yield from self.rows(with_partition(batch, self._source.partition))

    def _fits(self, schema: Any) -> Iterator[bool]:
        (empty,) = empty_batches(schema)
        empty = with_partition(empty, self._source.partition)
        return (columns_of(empty, mapping) is not None for mapping in self._source.mappings)

    def finish(self) -> Iterator[Item]:
        return iter(())

    def save(self) -> State:
        return {"row": self._row, "hopeless": self.hopeless, "unmapped": self._unmapped.save()}

    def load(self, saved: State) -> None:
        self._row, self.hopeless = saved["row"], saved["hopeless"]
        self._unmapped.load(saved["unmapped"])

    def rows(self, batch: Any) -> Iterator[Item]:
        """The items of a record batch."""
        names = batch.schema.names
        self._source.tally.met(names)
        served: list[tuple[Mapping, Columns]] = []
        for mapping in self._source.mappings:
            columns = columns_of(batch, mapping)
            if columns is not None:
                served.append((mapping, columns))
                # Also where no row follows, or no row has all values.
                self._source.tally.fitted(mapping, 0)
        wrong = self._misfit(names, served, batch)
        if wrong is not None:
            self.hopeless = True
            yield wrong
            return

        def place(row: int) -> tuple[int, str]:
            return self._row + row + 1, ",".join(_shown(column[row].as_py()) for column in batch.columns)

        yield from self._items(served, place, {})
        self._row += batch.num_rows

    def _misfit(self, names: list[str], served: list[tuple[Mapping, Columns]], batch: Any) -> Diagnostic | None:
        source, header = self._source, ",".join(names)
        used = {path.column for mapping, _ in served for path in mapping.paths}
        if doubled := [name for name in used if names.count(name) > 1]:
            return source.doubled(doubled[0], 1, header)
        if not served:
            return source.misfit(first_of(batch), 1, header)
        return source.untimed(mapping for mapping, _ in served)


def _shown(cell: object) -> str:
    return "" if cell is None else str(cell)
