"""`thalweg serve` as a process, and requests to it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

RULES = "jam(X) :- slow(X) in [10]."
FACTS = {"Content-Type": "text/plain"}


@dataclass(frozen=True)
class ServerSentEvent:
    """An event as a browser sees it."""

    kind: str
    id: str
    data: Any


def events_in(lines: Iterator[str]) -> Iterator[ServerSentEvent]:
    """The events in the lines of a response; comments are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "data" in fields:
            yield ServerSentEvent(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            fields = {}


@dataclass
class Serving:
    """A service that runs."""

    process: "subprocess.Popen[str]"
    client: httpx.Client
    data: Path

    def put_program(self, name: str, text: str = RULES, streams: tuple[str, ...] = ("north",), **body: Any) -> None:
        sources = [{"name": "jam.lars", "text": text}]
        answer = self.client.put(f"/v1/programs/{name}", json={"sources": sources, "streams": streams, **body})
        assert answer.is_success, answer.text

    def post(self, text: str, stream: str = "north") -> int:
        """Posts facts, and returns their place in the log."""
        answer = self.client.post(f"/v1/streams/{stream}/facts", content=text, headers=FACTS)
        assert answer.status_code == 200, answer.text
        seq: int = answer.json()["seq"]
        return seq

    @contextmanager
    def events(self, path: str, **options: Any) -> Iterator[Iterator[ServerSentEvent]]:
        """The events of a path, as they come."""
        with self.client.stream("GET", path, **options) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield events_in(response.iter_lines())

    def lines(self, program: str, ended_by: str) -> list[ServerSentEvent]:
        """All lines of the first generation of a program up to the one that has a text in it."""
        with self.events(f"/v1/programs/{program}/events?after=1-0") as events:
            seen = []
            for event in events:
                seen.append(event)
                if ended_by in json.dumps(event.data):
                    return [event for event in seen if event.kind == "line"]
        raise AssertionError(f"{ended_by} did not come")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Ends it; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=15)


@contextmanager
def serving(data: Path, *options: str) -> Iterator[Serving]:
    """A service over a folder, which is killed in the end where it still runs."""
    words = [sys.executable, "-m", "thalweg", "serve", "--port", "0", "--data", str(data), "--quiet", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            with httpx.Client(base_url=address, timeout=60) as client:
                yield Serving(process, client, data)
        finally:
            process.kill()
