"""Incremental evaluation: no I/O, no clock, no threads."""
