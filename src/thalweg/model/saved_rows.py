"""Rows of words as bytes, each table with a label: what parts of a plan hold between them, when a run is saved."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.model.arrow import decode, encode, read_words, terms_of
from thalweg.model.dictionary import Dictionary

Table = NDArray[np.int64]


def save_rows(tables: Iterable[tuple[Any, Table]], words: Dictionary) -> bytes:
    """Tables, each with a label that JSON can hold."""
    labelled = list(tables)
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *(table.reshape(-1) for _, table in labelled)])
    header = {"labels": [label for label, _ in labelled], "shapes": [list(table.shape) for _, table in labelled]}
    return encode(header, {"words": flat, **terms_of(flat, words)})


def load_rows(data: bytes, words: Dictionary) -> Iterator[tuple[Any, Table]]:
    """The tables that `save_rows` was given, in the words of another dictionary.

    >>> there, here = Dictionary(), Dictionary()
    >>> saved = save_rows([("p", np.array([[there.code("a")], [there.code("b")]]))], there)
    >>> [(label, [here.spell(word) for word in table[:, 0].tolist()]) for label, table in load_rows(saved, here)]
    [('p', ['a', 'b'])]
    """
    header, lists = decode(data)
    flat, place = read_words(lists, words), 0
    for label, (rows, columns) in zip(header["labels"], header["shapes"], strict=True):
        after = place + rows * columns
        yield label, flat[place:after].reshape(rows, columns)
        place = after
