"""What the plans cannot express yet: a program that uses it is refused, because its answers would be wrong.

    on(D) :- on(D) before [1].      a window of the past
    now(D,V) :- t(D,V) in [1 # by D].

Each construct leaves this module when `plan` and the engine know it.
"""

from collections.abc import Iterable, Iterator

from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import KeyedWindow, Now, PastWindow, Program, Rule


class UnsupportedError(NotImplementedError):
    """A program uses a construct that only the naive interpreter knows."""


def refuse_unsupported(program: Program) -> None:
    """Raises `UnsupportedError` where a program uses something that has no plan."""
    found = sorted({*(f"#record {name}" for name in program.recorded), *unsupported(program.rules)})
    if found:
        raise UnsupportedError(f"the engine cannot evaluate {', '.join(found)} yet")


def unsupported(rules: Iterable[Rule]) -> Iterator[str]:
    """The constructs of rules that have no plan, in words.

    >>> from thalweg.ir.nodes import Atom, InWindow
    >>> list(unsupported([Rule(Atom("a"), (InWindow(Atom("p"), PastWindow(1)),))]))
    ['before']
    """
    for rule in rules:
        for formula, _ in formulas(rule.body):
            if not isinstance(formula, Now) and isinstance(formula.window, PastWindow | KeyedWindow):
                yield "before" if isinstance(formula.window, PastWindow) else "windows by key"
