"""`tcp://host:port`: connects as a client; lines in, lines out."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from thalweg.connectors.files import LIVE_BLOCK
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.transport import Sink
from thalweg.connectors.web_address import split_address
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError


@dataclass(slots=True)
class SocketTransport:
    """A live stream from a server."""

    name: str
    live: bool = True
    stream: str = field(init=False)
    _socket: socket.socket = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._socket = connect(self.name)
        self.stream = urlsplit(self.name).hostname or ""

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        with self._socket:
            while block := interrupt.wait(self._receive):
                yield block

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(LIVE_BLOCK)
        except OSError as error:
            raise _failed(self.name, error) from error


def connect(uri: str) -> socket.socket:
    """A connection to `tcp://host:port`."""
    host, port = address(uri)
    try:
        connection = socket.create_connection((host, port), timeout=10)
    except OSError as error:
        raise _failed(uri, error) from error
    connection.settimeout(None)
    return connection


def address(uri: str) -> tuple[str, int]:
    """Host and port of a URI.

    >>> address("tcp://localhost:9000")
    ('localhost', 9000)
    """
    parts = split_address(uri)
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None:
        raise RejectedError([Diagnostic("E402", f"`{uri}` has no host and port", help="write `tcp://localhost:9000`")])
    return parts.hostname, port


def open_sink(uri: str) -> Sink:
    """A connection to write answers to."""
    with connect(uri) as connection:
        # The connection lasts until the file made of it is closed too.
        return connection.makefile("wb")


def _failed(uri: str, error: OSError) -> FailedError:
    return FailedError(Diagnostic("E404", f"no connection to `{uri}`: {error.strerror or error}"))
