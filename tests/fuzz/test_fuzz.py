"""Whatever comes in, an answer or a diagnostic goes out; and the fuzzer notices where it does not."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom

import pytest

from fuzz.campaign import campaign
from fuzz.inputs import nth_input
from fuzz.shard import attempt
from fuzz.targets import TARGETS, Target

FINDS = sorted((Path(__file__).parent / "finds").glob("*/*"))
INPUTS = int(os.environ.get("THALWEG_FUZZ_INPUTS", "1000000"))
# Shards that the campaign is to watch: each says at which number it is, and then something happens.
_SHARD = """
import os, sys
from pathlib import Path
seed, first, stop, folder = *map(int, sys.argv[1:4]), Path(sys.argv[4])
for number in range(first, stop + 1):
    (folder / "at").write_bytes(number.to_bytes(8, "little"))
    if number == {number}:
        {happens}
"""


@pytest.mark.parametrize("find", FINDS, ids=lambda find: f"{find.parent.name}/{find.name}")
def test_what_was_found_once_is_answered_or_diagnosed(find: Path, tmp_path: Path) -> None:
    for target in [target for target in TARGETS if target.name == find.parent.name]:
        target.attempt(tmp_path, find.read_bytes())


def test_every_find_has_a_target() -> None:
    assert {find.parent.name for find in FINDS} <= {target.name for target in TARGETS}


def test_some_inputs(tmp_path: Path) -> None:
    for number in range(1_000):
        target, data = nth_input(1, number)
        assert attempt(target, tmp_path, data, number) is None


@pytest.mark.slow
def test_a_million_inputs(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    seed = int(os.environ.get("THALWEG_FUZZ_SEED") or SystemRandom().randrange(1 << 32))
    result = campaign(seed, INPUTS, tmp_path)
    record_property("summary", result)
    record_property("summary", result.rates())
    assert not result.failures, result.report()
    assert result.done == INPUTS


def test_other_exceptions_are_failures(tmp_path: Path) -> None:
    def stumble(path: Path, data: bytes) -> None:
        raise KeyError(data)

    failure = attempt(Target("stumbling", "facts", "lars", 1, stumble), tmp_path, b"p.")
    assert failure is not None
    assert failure.place.startswith("KeyError at test_fuzz.py")


@pytest.mark.parametrize(
    ("happens", "place"),
    [
        ("os.abort()", "the process ended with SIGABRT"),
        ("os._exit(3)", "the process ended with exit code 3"),
        ("import time; time.sleep(60)", "the process ended with SIGABRT"),
    ],
)
def test_the_input_that_ends_or_stops_a_shard_is_known(
    happens: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz.campaign.PATIENCE", 1)
    script = tmp_path / "shard.py"
    script.write_text(_SHARD.format(number=7, happens=happens))
    result = campaign(1, 20, tmp_path, (sys.executable, str(script)))
    assert [(failure.number, failure.place) for failure in result.failures] == [(7, place)]
    assert result.done == 20
