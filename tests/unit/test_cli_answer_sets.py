"""`thalweg run` with answer set programs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import sleep

import pytest
from click.testing import Result
from typer.testing import CliRunner

import thalweg
from thalweg.cli import app
from thalweg.model.sealed import seal_json
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.delivery import Delivered

GATES = "1 { go(X) : open(X) } 1.\n:- go(X), closed(X).\n#show go/1.\n"
EVENTS = "open(a) at 1. open(b) at 1.\nclosed(b) at 2.\nopen(a) at 3. open(b) at 3.\nopen(a) at 4.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gates.lp").write_text(GATES)
    (tmp_path / "gates.facts").write_text(EVENTS)
    return tmp_path


def run(*arguments: str, program: str = "gates.lp") -> Result:
    return CliRunner().invoke(app, ["run", program, "--stream", "gates.facts", "--workers", "0", *arguments])


def test_one_line_for_each_window() -> None:
    result = run("--models", "all")
    assert result.exit_code == 0
    assert result.stdout == (
        '{"t":1,"window":[1,1],"answers":[["go(a)"],["go(b)"]]}\n'
        '{"t":2,"window":[2,2],"answers":[]}\n'
        '{"t":3,"window":[3,3],"answers":[["go(a)"],["go(b)"]]}\n'
        '{"t":4,"window":[4,4],"answers":[["go(a)"]]}\n'
    )


def test_windows_slide() -> None:
    result = run("--models", "all", "--window", "3s", "--slide", "1")
    assert result.stdout == (
        '{"t":3,"window":[1,3],"answers":[["go(a)"]]}\n{"t":4,"window":[2,4],"answers":[["go(a)"]]}\n'
    )


def test_atoms_and_rdf_tell_one_answer_set() -> None:
    assert run("--format", "atoms", "--models", "brave", "--to", "2").stdout == (
        "go(a) at 1.\ngo(b) at 1.\n% no answer set at 2\n"
    )
    quads = run("--format", "nquads", "--models", "cautious", "--from", "2").stdout
    assert "<urn:thalweg:window:2:2> <urn:thalweg:inconsistent>" in quads
    assert "<urn:thalweg:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:thalweg:go>" in quads


def test_processes_say_the_same() -> None:
    assert run("--models", "all", "--workers", "2").stdout == run("--models", "all").stdout


def test_rdf_comes_in_and_goes_out(folder: Path) -> None:
    (folder / "jam.lp").write_text(
        "#prefix ex: <http://ex.org/>.\nex_jam(X) :- ex_slow(X), not ex_light(X).\n"
        "1 { ex_near(X,Y) : ex_Car(Y) } 1 :- ex_jam(X).\n"
    )
    (folder / "cars.tnt").write_text(
        "1 <http://ex.org/r1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/slow> .\n"
        "1 <http://ex.org/c1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/Car> .\n"
    )
    result = CliRunner().invoke(app, ["run", "jam.lp", "--stream", "cars.tnt", "--format", "nquads", "--workers", "0"])
    assert "<http://ex.org/r1> <http://ex.org/near> <http://ex.org/c1> <urn:thalweg:window:1:1> ." in result.stdout


def test_a_report_tells_which_part_is_slow(folder: Path) -> None:
    (folder / "two.lp").write_text("{ a(X) } :- open(X). { b(X) } :- closed(X).")
    result = run("--report", "report.jsonl", program="two.lp")
    assert result.exit_code == 0
    *windows, total = map(json.loads, (folder / "report.jsonl").read_text().splitlines())
    assert [[part["facts"] for part in window["communities"]] for window in windows] == [[2, 0], [0, 1], [2, 0], [1, 0]]
    assert [(part["inputs"], part["facts"]) for part in total["communities"]] == [(["open/1"], 5), (["closed/1"], 1)]
    assert run("--report", "-", program="two.lp").stderr.count('"seconds"') == 3 * 4 + 3


@pytest.mark.parametrize(
    ("file", "content", "code"),
    [
        ("program.json", {"fingerprint": "", "program": "another", "options": {}}, 1),
        ("delivered.json", asdict(Delivered(over=True)), 0),
    ],
)
def test_a_run_with_nothing_to_tell_leaves_an_old_report_alone(
    folder: Path, file: str, content: dict[str, object], code: int
) -> None:
    (folder / "kept").mkdir()
    (folder / "kept" / file).write_bytes(seal_json(content, FORMAT))
    (folder / "report.jsonl").write_text("what was")
    spark = ("--runtime", "spark", "--checkpoint", "kept", "--out", "answers.jsonl", "--report", "report.jsonl")
    result = CliRunner().invoke(app, ["run", "gates.lp", "--stream", "gates.facts", *spark])
    assert (result.exit_code, "E408" in result.stderr) == (code, code == 1)
    assert (folder / "report.jsonl").read_text() == "what was"


def test_where_pieces_are_evaluated_together_a_report_counts_their_facts(folder: Path) -> None:
    (folder / "two.lp").write_text("a(X) :- open(X), not shut(X). b(X) :- closed(X). :- b(b).")
    run("--report", "report.jsonl", program="two.lp")
    *windows, total = map(json.loads, (folder / "report.jsonl").read_text().splitlines())
    told = [[(part["facts"], part["seconds"], part["answers"]) for part in window["communities"]] for window in windows]
    assert told[:2] == [[(2, None, 1), (0, None, 1)], [(0, None, None), (1, None, None)]]
    assert [part["facts"] for part in total["communities"]] == [5, 1]
    assert total["seconds"] > 0
    (folder / "one.lp").write_text("a(X) :- open(X), not closed(X).")
    run("--report", "report.jsonl", program="one.lp")
    *_, total = map(json.loads, (folder / "report.jsonl").read_text().splitlines())
    assert total["seconds"] == total["communities"][0]["seconds"] > 0


@pytest.mark.parametrize("verb", ["run", "check", "explain"])
@pytest.mark.parametrize(
    ("window", "code"),
    [("TIME foo", "E101"), ("TIME 0s", "E206"), ("TIME 1500ms", "E105"), ("TIME 3s STEP 500 ms", "E105")],
)
def test_a_window_without_meaning_is_rejected_at_its_place(folder: Path, verb: str, window: str, code: str) -> None:
    (folder / "own.lp").write_text(f"a :- open(X).\n#from stream <http://s> [{window}]\n")
    more = ["--stream", "gates.facts"] if verb == "run" else []
    result = CliRunner().invoke(app, [verb, "own.lp", *more])
    assert result.exit_code == 1
    assert f"error[{code}]" in result.output
    assert "own.lp:2:" in result.output


def test_a_window_may_be_written_with_spaces_and_another_tick(folder: Path) -> None:
    (folder / "own.lp").write_text("a(X) :- open(X).\n#from stream <http://s> [TIME 3 s STEP 1 s]\n")
    assert [json.loads(line)["window"] for line in run(program="own.lp").stdout.splitlines()] == [[1, 3], [2, 4]]
    (folder / "own.lp").write_text("a(X) :- open(X).\n#from stream <http://s> [TIME 1500ms]\n")
    result = CliRunner().invoke(app, ["explain", "own.lp", "--tick", "500ms"])
    assert result.exit_code == 0


def test_what_is_included_stands_beside_the_file_that_includes_it(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "main.lp").write_text('#include "er/sub.lp".\na(X) :- b(X).\n#program never.\nc :- d.\n')
    (folder / "deep" / "er" / "sub.lp").write_text('#include "../main.lp".\nb(X) :- open(X).\n')
    result = run("--to", "1", program="deep/main.lp")
    assert result.stdout == '{"t":1,"window":[1,1],"answers":[["a(a)","a(b)","b(a)","b(b)"]]}\n'


def test_what_is_wrong_in_an_included_file_has_its_place(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "main.lp").write_text('a(X) :- b(X).\n#include "sub.lp".\n#include "none.lp".\n')
    (folder / "deep" / "sub.lp").write_text("\nb(X) :- open(Y).\n")
    result = run(program="deep/main.lp")
    assert result.exit_code == 1
    assert "deep/sub.lp:2:3" in result.stderr
    assert "error[E401]" in result.stderr
    assert "deep/main.lp:3:11" in result.stderr


@pytest.mark.parametrize("verb", ["run", "check", "explain"])
@pytest.mark.parametrize(
    "file", ["../secret.lp", "{folder}/secret.lp", "link.lp", "below/../../secret.lp", "loop", "sub.lp"]
)
def test_nothing_outside_of_the_folder_of_a_program_is_included(folder: Path, verb: str, file: str) -> None:
    (folder / "deep" / "below").mkdir(parents=True)
    (folder / "secret.lp").write_text("hidden:x:0:0.")
    (folder / "deep" / "link.lp").symlink_to(folder / "secret.lp")
    (folder / "deep" / "loop").symlink_to("loop")
    (folder / "deep" / "sub.lp").write_text('#include "below/../../secret.lp".')
    (folder / "deep" / "main.lp").write_text(f'a(X) :- open(X).\n#include "{file.format(folder=folder)}".\n')
    more = ["--stream", "gates.facts"] if verb == "run" else []
    result = CliRunner().invoke(app, [verb, "deep/main.lp", *more])
    assert result.exit_code == 1
    assert "error[E511]" in result.output
    assert "hidden" not in result.output


def test_a_link_to_a_file_below_may_be_included(folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "sub.lp").write_text("b(X) :- open(X).")
    (folder / "link.lp").symlink_to(folder / "below" / "sub.lp")
    (folder / "main.lp").write_text('#include "link.lp".\na(X) :- b(X).\n')
    assert run("--to", "1", program="main.lp").exit_code == 0


@pytest.mark.parametrize("verb", ["run", "check", "explain"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("#prefix ex: <http://a#>.", "#prefix ex: <http://b#>."),
        ("#from stream <http://s> [TIME 3s]", "#from stream <http://s> [TIME 2s]"),
    ],
)
def test_files_that_contradict_each_other_are_rejected(folder: Path, verb: str, one: str, other: str) -> None:
    (folder / "one.lp").write_text(f"a(X) :- open(X).\n{one}\n")
    (folder / "other.lp").write_text(f"{other}\nb(X) :- open(X).\n")
    more = ["--stream", "gates.facts"] if verb == "run" else []
    result = CliRunner().invoke(app, [verb, "one.lp", "other.lp", *more])
    assert result.exit_code == 1
    assert "error[E510]" in result.output
    assert "other.lp:1:" in result.output
    assert "one.lp:2:" in result.output
    (folder / "other.lp").write_text(f"{one}\nb(X) :- open(X).\n")
    assert CliRunner().invoke(app, [verb, "one.lp", "other.lp", *more]).exit_code == 0


def test_a_limit_is_told(folder: Path) -> None:
    (folder / "hard.lp").write_text("a :- open(X). 1 { in(P,1..11) } 1 :- P = 1..12. :- in(P,H), in(Q,H), P < Q.")
    result = run("--solve-limit", "100ms", "--to", "1", program="hard.lp")
    # A part that was solved in time is no answer set of the whole.
    assert result.stdout == '{"t":1,"window":[1,1],"answers":[],"incomplete":true}\n'
    assert "warning[W505]: 1 window was not solved within the limit, the first at 1" in result.stderr
    atoms = run("--solve-limit", "100ms", "--to", "1", "--format", "atoms", program="hard.lp")
    assert atoms.stdout == "% nothing is known at 1 % incomplete\n"


def test_what_does_not_go_together_is_wrong_usage(folder: Path) -> None:
    (folder / "b.lars").write_text("q(X) :- open(X).")
    mixed = ("gates.lp", "b.lars", "--stream", "gates.facts")
    for options in (["--models", "all"], ["--memory", "1M"]):
        refused = CliRunner().invoke(app, ["run", *mixed, *options])
        assert (refused.exit_code, refused.stdout) == (2, "")
    why = CliRunner().invoke(app, ["why", "gates.lp", "go(a)", "--at", "1"])
    assert (why.exit_code, "`thalweg explain`" in why.stderr) == (2, True)
    with pytest.raises(thalweg.RejectedError, match="`--emit` cannot be used"):
        list(thalweg.run(folder / "gates.lp", stream="open(a) at 1.", emit="snapshot"))


def test_scripts_are_not_run(folder: Path) -> None:
    (folder / "own.lp").write_text("b :- open(X).\n#script (python)\nprint(1)\n#end.\na(@f(X)) :- open(X).")
    result = run(program="own.lp")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error[E501]: scripts are not run\n  own.lp:2:1\n")


def test_numbers_of_the_background_are_looked_at(folder: Path) -> None:
    (folder / "slow.lp").write_text("slow(X) :- open(X), limit(Y), Y < 40.")
    (folder / "limit.facts").write_text("limit(7.5). other(1.5).")
    for verb in (["check", "slow.lp"], ["run", "slow.lp", "--stream", "gates.facts"]):
        result = CliRunner().invoke(app, [*verb, "--background", "limit.facts"])
        assert result.exit_code == 0
        assert result.stderr.count("warning[W508]: `7.5` in `limit/1` is not an integer of 32 bits") == 1


def test_all_that_is_no_input_is_named_at_once(folder: Path) -> None:
    (folder / "own.lp").write_text("#input p/1. open(X) :- p(X). closed(X) :- p(X).")
    help = "help: declare all inputs: `--inputs closed/1,open/1,p/1`"
    (folder / "gates.facts").write_text("closed(a) at 1. open(a) at 1.")
    assert run(program="own.lp").stderr.count(help) == 2


REACH = "r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z). far(X) :- v(X), not r(a,X).\n"


@pytest.mark.parametrize("solver", ["auto", "clingo"])
@pytest.mark.parametrize("models", ["first", "all", "brave", "cautious"])
def test_streamed_facts_of_what_is_derived_count(folder: Path, solver: str, models: str) -> None:
    (folder / "reach.lp").write_text(REACH)
    # The window holds `e(b,c)` when the first `r` turns up.
    (folder / "gates.facts").write_text("e(b,c) at 1. v(c) at 1.\nr(a,b) at 2.\nv(b) at 3.\n")
    options = ("--solver", solver, "--models", models, "--window", "2", "--slide", "1")
    result = run(*options, "--quiet", program="reach.lp")
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        '{"t":2,"window":[1,2],"answers":[["r(a,b)","r(a,c)","r(b,c)"]]}',
        '{"t":3,"window":[2,3],"answers":[["r(a,b)"]]}',
    ]
    declared = run(*options, "--inputs", "e/2,v/1", program="reach.lp")
    assert declared.stdout.startswith('{"t":2,"window":[1,2],"answers":[["far(c)","r(b,c)"]]}')
    assert "warning[W506]: a stream has facts of `r/2`" in declared.stderr


def test_mapped_facts_of_what_is_derived_are_planned_with(folder: Path) -> None:
    (folder / "reach.lp").write_text(REACH)
    result = CliRunner().invoke(app, ["explain", "reach.lp", "--map", "r(x,y) at t", "--format", "json"])
    assert ["e/2", "r/2"] in json.loads(result.stdout)["inputs"]["edges"]


def test_streamed_facts_count_beside_rules(folder: Path) -> None:
    (folder / "reach.lp").write_text(REACH)
    (folder / "alarm.lars").write_text("alarm(X) :- r(a,X). e(X,Y) :- link(X,Y).")
    (folder / "gates.facts").write_text("link(b,c) at 1.\nlink(b,c) at 2. r(a,b) at 2.\n")
    arguments = ["run", "reach.lp", "alarm.lars", "--stream", "gates.facts", "--workers", "0", "--quiet"]
    result = CliRunner().invoke(app, arguments)
    assert result.stderr == ""
    assert "alarm(c)" in result.stdout


def test_a_class_that_is_an_input_is_no_stray(folder: Path) -> None:
    prefixes = "#prefix ex: <http://ex#>. #prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>. "
    (folder / "own.lp").write_text(prefixes + "ex_dean(X) :- ex_prof(X). rdf_type(X,ex_Boss) :- ex_dean(X).")
    (folder / "gates.facts").write_text("<http://ex#prof>(a) at 1.")
    result = run("--quiet", program="own.lp")
    assert (result.stderr, json.loads(result.stdout)["answers"]) == (
        "",
        [["<http://ex#Boss>(a)", "<http://ex#dean>(a)"]],
    )
    (folder / "gates.facts").write_text("<http://ex#other>(a) at 1.")
    assert json.loads(run(program="own.lp").stdout)["answers"] == [["<http://ex#other>(a)"]]
    declared = run("--inputs", "ex_prof/1", program="own.lp")
    assert "a stream has facts of `rdf_type/2`" in declared.stderr
    refused = run("--solver", "engine", program="own.lp")
    assert "own.lp:1:" in refused.stderr
    assert (
        "`rdf_type/2` is output, and its classes are separate predicates; `#show` other predicates only"
        in refused.stderr
    )


def test_answer_set_programs_are_not_loaded_but_run() -> None:
    with pytest.raises(thalweg.RejectedError, match=r"pass its name to `thalweg.run`"):
        thalweg.load("gates.lp")


def test_who_evaluates_is_said_before_the_pieces(folder: Path) -> None:
    (folder / "own.lp").write_text("a(X) :- open(X).")
    text = CliRunner().invoke(app, ["explain", "own.lp"]).stdout
    assert text.index("the incremental engine") < text.index("solved on its own")


ENDLESS = "n(X) :- open(X). n(0). n(X+1) :- n(X)."
PIGEONS = "1 { in(P,1..11) } 1 :- P = 1..13, open(a). :- in(P,H), in(Q,H), P < Q."
TWO = f"{PIGEONS} z :- closed(X)."


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    ("program", "number"),
    [(ENDLESS, signal.SIGINT), (PIGEONS, signal.SIGTERM), (TWO, signal.SIGINT), (ENDLESS, signal.SIGKILL)],
)
def test_an_end_is_an_end_in_the_middle_of_solving(folder: Path, program: str, number: signal.Signals) -> None:
    (folder / "long.lp").write_text(program)
    command = [sys.executable, "-m", "thalweg", "run", "long.lp", "--stream", "gates.facts", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tasks = Path(f"/proc/{process.pid}/task")
    try:
        # A process that solves is at work as soon as it has used more time than it takes to start.
        wait_for(lambda: any(used(one) > 0.5 for one in workers(tasks)))
        started = workers(tasks)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == (-number if number == signal.SIGKILL else 0)
    assert out == b""
    assert err == b"" if program is not ENDLESS else err.startswith(b"warning[W202]")
    wait_for(lambda: not any(Path(f"/proc/{one}").exists() for one in started))


def workers(tasks: Path) -> list[str]:
    return [child for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def used(process: str) -> float:
    """Seconds of processor time."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(holds: Callable[[], object]) -> None:
    for _ in range(600):
        if holds():
            return
        sleep(0.05)
    raise AssertionError("it does not happen")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--models", "all", "--format", "atoms"], "several answer sets cannot be written as `atoms`"),
        (["--emit", "snapshot"], "`--emit` cannot be used with answer set programs"),
        (["--memory", "1G", "--profile", "ql"], "`--memory` and `--profile` cannot be used"),
        (["--slide", "2"], "`--slide` needs `--window`"),
        (["--window", "0"], "`0` is not a window's length"),
        (["--window", "3", "--slide", "2 #"], "must both be times or both be numbers of facts"),
        (["--solve-limit", "0s"], "must be longer than 0"),
        (["--inputs", "open"], "is not a list of predicates"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(arguments: list[str], sentence: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_options_of_answer_sets_go_with_answer_sets(folder: Path) -> None:
    (folder / "q.lars").write_text("q(X) :- open(X).")
    result = run("--models", "all", program="q.lars")
    assert result.exit_code == 2
    assert "`--models` and `--workers` are only for answer set programs (`.lp`)" in result.stderr


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("a(X) :- not b(X).", "error[E203]"),
        ("a :- b", "error[E101]"),
        ("a :- b. #const n=1. #const n=2.", "error[E501]"),
    ],
)
def test_a_program_that_clingo_rejects_is_rejected_at_its_place(folder: Path, program: str, said: str) -> None:
    (folder / "bad.lp").write_text(program)
    result = run(program="bad.lp")
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr
    assert "bad.lp:1:" in result.stderr


def test_the_engine_alone_is_refused_where_it_cannot() -> None:
    result = run("--solver", "engine")
    assert result.exit_code == 1
    assert "error[E507]" in result.stderr


def test_without_clingo_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clingo", None)
    for module in ("thalweg.solvers.clingo", "thalweg.languages.asp.parse"):
        monkeypatch.delitem(sys.modules, module)
    result = run()
    assert result.exit_code == 1
    assert "error[E406]: answer set programs are read by clingo, which is not installed" in result.stderr


def test_several_programs_make_one_and_each_is_told_of_at_its_place(folder: Path) -> None:
    (folder / "more.lp").write_text("\nstop(X) :- closed(X), not go(X).\n")
    result = CliRunner().invoke(app, ["run", "gates.lp", "more.lp", "--stream", "gates.facts", "--to", "1"])
    assert result.exit_code == 0
    (folder / "more.lp").write_text("\n\nstop(X) :- not go(X).\n")
    result = CliRunner().invoke(app, ["run", "gates.lp", "more.lp", "--stream", "gates.facts"])
    assert result.exit_code == 1
    assert result.stderr.count("error[") == 1
    assert "more.lp:3:6" in result.stderr
