"""Why a run says something at its last tick, as `thalweg why --format json` prints it; or why it does not."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from thalweg import api
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import Prefixes
from thalweg.model.time import TimeFormat
from thalweg.runtimes.derivations import Derivations


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """A proof as JSON; or, where it does not hold, what comes nearest to one, if that is known."""

    holds: bool
    data: dict[str, Any] | None = None


def why_answer(
    derivations: Derivations,
    text: str,
    prefixes: Prefixes,
    times: TimeFormat,
    came: Collection[Predicate] | None = None,
) -> WhyAnswer:
    """Why a fact, an event or a row of a query holds at the last tick of a run, or why it does not.

    The facts that `came` have these predicates, if that is known. `RejectedError` where the text cannot be read, or the
    program has no derivations.
    """
    if derivations.now is None:
        if not derivations.explains_rows:
            api.fact_of(text, prefixes)
        return WhyAnswer(False)
    if derivations.explains_rows:
        row = derivations.why_row(text, prefixes)
        return WhyAnswer(False) if row is None else WhyAnswer(True, row.as_data(times))
    fact = api.fact_of(text, prefixes)
    event = derivations.why_event(fact) if derivations.explains_events else None
    if event is not None:
        return WhyAnswer(event.proof is not None, event.as_data(times))
    if not derivations.explains_facts:
        raise RejectedError([_without_derivation(text, derivations)])
    return _why_fact(derivations, fact, times, came)


def _why_fact(derivations: Derivations, fact: Fact, times: TimeFormat, came: Collection[Predicate] | None) -> WhyAnswer:
    proof = derivations.why(fact)
    if proof is not None:
        return WhyAnswer(True, proof.as_data(times))
    absence = derivations.why_not(fact, came)
    return WhyAnswer(False, None if absence is None else absence.as_data(times))


def _without_derivation(text: str, derivations: Derivations) -> Diagnostic:
    if derivations.explains_events:
        help_ = "name an event that the program defines, as in `:Jam` or `:Jam(:road1)`"
        return Diagnostic("E801", f"the event `{text}` is not defined", help=help_)
    message = f"`{text}` cannot be explained: answers of this kind of program have no derivation"
    return Diagnostic("E403", message, help="write the program as rules, whose conclusions have one")


def absent(text: str, at: str | None) -> Diagnostic:
    """E405: what is asked for does not hold at a time; without one nothing holds."""
    if at is None:
        help_ = "a tick is decided when a fact of a later one has come on each stream"
        return Diagnostic("E405", f"`{text}` does not hold: no tick is decided yet", help=help_)
    return Diagnostic("E405", f"`{text}` does not hold at {at}")
