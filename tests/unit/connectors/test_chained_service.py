"""The answers of a service as a stream: from servers that say what it may say, and from the service itself."""

import json
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from served_process import served
from thalweg import api
from thalweg.connectors import broker
from thalweg.connectors.chained_service import ChainedServiceTransport
from thalweg.connectors.held_answers import HeldAnswers, UpstreamClock
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.open import open_stream
from thalweg.connectors.server_sent_events import ServerSentEvent
from thalweg.connectors.service_client import ServiceRefusedError
from thalweg.diagnostics import Diagnostic, FailedError, Source
from web_servers import Answer, begin, serving

Said = tuple[str, str, dict[str, Any]]
EVENTS: Sequence[Said] = [
    ("snapshot", "1-3", {"t": 5, "facts": [{"fact": "p(a)", "since": 2, "until": None}]}),
    ("line", "1-4", {"t": 7, "begin": ["p(b)"], "end": []}),
    ("line", "1-5", {"t": 8, "begin": [], "end": ["p(a)"]}),
    ("time", "", {"t": 10}),
    ("line", "1-6", {"t": 11, "begin": [], "end": ["p(b)"]}),
    ("time", "", {"t": 1_000_000}),
    ("line", "1-7", {"t": 1_000_001, "begin": ["p(c)"], "end": []}),
]
HELD = {
    **{5: ["p(a)"], 6: ["p(a)"], 7: ["p(a)", "p(b)"], 8: ["p(b)"], 9: ["p(b)"], 10: ["p(b)"]},
    **{11: [], 1_000_000: [], 1_000_001: ["p(c)"]},
}


def written(said: Sequence[Said]) -> bytes:
    """Events as a service sends them."""
    ids = (f"id: {id_}\n" if id_ else "" for _, id_, _ in said)
    texts = (f"event: {kind}\n{next(ids)}data: {json.dumps(data)}\n\n" for kind, _, data in said)
    return "".join(texts).encode()


def service(rounds: dict[str | None, Sequence[Said]], asked: list[Any] | None = None, **options: str) -> Answer:
    """A service with one program that says, behind each id, what is stated; and then that there is nothing more."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        behind = handler.headers.get("Last-Event-ID")
        if asked is not None:
            asked.append((handler.path, behind, handler.headers.get("Authorization")))
        if not handler.path.endswith("events"):
            begin(handler, "application/json")
            handler.wfile.write(json.dumps({"name": "jam", "options": options}).encode())
        elif behind in rounds:
            begin(handler, "text/event-stream")
            handler.wfile.write(b"retry: 10\n\n" + written(rounds[behind]))
        else:
            handler.send_response(204)
            handler.end_headers()

    return answer


def held(blocks: Iterator[bytes]) -> dict[int | str, list[str]]:
    """What holds at each tick."""
    lines = [json.loads(line) for line in b"".join(blocks).splitlines()]
    assert len({line["t"] for line in lines}) == len(lines)
    return {line["t"]: line["facts"] for line in lines}


def opened(url: str) -> ChainedServiceTransport:
    transport = open_stream(f"{url}/v1/programs/jam/events")
    assert isinstance(transport, ChainedServiceTransport)
    return transport


def test_at_each_tick_there_is_what_holds() -> None:
    with serving(service({None: EVENTS})) as url:
        transport = opened(url)
        assert (transport.stream, transport.live) == ("jam", True)
        assert held(transport.blocks(Interrupt())) == HELD
        assert transport.notices() == []


@pytest.mark.parametrize("cut", range(1, len(EVENTS)))
def test_a_lost_connection_goes_on_behind_the_last_answer(cut: int) -> None:
    last = max((id_ for _, id_, _ in EVENTS[:cut]), default="")
    with serving(service({None: EVENTS[:cut], last: EVENTS[cut:]})) as url:
        assert held(opened(url).blocks(Interrupt())) == HELD


@pytest.mark.parametrize("taken", range(1, 8))
def test_a_run_that_is_resumed_goes_on_with_what_held(taken: int) -> None:
    rounds = {None: EVENTS} | {said[1]: EVENTS[place + 1 :] for place, said in enumerate(EVENTS[:-1]) if said[1]}
    with serving(service(rounds)) as url:
        transport = opened(url)
        transport.hold()
        blocks = transport.blocks(Interrupt())
        before = [next(blocks) for _ in range(taken)]
        saved = json.loads(json.dumps(transport.saved(transport.position())))
        next(blocks, None)
        transport.acknowledge(transport.position())
        transport.close()
        resumed = opened(url)
        resumed.hold()
        resumed.seek(saved)
        assert resumed.saved(resumed.position()) == saved
        after = [*resumed.blocks(Interrupt())]
        assert held(iter(before)) | held(iter(after)) == HELD
        assert not held(iter(before)).keys() & held(iter(after)).keys()


def test_a_gap_and_another_generation_begin_anew_with_a_warning() -> None:
    said: Sequence[Said] = [
        *EVENTS[:2],
        ("gap", "", {"after": "1-4", "kept": "1-90"}),
        ("snapshot", "1-90", {"t": 20, "facts": [{"fact": "p(z)"}]}),
        ("reset", "2-0", {"generation": 2}),
        ("snapshot", "2-7", {"t": 18, "facts": [{"fact": "q(z)"}]}),
        ("line", "2-8", {"t": 19, "begin": ["q(y)"], "end": []}),
        ("line", "2-9", {"t": 22, "begin": ["q(x)"], "end": ["q(z)"]}),
    ]
    with serving(service({None: said})) as url:
        transport = opened(url)
        expected = {5: ["p(a)"], 6: ["p(a)"], 7: ["p(a)", "p(b)"], 20: ["p(z)"], 21: ["q(z)", "q(y)"]}
        assert held(transport.blocks(Interrupt())) == {**expected, 22: ["q(y)", "q(x)"]}
        notices = transport.notices()
    assert [notice.code for notice in notices] == ["W424", "W424"]
    assert "behind `1-4` are no longer kept" in notices[0].message
    assert "generation 2" in notices[1].message


def test_warnings_of_a_chain_do_not_stop_a_run() -> None:
    said = [*EVENTS[:2], ("reset", "2-0", {"generation": 2}), ("snapshot", "2-1", {"t": 9, "facts": []})]
    reported: list[Diagnostic] = []
    with serving(service({None: said})) as url:
        answers = api.run("q(X) :- p(X).", f"{url}/v1/programs/jam/events", report=reported.append)
        assert [str(answer) for answer in answers] == [
            '{"t":5,"begin":["q(a)"],"end":[]}',
            '{"t":7,"begin":["q(b)"],"end":[]}',
            '{"t":8,"begin":[],"end":["q(a)","q(b)"]}',
        ]
    assert [warning.code for warning in reported] == ["W424"]


def test_timestamps_are_ticks_of_the_program() -> None:
    said: Sequence[Said] = [
        ("snapshot", "1-1", {"t": "2026-11-15T09:00:00+01:00", "facts": [{"fact": "p(a)"}]}),
        ("line", "1-2", {"t": "2026-11-15T09:02:00+01:00", "begin": ["p(b)"], "end": []}),
    ]
    with serving(service({None: said}, tick="1 min")) as url:
        assert held(opened(url).blocks(Interrupt())) == {
            "2026-11-15T08:00:00Z": ["p(a)"],
            "2026-11-15T08:01:00Z": ["p(a)"],
            "2026-11-15T08:02:00Z": ["p(a)", "p(b)"],
        }


def test_a_tick_of_answer_sets_waits_for_what_rules_change_at_it() -> None:
    rebuilt = HeldAnswers("jam", UpstreamClock())
    said = [
        ("snapshot", "1-1", {"t": 3, "facts": [{"fact": "p"}]}),
        ("line", "1-2", {"t": 5, "window": [4, 5], "answers": [["a", "p"], ["b"]]}),
        ("line", "1-3", {"t": 5, "begin": ["q"], "end": ["p"]}),
        ("line", "1-4", {"t": 6, "window": [5, 6], "answers": [["a"]]}),
        ("line", "1-5", {"t": 6, ":Jam": "an event"}),
        ("time", "", {"t": 6}),
    ]
    events = [ServerSentEvent(kind, id_, json.dumps(data).encode()) for kind, id_, data in said]
    lines = (lines for event in events for lines, _ in rebuilt.take(event))
    assert held(lines) == {3: ["p"], 4: ["p"], 5: ["q", "a", "p", "b"], 6: ["q", "a"]}
    assert [notice.code for notice in rebuilt.notices()] == ["W424"]


def test_the_token_of_the_environment_is_for_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_TOKEN", "r-77")
    asked: list[Any] = []
    with serving(service({None: EVENTS}, asked)) as url:
        list(opened(url).blocks(Interrupt()))
        list(open_stream(f"{url}/other/events").blocks(Interrupt()))
    logins = {path: login for path, _, login in asked}
    assert logins == {
        "/v1/programs/jam": "Bearer r-77",
        "/v1/programs/jam/events": "Bearer r-77",
        "/other/events": None,
    }


def test_a_program_that_is_not_there_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "PATIENCE", 0.0)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        begin(handler, "application/json", 404)
        handler.wfile.write(b'{"diagnostics":[{"code":"E903","message":"there is no program `jam`"}]}')

    with serving(answer) as url, pytest.raises(ServiceRefusedError, match="no program `jam`"):
        opened(url)
    with pytest.raises(FailedError, match="no connection"):
        opened(url)


RULES, ALARMS = "slow(S) :- speed(S,V) in [2], V < 20.", "alarm(S) :- slow(S), slow(T), S != T, not off(S)."


def facts(first: int, last: int) -> str:
    return "".join(f"speed(s{tick % 3},{(tick * 7) % 50}) at {tick}.\n" for tick in range(first, last))


def test_a_run_over_a_service_answers_as_one_over_its_facts_whoever_is_stopped_meanwhile(tmp_path: Path) -> None:
    run = api.run([RULES, ALARMS], Source("north.facts", facts(1, 60)), show="alarm/1")
    expected = [str(answer) for answer in run][:-1]
    part, options, answered = api.load_part([ALARMS]), api.RunOptions(), list[str]()
    with served(tmp_path / "data") as process:
        process.put("jam", RULES)
        process.post("speed(s9,99) at 0.\nspeed(s9,99) at 1.\n")
        source = f"{process.url}v1/programs/jam/events?after=1-0"

        def follow(number: int, more: str) -> None:
            """Goes on to a number of answers, the first of which are there already."""
            interrupt = Interrupt()
            with (
                api.open_checkpoint(tmp_path / "checkpoint", part, source, options) as checkpoint,
                api.start(part, source, options, interrupt=interrupt, checkpoint=checkpoint) as job,
            ):
                answers = (str(answer) for answer in job.pieces() if answer is not None)
                answered.append(next(answers))
                process.kill()
                process.start()
                process.post(more)
                while len(answered) < number:
                    answered.append(next(answers))
                interrupt.ask()
                answered.extend(answers)

        process.post(facts(1, 20))
        third = len(expected) // 3
        follow(third, facts(20, 40))
        follow(len(expected), facts(40, 60))
    assert answered == expected
    assert third > 4
