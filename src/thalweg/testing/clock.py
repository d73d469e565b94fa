"""A clock that a test winds by hand: time moves when the test says so, and never by itself."""

from thalweg.diagnostics import Source
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.languages import lars


class HandWoundClock:
    """A program, and the hand that moves its time.

    >>> clock = HandWoundClock("slow(S) :- speed(S,V) in [10], V < 20.")
    >>> clock.wind(0, "speed(a,12)")
    ['0 + slow(a)']
    >>> clock.wind(10)
    []
    >>> clock.wind(11)
    ['11 - slow(a)']
    """

    def __init__(self, program: str, first: int | None = None) -> None:
        self.engine = RuleEngine(lars.read(Source("program", program)), first=first)

    def wind(self, to: int, facts: str = "") -> list[str]:
        """Moves time to a tick, at which facts arrive (`speed(a,12). speed(b,30)`); returns every change on the way."""
        arriving = lars.read(Source("facts", f"{facts.rstrip('. ')}.")).background if facts else ()
        lines = []
        for change in self.engine.advance(to, arriving):
            lines += [f"{change.tick} + {fact}" for fact in sorted(map(str, change.begin))]
            lines += [f"{change.tick} - {fact}" for fact in sorted(map(str, change.end))]
        return lines

    @property
    def holding(self) -> list[str]:
        """The facts that hold now, sorted."""
        return sorted(map(str, self.engine.facts()))
