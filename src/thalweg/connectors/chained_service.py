"""`http://host/v1/programs/jam/events`: a program of a service (`thalweg serve`) as a stream of what holds there.

    thalweg run alarms.lars --stream http://host:8642/v1/programs/jam/events

The stream has the name of the program, and its ticks are those of the program. Who resumes a run goes on behind the
last answer that its checkpoint holds, with what held there.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from http.client import HTTPResponse
from threading import Lock
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlunsplit

from thalweg.connectors.held_answers import AnswerPlace, AnswerStep, HeldAnswers, UpstreamClock
from thalweg.connectors.http import HttpTransport, sends_events
from thalweg.connectors.server_sent_events import ServerSentEvent
from thalweg.connectors.service_client import ServiceClient, token_here
from thalweg.connectors.web_address import login, split_address
from thalweg.diagnostics import Diagnostic
from thalweg.model.time import milliseconds

_PATH: Final = re.compile(r"(?P<prefix>.*)/v1/programs/(?P<program>[^/]+)/events/?")
_TICK: Final = "1s"


def is_chained(uri: str) -> bool:
    """Whether an address is that of the answers of a program of a service.

    >>> is_chained("https://host/thalweg/v1/programs/jam/events?match=jam(*)"), is_chained("https://host/events")
    (True, False)
    """
    return _PATH.fullmatch(split_address(uri).path) is not None


class ChainedServiceTransport(HttpTransport):
    """The answers of a program as a live stream, which keeps what a checkpoint may want to go on from."""

    def __init__(self, uri: str) -> None:
        parts = split_address(uri)
        match = _PATH.fullmatch(parts.path)
        assert match is not None, "`is_chained` says so"
        self._place_of_login = parts.netloc
        program = unquote(match["program"])
        base = urlunsplit((parts.scheme, parts.netloc, match["prefix"], "", ""))
        options = ServiceClient(base).get("programs", program)["options"]
        super().__init__(uri)
        self.stream = program
        self._held = HeldAnswers(self.name, UpstreamClock(milliseconds(options.get("tick", _TICK))))
        self._lock = Lock()
        self._holds = False
        self._behind = AnswerPlace()
        """What was acknowledged."""
        self._steps: deque[tuple[int, AnswerStep]] = deque()
        """Those since, each with the number of the block that it belongs to."""
        self._blocks = 0

    def notices(self) -> list[Diagnostic]:
        """The warnings since they were asked for."""
        return self._held.notices()

    def position(self) -> int:
        """How many blocks were handed over."""
        return self._blocks

    def hold(self, unconfirmed: int | None = None) -> None:
        # A position is a place among the answers: the service need not confirm anything.
        self._holds = True

    def saved(self, position: int) -> dict[str, Any]:
        with self._lock:
            place = self._behind.copy()
            for number, step in self._steps:
                if number <= position:
                    place.go(step)
        return place.save()

    def acknowledge(self, position: int) -> None:
        with self._lock:
            while self._steps and self._steps[0][0] <= position:
                self._behind.go(self._steps.popleft()[1])

    def seek(self, position: dict[str, Any]) -> None:
        self._behind = AnswerPlace.load(position)
        self._held.place = self._behind.copy()
        super().seek(self._behind.id)

    def _blocks_of(self, events: Sequence[ServerSentEvent]) -> Iterator[bytes]:
        for event in events:
            for lines, step in self._held.take(event):
                with self._lock:
                    self._blocks += bool(lines)
                    if self._holds:
                        # A step without lines goes with the block that comes next.
                        self._steps.append((self._blocks + (not lines), step))
                if lines:
                    yield lines

    def _request(self) -> HTTPResponse | None:
        response = super()._request()
        if response is not None and not sends_events(response):
            raise self._address.failed("what answers there is not `thalweg serve`")
        return response

    def _headers(self, parts: SplitResult) -> dict[str, str]:
        # The token is for the service alone, wherever it sends us.
        token = token_here() if parts.netloc == self._place_of_login else None
        return super()._headers(parts) | login(parts, token)
