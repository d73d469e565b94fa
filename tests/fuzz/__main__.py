"""Repeats one input: `PYTHONPATH=tests python -m fuzz SEED NUMBER` prints it, and what becomes of it."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.inputs import nth_input
from fuzz.shard import attempt, set_limits


def main(seed: int, number: int) -> None:
    target, data = nth_input(seed, number)
    print(target.name, data, sep="\n", flush=True)
    set_limits()
    with TemporaryDirectory() as folder:
        failure = attempt(target, Path(folder), data, number)
    print(failure.trace if failure else "an answer, or a diagnostic")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
