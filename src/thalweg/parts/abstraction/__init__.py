"""Abstraction: the classes of the individuals of an event."""
