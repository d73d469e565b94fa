"""Deployments at work in a service: streams come in, answers go out, and nothing comes twice."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Event, Thread
from time import monotonic
from typing import Any

import pytest

import thalweg
from services import serving
from serving import serving as serving_process
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.service.served_deployment import read_served
from thalweg.service.service import Service

RULES = "hot(D) :- temp(D,V) in [3], V > 20.\n"
PATIENCE = 60.0


def deployment(folder: Path, origin: str, output: str = "answers.jsonl", rules: str = RULES, more: str = "") -> Path:
    (folder / "hot.lars").write_text(rules)
    path = folder / "city.toml"
    to = f'[output]\nto = "{output}"\n' if output else ""
    path.write_text(f'program = ["hot.lars"]\n[streams.readings]\nfrom = "{origin}"\n{to}{more}')
    return path


def facts(first: int, last: int) -> str:
    return "".join(f"temp(d{tick % 3},{tick * 7 % 40}) at {tick}.\n" for tick in range(first, last))


def expected(text: str, before: int, rules: str = RULES) -> list[str]:
    """What `thalweg run` answers over a text at the ticks before one."""
    answers = thalweg.run(rules, Source("readings.facts", text), report=lambda warning: None)
    lines = [line for answer in answers for line in str(answer).splitlines()]
    return [line for line in lines if json.loads(line)["t"] < before]


def wait_until(holds: Callable[[], bool]) -> None:
    until, pause = monotonic() + PATIENCE, Event()
    while not holds():
        assert monotonic() < until, "it never happens"
        pause.wait(0.02)


def written(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def connector(service: Service) -> dict[str, Any]:
    about: dict[str, Any] = service.streams.describe("readings")
    return about


@contextmanager
def deployed(data: Path, path: Path, report: Callable[[Diagnostic], None] = lambda wrong: None) -> Iterator[Service]:
    with serving(data) as service:
        service.deploy(read_served(path), report)
        yield service


# Files --------------------------------------------------------------------------------------------------------------


def test_a_file_is_answered_as_by_a_run(tmp_path: Path) -> None:
    (tmp_path / "readings.facts").write_text(facts(1, 500))
    answers = tmp_path / "answers.jsonl"
    with deployed(tmp_path / "data", deployment(tmp_path, "readings.facts")):
        wait_until(lambda: len(written(answers)) == len(expected(facts(1, 500), 499)))
    assert written(answers) == expected(facts(1, 500), 499)


def test_it_is_read_once_and_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "readings.facts").write_text(facts(1, 50))
    path, answers = deployment(tmp_path, "readings.facts"), tmp_path / "answers.jsonl"
    with deployed(tmp_path / "data", path) as service:
        wait_until(lambda: connector(service)["connector"]["state"] == "ended")
        seq = service.log.last
    (tmp_path / "readings.facts").unlink()
    with deployed(tmp_path / "data", path) as service:
        wait_until(lambda: connector(service)["connector"]["state"] == "ended")
        assert service.programs.get("city").generation == 1
        service.post("readings", "text/plain", facts(50, 60).encode(), skip=False, key=None).result(PATIENCE)
        assert service.log.last == seq + 1
        wait_until(lambda: len(written(answers)) == len(expected(facts(1, 60), 59)))
    assert written(answers) == expected(facts(1, 60), 59)


def test_a_changed_deployment_is_the_next_generation_over_the_same_streams(tmp_path: Path) -> None:
    (tmp_path / "readings.facts").write_text(facts(1, 50))
    answers, changed = tmp_path / "answers.jsonl", RULES.replace("20", "30")
    with deployed(tmp_path / "data", deployment(tmp_path, "readings.facts")):
        wait_until(lambda: len(written(answers)) == len(expected(facts(1, 50), 49)))
    with deployed(tmp_path / "data", deployment(tmp_path, "readings.facts", rules=changed)) as service:
        assert service.programs.get("city").generation == 2
        wait_until(lambda: written(answers) == expected(facts(1, 50), 49, changed))
    assert written(tmp_path / "answers.1.jsonl") == expected(facts(1, 50), 49)


def test_files_of_a_folder_and_tables_with_headers_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    for number in range(3):
        ticks = range(100 * number + 1, 100 * number + 101)
        rows = "".join(f'{tick},"d{tick % 3}",{tick * 7 % 40}\n' for tick in ticks)
        (tmp_path / "exports" / f"n{number}.csv").write_text(f"ts,device,temp\n{rows}")
    path = deployment(tmp_path, "exports")
    path.write_text(path.read_text().replace("[output]", 'map = ["temp(device, temp) at ts"]\n[output]'))
    ran = [line for answer in thalweg.run(path, report=lambda warning: None) for line in str(answer).splitlines()]
    with deployed(tmp_path / "data", path) as service:
        wait_until(lambda: connector(service)["connector"]["state"] == "ended")
        wait_until(lambda: len(written(tmp_path / "answers.jsonl")) >= len(ran) - 1)
        assert (connector(service)["facts"], connector(service)["malformed"]) == (300, 0)
        lines = written(tmp_path / "answers.jsonl")
    assert [json.loads(line)["begin"] for line in lines] == [json.loads(line)["begin"] for line in ran][: len(lines)]


# Connections --------------------------------------------------------------------------------------------------------


def test_a_connection_that_ends_is_made_again_and_bad_lines_are_shown(tmp_path: Path) -> None:
    reported: list[Diagnostic] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        path = deployment(tmp_path, f"tcp://127.0.0.1:{server.getsockname()[1]}", output="")
        with deployed(tmp_path / "data", path, reported.append) as service:
            for text in (facts(1, 5), "temp(d,\n", facts(5, 7)):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(text.encode())
            wait_until(lambda: connector(service)["facts"] == 6)
            assert connector(service)["malformed"] == 1
            assert connector(service)["bad"][0]["text"].startswith("temp(d,")
    assert {wrong.code for wrong in reported} == {"E404"}


def test_a_connector_that_fails_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with deployed(tmp_path / "data", deployment(tmp_path, f"tcp://127.0.0.1:{port}", output="")) as service:
        wait_until(lambda: connector(service)["connector"]["state"] == "retrying")
        because = connector(service)["connector"]["because"]
    assert (because["code"], str(port) in because["message"]) == ("E404", True)


class EventServer:
    """A server of events that knows all that it has sent, and goes on behind the one that a client names."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.changed = Condition()
        self.is_over = False
        events = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(b"retry: 50\n\n")
                sent = int(self.headers.get("Last-Event-ID") or 0)
                while (text := events.next(sent)) is not None:
                    sent += 1
                    self.wfile.write(f"id: {sent}\ndata: {text}\n\n".encode())

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.uri = f"http://127.0.0.1:{self.server.server_port}/readings"

    def next(self, sent: int) -> str | None:
        """The event behind a number, once there is one; None at the end."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_over or sent < len(self.events))
            return self.events[sent] if sent < len(self.events) else None

    def send(self, text: str) -> None:
        with self.changed:
            self.events += text.splitlines()
            self.changed.notify_all()

    def __enter__(self) -> "EventServer":
        Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.is_over = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()


def test_killed_in_the_middle_each_event_is_taken_once_and_each_answer_written_once(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    with EventServer() as events:
        path = deployment(tmp_path, events.uri)
        for killed, last in enumerate((200, 400, 600)):
            with serving_process(tmp_path / "data", str(path)) as service:
                events.send(facts(last - 199, last + 1))
                behind = expected(facts(1, last + 1), last - (100 if killed < 2 else 0))
                wait_until(lambda behind=behind: len(written(answers)) >= len(behind))  # type: ignore[misc]
                service.process.kill()
    assert written(answers) == expected(facts(1, 601), 600)


# What is rejected ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "code", "word"),
    [
        ('[runtime]\nkind = "spark"', "E902", "spark"),
        ('[runtime]\ncheckpoint = "state"', "E902", "checkpoint"),
        ('[time]\nto = "60"', "E902", "time.to"),
        ("[streams.2nd]\nfrom = '-'", "E902", "2nd"),
    ],
)
def test_what_a_service_cannot_do_is_said_at_its_place(tmp_path: Path, more: str, code: str, word: str) -> None:
    with pytest.raises(RejectedError) as rejected:
        read_served(deployment(tmp_path, "readings.facts", more=more))
    diagnostics = rejected.value.diagnostics
    assert {diagnostic.code for diagnostic in diagnostics} == {code}
    assert any(word in diagnostic.message for diagnostic in diagnostics)


@pytest.mark.parametrize("output", ["answers.parquet", "answers.jsonl.gz", "http://host/answers", "-"])
def test_an_output_that_cannot_be_followed_is_rejected(tmp_path: Path, output: str) -> None:
    with pytest.raises(RejectedError, match="E902"):
        read_served(deployment(tmp_path, "readings.facts", output))


def test_a_file_of_others_is_not_overwritten_and_nothing_begins(tmp_path: Path) -> None:
    (tmp_path / "readings.facts").write_text(facts(1, 5))
    (tmp_path / "answers.jsonl").write_text("dear diary\n")
    with serving(tmp_path / "data") as service:
        with pytest.raises(RejectedError, match="E408"):
            service.deploy(read_served(deployment(tmp_path, "readings.facts")))
        assert len(service.programs) == 0
    assert written(tmp_path / "answers.jsonl") == ["dear diary"]


def test_a_file_that_is_not_there_is_rejected(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service, pytest.raises(RejectedError, match="E401"):
        service.deploy(read_served(deployment(tmp_path, "missing.facts")))
