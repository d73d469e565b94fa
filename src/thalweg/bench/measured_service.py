"""`thalweg serve` as a process of its own, used from outside: requests to it, and what it costs by its metrics."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from threading import local
from time import monotonic, sleep
from typing import Any, Final
from urllib.parse import urlsplit

from thalweg.bench.command import COMMAND

FACTS: Final = "text/plain"
JSON_LINES: Final = "application/x-ndjson"
QUADS: Final = "application/n-quads"

_SERVE: Final = (*COMMAND[:-1], "serve", "--port", "0", "--quiet")
# As installed: Python keeps the modules that it has compiled.
_ENVIRONMENT: Final = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_METRIC: Final = re.compile(r"^([a-z_]+(?:\{[^}]*\})?) ([-+.0-9eE]+)$", re.MULTILINE)
_PAGE: Final = 20_000
_PATIENCE: Final = 300.0
"""Seconds to wait for a program at most."""


class MeasuredService:
    """A service over a folder, from `with` until its end; requests may come from any thread."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self._options = options
        self._own = local()
        self._connections: list[HTTPConnection] = []

    def __enter__(self) -> "MeasuredService":
        command = [*_SERVE, "--data", str(self.folder), *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_ENVIRONMENT)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError(f"the service has ended with {self._process.wait()}")
        self._wait(lambda: self._answer("GET", "/v1/ready")[0] == 200)
        return self

    def __exit__(self, *about: object) -> None:
        for connection in self._connections:
            connection.close()
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def connect(self) -> HTTPConnection:
        """A connection to it."""
        place = urlsplit(self.address)
        return HTTPConnection(place.hostname or "", place.port, timeout=120)

    def ask(self, method: str, path: str, body: bytes | None = None, media: str = "application/json") -> Any:
        """What a request is answered with, as data; `RuntimeError` where it is refused."""
        return json.loads(self._need(method, path, body, media) or b"null")

    def _need(self, method: str, path: str, body: bytes | None = None, media: str = "application/json") -> bytes:
        status, answer = self._answer(method, f"/v1/{path}", body, media)
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {answer.decode()}")
        return answer

    def _answer(
        self, method: str, path: str, body: bytes | None = None, media: str = "application/json"
    ) -> tuple[int, bytes]:
        response = self._response(method, path, body, media)
        return response.status, response.read()

    def _response(self, method: str, path: str, body: bytes | None, media: str) -> HTTPResponse:
        """The response on the connection of this thread."""
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self.connect()
            self._connections.append(connection)
        connection.request(method, path, body, {"Content-Type": media})
        return connection.getresponse()

    def post(self, stream: str, body: bytes, media: str = FACTS) -> int:
        """Posts facts; their place in the log, once they are on disk."""
        seq: int = self.ask("POST", f"streams/{stream}/facts", body, media)["seq"]
        return seq

    def register(self, program: str, text: str, stream: str, name: str = "program.lars", **more: Any) -> None:
        """Registers a program over a stream, and returns when it has caught up."""
        sources = [{"name": name, "text": text}, *more.pop("sources", [])]
        body = {"sources": sources, "streams": [stream], **more}
        self.ask("PUT", f"programs/{program}", json.dumps(body).encode())
        self.settle(program)

    def remove(self, *programs: str) -> None:
        """Deletes programs and their streams."""
        for program in programs:
            streams = self.ask("GET", f"programs/{program}")["streams"]
            self.ask("DELETE", f"programs/{program}")
            for stream in streams:
                if not self.ask("GET", f"streams/{stream}")["programs"]:
                    self.ask("DELETE", f"streams/{stream}")

    def settle(self, program: str) -> dict[str, Any]:
        """Waits until a program has taken all that came; what it says of itself then."""
        # Its object has its sources, too: what costs to send would be counted.
        self._wait(lambda: not self.metrics()[f'thalweg_program_lag_records{{program="{program}"}}'])
        while (described := self.ask("GET", f"programs/{program}"))["state"] == "catching-up":
            sleep(0.1)
        if described["state"] == "failed":
            raise RuntimeError(f"program {program} has failed: {described['because']}")
        return dict(described)

    @staticmethod
    def _wait(condition: Any) -> None:
        until = monotonic() + _PATIENCE
        while not condition():
            if monotonic() > until:
                raise RuntimeError(f"the service needs more than {_PATIENCE:g} s")
            sleep(0.05)

    def lines(self, program: str) -> list[bytes]:
        """All lines that a program has answered."""
        return list(self._pages(program))

    def _pages(self, program: str) -> Iterator[bytes]:
        after = ""
        while True:
            query = f"/v1/programs/{program}/lines?limit={_PAGE}{after}"
            response = self._response("GET", query, None, "application/json")
            lines = response.read().splitlines()
            yield from lines
            if len(lines) < _PAGE:
                return
            after = f"&after={response.headers['Next']}"

    def metrics(self) -> dict[str, float]:
        """All metrics: `thalweg_lines_total{program="jam"}` and its value."""
        return {name: float(value) for name, value in _METRIC.findall(self._need("GET", "metrics").decode())}

    def cpu(self) -> float:
        """Seconds of CPU that the process has taken."""
        return self.metrics()["process_cpu_seconds_total"]

    def resident(self) -> int:
        """Bytes of the process that are in memory."""
        return int(self.metrics()["process_resident_memory_bytes"])

    def size(self) -> int:
        """Bytes of the data folder."""
        size = 0
        for path in self.folder.rglob("*"):
            # Files come and go meanwhile.
            try:
                size += path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:
                continue
        return size
