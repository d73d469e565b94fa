"""How deeply expressions are nested, counted before a parser follows them down: some parsers crash on the way.

    ((((1))))       four levels                 1 + 1 + 1 + 1       three: each sum is an operand of the next
    f(1,1) + 1      one level, behind the bracket

Brackets that are closed, and operators in front of a comma, no longer count.
"""

import re
from typing import Final

MOST_NESTED: Final = 200
"""The most levels that may be open at once."""

TOO_DEEP: Final = f"this is nested more than {MOST_NESTED} levels deep"
WAY_OUT: Final = "name a part of it, and use the name here"

_STOPS: Final = frozenset({",", ";", ":-", "."})
_OPERATORS: Final = frozenset({*"+-*/\\|&?^~", "**", "..", "mod"})
_MEANS: Final = {"open": "(", "close": ")"}
# Strings, IRIs and comments are matched whole, so that nothing is counted in there.
_STRING: Final = r'"(?:[^"\\\n]|\\.)*"|<[^<>\s"]*>'
_BRACKETS: Final = r"(?P<open>[(\[{])|(?P<close>[)\]}])"
_PROGRAM: Final = re.compile(rf"{_STRING}|{_BRACKETS}|:-|\*\*|\.\.|(?<!\.)\.(?!\.)|[,;+*/\\|&?^~-]", re.DOTALL)


class Nesting:
    """Counts the levels that are open, token by token.

    >>> nesting = Nesting()
    >>> [nesting.take(token) for token in ("f", "(", "1", "+", "1", "+", "1", ",", ")")]
    [0, 1, 1, 2, 2, 3, 3, 1, 0]
    """

    def __init__(self) -> None:
        # For each open bracket how many operators stand in it since the last comma; outside of brackets as well.
        self._operators = [0]
        self._levels = 0

    def take(self, token: str) -> int:
        """How many levels are open behind a token."""
        if token in _OPERATORS:
            self._operators[-1] += 1
            self._levels += 1
        elif token in _STOPS:
            self._levels -= self._operators[-1]
            self._operators[-1] = 0
        elif token in ("(", "[", "{"):
            self._operators.append(0)
            self._levels += 1
        elif token in (")", "]", "}") and len(self._operators) > 1:
            self._levels -= 1 + self._operators.pop()
        return self._levels


def too_deep(text: str) -> int | None:
    """Where an answer set program without comments is nested too deeply for the first time.

    >>> too_deep("p(" * 10 + ")" * 10), too_deep("p(" * 1_000)
    (None, 401)
    """
    nesting = Nesting()
    for found in _PROGRAM.finditer(text):
        if nesting.take(_MEANS.get(found.lastgroup or "") or found.group()) > MOST_NESTED:
            return found.start()
    return None
