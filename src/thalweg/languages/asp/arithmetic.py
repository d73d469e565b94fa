"""Arithmetic in the 32 bits of clingo's numbers, with rules whose numbers have 62.

    X + 1         is   (X + 2147483649) mod 4294967296 - 2147483648

Numbers that are too large begin again with the least. Only the lowest bits matter, so a sum of sums is put in
range once. Where a product could leave our own range, its lower and upper halves are multiplied apart.
"""

from typing import Final

from thalweg.ir.nodes import Constant, Expression, Operation, Variable
from thalweg.languages.asp.terms import LEAST
from thalweg.model.number import LARGEST_INTEGER

_SHIFT: Final = -LEAST
_RANGE: Final = Constant(str(2 * _SHIFT))
_HALF: Final = Constant(str(1 << 16))


def calculated(operator: str, left: Expression, right: Expression) -> Expression:
    """The operation as clingo calculates it; the operands are variables, constants and what comes from here.

    >>> from thalweg.ir.text import show
    >>> more = calculated("+", Variable("X"), Constant("1"))
    >>> print(show(more), "and", show(calculated("-", more, Variable("Y"))))
    (X + 2147483649) mod 4294967296 - 2147483648 and (X + 1 - Y + 2147483648) mod 4294967296 - 2147483648
    """
    plain = Operation(operator, left, right)
    bare = Operation(operator, _inside(left), _inside(right))
    return in_range(
        next(
            (operation for operation in (bare, plain) if _most(operation) < LARGEST_INTEGER - _SHIFT),
            _halves(left, right),
        )
    )


def in_range(value: Expression) -> Expression:
    """The number of 32 bits that any number becomes."""
    shifted = Operation("+", value, Constant(str(_SHIFT)))
    match value:
        case Operation("+", start, Constant(more)):
            shifted = Operation("+", start, Constant(str(_SHIFT + int(more))))
        case Operation("-", start, Constant(less)):
            shifted = Operation("+", start, Constant(str(_SHIFT - int(less))))
    return Operation("-", Operation("mod", shifted, _RANGE), Constant(str(_SHIFT)))


def scales(term: Expression) -> bool:
    """Whether a term multiplies by a constant.

    To see whether `Y = 2*X`, clingo may look for half of Y, and that is not the only X.
    """
    match term:
        case Operation("*", Constant(), _) | Operation("*", _, Constant()):
            return True
        case Operation(_, left, right):
            return scales(left) or scales(right)
    return False


def _halves(left: Expression, right: Expression) -> Expression:
    """A product as far as its lowest 32 bits go: the upper half of one side meets the lower half of the other only."""
    lower = Operation("mod", left, _HALF)
    upper = Operation("*", Operation("-", left, lower), Operation("mod", right, _HALF))
    return Operation("+", Operation("*", lower, right), upper)


def _inside(term: Expression) -> Expression:
    """The expression under the `mod` and the shift that `in_range` adds; any other expression unchanged."""
    match term:
        case Operation("-", Operation("mod", Operation("+", start, Constant(shift)), range), _) if range == _RANGE:
            more = int(shift) - _SHIFT
            return Operation("+", start, Constant(str(more))) if more else start
    return term


def _most(term: Expression) -> int:
    """The largest absolute value that an expression can have."""
    match term:
        case Variable():
            return _SHIFT
        case Constant(text):
            return abs(int(text))
        case Operation("mod", _, Constant(text)):
            return int(text)
        case Operation("*", left, right):
            return _most(left) * _most(right)
        case Operation(_, left, right):
            return _most(left) + _most(right)
    raise TypeError("an answer set program has no functions")
