"""What is wrong with tables of facts that the call can know: nothing is empty without a word.

{"sped": table}      and rules read `speed/2`               E310: no rule reads `sped/2`
{"speed": table}     with three columns beside the time     E310: no rule reads `speed/3`
map="temp(id, meta.v) at ts"   and `meta` is an array       E311: `meta` holds no value of a fact
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from thalweg.connectors.mapping.mapping import EACH, Path
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Program
from thalweg.model.predicate import Predicate
from thalweg.model.similar import nearest
from thalweg.model.triples import TRIPLES
from thalweg.planning.check_unmatched import Inputs
from thalweg.planning.locality import counts_everything

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from thalweg.runtimes.spark.columns import Shape

_VALUES: Final = 'take a value out of it: `table.withColumn("temp", table["{0}"]["temp"])`'
_COLLECTIONS: Final = {"map": "a map", "array": "an array", "struct": "a struct", "binary": "bytes"}


def check_tables(program: Program | None, tables: "Mapping[str, DataFrame]", shapes: "Mapping[str, Shape]") -> None:
    """`RejectedError` where rules read nothing of a table, or one of its columns holds no values."""
    wrong = [diagnostic for name, table in tables.items() for diagnostic in _columns(shapes[name], table)]
    if program is not None:
        wrong += _names(program, shapes)
    if wrong:
        raise RejectedError(wrong)


def check_chosen(chosen: Predicate, derived: "frozenset[Predicate]") -> None:
    """`RejectedError` where nothing derives the predicate that `of` names."""
    if chosen not in derived:
        meant = nearest(chosen, (name for name in derived if "'" not in name))
        listed = ", ".join(f"`{name}`" for name in sorted(derived)[:3] if "'" not in name)
        help_ = f"did you mean `{meant}`?" if meant else f"there is {listed}" if listed else ""
        raise RejectedError(
            [Diagnostic("E310", f"nothing derives `{chosen}`, which `of` names, or it is not output", help=help_)]
        )


def _names(program: Program, shapes: "Mapping[str, Shape]") -> Iterator[Diagnostic]:
    """Tables that bring what no rule reads, where all that they bring is known."""
    inputs = Inputs(program)
    used = inputs.read.keys() | program.derived
    if TRIPLES in used or any(map(counts_everything, program.rules)):
        return
    brought = frozenset[Predicate]().union(*(shape.brings or () for shape in shapes.values()))
    # An ontology says nothing of many classes that its data have.
    if inputs.has_vocabulary and not (brought and used.isdisjoint(brought)):
        return
    for name, shape in shapes.items():
        for predicate in sorted((shape.brings or frozenset()) - used):
            awaited = [signature for signature in inputs.awaited if signature not in brought]
            meant = nearest(predicate, awaited)
            # What else a table is mapped to may be for another program; a slip, or all of it unread, is an error.
            if meant is not None or used.isdisjoint(shape.brings or ()):
                yield _unread(predicate, name, meant, awaited)


def _unread(predicate: Predicate, table: str, meant: Predicate | None, awaited: list[Predicate]) -> Diagnostic:
    source = f"the table `{table}`" if table else "the table"
    listed = ", ".join(f"`{name}`" for name in awaited[:3])
    help_ = f"did you mean `{meant}`?" if meant else f"rules wait for {listed}" if listed else ""
    if meant is not None and meant.name == predicate.name:
        help_ = f"rules read `{meant}`: it has another number of arguments"
    return Diagnostic("E310", f"no rule reads `{predicate}`, which {source} brings", help=help_)


def _columns(shape: "Shape", table: "DataFrame") -> Iterator[Diagnostic]:
    """Columns whose cells are no values: maps, arrays, structs, bytes."""
    if shape.is_messages:
        return
    paths = [path for mapping in shape.mappings for path in mapping.paths] or [Path((name,)) for name in shape.wanted]
    if shape.mappings and shape.columns == ("value",) and not any(path.column == "value" for path in paths):
        return
    for path in dict.fromkeys(paths):
        type_, column = type_at(table, path), path.column
        kind = None if type_ is None else _COLLECTIONS.get(type_.typeName())
        if type_ is None:
            kind = (
                _COLLECTIONS.get(table.schema[column].dataType.typeName(), "a value")
                if column in table.columns
                else None
            )
        if kind is not None:
            where = path.quoted if type_ is not None else f"`{column}`"
            needed = "" if type_ is not None else f", so it has no {path.quoted}"
            message = f"the column {where} is {kind}, not a value of a fact{needed}"
            yield Diagnostic("E311", message, help=_VALUES.format(column))


def type_at(table: "DataFrame", path: Path) -> Any:
    """The type at the end of a path; None where there is none."""
    if path.whole in table.columns and EACH not in path.steps:
        return table.schema[path.whole].dataType
    kind: Any = table.schema
    for step in path.steps:
        if step is EACH:
            kind = getattr(kind, "elementType", None)
        elif hasattr(kind, "fieldNames") and step in kind.fieldNames():
            kind = kind[step].dataType
        elif hasattr(kind, "keyType") and kind.keyType.typeName() == "string":
            kind = kind.valueType
        else:
            return None
    return kind
