"""Streams from WebSocket servers, real ones on the loopback."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest

from thalweg import api
from thalweg.connectors import broker, websocket
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.websocket import WebSocketTransport
from thalweg.diagnostics import FailedError, RejectedError

server = pytest.importorskip("websockets.sync.server")


@contextmanager
def serving(answer: Callable[[Any], None]) -> Iterator[str]:
    with server.serve(answer, "127.0.0.1", 0) as listening:
        thread = Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"ws://127.0.0.1:{listening.socket.getsockname()[1]}"
        listening.shutdown()
        thread.join()


def test_messages_are_lines():
    def answer(connection: Any) -> None:
        connection.send("p at 3.")
        connection.send(b"p at 4.\nq at 4.\n")

    with serving(answer) as uri:
        transport = WebSocketTransport(f"{uri}/city/readings")
        assert (transport.stream, transport.live) == ("readings", True)
        assert list(transport.blocks(Interrupt())) == [b"p at 3.\n", b"p at 4.\nq at 4.\n"]


def test_a_lost_connection_is_restored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(websocket, "_PAUSE", 0.01)
    times: list[int] = []

    def answer(connection: Any) -> None:
        times.append(len(times))
        connection.send(f"p at {len(times)}.")
        if len(times) == 1:
            connection.close(1011, "broken")

    with serving(answer) as uri:
        assert list(WebSocketTransport(uri).blocks(Interrupt())) == [b"p at 1.\n", b"p at 2.\n"]


def test_a_server_that_is_away_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(broker, "OPENING", 1.0)
    with serving(lambda connection: None) as uri:
        pass
    with pytest.raises(FailedError, match="E404"):
        WebSocketTransport(uri)


def test_an_address_needs_a_host():
    with pytest.raises(RejectedError, match="ws://localhost/readings"):
        WebSocketTransport("ws:///readings")


def test_without_the_package_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "websockets.sync.client", None)
    with pytest.raises(RejectedError, match=r"thalweg\[web\]"):
        WebSocketTransport("ws://localhost/readings")


def test_what_is_sent_is_mapped():
    def answer(connection: Any) -> None:
        connection.send('{"d": "a", "v": 30, "ts": 36}')
        connection.send('{\n "d": "b",\n "v": 5,\n "ts": 37\n}')

    with serving(answer) as uri:
        answers = api.run("hot(D) :- v(D,V), V > 20.", f"{uri}/feed", map="v(d, v) at ts", times="ticks")
        assert list(map(str, answers)) == [
            '{"t":36,"begin":["hot(a)"],"end":[]}',
            '{"t":37,"begin":[],"end":["hot(a)"]}',
        ]
