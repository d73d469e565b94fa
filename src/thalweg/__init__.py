"""Thalweg: a stream reasoner that knows until when each conclusion holds.

    for change in thalweg.run("traffic.lars", stream="readings.facts"):
        print(change.t, change.begin, change.end)

These are all the names that a program needs; each is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.api import Answers, Session, check, load, run, why, why_event, why_not, why_row
    from thalweg.api import open as open
    from thalweg.api.answer_values import (
        AbstractEvent,
        Bindings,
        Change,
        Clash,
        ComplexEvent,
        ConstructedGraph,
        Interval,
        RejectedEvents,
        Snapshot,
        Solution,
        Truth,
    )
    from thalweg.api.public_engine import Engine
    from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, Source, ThalwegWarning
    from thalweg.engine import BusyError
    from thalweg.ir.nodes import Program
    from thalweg.model.event import Event
    from thalweg.model.fact import PythonFact as Fact
    from thalweg.model.python_values import IRI, Term

    __version__: str

# `open` is not among them: `from thalweg import *` must not hide Python's own.
__all__ = [
    "IRI",
    "AbstractEvent",
    "Answers",
    "Bindings",
    "BusyError",
    "Change",
    "Clash",
    "ComplexEvent",
    "ConstructedGraph",
    "Diagnostic",
    "Engine",
    "Event",
    "Fact",
    "FailedError",
    "Interval",
    "Program",
    "RejectedError",
    "RejectedEvents",
    "Session",
    "Snapshot",
    "Solution",
    "Source",
    "Term",
    "ThalwegWarning",
    "Truth",
    "check",
    "load",
    "run",
    "why",
    "why_event",
    "why_not",
    "why_row",
]

_NAMES = {
    "api": ("Answers", "Session", "check", "load", "open", "run", "why", "why_event", "why_not", "why_row"),
    "api.answer_values": (
        "AbstractEvent",
        "Bindings",
        "Change",
        "Clash",
        "ComplexEvent",
        "ConstructedGraph",
        "Interval",
        "RejectedEvents",
        "Snapshot",
        "Solution",
        "Truth",
    ),
    "api.public_engine": ("Engine",),
    "diagnostics": ("Diagnostic", "FailedError", "RejectedError", "Source", "ThalwegWarning"),
    "engine": ("BusyError",),
    "ir.nodes": ("Program",),
    "model.event": ("Event",),
    "model.fact:PythonFact": ("Fact",),
    "model.python_values": ("IRI", "Term"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    # On first use: `thalweg --help` need not wait for the engine's compiler to be imported.
    if name == "__version__":
        from importlib.metadata import version

        return version("thalweg")
    if name not in _HOMES:
        raise AttributeError(f"module `thalweg` has no attribute `{name}`")
    module, _, other_name = _HOMES[name].partition(":")
    return getattr(import_module(f"thalweg.{module}"), other_name or name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "open"])
