"""What a run leaves behind: text for people, tables, the format that a name says, and a summary."""

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from thalweg.cli import app

RULES = "jam(R,V) :- speed(R,V) in [10 sec], V < 20.  calm(R) :- road(R), not jam(R,_).  road(a). road(b)."
FACTS = (
    '{"t":"2026-11-15T08:00:03Z","facts":["speed(a,12)"]}\n'
    '{"t":"2026-11-15T08:00:30Z","facts":["speed(b,42.5)","humidity(b,3)"]}\n'
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jam.lars").write_text(RULES)
    (tmp_path / "in.jsonl").write_text(FACTS)
    return tmp_path


def run(*arguments: str, program: str = "jam.lars", stream: str = "in.jsonl") -> Result:
    return CliRunner().invoke(app, ["run", program, "--stream", stream, *arguments])


def test_text_has_a_line_for_each_change_below_its_day() -> None:
    assert run("--format", "text").stdout.splitlines() == [
        "2026-11-15",
        "08:00:03  + calm(b)",
        "08:00:03  + jam(a,12)   until 08:00:13",
        "08:00:14  - jam(a,12)",
        "08:00:14  + calm(a)",
    ]
    assert run("--format", "text", "--times", "ticks", "--show", "jam/2").stdout.splitlines()[0] == (
        "1794729603  + jam(a,12)   until 1794729613"
    )
    intervals = run("--format", "text", "--emit", "intervals").stdout.splitlines()
    assert intervals[1:3] == ["08:00:03  jam(a,12)   until 08:00:13", "08:00:14  calm(a)   still holds"]
    snapshot = run("--format", "text", "--emit", "snapshot").stdout.splitlines()
    assert snapshot[1] == "08:00:03  calm(b)  jam(a,12)"


def test_what_may_end_at_any_tick_is_not_said_to_last(folder: Path) -> None:
    (folder / "lights.lars").write_text("jam(R) :- speed(R,V) in [10 sec], V < 20, not green(R). seen(R) :- jam(R).")
    lines = run("--format", "text", program="lights.lars").stdout.splitlines()
    assert lines[1:3] == ["08:00:03  + jam(a)", "08:00:03  + seen(a)"]


def test_another_day_is_named(folder: Path) -> None:
    (folder / "late.jsonl").write_text(
        '{"t":"2026-11-15T23:59:55Z","facts":["speed(a,1)"]}\n{"t":"2026-11-16T00:00:30Z","facts":[]}\n'
    )
    assert run("--format", "text", "--show", "jam/2", stream="late.jsonl").stdout.splitlines() == [
        "2026-11-15",
        "23:59:55  + jam(a,1)   until 2026-11-16 00:00:05",
        "2026-11-16",
        "00:00:06  - jam(a,1)",
    ]


def on_terminal(*arguments: str, **environment: str) -> str:
    """What a command prints to a terminal."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "thalweg", "run", "jam.lars", "--stream", "in.jsonl", "--quiet", *arguments]
    with subprocess.Popen(
        command, stdout=terminal, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    ) as running:
        os.close(terminal)
        said = b""
        while True:
            try:
                said += os.read(controller, 65_536)
            except OSError:
                break
        assert running.wait(60) == 0
    os.close(controller)
    return said.decode().replace("\r\n", "\n")


def test_on_a_terminal_text_is_the_default_and_coloured_unless_no_color_says_otherwise() -> None:
    plain = on_terminal(NO_COLOR="1")
    assert plain == run("--format", "text").stdout
    coloured = on_terminal(NO_COLOR="")
    assert "\x1b[32m+ jam(a,12)\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9]+m", "", coloured) == plain


def test_csv_has_columns_by_the_way_answers_are_emitted(folder: Path) -> None:
    assert run("--out", "out.csv").exit_code == 0
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert list(rows[0]) == ["t", "op", "predicate", "args"]
    assert rows[1] == {"t": "2026-11-15T08:00:03Z", "op": "+", "predicate": "jam", "args": '["a",12]'}
    run("--out", "out.csv", "--emit", "intervals", "--show", "jam/2")
    assert (folder / "out.csv").read_text().splitlines() == [
        "predicate,R,V,from,until",
        "jam,a,12,2026-11-15T08:00:03Z,2026-11-15T08:00:13Z",
    ]
    named = run("--format", "csv", "--emit", "snapshot", "--show", "calm/1").stdout.splitlines()
    assert named[:2] == ["t,predicate,R", "2026-11-15T08:00:03Z,calm,b"]


def test_parquet_has_typed_columns(folder: Path) -> None:
    from pyarrow import parquet

    assert run("--out", "out.parquet", "--show", "jam/2").exit_code == 0
    table = parquet.read_table(folder / "out.parquet")
    assert [str(field.type) for field in table.schema] == [
        "timestamp[ms, tz=UTC]",
        "string",
        "string",
        "string",
        "int64",
    ]
    assert table["V"].to_pylist() == [12, 12]
    run("--out", "all.parquet", "--emit", "intervals", "--times", "ticks")
    table = parquet.read_table(folder / "all.parquet")
    assert table.column_names == ["predicate", "args", "from", "until"]
    assert table.to_pylist()[0] == {"predicate": "jam", "args": ["a", "12"], "from": 1794729603, "until": 1794729613}
    assert [path.name for path in folder.iterdir() if "unfinished" in path.name] == []


def test_a_column_of_numbers_becomes_one_of_texts_where_a_text_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow import parquet

    monkeypatch.setattr("thalweg.answers.table.GROUP", 1)
    (folder / "kinds.lars").write_text("#show now/1. now(V) :- seen(V).")
    (folder / "kinds.facts").write_text("seen(1) at 1. seen(2.5) at 2. seen(x) at 3.")
    assert run("--out", "out.parquet", program="kinds.lars", stream="kinds.facts").exit_code == 0
    table = parquet.read_table(folder / "out.parquet")
    assert (str(table.schema.field("V").type), table["V"].to_pylist()) == ("string", ["1", "1", "2.5", "2.5", "x"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--out", "out.json"), "the known ones are .jsonl"),
        (("--out", "out.txt", "--format", "text"), "unknown ending"),
        (("--out", "out.csv", "--format", "jsonl"), "is written as `csv`, not as `jsonl`"),
        (("--format", "parquet"), "give `--out answers.parquet`"),
    ],
)
def test_a_name_and_a_format_must_agree(arguments: tuple[str, ...], sentence: str, folder: Path) -> None:
    result = run(*arguments)
    assert (result.exit_code, sentence in result.stderr) == (2, True)
    assert sorted(path.name for path in folder.iterdir()) == ["in.jsonl", "jam.lars"]


def test_answer_sets_are_a_table(folder: Path) -> None:
    pytest.importorskip("clingo")
    from pyarrow import parquet

    (folder / "a.lp").write_text("1 { q(X); r } 1 :- speed(X,_). #show q/1.")
    (folder / "in.facts").write_text("speed(a,12) at 3.")
    given = {"program": "a.lp", "stream": "in.facts"}
    assert run("--models", "all", "--out", "out.csv", **given).exit_code == 0
    assert (folder / "out.csv").read_text().splitlines() == [
        "t,window,answer_set,predicate,args,incomplete",
        '3,"[3,3]",1,,,false',
        '3,"[3,3]",2,q,"[""a""]",false',
    ]
    assert run("--models", "all", "--out", "out.parquet", **given).exit_code == 0
    rows = parquet.read_table(folder / "out.parquet").to_pylist()
    assert [(row["window"], row["answer_set"], row["args"]) for row in rows] == [([3, 3], 1, None), ([3, 3], 2, ["a"])]


def test_kinds_of_one_plan_share_a_table(folder: Path) -> None:
    pytest.importorskip("clingo")
    (folder / "a.lp").write_text("go(X) :- slow(X).")
    (folder / "r.lars").write_text("slow(X) :- speed(X,V), V < 20.")
    (folder / "in.facts").write_text("speed(a,12) at 3.")
    result = run("r.lars", "--format", "csv", "--quiet", program="a.lp", stream="in.facts")
    assert result.stdout.splitlines() == [
        "kind,t,op,predicate,args,window,answer_set,incomplete",
        'answer set,3,,go,"[""a""]","[3,3]",1,false',
        'fact,3,+,slow,"[""a""]",,,',
    ]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_run_in_two_parts_leaves_the_table_of_a_whole_one(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is saved after every event; the run is killed in the middle, and goes on."""
    from pyarrow import parquet

    lines = [f'{{"t":{tick},"facts":["speed(a,{tick % 40})"]}}\n' for tick in range(60)]
    (folder / "long.jsonl").write_text("".join(lines))
    run("--out", f"whole{name}", stream="long.jsonl")
    script = (
        "import sys, os\n"
        "from thalweg.runtimes import embedded_checkpoint as kept\n"
        "kept.EVERY, kept._SHARE, saved = 0.0, 1e9, []\n"
        "write = kept.EmbeddedCheckpoint._write\n"
        "def dying(self, state, **about):\n"
        "    write(self, state, **about)\n"
        "    saved.append(1)\n"
        "    if len(saved) == 25: os._exit(9)\n"
        "kept.EmbeddedCheckpoint._write = dying\n"
        "from thalweg.cli import app\n"
        "app(sys.argv[1:])\n"
    )
    asked = ["run", "jam.lars", "--stream", "long.jsonl", "--out", name, "--checkpoint", "state"]
    died = subprocess.run([sys.executable, "-c", script, *asked], check=False, capture_output=True)
    assert died.returncode == 9, died.stderr
    assert CliRunner().invoke(app, asked).exit_code == 0
    if name.endswith(".csv"):
        assert (folder / name).read_text() == (folder / f"whole{name}").read_text()
    else:
        assert len(list((folder / name).glob("part-*.parquet"))) > 1
        assert parquet.read_table(folder / name).to_pylist() == parquet.read_table(folder / f"whole{name}").to_pylist()


def test_a_summary_goes_to_standard_error(folder: Path) -> None:
    result = run("--on-error", "skip")
    assert re.fullmatch(
        r"2 events, 3 conclusions in [0-9.]+ s, [0-9,]+ events/s; "
        r"0 late, 0 malformed; not read by any rule: humidity/2\n",
        result.stderr,
    )
    assert "conclusions" not in run("--quiet").stderr
    (folder / "bad.jsonl").write_text(FACTS + "{\n" + FACTS.splitlines()[0])
    said = run("--on-error", "skip", stream="bad.jsonl").stderr
    assert "1 late, 1 malformed" in said


def test_the_graphs_of_a_stream_are_its_events(folder: Path) -> None:
    (folder / "graphs.jsonl").write_text(
        '{"t":1,"graph":"<http://ex.org/a> <http://ex.org/p> 1 ; <http://ex.org/q> 2 ."}\n'
        '{"t":1,"graph":"<http://ex.org/b> <http://ex.org/p> 1 ; <http://ex.org/q> 2 ."}\n'
    )
    assert "\n2 events, " in run(stream="graphs.jsonl").stderr


@pytest.mark.parametrize(
    ("name", "text", "mappings", "events"),
    [
        ("m.jsonl", '{"t":1,"facts":["a(1)","b(1)"]}\n\n{"t":1,"facts":["a(2)"]}\n{"t":2,"facts":[]}\n', [], 3),
        ("m.jsonl", '{"d":"x","v":1,"w":2,"ts":1}\n{"d":"y","v":1,"ts":1}\n', ["a(d, v) at ts", "b(d, w) at ts"], 2),
        ("m.jsonl", '{"r":[{"v":1,"ts":1},{"v":2,"ts":1},{"v":3,"ts":2}]}\n', ["a(r[].v) at r[].ts"], 1),
        ("m.csv", "d,v,w,ts\nx,1,2,1\ny,1,2,1\nz,1,2,2\n", ["a(d, v) at ts", "b(d, w) at ts"], 3),
        ("m.facts", "a(1) at 1. b(1) at 1.\n", [], 2),
    ],
)
def test_a_row_or_a_message_is_one_event(folder: Path, name: str, text: str, mappings: list[str], events: int) -> None:
    (folder / name).write_text(text)
    said = run(*(word for one in mappings for word in ("--map", one)), stream=name).stderr
    assert re.search(rf"(?:^|\n){events} events?, ", said), said


def test_a_time_far_from_all_others_counts_as_late(folder: Path) -> None:
    (folder / "far.csv").write_text(
        "d,ts\nx,2026-11-15T08:00:00Z\ny,2090-11-15T08:00:00Z\n" + "z,2026-11-15T08:00:01Z\n" * 3
    )
    assert "; 1 late, " in run("--map", "speed(d, d) at ts", stream="far.csv").stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_summary_comes_when_the_user_ends_the_run(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "thalweg", "run", "jam.lars", "--stream", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(FACTS.encode())
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["begin"] == ["calm(b)", "jam(a,12)"]
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, b"2 events" in errors) == (0, True), errors
