"""Patterns of events, matched as the events come."""
