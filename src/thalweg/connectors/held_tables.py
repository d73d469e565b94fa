"""Tables that Python holds, of pandas, polars or Arrow, as recorded streams."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from thalweg.connectors.files import shortened
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.tabular import ROWS, empty_batches, pack
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.fact import Fact

TABLE: Final = "table"
"""The name of a table's stream that has no other name."""


@dataclass(frozen=True, slots=True)
class HeldTable:
    """A table under a name; `zone` is that of times without one."""

    data: Any = field(repr=False)
    name: str = TABLE
    zone: str | None = None

    def as_arrow(self) -> Any:
        """The table as Arrow has it; `RejectedError` where a column is of several types."""
        import pyarrow as pa

        try:
            if hasattr(self.data, "iloc"):
                return pa.Table.from_pandas(self.data)
            return self.data if isinstance(self.data, pa.Table) else pa.table(self.data)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            reason = str(error).partition("\n")[0]
            help = "give each column one type, with `astype(str)` for example"
            message = f"the table `{self.name}` has a column that is not of one type: {reason}"
            raise RejectedError([Diagnostic("E402", message, help=help)]) from error


def is_table(value: object) -> bool:
    """Whether something is a table: all that hands its columns over as Arrow.

    >>> import pyarrow as pa
    >>> is_table(pa.table({"a": [1]})), is_table([(3, "p(a)")]), is_table("readings.csv")
    (True, False, False)
    """
    return hasattr(value, "__arrow_c_stream__")


def as_message(value: object) -> Mapping[str, Any] | None:
    """A message or a row of pandas as a dict of its named values; None for any other value.

    >>> as_message({"v": 12}), as_message("speed")
    ({'v': 12}, None)
    """
    if isinstance(value, Mapping):
        return value
    for method in ("_asdict", "to_dict"):
        # Rows of `itertuples`, and those that a frame hands over by number. Facts are named tuples, too.
        if hasattr(value, method) and not isinstance(value, Fact) and not is_table(value):
            return dict(getattr(value, method)())
    return None


class TableTransport:
    """A table as blocks of rows."""

    live = False
    repeats = True
    format = "parquet"

    def __init__(self, table: HeldTable) -> None:
        self.name = self.stream = table.name
        self._table = table.as_arrow()
        self._rows = 0

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        passed = 0
        batches = (
            self._table.to_batches(max_chunksize=ROWS) if self._table.num_rows else empty_batches(self._table.schema)
        )
        for batch in batches:
            if interrupt.asked:
                return
            passed += len(batch)
            if passed > self._rows or not passed:
                self._rows = passed
                yield pack(batch)

    def position(self) -> int:
        return self._rows

    def seek(self, position: int) -> None:
        """Goes on behind some rows, which are a number of whole blocks."""
        if position > self._table.num_rows:
            raise shortened(self.name)
        self._rows = position

    def close(self) -> None:
        """Nothing was opened."""
