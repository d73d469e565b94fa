"""`thalweg serve` as a process of its own, and requests to it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from time import monotonic, sleep
from typing import Any
from urllib.request import Request, urlopen


@dataclass
class ServedProcess:
    """A service over a folder, at an address that is known when it has been started."""

    folder: Path
    options: tuple[str, ...] = ()
    port: int = 0
    token: str | None = None
    url: str = field(default="", init=False)

    def start(self) -> None:
        """Returns when the port is open."""
        with (self.folder.parent / "stderr").open("ab") as errors:
            command = [sys.executable, "-m", "thalweg", "serve", "--data", str(self.folder), "--port", str(self.port)]
            self._process = subprocess.Popen([*command, *self.options], stdout=subprocess.PIPE, stderr=errors)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        assert self.url, (self.folder.parent / "stderr").read_text()
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

    def kill(self) -> None:
        """Ends it without a warning."""
        self._process.kill()
        self._wait()

    def end(self, number: int = SIGTERM, seconds: float = 60) -> int:
        """Asks it to end; its exit code."""
        self._process.send_signal(number)
        return self._wait(seconds)

    def _wait(self, seconds: float | None = None) -> int:
        """Until it has ended; its exit code."""
        code = self._process.wait(seconds)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code

    def ask(self, method: str, path: str, body: bytes | None = None, media: str = "application/json") -> Any:
        """What a request gives, as data; an answer of 400 and above is an error."""
        login = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = Request(f"{self.url}v1/{path}", body, {"Content-Type": media, **login}, method=method)
        with urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def put(self, program: str, text: str, stream: str = "north", **more: Any) -> None:
        """Registers a program of rules."""
        body = {"sources": [{"name": f"{program}.lars", "text": text}], "streams": [stream], **more}
        self.ask("PUT", f"programs/{program}", json.dumps(body).encode())

    def post(self, facts: str, stream: str = "north") -> None:
        """Posts facts, and returns when every program has taken them that did not fail over them."""
        self.ask("POST", f"streams/{stream}/facts", facts.encode(), "text/plain")
        until = monotonic() + 120
        # The service says how far a program is, and nothing when it gets there.
        while any(_is_behind(program) for program in self.ask("GET", "programs")):
            assert monotonic() < until
            sleep(0.05)


def _is_behind(program: dict[str, Any]) -> bool:
    return program["state"] != "failed" and program["lag"]["records"] > 0


@contextmanager
def served(folder: Path, *options: str, token: str | None = None) -> Iterator[ServedProcess]:
    """A service that is killed at the end."""
    process = ServedProcess(folder, options, token=token)
    process.start()
    try:
        yield process
    finally:
        process.kill()
