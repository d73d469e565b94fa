"""Why something held, now and at ticks that are over: what `thalweg why` says over the same text."""

from pathlib import Path
from threading import enumerate as threads
from typing import Any

import pytest

import thalweg
from services import KINDS, body, posted, serving, settled, texts
from thalweg.diagnostics import Source
from thalweg.service import earlier_checkpoints, past
from thalweg.service.past import why_now, why_then
from thalweg.service.refused import RefusedError
from thalweg.service.service import Service

DOCUMENTS = texts(20)
RULES = "slow(R) :- speed(R,V) in [6], V < 60, not fast(R).\nfast(R) :- speed(R,V), V > 70.\n"


def why(sources: dict[str, str], asked: str, at: int) -> Any:
    programs = [Source(name, text) for name, text in sources.items()]
    stream = {"north": Source("north.facts", "".join(DOCUMENTS))}
    return thalweg.why(programs, asked, at, stream, report=lambda warning: None)


def begun(service: Service, sources: dict[str, str], **about: Any) -> Any:
    program, _ = service.programs.put("p", body(sources, **about))
    settled(program, posted(service, *DOCUMENTS))
    return program.current


@pytest.mark.parametrize("at", [3, 11, 18])
def test_a_fact_at_a_past_tick_has_the_proof_that_a_run_gives(at: int, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        generation = begun(service, {"jam.lars": RULES})
        held = [f"slow(r{road})" for road in range(3) if why({"jam.lars": RULES}, f"slow(r{road})", at)]
        for fact in held:
            expected = why({"jam.lars": RULES}, fact, at).as_data()
            assert why_then(service, generation, fact, str(at)) == {"t": at, "proof": expected}
        assert held
        with pytest.raises(RefusedError) as absent:
            why_then(service, generation, "slow(x)", str(at))
        assert absent.value.status == 404
        assert absent.value.diagnostics[0].code == "E405"
        assert absent.value.as_data()["why_not"]


def test_now_is_the_last_tick(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        generation = begun(service, {"jam.lars": RULES})
        held = [fact["fact"] for fact in service.programs.get("p").snapshot()[1]["facts"]]
        for fact in held:
            answer = why_now(generation, fact)
            assert answer["t"] == generation.t
            assert answer == why_then(service, generation, fact, str(generation.t))
            assert answer["proof"] == why({"jam.lars": RULES}, fact, generation.t).as_data()
        assert held


def test_programs_of_several_kinds_are_asked_too(tmp_path: Path) -> None:
    sources = KINDS["mixed"]["sources"]
    with serving(tmp_path / "data") as service:
        generation = begun(service, sources)
        fact = next(f"jam(r{road})" for road in range(3) if why(sources, f"jam(r{road})", 11))
        assert why_then(service, generation, fact, "11")["proof"] == why(sources, fact, 11).as_data()


def test_a_checkpoint_that_is_kept_saves_reading_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_checkpoints, "EVERY", 0.0)
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        settled(program, posted(service, *DOCUMENTS[:5]))
        program.current.save(60)
        settled(program, posted(service, *DOCUMENTS[5:]))
        at = 18
        folder = program.current.reaching(at)
        assert folder is not None
        assert program.current.reaching(0) is None
        fact = next(f"slow(r{road})" for road in range(3) if why({"jam.lars": RULES}, f"slow(r{road})", at))
        proof = why({"jam.lars": RULES}, fact, at).as_data()
        assert why_then(service, program.current, fact, str(at))["proof"] == proof
        # Where the log does not reach back, the checkpoint does.
        monkeypatch.setattr(program.current, "from_seq", -5)
        assert why_then(service, program.current, fact, str(at))["proof"] == proof
        with pytest.raises(RefusedError) as gone:
            why_then(service, program.current, fact, "1")
        assert gone.value.status == 410


def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        generation = begun(service, {"jam.lars": RULES})
        silent, _ = service.programs.put("silent", body({"jam.lars": RULES}, streams=["silence"]))
        for text, status in (("jam(r1)", 404), ("jam(", 400)):
            with pytest.raises(RefusedError) as early:
                why_now(silent.current, text)
            assert early.value.status == status
        for text, at, status in (("jam(r1)", "soon", 400), ("jam(r1)", "900", 400), ("jam(", "11", 400)):
            with pytest.raises(RefusedError) as error:
                why_then(service, generation, text, at)
            assert error.value.status == status
        with pytest.raises(RefusedError) as wrong:
            why_now(generation, "jam(")
        assert wrong.value.status == 400


def test_a_question_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def for_ever(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(past, "why_answer", for_ever)
    with serving(tmp_path / "data") as service:
        generation = begun(service, {"jam.lars": RULES})
        with pytest.raises(RefusedError) as slow:
            why_then(service, generation, "slow(r1)", "11", seconds=0.5)
        assert slow.value.status == 408
        for thread in threads():
            if thread.name == "why p":
                thread.join(60)
                assert not thread.is_alive()


def test_a_checkpoint_that_is_removed_meanwhile_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "data") as service:
        generation = begun(service, {"jam.lars": RULES})
        monkeypatch.setattr(generation, "reaching", lambda tick: tmp_path / "removed")
        with pytest.raises(RefusedError) as gone:
            why_then(service, generation, "slow(r1)", "11")
        assert (gone.value.status, gone.value.headers) == (503, {"Retry-After": "1"})
