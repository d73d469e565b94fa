"""Who gets in, and who does not."""

from pathlib import Path

import pytest

from thalweg.service.http.access import Access
from thalweg.service.http.tokens import Scope, TokenFile, add_token
from thalweg.service.refused import RefusedError


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:8642"},
        {"host": "localhost:1"},
        {"host": "[::1]:8642"},
        {"host": "console.example.org"},
        {"host": "192.0.2.7:8642"},
        {"host": "localhost:8642", "origin": "http://localhost:8642"},
        {"host": "localhost:8642", "origin": "https://console.example.org"},
    ],
)
def test_these_places_are_let_in(headers: dict[str, str]) -> None:
    Access("127.0.0.1", origins=["https://Console.example.org/"]).check_place(headers, "192.0.2.7")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": ""},
        {"host": "["},
        {"host": "evil.example"},
        {"host": "localhost.evil.example:8642"},
        {"host": "localhost:8642", "origin": "http://evil.example"},
        {"host": "localhost:8642", "origin": "null"},
        {"host": "localhost:8642", "origin": "http://localhost:80"},
        {"host": "localhost:8642", "origin": "http://console.example.org"},
    ],
)
def test_other_places_are_not(headers: dict[str, str]) -> None:
    with pytest.raises(RefusedError) as refused:
        Access("127.0.0.1", origins=["https://console.example.org"]).check_place(headers, "127.0.0.1")
    assert refused.value.status == 403


@pytest.mark.parametrize("url", ["console", "ftp://a", "https://a/b", "http://"])
def test_an_origin_is_one(url: str) -> None:
    with pytest.raises(ValueError, match="is not an origin"):
        Access("127.0.0.1", origins=[url])


@pytest.mark.parametrize(
    ("scope", "needed", "status"),
    [("read", "read", 0), ("read", "write", 403), ("write", "admin", 403), ("admin", "write", 0)],
)
def test_a_token_is_good_for_its_scope(tmp_path: Path, scope: Scope, needed: Scope, status: int) -> None:
    secret = add_token(tmp_path / "t", "a", scope)
    caller = Access("127.0.0.1", TokenFile(tmp_path / "t", print)).caller("POST", {"authorization": f"Bearer {secret}"})
    if not status:
        caller.need(needed)
        return
    with pytest.raises(RefusedError) as refused:
        caller.need(needed)
    assert refused.value.status == status


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer thw_x"}, {"authorization": "Basic eA=="}])
def test_without_a_token_nothing_is_for_anyone(tmp_path: Path, headers: dict[str, str]) -> None:
    add_token(tmp_path / "t", "a", "admin")
    with pytest.raises(RefusedError) as refused:
        Access("127.0.0.1", TokenFile(tmp_path / "t", print)).caller("GET", headers).need("read")
    assert refused.value.status == 401


def test_where_there_are_no_tokens_everyone_is_admin() -> None:
    Access("127.0.0.1").caller("DELETE", {}).need("admin")


def test_a_cookie_reads_and_changes_only_with_a_header(tmp_path: Path) -> None:
    secret = add_token(tmp_path / "t", "a", "admin")
    access, cookie = Access("127.0.0.1", TokenFile(tmp_path / "t", print)), {"cookie": f"thalweg={secret}"}
    access.caller("GET", cookie).need("admin")
    access.caller("DELETE", cookie | {"x-thalweg": "1"}).need("admin")
    with pytest.raises(RefusedError) as refused:
        access.caller("DELETE", cookie)
    assert refused.value.status == 403
