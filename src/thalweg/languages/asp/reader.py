"""Answer set programs from their texts: clingo parses, `languages.asp` makes sense of it."""

from collections.abc import Sequence
from typing import Any

from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.languages.asp.directives import take_out
from thalweg.languages.asp.program import AspProgram, calls, read, unused
from thalweg.model.nesting import TOO_DEEP, WAY_OUT, too_deep
from thalweg.model.predicate import Predicate


def read_program(source: Source, inputs: Sequence[Predicate] = ()) -> tuple[AspProgram, list[Diagnostic]]:
    """A program as far as it can be read, and what is wrong with it.

    Its inputs are those that the user names, else those that it names itself and all without rules and facts.

    >>> program, diagnostics = read_program(Source("jam.lp", "jam(X) :- slow(X), not light(X)."))
    >>> program.inputs, diagnostics
    (('light/1', 'slow/1'), [])
    """
    try:
        from thalweg.languages.asp.parse import parse
    except ModuleNotFoundError:
        message = "answer set programs are read by clingo, which is not installed"
        raise RejectedError(
            [Diagnostic("E406", message, help="install it with `pip install 'thalweg[asp]'`")]
        ) from None
    directives = take_out(source)
    nodes, wrong = _bottomless(directives.text, source) or parse(directives.text, source)
    program = read(nodes, source, directives, inputs)
    # Looking through all terms takes as long as reading them, and most programs call nothing.
    called = calls(nodes, source) if "@" in directives.text else []
    return program, [*directives.wrong, *wrong, *called, *unused(nodes, source)]


def _bottomless(text: str, source: Source) -> tuple[list[Any], list[Diagnostic]] | None:
    """No statements and a diagnostic where clingo, which follows brackets and operators downward, would crash."""
    place = too_deep(text)
    return None if place is None else ([], [Diagnostic("E302", TOO_DEEP, Span(source, place, place + 1), WAY_OUT)])
