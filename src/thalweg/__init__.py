"""Thalweg: a stream reasoner that knows until when each conclusion holds.

    for answer in thalweg.run("traffic.lars", on="readings.facts"):
        print(answer)

These are all the names that a program needs; each is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.api import OntologyOptions, SolveOptions, check, load, run, why, why_not, why_row
    from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, Source, ThalwegWarning
    from thalweg.engine import BusyError
    from thalweg.ir.nodes import Program
    from thalweg.model.event import Event
    from thalweg.model.fact import PythonFact as Fact
    from thalweg.model.python_values import IRI
    from thalweg.runtimes.emit import Change, Interval, Snapshot, Solution
    from thalweg.runtimes.query_answers import Bindings, ConstructedGraph, Truth
    from thalweg.runtimes.rule_engine import RuleEngine as Engine

__all__ = [
    "IRI",
    "Bindings",
    "BusyError",
    "Change",
    "ConstructedGraph",
    "Diagnostic",
    "Engine",
    "Event",
    "Fact",
    "FailedError",
    "Interval",
    "OntologyOptions",
    "Program",
    "RejectedError",
    "Snapshot",
    "Solution",
    "SolveOptions",
    "Source",
    "ThalwegWarning",
    "Truth",
    "check",
    "load",
    "run",
    "why",
    "why_not",
    "why_row",
]

_NAMES = {
    "api": ("OntologyOptions", "SolveOptions", "check", "load", "run", "why", "why_not", "why_row"),
    "diagnostics": ("Diagnostic", "FailedError", "RejectedError", "Source", "ThalwegWarning"),
    "engine": ("BusyError",),
    "ir.nodes": ("Program",),
    "model.event": ("Event",),
    "model.fact:PythonFact": ("Fact",),
    "model.python_values": ("IRI",),
    "runtimes.emit": ("Change", "Interval", "Snapshot", "Solution"),
    "runtimes.query_answers": ("Bindings", "ConstructedGraph", "Truth"),
    "runtimes.rule_engine:RuleEngine": ("Engine",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    # On first use: `thalweg --help` need not wait for the engine's compiler to be imported.
    if name not in _HOMES:
        raise AttributeError(f"module `thalweg` has no attribute `{name}`")
    module, _, other_name = _HOMES[name].partition(":")
    return getattr(import_module(f"thalweg.{module}"), other_name or name)
