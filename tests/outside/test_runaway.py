"""Programs that would never end, in a service that goes on: they fail, or are deleted, and others do not notice."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from followed_service import is_caught_up, lines_of, until
from served_process import ServedProcess, served
from services import RULES, before, body, expected

COUNTS: Final = {"n.lars": "n(0) :- go. n(Y) :- n(X), Y = X + 1."}
GROUNDS: Final = {"n.lp": "n(0) :- go. n(X+1) :- n(X)."}
JOINS: Final = {"n.lars": "big(X,Y,Z) :- n(X), n(Y), n(Z), X + Y + Z < 0. n(X) :- speed(R,X) in [9 h]."}
GO: Final = "go at 1.\ngo at 2.\ngo at 3.\n"
MARK: Final = "THALWEG_RUNAWAY"
"""A variable in the environment of the service, and of each process that it starts."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, str(os.getpid()))
        with served(tmp_path_factory.mktemp("runaway") / "data") as process:
            put(process, "witness", {"jam.lars": RULES}, "north")
            yield process


def put(service: ServedProcess, name: str, sources: dict[str, str], stream: str, **more: Any) -> None:
    service.ask("PUT", f"programs/{name}", json.dumps(body(sources, streams=[stream], **more)).encode())


def post(service: ServedProcess, text: str, stream: str) -> None:
    service.ask("POST", f"streams/{stream}/facts", text.encode(), "text/plain")


def delete(service: ServedProcess, name: str) -> int:
    """204 says that it has ended, 202 that it is still being stopped after three seconds."""
    return httpx.delete(f"{service.url}v1/programs/{name}", timeout=60).status_code


def program(service: ServedProcess, name: str) -> Any:
    return service.ask("GET", f"programs/{name}")


def witnessed(service: ServedProcess) -> None:
    """Another program has the lines of a run, and goes on."""
    records = service.ask("GET", "streams/north/facts?limit=10000")["records"]
    texts = [record["text"] for record in records]
    tick = len(texts)
    texts.append(f"speed(a,{tick * 37 % 80}) at {tick}.\nspeed(b,{tick * 53 % 80}) at {tick}.\n")
    post(service, texts[-1], "north")
    until(lambda: is_caught_up(program(service, "witness")), "others go on")
    wanted = before(expected({"jam.lars": RULES}, texts), tick)
    assert before(lines_of(service, "witness"), tick) == wanted


def processes() -> list[str]:
    """The processes of the service: what each was started as."""
    mark, commands = f"{MARK}={os.getpid()}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and mark in (folder / "environ").read_bytes().split(b"\0"):
                commands.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return [command for command in commands if command]


def test_rules_that_count_for_ever_fail_within_their_memory(service: ServedProcess) -> None:
    put(service, "counts", COUNTS, "go", memory="64MB")
    post(service, GO, "go")
    for _ in range(4):
        witnessed(service)
    until(lambda: program(service, "counts")["state"] == "failed", "it fails")
    failed = program(service, "counts")
    assert [diagnostic["code"] for diagnostic in failed["because"]] == ["E410"]
    assert "64 MB" in failed["because"][0]["message"]
    assert failed["cpu"] < 20
    witnessed(service)
    assert delete(service, "counts") == 204


@pytest.mark.parametrize(
    ("sources", "options"),
    [(COUNTS, {"memory": "4GB"}), (JOINS, {}), (GROUNDS, {"options": {"solve_limit": "1 h"}})],
    ids=["counts", "joins", "grounds"],
)
def test_a_program_is_deleted_in_the_middle(
    service: ServedProcess, sources: dict[str, str], options: dict[str, Any]
) -> None:
    put(service, "endless", sources, "go2", **options)
    many = "".join(f"speed(a,{number}) at 1.\n" for number in range(3_000))
    post(service, f"{many}{GO}", "go2")
    for _ in range(3):
        witnessed(service)
    assert program(service, "endless")["state"] in ("live", "catching-up")
    assert program(service, "endless")["lag"]["records"] > 0
    assert delete(service, "endless") == 204
    witnessed(service)
    until(lambda: len(processes()) == 1, "its solver has ended")


def test_answer_sets_that_are_grounded_for_ever_are_incomplete(service: ServedProcess) -> None:
    put(service, "grounds", GROUNDS, "go3", options={"solve_limit": "500ms"})
    post(service, GO, "go3")
    witnessed(service)
    until(lambda: len(lines_of(service, "grounds")) == 2, "windows are given up")
    lines = [json.loads(line) for line in lines_of(service, "grounds")]
    assert [(line["t"], line["answers"], line["incomplete"]) for line in lines] == [(1, [], True), (2, [], True)]
    assert delete(service, "grounds") == 204


def test_a_service_that_is_killed_leaves_no_solver_behind_and_begins_again(service: ServedProcess) -> None:
    put(service, "grounds", GROUNDS, "go4", options={"solve_limit": "1 h"})
    post(service, GO, "go4")
    until(lambda: len(processes()) == 2, "it is grounded")
    service.kill()
    until(lambda: processes() == [], "its solver has ended")
    service.start()
    witnessed(service)
    assert delete(service, "grounds") == 204


@pytest.mark.slow
@pytest.mark.parametrize("sources", [COUNTS, GROUNDS], ids=["counts", "grounds"])
def test_the_playground_gives_up(service: ServedProcess, sources: dict[str, str]) -> None:
    request = {"sources": body(sources)["sources"], "stream": {"name": "s.facts", "text": GO}}
    answer = httpx.post(f"{service.url}v1/playground", json=request, timeout=120)
    assert answer.status_code == 408, answer.text
    assert answer.json()["diagnostics"]
    witnessed(service)
    assert len(processes()) == 1
