"""Incremental evaluation: no I/O, no clock, no threads."""

from thalweg.engine.delta import Delta, Given
from thalweg.engine.engine import BusyError, PlanEngine
from thalweg.engine.tick import kernels_kept, kernels_ready

__all__ = ["BusyError", "Delta", "Given", "PlanEngine", "kernels_kept", "kernels_ready"]
