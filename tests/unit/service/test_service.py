"""The service takes a folder, takes facts, and ends in time."""

import json
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from services import RULES, before, body, expected, posted, serving, settled, texts
from thalweg.diagnostics import RejectedError
from thalweg.service.log import DiskFullError, Log, LogBusyError, LogRecord
from thalweg.service.refused import RefusedError
from thalweg.service.service import Service


def refused(service: Service, stream: str, media: str, text: str) -> RefusedError:
    with pytest.raises(RefusedError) as error:
        service.post(stream, media, text.encode(), skip=False, key=None).result(60)
    return error.value


def test_a_folder_is_used_by_one_service_at_a_time(tmp_path: Path) -> None:
    with serving(tmp_path / "data"), pytest.raises(RejectedError, match="another service is using") as busy:
        Service(tmp_path / "data")
    assert busy.value.diagnostics[0].code == "E408"
    with serving(tmp_path / "data") as service:
        assert not list(service.programs)


def test_a_folder_of_others_or_of_another_version_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Sir")
    with pytest.raises(RejectedError, match="has other files"):
        Service(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    with serving(tmp_path / "data"):
        pass
    manifest = tmp_path / "data" / "service.json"
    manifest.write_text(json.dumps({"format": 2, "version": "9.0"}))
    with pytest.raises(RejectedError, match=r"Thalweg 9\.0"):
        Service(tmp_path / "data")


def test_it_is_ready_when_all_have_caught_up(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        settled(program, posted(service, *texts(10)))
        assert service.is_warm.wait(300)
        assert service.ready() == (True, [])
        program.current.state = "catching-up"
        assert service.ready() == (False, ["program p: catching up 100 %"])


def test_what_cannot_be_taken_is_refused_with_a_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path / "data") as service:
        assert refused(service, "north", "text/plain", "p(a) at 1.").status == 404
        service.streams.put("north", {})
        assert refused(service, "north", "text/html", "p(a) at 1.").status == 415
        bad = refused(service, "north", "text/plain", "p(a) at 1.\np(a at 2.\n")
        assert (bad.status, bad.diagnostics[0].code) == (400, "E301")
        for error, status in ((LogBusyError(), 429), (DiskFullError("No space left on device"), 507)):
            full: Future[LogRecord] = Future()
            full.set_exception(error)
            answers: Any = lambda log, entry, full=full: full  # noqa: E731
            monkeypatch.setattr(Log, "append", answers)
            assert refused(service, "north", "text/plain", "p(a) at 1.").status == status


def test_the_same_key_has_the_same_answer_also_after_a_crash(tmp_path: Path) -> None:
    def post(service: Service) -> dict[str, Any]:
        return service.post("north", "text/plain", b"p(a) at 1.", skip=False, key="k").result(60)

    with serving(tmp_path / "data") as service:
        service.streams.put("north", {})
        first = post(service)
        assert post(service) == first
    with serving(tmp_path / "data") as service:
        assert post(service) == first


def test_it_ends_in_the_middle_of_a_tick_and_goes_on_afterwards(tmp_path: Path) -> None:
    slow = "big(X,Y,Z) :- n(X), n(Y), n(Z), X + Y + Z < 0. n(X) :- speed(R,X)."
    service = Service(tmp_path / "data")
    service.start()
    witness, _ = service.programs.put("witness", body({"jam.lars": RULES}))
    service.programs.put("slow", body({"n.lars": slow}, streams=["south"]))
    answered = settled(witness, posted(service, *texts(10)))
    many = "".join(f"speed(a,{number}) at 1.\n" for number in range(5_000))
    posted(service, many + "speed(a,1) at 2.\n", stream="south")
    service.close(seconds=2.0)
    assert all(generation.state == "stopping" for program in service.programs for generation in program.generations)
    with serving(tmp_path / "data") as service:
        assert settled(service.programs.get("witness"), service.log.last) == answered
        assert service.programs.delete("slow")


@pytest.mark.parametrize("cut", [1, 90, 300, 2_000])
def test_a_log_that_has_lost_its_end_is_what_counts(cut: int, tmp_path: Path) -> None:
    """As where a disk says that it has written something, and has not."""
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        posted(service, *documents[:6])
        # Begins where the log is to be cut, or behind it.
        late, _ = service.programs.put("late", body({"jam.lars": RULES}, streams=["south"]))
        seq = posted(service, *documents[:6], stream="south")
        settled(program, seq), settled(late, seq)
    (file,) = (tmp_path / "data" / "log").glob("log-*")
    with file.open("r+b") as torn:
        torn.truncate(max(len(b"thalweg log 1\n"), file.stat().st_size - cut))
    with serving(tmp_path / "data") as service:
        assert service.log.last < seq
        for stream, name in (("north", "p"), ("south", "late")):
            kept = [record.body.decode() for record in service.streams.records(stream)]
            assert kept == documents[: len(kept)]
            seq = posted(service, *documents[len(kept) :], stream=stream)
            answered = settled(service.programs.get(name), seq)
            wanted = expected({"jam.lars": RULES}, documents)
            assert before(answered, 20) == before(wanted, 20)
            assert service.streams.describe(stream)["facts"] == sum(text.count(" at ") for text in documents)
