"""A service that is killed again and again: nothing that was acknowledged is lost, and no line has two contents."""

import json
import os
import shutil
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from threading import Event
from typing import Any, Final
from urllib.request import urlopen

import httpx
import pytest

from followed_service import Follower, Writer, at_work, before, is_caught_up, lines_of, records_of, until
from served_process import ServedProcess, served
from services import EX, KINDS, body, expected

KILLS: Final = int(os.environ.get("THALWEG_KILLS", "5"))
FOLLOWED: Final = {"rules": "jam", "answer sets": "side", "events": "twice", "mixed": "all"}
"""Kinds of programs, and the names that they have here."""
DELAY: Final = 8
"""Ticks within which what two writers post at the same time is put in order."""
CALM: Final = "calm(R) :- known(R), not speed(R,_) in [1 s]. known(R) :- speed(R,_) in [9 h]."
BY_WALL: Final = {"clock": "wall", "tick": "100ms"}


def document(number: int) -> str:
    """Facts that are like no others: those of two ticks, of which the first may go on from the document before."""
    random = Random(number)
    ticks = [2 * number + random.choice((0, 1)), 2 * number + 2]
    facts = [fact.format(tick) for tick in ticks for _ in range(random.randrange(3)) for fact in about_roads(random)]
    return "".join(facts) or f"speed(r0,7) at {ticks[1]}.\n"


def about_roads(random: Random) -> tuple[str, str]:
    """Two facts, whose ticks are left open."""
    speed = f"speed(r{random.randrange(4)},{random.randrange(80)})"
    return f"{speed} at {{}}.\n", f"<{EX}Slow>(<{EX}r{random.randrange(4)}>) at {{}}.\n"


def pulse(number: int) -> str:
    return f"speed(r{number % 3},{number}).\n"


def register(service: ServedProcess, name: str, sources: dict[str, str], **more: Any) -> None:
    about = body(sources, **{"from": "earliest"}) | more
    service.ask("PUT", f"programs/{name}", json.dumps(about).encode())


def kill(service: ServedProcess, random: Random, longest: float, program: str) -> None:
    """Kills a service some time after its start, perhaps while a program is being saved, and starts it again."""
    Event().wait(random.uniform(0.0, longest))
    if random.random() < 0.5:
        answer = httpx.post(f"{service.url}v1/programs/{program}/restart", json={"from": "checkpoint"}, timeout=60)
        # Where kernels are being compiled it takes longer to stop, and goes on all the same.
        assert answer.status_code in (200, 409), answer.text
        Event().wait(random.uniform(0.0, longest / 4))
    service.kill()
    service.start()


def killed(folder: Path, kills: int, longest: float) -> str:
    """Kills a service so many times; what there is to say about it."""
    random = Random(kills)
    with served(folder) as service:
        for kind, name in FOLLOWED.items():
            register(service, name, KINDS[kind]["sources"], options={"delay": str(DELAY)})
        register(service, "calm", {"calm.lars": CALM}, streams=["pulse"], options=BY_WALL)
        numbers = count()
        writers = [Writer(service, "north", numbers, document) for _ in range(2)]
        pulses = Writer(service, "pulse", count(), pulse, pause=0.5)
        followers = {name: Follower(service, name) for name in (*FOLLOWED.values(), "calm")}
        with at_work(*followers.values()):
            with at_work(*writers, pulses):
                for _ in range(kills):
                    kill(service, random, longest, random.choice([*followers]))
                    for name, follower in followers.items():
                        # What comes again is what came before.
                        kept, seen = lines_of(service, name), list(follower.lines)
                        assert kept[: len(seen)] == seen[: len(kept)]
            until(lambda: all(map(is_caught_up, service.ask("GET", "programs"))), "programs have caught up")
            kept = {name: lines_of(service, name) for name in followers}
            for name, follower in followers.items():
                until(partial(follower.has, len(kept[name])), f"{name} is followed")
            for worker in (*writers, pulses, *followers.values()):
                assert worker.wrong == []
            assert [follower.connections > kills for follower in followers.values()] == [True] * len(followers)
            documents = acknowledged(service, writers)
            _compare(documents, followers, kept)
            again = _replayed(service)
            assert followers["calm"].lines[: len(again)] == again[: len(followers["calm"].lines)]
            assert any('"calm(' in line for line in again)
            # Who follows waits for what comes, and ends at once with the service.
            service.kill()
    compared = sum(len(follower.lines) for follower in followers.values())
    return f"{kills} kills, {len(documents)} documents, {compared} lines compared"


def acknowledged(service: ServedProcess, writers: list[Writer]) -> list[str]:
    """What was posted to a stream, in the order of the log, which has all of it and nothing else."""
    texts = {seq: text for writer in writers for seq, _, text in writer.acknowledged}
    assert {record["seq"]: record["text"] for record in records_of(service, "north")} == texts
    assert len(texts) == sum(len(writer.acknowledged) for writer in writers)
    return [texts[seq] for seq in sorted(texts)]


def _compare(documents: list[str], followers: dict[str, Follower], kept: dict[str, list[str]]) -> None:
    # The last document has facts of its first tick at least.
    last = 2 * len(documents) - 2 - DELAY
    for kind, name in FOLLOWED.items():
        wanted = before(expected(KINDS[kind]["sources"], documents, delay=str(DELAY)), last)
        assert before(kept[name], last) == wanted
        assert before(followers[name].lines, last) == wanted
        assert len(wanted) > len(documents) / 4


def _replayed(service: ServedProcess) -> list[str]:
    """The lines of a program by the wall clock that reads the log from its beginning."""
    register(service, "calm2", {"calm.lars": CALM}, streams=["pulse"], options=BY_WALL)
    until(lambda: is_caught_up(service.ask("GET", "programs/calm2")), "the program has caught up")
    return lines_of(service, "calm2")


def test_what_was_acknowledged_survives_kills_and_each_line_has_its_number(
    tmp_path: Path, record_property: Any
) -> None:
    record_property("summary", killed(tmp_path / "data", KILLS, 1.0))


@pytest.mark.slow
def test_so_it_does_many_kills(tmp_path: Path, record_property: Any) -> None:
    record_property("summary", killed(tmp_path / "data", 100, 5.0))


def long_document(tick: int) -> str:
    """Facts of a tick, in more bytes than are cut off."""
    return "".join(f"speed(r{number},{(37 * tick + 11 * number) % 80}) at {tick}.\n" for number in range(20))


@pytest.mark.slow
@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_a_log_that_is_cut_has_every_whole_record(tmp_path: Path, with_checkpoint: bool, record_property: Any) -> None:
    documents, cuts = [long_document(tick) for tick in range(1, 30)], range(1, 201, 14)
    with served(tmp_path / "whole") as service:
        register(service, "jam", KINDS["rules"]["sources"])
        for text in documents:
            service.post(text)
        if with_checkpoint:
            service.ask("POST", "programs/jam/restart", b'{"from":"checkpoint"}')
    compared = 0
    for cut in cuts:
        folder = shutil.copytree(tmp_path / "whole", tmp_path / f"cut{cut}")
        newest = max((folder / "log").glob("log-*"))
        os.truncate(newest, newest.stat().st_size - cut)
        with served(folder) as service:
            assert [record["text"] for record in records_of(service, "north")] == documents[:-1]
            texts = [*documents[:-1], long_document(29), long_document(30)]
            for text in texts[-2:]:
                service.post(text)
            until(lambda service=service: is_caught_up(service.ask("GET", "programs/jam")), "it has caught up")  # type: ignore[misc]
            wanted = before(expected(KINDS["rules"]["sources"], texts), 30)
            assert before(lines_of(service, "jam"), 30) == wanted
            compared += len(wanted)
    record_property("summary", f"{len(cuts)} cuts, {compared} lines compared")


def change(service: ServedProcess, random: Random) -> None:
    """Does something with a program, which is there or not."""
    path = f"{service.url}v1/programs/changed"
    text = KINDS["rules"]["sources"]["jam.lars"].replace("V < 20", f"V < {random.choice((10, 60))}")
    about = body({"jam.lars": text}, options={"delay": str(DELAY)})
    match random.choice(("put", "keep", "checkpoint", "earliest", "now", "delete")):
        case "put" | "keep" as kind:
            answer = httpx.put(path, json=about | {"from": "earliest" if kind == "put" else kind}, timeout=60)
        case "delete":
            answer = httpx.delete(path, timeout=60)
        case origin:
            answer = httpx.post(f"{path}/restart", json={"from": origin}, timeout=60)
    assert answer.status_code in (200, 201, 204, 404, 409), answer.text


@pytest.mark.slow
def test_a_program_that_is_changed_all_the_time_survives_kills(tmp_path: Path, record_property: Any) -> None:
    random, kills, sources = Random(3), 20, KINDS["rules"]["sources"]
    with served(tmp_path / "data") as service:
        register(service, "jam", sources, options={"delay": str(DELAY)})
        writer, follower = Writer(service, "north", count(), document), Follower(service, "jam")
        with at_work(follower):
            with at_work(writer):
                for _ in range(kills):
                    for _ in range(random.randrange(8)):
                        change(service, random)
                        Event().wait(random.uniform(0.0, 0.3))
                    service.kill()
                    service.start()
            register(service, "changed", sources, options={"delay": str(DELAY)})
            until(lambda: all(map(is_caught_up, service.ask("GET", "programs"))), "programs have caught up")
            until(lambda: "answering" not in service.ask("GET", "programs/changed"), "the last body answers")
            documents, lines = acknowledged(service, [writer]), lines_of(service, "jam")
            until(partial(follower.has, len(lines)), "it is followed")
            with urlopen(f"{service.url}v1/programs/changed/lines?limit=100000", timeout=60) as answer:
                others = str(answer.read(), "utf-8").splitlines()
            service.kill()
    last = 2 * len(documents) - 2 - DELAY
    wanted = before(expected(sources, documents, delay=str(DELAY)), last)
    assert follower.wrong == writer.wrong == []
    assert before(lines, last) == before(follower.lines, last) == before(others, last) == wanted
    record_property("summary", f"{kills} kills, {len(documents)} documents, {3 * len(wanted)} lines compared")
