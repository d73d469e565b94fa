"""A long stream, ten thousand facts a second: what a run keeps of it does not grow with its length.

It lasts a minute, or as many seconds as `THALWEG_SECONDS` says; ten minutes take `THALWEG_SECONDS=600`.
"""

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

from spark.processes import DAEMON, Family, started

SECONDS = int(os.environ.get("THALWEG_SECONDS", "60"))
FACTS = 10_000
RULES = "slow(S) :- speed(S,V) in [5], V < 2.\nqueue(S) :- slow(S), beside(S,T) in [3], slow(T).\n"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run has at a second: bytes of its checkpoint, of which some are received and not read, and of memory."""

    second: float
    tick: int
    checkpoint: int
    received: int
    workers: int
    java: int


@contextmanager
def sender() -> Iterator[str]:
    """A server that sends its guest the facts of a tick each second."""
    with socket.create_server(("127.0.0.1", 0)) as door:

        def send() -> None:
            guest, _ = door.accept()
            begun = monotonic()
            with guest:
                for tick in range(SECONDS):
                    guest.sendall(facts(tick))
                    sleep(max(0.0, begun + tick + 1 - monotonic()))

        Thread(target=send, daemon=True).start()
        yield f"tcp://127.0.0.1:{door.getsockname()[1]}"


def facts(tick: int) -> bytes:
    """The facts of a tick: nine of ten are speeds, and the others say what is beside what."""
    speeds = (f"speed(s{n},{(n * 31 + tick * 17) % 100}) at {tick}.\n" for n in range(FACTS * 9 // 10))
    pairs = (f"beside(s{(n * 7 + tick) % 9_000},s{n}) at {tick}.\n" for n in range(FACTS // 10))
    return "".join([*speeds, *pairs]).encode()


def size_of(folder: Path) -> int:
    """The bytes of all files below a folder; some may go away meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_size
            except FileNotFoundError:
                continue
    return total


def memory_of(processes: list[int]) -> int:
    """The bytes of memory that processes have."""
    pages = 0
    for process in processes:
        try:
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def program_of(process: int) -> str:
    """The name of the program of a process; none where it has ended meanwhile."""
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def kept(family: Family, state: Path, begun: float) -> Kept:
    ledger = state / "delivered.json"
    tick = json.loads(ledger.read_text())["tick"] if ledger.exists() else -1
    java = [process for process in family.members() if program_of(process) == "java"]
    workers = memory_of(family.forked(DAEMON))
    return Kept(monotonic() - begun, tick, size_of(state), size_of(state / "inbox"), workers, memory_of(java))


@pytest.mark.slow
def test_what_is_kept_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    (tmp_path / "rules.lars").write_text(RULES)
    state, said, taken = tmp_path / "state", tmp_path / "said.txt", list[Kept]()
    with sender() as stream:
        words = [
            "run",
            tmp_path / "rules.lars",
            "--stream",
            stream,
            "--emit",
            "changes",
            "--out",
            tmp_path / "out.jsonl",
        ]
        words += ["--checkpoint", state, "--runtime", "spark", "--master", "local[2]"]
        begun = monotonic()
        with started([sys.executable, "-m", "thalweg", *map(str, words)], said) as family:
            while not family.ended:
                sleep(1)
                taken.append(kept(family, state, begun))
            assert family.wait() == 0, said.read_text()
    print(table(taken))
    assert f"{SECONDS * FACTS:,} events" in said.read_text()
    # When all batches that are kept have been there, and their files were first cleared.
    middle, end = (part(taken, number) for number in (1, 2))
    for name in ("checkpoint", "workers"):
        highest = [max(getattr(each, name) for each in some) for some in (middle, end)]
        assert highest[1] < 1.25 * highest[0], (name, highest)


def part(taken: list[Kept], number: int) -> list[Kept]:
    """A third of what was taken while the stream went on."""
    during = [each for each in taken if 0 <= each.tick < SECONDS - 1]
    return during[number * len(during) // 3 : (number + 1) * len(during) // 3]


def table(taken: list[Kept]) -> str:
    """The highest of each column in each tenth of a run, in megabytes."""
    rows = ["second  tick  checkpoint  received  workers  java"]
    for number in range(10):
        some = taken[number * len(taken) // 10 : (number + 1) * len(taken) // 10]
        if some:
            sizes = (
                max(getattr(each, name) for each in some) / 1e6
                for name in ("checkpoint", "received", "workers", "java")
            )
            rows.append(f"{some[-1].second:6.0f} {some[-1].tick:5}" + "".join(f"{size:9.1f}" for size in sizes))
    return "\n".join(rows)
