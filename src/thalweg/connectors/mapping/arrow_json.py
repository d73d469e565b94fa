"""Blocks of JSON objects become columns by Arrow's reader, where it says the same as Python's.

Arrow takes a tenth of the time, but one object that it cannot read costs the block, and it must know the types: they
are learned from some of the messages. Whatever it could take for something else than `json` does is refused here, and
the block is read by Python: numbers beyond the doubles that are exact, values of several types in one place, objects
that are not complete by themselves.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

from thalweg.connectors.mapping.mapping import EACH, Mapping, Path, Steps

Leaf = Literal["nothing", "integer", "number", "text", "truth", "other"]
"""What stands at the end of a path; `other` is an object or an array."""

_FEW: Final = 64
"""Objects up to which Python reads them as fast, and from which types are learned."""
_LARGEST: Final = 1 << 30
_EXACT: Final = float(1 << 53)
_LEAVES: Final[dict[type, Leaf]] = {
    type(None): "nothing", int: "integer", float: "number", str: "text", bool: "truth",
}  # fmt: skip


class ArrowJson:
    """Reads blocks of objects of which mappings need some values.

    >>> from thalweg.connectors.mapping.read_mapping import read_mappings
    >>> reader = ArrowJson(read_mappings("temp(device, meta.temp) at ts"))
    >>> message = b'{"device": "d1", "ts": 36, "meta": {"temp": 21.5}}'
    >>> batch = reader.read((message + b"\\n") * 100, 100, lambda size: [message] * size)
    >>> batch.slice(99).to_pylist()
    [{'device': 'd1', 'meta': {'temp': 21.5}, 'ts': 36}]
    """

    def __init__(self, mappings: Iterable[Mapping]) -> None:
        self._paths = tuple(dict.fromkeys(path for mapping in mappings for path in mapping.paths))
        self._leaves: dict[Path, Leaf] = {}

    def read(self, data: Any, count: int, first: Callable[[int], Sequence[str | bytes]]) -> Any:
        """A record batch with a row for each of the objects in a block; None where Python must read them.

        Each object begins with `{`, ends with `}`, and stands between line breaks, so that none can be a part of
        another; all is UTF-8. `first` gives the texts of some objects, by which types are learned.
        """
        if count <= _FEW or len(data) > _LARGEST or not self._paths:
            return None
        if not self._leaves and not self._learn_from(first(_FEW)):
            return None
        batch = self._parse(data, count)
        if batch is not None:
            return batch
        # What was learned may be of messages that are rare; and whole numbers may have others among them.
        self._leaves = {}
        if not self._learn_from(first(_FEW)):
            return None
        self._widen()
        return self._parse(data, count)

    def learn(self, messages: Iterable[dict[str, Any]]) -> None:
        """Takes the types of what messages have into account; the first one counts where they differ."""
        for message in messages:
            for path in self._paths:
                for value in _values(message, path.steps):
                    self._meet(path, _LEAVES.get(type(value), "other"))

    def _learn_from(self, texts: Sequence[str | bytes]) -> bool:
        """Learns from some objects; False where these are not what they should be."""
        try:
            messages = list(map(json.loads, texts))
        except (ValueError, RecursionError):
            return False
        self.learn(messages)
        return True

    def _meet(self, path: Path, leaf: Leaf) -> None:
        known = self._leaves.get(path, "nothing")
        if known == "nothing" or (known, leaf) == ("integer", "number"):
            self._leaves[path] = leaf

    def _widen(self) -> None:
        for path, leaf in self._leaves.items():
            if leaf == "integer":
                self._leaves[path] = "number"

    def _parse(self, data: bytes, count: int) -> Any:
        import pyarrow as pa
        from pyarrow import json as arrow_json

        schema = _schema(self._leaves, self._paths)
        if schema is None:
            return None
        try:
            table = arrow_json.read_json(
                pa.BufferReader(data),
                arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        if table.num_rows != count:
            return None
        (batch,) = table.combine_chunks().to_batches()
        return batch if all(_is_exact(batch, path) for path in self._paths) else None


def _values(inside: Any, steps: Steps) -> Iterable[Any]:
    """The values at the end of a path: one, or those of all elements; `Ellipsis` where it leads through no object."""
    for place, step in enumerate(steps):
        if inside is None:
            return ()
        if step is EACH:
            if not isinstance(inside, list):
                return (...,)
            return [value for element in inside for value in _values(element, steps[place + 1 :])]
        if not isinstance(inside, dict):
            return (...,)
        inside = inside.get(step)
    return (inside,)


def _schema(leaves: dict[Path, Leaf], paths: Sequence[Path]) -> Any:
    """The types of the columns that paths begin with; None where there is none for a path."""
    import pyarrow as pa

    types = {
        "nothing": pa.string(), "integer": pa.int64(), "number": pa.float64(), "text": pa.string(), "truth": pa.bool_(),
    }  # fmt: skip
    if any(leaves.get(path) == "other" for path in paths):
        return None
    tree = _tree([(path.steps, types[leaves.get(path, "nothing")]) for path in paths])
    return None if tree is None else pa.schema(list(tree))


def _tree(leaves: Sequence[tuple[Steps, Any]]) -> Any:
    """The type of what paths lead through: a struct, a list, or what is at their end; None where these differ."""
    import pyarrow as pa

    if any(not steps for steps, _ in leaves):
        return leaves[0][1] if len(leaves) == 1 else None
    by_step: dict[str | None, list[tuple[Steps, Any]]] = {}
    for steps, leaf in leaves:
        by_step.setdefault(steps[0], []).append((steps[1:], leaf))
    inner = {step: _tree(inside) for step, inside in by_step.items()}
    if any(type_ is None for type_ in inner.values()) or (EACH in inner and len(inner) > 1):
        return None
    return pa.list_(inner[EACH]) if EACH in inner else pa.struct(list(inner.items()))


def _is_exact(batch: Any, path: Path) -> bool:
    """Whether Python would have read the same numbers: whole ones beyond the exact doubles keep their digits there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = batch.column(batch.schema.names.index(path.column))
    for step in path.steps[1:]:
        column = pc.list_flatten(column) if step is EACH else pc.struct_field(column, step)
    if not pa.types.is_float64(column.type):
        return True
    largest = pc.max(pc.abs(column)).as_py()
    return largest is None or largest < _EXACT


def joined_objects(column: Any) -> Any:
    """A column of messages as one block for `ArrowJson`; None where a message is missing or not an object.

    >>> import pyarrow as pa
    >>> joined_objects(pa.array([b'{"a": 1}', b' {"a":\\n 2} '])).to_pybytes()
    b'{"a": 1}\\n{"a":\\n 2}\\n'
    >>> joined_objects(pa.array([b'{"a": 1}', b"[]"]))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count or not len(column):
        return None
    try:
        texts = pc.ascii_trim(column.cast(pa.string()), characters=" \t\r\n")
        if not pc.all(pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))).as_py():
            return None
        texts = pa.concat_arrays([texts, pa.array([""])])
        return pc.binary_join(pa.ListArray.from_arrays([0, len(texts)], texts), "\n")[0].as_buffer()
    except pa.ArrowException:
        # Not UTF-8, of a type that holds no texts, or more than one text can hold.
        return None
