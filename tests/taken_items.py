"""Runs in this process that are looked at, or stopped, after each item that they take."""

from collections.abc import Callable

import pytest

from thalweg.model.event import Batch
from thalweg.runtimes.intake import Intake, Items
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.plausible_times import Far

Taken = tuple[int, Batch] | Far


def after_each_item(patch: pytest.MonkeyPatch, see: Callable[[LocalRun, Taken], None]) -> None:
    """Calls a function with the run and the item, before what the item decides is answered."""
    take, answers = Intake.take, LocalRun.answers
    runs: dict[int, LocalRun] = {}

    def answering(run: LocalRun, items: Items) -> object:
        runs[id(run.intake)] = run
        return answers(run, items)

    def taking(intake: Intake, item: Taken, group: int | None = 0) -> None:
        take(intake, item, group)
        see(runs[id(intake)], item)

    patch.setattr(LocalRun, "answers", answering)
    patch.setattr(Intake, "take", taking)
