"""The formats in which answers are written, and which of them the ending of a file stands for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import Final

from thalweg.answers.answer_columns import AnswerColumns, FactColumns
from thalweg.answers.jsonl import jsonl
from thalweg.answers.rdf_answers import graphs
from thalweg.answers.record import Answer
from thalweg.answers.table import AnswerTable
from thalweg.answers.text_answers import TextFormatter, atoms
from thalweg.model.time import AS_TICKS, TimeFormat

Formatter = Callable[[Answer], Iterable[str]]
"""The text of an answer, in parts where it is long."""

FORMATS: Final = ("jsonl", "atoms", "nquads", "jsonld")

ENDINGS: Final = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".nq": "nquads",
    ".jsonld": "jsonld",
    ".facts": "atoms",
}


def formatter(format: str, times: TimeFormat = AS_TICKS) -> Formatter:
    """Writes answers in one of the `FORMATS`, with ticks as `times` writes them.

    >>> from thalweg.answers.record import interval
    >>> [text] = formatter("nquads")(interval("<http://a/C>(<http://a/b>)", 38, None))
    >>> text.splitlines()[1]
    '<urn:thalweg:interval:38> <urn:thalweg:from> "38"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    """
    formatters: dict[str, Formatter] = {
        "jsonl": partial(jsonl, times=times),
        "atoms": partial(atoms, times=times),
        "nquads": lambda answer: (graph.nquads() for graph in graphs(answer, times)),
        "jsonld": lambda answer: (graph.jsonld() for graph in graphs(answer, times)),
    }
    return formatters[format]


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
        """The function that writes answers as text in this format."""
        if self.format in FORMATS:
            return formatter(self.format, self.times)
        if self.format == "csv":
            return self.table.csv
        return TextFormatter(self.times, self.coloured, self.brief)
