"""Incremental evaluation: no I/O, no clock, no threads."""

from thalweg.engine.change import Change, Given
from thalweg.engine.engine import BusyError, Engine
from thalweg.engine.proof import Proof
from thalweg.engine.tick import kernels_ready

__all__ = ["BusyError", "Change", "Engine", "Given", "Proof", "kernels_ready"]
