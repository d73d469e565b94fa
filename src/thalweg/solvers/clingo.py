"""The only door to clingo."""

import clingo


def solve_once(program: str, facts: str) -> list[str]:
    """Grounds and solves from scratch; the shown atoms of the first answer set, empty where there is none.

    >>> sorted(solve_once("q(X) :- p(X), not r(X). #show q/1.", "p(1). p(2). r(2)."))
    ['q(1)']
    """
    control = clingo.Control(["--warn=none"])
    control.add("base", [], program)
    control.add("base", [], facts)
    control.ground([("base", [])])
    with control.solve(yield_=True) as handle:
        for model in handle:
            return [str(atom) for atom in model.symbols(shown=True)]
    return []
