"""Fingerprints of checkpoints: a new setting must not make those of the version before another program's."""

from dataclasses import dataclass

from thalweg.dataflow.context import Settings
from thalweg.dataflow.plan import Plan
from thalweg.runtimes.spark.job import Job

# As the formats 8 (embedded) and 14 (Spark) have it in their fingerprints.
PLAIN = "first=None, last=None, delay=0, emit='changes', on_error='stop', memory=None, max_ahead=86400000"
EMPTY_JOB = "05d13b3655740fe3"


@dataclass(frozen=True, slots=True, repr=False)
class MoreSettings(Settings):
    patience: int = 3


def test_what_a_fingerprint_is_made_of_stays_as_it_was() -> None:
    assert repr(Settings()) == f"Settings({PLAIN})"
    assert repr(Settings(delay=5, with_until=True)) == f"Settings({PLAIN})".replace("delay=0", "delay=5")
    assert Job(Plan(())).fingerprint.startswith(EMPTY_JOB)


def test_a_setting_that_is_added_counts_where_it_is_not_the_default() -> None:
    assert repr(MoreSettings()) == f"MoreSettings({PLAIN})"
    assert repr(MoreSettings(patience=4)) == f"MoreSettings({PLAIN}, patience=4)"
