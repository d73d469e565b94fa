"""The formats in which answers are written, and which of them the ending of a file stands for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from thalweg.answers.answer_columns import AnswerColumns, FactColumns
from thalweg.answers.answer_tables import AnswerTable
from thalweg.answers.emit import FORMATS, Formatter, formatter
from thalweg.answers.text_answers import TextFormatter
from thalweg.model.time import AS_TICKS, TimeFormat

ENDINGS: Final = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".nq": "nquads",
    ".jsonld": "jsonld",
    ".facts": "atoms",
}


def format_of_output(name: str) -> str | None:
    """The format that the ending of a file stands for; None where it has none, `ValueError` where it is unknown.

    >>> format_of_output("out.csv.gz"), format_of_output("kafka://broker/out"), format_of_output("out")
    ('csv', None, None)
    """
    if "://" in name or name == "-":
        return None
    ending = PurePath(name.removesuffix(".gz")).suffix.lower()
    if not ending:
        return None
    if ending not in ENDINGS:
        raise ValueError(f"`{name}` has an unknown ending; the known ones are {' '.join(ENDINGS)}")
    return ENDINGS[ending]


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """How answers are written; `columns` are those of tables.

    >>> print(*AnswerFormat("csv", columns=FactColumns("intervals", ("R",))).header.split(","))
    predicate R from until
    """

    format: str = "jsonl"
    times: TimeFormat = AS_TICKS
    columns: AnswerColumns = field(default_factory=FactColumns)
    coloured: bool = False
    brief: Callable[[str], str] = lambda text: text

    @property
    def table(self) -> AnswerTable:
        """The columns and rows of tables."""
        return AnswerTable(self.columns, self.times)

    @property
    def is_parquet(self) -> bool:
        return self.format == "parquet"

    @property
    def header(self) -> str:
        """The first line of a file of answers: the names of the columns in CSV, else empty."""
        return self.table.header if self.format == "csv" else ""

    def formatter(self) -> Formatter:
        """The function that writes blocks of answers as text in this format."""
        if self.format in FORMATS:
            return formatter(self.format, self.times)
        if self.format == "csv":
            return self.table.csv
        return TextFormatter(self.times, self.coloured, self.brief)
