"""LARS rules become the intermediate representation.

    high at T :- alpha(V) at T in [300 sec], 18 <= V.

becomes

    Rule(Atom("high"), time=Variable("T"), body=(
        At(Atom("alpha", (Variable("V"),)), Variable("T"), TimeWindow(300)),
        Comparison("<=", Constant("18"), Variable("V"))))
"""

from typing import Final

from thalweg.languages.lars.facts import FactReader, read_fact
from thalweg.languages.lars.program import parse, read
from thalweg.languages.registry import Language

__all__ = ["LANGUAGE", "FactReader", "parse", "read", "read_fact"]

LANGUAGE: Final = Language(
    "lars",
    (".lars",),
    lambda source, options: parse(source, options.tick_length),
    background=(".facts", ".lars"),
)
