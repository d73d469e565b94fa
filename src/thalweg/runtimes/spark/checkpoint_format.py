"""The format of a checkpoint on Spark, and of all that processes of a run tell each other."""

from typing import Final

from thalweg.model.sealed import Format

FORMAT: Final = Format(15, oldest=14)
"""The number changes when what a checkpoint holds does. From 14 on, a version reads what the one before has saved."""
