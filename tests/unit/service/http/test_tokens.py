"""Tokens: what the file keeps, and who is found."""

import json
import stat
from pathlib import Path

import pytest

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.service.http.tokens import TokenFile, add_token


def test_a_token_is_found_and_its_file_does_not_have_it(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    secret = add_token(path, "ci", "write")
    token = TokenFile(path, print).find(secret)
    assert token is not None
    assert (token.name, token.scope) == ("ci", "write")
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert TokenFile(path, print).find(secret + "x") is None
    assert TokenFile(path, print).find(token.sha256) is None


def test_what_others_may_know_has_no_hash(tmp_path: Path) -> None:
    add_token(tmp_path / "t", "ci", "read")
    (token,) = TokenFile(tmp_path / "t", print)
    assert token.as_data().keys() == {"name", "scope", "made"}


def test_tokens_come_and_go_while_a_service_runs(tmp_path: Path) -> None:
    path, clock, reports = tmp_path / "t", [0.0], list[Diagnostic]()
    first = add_token(path, "a", "read")
    tokens = TokenFile(path, reports.append, lambda: clock[0])
    second = add_token(path, "b", "admin")
    assert tokens.find(second) is None
    clock[0] = 2.0
    assert tokens.find(second) is not None
    path.write_text(json.dumps([entry for entry in json.loads(path.read_text()) if entry["name"] != "a"]))
    clock[0] = 4.0
    assert tokens.find(first) is None


def test_a_name_is_used_once(tmp_path: Path) -> None:
    add_token(tmp_path / "t", "a", "read")
    with pytest.raises(RejectedError, match="already"):
        add_token(tmp_path / "t", "a", "admin")


@pytest.mark.parametrize("text", ["", "{}{", '{"a":1}', '["a"]', '[{"name":"a","scope":"god","made":"","sha256":""}]'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(RejectedError, match="not a file of tokens"):
        TokenFile(tmp_path / "t", print)


def test_a_file_that_is_spoilt_lets_nobody_in(tmp_path: Path) -> None:
    path, clock, reports = tmp_path / "t", [0.0], list[Diagnostic]()
    secret = add_token(path, "a", "read")
    tokens = TokenFile(path, reports.append, lambda: clock[0])
    path.write_text("oh")
    clock[0] = 2.0
    assert tokens.find(secret) is None
    assert list(tokens) == []
    assert [report.code for report in reports] == ["E401"]
