"""How much memory this process may use, and how much is left: what the system says of its limits."""

import os
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

SHARE: Final = 0.8
"""The part of what a process may use that it takes at the most."""

_GROUPS: Final = Path("/proc/self/cgroup")
_MOUNT: Final = Path("/sys/fs/cgroup")


@cache
def allowed() -> int:
    """The bytes that this process may use: the machine's memory, or what its limit and its groups leave of it."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    limits = [machine, *_group_limits()] if limit == resource.RLIM_INFINITY else [machine, limit, *_group_limits()]
    return min(limits)


def _group_limits() -> Iterator[int]:
    """The limits of the process's control groups and of all above them, in both versions of the interface."""
    try:
        lines = _GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            root = _MOUNT / controllers
            for folder in (root / path.lstrip("/"), *(root / path.lstrip("/")).parents):
                for name in ("memory.max", "memory.limit_in_bytes"):
                    yield from _number_in(folder / name)
                if folder == root:
                    break


def _number_in(file: Path) -> Iterator[int]:
    try:
        text = file.read_text().strip()
    except OSError:
        return
    if text.isdigit():
        yield int(text)


def resident() -> int:
    """The bytes of this process that are in memory, or 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def free_memory() -> tuple[int, int]:
    """The bytes that are still to be had on this machine, and how many it has; no bound where it does not say."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        available, total = (int(lines[name].split()[0]) * 1024 for name in ("MemAvailable", "MemTotal"))
    except (OSError, KeyError):
        return 1 << 62, 0
    return available, total
