"""A kit for testing programs: timeline tables, a hand-wound clock, random programs."""

from thalweg.testing.clock import HandWoundClock
from thalweg.testing.evaluators import Changes, Difference, by_engine, by_runtime, by_semantics
from thalweg.testing.timeline import Case, check, read_page

__all__ = [
    "Case",
    "Changes",
    "Difference",
    "HandWoundClock",
    "by_engine",
    "by_runtime",
    "by_semantics",
    "check",
    "read_page",
]
