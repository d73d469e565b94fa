"""LARS rules become the intermediate representation.

    high at T :- alpha(V) at T in [300 sec], 18 <= V.

becomes

    Rule(Atom("high"), time=Variable("T"), body=(
        At(Atom("alpha", (Variable("V"),)), Variable("T"), TimeWindow(300)),
        Comparison("<=", Constant("18"), Variable("V"))))
"""

from typing import Final

from thalweg.diagnostics import Diagnostic, Source
from thalweg.ir.nodes import Program
from thalweg.languages.lars.facts import FactReader, read_fact
from thalweg.languages.lars.program import parse, read
from thalweg.languages.registry import Language, Options

__all__ = ["LANGUAGE", "FactReader", "compile", "parse", "read", "read_fact"]


def compile(source: Source, options: Options) -> tuple[Program, list[Diagnostic]]:
    """What can be read of a text, and what is wrong with the rest."""
    return parse(source, options.tick_length)


LANGUAGE: Final = Language("lars", (".lars",), compile, background=(".facts", ".lars"))
