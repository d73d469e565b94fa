"""`ws://host/readings`, `wss://…`: each message is a line, or several. Only here is websockets imported.

A connection that is lost is restored; one that the server closes in order is the end of the stream.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from thalweg.connectors import broker
from thalweg.connectors.broker import as_lines, not_installed
from thalweg.connectors.interrupt import Interrupt, Interrupted
from thalweg.connectors.web_address import read_web_address
from thalweg.diagnostics import FailedError

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

BEAT: Final = 1.0
_PAUSE: Final = 1.0
_LARGEST: Final = 64 << 20
"""Bytes of a message."""


class WebSocketTransport:
    """A live stream of what a server sends."""

    live = True

    def __init__(self, uri: str) -> None:
        self._address = read_web_address(uri)
        self.name, self.stream = self._address.name, self._address.stream
        self._closed = False
        self._opened = ExitStack()
        self._connection = self._connect()

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        try:
            while not self._closed and (message := self._receive(interrupt)) is not None:
                if message:
                    yield message
        finally:
            self.close()

    def close(self) -> None:
        self._closed = True
        self._opened.close()

    def _receive(self, interrupt: Interrupt) -> bytes | None:
        """The next message, empty where none has come for a while; None at the end."""
        from websockets.exceptions import ConnectionClosed, ConnectionClosedOK

        try:
            with interrupt.waiting():
                message = self._connection.recv(timeout=BEAT)
        except TimeoutError:
            return b""
        except (Interrupted, ConnectionClosedOK):
            return None
        except ConnectionClosed:
            return b"" if self._restore(interrupt) else None
        return as_lines(message.encode() if isinstance(message, str) else message)

    def _restore(self, interrupt: Interrupt) -> bool:
        """Connects again; False where the user asks to end."""
        lost = monotonic()
        while not self._closed:
            try:
                with interrupt.waiting():
                    sleep(_PAUSE)
                self._connection = self._connect()
                return True
            except Interrupted:
                return False
            except FailedError:
                if monotonic() - lost > broker.PATIENCE:
                    raise
        return False

    def _connect(self) -> "ClientConnection":
        try:
            from websockets.exceptions import WebSocketException
            from websockets.sync.client import connect
        except ImportError:
            raise not_installed("ws", "web") from None
        try:
            self._opened.close()
            connection = connect(self._address.uri, open_timeout=broker.OPENING, close_timeout=BEAT, max_size=_LARGEST)
            return self._opened.enter_context(connection)
        except (OSError, WebSocketException, ValueError) as error:
            raise self._address.failed(error) from error
