"""Which `=` binds a variable, and which only compares.

Numbers are equal by value but a variable stands for a spelling, so it matters where a variable gets its value from. A
variable in a positive formula gets it there, and so does an aggregate's result, as soon as its groups have values; any
other gets it from the first `=`, as written, whose other side is known. Every other `=` compares.

    g :- N = count{L : p(V) at L in [1]}, V = N, V = 1.     V = 1 binds V, for N is known only when V is
    g :- N = 1, V = N, N = count{L : p(V) at L in [1]}.     N = 1 binds N, for nothing else can
"""

from collections.abc import Iterable, Sequence

from thalweg.ir.nodes import Aggregate, Comparison, Literal, Not, Rule, Variable, global_names, names


def bound_by_formulas(body: Iterable[Literal]) -> frozenset[str]:
    """The variables of the positive formulas and the results of aggregates."""
    return _in_formulas(body) | {literal.result.name for literal in body if isinstance(literal, Aggregate)}


def binders(rule: Rule, body: Sequence[Literal], bound: frozenset[str] = frozenset()) -> dict[int, str]:
    """For each comparison of a body of the rule that binds (by its `id`), the variable that it binds.

    >>> from thalweg.ir.nodes import Atom, Constant, Now
    >>> same = Comparison("=", Variable("Y"), Constant("1"))
    >>> rule = Rule(Atom("q"), (Now(Atom("p", (Variable("X"),))), same))
    >>> list(binders(rule, rule.body).values())
    ['Y']
    """
    bound = bound | _in_formulas(body)
    bindings: dict[int, str] = {}
    waiting = [literal for literal in body if isinstance(literal, Comparison) and literal.operator == "="]
    groups = {
        literal.result.name: global_names(rule, literal) - {literal.result.name}
        for literal in body
        if isinstance(literal, Aggregate)
    }
    while True:
        while ready := {result for result, needed in groups.items() if result not in bound and needed <= bound}:
            bound |= ready
        # An `=` gives a value to the result of an aggregate only where nothing else can go on.
        step = _next_binder(waiting, bound, groups.keys() - bound) or _next_binder(waiting, bound)
        if step is None:
            return bindings
        test, free = step
        waiting.remove(test)
        bindings[id(test)] = free
        bound |= {free}


def _in_formulas(body: Iterable[Literal]) -> frozenset[str]:
    return names(*(literal for literal in body if not isinstance(literal, Not | Comparison | Aggregate)))


def _next_binder(
    tests: Iterable[Comparison], bound: frozenset[str], later: Iterable[str] = ()
) -> tuple[Comparison, str] | None:
    """The first `=` that can bind a variable, other than those of `later`, and this variable."""
    candidates = ((test, _free_side(test, bound)) for test in tests)
    return next(((test, free) for test, free in candidates if free is not None and free not in later), None)


def _free_side(test: Comparison, bound: frozenset[str]) -> str | None:
    """The one variable that an `=` can give a value to."""
    for free, other in ((test.left, test.right), (test.right, test.left)):
        if isinstance(free, Variable) and free.name not in bound and names(other) <= bound:
            return free.name
    return None
