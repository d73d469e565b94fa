"""Columns of cells become columns of words, each distinct cell coded once.

    21.50   "21.5"   44.0   -> 21.5   21.5   44         a number, if it is written as JSON writes one
    0042    d1   true       -> "0042"   d1   true       else a text
    (nothing)   null   NaN  -> no word: such a row is no fact

What is in a column is an array of Arrow, or a list where Arrow has no type for it: a key of JSON may hold a number in
one message and a text in the next.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from thalweg.connectors.mapping.mapping import Argument, Cell, ConstantArgument, Kind, Path, Template
from thalweg.model.dictionary import Dictionary
from thalweg.model.number import NO_VALUE, show_number
from thalweg.model.number_columns import decimal_word, double_words, integer_words
from thalweg.model.python_values import term_of
from thalweg.model.term import constant, is_term

Words = NDArray[np.int64]
Column = Any
"""An array of Arrow, or a list of values of Python."""

JSON_NUMBER: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_JSON_NUMBER: Final = re.compile(rf"{JSON_NUMBER}\Z")
_ANY_NUMBER: Final = re.compile(r"\s*([+-]?)([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+)?\s*\Z")
_LONG: Final = r"^-?[0-9]{16,}(\.0*)?$|[eE]"
_BARE: Final = r"^[a-z][A-Za-z0-9_]*$"
_FEW: Final = 512
"""Distinct texts up to which reading them one by one is faster than all at once."""
_AS_TEXT: Final = "write `text(…)` to take it as a text"
# What an IRI may hold as it is, besides letters and digits of any script.
_UNRESERVED: Final = "-._~"


@dataclass(slots=True)
class Coded:
    """A word for each row; which rows have none, and what is wrong with which others."""

    words: Words
    null: NDArray[np.bool_] | None = None
    wrong: dict[int, str] = field(default_factory=dict)


def coded_rows(words: list[int], null: list[int], wrong: dict[int, str]) -> Coded:
    """The words of values that were coded one by one; `null` are the places without a value."""
    empty = None
    if null:
        empty = np.zeros(len(words), dtype=bool)
        empty[null] = True
    return Coded(np.array(words, dtype=np.int64), empty, wrong)


def taken(distinct: Coded, places: NDArray[Any], null: NDArray[np.bool_] | None) -> Coded:
    """The words of rows, taken from those of their distinct values; `null` are the rows without a value."""
    if distinct.null is not None:
        null = _either(null, distinct.null[places])
    wrong: dict[int, str] = {}
    if distinct.wrong:
        for row in np.flatnonzero(np.isin(places, list(distinct.wrong))).tolist():
            if null is None or not null[row]:
                wrong[row] = distinct.wrong[int(places[row])]
    return Coded(distinct.words[places], null, wrong)


def code_argument(
    argument: Argument, columns: dict[Path, Column], rows: int, words: Dictionary, comma: bool = False
) -> Coded:
    """The words of an argument in all rows; with `comma`, `21,5` is a number."""
    match argument:
        case ConstantArgument(term):
            return Coded(np.full(rows, words.code(term), dtype=np.int64))
        case Cell(path, kind):
            return code_cells(columns[path], kind, words, comma)
        case Template():
            return _code_template(argument, columns, rows, words)


def code_cells(column: Column, kind: Kind, words: Dictionary, comma: bool = False) -> Coded:
    """The words of a column.

    >>> words, cells = Dictionary(), ["d1", 21.50, "0042", "1e2", None, True]
    >>> coded = code_cells(cells, "any", words)
    >>> [words.spell(word) for word in coded.words[~coded.null].tolist()], coded.null.tolist()
    (['d1', '21.5', '"0042"', '100', 'true'], [False, False, False, False, True, False])
    """
    import pyarrow as pa

    if isinstance(column, list):
        return _code_values(column, kind, words, comma)
    if pa.types.is_dictionary(column.type):
        return _code_distinct(column, kind, words, comma)
    null = _nulls(column)
    if kind != "text" and _is_whole(column.type):
        numbers = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False)
        coded = integer_words(numbers)
        if pa.types.is_uint64(column.type):
            coded = np.where(numbers < 0, NO_VALUE, coded)
        return _checked(Coded(coded, null), column)
    if kind != "text" and pa.types.is_floating(column.type):
        # A narrow float stands for the shortest decimal that is nearest to it, as a wide one does.
        numbers = _widened(column.fill_null(0)).to_numpy(zero_copy_only=False)
        null = _either(null, np.isnan(numbers) if np.isnan(numbers).any() else None)
        return _checked(Coded(double_words(numbers), null), column)
    if pa.types.is_null(column.type):
        return Coded(np.zeros(len(column), dtype=np.int64), np.ones(len(column), dtype=bool))
    if _is_text(column.type) or _has_few_values(column.type):
        return _code_distinct(column.dictionary_encode(), kind, words, comma)
    return _code_values(column.to_pylist(), kind, words, comma)


def texts_of(column: Column) -> Column:
    """The cells of a column as an array of texts."""
    import pyarrow as pa

    if isinstance(column, list):
        return pa.array([None if cell is None else _text(cell) for cell in column], type=pa.string())
    if pa.types.is_dictionary(column.type):
        spelled = texts_of(column.dictionary)
        return spelled.take(column.indices)
    if _is_text(column.type):
        return column.cast(pa.string())
    return pa.array([None if cell is None else _text(cell) for cell in column.to_pylist()], type=pa.string())


# Distinct cells ----------------------------------------------------------------------------------------------------


def _code_distinct(column: Any, kind: Kind, words: Dictionary, comma: bool) -> Coded:
    """The words of a column with a dictionary: those of its values, taken by the rows."""
    values = column.dictionary
    if not len(values):
        return Coded(np.zeros(len(column), dtype=np.int64), np.ones(len(column), dtype=bool))
    if _is_text(values.type):
        coded = _code_texts(values, kind, words, comma)
    elif kind != "text" and _is_number(values.type):
        coded = code_cells(values, kind, words, comma)
    else:
        coded = _code_values(values.to_pylist(), kind, words, comma)
    return taken(coded, column.indices.fill_null(0).to_numpy(zero_copy_only=False), _nulls(column))


def _code_texts(texts: Any, kind: Kind, words: Dictionary, comma: bool) -> Coded:
    if len(texts) <= _FEW or kind != "any":
        return _code_values(texts.to_pylist(), kind, words, comma)
    import pyarrow as pa
    import pyarrow.compute as pc

    bare = pc.match_substring_regex(texts, _BARE).fill_null(False).to_numpy(zero_copy_only=False)
    if bare.all():
        return Coded(_bare_words(texts, words))
    codes = np.zeros(len(texts), dtype=np.int64)
    codes[bare] = _bare_words(texts.filter(pa.array(bare)), words)
    others = np.flatnonzero(~bare)
    coded = _code_numerals(texts.take(pa.array(others)), words, comma)
    codes[others] = coded.words
    return Coded(codes, *_moved(coded, others, len(texts)))


def _bare_words(texts: Any, words: Dictionary) -> Words:
    """The words of texts that are their own terms; most have come before."""
    found, code = words.words.get, words.code
    codes = [code(text) if (word := found(text)) is None else word for text in texts.to_pylist()]
    return np.array(codes, dtype=np.int64)


def _code_numerals(texts: Any, words: Dictionary, comma: bool) -> Coded:
    """The words of texts of which many may be numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # What may be a whole number beyond the doubles that are exact is read by itself: an identifier keeps its digits.
    numeric = pc.and_not(pc.match_substring_regex(texts, f"^{JSON_NUMBER}$"), pc.match_substring_regex(texts, _LONG))
    numeric = numeric.fill_null(False).to_numpy(zero_copy_only=False)
    codes = np.zeros(len(texts), dtype=np.int64)
    where = np.flatnonzero(numeric)
    if len(where):
        codes[where] = double_words(texts.take(pa.array(where)).cast(pa.float64()).to_numpy(zero_copy_only=False))
    textual = np.flatnonzero(~numeric | (codes == NO_VALUE))
    coded = _code_values(texts.take(pa.array(textual)).to_pylist(), "any", words, comma)
    codes[textual] = coded.words
    return Coded(codes, *_moved(coded, textual, len(texts)))


def _moved(coded: Coded, places: NDArray[Any], count: int) -> tuple[NDArray[np.bool_] | None, dict[int, str]]:
    """Which of all places have no value, and what is wrong with which, by those of some of them."""
    null = None
    if coded.null is not None:
        null = np.zeros(count, dtype=bool)
        null[places] = coded.null
    return null, {int(places[place]): reason for place, reason in coded.wrong.items()}


def _code_values(values: Iterable[Any], kind: Kind, words: Dictionary, comma: bool) -> Coded:
    """Cell by cell: for distinct values, and for what is of several types."""
    cached: dict[Any, int] = {}
    codes: list[int] = []
    null: list[int] = []
    wrong: dict[int, str] = {}
    for place, value in enumerate(values):
        # In a dict `1`, `1.0` and `True` would be one.
        key = value if type(value) is str else (type(value), value) if not isinstance(value, dict | list) else None
        word = cached.get(key)
        if word is None:
            word = NO_VALUE
            try:
                if is_missing(value):
                    null.append(place)
                else:
                    cached[key] = word = words.code(cell_term(value, kind, comma))
            except ValueError as error:
                wrong[place] = str(error)
        codes.append(word)
    return coded_rows(codes, null, wrong)


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or what pandas has for it.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    try:
        return value is None or bool(value != value)
    except TypeError:
        # `pandas.NA` is neither equal to itself nor different.
        return True


def cell_term(value: object, kind: Kind = "any", comma: bool = False) -> str:
    """The term of a cell; `ValueError` where it has none.

    >>> cell_term("21.50"), cell_term("0042"), cell_term("0042", "number"), cell_term(7, "text"), cell_term(False)
    ('21.5', '"0042"', '42', '"7"', 'false')
    >>> cell_term("21,5", comma=True), cell_term("21,5")
    ('21.5', '"21,5"')
    """
    if isinstance(value, dict | list | bytes):
        what = {dict: "an object", list: "an array", bytes: "bytes"}[type(value)]
        raise ValueError(f"this is {what}, not a value")
    if kind == "text":
        return constant(_text(value))
    if isinstance(value, str):
        text = value.replace(",", ".", 1) if comma and value.count(",") == 1 and "." not in value else value
        if kind == "number":
            return _spelled(_plain(text), value)
        return _spelled(text, value) if _JSON_NUMBER.match(text) else _constant(value)
    if isinstance(value, bool) and kind == "number":
        raise ValueError(f"`{_text(value)}` is not a number")
    try:
        return term_of(value)
    except TypeError:
        raise ValueError(f"`{value}` is not a value of a fact") from None
    except ValueError as error:
        raise ValueError(f"{error}; {_AS_TEXT}") from None


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() | Decimal():
            return f"{Decimal(repr(value) if isinstance(value, float) else value).normalize():f}"
        case datetime() | date():
            return value.isoformat()
        case dict() | list() | bytes():
            raise ValueError("this is not a value")
    return str(value)


def _constant(text: str) -> str:
    try:
        return term_of(text)
    except ValueError:
        raise ValueError("this text has half a surrogate pair, which is not a character") from None


def _plain(text: str) -> str:
    """A number that is written in another way than JSON's: `0042`, `+5`, `.5`."""
    match = _ANY_NUMBER.match(text)
    if not match or not (match[2] or match[3]):
        raise ValueError(f"`{text}` is not a number")
    sign, integer, part, power = match.groups()
    return f"{sign.replace('+', '')}{integer.lstrip('0') or '0'}{f'.{part}' if part else ''}{power or ''}"


def _spelled(number: str, written: str) -> str:
    word = decimal_word(number)
    if word is None:
        raise ValueError(f"`{written}` is not a number that can be calculated with; {_AS_TEXT}")
    return show_number(word)


# IRIs --------------------------------------------------------------------------------------------------------------


def _code_template(template: Template, columns: dict[Path, Column], rows: int, words: Dictionary) -> Coded:
    import pyarrow as pa
    import pyarrow.compute as pc

    alone = len(template.pieces) == 1
    pieces = []
    for piece in template.pieces:
        if isinstance(piece, Path):
            encoded = texts_of(columns[piece]).dictionary_encode()
            safe = pa.array([text if alone else _escaped(text) for text in encoded.dictionary.to_pylist()], pa.string())
            pieces.append(safe.take(encoded.indices) if len(safe) else pa.nulls(rows, pa.string()))
        else:
            pieces.append(pa.repeat(pa.scalar(piece), rows))
    joined = pieces[0] if alone else pc.binary_join_element_wise(*pieces, "")
    return _by_distinct(joined.dictionary_encode(), _iri, words)


def _by_distinct(column: Any, term: Callable[[str], str], words: Dictionary) -> Coded:
    codes, wrong = [], {}
    for place, text in enumerate(column.dictionary.to_pylist()):
        try:
            codes.append(words.code(term(text)))
        except ValueError as error:
            codes.append(NO_VALUE)
            wrong[place] = str(error)
    if not codes:
        return Coded(np.zeros(len(column), dtype=np.int64), np.ones(len(column), dtype=bool))
    coded = Coded(np.array(codes, dtype=np.int64), None, wrong)
    return taken(coded, column.indices.fill_null(0).to_numpy(zero_copy_only=False), _nulls(column))


def _escaped(text: str) -> str:
    """A text as a part of an IRI: letters and digits of any script as they are, signs percent-encoded."""
    return "".join(
        character if character.isalnum() or character in _UNRESERVED else quote(character, safe="")
        for character in text
    )


def _iri(text: str) -> str:
    if not is_term(f"<{text}>"):
        raise ValueError(f"`{text}` is not an IRI")
    return f"<{text}>"


# Types of Arrow ----------------------------------------------------------------------------------------------------


def _is_text(type_: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _is_whole(type_: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(type_))


def _is_number(type_: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))


def _has_few_values(type_: Any) -> bool:
    """Types of which Arrow finds the distinct values."""
    import pyarrow as pa

    kinds = pa.types
    return bool(
        kinds.is_boolean(type_)
        or kinds.is_timestamp(type_)
        or kinds.is_date(type_)
        or kinds.is_decimal(type_)
        or _is_number(type_)
    )


def _widened(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_float64(column.type):
        return column
    return (
        column.cast(pa.string()).cast(pa.float64()) if pa.types.is_float32(column.type) else column.cast(pa.float64())
    )


def _nulls(column: Any) -> NDArray[np.bool_] | None:
    if not column.null_count:
        return None
    empty: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return empty


def _either(first: NDArray[np.bool_] | None, second: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return second if first is None else first if second is None else first | second


def _checked(coded: Coded, column: Any) -> Coded:
    """Notes the rows whose number has no word."""
    for row in np.flatnonzero(coded.words == NO_VALUE).tolist():
        if coded.null is None or not coded.null[row]:
            coded.wrong[row] = f"`{column[row].as_py()}` is not a number that can be calculated with; {_AS_TEXT}"
    return coded
