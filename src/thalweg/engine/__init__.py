"""Incremental evaluation: no I/O, no clock, no threads."""

from thalweg.engine.absence import Absence
from thalweg.engine.delta import Delta, Given
from thalweg.engine.engine import BusyError, Engine
from thalweg.engine.proof import Proof
from thalweg.engine.tick import kernels_ready

__all__ = ["Absence", "BusyError", "Delta", "Engine", "Given", "Proof", "kernels_ready"]
