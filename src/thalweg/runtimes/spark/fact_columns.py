"""Facts as text become columns: their predicates and arguments, or the arguments of one predicate with types."""

from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any, Final

from thalweg.answers.answer_columns import cell
from thalweg.model.number import show_number
from thalweg.model.predicate import Predicate
from thalweg.model.python_values import value_of
from thalweg.model.rdf import printed_fact
from thalweg.model.values import number_of

_TIMES: Final = {"date": date, "timestamp": datetime}
_WIDE: Final = Context(prec=100)


def fact_columns(facts: Any, of: Predicate | None, types: list[str]) -> tuple[Any, list[Any]]:
    """The rows that are kept, and their columns.

    >>> import pyarrow as pa
    >>> facts = pa.array(["jam(a)", 'hot("b c",30.5)', "idle"])
    >>> [column.to_pylist() for column in fact_columns(facts, None, [])[1]]
    [['jam', 'hot', 'idle'], [['a'], ['b c', '30.5'], []]]
    >>> kept, columns = fact_columns(facts, Predicate("hot", 2), ["string", "double"])
    >>> kept.to_pylist(), [column.to_pylist() for column in columns]
    ([1], [['b c'], [30.5]])
    """
    import pyarrow as pa

    encoded = facts.dictionary_encode()
    parsed = [printed_fact(text) for text in encoded.dictionary.to_pylist()]
    places = encoded.indices.to_pylist()
    if of is None:
        names = pa.array([parsed[place].predicate for place in places], pa.string())
        arguments = pa.array(
            [[str(cell(term)) for term in parsed[place].terms] for place in places], pa.list_(pa.string())
        )
        return pa.array(range(len(places)), pa.int64()), [names, arguments]
    kept = [row for row, place in enumerate(places) if parsed[place].signature == of]
    rows = [parsed[places[row]].terms for row in kept]
    columns = [_typed([terms[place] for terms in rows], kind) for place, kind in enumerate(types)]
    return pa.array(kept, pa.int64()), columns


def _typed(terms: list[str], kind: str) -> Any:
    """The terms as a column of a type of SQL; null where one has no value of the type."""
    import pyarrow as pa

    if kind == "string":
        return pa.array([str(cell(term)) for term in terms], pa.string())
    if kind in _TIMES:
        values = map(value_of, terms)
        return pa.array([value if type(value) is _TIMES[kind] else None for value in values], arrow_type(kind))
    words = [number_of(term) for term in terms]
    numbers = [None if word is None else Decimal(show_number(word)) for word in words]
    if kind == "double":
        return pa.array([None if number is None else float(number) for number in numbers], pa.float64())
    type_ = pa.decimal128(19, 0) if kind == "long" else arrow_type(kind)
    fitting = [None if number is None else _fitting(number, type_.precision, type_.scale) for number in numbers]
    return pa.array(fitting, type_).cast(arrow_type(kind))


def _fitting(number: Decimal, precision: int, scale: int) -> Decimal | None:
    """The number with so many digits behind the point; None where it has more, or too many before it."""
    exact = number.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
    return exact if exact == number and exact.adjusted() < precision - scale else None


def arrow_type(sql: str) -> Any:
    """The type of Arrow for one of SQL; text for those that are not listed.

    >>> arrow_type("decimal(12,2)")
    Decimal128Type(decimal128(12, 2))
    """
    import pyarrow as pa

    if sql.startswith("decimal("):
        return pa.decimal128(*map(int, sql[len("decimal(") : -1].split(",")))
    return {
        "long": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "array<long>": pa.list_(pa.int64()),
        "array<string>": pa.list_(pa.string()),
        "map<string,string>": pa.map_(pa.string(), pa.string()),
    }.get(sql, pa.string())
