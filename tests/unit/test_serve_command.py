"""`thalweg serve` as it is typed: what it prints, and how it ends."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from serving import serving


def thalweg(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "thalweg", *words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_and_ends_when_asked(tmp_path: Path, number: int) -> None:
    with serving(tmp_path / "data") as service:
        assert str(service.client.base_url).startswith("http://127.0.0.1:")
        assert service.client.get("/v1/health").status_code == 200
        assert service.end(number) == 0
        assert service.process.stdout is not None
        assert service.process.stdout.read() == ""


def test_what_it_had_is_there_when_it_comes_again(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        service.client.put("/v1/streams/north", json={})
        service.put_program("jam")
        service.post("slow(a) at 1.\nslow(b) at 3.")
        before = service.lines("jam", "jam(a)")
        assert service.end() == 0
    with serving(tmp_path / "data") as service:
        assert service.lines("jam", "jam(a)") == before


def test_a_folder_is_for_one_service(tmp_path: Path) -> None:
    with serving(tmp_path / "data"):
        refused = thalweg("serve", "--port", "0", "--data", str(tmp_path / "data"))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "E408" in refused.stderr


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    refused = thalweg("serve", "--port", "0", "--data", str(tmp_path))
    assert refused.returncode == 1
    assert "E408" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_port_that_is_taken_is_a_failure(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        failed = thalweg("serve", "--port", str(taken.getsockname()[1]), "--data", str(tmp_path / "data"))
    assert (failed.returncode, failed.stdout) == (3, "")
    assert "`--port 0`" in failed.stderr
    assert not (tmp_path / "data").exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    failed = thalweg("serve", "--port", "0", "--data", str(tmp_path / "file" / "data"))
    assert failed.returncode == 1
    assert "E401" in failed.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--host", "0.0.0.0"],
        ["--host", "0.0.0.0", "--tokens", "missing"],
        ["--host", "::", "--tokens", "empty"],
        ["--host", "example.org"],
        ["--retain", "soon"],
        ["--retain-size", "much"],
        ["--max-body", "-1"],
        ["--allow-origin", "example.org"],
        ["--port", "70000"],
        ["--scope", "read"],
        ["--new-token", "a"],
        ["--new-token", "a", "--scope", "read"],
        ["--new-token", "a", "--scope", "god", "--tokens", "made"],
        ["--new-token", "a", "--tokens", "made"],
    ],
)
def test_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_text("[]")
    refused = thalweg("serve", *words)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_a_token_is_made_and_lets_in_from_elsewhere(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    made = thalweg("serve", "--new-token", "ci", "--scope", "read", "--tokens", str(tokens))
    secret = made.stdout.strip()
    assert (made.returncode, made.stderr) == (0, "")
    assert secret not in tokens.read_text()
    assert json.loads(tokens.read_text())[0]["name"] == "ci"
    again = thalweg("serve", "--new-token", "ci", "--scope", "read", "--tokens", str(tokens))
    assert (again.returncode, again.stdout) == (2, "")
    with serving(tmp_path / "data", "--host", "0.0.0.0", "--tokens", str(tokens)) as service:
        address = f"http://127.0.0.1:{service.client.base_url.port}"
        assert httpx.get(f"{address}/v1/programs").status_code == 401
        assert httpx.get(f"{address}/v1/programs", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
        assert httpx.get(f"{address}/v1/health", headers={"Host": "evil.example"}).status_code == 403
