"""The columns of answers, one set for each kind, wherever the table is: CSV, Parquet, Arrow, pandas, or a DataFrame.

    facts         changes      t, op, predicate, args     op is + for what begins, - for what ends, ? for unknown
                  snapshot     t, predicate, args
                  intervals    predicate, args, from, until     until is empty while it holds
    clashes       the same with individual, other, axiom, because in place of predicate and args
    answer sets   t, window, answer_set, predicate, args, incomplete     answer_set counts those of a window from 1
    SELECT        t, window, and a column for each variable
    CONSTRUCT     t, window, predicate, args
    ASK           t, window, answer
    events        t, event, from, to, individual, graph, bindings, events, rejected
                  of one: t, from, to, then individual, graph of a class, or the variables of a pattern and events
    several       kind, and the columns of all kinds

`args` is a list; where one predicate is output, its arguments are columns of their own. A window is a list of its first
and its last tick. An answer set without facts is a row without a predicate, and a window that has none a row without an
`answer_set`. The events inside of a complex one are lines of JSON; an event without classes is a row without an `event`
that says why it was `rejected`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, Literal, Protocol

from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine, event_json
from thalweg.answers.record import OF_FACTS, Answer, BrokenAxiom
from thalweg.model.fact import Fact, fact_of_text
from thalweg.model.predicate import Predicate
from thalweg.model.python_values import IRI, Term, value_of
from thalweg.model.time import FOREVER, TimeFormat

Type = Literal["time", "window", "text", "list", "value", "integer", "truth", "pairs"]
"""What cells hold: a tick, two ticks, a text, a list, a number or a text, an integer, a truth value, texts by names."""

Row = tuple[Any, ...]
"""The cells of one row; None where there is nothing."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of answers."""

    name: str
    type: Type


class AnswerColumns(Protocol):
    """The columns of one kind of answers, and the rows of answers of that kind."""

    @property
    def kind(self) -> str:
        """The word for its rows in the column `kind`, where a table has rows of several kinds."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    def fits(self, answer: Answer) -> bool:
        """Whether an answer is of this kind."""

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        """The rows of an answer of this kind; ticks in texts are written as `times` writes them."""

    @property
    def emit(self) -> str | None:
        """How facts are shown, where all rows are about facts that begin and end; else None."""
        return None


# Facts and clashes --------------------------------------------------------------------------------------------------

_T: Final = Column("t", "time")
_WINDOW: Final = Column("window", "window")
_SPAN: Final = (Column("from", "time"), Column("to", "time"))
_EVENTS: Final = Column("events", "list")
_BEFORE: Final[dict[str, tuple[Column, ...]]] = {"changes": (_T, Column("op", "text")), "snapshot": (_T,)}
_AFTER: Final[dict[str, tuple[Column, ...]]] = {"intervals": (Column("from", "time"), Column("until", "time"))}


def _fact_columns(names: Sequence[str] | None) -> tuple[Column, ...]:
    args = [Column("args", "list")] if names is None else [Column(name, "value") for name in names]
    return Column("predicate", "text"), *args


def _fact(text: str, names: Sequence[str] | None) -> Row:
    return _cells(fact_of_text(text), names)


def _cells(fact: Fact, names: Sequence[str] | None) -> Row:
    cells = tuple(map(cell, fact.terms))
    return fact.predicate, *((list(cells),) if names is None else cells)


@dataclass(frozen=True)
class FactColumns(AnswerColumns):
    """Facts that begin, hold or end; `names` are those of the only predicate's arguments.

    >>> table = FactColumns("changes", ("R", "V"))
    >>> [column.name for column in table.columns]
    ['t', 'op', 'predicate', 'R', 'V']
    >>> from thalweg.answers.record import changes
    >>> list(table.rows(changes(3, ('jam(a,"b c")',), ("jam(b,2)",)), TimeFormat()))
    [(3, '-', 'jam', 'b', 2), (3, '+', 'jam', 'a', 'b c')]
    """

    emit: str = "changes"
    names: tuple[str, ...] | None = None

    kind: ClassVar[str] = "fact"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (*_BEFORE.get(self.emit, ()), *self.inner, *_AFTER.get(self.emit, ()))

    @property
    def inner(self) -> tuple[Column, ...]:
        """The columns of what begins, holds or ends."""
        return _fact_columns(self.names)

    @property
    def of_arguments(self) -> bool:
        """Whether its columns are the predicate and the arguments of each fact."""
        return True

    def fits(self, answer: Answer) -> bool:
        return answer.kind in OF_FACTS

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        match answer.kind, answer.columns:
            case "changes", (begin, end, unknown, _):
                for op, facts in (("-", end), ("?", unknown), ("+", begin)):
                    for fact in facts:
                        yield answer.t, op, *self.cells(fact, times)
            case "snapshot", (facts,):
                rows = [self.cells(fact, times) for fact in facts]
                for tick in range(answer.start, answer.t + 1):
                    yield from ((tick, *fact) for fact in rows)
            case "intervals", (facts, starts):
                until = None if answer.t == FOREVER else answer.t
                for fact, start in zip(facts, starts, strict=True):
                    yield *self.cells(fact, times), start, until

    def cells(self, text: str, times: TimeFormat) -> Row:
        """The cells of one of them."""
        return _fact(text, self.names)


class ClashColumns(FactColumns):
    """Clashes that begin, last or end; one that ends has no reasons.

    >>> from thalweg.answers.record import changes
    >>> clash = BrokenAxiom("<bob>", "DisjointClasses(<Man> <Work>)", ("<Man>(<bob>) at 5", "<Work>(<bob>) at 7"))
    >>> list(ClashColumns("changes").rows(changes(7, (str(clash),)), TimeFormat()))[0][1:4]
    ('+', '<bob>', None)
    """

    kind: ClassVar[str] = "clash"

    @property
    def inner(self) -> tuple[Column, ...]:
        texts = (Column(name, "text") for name in ("individual", "other", "axiom"))
        return *texts, Column("because", "list")

    @property
    def of_arguments(self) -> bool:
        return False

    def fits(self, answer: Answer) -> bool:
        return answer.of_clashes

    def cells(self, text: str, times: TimeFormat) -> Row:
        clash = BrokenAxiom.read(text).at(times)
        because = None if clash.because is None else list(clash.because)
        return clash.individual, clash.other, clash.axiom, because


# Windows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerSetColumns(AnswerColumns):
    """Answer sets of windows, a row for each fact.

    >>> list(AnswerSetColumns().rows(Answer("answer sets", 40, (("a(1)",), ()), 38), TimeFormat()))
    [(40, (38, 40), 1, 'a', [1], False), (40, (38, 40), 2, None, None, False)]
    """

    names: tuple[str, ...] | None = None
    of: Predicate | None = None
    """The only predicate of which there are rows, whose arguments have the names."""

    kind: ClassVar[str] = "answer set"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        own = Column("answer_set", "integer"), *_fact_columns(self.names)
        return _T, _WINDOW, *own, Column("incomplete", "truth")

    def fits(self, answer: Answer) -> bool:
        return answer.kind == "answer sets"

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        sets = answer.columns
        about, nothing = (answer.t, (answer.start, answer.t)), (None,) * len(_fact_columns(self.names))
        if self.of is not None:
            facts = ((number, fact_of_text(atom)) for number, answer_set in enumerate(sets, 1) for atom in answer_set)
            chosen = ((number, fact) for number, fact in facts if fact.signature == self.of)
            yield from ((*about, number, *_cells(fact, self.names), answer.incomplete) for number, fact in chosen)
            return
        if not sets:
            yield *about, None, *nothing, answer.incomplete
        for number, texts in enumerate(sets, 1):
            for cells in (_fact(text, self.names) for text in texts) if texts else (nothing,):
                yield *about, number, *cells, answer.incomplete


@dataclass(frozen=True)
class SelectColumns(AnswerColumns):
    """Rows of a SELECT; a variable named like one of the other columns is written with its question mark.

    >>> table = SelectColumns(("x", "t"))
    >>> [column.name for column in table.columns]
    ['t', 'window', 'x', '?t']
    >>> list(table.rows(Answer("rows", 40, (('{"x":"<http://ex.org/a>"}',),), 38), TimeFormat()))
    [(40, (38, 40), '<http://ex.org/a>', None)]
    """

    variables: tuple[str, ...]
    taken: frozenset[str] = frozenset({"t", "window"})

    kind: ClassVar[str] = "row"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        names = (f"?{name}" if name in self.taken else name for name in self.variables)
        return _T, _WINDOW, *(Column(name, "value") for name in names)

    def fits(self, answer: Answer) -> bool:
        return answer.kind == "rows" and all(row.keys() <= {*self.variables} for row in _read(answer))

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        for row in _read(answer):
            values = (row.get(name) for name in self.variables)
            yield answer.t, (answer.start, answer.t), *(None if term is None else cell(term) for term in values)


def _read(answer: Answer) -> Iterator[dict[str, str]]:
    """The terms of each row of a SELECT by their variables; those that are unbound are left out."""
    return map(json.loads, answer.columns[0])


@dataclass(frozen=True)
class GraphColumns(AnswerColumns):
    """Triples of a CONSTRUCT.

    >>> list(GraphColumns().rows(Answer("triples", 40, (("<p>(<s>,<o>)",),), 38), TimeFormat()))
    [(40, (38, 40), '<p>', ['<s>', '<o>'])]
    """

    names: tuple[str, ...] | None = None
    of: Predicate | None = None
    """The only predicate of which there are rows, whose arguments have the names."""

    kind: ClassVar[str] = "triple"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return _T, _WINDOW, *_fact_columns(self.names)

    def fits(self, answer: Answer) -> bool:
        return answer.kind == "triples"

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        for fact in map(fact_of_text, answer.columns[0]):
            if self.of is None or fact.signature == self.of:
                yield answer.t, (answer.start, answer.t), *_cells(fact, self.names)


@dataclass(frozen=True)
class TruthColumns(AnswerColumns):
    """Answers of an ASK.

    >>> list(TruthColumns().rows(Answer("truth", 40, ((True,),), 38), TimeFormat()))
    [(40, (38, 40), True)]
    """

    kind: ClassVar[str] = "truth"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return _T, _WINDOW, Column("answer", "truth")

    def fits(self, answer: Answer) -> bool:
        return answer.kind == "truth"

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        yield answer.t, (answer.start, answer.t), answer.columns[0][0]


# Events -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EventColumns(AnswerColumns):
    """Classes of individuals, complex events, and events that have no classes.

    >>> high = AbstractLine(5, "<High>", "<obs1>", "<g1>")
    >>> list(EventColumns().rows(Answer("events", 5, ((high,),)), TimeFormat()))
    [(5, '<High>', 5, 5, '<obs1>', '<g1>', None, None, None)]
    """

    kind: ClassVar[str] = "event"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (
            _T,
            Column("event", "text"),
            *_SPAN,
            Column("individual", "text"),
            Column("graph", "text"),
            Column("bindings", "pairs"),
            _EVENTS,
            Column("rejected", "text"),
        )

    def fits(self, answer: Answer) -> bool:
        return answer.kind == "events"

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        for line in answer.columns[0]:
            yield from self._rows(line, times)

    def _rows(self, line: EventLine, times: TimeFormat) -> Iterator[Row]:
        match line:
            case AbstractLine():
                at = line.t if line.at is None else line.at
                yield line.t, line.event, at, at, line.individual, line.graph or None, None, None, None
            case ComplexLine():
                instance = line.instance
                events = [event_json(event, times) for event in instance.events]
                yield (
                    line.t,
                    instance.event,
                    instance.start,
                    instance.end,
                    None,
                    None,
                    dict(line.bindings),
                    events,
                    None,
                )
            case _:
                for graph in line.graphs:
                    yield line.t, None, None, None, None, graph or None, None, None, line.why


@dataclass(frozen=True)
class MemberColumns(AnswerColumns):
    """The individuals of one class of events.

    >>> high, low = AbstractLine(5, "<High>", "<obs1>", "<g1>"), AbstractLine(5, "<Low>", "<obs2>")
    >>> list(MemberColumns("<High>").rows(Answer("events", 5, ((high, low),)), TimeFormat()))
    [(5, 5, 5, '<obs1>', '<g1>')]
    """

    event: str

    kind: ClassVar[str] = "event"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return _T, *_SPAN, Column("individual", "text"), Column("graph", "text")

    def fits(self, answer: Answer) -> bool:
        return answer.kind == "events"

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        for line in answer.columns[0]:
            if isinstance(line, AbstractLine) and line.event == self.event:
                at = line.t if line.at is None else line.at
                yield line.t, at, at, line.individual, line.graph or None


@dataclass(frozen=True)
class MatchColumns(AnswerColumns):
    """The matches of one pattern, with a column for each variable that it binds.

    A variable named like one of the other columns is written with its question mark.

    >>> from thalweg.ir.pattern_semantics import Instance
    >>> high = Instance("<High>", 5, 5, "<obs1>", "<g1>")
    >>> jam = ComplexLine(12, Instance("<Jam>", 5, 12, events=(high,)), (("loc", "<loc1>"),))
    >>> list(MatchColumns("<Jam>", ("loc", "v")).rows(Answer("events", 12, ((jam,),)), TimeFormat()))[0][:5]
    (12, 5, 12, '<loc1>', None)
    """

    event: str
    variables: tuple[str, ...] = ()

    kind: ClassVar[str] = "event"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return _T, *_SPAN, *(Column(name, "value") for name in self.names.values()), _EVENTS

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of columns by those of variables."""
        taken = {column.name for column in (_T, *_SPAN, _EVENTS)}
        return {name: f"?{name}" if name in taken else name for name in self.variables}

    def fits(self, answer: Answer) -> bool:
        return answer.kind == "events"

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        for line in answer.columns[0]:
            if isinstance(line, ComplexLine) and line.event == self.event:
                instance, bound = line.instance, dict(line.bindings)
                values = (cell(bound[name]) if name in bound else None for name in self.variables)
                events = [event_json(event, times) for event in instance.events]
                yield line.t, instance.start, instance.end, *values, events


# Several ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeveralColumns(AnswerColumns):
    """Answers of several kinds in one table, each in its own columns.

    >>> table = SeveralColumns((FactColumns(), TruthColumns()))
    >>> [column.name for column in table.columns]
    ['kind', 't', 'op', 'predicate', 'args', 'window', 'answer']
    >>> list(table.rows(Answer("truth", 4, ((True,),), 2), TimeFormat()))
    [('truth', 4, None, None, None, (2, 4), True)]
    """

    kinds: tuple[AnswerColumns, ...]

    kind: ClassVar[str] = "several"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return Column("kind", "text"), *dict.fromkeys(column for kind in self.kinds for column in kind.columns)

    def fits(self, answer: Answer) -> bool:
        return self._kind_of(answer) is not None

    def _kind_of(self, answer: Answer) -> AnswerColumns | None:
        # Clashes are facts of their own kind, and fit there first.
        return next((kind for kind in self.kinds if kind.fits(answer)), None)

    def rows(self, answer: Answer, times: TimeFormat) -> Iterator[Row]:
        kind = self._kind_of(answer)
        assert kind is not None
        names = [column.name for column in kind.columns]
        for row in kind.rows(answer, times):
            cells = dict(zip(names, row, strict=True), kind=kind.kind)
            yield tuple(cells.get(column.name) for column in self.columns)


def several(kinds: Iterable[AnswerColumns]) -> AnswerColumns:
    """The columns of answers of some kinds; those of the only one as they are.

    >>> table = several([SelectColumns(("x",)), SelectColumns(("event", "x")), EventColumns()])
    >>> [column.name for column in table.columns][-4:]
    ['rejected', 'window', 'x', '?event']
    """
    distinct = list(dict.fromkeys(kinds))
    if len(distinct) == 1:
        return distinct[0]
    fixed = frozenset(
        column.name for kind in distinct if not isinstance(kind, SelectColumns) for column in kind.columns
    ) | {
        "kind",
        "t",
        "window",
    }
    named = (SelectColumns(kind.variables, fixed) if isinstance(kind, SelectColumns) else kind for kind in distinct)
    # A row fits the SELECT with the fewest variables that has its own.
    ordered = sorted(named, key=lambda kind: len(kind.columns) if isinstance(kind, SelectColumns) else 0)
    return SeveralColumns(tuple(ordered))


# Cells --------------------------------------------------------------------------------------------------------------


class DatedText(str):
    """The text of a date or a time; `value` is what a table with types has for it."""

    __slots__ = ("value",)

    value: date

    @classmethod
    def of(cls, value: date) -> "DatedText":
        """The text of a value.

        >>> DatedText.of(date(2026, 11, 15)), DatedText.of(date(2026, 11, 15)).value
        ('2026-11-15', datetime.date(2026, 11, 15))
        """
        text = cls(value.isoformat())
        text.value = value
        return text


@lru_cache(maxsize=65_536)
def cell(term: str) -> str | int | float:
    """A term as tables write it: numbers and texts as they are, IRIs in angle brackets, dates and times as their text.

    >>> cell("20.50"), cell('"b c"'), cell("<http://ex.org/a>"), cell('"rue"@fr')
    (20.5, 'b c', '<http://ex.org/a>', '"rue"@fr')
    """
    value = value_of(term)
    match value:
        case IRI():
            return f"<{value}>"
        case Term():
            return str(value)
        case bool():
            return "true" if value else "false"
        case date():
            return DatedText.of(value)
        case int() | float() | str():
            return value
    return str(value)


def as_json(value: object) -> str:
    """A list or pairs as JSON, which is how CSV has them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
