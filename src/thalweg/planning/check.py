"""All that can be said about a program before it runs."""

from thalweg.diagnostics import Diagnostic, Span
from thalweg.ir.counting import unbounded
from thalweg.ir.nodes import Program
from thalweg.planning.check_capacity import check_capacity
from thalweg.planning.check_safety import check_safety
from thalweg.planning.stratify import check_strata


def check(program: Program) -> list[Diagnostic]:
    """Errors and warnings; a program that is safe and stratified is also looked at for what would fill the memory."""
    found = check_safety(program) + check_strata(program)
    if any(one.severity == "error" for one in found):
        return found
    return found + check_endless(program) + check_capacity(program)


def check_endless(program: Program) -> list[Diagnostic]:
    """W202: rules that calculate new values from their own conclusions, without a bound."""
    return [counts_for_ever(rule.span) for rule in unbounded(program.rules)]


def counts_for_ever(span: Span) -> Diagnostic:
    """W202, for a rule of any language."""
    help_ = "add a comparison, for example `X < 1000`, or an atom that lists the values"
    return Diagnostic("W202", "this rule may never stop counting: nothing limits what it calculates", span, help=help_)
