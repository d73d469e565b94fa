"""A connection: what a client sends that is no request, or comes too slowly, ends it.

head too large      431, so that nobody fills the memory before a route has looked at anything
head too slow       closed, and so is one that goes on with a body that was refused
not HTTP            400
"""

import asyncio
from http import HTTPStatus
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thalweg.service.http.endpoint import JSON, as_json
from thalweg.service.refused import refusal

MOST_HEAD: Final = 64 << 10
"""The bytes that the head of a request may have."""
PATIENCE: Final = 30.0
"""Seconds within which the head of a request must have come, and the rest of a body that was refused."""


class HttpConnection(HttpToolsProtocol):
    """One connection. Requests know it, so that one that nobody reads from can be cut."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "connection": transport}
        self._is_in_head = False
        self._head = 0
        self._closing: asyncio.TimerHandle | None = None
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._has_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._is_in_head:
            self._head += len(data)
            if self._head > MOST_HEAD:
                self._refuse(431, f"the head of a request has more than {MOST_HEAD:,} bytes")
                return
        if self._is_in_head or self.cycle is None or self.cycle.response_complete:
            self._expect_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head, self._head = True, 0

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._is_in_head = False
        self._has_head()

    def _expect_head(self) -> None:
        """Gives the next head its time, unless that runs already."""
        if self._closing is None:
            self._closing = self.loop.call_later(PATIENCE, self.transport.close)

    def _has_head(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def send_400_response(self, msg: str) -> None:
        """Refuses what is not HTTP."""
        self._refuse(400, "this is not a request of HTTP/1.1", "the service does not encrypt: write `http://`")

    def _refuse(self, status: int, message: str, way_out: str = "") -> None:
        """Answers without any route, and ends the connection."""
        body = as_json(refusal(status, message, way_out).as_data())
        lines = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            f"content-type: {JSON}",
            f"content-length: {len(body)}",
            "connection: close",
        )
        self.transport.write("\r\n".join((*lines, "", "")).encode() + body)
        self.transport.close()
