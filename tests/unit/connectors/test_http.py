"""Streams from servers of the web, real ones on the loopback."""

from http.server import BaseHTTPRequestHandler

import pytest

from thalweg import api
from thalweg.connectors import broker
from thalweg.connectors.http import HttpTransport
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.server_sent_events import ServerSentEvents
from thalweg.diagnostics import FailedError, RejectedError
from web_servers import begin, body, serving


def test_a_body_of_lines_is_a_stream():
    with serving(body("application/x-ndjson", b'{"t": 3, "facts": ["p(a)"]}\n')) as uri:
        transport = HttpTransport(f"{uri}/city/readings.jsonl?token=7")
        assert (transport.stream, transport.live) == ("readings", True)
        assert b"".join(transport.blocks(Interrupt())) == b'{"t": 3, "facts": ["p(a)"]}\n'


def test_events_are_messages_and_a_lost_connection_goes_on_behind_the_last_one():
    asked = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        last = handler.headers.get("Last-Event-ID")
        asked.append(last)
        if last == "2":
            handler.send_response(204)
            handler.end_headers()
            return
        begin(handler, "text/event-stream; charset=utf-8")
        number = 1 if last is None else 2
        handler.wfile.write(f"retry: 10\nid: {number}\nevent: reading\ndata: p at {number}.\n\n".encode())

    with serving(answer) as uri:
        transport = HttpTransport(f"{uri}/events")
        assert list(transport.blocks(Interrupt())) == [b"p at 1.\n", b"p at 2.\n"]
        assert transport.position() == "2"
    assert asked == [None, "1", "2"]


def test_a_run_that_is_resumed_asks_for_what_comes_behind_its_last_event():
    asked = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.headers.get("Last-Event-ID"))
        begin(handler, "text/event-stream")

    with serving(answer) as uri:
        HttpTransport(f"{uri}/events").seek("41")
    assert asked == [None, "41"]


def test_an_event_without_its_blank_line_is_not_complete():
    assert ServerSentEvents().feed(b": only a comment\n\ndata: p at 3.\n") == []


def test_the_server_may_send_us_on_and_ask_who_we_are():
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/old":
            handler.send_response(302)
            handler.send_header("Location", "/new")
            handler.send_header("Connection", "close")
            handler.end_headers()
        else:
            body("text/plain", b"p at 3.\n")(handler)

    with serving(answer) as uri:
        transport = HttpTransport(f"{uri}/old")
        assert b"".join(transport.blocks(Interrupt())) == b"p at 3.\n"


def test_a_password_is_sent_and_not_shown():
    seen = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers.get("Authorization"))
        body("text/plain", b"")(handler)

    with serving(answer) as uri:
        transport = HttpTransport(uri.replace("http://", "http://me:secret@") + "/r")
        transport.close()
    assert seen[-1] == "Basic bWU6c2VjcmV0"
    assert "secret" not in transport.name


def test_a_server_that_refuses_or_is_away_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(broker, "OPENING", 1.0)
    with serving(lambda handler: begin(handler, "text/plain", 404)) as uri, pytest.raises(FailedError, match="404"):
        HttpTransport(f"{uri}/nowhere")
    with pytest.raises(FailedError, match="E404"):
        HttpTransport(f"{uri}/nowhere")


def test_an_address_needs_a_host():
    with pytest.raises(RejectedError, match="http://localhost/readings"):
        HttpTransport("http:///readings")


@pytest.mark.parametrize(
    ("kind", "path", "content"),
    [
        (
            "text/event-stream",
            "feed",
            b'data: {"d": "a", "v": 30, "ts": 36}\n\ndata: [{"d": "b", "v": 5, "ts": 37}]\n\n',
        ),
        ("application/json", "feed", b'[{"d": "a", "v": 30, "ts": 36},\n {"d": "b", "v": 5, "ts": 37}]'),
        ("text/csv", "readings.csv", b"d,v,ts\na,30,36\nb,5,37\n"),
        ("text/csv", "export?format=csv", b"d;v;ts\na;30;36\nb;5;37\n"),
    ],
)
def test_what_is_sent_is_mapped(kind: str, path: str, content: bytes):
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.headers.get("Last-Event-ID") or answered:
            handler.send_response(204)
            handler.end_headers()
            return
        answered.append(True)
        begin(handler, kind)
        handler.wfile.write(b"retry: 10\n" * (kind == "text/event-stream") + content)

    answered: list[bool] = []
    with serving(answer) as uri:
        answers = api.run("hot(D) :- v(D,V), V > 20.", f"{uri}/{path}", map="v(d, v) at ts", times="ticks")
        assert list(map(str, answers)) == [
            '{"t":36,"begin":["hot(a)"],"end":[]}',
            '{"t":37,"begin":[],"end":["hot(a)"]}',
        ]


def test_what_a_lost_connection_had_begun_to_send_is_not_mixed_with_what_comes_again():
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.headers.get("Last-Event-ID") == "2":
            handler.send_response(204)
            handler.end_headers()
            return
        begin(handler, "text/event-stream")
        if handler.headers.get("Last-Event-ID") is None:
            handler.wfile.write(b"retry: 10\nid: 1\ndata: p at 1.\n\nid: 2\ndata: p at 2.\nda")
        else:
            handler.wfile.write(b"id: 2\ndata: p at 2.\n\n")

    with serving(answer) as uri:
        assert list(HttpTransport(f"{uri}/events").blocks(Interrupt())) == [b"p at 1.\n", b"p at 2.\n"]
