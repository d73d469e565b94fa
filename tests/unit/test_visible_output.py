"""What data and addresses may not do to those who read the output: move their cursor, or show their passwords."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.cli import app
from thalweg.diagnostics import Diagnostic, Source, Span, without_secrets

ESCAPES = "a\x1b[31mred\x1b]0;title\x07\x9b5m"
SHOWN = "a␛[31mred␛]0;title␇\ufffd5m"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("q.lars").write_text("q(X) :- p(X).\n")
    Path("in.facts").write_text(f'p("{ESCAPES}") at 1.\n')
    return tmp_path


def stdout(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_text_shows_pictures_of_control_characters() -> None:
    for emit in ("changes", "intervals", "snapshot"):
        text = stdout("run", "q.lars", "--stream", "in.facts", "--format", "text", "--emit", emit)
        assert SHOWN in text
        assert "\x1b" not in text
        assert "\x9b" not in text


def test_the_terminal_is_not_steered_by_facts() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from thalweg.cli import main; main()", "run", "q.lars", "--stream", "in.facts"]
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    written = b""
    try:
        while block := os.read(ours, 4096):
            written += block
    except OSError:
        # So ends a terminal that nobody writes to any more.
        pass
    assert process.wait() == 0
    os.close(ours)
    text = written.decode()
    assert SHOWN in text
    assert "\x1b[31mred" not in text
    assert "\x1b]0;" not in text


def test_timelines_and_proofs_show_pictures() -> None:
    Path("answers.jsonl").write_text(stdout("run", "q.lars", "--stream", "in.facts"))
    for text in (
        stdout("timeline", "answers.jsonl"),
        stdout("why", "q.lars", "--stream", "in.facts", "--at", "1", f'q("{ESCAPES}")'),
    ):
        assert SHOWN in text
        assert "\x1b" not in text


@pytest.mark.parametrize(
    "uri",
    [
        "http://me:geheim@localhost:1/a?last=3&token=geheim",
        "http:///a?token=geheim",
        "ws://me:geheim@localhost:1/a?api_key=geheim",
        "tcp://me:geheim@localhost:1",
        "tcp://me:geheim@localhost",
        "mqtt://me:geheim@localhost:1/t",
        "kafka://me:geheim@/t",
        "unknown://me:geheim@host/a?access_token=geheim",
        "mqtt://me:geheim/w@127.0.0.1:1/x",
        "mqtt://me:x/geheim@127.0.0.1:1/x",
        "mqtt://me:x?geheim@127.0.0.1:1/x",
        "mqtt://me:x/y?geheim@127.0.0.1:1/x",
        "mqtt://me:12/y?geheim@127.0.0.1:1/x",
        "mqtt://me:x#geheim/w@127.0.0.1:1/x",
        "mqtt://me:x@y/geheim@127.0.0.1:1/x",
        "mqtt://me:[geheim@127.0.0.1:1/x",
        "mqtt://me:x'geheim@127.0.0.1:1/x",
        "kafka://me:x/geheim@127.0.0.1:1/x",
        "http://me:geheim/w@127.0.0.1:1/x",
        "http://me:x?geheim@127.0.0.1:1/x",
        "http://me:[geheim@127.0.0.1:1/x",
        "ws://me:geheim#w@127.0.0.1:1/x",
        "tcp://me:geheim/w@127.0.0.1:1",
        "unknown://me:x/geheim@127.0.0.1:1/x",
    ],
)
def test_secrets_of_addresses_are_not_shown(uri: str) -> None:
    for words in (
        ["--stream", uri],
        ["--stream", "in.facts", "--out", uri],
        ["--background", uri, "--stream", "in.facts"],
    ):
        result = CliRunner().invoke(app, ["run", "q.lars", *words])
        assert result.exit_code != 0
        assert "error[E40" in result.stderr
        assert "geheim" not in result.output
    assert "geheim" not in CliRunner().invoke(app, ["check", uri, "--format", "json"]).output


@pytest.mark.parametrize("scheme", ["mqtt", "http", "ws", "tcp"])
def test_what_a_password_may_hold_is_said(scheme: str) -> None:
    result = CliRunner().invoke(app, ["run", "q.lars", "--stream", f"{scheme}://me:hun/ter2@127.0.0.1:1/x"])
    assert f"error[E402]: where the host of `{scheme}://me:***@127.0.0.1:1/x` begins is not clear" in result.stderr
    assert "%2F" in result.stderr


def test_a_place_in_a_line_with_a_password_is_still_its_place() -> None:
    source = Source("city.toml", 'from = "mqtt://me:geheim@host/a"\ttick = 3')
    start = source.text.index("tick")
    shown = Diagnostic("E901", "unknown key", Span(source, start, start + 4)).render().splitlines()
    assert "geheim" not in shown[2]
    assert shown[2].index("tick") == shown[3].index("^")


@pytest.mark.parametrize(
    "text", ["<http://ex.org/a?id=3>", "mqtt://host/a?session=plant", "https://ex.org/@me", "no address: a@b.c"]
)
def test_what_is_not_secret_stays(text: str) -> None:
    assert without_secrets(text) == text
