"""What is wrong with data is a rejection while nothing has been answered, and a failure of the run after that."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from thalweg.cli import app

RULE = "q(X) :- p(X).\n"
# The second answer is decided when the malformed line comes.
LATER = "p(a) at 1.\np(b) at 5.\np( at 6.\np(c) at 7.\n"
FIRST = "p( at 6.\np(c) at 7.\n"
OUTPUTS = ["out.jsonl", "out.csv", "out.parquet", "out.jsonl.gz"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("q.lars").write_text(RULE)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["run", "q.lars", "--stream", "in.facts", *words])


def rejects(*words: str) -> None:
    """Nothing was answered: the exit code is 1, and what was under the names of outputs is there still."""
    Path("in.facts").write_text(FIRST)
    ended = run(*words)
    assert (ended.exit_code, ended.stdout) == (1, ""), ended.stderr
    assert ended.stderr.count("E301") == 1
    assert "events" not in ended.stderr


def fails(*words: str) -> None:
    """Answers were delivered and stay; the exit code is 3, and the summary counts the line."""
    Path("in.facts").write_text(LATER)
    ended = run(*words)
    assert ended.exit_code == 3, ended.stderr
    assert ended.stderr.count("E301") == 1
    assert "2 events, 2 conclusions" in ended.stderr
    assert "1 malformed" in ended.stderr
    answers = Path("out.jsonl").read_text() if "--out" in words else ended.stdout
    assert [json.loads(line)["begin"] for line in answers.splitlines()] == [["q(a)"], [], ["q(b)"]]


def test_in_one_process() -> None:
    rejects()
    fails()
    fails("--out", "out.jsonl")
    fails("--checkpoint", "state")


@pytest.mark.parametrize("out", OUTPUTS)
def test_a_rejection_leaves_files_as_they_were(out: str) -> None:
    rejects("--out", out)
    assert not list(Path().glob("*out.*"))
    Path(out).write_bytes(b"earlier")
    rejects("--out", out)
    assert Path(out).read_bytes() == b"earlier"
    assert [path.name for path in Path().glob("*out.*")] == [out]


def test_a_run_without_answers_writes_an_empty_file() -> None:
    Path("in.facts").write_text("r(a) at 1.\n")
    for out in OUTPUTS:
        Path(out).write_bytes(b"earlier")
        assert run("--out", out).exit_code == 0
    assert [Path(out).read_bytes() for out in OUTPUTS[:2]] == [b"", b"t,op,predicate,args\n"]


def test_a_byte_that_is_not_utf8_makes_a_message_malformed(folder: Path) -> None:
    (folder / "in.jsonl").write_bytes('{"d": "Zürich", "ts": 1}\n{"d": "b", "ts": 2}\n'.encode("latin-1"))
    result = CliRunner().invoke(
        app, ["run", "q.lars", "--stream", "in.jsonl", "--map", "p(d) at ts", "--on-error", "skip"]
    )
    assert "error[E301]: this is not UTF-8: the byte 0xFC\n  in.jsonl:1:9\n" in result.stderr
    assert 'encoding = "latin-1"' in result.stderr
    assert "\ufffd" not in result.stdout
    assert [json.loads(line)["begin"] for line in result.stdout.splitlines()] == [["q(b)"]]
    (folder / "q.toml").write_text(
        'program = "q.lars"\n[streams.in]\nfrom = "in.jsonl"\nencoding = "latin-1"\nmap = "p(d) at ts"\n'
    )
    result = CliRunner().invoke(app, ["run", "q.toml"])
    assert [json.loads(line)["begin"] for line in result.stdout.splitlines()] == [['q("Zürich")'], ["q(b)"]]


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    "line", ['{"d": "Zürich", "ts": 3}', '{"d": "Zürich",\n"ts": 3}', "Zürich", '{"d": \n"Zürich", "ts": 3}']
)
def test_what_comes_before_a_byte_that_is_not_utf8_is_answered(folder: Path, line: str, end: str) -> None:
    before, after = '{"d": "a", "ts": 1}\n{"d": "b", "ts": 2}\n', '\n{"d": "c", "ts": 4}'
    (folder / "in.jsonl").write_bytes(f"{before}{line}{after}{end}".encode("latin-1"))
    command = ["run", "q.lars", "--stream", "in.jsonl", "--map", "p(d) at ts"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 3
    place = 3 + line.partition("ü")[0].count("\n")
    assert f"error[E301]: this is not UTF-8: the byte 0xFC\n  in.jsonl:{place}:" in result.stderr
    assert [json.loads(line)["begin"] for line in result.stdout.splitlines()] == [["q(a)"], ["q(b)"]]
    result = CliRunner().invoke(app, [*command, "--on-error", "skip"])
    assert [fact for line in result.stdout.splitlines() for fact in json.loads(line)["begin"]] == [
        "q(a)",
        "q(b)",
        "q(c)",
    ]
    assert result.stderr.count("E301") == 1


def test_a_message_over_several_blocks_keeps_its_encoding(folder: Path) -> None:
    text = '[\n{"d": "Zürich", "x": "' + "ü" * (2 << 20) + '",\n"ts": 1}\n]\n'
    (folder / "in.json").write_bytes(text.encode("latin-1"))
    (folder / "q.toml").write_text(
        'program = "q.lars"\n[streams.in]\nfrom = "in.json"\nencoding = "latin-1"\nmap = "p(d) at ts"\n'
    )
    result = CliRunner().invoke(app, ["run", "q.toml"])
    assert [json.loads(line)["begin"] for line in result.stdout.splitlines()] == [['q("Zürich")']]


@pytest.mark.parametrize(
    ("data", "said", "way_out"),
    [
        (gzip.compress(b"d,ts\na,1\n", mtime=0), "this is compressed with gzip", "gunzip"),
        (b"PK\x03\x04" + bytes(range(256)), "this is a ZIP archive or a workbook", "save the sheet as CSV"),
        (b"PAR1" + bytes(range(256)), "this is Parquet", ".parquet"),
        ("d,ts\na,1\n".encode("utf-16-le"), "this is not a table of text: it has NUL bytes", "say `encoding`"),
        (bytes(range(1, 256)) * 4 + b"\0", "this is not a table of text: it has NUL bytes", "export it as CSV"),
    ],
    ids=["gzip", "zip", "parquet", "utf-16", "noise"],
)
def test_no_mapping_is_proposed_for_what_is_not_a_table(folder: Path, data: bytes, said: str, way_out: str) -> None:
    (folder / "in.csv").write_bytes(data)
    Path("in.facts").write_text("p(a) at 1.\n")
    for words in (
        ["run", "q.lars", "--stream", "in.csv"],
        ["run", "q.lars", "--stream", "in.csv", "--map", "p(d) at ts"],
        ["run", "q.lars", "--stream", "in.facts", "--background", "in.csv"],
        ["init", "in.csv"],
    ):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 1
        assert said in result.stderr
        assert way_out in result.stderr
        assert "--map" not in result.stderr


def test_a_cell_may_hold_a_nul_byte(folder: Path) -> None:
    (folder / "in.csv").write_bytes('d,ts\n"a\0",1\nü,2\n'.encode())
    Path("q.lars").write_text("q(D) :- p(D).")
    result = CliRunner().invoke(app, ["run", "q.lars", "--stream", "in.csv", "--map", "p(d) at ts"])
    assert result.exit_code == 0, result.output
    assert [json.loads(line)["begin"] for line in result.stdout.splitlines()] == [['q("a\0")'], ['q("ü")']]


def test_the_clock_that_was_not_set_is_named(folder: Path) -> None:
    (folder / "in.csv").write_text("d,ts\na,1970-01-01 00:00:00\nb,2026-01-01 00:00:00\n")
    Path("q.lars").write_text("q(D) :- p(D).")
    words = ["run", "q.lars", "--stream", "in.csv", "--map", "p(d) at ts", "--zone", "Europe/Berlin"]
    result = CliRunner().invoke(app, words)
    assert "error[E301]: this time is before 1970, where the timeline begins (in `ts`)" in result.stderr
    assert "help: the clock of the device was probably not set" in result.stderr
    assert "--on-error skip" in result.stderr
    result = CliRunner().invoke(app, [*words, "--on-error", "skip"])
    assert [json.loads(line)["begin"] for line in result.stdout.splitlines()] == [["q(b)"]]
