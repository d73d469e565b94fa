"""Which `=` binds a variable, and which only compares.

Numbers are equal by value but a variable stands for a spelling, so it matters where a variable gets its value from. A
variable in a positive formula gets it there, and so does an aggregate's result; any other gets it from the first
`=`, as written, whose other side is known. Every other `=` compares.
"""

from collections.abc import Iterable, Sequence

from thalweg.ir.nodes import Aggregate, Comparison, Literal, Not, Variable, names


def bound_by_formulas(body: Iterable[Literal]) -> frozenset[str]:
    """The variables of the positive formulas and the results of aggregates."""
    positive = names(*(literal for literal in body if not isinstance(literal, Not | Comparison | Aggregate)))
    return positive | {literal.result.name for literal in body if isinstance(literal, Aggregate)}


def binders(body: Sequence[Literal], bound: frozenset[str] = frozenset()) -> dict[int, str]:
    """For each comparison that binds (by its `id`), the variable that it binds.

    >>> from thalweg.ir.nodes import Atom, Constant, Now
    >>> same = Comparison("=", Variable("Y"), Constant("1"))
    >>> list(binders([Now(Atom("p", (Variable("X"),))), same]).values())
    ['Y']
    """
    known = bound | bound_by_formulas(body)
    found: dict[int, str] = {}
    waiting = [literal for literal in body if isinstance(literal, Comparison) and literal.operator == "="]
    while True:
        step = next(((test, free) for test in waiting if (free := _free_side(test, known)) is not None), None)
        if step is None:
            return found
        test, free = step
        waiting.remove(test)
        found[id(test)] = free
        known |= {free}


def _free_side(test: Comparison, known: frozenset[str]) -> str | None:
    """The one variable that an `=` can give a value to."""
    for free, other in ((test.left, test.right), (test.right, test.left)):
        if isinstance(free, Variable) and free.name not in known and names(other) <= known:
            return free.name
    return None
