"""A service whose disk is full: it says so, answers what it can, and has lost nothing of what it acknowledged."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import httpx
import pytest

from followed_service import before, is_caught_up, lines_of, records_of, until
from served_process import ServedProcess, served
from services import KINDS, body, expected

MORE: Final = 12
"""Posts after the first that is refused."""
READ: Final = (
    "health",
    "ready",
    "metrics",
    "openapi.json",
    "streams",
    "streams/north",
    "streams/north/facts?limit=1",
    "programs",
    *(f"programs/jam{part}" for part in ("", "/plan", "/plan.svg", "/facts", "/lines", "/late", "/history")),
)


@contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of a size of its own."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"needs a file system of its own: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def document(tick: int, facts: int) -> str:
    return "".join(f"speed(r{number},{(37 * tick + 11 * number) % 80}) at {tick}.\n" for number in range(facts))


def posted(service: ServedProcess, text: str) -> int | None:
    """The number of facts in the log; None where the disk has no room for them."""
    path = f"{service.url}v1/streams/north/facts"
    answer = httpx.post(path, content=text, headers={"Content-Type": "text/plain"}, timeout=60)
    if answer.status_code == 200:
        return int(answer.json()["seq"])
    (diagnostic,) = answer.json()["diagnostics"]
    assert (answer.status_code, "No space left on device" in diagnostic["message"]) == (507, True)
    assert "make room" in diagnostic["help"]
    return None


def fill(service: ServedProcess, facts: int) -> dict[int, str]:
    """Posts facts until there is no room, and a few times more; those that were acknowledged, by their numbers."""
    acknowledged: dict[int, str] = {}
    refused = 0
    while refused <= MORE:
        text = document(len(acknowledged), facts)
        seq = posted(service, text)
        # What is full stays full.
        assert seq is None or not refused
        if seq is None:
            refused += 1
        else:
            acknowledged[seq] = text
    return acknowledged


def status(service: ServedProcess, path: str) -> int:
    with urlopen(f"{service.url}v1/{path}", timeout=60) as answer:
        answer.read()
        return int(answer.status)


def filled(folder: Path, size: str, facts: int) -> str:
    """Fills the disk of a service, and moves it to another; what there is to say about it."""
    small = folder / "small"
    small.mkdir()
    sources = KINDS["rules"]["sources"]
    with disk(small, size):
        with served(small / "data") as service:
            service.ask("PUT", "programs/jam", json.dumps(body(sources)).encode())
            acknowledged = fill(service, facts)
            assert {path: status(service, path) for path in READ} == dict.fromkeys(READ, 200)
            (program,) = service.ask("GET", "programs")
            assert {diagnostic["code"] for diagnostic in program["because"]} <= {"E401"}
            assert {record["seq"]: record["text"] for record in records_of(service, "north")} == acknowledged
            assert service.end() == 0
        shutil.copytree(small / "data", folder / "data")
    with served(folder / "data") as service:
        assert {record["seq"]: record["text"] for record in records_of(service, "north")} == acknowledged
        texts = [*acknowledged.values(), document(len(acknowledged), facts), document(len(acknowledged) + 1, facts)]
        assert None not in [posted(service, text) for text in texts[-2:]]
        until(lambda: is_caught_up(service.ask("GET", "programs/jam")), "the program has caught up")
        lines = lines_of(service, "jam")
    wanted = expected(sources, texts)
    assert before(lines, len(texts) - 1) == before(wanted, len(texts) - 1)
    return f"{size}: {len(acknowledged)} bodies acknowledged, {len(lines)} lines compared"


def test_a_full_disk_takes_nothing_and_loses_nothing(tmp_path: Path, record_property: Any) -> None:
    record_property("summary", filled(tmp_path, "3m", 2_000))


@pytest.mark.slow
def test_so_does_a_larger_one(tmp_path: Path, record_property: Any) -> None:
    record_property("summary", filled(tmp_path, "30m", 5_000))
