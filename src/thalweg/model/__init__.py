"""The data model: terms, facts, time, events."""
