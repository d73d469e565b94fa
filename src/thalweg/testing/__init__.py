"""A kit for testing programs: timeline tables, a hand-wound clock, random programs."""
