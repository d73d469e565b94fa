import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg import run
from thalweg.cli import BENCHMARKS, app

SLOW = "slow(S) :- speed(S,V) in [10 sec], V < 20.\n"
READINGS = "speed(a,12) at 0.\nspeed(b,35) at 3.\nspeed(b,15) at 4.\n"
COMMAND = [sys.executable, "-m", "thalweg"]


@pytest.fixture(scope="session")
def compiled():
    """Kernels are compiled once per installation, which is told where nothing should be."""
    list(run("q :- p.", stream="p at 0."))


@pytest.fixture(autouse=True)
def folder(compiled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.lars").write_text(SLOW)
    (tmp_path / "readings.facts").write_text(READINGS)
    return tmp_path


def thalweg(*arguments, stdin=None):
    return CliRunner().invoke(app, _quiet(arguments), input=stdin)


def process(*arguments, **options):
    return subprocess.Popen([*COMMAND, *_quiet(arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def _quiet(arguments):
    """Without the summary: what stands on standard error is a complaint."""
    return [*arguments, "--quiet"] if arguments[0] == "run" and "--help" not in arguments else list(arguments)


# Help ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["run", "check", "explain", "why", "demo", "bench"])
def test_every_verb_has_help_with_an_example(verb):
    result = thalweg(verb, "--help")
    assert result.exit_code == 0
    assert f"Example: thalweg {verb}" in result.output
    assert verb in thalweg("--help").output


def test_help_says_what_is_emitted_unless_told_otherwise():
    assert "[default: changes]" in thalweg("run", "--help").output


# Run -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("emit", "format", "expected"),
    [
        ("changes", "jsonl", '{"t":0,"begin":["slow(a)"],"end":[]}\n{"t":4,"begin":["slow(b)"],"end":[]}\n'
                             '{"t":11,"begin":[],"end":["slow(a)"]}\n'),
        ("changes", "atoms", "+ slow(a) at 0.\n+ slow(b) at 4.\n- slow(a) at 11.\n"),
        ("intervals", "jsonl", '{"fact":"slow(a)","from":0,"until":10}\n{"fact":"slow(b)","from":4,"until":null}\n'),
        ("intervals", "atoms", "slow(a) from 0 until 10.\nslow(b) from 4.\n"),
    ],
)  # fmt: skip
def test_run(emit, format, expected):
    result = thalweg("run", "slow.lars", "--stream", "readings.facts", "--to", "12", "--emit", emit, "--format", format)
    assert (result.exit_code, result.stdout) == (0, expected)


def test_run_emits_snapshots_of_every_tick():
    result = thalweg("run", "slow.lars", "--stream", "readings.facts", "--from", "3", "--to", "5", "--emit", "snapshot")
    assert result.stdout == '{"t":3,"facts":[]}\n{"t":4,"facts":["slow(b)"]}\n{"t":5,"facts":["slow(b)"]}\n'
    result = thalweg("run", "slow.lars", "--stream", "readings.facts", "--from", "3", "--format", "atoms")
    assert result.stdout == "+ slow(b) at 4.\n"


def test_snapshots_can_be_read_again(folder):
    (folder / "alarm.lars").write_text("alarm :- slow(a), slow(b).")
    for format, name in (("jsonl", "mid.jsonl"), ("atoms", "mid.facts")):
        how = ("--emit", "snapshot", "--out", name, "--format", format)
        thalweg("run", "slow.lars", "--stream", "readings.facts", "--to", "12", *how)
        result = thalweg("run", "alarm.lars", "--stream", name, "--emit", "intervals")
        assert result.stdout == '{"fact":"alarm","from":4,"until":10}\n'


def test_run_with_background_and_ticks_and_timestamps(folder):
    (folder / "roads.facts").write_text("road(a).")
    (folder / "on_road.lars").write_text("slow(S) :- speed(S,V) in [20 sec], V < 20, road(S).")
    (folder / "in.jsonl").write_text('{"t":"1970-01-01T00:01:00Z","facts":["speed(a,1)","speed(b,1)"]}\n')
    result = thalweg(
        "run", "on_road.lars", "--background", "roads.facts", "--stream", "in.jsonl",
        "--tick", "10s", "--to", "1970-01-01T00:02:00Z", "--emit", "intervals",
    )  # fmt: skip
    assert result.stdout == '{"fact":"slow(a)","from":"1970-01-01T00:01:00Z","until":"1970-01-01T00:01:20Z"}\n'


def test_disorder_inside_the_delay_changes_no_answer(folder):
    lines = READINGS.splitlines(keepends=True)
    (folder / "mixed.facts").write_text("".join([lines[2], lines[0], lines[1]]))
    expected = thalweg("run", "slow.lars", "--stream", "readings.facts", "--to", "20").stdout
    for delay in ("4", "4s", "1 min"):
        result = thalweg("run", "slow.lars", "--stream", "mixed.facts", "--to", "20", "--delay", delay)
        assert (result.stdout, result.stderr) == (expected, "")


def test_late_facts_are_counted_or_kept(folder):
    (folder / "mixed.facts").write_text("speed(b,15) at 4. speed(c,1) at 3. speed(a,12) at 0.")
    result = thalweg("run", "slow.lars", "--stream", "mixed.facts")
    # Where most facts are dropped, a run has failed, and says so although it is quiet.
    assert (result.exit_code, result.stdout) == (3, '{"t":4,"begin":["slow(b)"],"end":[]}\n')
    assert "2 facts" in result.stderr
    assert "speed(c,1) at 3" in result.stderr
    assert "warning[W309]: 2 of 3 facts dropped: 2 late, 0 malformed" in result.stderr
    result = thalweg("run", "slow.lars", "--stream", "mixed.facts", "--late", "late.jsonl")
    assert result.stderr == ""
    assert [json.loads(line) for line in (folder / "late.jsonl").read_text().splitlines()] == [
        {"t": 3, "watermark": 4, "stream": "mixed", "facts": ["speed(c,1)"]},
        {"t": 0, "watermark": 4, "stream": "mixed", "facts": ["speed(a,12)"]},
    ]
    run = process("run", "slow.lars", "--stream", "mixed.facts", "--late", "-")
    out, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (0, b"")
    assert b'"watermark":4' in out
    assert out.endswith(b'{"t":4,"begin":["slow(b)"],"end":[]}\n')


def test_a_run_that_drops_most_of_its_facts_says_so_first_and_fails(folder):
    def ended(lines, *options):
        (folder / "mixed.facts").write_text("\n".join(lines))
        return CliRunner().invoke(app, ["run", "slow.lars", "--stream", "mixed.facts", *options])

    late = [f"speed(a,{tick}) at {tick}." for tick in (9, 1, 2)]
    result = ended(late)
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1].startswith("2 of 3 facts dropped; 3 events, 1 conclusion")
    # Half of them is not most of them, and what is kept is not dropped.
    assert ended([*late, "speed(a,9) at 9."]).exit_code == 0
    result = ended(late, "--late", "late.jsonl")
    assert (result.exit_code, result.stderr.startswith("3 events")) == (0, True)
    result = ended(["speed(a,1) at 1.", "speed(", "speed)"], "--on-error", "skip")
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1].startswith("2 of 3 facts dropped; 1 event, ")
    years = (2026, 2026, 2026, 1970, 1970, 1970, 1970)
    far = [f"speed(a,1) at @{year}-01-01T00:00:0{second}Z." for second, year in enumerate(years)]
    assert ended(far).exit_code == 3


def test_a_run_that_is_stopped_has_not_failed_whatever_it_dropped(folder):
    run = subprocess.Popen(
        [*COMMAND, "run", "slow.lars", "--stream", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    run.stdin.write(b"speed(a,1) at 9.\nspeed(a,1) at 1.\nspeed(a,1) at 2.\nspeed(a,1) at 3.\nspeed(a,1) at 10.\n")
    run.stdin.flush()
    assert run.stdout.readline()
    run.send_signal(signal.SIGTERM)
    _, complaints = run.communicate(timeout=60)
    assert (run.returncode, b"3 of 5 facts dropped; 5 events" in complaints) == (0, True)


def test_a_malformed_line_stops_after_what_came_before_it(folder):
    (folder / "bad.facts").write_text("speed(a,12) at 0.\nspeed(b,) at 3.\nspeed(c,1) at 4.\n")
    result = thalweg("run", "slow.lars", "--stream", "bad.facts", "--emit", "changes", "--out", "out.jsonl")
    assert result.exit_code == 3
    assert (folder / "out.jsonl").read_text() == '{"t":0,"begin":["slow(a)"],"end":[]}\n'
    assert "error[E301]" in result.stderr
    assert "bad.facts:2:" in result.stderr


def test_malformed_lines_can_be_skipped(folder):
    (folder / "bad.facts").write_text("speed(a,12) at 0.\nspeed(b,) at 3.\n{\nspeed(c,1) at 4.\n")
    result = thalweg(
        "run", "slow.lars", "--stream", "bad.facts", "--on-error", "skip", "--emit", "intervals", "--format", "atoms"
    )
    assert (result.exit_code, result.stdout) == (0, "slow(a) from 0.\nslow(c) from 4.\n")
    assert result.stderr.count("error[E301]") == 2


def test_a_rejected_program_leaves_everything_as_it_was(folder):
    (folder / "bad.lars").write_text("slow(S,T) :- speed(S,V).\nq(X :- p.\n")
    (folder / "out.jsonl").write_text("precious")
    result = thalweg("run", "bad.lars", "--stream", "readings.facts", "--out", "out.jsonl", "--late", "late.jsonl")
    assert result.exit_code == 1
    assert result.stderr.count("error[") == 2
    assert (folder / "out.jsonl").read_text() == "precious"
    assert not (folder / "late.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "exit_code", "part"),
    [
        (["nowhere.lars", "--stream", "readings.facts"], 1, "E401"),
        (["slow.txt", "--stream", "readings.facts"], 1, "E402"),
        (["slow.lars", "--stream", "nowhere.facts"], 1, "E401"),
        (["slow.lars", "--stream", "readings.txt"], 1, ".facts"),
        (["slow.lars", "--stream", "amqp://host/topic"], 1, "E402"),
        (["slow.lars", "--stream", "readings.facts", "--out", "nowhere/out.jsonl"], 1, "cannot write"),
        (["slow.lars", "--background", "nowhere.facts", "--stream", "readings.facts"], 1, "E401"),
        (["slow.lars"], 2, "--stream"),
        (["slow.lars", "--tick", "soon"], 2, "soon"),
        (["slow.lars", "--delay", "1500ms"], 2, "whole number"),
        (["slow.lars", "--from", "9", "--to", "3"], 2, "before"),
        (["slow.lars", "--memory", "lots"], 2, "lots"),
        (["slow.lars", "--emit", "everything"], 2, "everything"),
        (["slow.lars", "--nonsense"], 2, "nonsense"),
        ([], 2, "PROGRAM"),
    ],
)
def test_what_does_not_fit_is_told_without_a_trace(arguments, exit_code, part):
    result = thalweg("run", *arguments)
    assert result.exit_code == exit_code
    assert part in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_refused_connection_is_a_failure_while_running():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    result = thalweg("run", "slow.lars", "--stream", f"tcp://127.0.0.1:{port}")
    assert result.exit_code == 3
    assert "error[E404]" in result.stderr


# Live streams --------------------------------------------------------------------------------------------------------


def test_standard_input_is_answered_as_it_flows_and_an_interrupt_is_a_normal_end():
    live = process("run", "slow.lars", "--stream", "-", "--emit", "changes", stdin=subprocess.PIPE)
    for line, answer in (
        (b"speed(a,12) at 0.\nspeed(a,12) at 1.\n", b'{"t":0,"begin":["slow(a)"],"end":[]}\n'),
        (b"speed(b,12) at 20.\n", b'{"t":12,"begin":[],"end":["slow(a)"]}\n'),
    ):
        live.stdin.write(line)
        live.stdin.flush()
        assert live.stdout.readline() == answer
    live.send_signal(signal.SIGINT)
    rest, complaints = live.communicate(timeout=60)
    assert rest == b'{"t":20,"begin":["slow(b)"],"end":[]}\n'
    assert (live.returncode, complaints) == (0, b"")


def test_a_socket_is_answered_as_it_flows():
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        live = process("run", "slow.lars", "--stream", uri, "--emit", "changes")
        sender, _ = server.accept()
        with sender:
            sender.sendall(b'{"t":0,"facts":["speed(a,12)"]}\n{"t":1,"facts":[]}\n')
            assert live.stdout.readline() == b'{"t":0,"begin":["slow(a)"],"end":[]}\n'
            sender.sendall(b'{"t":30,"facts":[]}\n')
            assert live.stdout.readline() == b'{"t":11,"begin":[],"end":["slow(a)"]}\n'
        rest, complaints = live.communicate(timeout=60)
    assert (rest, complaints, live.returncode) == (b"", b"", 0)


def test_of_two_live_streams_the_one_that_is_behind_is_waited_for():
    os.mkfifo("pipe")
    # Open for both, because opening a pipe for writing only waits for its reader.
    with open(os.open("pipe", os.O_RDWR), "wb", buffering=0) as pipe:
        live = process(
            "run", "slow.lars", "--stream", "-", "--stream", "pipe", "--emit", "changes", stdin=subprocess.PIPE
        )
        live.stdin.write(b"speed(a,12) at 0.\nspeed(a,99) at 1.\n")
        live.stdin.flush()
        pipe.write(b"speed(b,12) at 2.\nspeed(b,99) at 3.\n")
        assert live.stdout.readline() == b'{"t":0,"begin":["slow(a)"],"end":[]}\n'
        live.stdin.write(b"speed(a,99) at 5.\n")
        live.stdin.flush()
        assert live.stdout.readline() == b'{"t":2,"begin":["slow(b)"],"end":[]}\n'
        live.send_signal(signal.SIGINT)
        rest, complaints = live.communicate(timeout=60)
    assert (rest, complaints, live.returncode) == (b"", b"", 0)


def test_a_reader_that_has_seen_enough_ends_the_run_quietly():
    run = process("run", "slow.lars", "--stream", "readings.facts", "--emit", "snapshot", "--to", "1000000")
    assert run.stdout.readline() == b'{"t":0,"facts":["slow(a)"]}\n'
    run.stdout.close()
    assert run.stderr.read() == b""
    run.stderr.close()
    assert run.wait(timeout=60) == 0


def test_the_tutorial_shows_what_is_printed(folder):
    page = (Path(__file__).parents[2] / "docs/tutorial/first-steps.md").read_text()
    for name, text in re.findall(r"[Ss]ave this as `([\w.]+)`.*?```\n(.*?)```", page, re.DOTALL):
        (folder / name).write_text(text)
    shown = re.findall(r"```console\n\$ thalweg (.*?)\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 3
    for command, expected in shown:
        assert thalweg(*shlex.split(command)).stdout == expected


def test_a_memory_budget_marks_what_may_be_incomplete(folder):
    facts = [f"speed(s{tick}_{number},1) at {tick}.\n" for tick in range(8) for number in range(2_000)]
    (folder / "many.facts").write_text("".join(facts))
    arguments = ["run", "slow.lars", "--stream", "many.facts", "--emit", "changes"]
    assert '"partial"' not in thalweg(*arguments).stdout
    lines = thalweg(*arguments, "--memory", "4M").stdout.splitlines()
    assert any(line.endswith(',"partial":true}') for line in lines)
    assert all(json.loads(line) for line in lines)


def test_nothing_false_is_output_over_a_memory_budget(folder):
    """Half of the things have a `p` that is shed while it still counts: none of them may be output."""
    (folder / "alone.lars").write_text("a(X) :- r(X), not p(X) in [200].\n")
    facts = [f"p(x{tick}_{number}) at {tick}.\n" for tick in range(120) for number in range(100)]
    facts += [f"r(x{max(0, tick - 60)}_{number}) at {tick}.\n" for tick in range(120) for number in range(2)]
    facts += [f"r(y{tick}) at {tick}.\n" for tick in range(120)]
    facts.sort(key=lambda line: int(line.split()[-1][:-1]))
    (folder / "many.facts").write_text("".join(facts))
    arguments = ["run", "alone.lars", "--stream", "many.facts", "--emit", "snapshot", "--to", "400"]
    whole = {each["t"]: set(each["facts"]) for each in map(json.loads, thalweg(*arguments).stdout.splitlines())}
    result = thalweg(*arguments, "--memory", "1M")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert all(set(line["facts"]) <= whole[line["t"]] for line in lines)
    assert all(set(line["facts"]) == whole[line["t"]] for line in lines if "partial" not in line)
    assert {tuple(line["shed"]) for line in lines if "partial" in line} == {("p/1",)}
    assert "partial" not in lines[-1]
    assert result.stderr.count("warning[W414]: facts of `p/1` were shed at tick ") == 1
    assert "`a/1` may lack facts" in result.stderr
    assert result.stderr.count("warning[W415]: answers were partial between ticks ") == 1


# Check, explain, why -------------------------------------------------------------------------------------------------


def test_check_has_nothing_to_complain_about():
    result = thalweg("check", "slow.lars")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "rules: 1" in result.stdout
    assert json.loads(thalweg("check", "slow.lars", "--format", "json").stdout) == []


def test_check_tells_everything_at_once(folder):
    (folder / "bad.lars").write_text("slow(S,T) :- speed(S,V).\nq(X :- p.\n")
    result = thalweg("check", "bad.lars")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("error[") == 2
    result = thalweg("check", "bad.lars", "--format", "json")
    assert result.exit_code == 1
    assert {(found["code"], found["file"], found["line"]) for found in json.loads(result.stdout)} == {
        ("E203", "bad.lars", 1),
        ("E101", "bad.lars", 2),
    }


def test_explain(folder):
    (folder / "two.lars").write_text("a(X) :- p(X) in [3], not b(X). b(X) :- q(X).")
    assert json.loads(thalweg("explain", "two.lars", "--format", "json").stdout)["strata"] == [["b/1"], ["a/1"]]
    assert "a(X)" in thalweg("explain", "two.lars").stdout
    assert thalweg("explain", "two.lars", "--format", "svg").stdout.lstrip().startswith("<svg")


def test_why(folder):
    result = thalweg("why", "slow.lars", "slow(b)", "--at", "12", "--stream", "readings.facts")
    assert result.exit_code == 0
    assert "speed(b,15)" in result.stdout
    data = thalweg("why", "slow.lars", "slow(b)", "--at", "12", "--stream", "readings.facts", "--format", "json").stdout
    assert "speed(b,15)" in data
    json.loads(data)


def test_why_tells_what_holds_instead():
    result = thalweg("why", "slow.lars", "slow(a)", "--at", "12", "--stream", "readings.facts")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[E405]: `slow(a)` does not hold at 12" in result.stderr
    assert "slow(b)" in result.stderr


def test_why_of_a_fact_that_does_not_hold_shows_how_far_its_rules_got():
    asked = ("why", "slow.lars", "slow(c)", "--at", "12", "--stream", "readings.facts")
    result = thalweg(*asked)
    assert "not by slow(S) :- speed(S,V)" in result.stderr
    assert "no `speed(c,_) in [10]`: `speed(b,15)` came at 4" in result.stderr
    result = thalweg(*asked, "--format", "json")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (1, "error[E405]: `slow(c)` does not hold at 12")
    data = json.loads(result.stdout)
    assert (data["holds"], data["rules"][0]["attempts"][0]["failed"]) == (False, "speed(c,_) in [10]")


def test_why_needs_a_program_and_a_fact():
    assert thalweg("why", "slow.lars", "--at", "12").exit_code == 2
    assert thalweg("why", "slow.lars", "slow(", "--at", "12").exit_code == 1


def test_bench_knows_its_names():
    result = thalweg("bench", "nonsense")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in BENCHMARKS)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--window", "3"], "`--window` is only for answer set programs (`.lp`) and ontologies"),
        (["--master", "local[2]", "--partitions", "3"], "`--master` and `--partitions` are only for `--runtime spark`"),
        (["--runtime", "spark", "--master", "nonsense"], "`nonsense` is not the address of a Spark master"),
    ],
)
def test_options_without_a_meaning_are_wrong_usage(options, sentence):
    result = thalweg("run", "slow.lars", "--stream", "readings.facts", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr


# Warnings ------------------------------------------------------------------------------------------------------------

WARNED = {
    "again.lars": ("again(S) :- speed(S,V), speed(S,V) at U.\n", "W201"),
    "zoo.ttl": (
        "@prefix : <http://zoo.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :eats ; owl:someValuesFrom :Fish ] .\n",
        "W409",
    ),
    "steps.lp": ("%! input speed/2\nslow(S) :- speed(S,V), V < 20.\n#program step(t).\na(t) :- b(t).\n", "W502"),
}


@pytest.mark.parametrize("name", WARNED)
def test_every_verb_gives_the_warnings_that_check_gives_once(folder, name):
    text, code = WARNED[name]
    (folder / name).write_text(text)
    verbs = [["check", name], ["explain", name]]
    verbs.append(["run", name, "--stream", "readings.facts", *(["--window", "5"] if name.endswith(".lp") else [])])
    if not name.endswith(".lp"):
        verbs.append(["why", name, "again(a)", "--at", "0", "--stream", "readings.facts"])
    for verb in verbs:
        assert re.findall(r"warning\[(\w+)\]", thalweg(*verb).stderr) == [code], verb
