"""Rules as a part of a run: an engine together with the passes that plan for it."""

from thalweg.engine.checkpoint import restore
from thalweg.engine.engine import PlanEngine
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Calendar
from thalweg.planning.passes import Planner


class RuleEngine(PlanEngine):
    """Evaluates a program incrementally, and plans again where the run asks for it.

    >>> from thalweg.ir.nodes import Atom, InWindow, Rule, TimeWindow, Variable
    >>> from thalweg.model.fact import Fact
    >>> slow = Rule(Atom("slow", (Variable("S"),)), (InWindow(Atom("stop", (Variable("S"),)), TimeWindow(2)),))
    >>> engine = RuleEngine(Program((slow,)))
    >>> [str(fact) for change in engine.advance(to=5, facts=[Fact("stop", ("a",))]) for fact in change.begin]
    ['slow(a)']
    """

    def __init__(
        self,
        program: Program,
        first: int | None = None,
        memory: int | None = None,
        with_changes: bool = True,
        dictionary: Dictionary | None = None,
        calendar: Calendar | None = None,
    ) -> None:
        planner = Planner(program)
        super().__init__(planner.whole, planner, first, memory, with_changes, dictionary, calendar)

    @classmethod
    def restore(
        cls, program: Program, data: bytes, memory: int | None = None, calendar: Calendar | None = None
    ) -> "RuleEngine":
        """An engine that goes on where `snapshot` was taken."""
        engine = cls(program, memory=memory, calendar=calendar)
        engine.resume(data)
        return engine

    def resume(self, data: bytes) -> None:
        """Goes on where `snapshot` was taken of an engine for the same program; this one has not begun."""
        restore(self, data)
