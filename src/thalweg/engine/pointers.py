"""Bare pointers for the kernels; in checked mode, pointers that know how far they reach.

With THALWEG_CHECKED=1 in the environment, kernels are compiled so that each access to rows, chains, lists, scratch,
scalars and the table is asserted to lie within its array (in the scratch: within what the plan may use). It is for
tests: an access that would touch other memory raises `IndexError` instead.
"""

import operator
import os
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_jitable, register_model

CHECKED: Final = os.environ.get("THALWEG_CHECKED", "0") != "0"


def _pointer(element: Any) -> Any:
    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:
        """The memory at an address."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], ir.IntType(element.bitwidth).as_pointer())

        return types.CPointer(element)(types.int64), generate

    return pointer


_words: Any = _pointer(types.int64)
_halves: Any = _pointer(types.int32)


@intrinsic
def _prefetch(typing_context: Any, pointer: Any, place: Any) -> Any:
    """Asks for the memory at a place of a pointer, to be there when it is needed."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        at = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(8).as_pointer())
        builder.call(function, [at, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(pointer, types.int64), generate


class Region(types.Type):
    """A pointer with the number of elements that it may reach; `flags`, if any, has a word for each that it may not."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=f"Region({element})")


@register_model(Region)
class _RegionModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [(name, types.int64) for name in _PARTS])


_PARTS: Final = ("address", "length", "flags")


def _region(element: Any) -> Any:
    @intrinsic
    def region(typing_context: Any, address: Any, length: Any, flags: Any) -> Any:
        """The memory at an address, as far as it reaches."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            structure = cgutils.create_struct_proxy(signature.return_type)(context, builder)
            for name, value in zip(_PARTS, args, strict=True):
                setattr(structure, name, value)
            return structure._getvalue()

        return Region(element)(types.int64, types.int64, types.int64), generate

    return region


def _part(name: str) -> Any:
    @intrinsic
    def part(typing_context: Any, region: Any) -> Any:
        """One part of a region."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(cgutils.create_struct_proxy(region)(context, builder, args[0]), name)

        return types.int64(region), generate

    return part


_address, _length, _flags = (_part(name) for name in _PARTS)


@register_jitable
def _assert_within(region: Any, place: int) -> None:
    if place < 0 or place >= _length(region):
        raise IndexError("a kernel reached beyond an array")
    if _flags(region) != 0 and _words(_flags(region))[place] != 0:
        raise IndexError("a kernel reached beyond what its plan may use of the scratch")


@overload(operator.getitem)
def _get(region: Any, place: Any) -> Any:
    if not isinstance(region, Region):
        return None
    pointer = _words if region.element is types.int64 else _halves

    def get(region: Any, place: Any) -> Any:
        _assert_within(region, place)
        return pointer(_address(region))[place]

    return get


@overload(operator.setitem)
def _set(region: Any, place: Any, value: Any) -> Any:
    if not isinstance(region, Region):
        return None
    pointer = _words if region.element is types.int64 else _halves

    def put(region: Any, place: Any, value: Any) -> None:
        _assert_within(region, place)
        pointer(_address(region))[place] = value

    return put


@register_jitable
def _only_words(address: int, _length: int, _flags: int) -> Any:
    return _words(address)


@register_jitable
def _only_halves(address: int, _length: int, _flags: int) -> Any:
    return _halves(address)


@register_jitable
def _no_prefetch(_region: Any, _place: int) -> None:
    """A hint changes nothing, so it may be left out."""


words_region: Any = _region(types.int64) if CHECKED else _only_words
halves_region: Any = _region(types.int32) if CHECKED else _only_halves
prefetch: Any = _no_prefetch if CHECKED else _prefetch
