"""Events as they come: what is sent, in which order, and to whom."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import RULES, ServerSentEvent, Serving, serving


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Serving]:
    """A service of a test's own, whose program `jam` has answered two lines."""
    with serving(tmp_path / "data") as service:
        service.client.put("/v1/streams/north", json={}).raise_for_status()
        service.put_program("jam")
        service.post("slow(a) at 1.\nslow(b) at 3.\nslow(c) at 4.\n")
        service.lines("jam", "jam(b)")
        yield service


def short(event: ServerSentEvent) -> tuple[str, str, object]:
    return event.kind, event.id, event.data


def test_without_an_id_a_snapshot_comes_first(live: Serving) -> None:
    with live.events("/v1/programs/jam/events") as events:
        first = next(events)
        assert short(first)[:2] == ("snapshot", "1-2")
        assert first.data["facts"] == [
            {"fact": "jam(a)", "since": 1, "until": 11},
            {"fact": "jam(b)", "since": 3, "until": 13},
        ]
        live.post("slow(z) at 5.")
        assert short(next(events)) == ("line", "1-3", {"t": 4, "begin": ["jam(c)"], "end": []})


def test_an_id_is_gone_on_from_strictly_behind_it(live: Serving) -> None:
    for options in ({"params": {"after": "1-1"}}, {"headers": {"Last-Event-ID": "1-1"}, "params": {"after": "1-0"}}):
        with live.events("/v1/programs/jam/events", **options) as events:
            assert short(next(events)) == ("line", "1-2", {"t": 3, "begin": ["jam(b)"], "end": []})


def test_lines_are_those_of_the_route_byte_for_byte(live: Serving) -> None:
    with live.client.stream("GET", "/v1/programs/jam/events?after=1-0") as response:
        lines = response.iter_lines()
        data = [next(lines) for _ in range(10)]
    sent = [line.removeprefix("data: ") for line in data if line.startswith("data: ")]
    assert sent == live.client.get("/v1/programs/jam/lines").text.splitlines()[: len(sent)]
    assert data[:2] == ["retry: 1000", ""]


def test_until_says_until_when(live: Serving) -> None:
    with live.events("/v1/programs/jam/events?after=1-0&until=true") as events:
        assert next(events).data == {"t": 1, "begin": ["jam(a)"], "end": [], "until": {"jam(a)": 11}}


def test_a_match_leaves_lines_out_and_time_goes_on(live: Serving) -> None:
    with live.events("/v1/programs/jam/events?after=1-0&match=jam(b)") as events:
        assert short(next(events)) == ("line", "1-2", {"t": 3, "begin": ["jam(b)"], "end": []})
        live.post("slow(z) at 9.")
        passed = next(events)
        assert (passed.kind, passed.id) == ("time", "")
        assert passed.data["t"] in (4, 8)


def test_another_generation_resets(live: Serving) -> None:
    with live.events("/v1/programs/jam/events?after=1-2") as events:
        live.put_program("jam", RULES.replace("10", "20"), **{"from": "earliest"})
        reset, snapshot = (event for event in (next(events), next(events)))
        assert short(reset) == ("reset", "2-0", {"generation": 2})
        assert snapshot.kind == "snapshot"
        assert snapshot.id.startswith("2-")
    with live.events("/v1/programs/jam/events?after=1-2") as events:
        assert [next(events).kind, next(events).kind] == ["reset", "snapshot"]
    with live.events("/v1/programs/jam/events?after=7-1") as events:
        assert [next(events).kind, next(events).kind] == ["reset", "snapshot"]


def test_an_id_that_has_not_come_yet_is_waited_for(live: Serving) -> None:
    with live.events("/v1/programs/jam/events?after=1-3") as events:
        live.post("slow(z) at 5.\nslow(y) at 6.\n")
        assert short(next(events))[:2] == ("line", "1-4")


def test_many_subscribers_get_every_line_once_and_in_order(live: Serving) -> None:
    address = (live.client.base_url.host, live.client.base_url.port)
    paths = ["/v1/programs/jam/events?after=1-0", "/v1/programs/jam/events?after=1-1&match=jam(*)"] * 20
    sockets = [socket.create_connection(address, timeout=30) for _ in paths]
    for connection, path in zip(sockets, paths, strict=True):
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    for tick in range(10, 40):
        live.post(f"slow(x{tick}) at {tick}.")
    numbers = [int(line.id.partition("-")[2]) for line in live.lines("jam", "jam(x38)")]
    for connection, path in zip(sockets, paths, strict=True):
        received = b""
        while b"jam(x38)" not in received:
            received += connection.recv(1 << 16)
        ids = [int(part.partition(b"\n")[0]) for part in received.split(b"id: 1-")[1:]]
        assert ids == (numbers if "after=1-0" in path else numbers[1:])
        connection.close()


def test_subscriptions_end_with_the_program_and_with_the_service(live: Serving) -> None:
    live.put_program("other")
    with live.events("/v1/programs/other/events") as events:
        assert next(events).kind == "snapshot"
        assert live.client.delete("/v1/programs/other").status_code == 204
        assert [event.kind for event in events if event.kind != "time"] == []
    with live.events("/v1/programs/jam/events") as events:
        next(events)
        assert live.end() == 0
        assert [event.kind for event in events if event.kind != "time"] == []


def test_a_subscriber_resumes_after_a_crash(live: Serving) -> None:
    before = live.client.get("/v1/programs/jam/lines").text
    live.process.kill()
    live.process.wait()
    with serving(live.data) as again:
        with again.events("/v1/programs/jam/events?after=1-1") as events:
            assert [short(next(events))[1]] == ["1-2"]
        assert again.client.get("/v1/programs/jam/lines").text[: len(before)] == before
        assert json.loads(before.splitlines()[0])["t"] == 1
