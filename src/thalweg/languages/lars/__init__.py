"""LARS rules become the intermediate representation.

    high at T :- alpha(V) at T in [300 sec], 18 <= V.

becomes

    Rule(Atom("high"), time=Variable("T"), body=(
        At(Atom("alpha", (Variable("V"),)), Variable("T"), TimeWindow(300)),
        Comparison("<=", Constant("18"), Variable("V"))))
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from thalweg.diagnostics import Diagnostic, Source
from thalweg.ir.merge import merge
from thalweg.ir.nodes import Program
from thalweg.languages.lars.facts import FactReader, read_fact
from thalweg.languages.lars.local_predicates import check_facts, check_foreign, distinct_names
from thalweg.languages.lars.program import parse, read
from thalweg.languages.registry import Language, Options

__all__ = ["LANGUAGE", "FactReader", "compile", "parse", "read", "read_fact"]


def compile(sources: Sequence[Source], options: Options) -> tuple[Program, list[Diagnostic]]:
    """Compiles what can be read of all texts to one program; returns it and every diagnostic."""
    files = distinct_names(sources)
    parsed = [
        parse(source, options.tick_length, file, printed=False) for source, file in zip(sources, files, strict=True)
    ]
    texts = [program for program, _ in parsed]
    program = merge(texts)
    # What one text shows is all that is shown, whatever the others derive.
    shown = [text.interface.outputs for text, _ in parsed if text.interface.outputs is not None]
    if shown:
        program = replace(program, interface=replace(program.interface, outputs=frozenset().union(*shown)))
    shared = [*check_foreign(texts), *check_facts(texts, sources)]
    return program, [*(diagnostic for _, wrong in parsed for diagnostic in wrong), *shared]


LANGUAGE: Final = Language("lars", (".lars",), compile, background=(".facts", ".lars"))
