"""Programs come, change, fail and go; others do not notice."""

import shutil
from errno import ENOSPC
from html import escape
from pathlib import Path
from threading import Event
from threading import enumerate as threads
from typing import Any

import pytest

from services import RULES, before, body, copied, expected, lines, posted, serving, settled, texts
from thalweg.service import programs
from thalweg.service.frame_file import FrameFile
from thalweg.service.log import Log
from thalweg.service.program_text import ProgramText
from thalweg.service.refused import RefusedError
from thalweg.service.registered_program import RegisteredProgram
from thalweg.service.service import Service

OTHER = RULES.replace("V < 20", "V < 60")
ENDLESS = "n(0) :- go. n(Y) :- n(X), Y = X + 1."


def switched(program: RegisteredProgram, number: int) -> None:
    """Waits until a generation answers, or has failed."""
    heard = Event()
    stop = program.subscribe(heard.set)
    while program.current.number != number or program.current.state == "catching-up":
        heard.wait(60)
        heard.clear()
    stop()


def failed(program: RegisteredProgram) -> None:
    heard = Event()
    stop = program.subscribe(heard.set)
    while program.current.state != "failed":
        assert heard.wait(60)
        heard.clear()
    stop()


def refused(service: Service, name: str, about: object, **keywords: Any) -> RefusedError:
    with pytest.raises(RefusedError) as error:
        service.programs.put(name, about, **keywords)
    return error.value


def test_the_same_body_changes_nothing_and_another_one_replays_the_log(tmp_path: Path) -> None:
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        program, is_new = service.programs.put("p", body({"jam.lars": RULES}, **{"from": "earliest"}))
        assert is_new
        seq = posted(service, *documents)
        settled(program, seq)
        same, is_new = service.programs.put("p", body({"jam.lars": RULES}, **{"from": "earliest"}))
        assert (same, is_new, program.generation) == (program, False, 1)
        replaced, is_new = service.programs.put("p", body({"jam.lars": OTHER}, **{"from": "earliest"}))
        assert (replaced, is_new, program.generation) == (program, False, 2)
        switched(program, 2)
        answered = settled(program, seq)
        assert answered == expected({"jam.lars": OTHER}, documents)[: len(answered)]
        assert program.snapshot()[0] == f"2-{len(answered)}"
    with serving(tmp_path / "data") as service:
        program = service.programs.get("p")
        assert program.generation == 2
        assert [path.name for path in (tmp_path / "data" / "programs" / "p").iterdir()] == ["2"]
        assert settled(program, seq) == answered


def test_the_generation_before_answers_until_the_next_has_caught_up(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        seq = posted(service, *texts(10))
        answered = settled(program, seq)
        # It compiles, so it is not there at once; until then nothing is different for whoever reads.
        service.programs.put("p", body({"jam.lars": OTHER}, **{"from": "earliest"}))
        current = program.current
        if current.number == 1:
            assert lines(program) == answered
            assert program.describe()["answering"] == 1
        switched(program, 2)
        assert program.describe()["generation"] == 2
        assert "answering" not in program.describe()


def test_from_now_what_came_before_is_not_read(tmp_path: Path) -> None:
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        service.streams.put("north", {})
        posted(service, *documents[:6])
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        answered = settled(program, posted(service, *documents[6:]))
    assert answered == expected({"jam.lars": RULES}, documents[6:])[: len(answered)]
    assert answered


def test_keep_goes_on_with_what_is_unchanged_and_begins_the_rest(tmp_path: Path) -> None:
    # `seen` has come before and is guaranteed for long; a program that began now would not know it.
    rules = "seen(R) :- speed(R,V) in [100]."
    more = rules + "\nfast(R) :- speed(R,V), V > 50."
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"seen.lars": rules}))
        settled(program, posted(service, *documents[:6]))
        would = service.programs.check(body({"seen.lars": more}), "p")["would"]
        assert would == {"keeps": ["seen/1"], "begins": ["fast/1"]}
        service.programs.put("p", body({"seen.lars": more}, **{"from": "keep"}))
        switched(program, 2)
        answered = settled(program, posted(service, *documents[6:]))
        held = {fact["fact"]: fact["since"] for fact in program.snapshot()[1]["facts"]}
        assert not any("seen(" in line for line in answered)
        assert any("fast(" in line for line in answered)
        assert {"seen(r0)", "seen(r1)", "seen(r2)"} <= held.keys()
        assert (
            refused(service, "p", body({"seen.lars": rules}, options={"tick": "5s"}, **{"from": "keep"})).status == 400
        )
    with serving(tmp_path / "data") as service:
        assert settled(service.programs.get("p"), service.log.last) == answered


@pytest.mark.parametrize("origin", ["checkpoint", "earliest", "now"])
def test_a_program_is_restarted(origin: Any, tmp_path: Path) -> None:
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        witness, _ = service.programs.put("witness", body({"jam.lars": OTHER}))
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        settled(program, posted(service, *documents[:6]))
        program.restart(origin)
        switched(program, 1 if origin == "checkpoint" else 2)
        seq = posted(service, *documents[6:])
        answered = settled(program, seq)
        taken = documents[6:] if origin == "now" else documents
        assert answered == expected({"jam.lars": RULES}, taken)[: len(answered)]
        assert settled(witness, seq) == expected({"jam.lars": OTHER}, documents)[: len(lines(witness))]
        with pytest.raises(RefusedError):
            program.restart("yesterday")  # type: ignore[arg-type]


def test_a_program_that_takes_long_to_stop_goes_on_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        settled(program, posted(service, *documents[:6]))
        stopped, go_on = program.current, Event()
        stopped.ask(lambda run: go_on.wait(60), 60)
        with monkeypatch.context() as patch:
            patch.setattr("thalweg.service.registered_program.RESTARTING", 0.2)
            with pytest.raises(RefusedError, match="still being stopped") as error:
                program.restart("checkpoint")
        assert error.value.status == 409
        go_on.set()
        heard = Event()
        stop = program.subscribe(heard.set)
        while program.current is stopped:
            assert heard.wait(60)
            heard.clear()
        stop()
        answered = settled(program, posted(service, *documents[6:]))
    assert answered == expected({"jam.lars": RULES}, documents)[: len(answered)]
    assert before(answered, 20) == before(expected({"jam.lars": RULES}, documents), 20)


def test_a_program_that_counts_for_ever_fails_and_others_go_on(tmp_path: Path) -> None:
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        witness, _ = service.programs.put("witness", body({"jam.lars": RULES}))
        program, _ = service.programs.put("endless", body({"n.lars": ENDLESS}, streams=["south"], memory="16MB"))
        posted(service, *documents[:6])
        posted(service, "go at 1.\n", "go at 3.\n", stream="south")
        failed(program)
        assert [diagnostic["code"] for diagnostic in program.current.because] == ["E410"]
        assert program.describe()["state"] == "failed"
        with pytest.raises(RefusedError, match="has failed"):
            program.current.ask(lambda run: run.now, 60).result()
        answered = settled(witness, posted(service, *documents[6:]))
        assert answered == expected({"jam.lars": RULES}, documents)[: len(answered)]


def test_rules_beside_others_that_count_for_ever_fail_within_their_memory(tmp_path: Path) -> None:
    sources = {"n.lars": ENDLESS, "side.lp": "left :- not right. right :- not left."}
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("endless", body(sources, memory="16MB"))
        posted(service, "go at 1.\n", "go at 3.\n")
        failed(program)
        assert [diagnostic["code"] for diagnostic in program.current.because] == ["E410"]
        assert "16 MB" in program.current.because[0]["message"]


def test_a_program_whose_answers_cannot_be_written_says_so_and_goes_on_when_they_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = texts(20)
    append = FrameFile.append

    def full(file: FrameFile, frames: Any, sync: bool = False) -> None:
        if file.path.name.startswith("lines-"):
            raise OSError(ENOSPC, "No space left on device")
        append(file, frames, sync)

    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        answered = settled(program, posted(service, *documents[:6]))
        with monkeypatch.context() as patch:
            patch.setattr(FrameFile, "append", full)
            seq = posted(service, *documents[6:])
            failed(program)
        because = program.current.because[0]
        assert (because["code"], '`"checkpoint"`' in because["help"]) == ("E401", True)
        # What holds is what the lines say.
        assert program.snapshot()[0] == f"1-{len(answered)}"
        assert lines(program) == answered
        program.restart("checkpoint")
        answered = settled(program, seq)
    assert answered == expected({"jam.lars": RULES}, documents)[: len(answered)]
    assert before(answered, 20) == before(expected({"jam.lars": RULES}, documents), 20)


def test_a_program_is_deleted_in_the_middle_of_a_tick(tmp_path: Path) -> None:
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        witness, _ = service.programs.put("witness", body({"jam.lars": RULES}))
        endless = "big(X,Y,Z) :- n(X), n(Y), n(Z), X + Y + Z < 0. n(X) :- speed(R,X)."
        service.programs.put("endless", body({"n.lars": endless}, streams=["south"]))
        posted(service, *documents[:6])
        many = "".join(f"speed(a,{number}) at 1.\n" for number in range(5_000))
        posted(service, many + "speed(a,1) at 2.\n", stream="south")
        assert service.programs.delete("endless")
        assert [program.name for program in service.programs] == ["witness"]
        with pytest.raises(RefusedError):
            service.programs.get("endless")
        assert not (tmp_path / "data" / "programs" / "endless").exists()
        answered = settled(witness, posted(service, *documents[6:]))
        assert answered == expected({"jam.lars": RULES}, documents)[: len(answered)]


def test_a_program_is_deleted_while_its_answer_sets_are_grounded(tmp_path: Path) -> None:
    sources = {"n.lp": "n(0) :- speed(_,_). n(X+1) :- n(X)."}
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("endless", body(sources, options={"solve_limit": "1 h"}))
        posted(service, "speed(a,1) at 1.\n", "speed(a,1) at 2.\n")
        assert service.programs.delete("endless")
        assert program.describe()["state"] == "stopping"
        assert not list(service.programs)


def test_time_passes_for_a_program_by_the_wall_clock_and_comes_again_from_the_log(tmp_path: Path) -> None:
    rules = "calm(R) :- known(R), not speed(R,_) in [1 s]. known(R) :- speed(R,V) in [9 h]."
    about = body({"calm.lars": rules}, options={"clock": "wall", "tick": "100ms"})
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", about)
        seen = Event()
        program.subscribe(lambda: seen.set() if any("calm(a)" in line for line in lines(program)) else None)
        posted(service, "speed(a,1).\n")
        assert seen.wait(60)
        copied(tmp_path / "data", tmp_path / "copy")
        answered = settled(program, service.log.last)
    shutil.rmtree(tmp_path / "copy" / "programs" / "p" / "1" / "checkpoint")
    with serving(tmp_path / "copy") as service:
        again = settled(service.programs.get("p"), service.log.last)
    assert any("calm(a)" in line for line in answered)
    assert [line for line in again if "calm(a)" in line][:1] == [line for line in answered if "calm(a)" in line][:1]


def test_what_is_wrong_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        service.programs.put("p", body({"jam.lars": RULES}))
        assert refused(service, "../x", body({"jam.lars": RULES})).status == 400
        assert refused(service, "q", body({"jam.lars": "jam(R,S) :- speed(R,V)."})).diagnostics[0].code == "E203"
        assert refused(service, "q", body({"jam.lars": RULES}, streams=[])).status == 400
        assert refused(service, "p", body({"jam.lars": OTHER}), if_match=7).status == 412
        assert refused(service, "q", body({"jam.lars": OTHER}), if_match=1).status == 412
        assert refused(service, "q", body({"jam.lars": "% " + "x" * 1_000_000})).status == 413
        assert [program.name for program in service.programs] == ["p"]
        assert service.programs.get("p").generation == 1
        assert service.programs.readers("north") == ["p"]
        checked = service.programs.check(body({"jam.lars": "jam(R,S) :- speed(R,V)."}))
        assert (checked["ok"], checked["diagnostics"][0]["line"]) == (False, 1)


def test_a_witness_has_the_lines_of_a_run_whatever_happens_to_others(tmp_path: Path) -> None:
    documents = texts(20)
    with serving(tmp_path / "data") as service:
        witness, _ = service.programs.put("witness", body({"jam.lars": RULES}))
        other, _ = service.programs.put("other", body({"jam.lars": OTHER}))
        for number, document in enumerate(documents):
            seq = posted(service, document)
            if number == 2:
                service.programs.put("other", body({"jam.lars": RULES}, **{"from": "earliest"}))
            elif number == 4:
                other.restart("checkpoint")
            elif number == 6:
                service.programs.delete("other")
        answered = settled(witness, seq)
    assert answered == expected({"jam.lars": RULES}, documents)[: len(answered)]
    assert before(answered, 20) == before(expected({"jam.lars": RULES}, documents), 20)


def test_a_plan_has_the_numbers_of_the_run(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        seq = posted(service, *texts(10))
        settled(program, seq)
        plan = program.plan()
        boxes = {box["id"]: box for box in plan["boxes"]}
        assert plan["counts"].keys() <= boxes.keys()
        assert plan["counts"]["stream speed/2"] == sum(text.count("speed(") for text in texts(10))
        assert all(f'data-id="{escape(name)}"' in program.plan_svg() for name in boxes)


def test_a_program_that_has_failed_has_a_plan(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"n.lars": ENDLESS}, memory="8MB"))
        posted(service, "go at 1.\n", "go at 3.\n")
        failed(program)
        assert program.plan()["counts"] == {}
        assert program.plan()["boxes"]


def test_a_program_whose_records_are_gone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body({"jam.lars": RULES}))
        settled(program, posted(service, *texts(10)))
    # As where the program had failed for longer than the log is kept.
    shutil.rmtree(tmp_path / "data" / "programs" / "p" / "1" / "checkpoint")
    monkeypatch.setattr(Log, "first", property(lambda log: 3))
    with serving(tmp_path / "data") as service:
        program = service.programs.get("p")
        failed(program)
        assert "record 3" in program.current.because[0]["message"]


def test_a_program_that_takes_too_long_to_compile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def for_ever(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(programs, "COMPILING", 0.2)
    with serving(tmp_path / "data") as service:
        monkeypatch.setattr(ProgramText, "compiled", for_ever)
        monkeypatch.setattr(ProgramText, "diagnostics", for_ever)
        for ask in (service.programs.check, lambda about: service.programs.put("p", about)):
            with pytest.raises(RefusedError) as slow:
                ask(body({"a.lars": RULES}))
            assert slow.value.status == 408
        for thread in [thread for thread in threads() if thread.name == "compiles a program"]:
            thread.join(60)
            assert not thread.is_alive()


def test_a_program_says_which_streams_it_waits_for(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        for name, options in (("patient", {}), ("idle", {"idle": "10 ms"})):
            service.programs.put(name, body({"jam.lars": RULES}, streams=["north", "south"], options=options))
        programs_ = [service.programs.get(name) for name in ("patient", "idle")]
        assert [program.describe()["awaits"] for program in programs_] == [[], []]
        seq = posted(service, "speed(r1,3) at 1. speed(r1,3) at 2.\n")
        assert settled(programs_[0], seq) == []
        assert programs_[0].describe()["awaits"] == ["south"]
        heard = Event()
        stop = programs_[1].subscribe(heard.set)
        while not lines(programs_[1]):
            heard.wait(60)
            heard.clear()
        stop()
        assert programs_[1].describe()["awaits"] == []
        settled(programs_[0], posted(service, "speed(r1,3) at 1.\n", stream="south"))
        assert programs_[0].describe()["awaits"] == []
