"""Rows and messages as the world has them become facts: what `--map` says, evaluated a column at a time."""
