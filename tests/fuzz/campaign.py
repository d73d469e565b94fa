"""Shards, one after the other, and the inputs that failed: where one dies, the next begins behind that input."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from fuzz.inputs import nth_input
from fuzz.shard import Failure

HERE: Final = Path(__file__).parents[1]
PATIENCE: Final = 120
"""Seconds without another input after which a shard is ended; to begin with it may have to compile the engine."""
MOST: Final = 50
"""Failures after which there is enough to look at."""


@dataclass(slots=True)
class Campaign:
    """How far it came, what failed, and what each target cost: inputs and seconds."""

    seed: int
    done: int = 0
    failures: list[Failure] = field(default_factory=list)
    cost: dict[str, list[float]] = field(default_factory=dict)

    def __str__(self) -> str:
        seconds = sum(seconds for _, seconds in self.cost.values())
        return f"fuzz: {self.done:,} inputs, seed {self.seed}, {len(self.failures)} failures, {seconds:.0f} s"

    def report(self) -> str:
        """Every failure, and how to repeat it."""
        repeat = f"repeat it: PYTHONPATH=tests python -m fuzz {self.seed}"
        return "\n\n".join(f"{one.target}: {one.place}\n{repeat} {one.number}\n{one.trace}" for one in self.failures)

    def rates(self) -> str:
        """Inputs a second, by target."""
        rows = ((name, count, count / seconds) for name, (count, seconds) in sorted(self.cost.items()))
        return "\n".join(f"{name:24} {count:>9,} {rate:>10,.0f}/s" for name, count, rate in rows)


def campaign(
    seed: int, count: int, folder: Path, shard: Sequence[str] = (sys.executable, "-m", "fuzz.shard")
) -> Campaign:
    """Tries inputs from 0 on, in as many processes as it takes."""
    result = Campaign(seed)
    while result.done < count and len(result.failures) < MOST:
        (folder / "at").write_bytes(result.done.to_bytes(8, "little"))
        for name in ("failures", "cost", "stderr"):
            (folder / name).write_bytes(b"")
        ended = _wait(_started([*shard, *map(str, (seed, result.done, count, folder))], folder), folder)
        result.done = _number(folder)
        result.failures += [Failure(**json.loads(line)) for line in (folder / "failures").read_text().splitlines()]
        for line in (folder / "cost").read_text().splitlines():
            for name, (inputs, seconds) in json.loads(line).items():
                tally = result.cost.setdefault(name, [0, 0.0])
                tally[0], tally[1] = tally[0] + inputs, tally[1] + seconds
        if ended:
            result.failures.append(_death(result, ended, (folder / "stderr").read_text(errors="replace")))
            result.done += 1
    return result


def _started(command: list[str], folder: Path) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    with (folder / "stderr").open("wb") as errors:
        return subprocess.Popen(command, stderr=errors, env={**os.environ, "PYTHONPATH": path})


def _wait(process: "subprocess.Popen[bytes]", folder: Path) -> int:
    """How a process ends; one that is held up is ended, and says by what."""
    number, since = _number(folder), monotonic()
    while process.poll() is None:
        sleep(0.1)
        if _number(folder) != number:
            number, since = _number(folder), monotonic()
        elif monotonic() - since > PATIENCE:
            process.send_signal(signal.SIGABRT)
            process.wait()
    return process.returncode


def _number(folder: Path) -> int:
    return int.from_bytes((folder / "at").read_bytes(), "little")


def _death(result: Campaign, code: int, said: str) -> Failure:
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    target, _ = nth_input(result.seed, result.done)
    # What faulthandler says ends with a list of everything that was imported.
    trace = said.partition("Extension modules:")[0][-4_000:]
    return Failure(result.done, target.name, f"the process ended with {name}", trace)
