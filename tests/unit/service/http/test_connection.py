"""What is no request, or comes too slowly, ends its connection."""

import asyncio
import resource
import socket
import subprocess
import sys
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from uvicorn import Config
from uvicorn.server import ServerState

from serving import Serving
from thalweg.service.http import connection, endpoint
from thalweg.service.http.connection import MOST_HEAD, HttpConnection
from thalweg.service.refused import RefusedError

HEAD = b"Host: localhost\r\n"


def answered(served: Serving, *sent: bytes) -> bytes:
    """All that comes back for bytes, until the other side ends the connection."""
    url = served.client.base_url
    with socket.create_connection((url.host, url.port), timeout=30) as client:
        came = b""
        try:
            for data in sent:
                client.sendall(data)
            while data := client.recv(1 << 16):
                came += data
        except ConnectionError:
            pass  # It is ended while something is on the way.
        return came


@pytest.mark.parametrize(
    "head",
    [
        b"GET /v1/health HTTP/1.1\r\nX-Much: " + b"a" * 8 * MOST_HEAD,
        b"GET /v1/health HTTP/1.1\r\n" + b"X-Much: a\r\n" * MOST_HEAD,
        b"GET /v1/" + b"a" * 8 * MOST_HEAD,
    ],
)
def test_a_head_that_is_too_large_ends_the_connection(served: Serving, head: bytes) -> None:
    came = answered(served, *(head[place : place + 1024] for place in range(0, len(head), 1024)))
    assert came.startswith(b"HTTP/1.1 431 ") or not came
    assert served.client.get("/v1/health").status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        b"NONSENSE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v1/check HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/check HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ],
)
def test_what_is_not_http_is_refused_with_a_diagnostic(served: Serving, text: bytes) -> None:
    came = answered(served, text)
    assert came.startswith(b"HTTP/1.1 400 ")
    assert b'{"diagnostics":[{"code":"E903"' in came


def test_requests_on_one_connection_are_answered_in_their_order(served: Serving) -> None:
    paths = [b"/v1/health", b"/v1/ready", b"/v1/nothing", b"/v1/health"]
    *first, last = [b"GET " + path + b" HTTP/1.1\r\n" + HEAD for path in paths]
    came = answered(served, b"".join(head + b"\r\n" for head in first) + last + b"Connection: close\r\n\r\n")
    assert [part[:3] for part in came.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"404", b"200"]


def test_the_head_of_an_event_stream_is_all_that_head_gets(served: Serving) -> None:
    request = b"HEAD /v1/programs/jam/events HTTP/1.1\r\n" + HEAD + b"Connection: close\r\n\r\n"
    came = answered(served, request)
    assert came.startswith(b"HTTP/1.1 200 ")
    assert b"text/event-stream" in came
    assert came.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("sent", [b"", b"GET /v1/", b"\r\n", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\nsome"])
def test_who_is_too_slow_is_left(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    config = Config(PlainTextResponse("read nothing"), lifespan="off", log_config=None)
    config.load()

    async def connect() -> bytes:
        state = ServerState()
        loop = asyncio.get_running_loop()
        async with await loop.create_server(lambda: HttpConnection(config, state, {}), "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(sent)
            came = await asyncio.wait_for(reader.read(), 60)
            writer.close()
            return came

    assert (b"read nothing" in asyncio.run(connect())) == sent.startswith(b"POST")


def test_a_body_that_comes_too_slowly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "PATIENCE", 0.1)
    parts = iter([{"type": "http.request", "body": b"p(a)", "more_body": True}])

    async def receive() -> Any:
        return next(parts, None) or await asyncio.Event().wait()

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    with pytest.raises(RefusedError) as caught:
        asyncio.run(endpoint.body_of(request, 100))
    assert caught.value.status == 408


def test_there_may_be_many_connections() -> None:
    code = "import resource\nfrom thalweg.service.http.server import allow_connections\nallow_connections()\n"
    code += "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    command = f"ulimit -Sn 100; exec {sys.executable} -c '{code}'"
    printed = subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert int(printed) > 2_000 or int(printed) == hard
