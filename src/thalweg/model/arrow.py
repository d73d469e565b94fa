"""A header and named lists as bytes: how state is saved, and how parts of a program on different machines talk.

One row of Arrow whose columns are lists; the header is JSON in the schema. Reading it copies no numbers. What is sent
with few values is JSON as a whole, because a schema of Arrow takes longer than they do. A checksum stands at the end:
Arrow trusts what it reads, and damaged lengths would lead it out of its memory.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary

Lists = dict[str, Any]
"""Names to arrays of 64-bit integers, or to lists of strings, of Python or of Arrow."""

_CHECKSUM: Final = 8
"""Bytes of the checksum."""
_FEW: Final = 32
"""Values that are written as JSON; Arrow's own bytes never begin with a brace."""
_BRACE: Final = ord("{")


class DamagedError(ValueError):
    """Bytes that `encode` did not make, or that were changed since."""


def encode(header: Mapping[str, Any], lists: Mapping[str, Any], brief: bool = False) -> bytes:
    """The bytes of a header and of lists: each an array of integers, or a list of strings; `brief`: few are JSON.

    >>> header, lists = decode(encode({"now": 3}, {"words": np.array([5, 9]), "terms": ["a"]}))
    >>> header, lists["words"].tolist(), lists["terms"].to_pylist()
    ({'now': 3}, [5, 9], ['a'])
    >>> len(encode({"now": 3}, {"words": np.array([5, 9])}, brief=True))
    66
    """
    few = brief and sum(map(len, lists.values())) <= _FEW
    data = json.dumps(as_plain(header, lists)).encode() if few else _as_arrow(header, lists)
    return data + _checksum(data)


def as_plain(header: Mapping[str, Any], lists: Mapping[str, Any]) -> dict[str, Any]:
    """A header and lists as what JSON can hold, for `of_plain`.

    >>> of_plain(as_plain({"now": 3}, {"words": np.array([5, 9])}))
    ({'now': 3}, {'words': array([5, 9])})
    """
    columns = [
        (name, isinstance(values, np.ndarray), values if isinstance(values, list) else values.tolist())
        for name, values in lists.items()
    ]
    return {"header": header, "lists": columns}


def _as_arrow(header: Mapping[str, Any], lists: Mapping[str, Any]) -> bytes:
    import pyarrow as pa

    arrays = []
    for values in lists.values():
        kind = pa.int64() if isinstance(values, np.ndarray) else pa.string()
        flat = values if isinstance(values, pa.Array) else pa.array(values, type=kind)
        arrays.append(pa.ListArray.from_arrays(pa.array([0, len(flat)], type=pa.int32()), flat))
    fields = [(name, array.type) for name, array in zip(lists, arrays, strict=True)]
    schema = pa.schema(fields, metadata={"thalweg": json.dumps(header)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _checksum(data: bytes | memoryview) -> bytes:
    return crc32(data).to_bytes(_CHECKSUM, "little")


def decode(data: bytes) -> tuple[dict[str, Any], Lists]:
    """The header and the lists that `encode` was given; strings are left to Arrow, because not everyone looks at them.

    >>> decode(b"PAR1")
    Traceback (most recent call last):
    thalweg.model.arrow.DamagedError: the saved state is damaged, or was saved by another version
    """
    content = memoryview(data)[:-_CHECKSUM]
    if not content or data[-_CHECKSUM:] != _checksum(content):
        raise DamagedError("the saved state is damaged, or was saved by another version")
    if content[0] == _BRACE:
        return of_plain(json.loads(str(content, "utf-8")))
    import pyarrow as pa

    with pa.ipc.open_stream(pa.BufferReader(content)) as reader:
        batch = reader.read_next_batch()
    lists: Lists = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        values = column.flatten()
        lists[name] = values.to_numpy() if pa.types.is_integer(values.type) else values
    return json.loads(batch.schema.metadata[b"thalweg"]), lists


def of_plain(saved: Mapping[str, Any]) -> tuple[dict[str, Any], Lists]:
    """The header and the lists that were made plain."""
    return saved["header"], {
        name: _column(is_number, values) if values else _no_values(is_number)
        for name, is_number, values in saved["lists"]
    }


def _column(is_number: bool, values: list[Any]) -> Any:
    import pyarrow as pa

    return np.array(values, dtype=np.int64) if is_number else pa.array(values, type=pa.string())


@cache
def _no_values(is_number: bool) -> Any:
    return _column(is_number, [])


def recoded(words: NDArray[np.int64], codes: NDArray[np.int64], renewed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Words of one dictionary in another, which calls the terms of `codes` (in order) by the words `renewed`."""
    if not len(codes):
        return words
    fresh, terms = words.copy(), words & 3 == 0
    fresh[terms] = renewed[np.searchsorted(codes, words[terms])]
    return fresh


def terms_of(words: NDArray[np.int64], dictionary: Dictionary) -> Lists:
    """The terms that must be saved along with words, so that `read_words` can read them with another dictionary."""
    if (words & 3).all():
        return {"codes": np.zeros(0, dtype=np.int64), "terms": []}
    codes = np.unique(words[words & 3 == 0])
    return {"codes": codes, "terms": dictionary.spell_column(codes)}


def read_words(lists: Lists, dictionary: Dictionary) -> NDArray[np.int64]:
    """The `words` of lists in a dictionary, by the terms that were saved with them.

    >>> there, here = Dictionary(), Dictionary()
    >>> words = np.array([there.code("a"), there.code("b")])
    >>> read = read_words(decode(encode({}, {"words": words, **terms_of(words, there)}))[1], here)
    >>> [here.spell(word) for word in read.tolist()]
    ['a', 'b']
    """
    renewed = np.array([dictionary.code(term) for term in lists["terms"].to_pylist()], dtype=np.int64)
    return recoded(lists["words"], lists["codes"], renewed)


def frame(payloads: Iterable[bytes]) -> bytes:
    """Several payloads as one.

    >>> list(unframe(frame([b"ab", b"", b"c"])))
    [b'ab', b'', b'c']
    """
    return b"".join(part for payload in payloads for part in (len(payload).to_bytes(8, "little"), payload))


def unframe(data: bytes) -> Iterator[bytes]:
    """The payloads that `frame` was given.

    >>> list(unframe(frame([b"ab"])[:-1]))
    Traceback (most recent call last):
    thalweg.model.arrow.DamagedError: the saved state is not whole
    """
    place = 0
    while place < len(data):
        start = place + 8
        place = start + int.from_bytes(data[place:start], "little")
        if place > len(data):
            raise DamagedError("the saved state is not whole")
        yield data[start:place]
