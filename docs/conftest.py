"""Pages whose examples cannot be run yet."""

# The engine refuses recorded predicates, windows by key and functions (`planning/unsupported.py`).
collect_ignore = ["how-to/recipes.md"]
