"""A service asked from the shell: what runs there, what holds, and why."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from served_process import ServedProcess, served
from thalweg.cli import app
from web_servers import Answer, begin, body, serving

SLOW = "slow(S) :- speed(S,V) in [5], V < 20.\nquiet(S) :- slow(S), not loud(S).\n"
FACTS = "speed(a,12) at 3.\nspeed(b,12) at 4.\nloud(b) at 4.\nspeed(c,30) at 5.\nspeed(c,30) at 6.\n"


def thalweg(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(app, [*words], env=environment, catch_exceptions=False)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    with served(tmp_path_factory.mktemp("service") / "data") as process:
        process.put("jam", SLOW)
        process.put("gone", "n(0) :- loud(b). n(Y) :- n(X), Y = X + 1.", memory="1MB")
        process.post(FACTS)
        yield process


def test_status_shows_programs_streams_and_what_holds(service: ServedProcess) -> None:
    result = thalweg("status", service.url)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["jam", "live", "5", "4", "3", "0", "0"] in [line[:7] for line in lines]
    assert ["gone", "failed"] in [line[:2] for line in lines]
    assert any(line[:2] == ["north", "5"] for line in lines)
    assert "error[E410]" in result.stdout
    assert ["slow(a)", "since", "3", "until", "8"] in lines
    assert "and 3 more, which `--facts 4` shows" in thalweg("status", service.url, "--facts", "1").stdout


def test_status_as_data_has_what_the_service_says(service: ServedProcess) -> None:
    data = json.loads(thalweg("status", service.url.rstrip("/"), "--format", "json").stdout)
    assert [program["name"] for program in data["programs"]] == ["gone", "jam"]
    assert [fact["fact"] for fact in data["programs"][1]["holds"]["facts"]] == [
        "quiet(a)",
        "quiet(b)",
        "slow(a)",
        "slow(b)",
    ]
    assert data["programs"][0]["holds"] == {"t": None, "facts": []}
    assert data["streams"][0]["facts"] == 5


@pytest.mark.parametrize("format", ["text", "json"])
@pytest.mark.parametrize(("fact", "at"), [("quiet(a)", "5"), ("quiet(b)", "4"), ("slow(c)", "5")])
def test_why_is_answered_as_by_a_run(
    service: ServedProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: str, at: str, format: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jam.lars").write_text(SLOW)
    Path("north.facts").write_text(FACTS)
    here = thalweg("why", "jam.lars", fact, "--at", at, "--stream", "north.facts", "--format", format)
    there = thalweg("why", "--service", service.url, "--program", "jam", fact, "--at", at, "--format", format)
    assert there.exit_code == here.exit_code
    assert there.stdout == here.stdout
    assert ("E405" in there.stderr) == ("E405" in here.stderr)


def test_why_without_a_time_asks_about_now(service: ServedProcess) -> None:
    result = thalweg("why", "--service", service.url, "--program", "jam", "quiet(a)")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "quiet(a)   until 8 unless loud(a)")


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        (("--program", "nowhere", "q(a)"), 1, "there is no program `nowhere`"),
        (("--program", "jam", "q("), 1, "error[E"),
        (("--program", "jam", "jam.lars", "q(a)"), 2, "asks about one fact"),
        (("q(a)",), 2, "`--program NAME FACT`"),
        (("--program", "jam", "q(a)", "--tick", "2s"), 2, "`--tick` cannot be used with `--service`"),
    ],
    ids=["no program", "no fact", "a program besides", "which program", "an option of runs"],
)
def test_what_cannot_be_asked(service: ServedProcess, words: tuple[str, ...], status: int, part: str) -> None:
    result = thalweg("why", "--service", service.url, *words)
    assert (result.exit_code, result.stdout) == (status, "")
    assert part in result.stderr


def test_a_program_is_of_a_service() -> None:
    result = thalweg("why", "jam.lars", "q(a)", "--program", "jam")
    assert (result.exit_code, "`--program` is only for `--service`" in result.stderr) == (2, True)


def test_a_token_is_typed_or_in_the_environment(tmp_path: Path) -> None:
    tokens = str(tmp_path / "tokens")
    token = thalweg("serve", "--new-token", "me", "--scope", "read", "--tokens", tokens).stdout.strip()
    with served(tmp_path / "data", "--tokens", tokens, token=token) as process:
        assert thalweg("status", process.url, "--token", token).exit_code == 0
        assert thalweg("status", process.url, THALWEG_TOKEN=token).exit_code == 0
        refused = thalweg("status", process.url, "--token", "wrong")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "401" in refused.stderr or "token" in refused.stderr


def nothing(handler: object) -> None:
    """Closes the connection without a word."""
    handler.close_connection = True  # type: ignore[attr-defined]


def unavailable(handler: object) -> None:
    begin(handler, "text/html", 502)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "status", "part"),
    [
        (body("text/html", b"<html>"), 3, "is not `thalweg serve`"),
        (nothing, 3, "no connection to"),
        (unavailable, 1, "502"),
    ],
    ids=["another server", "nothing", "a proxy"],
)
def test_what_does_not_answer_is_a_failure_with_a_way_out(answer: Answer, status: int, part: str) -> None:
    with serving(answer) as url:
        result = thalweg("status", url)
    assert (result.exit_code, result.stdout) == (status, "")
    assert part in result.stderr
    assert status == 1 or "start it with `thalweg serve`" in result.stderr


def test_where_nobody_listens() -> None:
    with serving(body("text/plain", b"")) as url:
        pass
    result = thalweg("status", url)
    assert (result.exit_code, "no connection to" in result.stderr) == (3, True)
