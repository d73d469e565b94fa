"""`http://host/readings`, `https://…`: what a server sends as it comes, lines or server-sent events.

https://host/readings.jsonl     a body of lines, or a table: ends with the body
https://me:secret@host/events   `text/event-stream`: each event's data is a message; a lost connection is restored,
                                and says which event was the last (`Last-Event-ID`)
"""

import socket
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from time import monotonic, sleep
from typing import Any, Final
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from thalweg.connectors import broker
from thalweg.connectors.broker import as_lines
from thalweg.connectors.files import LIVE_BLOCK
from thalweg.connectors.interrupt import Interrupt, Interrupted
from thalweg.connectors.server_sent_events import ServerSentEvent, ServerSentEvents
from thalweg.connectors.web_address import login, read_web_address
from thalweg.diagnostics import FailedError

EVENTS: Final = "text/event-stream"
_ACCEPT: Final = f"{EVENTS}, application/x-ndjson, application/json;q=0.9, */*;q=0.8"
_MOVED: Final = (301, 302, 303, 307, 308)
_MOST_MOVES: Final = 5
_SLICE: Final = 0.2


class HttpTransport:
    """A live stream from a server of the web."""

    live = True
    repeats = False

    def __init__(self, uri: str) -> None:
        self._address = read_web_address(uri)
        self.name, self.stream = self._address.name, self._address.stream
        self._events = ServerSentEvents()
        self._socket: socket.socket | None = None
        self._closed = False
        self._response: HTTPResponse | None = self._request()

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        try:
            while self._response is not None:
                try:
                    yield from self._body(self._response, interrupt)
                except (OSError, HTTPException) as error:
                    if not self._is_events():
                        raise self._address.failed(error) from error
                # What sends events goes on until it says that there is nothing more; a body just ends.
                over = interrupt.asked or self._closed or not self._is_events()
                self._response = None if over else self._again(interrupt)
        finally:
            self.close()

    def close(self) -> None:
        self._closed = True
        if self._socket is not None:
            self._socket.close()

    def position(self) -> Any:
        """The last event that was handed over, where events have names."""
        return self._events.last or None

    def seek(self, position: Any) -> None:
        """Goes on behind an event, which the server must still know."""
        self._events.last = position
        self.close()
        self._closed = False
        self._response = self._request()

    def _is_events(self) -> bool:
        return self._response is not None and sends_events(self._response)

    def _body(self, response: HTTPResponse, interrupt: Interrupt) -> Iterator[bytes]:
        events = self._is_events()
        while block := interrupt.wait(lambda: response.read1(LIVE_BLOCK)):
            if not events:
                yield block
            else:
                yield from self._blocks_of(self._events.feed(block))

    def _blocks_of(self, events: Sequence[ServerSentEvent]) -> Iterator[bytes]:
        """What events say, as blocks of a stream."""
        if messages := b"".join(as_lines(event.data) for event in events):
            yield messages

    def _again(self, interrupt: Interrupt) -> HTTPResponse | None:
        """Connects again, after the pause that the server asks for; None where it wants no one, or the user ends."""
        begun = monotonic()
        while True:
            try:
                with interrupt.waiting():
                    until = monotonic() + self._events.retry
                    while (left := until - monotonic()) > 0 and not self._closed:
                        sleep(min(left, _SLICE))
                self._events.restart()
                return None if self._closed else self._request()
            except Interrupted:
                return None
            except FailedError:
                if monotonic() - begun > broker.PATIENCE:
                    raise

    def _request(self) -> HTTPResponse | None:
        """The answer of the server; None where it says that there is nothing more."""
        uri = self._address.uri
        for _ in range(_MOST_MOVES):
            response = self._ask(urlsplit(uri))
            if response.status in _MOVED and (place := response.headers.get("Location")):
                uri = urljoin(uri, place)
                continue
            if response.status == 204:
                return None
            if response.status >= 300:
                raise self._address.failed(f"the server says: {response.status} {response.reason}")
            return response
        raise self._address.failed("the server sends us from place to place")

    def _ask(self, parts: SplitResult) -> HTTPResponse:
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        try:
            connection = kind(parts.hostname or "", parts.port, timeout=broker.OPENING)
            connection.connect()
            before, self._socket = self._socket, connection.sock
            if before is not None:
                before.close()
            target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
            connection.request("GET", target, headers=self._headers(parts))
            response = connection.getresponse()
            # Silence is not a failure.
            self._socket.settimeout(None)
        except (OSError, HTTPException, ValueError) as error:
            raise self._address.failed(error) from error
        return response

    def _headers(self, parts: SplitResult) -> dict[str, str]:
        headers = {"Accept": _ACCEPT, "Cache-Control": "no-store", "User-Agent": "thalweg"}
        if self._events.last:
            headers["Last-Event-ID"] = self._events.last
        return headers | login(parts)


def sends_events(response: HTTPResponse) -> bool:
    """Whether a server sends events, and not a body that ends."""
    return response.headers.get_content_type() == EVENTS
