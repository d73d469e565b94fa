"""A service says when it is ready, ends when it is asked to whatever it is doing, and goes on where it was."""

import json
import socket
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any, Final

import httpx
import pytest

from followed_service import before, is_caught_up, lines_of, until
from served_process import ServedProcess, served
from services import KINDS, body, expected, texts

ENDLESS: Final = {"n.lars": "n(0) :- go. n(Y) :- n(X), Y = X + 1."}
FOLLOWED: Final = {"rules": "jam", "answer sets": "side", "mixed": "all"}
LONGEST: Final = 15.0
"""Seconds until an end is no end in good order; the service itself takes ten at most."""


def register(service: ServedProcess, name: str, sources: dict[str, str], **more: Any) -> Any:
    return service.ask("PUT", f"programs/{name}", json.dumps(body(sources, **more)).encode())


def followed(service: ServedProcess, count: int, stack: ExitStack) -> list[socket.socket]:
    """Connections of so many who follow a program, each of which has begun to get its lines."""
    sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", service.port))) for _ in range(count)]
    for connection in sockets:
        connection.settimeout(60)
        connection.sendall(b"GET /v1/programs/jam/events?after=1-0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for connection in sockets:
        assert b"id: 1-1\n" in _read(connection, b"id: 1-1\n")
    return sockets


def _read(connection: socket.socket, end: bytes) -> bytes:
    received = b""
    while end not in received and (block := connection.recv(1 << 16)):
        received += block
    return received


def reasons(service: ServedProcess) -> list[str]:
    """Why a service is not ready; nothing where it is."""
    answer = httpx.get(f"{service.url}v1/ready", timeout=60)
    because: list[str] = answer.json().get("because", [])
    assert (answer.status_code, answer.json()["ready"]) == ((503, False) if because else (200, True))
    return because


def made_ready(service: ServedProcess) -> tuple[set[str], float]:
    """Starts a service, and deletes the program that keeps it from being ready; the other reasons, and the seconds."""
    begun, others = monotonic(), set[str]()
    service.start()
    while any(others_now := [reason for reason in reasons(service) if not reason.startswith("program endless: ")]):
        others.update(others_now)
    ready = monotonic() - begun
    assert httpx.delete(f"{service.url}v1/programs/endless", timeout=60).status_code == 204
    assert reasons(service) == []
    return others, ready


def ended(folder: Path, subscribers: int) -> str:
    """Ends a service in the middle of everything; what there is to say about it."""
    documents = texts(40)
    with served(folder) as service, ExitStack() as stack:
        for kind, name in FOLLOWED.items():
            register(service, name, KINDS[kind]["sources"])
        register(service, "endless", ENDLESS, streams=["south"], memory="4GB")
        for text in documents[:8]:
            service.ask("POST", "streams/north/facts", text.encode(), "text/plain")
        sockets = followed(service, subscribers, stack)
        service.ask("POST", "streams/south/facts", b"go at 1.\ngo at 2.\n", "text/plain")
        until(lambda: service.ask("GET", "programs/endless")["lag"]["records"] > 0, "the tick is evaluated")
        begun = monotonic()
        assert service.end(seconds=LONGEST) == 0
        took = monotonic() - begun
        for connection in sockets:
            assert _read(connection, b"it never comes").endswith(b"0\r\n\r\n")
        because, ready = made_ready(service)
        assert because
        assert all(reason.startswith(("compiling", "program ")) for reason in because)
        for text in documents[8:]:
            service.ask("POST", "streams/north/facts", text.encode(), "text/plain")
        until(lambda: all(map(is_caught_up, service.ask("GET", "programs"))), "programs have caught up")
        compared = 0
        for kind, name in FOLLOWED.items():
            lines = before(lines_of(service, name), 40)
            assert lines == before(expected(KINDS[kind]["sources"], documents), 40)
            compared += len(lines)
    return f"{subscribers} subscribers: ended in {took:.1f} s, ready in {ready:.1f} s, {compared} lines compared"


def test_it_ends_in_the_middle_of_a_tick_and_goes_on(tmp_path: Path, record_property: Any) -> None:
    record_property("summary", ended(tmp_path / "data", 50))


@pytest.mark.slow
def test_so_it_does_with_many_subscribers(tmp_path: Path, record_property: Any) -> None:
    record_property("summary", ended(tmp_path / "data", 500))
