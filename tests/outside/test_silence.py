"""A program that goes by the wall clock concludes in silence, and the same again from the log."""

import json
from pathlib import Path
from typing import Any

import pytest

from followed_service import Follower, at_work, is_caught_up, lines_of, until
from served_process import ServedProcess, served
from services import body

CALM = "calm(R) :- known(R), not speed(R,_) in [1 s]. known(R) :- speed(R,_) in [9 h]."


def put(service: ServedProcess, name: str, origin: str) -> None:
    about = body({"calm.lars": CALM}, options={"clock": "wall", "tick": "100ms"}, **{"from": origin})
    service.ask("PUT", f"programs/{name}", json.dumps(about).encode())


def post(service: ServedProcess, road: int) -> None:
    service.ask("POST", "streams/north/facts", f"speed(r{road},1).\n".encode(), "text/plain")


def is_calm(lines: list[str], road: int) -> bool:
    return any(f"calm(r{road})" in fact for line in lines for fact in json.loads(line)["begin"])


def concluded(folder: Path, kills: int) -> str:
    """Has a program conclude something in silence after each kill; what there is to say about it."""
    with served(folder) as service:
        put(service, "calm", "earliest")
        follower = Follower(service, "calm")
        with at_work(follower):
            for road in range(kills + 1):
                post(service, road)
                # Nothing comes any more, and nobody asks.
                until(lambda road=road: is_calm(follower.lines, road) or follower.wrong, "the conclusion comes")  # type: ignore[misc]
                assert follower.wrong == []
                if road < kills:
                    service.kill()
                    service.start()
            put(service, "late", "earliest")
            until(lambda: is_caught_up(service.ask("GET", "programs/late")), "the late one has caught up")
            kept, late, followed = lines_of(service, "calm"), lines_of(service, "late"), list(follower.lines)
            service.kill()
        assert followed == kept[: len(followed)]
        assert late[: len(kept)] == kept[: len(late)]
        assert [is_calm(late, road) for road in range(kills + 1)] == [True] * (kills + 1)
    return f"{kills} kills, {len(kept)} lines compared"


def test_what_is_concluded_in_silence_comes_again_with_its_number(tmp_path: Path, record_property: Any) -> None:
    record_property("summary", concluded(tmp_path / "data", 1))


@pytest.mark.slow
def test_so_it_does_after_many_kills(tmp_path: Path, record_property: Any) -> None:
    record_property("summary", concluded(tmp_path / "data", 20))
