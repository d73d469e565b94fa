"""Incremental evaluation: no I/O, no clock, no threads."""

from thalweg.engine.engine import Change, Engine

__all__ = ["Change", "Engine"]
