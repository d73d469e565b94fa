"""Rules that may go on counting for ever, and fill the memory."""

from thalweg.diagnostics import Diagnostic, Span
from thalweg.ir.counting import unbounded
from thalweg.ir.nodes import Program


def check_endless(program: Program) -> list[Diagnostic]:
    """W202: rules that calculate new values from their own conclusions, without a bound."""
    return [counts_for_ever(rule.span) for rule in unbounded(program.rules)]


def counts_for_ever(span: Span) -> Diagnostic:
    """W202, for a rule of any language."""
    help_ = "add a comparison, for example `X < 1000`, or an atom that lists the values"
    return Diagnostic("W202", "this rule may never stop counting: nothing limits what it calculates", span, help=help_)
